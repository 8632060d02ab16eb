/* leftover.h - generated files that stayed behind: of kernels that a spec no longer has, or of another
 * backend. */
#ifndef CGTPGEN_LEFTOVER_H
#define CGTPGEN_LEFTOVER_H

#include "util/file.h"

/* A product, and the names of all files that it can have today. */
struct leftover_of {
    const char *name;
    int files;
    const char *const *file; /* without a folder */
};

/* Adds the leftovers of the product in the folder (NULL: the current one), with their text: regular files
 * with a name that begins like the product's, whose first lines say that cgtpgen wrote them for it, and that
 * are not among its files. Returns their number, -1 with errno set where the folder cannot be read. */
int leftover_find(struct arena *, const char *folder, const struct leftover_of *,
                  struct file_content **found);

#endif
