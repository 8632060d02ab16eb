/* SPDX-License-Identifier: MIT */
/* cgtp_guard.h - what bindings to frameworks (cgtp_torch.h, cgtp_jax.h) do so that a bad list of edges is no access
 * beyond an array, and no wrong number that nobody is told of. C++17.
 *
 * On a CPU each call looks at the graph's numbers and names the first that is wrong. On CUDA nothing waits: a list is
 * copied, with numbers of no node replaced, and where something is wrong a word in device memory, the fault, becomes
 * other than CGTP_FAULT_NONE. Kernels that are given the fault have NaN in all their outputs then, and leave it in
 * memory of the host, where the next call finds it. The functions for CUDA are in cgtp_guard.cu.
 */
#ifndef CGTP_GUARD_H
#define CGTP_GUARD_H

#include "cgtp_fault.h"

#include <limits>
#include <string>
#include <type_traits>

/* Faults beyond those of cgtp_fault.h: the list is no longer what the graph was made of. */
enum { CGTP_FAULT_STALE = CGTP_FAULT_KINDS };

/* A list of edges as a framework has it: numbers of 4 or 8 bytes, `stride` numbers after each other. */
struct cgtp_edge_list {
    int64_t items, senders, receivers;
    const void *sender, *receiver;
    int64_t sender_stride, receiver_stride;
    int size;
};

/* An output that may become NaN. */
struct cgtp_guarded {
    void *at;
    size_t bytes; /* even */
};

extern "C" {

/* Copies a list into arrays of numbers of `size` bytes, on the device; those of no node become 0. *fault becomes the first
 * fault of the list: CGTP_FAULT_SENDER, _RECEIVER and, where it is to ascend by receiver, _ORDER. */
cgtp_status cgtp_guard_copy(const cgtp_edge_list *list, int ascending, void *sender, void *receiver, int size,
                            uint64_t *fault, cgtp_stream stream);

/* *fault becomes CGTP_FAULT_STALE, if it is none, where the list differs from a copy of it, of numbers as long. */
cgtp_status cgtp_guard_compare(const cgtp_edge_list *list, const void *sender, const void *receiver, uint64_t *fault,
                               cgtp_stream stream);

/* Where *fault is one, n outputs become NaN, and *seen, which the host can read, *fault. */
cgtp_status cgtp_guard_outputs(const uint64_t *fault, const cgtp_guarded *output, int n, uint64_t *seen,
                               cgtp_stream stream);

/* Memory for *seen, one for all: of the host, and as devices see it; NULL: there is no device. */
uint64_t *cgtp_guard_seen(void);
}

namespace cgtp_guard
{

/* What is wrong with a list of edges that kernels on a device were given before, and did not compute with. */
inline std::string words(uint64_t fault)
{
    const uint64_t kind = fault >> CGTP_FAULT_SHIFT, at = fault & ((uint64_t(1) << CGTP_FAULT_SHIFT) - 1);
    const std::string edge = "at edge " + std::to_string(at);
    return "an earlier call on the device has returned NaN: " +
           (kind == CGTP_FAULT_SENDER     ? "edge_index has a sender " + edge + " that is the number of no node"
            : kind == CGTP_FAULT_RECEIVER ? "edge_index has a receiver " + edge + " that is the number of no node"
            : kind == CGTP_FAULT_ORDER    ? "edge_index, said to be sorted, does not ascend by receiver " + edge
                                          : "edge_index was rewritten in place, and not by PyTorch, after a graph had been "
                                            "prepared of it: pass prepare_graph the new list");
}

/* What the device has left for the host, if anything; once. */
inline std::string seen_words(uint64_t *seen)
{
    const uint64_t fault = seen ? *(volatile uint64_t *)seen : CGTP_FAULT_NONE;
    if (fault == CGTP_FAULT_NONE)
        return "";
    *(volatile uint64_t *)seen = CGTP_FAULT_NONE;
    return words(fault);
}

/* Are all numbers in [0, n)? Where one is not, it or the distance to the last has a sign, which vectors find out soon. */
template <class index> bool below(const index *number, int64_t count, int64_t n)
{
    using bits = std::make_unsigned_t<index>;
    const int64_t most = std::numeric_limits<index>::max(), end = n - 1 < most ? n - 1 : most;
    bits signs = 0;
    for (int64_t i = 0; i < count; i++)
        signs |= static_cast<bits>(number[i]) | static_cast<bits>(static_cast<bits>(end) - static_cast<bits>(number[i]));
    return count == 0 || signs >> (8 * sizeof(index) - 1) == 0;
}

/* Do the pointers ascend from 0 to the number of edges? */
inline bool ascends(const int64_t *row, int64_t rows, int64_t edges)
{
    bool right = row[0] == 0 && row[rows] == edges;
    for (int64_t r = 0; r < rows; r++)
        right &= row[r] <= row[r + 1];
    return right;
}

/* A graph of so many rows by their index, and its arrays: sender and receiver, or receiver_row, by_sender and sender_row too. */
template <class graph> graph graph_of(const int64_t *rows, void *const *array, size_t arrays)
{
    graph g = {};
    g.items = rows[CGTP_ITEM], g.senders = rows[CGTP_SENDER], g.receivers = rows[CGTP_RECEIVER];
    g.sender = static_cast<decltype(g.sender)>(array[0]);
    g.receiver = static_cast<decltype(g.receiver)>(array[1]);
    if (arrays == 5) {
        g.receiver_row = static_cast<const int64_t *>(array[2]);
        g.by_sender = static_cast<decltype(g.by_sender)>(array[3]);
        g.sender_row = static_cast<const int64_t *>(array[4]);
    }
    return g;
}

/* Of a graph in the host's memory: does every number stay within its array? What is wrong is asked for then, and only then:
 * "sender[3] is 7: it is the number of no sender". */
template <class graph> std::string fault_of(const graph &g, bool sorted)
{
    cgtp_fault fault;
    char text[160];
    if (below(g.sender, g.items, g.senders) && below(g.receiver, g.items, g.receivers) &&
        (!sorted || (below(g.by_sender, g.items, g.items) && ascends(g.receiver_row, g.receivers, g.items) &&
                     ascends(g.sender_row, g.senders, g.items))))
        return "";
    if constexpr (sizeof *g.sender == 8)
        cgtp_graph64_find_fault(&g, sorted, &fault);
    else
        cgtp_graph_find_fault(&g, sorted, &fault);
    cgtp_fault_text(&fault, text, sizeof text);
    return text;
}

} // namespace cgtp_guard

#endif
