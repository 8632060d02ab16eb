/* out.h - writes C source, so that what writes it shows the text: a call per line, indented by the braces
 * before it and wrapped at 100 columns.
 */
#ifndef CGTPGEN_OUT_H
#define CGTPGEN_OUT_H

#include "util/text.h"

struct out {
    struct text *text;
    int depth;    /* open braces */
    int indented; /* the line before is a condition or a loop without a brace: it indents this one */
};

/* One line of source, without its newline and indentation; what is too long goes on in further lines,
 * indented twice, broken after a comma or before an operator. Braces open and close blocks; a line that ends
 * in ')' after if, for, while, or is else, indents the next. */
void line(struct out *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* An empty line. */
void blank(struct out *);

/* "1 path", "2 paths" */
const char *plural(struct arena *, long long n, const char *noun);

#endif
