/* evaluations.c - see evaluations.h. */
#include "schedule/evaluations.h"

const struct evaluation *const cuda_evaluations[] = {
    &convolution_evaluation, &batch_evaluation,  &tiled_evaluation,  &gemm_evaluation,    &nodal_evaluation,
    &lanes_evaluation,       &paired_evaluation, &staged_evaluation, &general_evaluation, NULL};
const struct evaluation *const c_evaluations[] = {&loops_evaluation, NULL};
