/* print.h - the schedules of kernels as text and JSON: --print=plan and =json, banners of generated files. */
#ifndef CGTPGEN_SCHEDULE_PRINT_H
#define CGTPGEN_SCHEDULE_PRINT_H

#include "schedule/schedule.h"

/* Every kernel: its schedules with their figures; for each path who took it, and what the others said. */
void schedules_print(struct text *, const struct schedules *);

/* The schedules of one kernel. */
void kernel_schedule_print(struct text *, const struct kernel_schedule *);

/* The code of every path of every schedule, a node per line. */
void schedules_dump(struct text *, const struct schedules *);

/* A JSON list of the kernel's schedules. */
void kernel_schedule_json(struct text *, const struct plan *, const struct kernel_schedule *);

#endif
