/* emitter.h - the kinds of output: one row of emitter_table each. */
#ifndef CGTPGEN_EMITTER_H
#define CGTPGEN_EMITTER_H

#include "emit/backend.h"
#include "emit/measured.h"

#include <stdbool.h>

struct output_file {
    const char *name; /* without a folder: NAME_forward.c */
    char *text;       /* with its seal (seal.h) */
    size_t size;
    int kernel; /* the number of the one that it is the source of; -1: of none alone */
};

/* What a product's files are written from. */
struct emission {
    const struct backend *backend;
    const struct schedules *schedules;
    const struct memory *memory;     /* [kernels]; made by emit_files */
    const struct measured *measured; /* what ran; NULL: not known */
    bool of_folder;                  /* files that are the same for all products, too */
    /* [kernels], of a program that tunes; NULL where none is asked for */
    const struct alternatives *const *alternatives;
    /* told before long work on a kernel, and at its end (kernel -1); NULL */
    void (*progress)(const struct plan *, int kernel);
    int alternative; /* the number of that which the schedules are, from 1 on; 0: the planner's own */
};

struct emitter {
    const char *word;    /* in --emit; rows with the same word are asked for together */
    const char *backend; /* the only one that it is for; NULL: all */
    bool by_default;     /* also where there is no --emit */
    bool reads_measured; /* shows what ran, where that is known */
    bool of_folder;      /* its file is the same for all products of a folder, and called as the suffix */
    bool tunes;          /* knows what other plans there are of each kernel; */
    bool of_alternative; /* and has a file for each of them, NAME_kernel.tuneN with the backend's suffix */
    bool of_backend;     /* behind the suffix there is the backend's */
    bool of_call;        /* its files are those that all products of a call need (cli/vendor.h), */
    const char *runtime; /* and this one of the runtime, with what it needs itself */
    const char *suffix;  /* of its file, after the product's name; NULL: a file per kernel, NAME_kernel with
                            the backend's suffix */
    /* kernel: NULL in a file for all */
    void (*emit)(struct text *, const struct emission *, const struct kernel_schedule *kernel);
};

extern const struct emitter emitter_table[];
extern const int emitter_count;

/* The names that the product defines for its callers: NAME_product, NAME_DIGEST, NAME_DIM_X and so on, of
 * each kernel NAME_kernel and NAME_kernel_workspace. Returns their number. */
int emit_symbols(struct arena *, const struct plan *, const char ***symbols);

/* The names, without a folder, of all files that the product can have with any --emit. Returns their number.
 */
int emit_names(struct arena *, const struct backend *, const struct plan *, const char ***names);

/* The rows without --emit; is the word among those asked for? */
unsigned emit_default(void);
bool emit_has(unsigned rows, const char *word);

/* Writes what is asked for, a set of bits 1 << row, to files in memory, in the table's order. Returns their
 * number. */
int emit_files(struct arena *, const struct emission *, unsigned rows, struct output_file **files);

/* Warns of sources that take a compiler long. */
void emit_lint(const struct schedules *, const struct output_file *, int files, struct diag *);

#endif
