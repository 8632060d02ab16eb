/* leftover.h - generated files that stayed behind: of kernels that a spec no longer has, or of another
 * backend. */
#ifndef CGTPGEN_LEFTOVER_H
#define CGTPGEN_LEFTOVER_H

#include "util/file.h"

/* What is in a folder (NULL: the current one), read once for all products. */
struct leftover_folder {
    const char *path;
    int names;
    const char **name; /* sorted */
};

/* A product, and the names of all files that it can have today. */
struct leftover_of {
    const char *name;
    int files;
    const char *const *file; /* without a folder */
};

/* The names in the folder; none where there is no folder. Returns false with errno set where it cannot be
 * read.
 */
bool leftover_read(struct arena *, const char *path, struct leftover_folder *);

/* Adds the leftovers of the product in the folder, with their text: regular files with a name that begins
 * like the product's, whose first lines say that cgtpgen wrote them for it, and that are not among its files.
 * Returns their number. */
int leftover_find(struct arena *, const struct leftover_folder *, const struct leftover_of *,
                  struct file_content **found);

#endif
