/* slips.h - slips of the pen that would otherwise be reported where, or as what, nobody looks for them:
 * characters that look like those of a spec and are others, and colons that make no key.
 */
#ifndef CGTPGEN_SLIPS_H
#define CGTPGEN_SLIPS_H

#include "util/diag.h"

#include <stdbool.h>
#include <stdint.h>

/* Is the character not what it looks like? In free text only what would make sources look like others is
 * wrong. */
bool slips_is_character(int32_t c, bool free_text);

/* What is meant by such a character; 0: nothing. */
char slips_meant(int32_t c);

/* The kind of the message about such a character. */
enum diag_id slips_id(int32_t c);

/* What is wrong with such a character, which is written as `length` bytes at s. */
const char *slips_message(struct arena *, const char *s, int length, int32_t c);

struct slip {
    enum diag_id id;
    size_t at, width; /* bytes */
    const char *message;
};

/* The length of the identifier at s, 0: there is none. */
size_t slips_word_length(const char *s);

/* Is the line, which begins at byte `at`, `key:value`, `key = value` or `key value`? */
bool slips_in_key(struct arena *, const char *line, size_t at, struct slip *);

/* The slip for which libyaml says `problem` at byte `at` of the source, about what begins at byte `context`;
 * false: none that is known. */
bool slips_in_yaml(struct arena *, const struct diag *, const char *problem, size_t at, size_t context,
                   struct slip *);

#endif
