/* options.h - the command line, read into one struct. docs/cgtpgen.1 is the manual. */
#ifndef CGTPGEN_OPTIONS_H
#define CGTPGEN_OPTIONS_H

#include "cli/messages.h"
#include "emit/backend.h"

#include <stdbool.h>

/* What the program exits with: the first of these that happens. */
enum exit_status { EXIT_OK, EXIT_SPEC, EXIT_USAGE, EXIT_STALE, EXIT_IO, EXIT_INTERNAL };

/* Bits of options.dump: 1 << one of these. */
enum dump_kind {
    DUMP_SPEC,
    DUMP_PROBLEM,
    DUMP_FORM,
    DUMP_PLAN,
    DUMP_SCHEDULES,
    DUMP_CODE,
    DUMP_MEMORY,
    DUMP_COUNT
};

enum { JOBS_MOST = 64 }; /* threads */

enum action { ACTION_GENERATE, ACTION_HELP, ACTION_VERSION };

struct options {
    enum action action;
    int specs;
    const char **spec;  /* file names; "-": standard input, at most once */
    const char *output; /* folder; "-": standard output; NULL: not given, which means the current one */
    const char *name;   /* --name: the names of products, with % for what a spec says; NULL: as it says */
    const struct backend *backend; /* --backend */
    const struct device *device;   /* --arch: what to plan for, one of the backend's */
    const char *measured;          /* --measured: a log of times, for the report; NULL: none */
    unsigned emit;                 /* bits 1 << row of emitter_table */
    unsigned print;                /* bits 1 << row of print_table; 0: none */
    unsigned dump;                 /* bits of dump_kind */
    bool write;                    /* write the generated files: not where only reports are asked for */
    bool prune;                    /* remove generated files that stayed behind */
    bool force;                    /* replace what others wrote, remove what was edited */
    bool check;                    /* compare with what is there instead of writing */
    bool lint;                     /* read and judge the specs, nothing else */
    struct message_options messages;
    bool list;               /* print the names of the files instead of writing them; */
    bool list_runtime;       /* of those of the runtime alone */
    bool depend;             /* -MD */
    const char *depend_file; /* -MF; NULL: FOLDER/NAME.spec.d for each spec */
    int depend_targets;      /* -MT */
    const char **depend_target;
    bool depend_phony; /* -MP */
    int jobs;          /* --jobs: threads; 0: as many as there are processors, up to some */
    int mutate;        /* --mutate, for tests: the mutant to make, 0: only list them; -1: not given */
};

/* Reads argv into *options. Returns false after appending to *error what is wrong, with the nearest word that
 * exists. */
bool options_read(struct arena *, int argc, char *const *argv, struct options *, struct text *error);

extern const char options_help[]; /* --help */

#endif
