/* batch_emit.h - the pipelined batch: what the files that write it share. batch_kernel.c writes the kernel,
 * batch_load.c the tables and what brings rows in, batch_set.c the work of a path set.
 */
#ifndef CGTPGEN_BATCH_EMIT_H
#define CGTPGEN_BATCH_EMIT_H

#include "schedule/batch/batch_plan.h"
#include "schedule/path_device.h"
#include "util/out.h"

/* A path set while it is written. */
struct batch_writer {
    struct source *w;
    struct out *o;
    const struct batch *g;
    const struct batch_set *s;
    const struct batch_part *part;   /* of the set */
    int number;                      /* of the set */
    const struct batch_phase *phase; /* of the set */
};

/* The kernel's inputs that the demand reads, or its outputs, of a slot, by number; returns how many. */
int batch_operands(const struct batch_writer *, enum slot slot, bool outputs, int *number);

/* Loads a lane's channels of a slice of the segment into registers, or stores them there. */
void batch_load_lane(const struct batch_writer *, enum slot slot, int segment, const char *registers,
                     const char *slice);
void batch_store_lane(const struct batch_writer *, enum slot slot, int segment, const char *slice,
                      const char *registers);

/* Where segments and weights are in rows, as structs. */
void batch_tables(struct batch_writer *);

/* Has the path set a stage, with rows that its copies bring? */
bool batch_stages(const struct batch_writer *);

/* The functions that start the copies of a path set: load_0, .., and load for whichever a turn has. */
void batch_loads(struct batch_writer *);

/* ", at.x0, at.x1": the fields of an operand for so many segments; of slot z for those of the set. */
const char *batch_fields(const struct batch_writer *, const char *from, const char *name, enum slot slot,
                         int n, const int *segment);
const char *batch_fields_z(const struct batch_writer *, const char *from, const char *name);

/* Path `number`, for its function and its call. */
struct device_path batch_path(const struct batch_writer *, int number);

/* The work of the set: a turn. */
void batch_turn(struct batch_writer *);

/* Writes the kernel and its launch. */
void batch_kernel(struct source *);
void batch_launch(struct source *, const struct schedule *);

#endif
