/* node.h - the spec's YAML as a tree that remembers where everything stood.
 *
 * Only the part of YAML that a spec needs: mappings, lists and scalars. Aliases, anchors, tags, duplicate
 * keys and several documents are errors here; what the keys mean is spec.c's.
 */
#ifndef CGTPGEN_NODE_H
#define CGTPGEN_NODE_H

#include "util/diag.h"

#include <stdbool.h>

enum node_kind {
    NODE_SCALAR,
    NODE_LIST,
    NODE_MAPPING,
    NODE_WRONG /* something already reported: readers pass over it in silence */
};

struct node {
    enum node_kind kind;
    struct pos pos;
    size_t begin, end;   /* its bytes in the source, quotes and brackets included */
    const char *text;    /* of a scalar: its value, UTF-8 without NUL */
    bool quoted;         /* a scalar in quotes or a block scalar: never null */
    int n;               /* elements, or entries */
    struct node **child; /* [n] of a list */
    struct entry *entry; /* [n] of a mapping, in file order */
};

struct entry {
    struct node *key; /* a scalar */
    struct node *value;
};

/* The root of the one document in diag->source, or NULL where there is none; diag says what was wrong. The
 * tree can be read further after errors that leave one. */
struct node *node_read(struct arena *, struct diag *);

/* The place of byte `at` of a scalar's text, width bytes long: inside the source where it can be told, else
 * the whole. */
struct pos node_pos_at(const struct diag *, const struct node *, int at, int width);

/* The scalars list->child[first .. last] as one, with the text that stands in the source there. */
struct node *node_join(struct arena *, const struct diag *, const struct node *list, int first, int last);

/* "a list", "a mapping", "nothing" or the text in quotes, cut where it is long: for messages. */
const char *node_shown(struct arena *, const struct node *);

#endif
