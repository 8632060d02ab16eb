/* energy.cpp - a graph, a generated kernel and its derivative, in C++. */
#include "energy.h"
#include "layer.hpp"

#include <vector>

namespace layer = cgtp::layer;

/* Memory from a multiple of 16 bytes on, where kernels want it. */
struct alignas(16) piece {
    float number[4];
};

static std::vector<piece> room(size_t floats)
{
    return std::vector<piece>(floats / 4 + 1);
}

double energy(int64_t nodes, int64_t edges, const int32_t *sender, const int32_t *receiver, const float *x,
              const float *y, const float *w, float *gx)
{
    std::vector<int64_t> receiver_row(nodes + 1), sender_row(nodes + 1);
    std::vector<int32_t> by_sender(edges);
    cgtp_graph graph = {};
    graph.items = edges;
    graph.senders = graph.receivers = nodes;
    graph.sender = sender;
    graph.receiver = receiver;
    if (cgtp_graph_index(&graph, receiver_row.data(), by_sender.data(), sender_row.data()) != CGTP_OK)
        return -1;
    std::vector<piece> z = room(nodes * layer::dim_z), gy = room(edges * layer::dim_y),
                       gw = room(edges * layer::dim_w);
    const size_t forward = layer::forward_workspace(graph), backward = layer::backward_workspace(graph);
    std::vector<piece> workspace = room((forward > backward ? forward : backward) / sizeof(float));
    float *rows = z[0].number;
    if (layer::forward(graph, x, y, w, rows, workspace.data(), forward) != CGTP_OK ||
        layer::backward(graph, x, y, w, rows, gx, gy[0].number, gw[0].number, workspace.data(), backward) !=
            CGTP_OK)
        return -1;
    double sum = 0;
    for (int64_t i = 0; i < nodes * layer::dim_z; i++)
        sum += 0.5 * rows[i] * rows[i];
    return sum;
}
