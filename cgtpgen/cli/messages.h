/* messages.h - how messages about specs are told: which warnings, which of them as errors. */
#ifndef CGTPGEN_MESSAGES_H
#define CGTPGEN_MESSAGES_H

#include "util/diag.h"

struct message_options {
    enum diag_severity severity[DIAG_COUNT];
    bool all_errors;           /* -Werror: a warning is an error */
    bool no_error[DIAG_COUNT]; /* but for these: -Wno-error=NAME */
};

/* As it is without options. */
void messages_begin(struct message_options *);

/* Reads what stands after -W: NAME, no-NAME, error, error=NAME ... Returns false after appending to *error
 * what is wrong. */
bool messages_read_warning(struct arena *, struct message_options *, const char *value, struct text *error);

/* What the options mean together, once all are read. */
void messages_end(struct message_options *);

/* The names of all warnings, in the order of diag_table; returns how many. */
int messages_warnings(const char *names[DIAG_COUNT]);

#endif
