/* print.h - the schedules of kernels as text and JSON: --print=plan and =json, banners of generated files. */
#ifndef CGTPGEN_SCHEDULE_PRINT_H
#define CGTPGEN_SCHEDULE_PRINT_H

#include "schedule/schedule.h"

/* Every kernel: its schedules with their figures; for each path who took it, and what the others said. */
void schedules_print(struct text *, const struct schedules *);

/* The schedules of one kernel. */
void kernel_schedule_print(struct text *, const struct kernel_schedule *);

/* Numbers of the paths that a schedule computes, ascending: room for all; how many. */
int schedule_paths(const struct schedule *, int *list);

/* "all paths", "paths 0-3, 5": of so many that there are. */
const char *paths_text(struct arena *, int n, const int *list, int all);

/* Why an evaluation takes nothing of outputs; NULL: it has a schedule. */
const char *verdict_reason(struct arena *, const struct verdict *);

/* The code of every path of every schedule, a node per line. */
void schedules_dump(struct text *, const struct schedules *);

/* A JSON list of the kernel's schedules. */
void kernel_schedule_json(struct text *, const struct plan *, const struct kernel_schedule *);

#endif
