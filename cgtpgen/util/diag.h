/* diag.h - diagnostics: `file:line:col: error: message`, the source line and a caret; collected, not printed.
 *
 * Errors travel as values: a pass that reports one goes on where it can, so that several come out at once,
 * and the caller asks diag_errors() before it starts the next pass.
 */
#ifndef CGTPGEN_DIAG_H
#define CGTPGEN_DIAG_H

#include "util/text.h"

/* A place in the source: line and column count from 1 (the column in bytes, after a byte order mark); width
 * bytes are underlined. line 0: no place. */
struct pos {
    int line, column, width;
};

/* What an error printed to diag->out is about, and where in diag->out it begins. */
struct diag_place {
    struct pos pos;
    size_t begin;
};

struct diag {
    const char *file;   /* name to print */
    const char *source; /* the whole file, for the source line */
    size_t source_size;
    int errors;               /* errors reported so far */
    struct text out;          /* what to print, in the order of reporting */
    struct diag_place *place; /* of each error printed: for diag_sort */
    int places, capacity;
};

void diag_error(struct diag *, struct pos, const char *format, ...) __attribute__((format(printf, 3, 4)));
void diag_note(struct diag *, struct pos, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts the errors printed so far, each with its notes, in the order of the file. */
void diag_sort(struct diag *);

/* The word of `words` (count of them) nearest to `word` by edit distance, or NULL when none is near enough to
 * suggest. */
const char *diag_nearest(const char *word, const char *const *words, int count);

#endif
