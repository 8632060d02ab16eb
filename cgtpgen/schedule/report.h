/* report.h - figures of a schedule, told once by its evaluation and printed as text or as JSON. */
#ifndef CGTPGEN_REPORT_H
#define CGTPGEN_REPORT_H

#include "util/text.h"

#include <stdbool.h>

struct layout;

/* What a number is besides: how a page draws it. Text and JSON print the number. */
enum figure_of {
    OF_NOTHING,
    OF_LIMIT,   /* so much of `most` */
    OF_RECORDS, /* this record's part of what all in its list have together */
    OF_RING,    /* slots of an owner's ring, into each of which a word's (an edge's) rows are copied */
    OF_CHANNELS /* parts of `most` channels, one per word (a warp, a turn) */
};

struct figure {
    enum figure_kind {
        FIGURE_NUMBER,
        FIGURE_WORD,
        FIGURE_FLAG,
        FIGURE_LIST,
        FIGURE_WORDS,
        FIGURE_RECORDS,
        FIGURE_LAYOUT
    } kind;
    const char *name;
    double number; /* of a number; a flag: not 0 */
    enum figure_of of;
    double most;
    const char *word;  /* of a word; see figure_of; of records: what one is called */
    const char *owner; /* of a ring */
    int n, capacity;   /* of a list */
    const int *list;
    const char *const *words;
    struct report **record;
    const struct layout *layout;
};

/* A record: named figures in the order in which they were added. Names are words joined by _. */
struct report {
    struct arena *arena;
    int n, capacity;
    struct figure *figure;
};

void report_number(struct report *, const char *name, double);
void report_part(struct report *, const char *name, double value, double most);
void report_share(struct report *, const char *name, double);
void report_ring(struct report *, const char *name, int slots, const char *owner, const char *turn);
void report_channels(struct report *, const char *name, int parts, int channels, const char *owner);
void report_word(struct report *, const char *name, const char *);
void report_flag(struct report *, const char *name, bool);
void report_list(struct report *, const char *name, int n, const int *);
void report_words(struct report *, const char *name, int n, const char *const *);

/* What is where in a piece of memory: not in text. */
void report_layout(struct report *, const char *name, const struct layout *);

/* A new record in the list of this name; in text each is headed by what one is called, and its number. */
struct report *report_record(struct report *, const char *name, const char *one);

/* A figure's name, as words. */
const char *figure_name(struct arena *, const struct figure *);

/* "stages 3, warps per block 4", in lines of at most 100 columns; records in lines of their own below, where
 * one like another but for its lists says so. */
void report_text(struct text *, int indent, const struct report *);

/* "stages": 3, "warps_per_block": 4: without the braces around. */
void report_json(struct text *, int indent, const struct report *);

/* "0-3, 5" */
const char *report_ranges(struct arena *, int n, const int *ascending);

#endif
