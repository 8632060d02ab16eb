/* SPDX-License-Identifier: MIT */
/* cgtp_tune_problem.h - what a program that tunes is asked for: its arguments, and the graph or batch that
 * they mean. For cgtp_tune.c alone.
 */
#ifndef CGTP_TUNE_PROBLEM_H
#define CGTP_TUNE_PROBLEM_H

#include "cgtp_selftest_graph.h"

#include <errno.h>

enum { RUNS_MOST = 1000, NODES = 1000, FIELD = 200, LINE = 2048 };

static const char usage[] =
    "[options]\n"
    "  --edges=FILE     the graph: a line per edge, its sender's and its receiver's number\n"
    "  --nodes=N        without a file: so many nodes (default 1000), or more than the file has\n"
    "  --degree=N       edges of each receiver, from random senders (default 64)\n"
    "  --items=N        rows of a batch (default 50000)\n"
    "  --kernel=NAME    only this kernel\n"
    "  --runs=N         timed runs of each plan, of which the median counts (default 25)\n"
    "  --gain=PERCENT   a plan has to be faster by this much (default 2)\n"
    "  --log=FILE       where times are kept, and found by the next run (default: NAME.tune.tsv)\n"
    "  --list           names the alternatives and measures nothing\n";

struct arguments {
    const char *edges, *kernel, *log;
    long long nodes, degree, items, runs;
    double gain;
    int list;
};

/* ---- arguments ---- */

static int take_number(const char *argument, const char *name, long long least, long long *to)
{
    const size_t n = strlen(name);
    char *end;
    if (strncmp(argument, name, n))
        return 0;
    *to = strtoll(argument + n, &end, 10);
    return end != argument + n && !*end && *to >= least;
}

static int take_text(const char *argument, const char *name, const char **to)
{
    const size_t n = strlen(name);
    if (!strncmp(argument, name, n))
        *to = argument + n;
    return !strncmp(argument, name, n) && argument[n];
}

static int take_gain(const char *argument, double *gain)
{
    char *end;
    if (strncmp(argument, "--gain=", 7))
        return 0;
    *gain = strtod(argument + 7, &end);
    return end != argument + 7 && !*end && *gain >= 0 && *gain < 100;
}

static int read_arguments(int argc, char **argv, struct arguments *a)
{
    for (int i = 1; i < argc; i++) {
        const char *s = argv[i];
        a->list |= !strcmp(s, "--list");
        if (strcmp(s, "--list") && !take_text(s, "--edges=", &a->edges) &&
            !take_text(s, "--kernel=", &a->kernel) && !take_text(s, "--log=", &a->log) &&
            !take_number(s, "--nodes=", 1, &a->nodes) && !take_number(s, "--degree=", 1, &a->degree) &&
            !take_number(s, "--items=", 1, &a->items) && !take_number(s, "--runs=", 1, &a->runs) &&
            !take_gain(s, &a->gain)) {
            fprintf(stderr, "usage: %s %s", argv[0], usage);
            return 0;
        }
    }
    a->runs = a->runs < RUNS_MOST ? a->runs : RUNS_MOST;
    return 1;
}

/* ---- the graph ---- */

struct edge {
    int64_t sender, receiver, number;
};

static int by_receiver(const void *a, const void *b)
{
    const struct edge *p = a, *q = b;
    return p->receiver != q->receiver ? (p->receiver > q->receiver ? 1 : -1)
                                      : (p->number > q->number) - (p->number < q->number);
}

/* The file's edges; NULL after a complaint. */
static struct edge *read_edges(const char *path, int64_t *n)
{
    FILE *file = fopen(path, "r");
    int64_t capacity = 1 << 16;
    char text[LINE];
    long long sender, receiver;
    int64_t number = 0;
    *n = 0;
    if (!file) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return NULL;
    }
    struct edge *edge = host_new(capacity, sizeof *edge);
    while (fgets(text, sizeof text, file)) {
        char rest;
        const size_t blank = strspn(text, " \t\r\n");
        number++;
        if (!text[blank] || text[blank] == '#')
            continue;
        if (sscanf(text, "%lld %lld %c", &sender, &receiver, &rest) != 2 || sender < 0 || receiver < 0) {
            fprintf(stderr, "%s:%lld: expected the numbers of a sender and a receiver\n", path,
                    (long long)number);
            fclose(file);
            free(edge);
            return NULL;
        }
        if (*n == capacity) {
            edge = realloc(edge, (size_t)(capacity *= 2) * sizeof *edge);
            if (!edge)
                give_up("out of memory");
        }
        edge[*n] = (struct edge){sender, receiver, *n};
        ++*n;
    }
    fclose(file);
    return edge;
}

static struct edge *random_edges(const struct arguments *a, int64_t *n)
{
    uint64_t seed = 20161127;
    const int64_t nodes = a->nodes ? a->nodes : NODES;
    *n = nodes * a->degree;
    struct edge *edge = host_new(*n, sizeof *edge);
    for (int64_t e = 0; e < *n; e++)
        edge[e] = (struct edge){below(&seed, nodes), e / a->degree, e};
    return edge;
}

/* A graph, or a batch, and its name; 0 after a complaint. */
static int make_graph(const cgtp_selftest *t, const struct arguments *a, struct graph *g, char name[FIELD])
{
    uint64_t hash = 0xcbf29ce484222325u;
    if (!t->graph) {
        g->items = a->items;
        snprintf(name, FIELD, "%lld items", (long long)g->items);
        return 1;
    }
    struct edge *edge = a->edges ? read_edges(a->edges, &g->items) : random_edges(a, &g->items);
    if (!edge)
        return 0;
    if (t->sorted)
        qsort(edge, (size_t)g->items, sizeof *edge, by_receiver);
    g->sender = host_new(g->items, sizeof *g->sender);
    g->receiver = host_new(g->items, sizeof *g->receiver);
    int64_t nodes = a->nodes;
    for (int64_t e = 0; e < g->items; e++) {
        g->sender[e] = edge[e].sender;
        g->receiver[e] = edge[e].receiver;
        nodes = nodes > edge[e].sender ? nodes : edge[e].sender + 1;
        nodes = nodes > edge[e].receiver ? nodes : edge[e].receiver + 1;
        hash = (hash ^ (uint64_t)edge[e].sender) * 0x100000001b3u;
        hash = (hash ^ (uint64_t)edge[e].receiver) * 0x100000001b3u;
    }
    free(edge);
    g->senders = g->receivers = nodes;
    snprintf(name, FIELD, "%lld edges of %lld nodes (%08lx)", (long long)g->items, (long long)g->senders,
             (unsigned long)(hash >> 32));
    return 1;
}

#endif
