/* messages.h - how messages about specs are told: which warnings, which of them as errors; for people, in
 * colours or not, or for programs. */
#ifndef CGTPGEN_MESSAGES_H
#define CGTPGEN_MESSAGES_H

#include "util/diag.h"

enum when { WHEN_AUTO, WHEN_ALWAYS, WHEN_NEVER, WHENS };

struct message_options {
    enum diag_severity severity[DIAG_COUNT];
    bool all_errors;           /* -Werror: a warning is an error */
    bool no_error[DIAG_COUNT]; /* but for these: -Wno-error=NAME */
    bool json;                 /* --diagnostics=json */
    enum when color;           /* --color */
};

/* As it is without options. */
void messages_begin(struct message_options *);

/* Reads what stands after -W: NAME, no-NAME, error, error=NAME ... Returns false after appending to *error
 * what is wrong. */
bool messages_read_warning(struct arena *, struct message_options *, const char *value, struct text *error);

/* What the options mean together, once all are read. */
void messages_end(struct message_options *);

/* How to print to a standard error that is, or is no, terminal. */
enum diag_format messages_format(const struct message_options *, bool terminal);

#endif
