/* format.h - what vsnprintf writes, in a fraction of its time where a format has only %s, %.*s, %c, %d, %ld,
 * %lld and %%.
 */
#ifndef CGTPGEN_FORMAT_H
#define CGTPGEN_FORMAT_H

#include <stdarg.h>
#include <stddef.h>

/* Returns the length. Where that is less than `size` the text is in `to`, and a '\0' behind it; otherwise
 * anything is. */
size_t format_text(char *to, size_t size, const char *format, va_list);

#endif
