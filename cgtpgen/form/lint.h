/* lint.h - what a spec says in vain: right, but hardly what was meant. Warnings, once everything is built. */
#ifndef CGTPGEN_LINT_H
#define CGTPGEN_LINT_H

#include "form/form.h"

void lint(const struct problem *, const struct form *, struct diag *);

#endif
