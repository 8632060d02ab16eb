/* SPDX-License-Identifier: MIT */
/* cgtp_torch_graph.h - the operators that prepare a graph, in programs that Python has left as in those that it has not.
 * Included by NAME_torch.cpp after cgtp_torch.h, where the product takes a graph.
 *
 *     cgtp_graph::NAME_prepare(Tensor sender, Tensor receiver, SymInt senders, SymInt receivers, int order, int size)
 *         -> (Tensor sender, Tensor receiver, Tensor receiver_row, Tensor by_sender, Tensor sender_row, Tensor order,
 *             Tensor fault)
 *
 * checks a list of edges, sorts it by receiver and indexes it. order: what is to be done (enum below); size: bytes of node
 * numbers, 4 or 8. Arrays that are not made have no elements. On a CPU a list that is wrong is an error, which names the
 * edge; on a device, where nothing waits, it is the fault that kernels take (cgtp_guard.h).
 *
 *     cgtp_graph::NAME_compare(Tensor sender, Tensor receiver, Tensor of_sender, Tensor of_receiver, Tensor(a!) fault) -> ()
 *
 * compares a list on a device with a copy of it: the fault becomes one where they differ.
 */
#ifndef CGTP_TORCH_GRAPH_H
#define CGTP_TORCH_GRAPH_H

#include "cgtp_torch.h"

#ifdef USE_CUDA
#include "cgtp_device.h"
#endif

#include <utility>

namespace cgtp_torch
{

/* What `prepare` does with a list of edges. */
enum : int64_t {
    ORDER_SORT,  /* sorts and indexes it */
    ORDER_GIVEN, /* it ascends by receiver: that is looked at, and it is indexed */
    ORDER_ANY    /* it is copied, for products with edges: any */
};

struct edge_list {
    cgtp_edge_list list = {};
    device on = {};
    tensor held[2];
};

inline int64_t integer_size(const operation &op, const char *name, const view &v)
{
    if (v.dtype != aoti_torch_dtype_int32() && v.dtype != aoti_torch_dtype_int64())
        fail(op, std::string(name) + " is of " + dtype_text(v.dtype) + ", not int32 or int64");
    return v.dtype == aoti_torch_dtype_int64() ? 8 : 4;
}

inline edge_list read_edges(const operation &op, StableIValue *stack)
{
    edge_list e;
    view v[2];
    for (int i = 0; i < 2; i++)
        e.held[i].reset(torch::stable::detail::to<AtenTensorHandle>(stack[i]));
    for (int i = 0; i < 2; i++)
        v[i] = look(op, e.held[i]);
    e.on = v[0].on;
    e.list.items = length(op, "sender", v[0]);
    e.list.size = static_cast<int>(integer_size(op, "sender", v[0]));
    if (length(op, "receiver", v[1]) != e.list.items || v[1].dtype != v[0].dtype || v[1].on != v[0].on)
        fail(op, "sender and receiver differ in length, type or device");
    e.list.sender = v[0].data;
    e.list.receiver = v[1].data;
    e.list.sender_stride = v[0].strides[0];
    e.list.receiver_stride = v[1].strides[0];
    return e;
}

template <class T> T *data_of(const operation &op, const tensor &t)
{
    void *data;
    check(op, aoti_torch_get_data_ptr(t.get(), &data));
    return static_cast<T *>(data);
}

/* The tensors that `prepare` returns, in their order. */
struct prepared {
    tensor sender, receiver, receiver_row, by_sender, sender_row, order, fault;
};

inline prepared make_room(const operation &op, const edge_list &e, int64_t what, int32_t index)
{
    const cgtp_edge_list &l = e.list;
    const bool indexed = what != ORDER_ANY;
    const int32_t wide = aoti_torch_dtype_int64();
    prepared p;
    p.sender = allocate_vector(op, e.on, index, l.items);
    p.receiver = allocate_vector(op, e.on, index, l.items);
    p.receiver_row = allocate_vector(op, e.on, wide, indexed ? l.receivers + 1 : 0);
    p.by_sender = allocate_vector(op, e.on, index, indexed ? l.items : 0);
    p.sender_row = allocate_vector(op, e.on, wide, indexed ? l.senders + 1 : 0);
    p.order = allocate_vector(op, e.on, wide, what == ORDER_SORT ? l.items : 0);
    p.fault = allocate_vector(op, e.on, wide, 1);
    return p;
}

/* ---- where the list is ---- */

/* What sorts and indexes graphs of either width. */
template <class graph> struct functions;

#ifdef USE_CUDA

template <> struct functions<cgtp_graph> {
    static constexpr auto workspace = cgtp_device_graph_workspace;
    static constexpr auto sort = cgtp_device_graph_sort;
    static constexpr auto index = cgtp_device_graph_index;
};
template <> struct functions<cgtp_graph64> {
    static constexpr auto workspace = cgtp_device_graph64_workspace;
    static constexpr auto sort = cgtp_device_graph64_sort;
    static constexpr auto index = cgtp_device_graph64_index;
};

template <class graph, class index>
void fill(const operation &op, const edge_list &e, int64_t what, const prepared &p, void *stream)
{
    const cgtp_edge_list &l = e.list;
    const int32_t type = sizeof(index) == 8 ? aoti_torch_dtype_int64() : aoti_torch_dtype_int32();
    const bool sort = what == ORDER_SORT;
    index *const sender = data_of<index>(op, p.sender), *const receiver = data_of<index>(op, p.receiver);
    const tensor from[3] = {allocate_vector(op, e.on, type, sort ? l.items : 0),
                            allocate_vector(op, e.on, type, sort ? l.items : 0),
                            allocate_vector(op, e.on, type, sort ? l.items : 0)};
    index *const s = sort ? data_of<index>(op, from[0]) : sender, *const r = sort ? data_of<index>(op, from[1]) : receiver;
    check(op, cgtp_guard_copy(&l, what == ORDER_GIVEN, s, r, static_cast<int>(sizeof(index)),
                              data_of<uint64_t>(op, p.fault), stream));
    if (what == ORDER_ANY)
        return;
    const size_t bytes = functions<graph>::workspace(l.items, l.senders, l.receivers);
    const workspace room(op, e.on, bytes);
    if (sort) {
        check(op, functions<graph>::sort(l.items, l.receivers, s, r, sender, receiver, data_of<index>(op, from[2]), room.data,
                                         bytes, stream));
        check(op, aoti_torch_copy_(p.order.get(), from[2].get(), 0));
    }
    graph g = {};
    g.items = l.items, g.senders = l.senders, g.receivers = l.receivers;
    g.sender = sender, g.receiver = receiver;
    check(op, functions<graph>::index(&g, data_of<int64_t>(op, p.receiver_row), data_of<index>(op, p.by_sender),
                                      data_of<int64_t>(op, p.sender_row), room.data, bytes, stream));
}

#else

template <> struct functions<cgtp_graph> {
    static constexpr auto sort = cgtp_graph_sort;
    static constexpr auto index = cgtp_graph_index;
};
template <> struct functions<cgtp_graph64> {
    static constexpr auto sort = cgtp_graph64_sort;
    static constexpr auto index = cgtp_graph64_index;
};

/* Refuses a number of no node, and where it is to ascend by receiver a list that does not; copies the others. */
template <class index>
void copy_edges(const operation &op, const cgtp_edge_list &l, bool ascending, index *sender, index *receiver)
{
    int64_t before = 0;
    for (int64_t e = 0; e < l.items; e++) {
        const int64_t s = cgtp_get_index(l.sender, e * l.sender_stride, l.size == 8);
        const int64_t r = cgtp_get_index(l.receiver, e * l.receiver_stride, l.size == 8);
        const bool no_sender = s < 0 || s >= l.senders;
        if (no_sender || r < 0 || r >= l.receivers)
            fail(op, std::string("edge_index has a ") + (no_sender ? "sender " : "receiver ") +
                         std::to_string(no_sender ? s : r) + " at edge " + std::to_string(e) +
                         ": it is the number of no node, of which there are " +
                         std::to_string(no_sender ? l.senders : l.receivers));
        if (ascending && r < before)
            fail(op, "edge_index, said to be sorted, does not ascend by receiver at edge " + std::to_string(e));
        before = r;
        sender[e] = static_cast<index>(s);
        receiver[e] = static_cast<index>(r);
    }
}

template <class graph, class index>
void fill(const operation &op, const edge_list &e, int64_t what, const prepared &p, void *)
{
    const cgtp_edge_list &l = e.list;
    index *sender = data_of<index>(op, p.sender), *receiver = data_of<index>(op, p.receiver);
    *data_of<uint64_t>(op, p.fault) = CGTP_FAULT_NONE;
    const bool sort = what == ORDER_SORT;
    std::vector<index> from(sort ? 3 * static_cast<size_t>(l.items) : 0);
    graph g = {};
    g.items = l.items, g.senders = l.senders, g.receivers = l.receivers;
    g.sender = sort ? from.data() : sender;
    g.receiver = sort ? from.data() + l.items : receiver;
    copy_edges(op, l, what == ORDER_GIVEN, const_cast<index *>(g.sender), const_cast<index *>(g.receiver));
    if (what == ORDER_ANY)
        return;
    int64_t *const row = data_of<int64_t>(op, p.receiver_row);
    if (sort) {
        index *const order = from.data() + 2 * l.items;
        check(op, functions<graph>::sort(&g, sender, receiver, order, row));
        int64_t *const to = data_of<int64_t>(op, p.order);
        for (int64_t i = 0; i < l.items; i++)
            to[i] = order[i];
    }
    check(op, functions<graph>::index(&g, row, data_of<index>(op, p.by_sender), data_of<int64_t>(op, p.sender_row)));
}

#endif

/* ---- operators ---- */

inline void run_prepare(const operation &op, StableIValue *stack)
{
    edge_list e = read_edges(op, stack);
    e.list.senders = torch::stable::detail::to<int64_t>(stack[2]);
    e.list.receivers = torch::stable::detail::to<int64_t>(stack[3]);
    const int64_t what = torch::stable::detail::to<int64_t>(stack[4]), size = torch::stable::detail::to<int64_t>(stack[5]);
    if (e.list.senders < 0 || e.list.receivers < 0)
        fail(op, "a number of nodes is negative");
    if (what < ORDER_SORT || what > ORDER_ANY || (size != 4 && size != 8))
        fail(op, "order is 0, 1 or 2, and size 4 or 8");
    if (e.list.items && (!e.list.senders || !e.list.receivers))
        fail(op, "edge_index has edges, but there are no nodes");
    const int64_t most = size == 4 ? INT32_MAX : INT64_MAX;
    if (e.list.senders > most || e.list.receivers > most || e.list.items > most)
        fail(op, "more nodes or edges than 32 bits number: index_type int64");
    const current_device current(op, e.on);
    prepared p = make_room(op, e, what, size == 8 ? aoti_torch_dtype_int64() : aoti_torch_dtype_int32());
    if (size == 8)
        fill<cgtp_graph64, int64_t>(op, e, what, p, current.stream);
    else
        fill<cgtp_graph, int32_t>(op, e, what, p, current.stream);
    tensor *const made[] = {&p.sender,     &p.receiver, &p.receiver_row, &p.by_sender,
                            &p.sender_row, &p.order,    &p.fault};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        stack[i] = torch::stable::detail::from(made[i]->release());
}

#ifdef USE_CUDA
inline void run_compare(const operation &op, StableIValue *stack)
{
    static const char *const name[] = {"of_sender", "of_receiver", "fault"};
    const edge_list e = read_edges(op, stack);
    tensor held[3];
    view v[3];
    for (int i = 0; i < 3; i++)
        held[i].reset(torch::stable::detail::to<AtenTensorHandle>(stack[2 + i]));
    for (int i = 0; i < 3; i++) {
        v[i] = look(op, held[i]);
        expect(op, name[i], v[i], i < 2 ? e.list.items : 1, -1,
               i < 2 && e.list.size == 4 ? aoti_torch_dtype_int32() : aoti_torch_dtype_int64(), e.on);
    }
    const current_device current(op, e.on);
    tell(op);
    check(op, cgtp_guard_compare(&e.list, v[0].data, v[1].data, reinterpret_cast<uint64_t *>(v[2].data), current.stream));
}
#endif

template <const cgtp_product &product> void prepare(StableIValue *stack, uint64_t, uint64_t)
{
    run_prepare({product, "prepare"}, stack);
}

#ifdef USE_CUDA
template <const cgtp_product &product> void compare(StableIValue *stack, uint64_t, uint64_t)
{
    run_compare({product, "compare"}, stack);
}
#endif

using stable_library = torch::stable::detail::StableLibrary;

template <const cgtp_product &product> void define_graph(stable_library &library)
{
    const std::string name = product.name;
    library.def((name + "_prepare(Tensor sender, Tensor receiver, SymInt senders, SymInt receivers, int order, int size) -> "
                        "(Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)")
                    .c_str());
    library.def((name + "_compare(Tensor sender, Tensor receiver, Tensor of_sender, Tensor of_receiver, "
                        "Tensor(a!) fault) -> ()")
                    .c_str());
}

template <const cgtp_product &product> void implement_graph(stable_library &library)
{
    const std::string name = product.name;
    library.impl((name + "_prepare").c_str(), prepare<product>);
#ifdef USE_CUDA
    library.impl((name + "_compare").c_str(), compare<product>);
#endif
}

} // namespace cgtp_torch

#endif
