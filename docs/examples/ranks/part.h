/* part.h - what a rank has of a graph: nodes of its own, the edges that end there, ghosts, and which rows go to and come
 * from other ranks. C++17, host memory, no communication but through a function that is given.
 */
#ifndef PART_H
#define PART_H

#include "cgtp_ranks.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

inline void expect(cgtp_status status, const char *what)
{
    if (status != CGTP_OK)
        throw std::runtime_error(std::string(what) + ": " + cgtp_status_text(status));
}

/* Edges in any order between nodes 0 .. nodes - 1. */
struct edge_list {
    int64_t nodes;
    std::vector<int32_t> sender, receiver;
};

/* Nodes first .. next - 1 of the graph are rank r's. */
inline int64_t first_node(int64_t nodes, int ranks, int r)
{
    return nodes * r / ranks;
}

/* A graph with the arrays that it points into. */
struct sliced_graph {
    cgtp_graph graph = {};
    std::vector<int32_t> receiver, by_sender;
    std::vector<int64_t> receiver_row, sender_row;
};

struct part {
    int rank = 0, ranks = 1;
    int64_t owned = 0, interior = 0; /* receivers; those without edges from ghosts, which come first */
    std::vector<int32_t> node;       /* by row of x: the graph's number of an own node or, after these, of a ghost */
    std::vector<int32_t> edge;       /* by row of y and w: the graph's number of an edge that ends here */
    std::vector<int64_t> ghost;      /* [ranks + 1]: rows ghost[p] .. ghost[p + 1] - 1 of x are nodes of rank p */
    std::vector<int64_t> sent;       /* [ranks + 1]: likewise the rows of the send buffer that go to rank p: */
    std::vector<int32_t> send;       /* the rows of x that these are */
    std::vector<int32_t> add, place; /* the same, by row: what is added there, of the buffer that comes back */
    std::vector<int32_t> touched;    /* own rows of x with edges to receivers that are not interior */
    std::vector<int32_t> sender, receiver;
    sliced_graph whole;                 /* sorted and indexed; sender and receiver are the part's */
    sliced_graph inner, outer;          /* of the interior receivers, of the others */
    int64_t split() const /* edges of the interior receivers */
    {
        return inner.graph.items;
    }
};

inline sliced_graph slice(const cgtp_graph &whole, int64_t first, int64_t last, int64_t senders)
{
    sliced_graph s;
    const int64_t edges = whole.receiver_row[last] - whole.receiver_row[first];
    s.receiver.resize(edges);
    s.by_sender.resize(edges);
    s.receiver_row.resize(last - first + 1);
    s.sender_row.resize(senders + 1);
    expect(cgtp_graph_slice(&whole, first, last, senders, &s.graph, s.receiver.data(), s.receiver_row.data(),
                            s.by_sender.data(), s.sender_row.data()),
           "slice");
    return s;
}

/* Own nodes and ghosts get rows of x: first in the order of the graph's numbers, then, renumbered, own nodes without
 * edges from ghosts before the others. */
inline part make_part(const edge_list &all, int rank, int ranks)
{
    part p;
    const int64_t first = first_node(all.nodes, ranks, rank), next = first_node(all.nodes, ranks, rank + 1);
    const auto owns = [&](int32_t node) { return node >= first && node < next; };
    p.rank = rank, p.ranks = ranks, p.owned = next - first;
    std::vector<int32_t> ghosts, sender, receiver, number;
    for (size_t e = 0; e < all.sender.size(); e++) {
        if (!owns(all.receiver[e]))
            continue;
        p.edge.push_back((int32_t)e);
        if (!owns(all.sender[e]))
            ghosts.push_back(all.sender[e]);
    }
    std::sort(ghosts.begin(), ghosts.end());
    ghosts.erase(std::unique(ghosts.begin(), ghosts.end()), ghosts.end());
    const auto ghost_row = [&](int64_t node) {
        return p.owned + (std::lower_bound(ghosts.begin(), ghosts.end(), node) - ghosts.begin());
    };
    for (int r = 0; r <= ranks; r++)
        p.ghost.push_back(ghost_row(first_node(all.nodes, ranks, r)));
    for (int32_t e : p.edge) {
        const int32_t s = all.sender[e];
        sender.push_back((int32_t)(owns(s) ? s - first : ghost_row(s)));
        receiver.push_back((int32_t)(all.receiver[e] - first));
    }

    cgtp_graph &g = p.whole.graph;
    const int64_t edges = (int64_t)p.edge.size();
    g.items = edges, g.senders = p.owned + (int64_t)ghosts.size(), g.receivers = p.owned;
    g.sender = sender.data(), g.receiver = receiver.data();
    number.resize(p.owned);
    expect(cgtp_graph_split(&g, number.data(), &p.interior), "split");
    for (int32_t &s : sender)
        s = s < p.owned ? number[s] : s;
    for (int32_t &r : receiver)
        r = number[r];
    p.node.resize(p.owned);
    for (int64_t i = 0; i < p.owned; i++)
        p.node[number[i]] = (int32_t)(first + i);
    p.node.insert(p.node.end(), ghosts.begin(), ghosts.end());

    std::vector<int32_t> order(edges), graph_edge(edges);
    p.sender.resize(edges), p.receiver.resize(edges), p.whole.by_sender.resize(edges);
    p.whole.receiver_row.resize(p.owned + 1), p.whole.sender_row.resize(g.senders + 1);
    expect(cgtp_graph_sort(&g, p.sender.data(), p.receiver.data(), order.data(), p.whole.receiver_row.data()), "sort");
    expect(cgtp_graph_index(&g, p.whole.receiver_row.data(), p.whole.by_sender.data(), p.whole.sender_row.data()),
           "index");
    for (int64_t e = 0; e < edges; e++)
        graph_edge[e] = p.edge[order[e]];
    p.edge = graph_edge;
    p.inner = slice(g, 0, p.interior, p.owned); /* no ghosts */
    p.outer = slice(g, p.interior, p.owned, g.senders);
    for (int64_t s = 0; s < p.owned; s++)
        if (p.outer.sender_row[s] < p.outer.sender_row[s + 1])
            p.touched.push_back((int32_t)s);
    return p;
}

/* What each rank wants of this one: wanted[r], numbers of the graph's nodes. */
inline void set_sends(part &p, int64_t nodes, const std::vector<std::vector<int32_t>> &wanted)
{
    const int64_t first = first_node(nodes, p.ranks, p.rank);
    std::vector<int32_t> row(p.owned);
    for (int64_t i = 0; i < p.owned; i++)
        row[p.node[i] - first] = (int32_t)i;
    p.sent.push_back(0);
    for (const std::vector<int32_t> &of_rank : wanted) {
        for (int32_t node : of_rank)
            p.send.push_back(row[node - first]);
        p.sent.push_back((int64_t)p.send.size());
    }
    p.place.resize(p.send.size());
    std::iota(p.place.begin(), p.place.end(), 0);
    std::stable_sort(p.place.begin(), p.place.end(), [&](int32_t a, int32_t b) { return p.send[a] < p.send[b]; });
    for (int32_t i : p.place)
        p.add.push_back(p.send[i]);
}

/* What it wants of another: the ghosts that are nodes of rank r. */
inline std::vector<int32_t> ghosts_of(const part &p, int r)
{
    return {p.node.begin() + p.ghost[r], p.node.begin() + p.ghost[r + 1]};
}

#endif
