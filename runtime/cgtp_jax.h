/* SPDX-License-Identifier: MIT */
/* cgtp_jax.h - a product's kernels as handlers that XLA calls. NAME_jax.cpp is made of it.
 *
 * C++17. It uses nothing but the headers of XLA's foreign function interface, which JAX ships
 * (jax.ffi.include_dir()) and which are an interface in C: a library links with nothing. What a handler takes
 * and returns follows from the product's descriptor. Operands are the kernel's inputs, then the arrays of the
 * graph (sender, receiver, receiver_row, by_sender, sender_row; with edges: any sender and receiver; then its fault,
 * cgtp_guard.h, or nothing); results are the kernel's outputs, then the workspace. Arrays are [rows, elements of a row]. 64-bit integers are
 * pairs of 32-bit ones, low words first, since JAX has no others unless told. Attributes are numbers of rows:
 * items, senders, receivers; -1, where a program is for any: as arrays have them. The workspace has no bytes then, and
 * is the handler's own: on CPUs alone.
 */
#ifndef CGTP_JAX_H
#define CGTP_JAX_H

#include "cgtp_guard.h"

#include <xla/ffi/api/ffi.h> /* which GCC takes with -fpermissive */

#include <array>
#include <memory>
#include <new>
#include <string>

namespace cgtp_jax
{

namespace ffi = xla::ffi;

constexpr size_t arrays_most = 16; /* inputs, or outputs, of a kernel */

/* What a handler that is being called is, and what is wrong with the call: the first thing that is. */
struct call {
    const cgtp_product &product;
    const cgtp_kernel &kernel;
    std::string wrong = "";

    ffi::Error error(ffi::ErrorCode code) const
    {
        return ffi::Error(code, std::string("cgtp ") + product.name + "_" + kernel.name + ": " + wrong);
    }
};

inline ffi::DataType dtype_of(cgtp_type type)
{
    return type == CGTP_FLOAT32    ? ffi::DataType::F32
           : type == CGTP_FLOAT64  ? ffi::DataType::F64
           : type == CGTP_BFLOAT16 ? ffi::DataType::BF16
                                   : ffi::DataType::F16;
}

/* The data of a buffer, which is to have these sizes. */
inline void *data(call &c, const char *name, const ffi::AnyBuffer &buffer, ffi::DataType type, int64_t rows,
                  int64_t columns)
{
    const ffi::AnyBuffer::Dimensions sizes = buffer.dimensions();
    const bool fits = columns == 1 && sizes.size() == 1
                          ? sizes[0] == rows
                          : sizes.size() == 2 && sizes[0] == rows && sizes[1] == columns;
    if (c.wrong.empty() && (!fits || buffer.element_type() != type))
        c.wrong = std::string(name) + " is not an array [" + std::to_string(rows) + ", " +
                  std::to_string(columns) + "] of the product's type";
    return buffer.untyped_data();
}

/* What is wrong with a call before it begins: its graph, whose numbers are looked at on a CPU, or what a device has found since. */
template <class graph> std::string wrong_graph(const call &c, const graph &g)
{
#ifdef CGTP_JAX_CUDA
    return (void)c, (void)g, cgtp_guard::seen_words(cgtp_guard_seen());
#else
    const std::string wrong = c.product.graph ? cgtp_guard::fault_of(g, c.product.sorted) : "";
    return wrong.empty() ? "" : "its graph is wrong: " + wrong;
#endif
}

/* Where the graph is at fault outputs become NaN, on a device. */
inline cgtp_status guard(const void *fault, const cgtp_guarded *output, size_t outputs, void *stream)
{
#ifdef CGTP_JAX_CUDA
    if (fault)
        return cgtp_guard_outputs(static_cast<const uint64_t *>(fault), output, static_cast<int>(outputs),
                                  cgtp_guard_seen(), stream);
#else
    (void)fault, (void)output, (void)outputs, (void)stream;
#endif
    return CGTP_OK;
}

/* Numbers of rows that are not told, from arrays that have as many. */
template <class graph_rows> int64_t rows_of(const call &c, cgtp_index index, const ffi::RemainingArgs &operands,
                                            ffi::RemainingRets &results, const graph_rows &of_graph)
{
    for (int i = 0; i < c.kernel.inputs; i++)
        if (c.product.index[c.kernel.input[i].slot] == index)
            return operands.get<ffi::AnyBuffer>(static_cast<size_t>(i))->dimensions()[0];
    for (int o = 0; o < c.kernel.outputs; o++)
        if (c.product.index[c.kernel.output[o].slot] == index)
            return (*results.get<ffi::AnyBuffer>(static_cast<size_t>(o)))->dimensions()[0];
    return of_graph();
}

inline ffi::Error run(call c, void *stream, ffi::RemainingArgs operands, ffi::RemainingRets results,
                      int64_t items, int64_t senders, int64_t receivers)
{
    static const char *const part[] = {"sender", "receiver", "receiver_row", "by_sender", "sender_row"};
    const cgtp_product &p = c.product;
    const cgtp_kernel &k = c.kernel;
    const size_t inputs = static_cast<size_t>(k.inputs), outputs = static_cast<size_t>(k.outputs);
    const size_t graphs = !p.graph ? 0 : p.sorted ? 5 : 2;
    std::array<int64_t, CGTP_SHARED + 1> rows = {items, senders, receivers, 1};
    const bool with_fault = graphs && operands.size() == inputs + graphs + 1;
    if (operands.size() != inputs + graphs + with_fault || results.size() != outputs + 1 || inputs > arrays_most ||
        outputs > arrays_most) {
        c.wrong = "it takes other numbers of operands and results";
        return c.error(ffi::ErrorCode::kInvalidArgument);
    }
    const int64_t told = items;
    for (const cgtp_index index : {CGTP_ITEM, CGTP_SENDER, CGTP_RECEIVER})
        if (rows[index] < 0)
            rows[index] = rows_of(c, index, operands, results, [&]() -> int64_t {
                const size_t part = index == CGTP_ITEM ? 0 : index == CGTP_SENDER ? 4 : 2;
                return part < graphs ? operands.get<ffi::AnyBuffer>(inputs + part)->dimensions()[0] - (part > 0) : 0;
            });
    std::array<const void *, arrays_most> from = {};
    std::array<void *, arrays_most> to = {};
    std::array<cgtp_guarded, arrays_most> made = {};
    std::array<void *, 5> ends = {};
    for (size_t i = 0; i < inputs; i++) {
        const cgtp_slot slot = k.input[i].slot;
        from[i] = data(c, k.input[i].name, *operands.get<ffi::AnyBuffer>(i), dtype_of(p.type[slot]),
                       rows[p.index[slot]], p.dim[slot]);
    }
    for (size_t o = 0; o < outputs; o++) {
        const cgtp_slot slot = k.output[o].slot;
        to[o] = data(c, k.output[o].name, **results.get<ffi::AnyBuffer>(o), dtype_of(p.type[slot]),
                     rows[p.index[slot]], p.dim[slot]);
        made[o] = {to[o], (*results.get<ffi::AnyBuffer>(o))->size_bytes()};
    }
    for (size_t g = 0; g < graphs; g++) {
        const bool pointers = g == 2 || g == 4;
        ends[g] = data(c, part[g], *operands.get<ffi::AnyBuffer>(inputs + g), ffi::DataType::S32,
                       !pointers ? rows[CGTP_ITEM] : 1 + rows[g == 2 ? CGTP_RECEIVER : CGTP_SENDER],
                       pointers || p.index_size == 8 ? 2 : 1);
    }
    const void *const fault =
        with_fault ? data(c, "fault", *operands.get<ffi::AnyBuffer>(inputs + graphs), ffi::DataType::S32, 2, 1) : nullptr;
    if (!c.wrong.empty())
        return c.error(ffi::ErrorCode::kInvalidArgument);
    const cgtp_graph graph = cgtp_guard::graph_of<cgtp_graph>(rows.data(), ends.data(), graphs);
    const cgtp_graph64 graph64 = cgtp_guard::graph_of<cgtp_graph64>(rows.data(), ends.data(), graphs);
    c.wrong = p.index_size == 8 ? wrong_graph(c, graph64) : wrong_graph(c, graph);
    if (!c.wrong.empty())
        return c.error(ffi::ErrorCode::kInvalidArgument);
    const void *const of = p.index_size == 8 ? static_cast<const void *>(&graph64) : &graph;
    const ffi::AnyBuffer given = **results.get<ffi::AnyBuffer>(outputs);
    void *workspace = given.untyped_data();
    size_t bytes = given.size_bytes();
    std::unique_ptr<char[]> own;
    if (told < 0 && k.workspace(of) != CGTP_NO_WORKSPACE) {
        bytes = k.workspace(of);
        size_t space = bytes + 63;
        own.reset(new (std::nothrow) char[space]);
        workspace = own.get();
        workspace = workspace ? std::align(64, bytes, workspace, space) : nullptr;
    }
    cgtp_status status = k.run(of, from.data(), to.data(), nullptr, workspace, bytes, stream);
    if (status == CGTP_OK)
        status = guard(fault, made.data(), outputs, stream);
    c.wrong = cgtp_status_text(status);
    return status == CGTP_OK ? ffi::Error::Success() : c.error(ffi::ErrorCode::kInternal);
}

/* stream: one on CUDA, none on a CPU. */
template <const cgtp_product &product, int number, class... streams>
ffi::Error handle(streams... stream, ffi::RemainingArgs operands, ffi::RemainingRets results, int64_t items,
                  int64_t senders, int64_t receivers)
{
    void *const given[] = {stream..., nullptr};
    return run({product, product.kernel[number]}, given[0], operands, results, items, senders, receivers);
}

/* What follows the stream in the arguments of both. */
template <class binding> auto bind(binding b)
{
    return std::move(b)
        .RemainingArgs()
        .RemainingRets()
        .template Attr<int64_t>("items")
        .template Attr<int64_t>("senders")
        .template Attr<int64_t>("receivers");
}

/* On CUDA all that a handler does is to launch, so that XLA may record it into a graph. */
template <const cgtp_product &product, int number> auto make_handler()
{
#ifdef CGTP_JAX_CUDA
    return bind(ffi::Ffi::Bind().Ctx<ffi::PlatformStream<void *>>())
        .To(handle<product, number, void *>, {ffi::Traits::kCmdBufferCompatible});
#else
    return bind(ffi::Ffi::Bind()).To(handle<product, number>);
#endif
}

} // namespace cgtp_jax

/* Defines the handler `symbol` of the product's kernel `number`. */
#define CGTP_JAX_HANDLER(symbol, product, number)                                                            \
    extern "C" CGTP_API XLA_FFI_Error *symbol(XLA_FFI_CallFrame *frame)                                      \
    {                                                                                                        \
        static auto *const handler = cgtp_jax::make_handler<product, number>().release();                    \
        return handler->Call(frame);                                                                         \
    }                                                                                                        \
    static_assert(number >= 0, "a kernel of the product")

#endif
