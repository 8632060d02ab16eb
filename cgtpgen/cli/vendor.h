/* vendor.h - the runtime's files that the products of a call need, beside these. */
#ifndef CGTPGEN_VENDOR_H
#define CGTPGEN_VENDOR_H

#include "cli/options.h"
#include "emit/emitter.h"
#include "emit/seal.h"
#include "util/file.h"

/* The texts of all products. */
struct vendored {
    struct arena *arena;
    int n, capacity;
    struct output_file *file;
};

/* Adds a product: its files, or where these have no code those that a call without --emit makes. */
void vendor_product(struct vendored *, const struct options *, const struct schedules *,
                    const struct output_file *, int files);

/* The runtime's files for them. Returns how many. */
int vendor_files(const struct vendored *, const struct options *, struct output_file **needed);

/* The seal of a file: of the runtime's, which have no checksum, those are whole that are as they would be
 * written. */
enum seal vendor_seal(struct arena *, const char *path, const char *text, size_t size);

/* Files of the runtime's in the folder (NULL: the current one) that are not among those needed, with their
 * text. Returns their number, -1 with errno set where the folder cannot be read. */
int vendor_leftovers(struct arena *, const char *folder, const struct file_content *needed, int n,
                     struct file_content **found);

#endif
