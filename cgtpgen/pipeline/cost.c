/* cost.c - what an item costs by a pipeline: instructions of a warp, and bytes, counted from its steps.
 *
 * The longer of the two decides, and four tenths of the other are not hidden behind it. Where a lane has an
 * item, a warp does the work of as many items as it has lanes.
 */
#include "pipeline/pipeline.h"

enum { WARPS_ENOUGH = 8 }; /* that hide what each waits for */

/* Elements of a version of each run, of all versions of a turn. */
static double elements_of(const struct place *q)
{
    double n = 0;
    for (int i = 0; i < q->fields; i++)
        n += q->field[i].length;
    return n;
}

double pipeline_cost(const struct pipeline *p, const struct operations *op)
{
    const double bytes_per_instruction = 6, per_item = 20, per_multiply = 1.4, per_sum = 4, per_element = 3;
    double bytes = 0, elements = 0, sums = 0;
    for (int i = 0; i < p->places; i++) {
        const struct place *q = &p->place[i];
        *(q->clock != LOOP_LAUNCH ? &elements : &sums) +=
            q->clock != LOOP_LAUNCH || q->summed ? elements_of(q) : 0;
        bytes += q->clock != LOOP_LAUNCH ? q->size * elements_of(q) : 0;
    }
    const double work =
        per_item + (per_multiply * (op->fma + op->mul + op->add) + per_sum * sums + per_element * elements) /
                       p->worker.lanes;
    const int warps = p->worker.warps * p->worker.teams;
    const double waiting =
        warps < WARPS_ENOUGH ? (double)WARPS_ENOUGH / warps : 1; /* too few issue too little */
    const double issue = work * waiting, moved = bytes / bytes_per_instruction;
    const double longer = issue > moved ? issue : moved;
    return longer + 0.4 * (issue + moved - longer);
}
