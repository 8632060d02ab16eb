/* SPDX-License-Identifier: MIT */
/* cgtp_device.h - preparing a graph on the device: order by receiver, permutation by sender, row pointers,
 * checks; and rows that go between devices.
 *
 * The functions of cgtp_graph.cu, for C and C++. What they fill equals what cgtp_graph_index (cgtp.h) fills
 * on the host, element for element. All arrays are device memory of the caller; graph structures are the
 * host's. Like kernels the functions allocate nothing, never wait, can be captured in a CUDA graph, and
 * return what can be told at once; what only the device can tell (an index out of range) is a number in
 * device memory. One workspace serves one call at a time; it must be a multiple of 256 bytes.
 */
#ifndef CGTP_DEVICE_H
#define CGTP_DEVICE_H

#include "cgtp_check.h"
#include "cgtp_ranks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of workspace that _sort and _index need for a graph of this size: 6 to 16 (with 64-bit indices 12 to 32)
 * bytes an edge and some KiB. 0 where there are no edges. */
CGTP_API size_t cgtp_device_graph_workspace(int64_t items, int64_t senders, int64_t receivers);
CGTP_API size_t cgtp_device_graph64_workspace(int64_t items, int64_t senders, int64_t receivers);

/* Sorts an edge list by receiver. sorted_sender, sorted_receiver, order [items]: edge i of the sorted list was edge order[i];
 * edges of one receiver stay in their order. Rows of y and w must be put in that order by the caller. Outputs must not overlap
 * inputs. Indices out of range give wrong results but touch no other memory. */
CGTP_API cgtp_status cgtp_device_graph_sort(int64_t items, int64_t receivers, const int32_t *sender,
                                            const int32_t *receiver, int32_t *sorted_sender,
                                            int32_t *sorted_receiver, int32_t *order, void *workspace,
                                            size_t workspace_bytes, cgtp_stream stream);
CGTP_API cgtp_status cgtp_device_graph64_sort(int64_t items, int64_t receivers, const int64_t *sender,
                                              const int64_t *receiver, int64_t *sorted_sender,
                                              int64_t *sorted_receiver, int64_t *order, void *workspace,
                                              size_t workspace_bytes, cgtp_stream stream);

/* Fills receiver_row [receivers + 1], by_sender [items] and sender_row [senders + 1] from an edge list that
 * is sorted by receiver, and points the graph at them. Does not check the list: see _check. */
CGTP_API cgtp_status cgtp_device_graph_index(cgtp_graph *graph, int64_t *receiver_row, int32_t *by_sender,
                                             int64_t *sender_row, void *workspace, size_t workspace_bytes,
                                             cgtp_stream stream);
CGTP_API cgtp_status cgtp_device_graph64_index(cgtp_graph64 *graph, int64_t *receiver_row, int64_t *by_sender,
                                               int64_t *sender_row, void *workspace, size_t workspace_bytes,
                                               cgtp_stream stream);

/* Checks everything that a kernel relies on, as cgtp_graph_find_fault does: *result (device memory, at a
 * multiple of 8 bytes) becomes what is read by the functions below. sorted: as in the spec. What is returned
 * is known at once: wrong sizes, null pointers, a launch that was refused; *result is then not written. */
CGTP_API cgtp_status cgtp_device_graph_check(const cgtp_graph *graph, int sorted, uint64_t *result,
                                             cgtp_stream stream);
CGTP_API cgtp_status cgtp_device_graph64_check(const cgtp_graph64 *graph, int sorted, uint64_t *result,
                                               cgtp_stream stream);

/* Wait for the stream and read the result of a check, and what is wrong with the graph: CGTP_OK or
 * CGTP_BAD_GRAPH. CGTP_LAUNCH_FAILED if anything on the stream failed, CGTP_NO_DEVICE, CGTP_NO_CODE. */
CGTP_API cgtp_status cgtp_device_status_read(const uint64_t *result, cgtp_stream stream);
CGTP_API cgtp_status cgtp_device_fault_read(const cgtp_graph *graph, const uint64_t *result,
                                            cgtp_fault *fault, cgtp_stream stream);
CGTP_API cgtp_status cgtp_device_fault64_read(const cgtp_graph64 *graph, const uint64_t *result,
                                              cgtp_fault *fault, cgtp_stream stream);

/* cgtp_rows_gather and cgtp_rows_add (cgtp_ranks.h) of arrays and lists on the device; the struct is the host's. What is added
 * has row[] ascending. Numbers are not checked. */
CGTP_API cgtp_status cgtp_device_rows_gather(const cgtp_rows *rows, const void *array, void *buffer,
                                             cgtp_stream stream);
CGTP_API cgtp_status cgtp_device_rows_add(const cgtp_rows *rows, const void *buffer, void *array,
                                          cgtp_stream stream);

#ifdef __cplusplus
}
#endif

#endif
