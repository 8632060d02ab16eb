/* arguments.c - see arguments.h. Words in a file are as GNU's tools have them: they end at white space, but
 * not in quotes; a backslash makes the next character a plain one, but not in single quotes. */
#include "cli/arguments.h"

#include "util/file.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

enum { FILES_MOST = 100 }; /* files read: more are one that names itself */

struct reader {
    struct arena *arena;
    int files, words, capacity;
    char **word;
    struct text *error;
};

static void add_word(struct reader *r, const char *s, size_t n)
{
    r->word = arena_grow(r->arena, r->word, r->words, &r->capacity, sizeof *r->word);
    r->word[r->words++] = arena_string(r->arena, s, n);
}

static bool is_space(char c)
{
    return c && strchr(" \t\n\r\f\v", c);
}

/* Reads a word from s on and returns where it ends; NULL: in quotes that nothing closes. */
static const char *read_word(struct text *word, const char *s)
{
    char quote = 0;
    for (; *s && (quote || !is_space(*s)); s++) {
        if (*s == '\\' && quote != '\'' && s[1])
            text_put(word, ++s, 1);
        else if (*s == quote)
            quote = 0;
        else if (!quote && (*s == '"' || *s == '\''))
            quote = *s;
        else
            text_put(word, s, 1);
    }
    return quote ? NULL : s;
}

static enum exit_status read_argument(struct reader *r, const char *s);

static enum exit_status read_arguments_of(struct reader *r, const char *path)
{
    size_t size;
    if (++r->files > FILES_MOST) {
        text_printf(r->error, "cgtpgen: @%s: more than %d files of arguments; does one name itself?\n", path,
                    FILES_MOST);
        return EXIT_USAGE;
    }
    const char *s = file_read(r->arena, path, SIZE_MAX, &size);
    if (!s) {
        text_printf(r->error, "cgtpgen: @%s: %s\n", path, strerror(errno));
        return EXIT_IO;
    }
    if (strlen(s) != size) {
        text_printf(r->error, "cgtpgen: @%s: it is no text: it holds a zero byte\n", path);
        return EXIT_USAGE;
    }
    enum exit_status status = EXIT_OK;
    while (!status) {
        struct text word = {.arena = r->arena};
        while (is_space(*s))
            s++;
        if (!*s)
            break;
        s = read_word(&word, s);
        if (!s) {
            text_printf(r->error, "cgtpgen: @%s: a quotation mark is missing at the end of '%s'\n", path,
                        text_string(&word));
            return EXIT_USAGE;
        }
        status = read_argument(r, text_string(&word));
    }
    return status;
}

static enum exit_status read_argument(struct reader *r, const char *s)
{
    if (s[0] == '@' && s[1])
        return read_arguments_of(r, s + 1);
    add_word(r, s, strlen(s));
    return EXIT_OK;
}

enum exit_status arguments_read(struct arena *a, int argc, char *const *argv, int *count, char ***words,
                                struct text *error)
{
    struct reader r = {.arena = a, .error = error};
    enum exit_status status = EXIT_OK;
    add_word(&r, "cgtpgen", 7);
    for (int i = 1; i < argc && !status; i++)
        status = read_argument(&r, argv[i]);
    *count = r.words;
    r.word = arena_grow(a, r.word, r.words, &r.capacity, sizeof *r.word);
    r.word[r.words] = NULL;
    *words = r.word;
    return status;
}
