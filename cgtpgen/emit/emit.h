/* emit.h - from plans to source text. One emitter a kind of output; each fills a list of files in memory. */
#ifndef CGTPGEN_EMIT_H
#define CGTPGEN_EMIT_H

#include "plan/plan.h"

struct output_file {
    const char *name; /* without a folder: NAME_forward.c */
    const char *text;
    size_t size;
};

enum { EMIT_HEADER = 1, EMIT_SOURCE = 2, EMIT_SELFTEST = 4 };

/* The portable C backend: NAME.h, NAME.c (the descriptor), NAME_<kernel>.c one a kernel; `what` is a set of
 * EMIT_ bits. Returns the number of files. */
int emit_c(struct arena *, const struct plan *, unsigned what, struct output_file **files);

/* ---- shared by the emitters ---- */

/* float or double */
const char *emit_real(const struct plan *);

/* The digest of the normalised spec: 16 hexadecimal digits. */
const char *emit_digest(struct arena *, const struct plan *);

/* The banner that opens every file: what it is, the digest, the spec as understood. */
void emit_banner(struct text *, const struct plan *, const char *what);

/* "3: 128x1o * 1x2e -> 128x3o, uvu, a = sqrt(7)" */
void emit_path_line(struct text *, const struct plan *, const struct path *);

/* cgtp_status NAME_kernel(graph or items, inputs, outputs, workspace, stream), without a semicolon. */
void emit_prototype(struct text *, const struct plan *, const struct kernel_plan *);

/* size_t NAME_kernel_workspace(graph or items), without a semicolon. */
void emit_workspace_prototype(struct text *, const struct plan *, const struct kernel_plan *);

/* Number of rows of arrays with this index, as a C expression in a launcher. */
const char *emit_rows(const struct plan *, enum index_kind);

/* Does the kernel have an operand with this index? */
bool emit_uses(const struct spec *, const struct kernel_form *, enum index_kind);

/* The beginning of a launcher: checks of sizes and pointers, which declare `status`. receiver_row, by_sender:
 * whether the kernel reads those arrays of the graph. */
void emit_checks(struct text *, const struct plan *, const struct kernel_plan *, bool receiver_row,
                 bool by_sender);

/* NAME.h: the C interface and manual of the product; the same for every backend. */
void emit_header(struct text *, const struct plan *);

/* NAME.c: the descriptor. */
void emit_descriptor(struct text *, const struct plan *, const char *backend);

/* NAME_selftest.c: a program that compares every kernel with a dense loop. */
struct output_file emit_selftest(struct arena *, const struct plan *);

/* A sum that breaks into lines: sum_begin writes `lhs`, sum_add a signed term, sum_end the semicolon (or "
 * 0;"). */
struct sum {
    struct text *out;
    int indent, terms;
    size_t line; /* where the current line began */
};
void sum_begin(struct sum *, struct text *, int indent, const char *lhs);
void sum_add(struct sum *, bool negative, const char *term);
void sum_end(struct sum *);

#endif
