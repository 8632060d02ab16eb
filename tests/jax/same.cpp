/* same.cpp - a program in C++ that links with the library of a wheel for JAX, and computes the bits that JAX
 * did.
 *
 *     same FILE
 *
 * FILE has what check.py wrote: numbers of nodes and edges, senders, receivers (which ascend), x, y, w, z. */
#include "edges.hpp"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <vector>

namespace edges = cgtp::edges;

template <class type> static std::vector<type> read(std::ifstream &file, int64_t n)
{
    std::vector<type> made(static_cast<size_t>(n));
    file.read(reinterpret_cast<char *>(made.data()),
              static_cast<std::streamsize>(made.size() * sizeof(type)));
    return made;
}

int main(int, char **argv)
{
    std::ifstream file(argv[1], std::ios::binary);
    const std::vector<int64_t> sizes = read<int64_t>(file, 2);
    const int64_t nodes = sizes[0], items = sizes[1];
    const std::vector<int32_t> sender = read<int32_t>(file, items), receiver = read<int32_t>(file, items);
    const std::vector<double> x = read<double>(file, nodes * edges::dim_x),
                              y = read<double>(file, items * edges::dim_y),
                              w = read<double>(file, items * edges::dim_w),
                              wanted = read<double>(file, nodes * edges::dim_z);
    std::vector<int64_t> receiver_row(nodes + 1), sender_row(nodes + 1);
    std::vector<int32_t> by_sender(items);
    cgtp_graph graph = {};
    graph.items = items;
    graph.senders = graph.receivers = nodes;
    graph.sender = sender.data();
    graph.receiver = receiver.data();
    const cgtp_status indexed =
        cgtp_graph_index(&graph, receiver_row.data(), by_sender.data(), sender_row.data());
    std::vector<double> z(wanted.size());
    std::vector<max_align_t> room(edges::forward_workspace(graph) / sizeof(max_align_t) + 1);
    const cgtp_status status = edges::forward(graph, x.data(), y.data(), w.data(), z.data(), room.data(),
                                              room.size() * sizeof(max_align_t));
    const bool same = file && indexed == CGTP_OK && status == CGTP_OK &&
                      std::memcmp(z.data(), wanted.data(), z.size() * sizeof(double)) == 0;
    std::printf(same ? "same\n" : "different\n");
    return !same;
}
