/* report.h - a page about one product, for people. */
#ifndef CGTPGEN_EMIT_REPORT_H
#define CGTPGEN_EMIT_REPORT_H

#include "emit/emitter.h"

/* NAME.html: blocks and tensors, schedules, costs. */
void emit_report(struct text *, const struct emission *);

#endif
