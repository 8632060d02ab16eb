/* product.h - a spec of the call and what became of it; names that two of them have. */
#ifndef CGTPGEN_PRODUCT_H
#define CGTPGEN_PRODUCT_H

#include "cli/options.h"
#include "emit/emitter.h"
#include "util/diag.h"
#include "util/file.h"

/* A spec file and what became of it. */
struct product {
    const char *file;                  /* as given; "-": standard input */
    const char *shown;                 /* the same in messages */
    bool first;                        /* of the call: files that all products share are written for it */
    const struct schedules *schedules; /* NULL: forgotten, or never made */
    const char *name;
    int symbols;
    const char **symbol; /* what it defines for its callers */
    int names;
    const char **possible;       /* of its files, with any --emit */
    int files;                   /* 0 where only reports are asked for */
    struct output_file *text;    /* [own] */
    int own;                     /* those of its files that are its own, not the runtime's */
    struct file_content *output; /* path: folder/name */
    struct text told;            /* messages, dumps */
    enum exit_status status;
    bool done; /* compiled */
};

/* Where a file of this name goes. */
const char *product_path(struct arena *, const char *folder, const char *name);

/* What is known of it by its plan: name, symbols, possible files. */
void product_learn(struct arena *, const struct backend *, struct product *);

/* Releases all that was made since the mark but what the product is known by, and its output: plans of many
 * specs are not to be there at once. */
void product_settle(struct arena *, struct arena_mark, struct product *);

/* Two specs must not define the same symbol or generate the same file: a name can begin with another, a +
 * b_forward, a_b + forward. Reports the first that do; false: none. */
bool product_collision(const struct product *, int products, struct diag *);

#endif
