/* emit.h - from schedules to source text. One emitter per kind of output; each fills a list of files in
 * memory. */
#ifndef CGTPGEN_EMIT_H
#define CGTPGEN_EMIT_H

#include "schedule/source.h"

struct output_file {
    const char *name; /* without a folder: NAME_forward.c */
    const char *text;
    size_t size;
};

enum { EMIT_HEADER = 1, EMIT_SOURCE = 2, EMIT_SELFTEST = 4 };

/* NAME.h, NAME.c (the descriptor), NAME_<kernel> one per kernel, NAME_selftest.c; `what` is a set of EMIT_
 * bits, the files of kernels are written by `kernel`. Returns the number of files. */
int emit_files(struct arena *, const struct schedules *, unsigned what, const char *backend,
               struct output_file (*kernel)(struct arena *, const struct schedules *,
                                            const struct kernel_schedule *),
               struct output_file **files);

/* A kernel's file: portable C; CUDA. */
struct output_file emit_c_kernel(struct arena *, const struct schedules *, const struct kernel_schedule *);
struct output_file emit_cuda_kernel(struct arena *, const struct schedules *, const struct kernel_schedule *);

/* ---- shared by the emitters ---- */

/* The digest of the normalised spec: 16 hexadecimal digits. */
const char *emit_digest(struct arena *, const struct plan *);

/* The banner that opens every file: what it is, the digest, the spec as understood. */
void emit_banner(struct text *, const struct plan *, const char *what);

/* cgtp_status NAME_kernel(graph or items, inputs, outputs, workspace, stream), without a semicolon. */
void emit_prototype(struct text *, const struct plan *, const struct kernel_form *);

/* size_t NAME_kernel_workspace(graph or items), without a semicolon. */
void emit_workspace_prototype(struct text *, const struct plan *, const struct kernel_form *);

/* "const cgtp_graph *graph" or "int64_t items" */
const char *emit_items_parameter(const struct plan *);

/* The beginning of a launcher: checks of sizes and pointers, which declare `status`. */
void emit_checks(struct text *, const struct plan *, const struct kernel_schedule *);

/* NAME.h: the C interface and manual of the product; the same for every backend. */
void emit_header(struct text *, const struct plan *);

/* NAME.c: the descriptor. */
void emit_descriptor(struct text *, const struct schedules *, const char *backend);

/* NAME_selftest.c: a program that compares every kernel with a dense loop. */
struct output_file emit_selftest(struct arena *, const struct plan *);

/* ---- a kernel's file (file.c) ---- */

/* The fields of struct launch after the graph: the caller's arrays, the areas of the workspace. */
void emit_launch_fields(struct source *);

/* The body of lay_out(..): sets l's pointers into the workspace, where there is an l; returns its bytes. */
void emit_lay_out(struct source *);

/* Does lay_out need the graph or the number of items? */
bool emit_sized(struct source *);

/* The launches of all schedules. */
void emit_launches(struct source *);

#endif
