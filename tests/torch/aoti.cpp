/* aoti.cpp - a program without Python that runs a model of AOTInductor, with the operators of a package, and calls a
 * product of the same library as a C function.
 *
 *     aoti FOLDER NODES EDGES
 *
 * FOLDER has libedges_cpu.so, model.pt2 and model.in: x, y, w, edge_index and what Python made of them. */
#include "edges.hpp"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

static at::Tensor read(std::ifstream &file, at::IntArrayRef sizes, at::ScalarType type)
{
    at::Tensor made = at::empty(sizes, type);
    file.read(static_cast<char *>(made.data_ptr()), static_cast<std::streamsize>(made.nbytes()));
    return made;
}

/* The convolution alone, by the interface for C++, on a graph that is prepared here. */
static bool same_by_call(const at::Tensor &x, const at::Tensor &y, const at::Tensor &w, const at::Tensor &edges)
{
    const int64_t nodes = x.size(0), items = y.size(0);
    std::vector<int32_t> sender(items), receiver(items), ends[2] = {sender, sender}, order(items), by_sender(items);
    for (int64_t e = 0; e < items; e++) {
        ends[0][e] = static_cast<int32_t>(edges[0][e].item<int64_t>());
        ends[1][e] = static_cast<int32_t>(edges[1][e].item<int64_t>());
    }
    std::vector<int64_t> receiver_row(nodes + 1), sender_row(nodes + 1);
    cgtp_graph graph = {};
    graph.items = items;
    graph.senders = graph.receivers = nodes;
    graph.sender = ends[0].data();
    graph.receiver = ends[1].data();
    cgtp_graph_sort(&graph, sender.data(), receiver.data(), order.data(), receiver_row.data());
    cgtp_graph_index(&graph, receiver_row.data(), by_sender.data(), sender_row.data());
    const at::Tensor at = at::from_blob(order.data(), {items}, at::kInt).to(at::kLong);
    const at::Tensor ys = y.index_select(0, at), ws = w.index_select(0, at);
    const at::Tensor z = at::empty({nodes, cgtp::edges::dim_z}, at::kDouble);
    const at::Tensor room = at::empty({static_cast<int64_t>(cgtp::edges::forward_workspace(graph)) + 16}, at::kByte);
    const cgtp_status status = cgtp::edges::forward(graph, x.data_ptr<double>(), ys.data_ptr<double>(),
                                                    ws.data_ptr<double>(), z.data_ptr<double>(), room.data_ptr(),
                                                    static_cast<size_t>(room.numel()));
    std::vector<c10::IValue> stack = {x, ys, ws}; /* the operator, by PyTorch's dispatcher */
    auto ints = [](const std::vector<int32_t> &v) { return at::tensor(v, at::kInt); };
    auto longs = [](const std::vector<int64_t> &v) { return at::tensor(v, at::kLong); };
    for (const at::Tensor &t : {ints(sender), ints(receiver), longs(receiver_row), ints(by_sender), longs(sender_row)})
        stack.push_back(t);
    stack.emplace_back(); /* no fault */
    c10::Dispatcher::singleton().findSchemaOrThrow("cgtp::edges_forward", "").callBoxed(stack);
    return status == CGTP_OK && at::equal(stack[0].toTensor(), z);
}

int main(int, char **argv)
{
    const std::string folder = argv[1];
    const int64_t nodes = std::atoll(argv[2]), items = std::atoll(argv[3]);
    std::ifstream file(folder + "/model.in", std::ios::binary);
    const at::Tensor x = read(file, {nodes, cgtp::edges::dim_x}, at::kDouble);
    const at::Tensor y = read(file, {items, cgtp::edges::dim_y}, at::kDouble);
    const at::Tensor w = read(file, {items, cgtp::edges::dim_w}, at::kDouble);
    const at::Tensor edges = read(file, {2, items}, at::kLong);
    const at::Tensor wanted = read(file, {nodes, cgtp::edges::dim_z}, at::kDouble);
    torch::inductor::AOTIModelPackageLoader model(folder + "/model.pt2");
    const at::Tensor found = model.run({x, y, w, edges})[0];
    const bool same = at::allclose(found, wanted, 0, 1e-12), called = same_by_call(x, y, w, edges);
    std::printf("AOTInductor: %s\nC++ interface and operator: %s\n", same ? "same" : "different", called ? "same" : "different");
    return !same || !called;
}
