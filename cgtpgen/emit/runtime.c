/* runtime.c - see runtime.h. */
#include "emit/runtime.h"

#include <string.h>

static const char licence[] = "cgtp_LICENSE.txt";

static int find(const char *name, size_t n)
{
    for (int i = 0; runtime_texts[i].name; i++)
        if (strlen(runtime_texts[i].name) == n && !strncmp(runtime_texts[i].name, name, n))
            return i;
    return -1;
}

static char *text_of(struct arena *a, int file)
{
    struct text t = {.arena = a};
    for (const char *const *line = runtime_texts[file].line; *line; line++)
        text_puts(&t, *line);
    return t.s;
}

enum seal runtime_seal(struct arena *a, const char *name, const char *text, size_t size)
{
    const int file = find(name, strlen(name));
    if (file < 0)
        return seal_of(text, size);
    const char *own = text_of(a, file), *some = arena_string(a, text, size);
    if (strlen(own) == size && !memcmp(own, text, size))
        return SEAL_WHOLE;
    return strstr(some, arena_printf(a, "%s - ", name)) || !strcmp(name, licence) ? SEAL_OLD : SEAL_NONE;
}

static void need(struct arena *a, bool *needed, int file);

/* What a text has for #include "..". */
static void need_included(struct arena *a, bool *needed, const char *text)
{
    static const char before[] = "#include \"";
    for (const char *s = text; (s = strstr(s, before)); s++) {
        const char *name = s + strlen(before);
        if (s == text || s[-1] == '\n')
            need(a, needed, find(name, strcspn(name, "\"")));
    }
}

static void need_name(struct arena *a, bool *needed, const char *name)
{
    need(a, needed, find(name, strlen(name)));
}

static void need(struct arena *a, bool *needed, int file)
{
    /* Headers whose functions are in a source of their own. */
    static const char *const source[][2] = {{"cgtp_check.h", "cgtp_check.c"},
                                            {"cgtp_ranks.h", "cgtp_ranks.c"}};
    if (file < 0 || needed[file])
        return;
    needed[file] = true;
    need_included(a, needed, text_of(a, file));
    for (size_t i = 0; i < sizeof source / sizeof *source; i++)
        if (!strcmp(runtime_texts[file].name, source[i][0]))
            need_name(a, needed, source[i][1]);
}

static bool ends_with(const char *s, const char *end)
{
    const size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

int runtime_files(struct arena *a, const struct output_file *file, int files, unsigned rows,
                  struct output_file **result)
{
    /* What is linked with files whose names end so. */
    static const struct {
        const char *end, *source;
    } linked[] = {{".c", "cgtp.c"},
                  {".cu", "cgtp.c"},
                  {"_selftest.c", "cgtp_selftest.c"},
                  {".tune.c", "cgtp_tune.c"},
                  {".tune.c", "cgtp_tune.cu"}};
    int all = 0, n = 0;
    while (runtime_texts[all].name)
        all++;
    bool *needed = NEW_ARRAY(a, bool, all + 1);
    need_name(a, needed, licence);
    for (int i = 0; i < emitter_count; i++)
        if (rows & 1u << i && emitter_table[i].runtime)
            need_name(a, needed, emitter_table[i].runtime);
    for (int i = 0; i < files; i++) {
        need_included(a, needed, file[i].text);
        for (size_t k = 0; k < sizeof linked / sizeof *linked; k++)
            if (ends_with(file[i].name, linked[k].end))
                need_name(a, needed, linked[k].source);
    }
    *result = NEW_ARRAY(a, struct output_file, all + 1);
    for (int i = 0; i < all; i++)
        if (needed[i]) {
            char *text = text_of(a, i);
            (*result)[n++] = (struct output_file){runtime_texts[i].name, text, strlen(text), -1};
        }
    return n;
}
