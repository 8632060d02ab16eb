/* unit_graphs.h - random graphs in both widths of node index, for unit tests of the runtime. */
#ifndef UNIT_GRAPHS_H
#define UNIT_GRAPHS_H

#include "cgtp_check.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { EDGES_MAX = 200, NODES_MAX = 40 };

/* One graph in both widths, with room for its index. */
struct graphs {
    int32_t sender[EDGES_MAX], receiver[EDGES_MAX], by_sender[EDGES_MAX];
    int64_t sender64[EDGES_MAX], receiver64[EDGES_MAX], by_sender64[EDGES_MAX];
    int64_t receiver_row[NODES_MAX + 1], sender_row[NODES_MAX + 1];
    int64_t receiver_row64[NODES_MAX + 1], sender_row64[NODES_MAX + 1];
    cgtp_graph g;
    cgtp_graph64 g64;
};

static uint32_t random_state = 1;

static inline int random_below(int n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (int)((random_state >> 8) % (uint32_t)n);
}

static inline void widen(struct graphs *s)
{
    for (int e = 0; e < EDGES_MAX; e++) {
        s->sender64[e] = s->sender[e];
        s->receiver64[e] = s->receiver[e];
    }
    s->g.sender = s->sender;
    s->g.receiver = s->receiver;
    s->g64 = (cgtp_graph64){.items = s->g.items,
                            .senders = s->g.senders,
                            .receivers = s->g.receivers,
                            .sender = s->sender64,
                            .receiver = s->receiver64};
}

/* Edges sorted by receiver between the given numbers of nodes, as random as asked for: some nodes have no
 * edge. */
static inline void make(struct graphs *s, int edges, int senders, int receivers)
{
    memset(s, 0, sizeof *s);
    int degree[NODES_MAX] = {0}, n = 0;
    for (int e = 0; e < edges; e++)
        degree[random_below(receivers)]++;
    for (int r = 0; r < receivers; r++)
        for (int i = 0; i < degree[r]; i++) {
            s->sender[n] = random_below(senders);
            s->receiver[n++] = r;
        }
    s->g = (cgtp_graph){.items = edges, .senders = senders, .receivers = receivers};
    widen(s);
}

static inline void index_both(struct graphs *s)
{
    assert_int_equal(cgtp_graph_index(&s->g, s->receiver_row, s->by_sender, s->sender_row), CGTP_OK);
    assert_int_equal(cgtp_graph64_index(&s->g64, s->receiver_row64, s->by_sender64, s->sender_row64),
                     CGTP_OK);
}

static inline void assert_check(struct graphs *s, int sorted, cgtp_status status)
{
    assert_int_equal(cgtp_graph_check(&s->g, sorted), status);
    assert_int_equal(cgtp_graph64_check(&s->g64, sorted), status);
}

#endif
