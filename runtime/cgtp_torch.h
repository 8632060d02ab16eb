/* SPDX-License-Identifier: MIT */
/* cgtp_torch.h - a product's kernels as operators of PyTorch. NAME_torch.cpp is made of it.
 *
 * C++17. It uses nothing of PyTorch but its stable ABI: a library that is compiled once works with
 * PyTorch 2.10 and every later one. What an operator takes and returns follows from the product's descriptor:
 * the kernel's inputs, then the graph (sender, receiver, receiver_row, by_sender, sender_row; with edges: any
 * sender, receiver and the numbers of both; then its fault, cgtp_guard.h, or nothing) or the number of items; it
 * returns the kernel's outputs. Arrays are tensors [rows, elements of a row], contiguous, or, where the spec has
 * rows: strided, slices of such. cgtp_torch_graph.h has the operators that prepare a graph.
 *
 * Outputs and the workspace are memory of PyTorch's allocator, on CUDA kernels run on its current stream.
 */
#ifndef CGTP_TORCH_H
#define CGTP_TORCH_H

#ifndef TORCH_TARGET_VERSION
#define TORCH_TARGET_VERSION (((0ULL + 2) << 56) | ((0ULL + 10) << 48))
#endif

#include "cgtp_guard.h"

#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/library.h>
#include <torch/headeronly/util/Exception.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace cgtp_torch
{

/* What an operator that is being called is: for messages. */
struct operation {
    const cgtp_product &product;
    const char *name; /* after the product's */
};

[[noreturn]] inline void fail(const operation &op, const std::string &why)
{
    throw std::runtime_error(std::string("cgtp::") + op.product.name + "_" + op.name + ": " + why);
}

inline void check(const operation &op, cgtp_status status)
{
    if (status != CGTP_OK)
        fail(op, cgtp_status_text(status));
}

inline void check(const operation &op, AOTITorchError error)
{
    if (error != AOTI_TORCH_SUCCESS)
        fail(op, "PyTorch refused a call, and says above why");
}

/* A tensor that is ours. */
struct release {
    void operator()(AtenTensorOpaque *tensor) const
    {
        aoti_torch_delete_tensor_object(tensor);
    }
};
using tensor = std::unique_ptr<AtenTensorOpaque, release>;

struct device {
    int32_t type, index;
    bool operator!=(const device &other) const
    {
        return type != other.type || index != other.index;
    }
};

/* Of an allocation. Who tries smaller batches then looks for these words. */
inline void check_memory(const operation &op, const device &on, AOTITorchError error)
{
    if (error != AOTI_TORCH_SUCCESS)
        fail(op, on.type == aoti_torch_device_type_cpu() ? "out of memory" : "CUDA out of memory");
}

/* What is to be known of a tensor. */
struct view {
    int64_t dims, *sizes, *strides;
    int32_t dtype;
    device on;
    char *data;
};

inline view look(const operation &op, const tensor &t)
{
    view v;
    void *data;
    check(op, aoti_torch_get_dim(t.get(), &v.dims));
    check(op, aoti_torch_get_sizes(t.get(), &v.sizes));
    check(op, aoti_torch_get_strides(t.get(), &v.strides));
    check(op, aoti_torch_get_dtype(t.get(), &v.dtype));
    check(op, aoti_torch_get_device_type(t.get(), &v.on.type));
    check(op, aoti_torch_get_device_index(t.get(), &v.on.index));
    check(op, aoti_torch_get_data_ptr(t.get(), &data));
    v.data = static_cast<char *>(data);
    return v;
}

/* ---- what is wrong with an argument ---- */

inline int32_t dtype_of(cgtp_type type)
{
    return type == CGTP_FLOAT32    ? aoti_torch_dtype_float32()
           : type == CGTP_FLOAT64  ? aoti_torch_dtype_float64()
           : type == CGTP_BFLOAT16 ? aoti_torch_dtype_bfloat16()
                                   : aoti_torch_dtype_float16();
}

inline std::string dtype_text(int32_t dtype)
{
    return dtype == aoti_torch_dtype_float32()    ? "float32"
           : dtype == aoti_torch_dtype_float64()  ? "float64"
           : dtype == aoti_torch_dtype_float16()  ? "float16"
           : dtype == aoti_torch_dtype_bfloat16() ? "bfloat16"
           : dtype == aoti_torch_dtype_int32()    ? "int32"
           : dtype == aoti_torch_dtype_int64()    ? "int64"
                                                  : "another type";
}

inline std::string device_text(const device &d)
{
    return d.type == aoti_torch_device_type_cpu()    ? "cpu"
           : d.type == aoti_torch_device_type_cuda() ? "cuda:" + std::to_string(d.index)
                                                     : "another device";
}

inline std::string list_text(const int64_t *number, int64_t n)
{
    std::ostringstream out;
    out << "[";
    for (int64_t i = 0; i < n; i++)
        out << (i ? ", " : "") << number[i];
    out << "]";
    return out.str();
}

/* Is it contiguous and of these sizes, type and device? `columns` < 0: a vector. strided: each row is contiguous. */
inline void expect(const operation &op, const char *name, const view &v, int64_t rows, int64_t columns,
                   int32_t dtype, const device &on, bool strided = false)
{
    const int64_t wanted[] = {rows, columns}, dims = columns < 0 ? 1 : 2, row = columns < 0 ? 1 : columns;
    const bool shape = v.dims == dims && v.sizes[0] == rows && (dims < 2 || v.sizes[1] == columns);
    const bool right = shape && v.dtype == dtype && !(v.on != on) &&
                       (rows * row == 0 || ((rows == 1 || v.strides[0] == row || (strided && v.strides[0] > row)) &&
                                            (dims < 2 || columns == 1 || v.strides[1] == 1)));
    if (right)
        return;
    const std::string what = std::string(name) + " ";
    if (!shape)
        fail(op, what + "has shape " + list_text(v.sizes, v.dims) + ", not " + list_text(wanted, dims));
    if (v.dtype != dtype)
        fail(op, what + "is of " + dtype_text(v.dtype) + ", not " + dtype_text(dtype));
    if (v.on != on)
        fail(op, what + "is on " + device_text(v.on) + ", not on " + device_text(on));
    fail(op, what + "has strides " + list_text(v.strides, dims) + ": it is not contiguous");
}

/* ---- devices ---- */

#ifdef USE_CUDA
/* Makes a device the current one as long as it lives. */
struct current_device {
    CUDAGuardHandle guard = nullptr;
    void *stream = nullptr;
    current_device(const operation &op, const device &on)
    {
        check(op, aoti_torch_create_cuda_guard(on.index, &guard));
        check(op, aoti_torch_get_current_cuda_stream(on.index, &stream));
    }
    current_device(const current_device &) = delete;
    ~current_device()
    {
        if (guard)
            aoti_torch_delete_cuda_guard(guard);
    }
};
#else
struct current_device {
    void *stream = nullptr;
    current_device(const operation &, const device &)
    {
    }
};
#endif

inline tensor allocate(const operation &op, const device &on, int32_t dtype, int64_t rows, int64_t columns)
{
    const int64_t sizes[] = {rows, columns}, strides[] = {columns > 0 ? columns : 1, 1};
    AtenTensorHandle made;
    check_memory(op, on, aoti_torch_empty_strided(2, sizes, strides, dtype, on.type, on.index, &made));
    return tensor(made);
}
inline tensor allocate_vector(const operation &op, const device &on, int32_t dtype, int64_t n)
{
    const int64_t stride = 1;
    AtenTensorHandle made;
    check_memory(op, on, aoti_torch_empty_strided(1, &n, &stride, dtype, on.type, on.index, &made));
    return tensor(made);
}

/* The workspace of a call, in memory of PyTorch's allocator. On CUDA it is not made a tensor of, which takes
 * PyTorch longer: like a tensor's its memory may be used again by what comes after on the stream. */
struct workspace {
    void *data = nullptr;
#ifdef USE_CUDA
    workspace(const operation &op, const device &on, size_t bytes)
    {
        if (bytes)
            check_memory(op, on, aoti_torch_cuda_caching_allocator_raw_alloc(bytes, &data));
    }
    ~workspace()
    {
        if (data)
            aoti_torch_cuda_caching_allocator_raw_delete(data);
    }
#else
    tensor memory;
    workspace(const operation &op, const device &on, size_t bytes)
    {
        if (!bytes)
            return;
        memory = allocate_vector(op, on, aoti_torch_dtype_uint8(), static_cast<int64_t>(bytes));
        check(op, aoti_torch_get_data_ptr(memory.get(), &data));
    }
#endif
    workspace(const workspace &) = delete;
};

/* Bytes of it: what the kernel asks for or, where the environment says less, as much as that, but what it takes at least. */
inline size_t workspace_bytes(const cgtp_kernel &k, const void *graph)
{
    const char *const said = std::getenv("CGTP_WORKSPACE_MOST");
    const size_t bytes = k.workspace(graph), most = said ? std::strtoull(said, nullptr, 10) : bytes;
    return bytes == CGTP_NO_WORKSPACE || bytes <= most ? bytes : std::max(most, k.workspace_least(graph));
}

/* ---- the graph ---- */

/* The items of a call and how many rows arrays have by their index. The product's own graph is one of two. */
struct items {
    cgtp_graph graph = {};
    cgtp_graph64 graph64 = {};
    int64_t rows[CGTP_SHARED + 1] = {0, 0, 0, 1};
};

inline int64_t length(const operation &op, const char *name, const view &v)
{
    if (v.dims != 1)
        fail(op, std::string(name) + " has shape " + list_text(v.sizes, v.dims) + ", not one dimension");
    return v.sizes[0];
}

#ifdef USE_CUDA
/* Has an earlier call met a fault on the device? Who has its results, which are NaN, is told once. */
inline void tell(const operation &op)
{
    const std::string words = cgtp_guard::seen_words(cgtp_guard_seen());
    if (!words.empty())
        fail(op, words);
}
#endif

/* Reads a graph from its tensors, and with edges: any from the numbers that follow them on the stack. */
inline void read_graph(const operation &op, const tensor *given, size_t count, const StableIValue *numbers,
                       const device &on, items &all)
{
    static const char *const name[] = {"sender", "receiver", "receiver_row", "by_sender", "sender_row"};
    const int32_t index = op.product.index_size == 8 ? aoti_torch_dtype_int64() : aoti_torch_dtype_int32();
    const bool sorted = op.product.sorted;
    view v[5] = {};
    for (size_t i = 0; i < count; i++)
        v[i] = look(op, given[i]);
    all.rows[CGTP_ITEM] = length(op, name[0], v[0]);
    for (int side = 0; side < 2; side++) {
        const int row = side ? 2 : 4;
        const int64_t rows =
            sorted ? length(op, name[row], v[row]) - 1 : torch::stable::detail::to<int64_t>(numbers[side]);
        if (rows < 0)
            fail(op, sorted
                         ? std::string(name[row]) + " is empty: it has an element more than there are nodes"
                         : "a number of nodes is negative");
        all.rows[side ? CGTP_RECEIVER : CGTP_SENDER] = rows;
    }
    const int64_t rows[] = {all.rows[CGTP_ITEM], all.rows[CGTP_ITEM], all.rows[CGTP_RECEIVER] + 1,
                            all.rows[CGTP_ITEM], all.rows[CGTP_SENDER] + 1};
    for (size_t i = 0; i < count; i++)
        expect(op, name[i], v[i], rows[i], -1, i == 2 || i == 4 ? aoti_torch_dtype_int64() : index, on);
    void *const array[] = {v[0].data, v[1].data, v[2].data, v[3].data, v[4].data};
    all.graph = cgtp_guard::graph_of<cgtp_graph>(all.rows, array, count);
    all.graph64 = cgtp_guard::graph_of<cgtp_graph64>(all.rows, array, count);
#ifndef USE_CUDA
    const std::string wrong = op.product.index_size == 8 ? cgtp_guard::fault_of(all.graph64, sorted)
                                                         : cgtp_guard::fault_of(all.graph, sorted);
    if (!wrong.empty())
        fail(op, "its graph is wrong: " + wrong);
#endif
}

/* A graph's fault, if it came with one: a number in device memory. */
inline const uint64_t *read_fault(const operation &op, StableIValue given, const device &on, tensor &held)
{
    const std::optional<AtenTensorHandle> handle = torch::stable::detail::to<std::optional<AtenTensorHandle>>(given);
    if (!handle)
        return nullptr;
    held.reset(*handle);
    const view v = look(op, held);
    expect(op, "fault", v, 1, -1, aoti_torch_dtype_int64(), on);
    return reinterpret_cast<const uint64_t *>(v.data);
}

/* ---- the call ---- */

/* Elements from a row of a matrix to the next. */
inline int64_t stride_of(const view &v)
{
    return v.sizes[0] > 1 && v.sizes[1] > 0 ? v.strides[0] : v.sizes[1];
}

/* Are its rows where kernels want them (cgtp.h), of numbers of so many bytes? */
inline bool is_aligned(const view &v, size_t size)
{
    const uint64_t row = static_cast<uint64_t>(v.sizes[1]) * size | 16;
    return reinterpret_cast<uintptr_t>(v.data) % 16 == 0 &&
           static_cast<uint64_t>(stride_of(v)) * size % (row & (~row + 1)) == 0;
}

/* An input as kernels take it: itself, or, where that is a slice that begins anywhere, a copy, which then is the tensor. */
inline view aligned(const operation &op, const view &v, size_t size, tensor &t)
{
    if (is_aligned(v, size))
        return v;
    AtenTensorHandle copy;
    check(op, aoti_torch_clone(t.get(), &copy));
    t.reset(copy);
    return look(op, t);
}

/* Where the graph is at fault outputs become NaN, on a device; on a CPU the list was refused when it was prepared. */
inline void guard(const operation &op, const uint64_t *fault, const std::vector<cgtp_guarded> &outputs, void *stream)
{
#ifdef USE_CUDA
    if (fault)
        check(op, cgtp_guard_outputs(fault, outputs.data(), static_cast<int>(outputs.size()), cgtp_guard_seen(), stream));
#else
    (void)outputs, (void)stream;
    if (fault && *fault != CGTP_FAULT_NONE)
        fail(op, cgtp_guard::words(*fault));
#endif
}

inline void run(const operation &op, const cgtp_kernel &k, StableIValue *stack, uint64_t arguments)
{
    const cgtp_product &p = op.product;
    const size_t graphs = !p.graph ? 0 : p.sorted ? 5 : 2;
    const size_t inputs = static_cast<size_t>(k.inputs), outputs = static_cast<size_t>(k.outputs);
    std::vector<tensor> held(inputs + graphs + outputs);
    tensor fault_held;
    tensor *const input = held.data(), *const graph = input + inputs, *const output = graph + graphs;
    for (size_t i = 0; i < inputs + graphs; i++) /* all at once: they are ours to release whatever happens */
        held[i].reset(torch::stable::detail::to<AtenTensorHandle>(stack[i]));
    if (inputs + graphs == 0)
        fail(op, "it has no arguments by which PyTorch could find a device");
    const device on = look(op, held[0]).on;
    const uint64_t *const fault = p.graph ? read_fault(op, stack[arguments - 1], on, fault_held) : nullptr;
    const current_device current(op, on);
    items all;
#ifdef USE_CUDA
    tell(op);
#endif
    if (p.graph)
        read_graph(op, graph, graphs, stack + inputs + graphs, on, all);
    else
        all.rows[CGTP_ITEM] = all.graph.items = torch::stable::detail::to<int64_t>(stack[arguments - 1]);
    if (all.rows[CGTP_ITEM] < 0)
        fail(op, "the number of items is negative");
    std::vector<const void *> from(inputs);
    std::vector<int64_t> stride(inputs + outputs, 0);
    for (size_t i = 0; i < inputs; i++) {
        const cgtp_slot slot = k.input[i].slot;
        const view v = look(op, input[i]);
        expect(op, k.input[i].name, v, all.rows[p.index[slot]], p.dim[slot], dtype_of(p.type[slot]), on,
               p.strided[slot]);
        const view used = aligned(op, v, cgtp_type_size(p.type[slot]), input[i]);
        from[i] = used.data;
        stride[i] = stride_of(used);
    }
    std::vector<void *> to(outputs);
    std::vector<cgtp_guarded> made(outputs);
    for (size_t o = 0; o < outputs; o++) {
        const cgtp_slot slot = k.output[o].slot;
        const int64_t rows = all.rows[p.index[slot]];
        output[o] = allocate(op, on, dtype_of(p.type[slot]), rows, p.dim[slot]);
        check(op, aoti_torch_get_data_ptr(output[o].get(), &to[o]));
        made[o] = {to[o], static_cast<size_t>(rows * p.dim[slot]) * cgtp_type_size(p.type[slot])};
    }
    const void *graph_of = p.index_size == 8 ? static_cast<const void *>(&all.graph64) : &all.graph;
    const size_t bytes = workspace_bytes(k, graph_of);
    const workspace room(op, on, bytes == CGTP_NO_WORKSPACE ? 0 : bytes);
    check(op, k.run(graph_of, from.data(), to.data(), stride.data(), room.data, bytes, current.stream));
    guard(op, fault, made, current.stream);
    for (size_t o = 0; o < outputs; o++)
        stack[o] = torch::stable::detail::from(output[o].release());
}

/* The operator of a kernel, as PyTorch calls it: arguments on a stack, which results replace. */
template <const cgtp_product &product, int number>
void call(StableIValue *stack, uint64_t arguments, uint64_t)
{
    run({product, product.kernel[number].name}, product.kernel[number], stack, arguments);
}

} // namespace cgtp_torch

#endif
