/* diag.h - diagnostics, collected and not printed: each has a kind (diag_id.h), a place, a text, perhaps the
 * word that was meant, and notes that show other places.
 *
 * Errors travel as values: a pass that reports one goes on where it can, so that several come out at once,
 * and the caller looks at diag.errors before it starts the next pass.
 */
#ifndef CGTPGEN_DIAG_H
#define CGTPGEN_DIAG_H

#include "util/diag_id.h"
#include "util/text.h"

#include <stdbool.h>

/* A place in the source: line and column count from 1 (the column in bytes, after a byte order mark); width
 * bytes are underlined. line 0: no place. */
struct pos {
    int line, column, width;
};

struct diag_note {
    struct pos pos;
    const char *text;
    struct diag_note *next;
};

struct diag_message {
    enum diag_id id;
    enum diag_severity severity;
    int number; /* in the order of reporting */
    struct pos pos;
    const char *text;       /* one line, of characters that a terminal shows and does not obey */
    const char *suggestion; /* the word that was probably meant at pos; NULL: not known */
    struct diag_note *note; /* in their order */
};

enum { DIAG_SHOWN = 100 }; /* errors, and warnings, that are kept; the rest is only counted */

struct diag {
    struct arena *arena;
    const char *file;   /* name to print */
    const char *source; /* the whole file, for the source line */
    size_t source_size;
    const enum diag_severity *severity; /* [DIAG_COUNT]; NULL: as in diag_table */
    int errors, warnings;               /* reported so far */
    bool dropped;                       /* the last message was not kept; its notes are not either */
    struct diag_message *message;
    int messages, capacity;
};

void diag_report(struct diag *, enum diag_id, struct pos, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Of the last message: another place that matters; the word that was probably meant (NULL: not known). */
void diag_note(struct diag *, struct pos, const char *format, ...) __attribute__((format(printf, 3, 4)));
void diag_suggest(struct diag *, const char *word);

/* A text as messages have it: what a terminal might obey, or not show, as its number. */
const char *diag_escaped(struct arena *, const char *);

/* Puts the messages in the order of the file. */
void diag_sort(struct diag *);

/* For people: `file:line:column: error: text [name]`, the line of the source and a caret, plain or in colours
 * of a terminal. For programs: a JSON object a line. */
enum diag_format { DIAG_PLAIN, DIAG_COLOR, DIAG_JSON };

void diag_print(struct text *, const struct diag *, enum diag_format);
void diag_json(struct text *, const struct diag *);
const char *diag_text(const struct diag *); /* plain */

/* What to say of messages that were only counted: a text for errors, for warnings. Returns how many texts. */
int diag_not_shown(const struct diag *, const char *text[2]);

/* The word of `words` (count of them) nearest to `word` by edit distance, or NULL when none is near enough to
 * suggest. */
const char *diag_nearest(const char *word, const char *const *words, int count);

#endif
