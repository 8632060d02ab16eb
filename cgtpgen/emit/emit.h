/* emit.h - from schedules to source text: what emitters share, and those that are the same for every backend.
 */
#ifndef CGTPGEN_EMIT_H
#define CGTPGEN_EMIT_H

#include "emit/memory.h"
#include "schedule/source.h"

/* The banner that opens every file but the header: what it is, the irreps. */
void emit_banner(struct text *, const struct plan *, const char *what);

/* The same as comments of Python. */
void emit_banner_python(struct text *, const struct plan *, const char *what);

/* cgtp_status NAME_kernel(graph or items, inputs, outputs, workspace, stream), without a semicolon, after
 * `linkage`. */
void emit_prototype(struct text *, const struct plan *, const struct kernel_plan *, const char *linkage);

/* size_t NAME_kernel_workspace(graph or items), without a semicolon; least: NAME_kernel_workspace_least. */
void emit_workspace_prototype(struct text *, const struct plan *, const struct kernel_form *, bool least);

/* "const cgtp_graph *graph" or "int64_t items" */
const char *emit_items_parameter(const struct plan *);

/* A call or a declaration that is being written: what stands in its parentheses is aligned with their begin.
 */
struct emit_list {
    struct text *out;
    size_t indent, column;
};
struct emit_list emit_list_open(struct text *, const char *head);

/* Adds "word" and what follows it, on the next line where this one is full. */
void emit_list_add(struct emit_list *, const char *word, const char *end);

/* A kernel's arrays, each with the stride of its rows where the caller says it: as parameters, where
 * runtime's and standard types are in scopes of C++ (scope "::") or in none (""); as arguments, each behind
 * `of`; the strides as fields of a struct, with words behind them. */
void emit_parameters(struct emit_list *, const struct plan *, const struct kernel_plan *, const char *scope);
void emit_arguments(struct emit_list *, const struct kernel_plan *, const char *of);
void emit_strides(struct text *, const struct kernel_plan *, const char *words);

/* Does the kernel have an operand with this index? */
bool emit_uses(const struct spec *, const struct kernel_form *, enum index_kind);

/* int refused(graph or items): what the workspace's function and the launcher refuse for its numbers alone.
 */
void emit_refused(struct text *, const struct plan *, const struct kernel_plan *);

/* The beginning of a launcher: checks of sizes and pointers, which declare `status`. */
void emit_checks(struct text *, const struct plan *, const struct kernel_schedule *);

/* A line for each path: what it connects, its coefficient, where its weights are. */
void emit_paths(struct text *, const struct plan *, const char *start);

/* NAME.h: the C interface and manual of the product; the same for every backend, but for comments on the
 * workspace. */
void emit_header(struct text *, const struct schedules *, const struct memory *);

/* NAME.c: the descriptor. */
void emit_descriptor(struct text *, const struct schedules *, const struct memory *, const char *backend);

/* NAME.hpp: the same interface in a namespace of C++. */
void emit_cpp(struct text *, const struct plan *);

/* The functions workspace_N and run_N, which take arrays by position, of kernel number N; least_N, where
 * asked for. */
void emit_wrappers(struct text *, const struct plan *, const struct kernel_plan *, int number, bool least);

/* NAME_selftest.c: a program that compares every kernel with a dense loop. */
void emit_selftest(struct text *, const struct plan *);

/* Its tables, and `test`, which names them. */
void emit_selftest_tables(struct text *, const struct plan *);

/* ---- a kernel's file (file.c) ---- */

/* The fields of struct launch after the graph: the caller's arrays, the areas of the workspace. */
void emit_launch_fields(struct source *);

/* The body of lay_out(..): sets l's pointers into the workspace, where there is an l; returns its bytes. */
void emit_lay_out(struct source *);

/* Does lay_out need the graph or the number of items? */
bool emit_sized(struct source *);

/* The code of all schedules, after the constants that it uses; qualifier: "static const". */
void emit_schedules(struct source *, const char *qualifier);

/* The caller's array of operand i of the kernel in struct launch: the operand's symbol, where schedules see
 * the array itself, or that and `stored` beside a copy of the symbol's name in the workspace; its type. */
const char *emit_stored(const struct source *, int i);
const char *emit_type(const struct source *, int i);

/* Are there copies of arrays in the workspace, of another type? */
bool emit_converts(const struct source *);

/* The launches of all schedules, between those that make copies of inputs and make outputs of copies. */
void emit_launches(struct source *, void (*convert)(struct source *, const struct operand *));

#endif
