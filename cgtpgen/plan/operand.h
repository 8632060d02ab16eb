/* operand.h - a kernel's arrays: where each element of their rows is, of which type, and which row an item
 * reads or adds to. Whoever emits an address or a size asks the operand, and needs no slot for it.
 */
#ifndef CGTPGEN_OPERAND_H
#define CGTPGEN_OPERAND_H

#include "form/form.h"

/* Part of a row: an irreps segment, or the weights of a path. Component i of channel u is element
 * offset + u * channel + i * component. */
struct operand_block {
    int64_t offset;             /* of its first element in the row */
    int64_t channel, component; /* elements from one channel, from one component to the next */
    int64_t channels;           /* weights: all of them, in C order of their shape */
    int components;             /* 2l+1; weights: 1 */
    int alignment; /* elements: in every row it begins at a multiple of so many (most: 16 bytes) */
};

struct operand {
    const char *name, *symbol; /* of the spec; of the parameter in emitted code */
    enum slot slot;
    enum index_kind index;
    enum precision storage; /* of the caller's array */
    enum precision
        held;          /* of the rows that schedules read or write: the array, or a copy in the workspace; */
    const char *array; /* what these are called in a launch: the symbol, or that and `stored` */
    bool output, tangent; /* tangent: a tangent or cotangent of the slot */
    int64_t dim;          /* elements of a row */
    const char *stride;   /* elements from a row to the next, as launches and calls name it; NULL: dim */
    int blocks;           /* irreps segments; weights: paths */
    const struct operand_block *block;
};

/* How rows are read and written, by slot (a bit each). */
struct row_access {
    unsigned stored;  /* rows of 16 bits as they are, but for sums over items; others by copies in the type
                       * that is computed with */
    unsigned read;    /* they are only read so, but for strided ones of an odd length */
    unsigned written; /* they are only written so */
    unsigned rounded; /* sums of a wider type than arithmetic are written in that of arithmetic, where arrays
                       * have it; of others copies of the wider type are */
};

/* The kernel's arrays: its inputs, then its outputs. */
const struct operand *operands_build(struct arena *, const struct problem *, const struct kernel_form *,
                                     struct row_access);

/* What a block's part of shared memory or registers is called: x_s2, w_p5; of slot y the operand's own. */
const char *operand_part(struct arena *, const struct operand *, int block);

/* The block that a path reads or adds to. */
const struct operand_block *operand_block_of(const struct operand *, const struct path *);

/* The same as schedules see it: the caller's, unless they see a copy; NULL: dim. */
const char *operand_stride(const struct operand *);

/* Bytes of an element, as schedules see it; as the caller does. */
int operand_size(const struct operand *);
int operand_stored_size(const struct operand *);

/* Do schedules see a copy, of another type? */
bool operand_is_copied(const struct operand *);

/* Are neighbouring channels of a component neighbours in memory? */
bool block_is_by_component(const struct operand_block *);

/* Are there components of a channel that are no neighbours in memory? */
bool block_is_apart(const struct operand_block *);

/* The block with its elements in component order: channels of a component are neighbours. */
struct operand_block block_in_component_order(const struct operand_block *);

#endif
