/* progress.h - a line on the terminal that says what a call is at; nothing where standard error is none. */
#ifndef CGTPGEN_PROGRESS_H
#define CGTPGEN_PROGRESS_H

#include "plan/plan.h"

/* Struct emission's. */
void progress_show(const struct plan *, int kernel);

#endif
