/* replace.h - may a file be written over? What others wrote stays, and what somebody edited is named. */
#ifndef CGTPGEN_REPLACE_H
#define CGTPGEN_REPLACE_H

#include "cli/options.h"
#include "util/diag.h"
#include "util/file.h"

/* Looks at what stands where the files are to be written, of which the first are generated and those behind
 * them dependency files. Reports each generated file that was edited, as a warning about it:
 * edited[generated]. Without
 * --force appends to *refused a line for each file that is somebody else's. False with errno set, and the
 * path in *failed, where one cannot be read. */
bool replace_check(struct arena *, const struct options *, const struct file_content *file, int generated,
                   int files, struct diag *edited, struct text *refused, const char **failed);

#endif
