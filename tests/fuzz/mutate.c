/* mutate.c - how libFuzzer changes specs for fuzz.c where they are to be emitted: most of the changes that it
 * makes itself leave no right spec. A word becomes another of its kind, by the generator's tables; a
 * multiplicity another, everywhere; a number another; a line goes, or stands in another place once more.
 */
#include "spec/known.h"
#include "spec/mode.h"
#include "spec/precision.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

enum { WORDS_MOST = 16, WORD_LENGTH = 32 };

/* Words that can stand where another of them stands. */
struct kind {
    int n;
    const char *word[WORDS_MOST];
};

enum { KINDS = 12 };
static struct kind kind[KINDS] = {
    {2, {"true", "false"}},
    {4, {"channelwise", "fully_connected", "elementwise", "full"}},
};

static void add_words(struct kind *to, const char *const *word, int n)
{
    for (int i = 0; i < n; i++)
        to->word[to->n++] = word[i];
}

static void fill_kinds(void)
{
    struct kind *next = &kind[2];
    for (int i = 0; i < MODE_COUNT; i++)
        add_words(next, &mode_table[i].name, 1);
    next++;
    for (int i = 0; i < KNOWN_COUNT; i++)
        add_words(next, &known_table[i].name, 1);
    next++;
    for (int i = 0; i < PRECISION_COUNT; i++)
        add_words(next, &precision_table[i].name, 1);
    add_words(++next, index_name, INDEX_COUNT);
    add_words(++next, layout_name, LAYOUT_COUNT);
    add_words(++next, irrep_normalization_name, IRREP_NORMALIZATIONS);
    add_words(++next, path_normalization_name, PATH_NORMALIZATIONS);
    add_words(++next, edges_name, 2);
    add_words(++next, reduction_name, 2);
    add_words(++next, accumulate_name, 2);
}

static uint32_t state;

static size_t random_below(size_t n)
{
    state = state * 1664525u + 1013904223u;
    return n ? (state >> 8) % n : 0;
}

static bool in_word(uint8_t c)
{
    return isalnum(c) || c == '_' || c == '<';
}

/* Puts the word in the place of `cut` bytes at `at`, where there is room; returns the new size. */
static size_t splice(uint8_t *data, size_t size, size_t most, size_t at, size_t cut, const void *word,
                     size_t n)
{
    if (size - cut + n > most)
        return size;
    memmove(data + at + n, data + at + cut, size - at - cut);
    memcpy(data + at, word, n);
    return size - cut + n;
}

static size_t change_number(uint8_t *data, size_t size, size_t most, size_t at, size_t digits)
{
    static const char *const number[] = {"0",  "1",  "2",  "3",  "4",  "5",  "7",   "8",
                                         "16", "31", "32", "33", "64", "96", "128", "0.5"};
    static const char *const l[] = {"0", "1", "2", "3", "4", "6"};
    const char *word = number[random_below(sizeof number / sizeof *number)];
    uint8_t after = at + digits < size ? data[at + digits] : 0;
    if (after == 'e' || after == 'o')
        word = l[random_below(sizeof l / sizeof *l)];
    if (after != 'x' || digits >= WORD_LENGTH)
        return splice(data, size, most, at, digits, word, strlen(word));
    char old[WORD_LENGTH]; /* modes tie multiplicities */
    memcpy(old, data + at, digits + 1);
    for (size_t i = 0; i + digits < size; i++)
        if (!memcmp(data + i, old, digits + 1) && (i == 0 || !in_word(data[i - 1])))
            size = splice(data, size, most, i, digits, word, strlen(word));
    return size;
}

static size_t change_word(uint8_t *data, size_t size, size_t most)
{
    size_t at = random_below(size), end;
    while (at < size && !in_word(data[at]))
        at++;
    while (at > 0 && in_word(data[at - 1]))
        at--;
    for (end = at; end < size && isdigit(data[end]);)
        end++;
    if (end > at)
        return change_number(data, size, most, at, end - at);
    while (end < size && in_word(data[end]))
        end++;
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; i < kind[k].n; i++)
            if (strlen(kind[k].word[i]) == end - at && !memcmp(kind[k].word[i], data + at, end - at)) {
                const char *word = kind[k].word[random_below((size_t)kind[k].n)];
                return splice(data, size, most, at, end - at, word, strlen(word));
            }
    return size;
}

static size_t line_begin(const uint8_t *data, size_t at)
{
    while (at > 0 && data[at - 1] != '\n')
        at--;
    return at;
}

static size_t change_line(uint8_t *data, size_t size, size_t most)
{
    size_t from = line_begin(data, random_below(size)), to = line_begin(data, random_below(size));
    const uint8_t *newline = memchr(data + from, '\n', size - from);
    size_t n = newline ? (size_t)(newline - data) + 1 - from : size - from;
    if (random_below(2))
        return splice(data, size, most, from, n, "", 0);
    char *line = malloc(n);
    if (!line)
        return size;
    memcpy(line, data + from, n);
    size = splice(data, size, most, to, 0, line, n);
    free(line);
    return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    state = seed;
    if (!kind[KINDS - 1].n)
        fill_kinds();
    if (size == 0 || random_below(8) == 0)
        return LLVMFuzzerMutate(data, size, most);
    return random_below(8) ? change_word(data, size, most) : change_line(data, size, most);
}
