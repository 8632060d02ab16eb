/* clear.h - what one launch fills with zeros before sums are added to it: arrays of the caller, areas of the
 * workspace.
 */
#ifndef CGTPGEN_CLEAR_H
#define CGTPGEN_CLEAR_H

#include "schedule/source.h"

struct clear {
    int n;            /* of them */
    bool strided;     /* are there arrays with strides? */
    struct text list; /* entries of cgtp_areas */
};

struct clear clear_begin(struct arena *);

/* An array of an output: its rows, not what is between them. */
void clear_rows(struct clear *, const struct source *, const struct operand *);

/* `count` rows, a C expression, of `each` elements in a part of the workspace. */
void clear_area(struct clear *, const char *area, const char *count, int64_t each, const char *type);

/* The call that launches it; the step of a launcher that it is, if there is anything. */
const char *clear_call(const struct clear *);
void clear_launch(const struct clear *, struct source *);

#endif
