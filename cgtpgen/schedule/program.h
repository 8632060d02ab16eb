/* program.h - schedules whose kernels are pipelines: the functions of an evaluation's row that follow from
 * these, and need nothing else of it.
 */
#ifndef CGTPGEN_PROGRAM_H
#define CGTPGEN_PROGRAM_H

#include "pipeline/pipeline.h"
#include "schedule/path_device.h"
#include "schedule/schedule.h"

/* Makes it the schedule's kernel, with waits and barriers, and counts what an item costs by it. registers: of
 * a thread, at most. Why it cannot be, or NULL. */
const char *program_finish(struct schedule *, struct pipeline *, int registers);

/* See struct evaluation. */
void program_registers(struct arena *, struct schedule *);
void program_sync(struct schedule *);
void program_check(struct checker *, const struct schedule *);
void program_areas(struct areas *, const struct schedule *);
void program_device(struct source *, const struct schedule *);
void program_launch(struct source *, const struct schedule *);
void program_report(struct report *, const struct schedule *);

/* The path of a call, for its function; the functions of all calls' codes, one path after the other. */
struct device_path program_path(struct source *, struct out *, const struct pipeline *, const struct call *);
void program_functions(struct source *, struct out *, const struct pipeline *);

/* Do its paths write every element of a row of x or z that is an output? */
bool program_covers(const struct schedule *, const struct operand *);

/* All schedules, and the pipelines of those that have one. */
void programs_dump(struct text *, const struct schedules *);

#endif
