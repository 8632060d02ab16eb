/* SPDX-License-Identifier: MIT */
/* cgtp_ranks.h - ranks: processes or GPUs that have some nodes of a graph each. C11 and C++. The functions declared
 * here are in cgtp_ranks.c.
 */
#ifndef CGTP_RANKS_H
#define CGTP_RANKS_H

#include "cgtp_call.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The graph of a rank has its own nodes as receivers and as first senders, and as further senders ghosts, nodes of other ranks,
 * whose rows of x have to come first. A receiver is interior where no edge to it comes from a ghost. Fills number [receivers]
 * (host memory): the new number of each of the rank's own nodes, all interior ones before the others, and otherwise in the
 * order that they have; *interior is how many these are. Renumbered, and then sorted and indexed, such a graph has two parts,
 * cgtp_graph_slice of its receivers [0, interior) and of the others. CGTP_BAD_SIZE where senders are fewer than receivers,
 * CGTP_BAD_GRAPH if an index is out of range. O(items + receivers). */
CGTP_API cgtp_status cgtp_graph_split(const cgtp_graph *graph, int32_t *number, int64_t *interior);
CGTP_API cgtp_status cgtp_graph64_split(const cgtp_graph64 *graph, int64_t *number, int64_t *interior);

/* The part of a sorted and indexed graph that ends at receivers [first, last), as a graph by itself (host memory), of
 * the graph's first `senders` senders. Its arrays of receivers begin at row `first` of the graph's, those of items at
 * row receiver_row[first] or, with `order`, where the graph's do. Fills receiver [its items], receiver_row [last - first
 * + 1], by_sender [its items], sender_row [senders + 1], and points the part at them and into the graph's other arrays.
 * CGTP_BAD_SIZE where receivers or senders are not the graph's, CGTP_BAD_GRAPH where an edge comes from another sender. */
CGTP_API cgtp_status cgtp_graph_slice(const cgtp_graph *graph, int64_t first, int64_t last, int64_t senders,
                                      cgtp_graph *part, int32_t *receiver, int64_t *receiver_row, int32_t *by_sender,
                                      int64_t *sender_row);
CGTP_API cgtp_status cgtp_graph64_slice(const cgtp_graph64 *graph, int64_t first, int64_t last, int64_t senders,
                                        cgtp_graph64 *part, int64_t *receiver, int64_t *receiver_row, int64_t *by_sender,
                                        int64_t *sender_row);

/* Rows on their way between ranks: entry i of the list is row[i] of an array, and place[i] of a buffer. */
typedef struct cgtp_rows {
    int64_t count;       /* entries */
    int64_t elements;    /* of a row */
    cgtp_type type;      /* of an element */
    const int32_t *row;  /* [count] */
    const int32_t *place; /* [count] or NULL: entry i has place i */
} cgtp_rows;

/* buffer[place] = array[row], of all entries: what is to be sent (host memory; for a device's see cgtp_device.h).
 * Numbers are not checked. */
CGTP_API cgtp_status cgtp_rows_gather(const cgtp_rows *rows, const void *array, void *buffer);

/* array[row] += buffer[place], of one entry after the other: gradients that have come. On a device row[] must ascend, and
 * the entries of a row are added in the order of the list, so that the bits are the host's. Of 16 bits those of a row that
 * follow each other in the list are added to it in float32, and the sum is rounded. */
CGTP_API cgtp_status cgtp_rows_add(const cgtp_rows *rows, const void *buffer, void *array);

#ifdef __cplusplus
}
#endif

/* A list of rows between ranks, and what it moves them between. */
static inline cgtp_status cgtp_check_rows(const cgtp_rows *rows, const void *array, const void *buffer)
{
    if (!rows)
        return CGTP_NULL_POINTER;
    if ((unsigned)rows->type > (unsigned)CGTP_FLOAT16 || rows->count < 0 || rows->elements < 0)
        return CGTP_BAD_SIZE;
    const size_t size = cgtp_type_size(rows->type);
    cgtp_status status = cgtp_check_array(array, rows->count, rows->elements, rows->elements, size);
    if (status == CGTP_OK)
        status = cgtp_check_array(buffer, rows->count, rows->elements, rows->elements, size);
    return status == CGTP_OK && rows->count && rows->elements && !rows->row ? CGTP_NULL_POINTER : status;
}

#endif
