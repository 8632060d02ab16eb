/* demand.h - what is to be computed: some outputs of a kernel, of some of its paths, and by which recipes;
 * nothing about where operands stay or who owns what.
 */
#ifndef CGTPGEN_DEMAND_H
#define CGTPGEN_DEMAND_H

#include "plan/codes.h"
#include "plan/plan.h"

/* G output += W^T T: kernel output, kernel input (weights; -1: all one), number of the T vector. */
struct contract_z {
    int output, w, t;
};

/* weights output = sum of T g^T. */
struct contract_w {
    int output, parts;
    struct contract_w_part {
        int t, g; /* number of the T vector, kernel input */
    } * part;
};

/* P = W g, kernel inputs (w -1: all one). */
struct contract_p {
    int w, g;
};

/* One way of computing a path; shared by all paths that are alike. */
struct variant {
    enum slot a, g;
    bool elementwise, contracted, weighted, wide, strided, weight_strided;
    const struct recipe
        *product; /* diagonal: everything; contracted: outputs of A and B, from P; NULL: nothing to do */
    /* contracted only: */
    const struct recipe *tensor; /* the T vectors; NULL: none */
    int ts, ps, zs, ws;
    struct contract_p *p;
    struct contract_z *z;
    struct contract_w *w;
};

/* A path's recipes by its matrix; NULL: none, or not asked for yet. */
struct path_code {
    const struct code *product, *tensor;
};

enum { DEMAND_TOGETHER = 4 };

struct demand {
    const struct plan *plan;
    const struct kernel_plan *kernel;
    struct codes *codes;  /* where its recipes and codes are */
    int outputs, *output; /* kernel outputs, ascending */
    int variants;
    struct variant *variant;
    int *variant_of;        /* [paths]: variant, or -1: the path has nothing to do, or takes no part */
    struct path_code *code; /* [paths]: what demand_code has been asked for */
    const struct recipe **repeated; /* [variants][DEMAND_TOGETHER]: what demand_code_of has */
    bool *raw, *vector; /* [kernel inputs]: read as stored (A, W); as vectors over channels (B, G, tied A) */
};

/* takes: [paths], which take part; NULL: all. */
const struct demand *demand_build(struct codes *, const struct plan *, const struct kernel_plan *,
                                  int outputs, const int *output, const bool *takes);

/* The code of a path, made when it is first asked for: evaluations that have codes of their own, or refuse,
 * need none. Paths of the same variant and matrix share it. */
struct path_code demand_code(const struct demand *, int path);

/* The code of a path together with n - 1 others (n at most DEMAND_TOGETHER) of the same variant, matrix and
 * segment of A, of other segments of B and of z, where channels are tied. */
const struct code *demand_code_of(const struct demand *, int path, int n);

/* The code of n paths of one variant that read the same segments of A and of B, of different l3: their outer
 * product first (outer.c). */
const struct code *demand_code_outer(const struct demand *, const int *path, int n);

/* Per item, by its codes. */
struct operations demand_operations(const struct demand *);
double demand_flops(const struct demand *);

/* The code of each of its paths. */
void demand_dump(struct text *, const struct demand *);

/* Its output number i. */
const struct form_output *demand_output(const struct demand *, int i);

/* The operand of its output number i. */
const struct operand *demand_operand(const struct demand *, int i);

/* Its arrays: the kernel's inputs, then its outputs. One of them; NULL: an input that it does not read. */
int demand_arrays(const struct demand *);
const struct operand *demand_array(const struct demand *, int i);

/* The first of them of the slot; NULL: there is none. */
const struct operand *demand_of_slot(const struct demand *, enum slot);

/* Bytes of an item's rows of them, as numbers are computed with; shared: and of those that all items share.
 * Of no demand 0. */
double demand_row_bytes(const struct demand *, bool shared);

/* Does it read the kernel's input? */
bool demand_reads(const struct demand *, int input);

/* Of which index are the rows that its outputs are summed into: one of receiver, sender, shared; item, where
 * nothing is summed; INDEX_COUNT where there are several. */
enum index_kind demand_owner(const struct demand *);

/* How many of the kernel's inputs, or of the demand's outputs, are of the slot. */
int demand_inputs_of(const struct demand *, enum slot);
int demand_outputs_of(const struct demand *, enum slot);

/* Bytes of an element of each of them together, as schedules see it. */
int demand_bytes_of(const struct demand *, enum slot, bool outputs);

#endif
