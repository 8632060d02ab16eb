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

/* Lines about no spec, `cgtpgen: TEXT`; for programs each becomes an object, whose severity is error or note.
 * Other lines stay. */
void messages_lines(struct text *out, bool json, const char *severity, const char *lines);

/* Does the command line ask for messages for programs? For what is wrong before it is read. */
bool messages_wants_json(int argc, char *const *argv);

/* What there is no memory to make. */
#define MESSAGES_OBJECT(severity)                                                                            \
    "{\"id\": null, \"severity\": \"" severity                                                               \
    "\", \"file\": null, \"line\": null, \"column\": null, \"length\": null, \"message\": "
#define MESSAGES_REST ", \"suggestion\": null, \"notes\": []}\n"
#define MESSAGES_OUT_OF_MEMORY MESSAGES_OBJECT("error") "\"out of memory\"" MESSAGES_REST

/* How to print to a standard error that is, or is no, terminal. */
enum diag_format messages_format(const struct message_options *, bool terminal);

#endif
