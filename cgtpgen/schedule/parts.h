/* parts.h - sums over all items by partial rows: each block of a kernel writes one, and a second kernel adds
 * them up in their order.
 */
#ifndef CGTPGEN_PARTS_H
#define CGTPGEN_PARTS_H

#include "schedule/source.h"
#include "util/out.h"

/* The area of the partial rows of an output, `count` of them: a C expression of a launcher. */
void parts_area(struct areas *, const struct operand *, const char *count);

/* The second kernel of an output; its launch: blocks, of the kernel before, is a C expression. */
void parts_sum(struct source *, struct out *, const struct operand *);
void parts_launch(struct source *, const struct operand *, const char *blocks);

#endif
