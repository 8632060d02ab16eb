/* backend.h - the kinds of machine that code is generated for: one row each.
 *
 * A row knows how to plan for its devices and how to write a kernel's source; what the plan of one backend
 * holds, no other and no driver knows. backend.c lists the rows; each is in a file of its own.
 */
#ifndef CGTPGEN_BACKEND_H
#define CGTPGEN_BACKEND_H

#include "plan/plan.h"

/* A product as it will be computed on a device. */
struct program {
    const struct backend *backend;
    const struct device *device; /* one of the backend's */
    const struct plan *plan;     /* what all backends share */
    const void *schedule;        /* what the backend decided, for its own functions alone; NULL: nothing */
};

struct backend {
    const char *name;   /* in --backend, and of generated products */
    const char *device; /* what to plan for where the command line does not say */
    const char *suffix; /* of the files of kernels */

    /* Decides how the device computes the plan; NULL: the plan says everything. */
    const void *(*schedule)(struct arena *, struct plan *, const struct device *);

    /* The source of one kernel. */
    void (*kernel)(struct text *, const struct program *, int kernel);

    /* The schedule as a table, after the plan's; NULL: there is none. */
    void (*print)(struct text *, const struct program *);

    /* The schedule of a kernel as members of a JSON object, each after a comma; NULL: there are none. */
    void (*json)(struct text *, const struct program *, int kernel);
};

extern const struct backend *const backend_table[]; /* the first is the default */
extern const int backend_count;

extern const struct backend backend_cuda, backend_c;

/* Plans a product for a device of the backend. */
const struct program *program_build(struct arena *, const struct backend *, const struct device *,
                                    struct plan *);

/* The plan and the schedule as tables. */
void program_print(struct text *, const struct program *);

#endif
