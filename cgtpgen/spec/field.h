/* field.h - nodes of the spec read as what they must be: words, numbers, names, mappings with known keys.
 *
 * Every reader reports through diag what it expected where it finds something else, then returns false (or
 * the default), so that the caller goes on to the next key. A node of kind NODE_WRONG was reported before and
 * fails in silence.
 */
#ifndef CGTPGEN_FIELD_H
#define CGTPGEN_FIELD_H

#include "algebra/exact.h"
#include "spec/node.h"

struct reader {
    struct arena *arena;
    struct diag *diag;
};

/* Reports "expected <what>, found <the node>" at the node; silent where it is NODE_WRONG. */
void field_expected(struct reader *, const struct node *, const char *what);

/* A mapping: found[i] becomes its entry of key keys[i], or NULL; other keys are errors, after which one that
 * is nearly keys[i] stands for it. what: "a mapping of ...". */
bool field_mapping(struct reader *, const struct node *, const char *what, const char *const *keys, int count,
                   const struct entry **found);

/* A list, or an error that it should have been. */
bool field_list(struct reader *, const struct node *, const char *what);

/* Reports a scalar that is none of the words; what: "a or b". */
void field_unknown_word(struct reader *, const struct node *, const char *what, const char *const *words,
                        int count);

/* One of the words: its number, or fallback after an error. */
int field_word(struct reader *, const struct node *, const char *const *words, int count, int fallback);

/* A whole number in [least, most]; what: "a segment number". */
bool field_integer(struct reader *, const struct node *, const char *what, int64_t least, int64_t most,
                   int64_t *out);

/* A decimal number >= 0, exactly. */
bool field_number(struct reader *, const struct node *, const char *what, struct rat *out);

bool field_boolean(struct reader *, const struct node *, bool *out);

/* A C identifier that does not begin with an underscore; what: "the name of a kernel". Keywords are as good
 * as others: in emitted code names only stand as parts of longer ones. */
bool field_name(struct reader *, const struct node *, const char *what);

/* An unquoted scalar whose text begins, or ends, with this character. */
bool field_begins_with(const struct node *, char);
bool field_ends_with(const struct node *, char);

/* "a, b or c" */
const char *field_alternatives(struct arena *, const char *const *words, int count);

#endif
