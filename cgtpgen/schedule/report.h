/* report.h - figures of a schedule, told once by its evaluation and printed as text or as JSON. */
#ifndef CGTPGEN_REPORT_H
#define CGTPGEN_REPORT_H

#include "util/text.h"

#include <stdbool.h>

/* A record: named figures in the order in which they were added. Names are words joined by _. */
struct report {
    struct arena *arena;
    int n, capacity;
    struct figure *figure;
};

void report_number(struct report *, const char *name, double);
void report_word(struct report *, const char *name, const char *);
void report_flag(struct report *, const char *name, bool);
void report_list(struct report *, const char *name, int n, const int *);

void report_words(struct report *, const char *name, int n, const char *const *);

/* A new record in the list of this name; in text each is headed by what one is called, and its number. */
struct report *report_record(struct report *, const char *name, const char *one);

/* "stages 3, warps per block 4", in lines of at most 100 columns; records in lines of their own below. */
void report_text(struct text *, int indent, const struct report *);

/* "stages": 3, "warps_per_block": 4: without the braces around. */
void report_json(struct text *, int indent, const struct report *);

/* "0-3, 5" */
const char *report_ranges(struct arena *, int n, const int *ascending);

#endif
