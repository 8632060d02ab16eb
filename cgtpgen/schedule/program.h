/* program.h - schedules whose kernels are pipelines: the functions of an evaluation's row that follow from
 * these, and need nothing else of it.
 */
#ifndef CGTPGEN_PROGRAM_H
#define CGTPGEN_PROGRAM_H

#include "pipeline/pipeline.h"
#include "schedule/schedule.h"

/* Each output leaves as its row's only owner makes it, or by partial rows. Why not, or NULL. */
const char *program_routes(struct arena *, struct schedule *);

/* Makes it the schedule's kernel, with waits and barriers, and counts what an item costs by it. registers: of
 * a thread, at most. Why it cannot be, or NULL. */
const char *program_finish(struct schedule *, struct pipeline *, int registers);

/* See struct evaluation. */
void program_registers(struct arena *, struct schedule *);
void program_sync(struct schedule *);
void program_check(struct checker *, const struct schedule *);
void program_areas(struct areas *, const struct schedule *);
void program_reads_graph(const struct schedule *, bool *receiver_row, bool *by_sender);
void program_device(struct source *, const struct schedule *);
void program_launch(struct source *, const struct schedule *);
void program_report(struct report *, const struct schedule *);

/* All schedules, and the pipelines of those that have one. */
void programs_dump(struct text *, const struct schedules *);

#endif
