/* evaluations.h - the evaluations that there are. Only this table names them. */
#ifndef CGTPGEN_EVALUATIONS_H
#define CGTPGEN_EVALUATIONS_H

#include "schedule/schedule.h"

/* of GPUs */
extern const struct evaluation convolution_evaluation, batch_evaluation, tiled_evaluation, gemm_evaluation,
    nodal_evaluation, lanes_evaluation, paired_evaluation, staged_evaluation, general_evaluation;
extern const struct evaluation loops_evaluation; /* of the host */

/* Those of a target, in the order in which they are asked; at the end NULL. */
extern const struct evaluation *const cuda_evaluations[];
extern const struct evaluation *const c_evaluations[];

#endif
