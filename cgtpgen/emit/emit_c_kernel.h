/* emit_c_kernel.h - what the parts of the C backend share while they write one kernel's file. */
#ifndef CGTPGEN_EMIT_C_KERNEL_H
#define CGTPGEN_EMIT_C_KERNEL_H

#include "emit/backend.h"
#include "emit/emit.h"
#include "emit/emit_c_product.h"
#include "emit/emit_path.h"
#include "emit/emit_words.h"

/* A vector over channels, summed at the end of an item: the part of an A output that one segment gets. */
struct channel_sum {
    int output, segment;
    int64_t length; /* channels, the most of any path */
    int depth;      /* components */
    int64_t at;     /* in the scratch */
};

/* One kernel while it is written. */
struct kernel_writer {
    struct arena *arena;
    struct text *out;
    const struct plan *plan;
    const struct kernel_plan *kernel;
    const struct kernel_form *form;
    const struct spec *spec;
    struct product_functions functions;
    bool graph;
    int64_t scratch; /* elements a part needs, the most of any pass */
    /* of the current pass: */
    const struct pass *pass;
    int sums;
    struct channel_sum *sum;
    int64_t sums_length, sum_at, t_at, p_at,
        temporary_at;   /* in the scratch; temporary: rows or a segment to transpose */
    int64_t *staged_at; /* [inputs] */
    int64_t *term_at;   /* [pass outputs]: compensated outputs' contributions of one item */
};

/* ---- small questions about the kernel (emit_c.c) ---- */

const struct irreps *irreps_of(const struct plan *, enum slot);
int64_t row_dim(const struct kernel_writer *, enum slot);
enum index_kind index_of(const struct kernel_writer *, enum slot);

/* Does component order differ from mul_ir for the slot's vectors? */
bool is_transposed(const struct kernel_writer *, enum slot);

/* Is the slot's output summed with compensation? */
bool is_compensated(const struct kernel_writer *, enum slot);

/* Output number i of the current pass. */
const struct form_output *pass_output(const struct kernel_writer *, int i);

/* The name under which input i is read as a vector: its component-order copy, or itself where the orders
 * agree. */
const char *vector_name(struct kernel_writer *, int i);

/* ---- the parts ---- */

/* Lays out the scratch of the current pass and writes item_<owner>(), the work of one item (emit_c_item.c).
 */
void emit_c_item(struct kernel_writer *);

/* Writes pass_<owner>(), the loop over items with their copies and rows (emit_c_pass.c). */
void emit_c_pass(struct kernel_writer *);

/* NAME_kernel.c */
void emit_c_kernel(struct text *, const struct program *, int kernel);

#endif
