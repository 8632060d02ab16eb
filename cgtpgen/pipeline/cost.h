/* cost.h - what a unit of work costs: counted from a pipeline's steps, or by a planner that compares what it
 * has not written yet. What numbers mean in time is said here alone.
 */
#ifndef CGTPGEN_COST_H
#define CGTPGEN_COST_H

#include "pipeline/pipeline.h"

/* Instructions and bytes overlap: the longer decides, and four tenths of the other are not hidden behind it.
 * Both in instructions of a warp, in the time of each of which so many bytes can be moved. */
enum { COST_BYTES_AN_INSTRUCTION = 6 };
double cost_overlap(double instructions, double moved);

/* So many bytes of a lane by copies of so many bytes each. */
double cost_copies(double bytes, int piece);

/* Instructions that a sum over lanes of so many bytes takes. */
double cost_sum(int64_t bytes);

/* Of those edges; the time of one beside others', in instructions; of a receiver's sums of so many bytes that
 * another warp has part of. */
double cost_instructions(const struct work *);
double cost_share(const struct work *, int words);
double cost_hand_over(int bytes);

/* What is counted of a pipeline of edges. */
struct work cost_work(const struct pipeline *);

/* Of an item of a pipeline whose lanes have one each, comparable among what is computed; op: of its code. */
double cost_items(const struct pipeline *, const struct operations *op);

#endif
