/* judge.h - warnings of what a product costs, which are known when it is planned and written. */
#ifndef CGTPGEN_JUDGE_H
#define CGTPGEN_JUDGE_H

#include "emit/emitter.h"
#include "util/diag.h"

/* severity: of each kind of message. */
void judge_cost(const struct schedules *, const struct output_file *, int files,
                const enum diag_severity *severity, struct diag *);

#endif
