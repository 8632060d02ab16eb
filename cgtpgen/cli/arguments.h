/* arguments.h - the words of the command line, with those that stand in files. */
#ifndef CGTPGEN_ARGUMENTS_H
#define CGTPGEN_ARGUMENTS_H

#include "cli/options.h"

/* argv[1 .. argc - 1] with each @FILE replaced by the words of that file, which may be such too; *words gets
 * them from 1 on, ended by NULL, *count their number and one. Otherwise appends to *error what is wrong. */
enum exit_status arguments_read(struct arena *, int argc, char *const *argv, int *count, char ***words,
                                struct text *error);

#endif
