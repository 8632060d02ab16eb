/* path_device.h - the arithmetic of paths in the pipelined evaluations: a function for each recipe and
 * matrix, for the channels of a lane, which the compiler puts in the place of its calls; a path is a call.
 */
#ifndef CGTPGEN_PATH_DEVICE_H
#define CGTPGEN_PATH_DEVICE_H

#include "util/layout.h"
#include "schedule/source.h"

/* A path while it is written. A call finds x and z in arrays of the lane, one per segment. */
struct device_path {
    struct source *w;
    struct out *o;
    const struct path *path;
    const struct code *code;
    const struct matrix *matrix; /* of the code; of its first path */
    int channels;                /* of a lane */
    const char *likewise;        /* numbers of paths that the call also computes, elsewhere; NULL: of none */
    const char *rows; /* inputs of slot y are fields of this, in memory; NULL: they are in registers */
    /* What a call passes for an operand of the recipe: an input, or (inputs + o) an output; NULL, or a
     * function that returns it, for those that are elsewhere. */
    const char *(*argument)(const struct device_path *, int operand);
    void *context; /* the caller's */
};

/* What is said above the functions. */
void device_path_note(struct out *);

/* The path's function, unless it is there. */
void device_path_function(const struct device_path *);

/* The function's name. */
const char *device_path_name(const struct device_path *);

/* The path, and what its function computes of the coefficient; as a comment. */
const char *device_path_words(const struct device_path *);
void device_path_comment(const struct device_path *);

/* Its call. */
void device_path_call(const struct device_path *);

#endif
