/* mend.h - slips (slips.h) in the keys and scalars of a tree: reported, and what was meant put there, so that
 * each is reported once. */
#ifndef CGTPGEN_MEND_H
#define CGTPGEN_MEND_H

#include "spec/node.h"

/* free_text: the tree's own key whose value is for people; NULL: none. */
void mend_tree(struct arena *, struct diag *, struct node *, const char *free_text);

#endif
