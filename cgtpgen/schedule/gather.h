/* gather.h - kernels that add up, for each node, the rows of its edges in a buffer of the workspace: in a
 * fixed order, 16 bytes of a node's row per thread.
 */
#ifndef CGTPGEN_GATHER_H
#define CGTPGEN_GATHER_H

#include "schedule/source.h"
#include "util/out.h"

/* `aligned`: rows of the buffer, and what is added of them, begin and end at multiples of so many elements;
 * GATHER_ROWS: they are as rows of the output. `parameters`, `arguments`: more of the kernel's, after a comma
 * each; or "".
 *
 * The kernel up to where `sum` is to get element `at` and those after of the rows of node `node`; and from
 * there on. Without parameters it is a template of how many rows are `together` on their way to a thread.
 * in_turns: the launch takes turns (struct cgtp_turn of the runtime), and the kernel has one more, `turn`.
 */
enum { GATHER_ROWS = 16 };
void gather_begin(struct source *, struct out *, const struct form_output *, int aligned,
                  const char *parameters, bool in_turns);
/* That sum, as the runtime's functions take it. */
const char *gather_sum(const struct source *, const struct form_output *, int aligned);
void gather_end(struct out *, const struct source *, const struct form_output *, int aligned, bool in_turns);

/* Its launch; in turns the variable `turn` is there. */
void gather_launch(struct source *, struct out *, const struct form_output *, int aligned,
                   const char *arguments, bool in_turns);

/* Areas in which its sums go from one turn to the next, if they cannot in the output's rows. */
void gather_areas(struct areas *, const struct schedule *, int output);

#endif
