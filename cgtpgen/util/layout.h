/* layout.h - named fields at offsets: what is where in a piece of memory. Planners add fields in order;
 * emitters print the layout as a C++ struct, whose fields lie where the planner put them, and never compute
 * an offset.
 */
#ifndef CGTPGEN_LAYOUT_H
#define CGTPGEN_LAYOUT_H

#include "util/out.h"

#include <stdbool.h>
#include <stdint.h>

struct layout;

struct layout_field {
    const char *name;
    const char *type;        /* of an element; NULL: the struct `of` */
    const struct layout *of; /* an element's own layout */
    int count[3];            /* dimensions of an array; 0: none */
    const char *owner; /* what it belongs to: fields of one owner are declared together, with it as comment */
    int at, bytes;     /* from the layout's beginning; of all elements */
    int element, align; /* bytes of an element; `at` is a multiple of align */
};

struct layout {
    const char *name;  /* of the struct; NULL: it is declared where a field has it */
    const char *note;  /* what it holds: the comment above it */
    bool alternatives; /* a union: every field begins at 0 */
    int fields, capacity;
    struct layout_field *field;
    int bytes, align; /* of the whole */
};

/* More bytes than any memory that is laid out has: sizes stop here, so that what is too large stays so. */
enum { LAYOUT_MOST = 1 << 30 };

/* Adds a field of `element` bytes, or of elements of another layout, after those there are; returns it, until
 * the next call. Dimensions that are 0 are none. */
struct layout_field *layout_add(struct arena *, struct layout *, const char *name, const char *type,
                                int element, int align, int64_t count, const char *owner);
struct layout_field *layout_nest(struct arena *, struct layout *, const char *name, const struct layout *of,
                                 int count, const char *owner);

/* Makes the last field an array of `n` of what it is: name[n][..]. */
void layout_repeat(struct layout *, int n);

/* Fills up to a multiple of `align` bytes. */
void layout_pad(struct arena *, struct layout *, int align);

/* What is wrong: fields that overlap, lie beyond the end or at an odd place; NULL: nothing. */
const char *layout_check(struct arena *, const struct layout *);

/* The struct, and a static_assert that the compiler agrees about its size and where each owner's fields
 * begin. */
void layout_print(struct out *, const struct layout *);

#endif
