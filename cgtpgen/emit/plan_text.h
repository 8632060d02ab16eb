/* plan_text.h - NAME.plan.txt: a product in words, to be committed and reviewed in diffs. */
#ifndef CGTPGEN_PLAN_TEXT_H
#define CGTPGEN_PLAN_TEXT_H

#include "emit/emitter.h"

/* Irreps, paths with coefficients and weights, costs, workspaces, schedules: in one order, in lines of at
 * most 100 columns. It says nothing that can change while the product does not, so neither version, digest
 * nor description. */
void emit_plan_text(struct text *, const struct emission *);

#endif
