/* unity.c - NAME.unity.c: all sources of a product in C as one, which includes them.
 *
 * In it what a file has for itself gets the file's name behind its own, by macros (runtime/cgtp_unity.h), so
 * that any number of products fit into one translation unit. The files themselves stay as they are.
 */
#include "emit/emit.h"
#include "emit/unity.h"

#include <string.h>

/* Names, each once. */
struct names {
    int n, capacity;
    const char **name;
};

static void add_name(struct arena *a, struct names *all, const char *s, size_t n)
{
    const char *name = arena_string(a, s, n);
    for (int i = 0; i < all->n; i++)
        if (!strcmp(all->name[i], name))
            return;
    all->name = arena_grow(a, all->name, all->n, &all->capacity, sizeof *all->name);
    all->name[all->n++] = name;
}

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The word that ends before s; begin is the line's. */
static void add_word_before(struct arena *a, struct names *all, const char *begin, const char *s)
{
    const char *word = s;
    while (word > begin && in_word(word[-1]))
        word--;
    add_name(a, all, word, (size_t)(s - word));
}

/* What a line defines at file scope: "static .. f(..", "static .. array[] = {", "static const real K = .., K
 * = ..;", "struct s {", "typedef t name;". */
static void add_line(struct arena *a, struct names *all, const char *line, size_t n)
{
    const char *s = arena_string(a, line, n), *open = strpbrk(s, "([");
    if (!strncmp(s, "static const real ", 18)) {
        for (const char *is = strstr(s, " = "); is; is = strstr(is + 1, " = "))
            add_word_before(a, all, s, is);
    } else if (!strncmp(s, "static ", 7) && open) {
        add_word_before(a, all, s, open);
    } else if (!strncmp(s, "struct ", 7)) {
        add_word_before(a, all, s, s + n - strlen(" {"));
    } else if (!strncmp(s, "typedef ", 8)) {
        add_word_before(a, all, s, s + n - strlen(";"));
    }
}

static void add_text(struct arena *a, struct names *all, const char *text)
{
    for (size_t n; *text; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        add_line(a, all, text, n);
    }
}

static void include(struct text *out, const char *unit, const char *file)
{
    text_printf(
        out, "#define CGTP_UNITY_FILE %s\n#include \"%s\"\n#undef CGTP_UNITY_FILE\n#undef CGTP_C_REAL_H\n\n",
        unit, file);
}

static void define(struct text *out, const struct names *all, int from)
{
    for (int i = from; i < all->n; i++)
        text_printf(out, "#define %s CGTP_UNITY(%s)\n", all->name[i], all->name[i]);
    text_printf(out, "\n");
}

void emit_unity(struct text *out, const struct emission *e)
{
    const struct backend *b = e->backend;
    const struct schedules *all = e->schedules;
    struct arena *a = out->arena;
    const char *name = all->plan->problem->spec->name;
    struct names names = {0};
    struct text descriptor = {.arena = a}, kernels = {.arena = a};
    emit_descriptor(&descriptor, all, e->memory, b->name);
    for (int k = 0; k < all->plan->kernels; k++)
        b->kernel(&kernels, all, &all->kernel[k]);
    emit_banner(out, all->plan, "all sources as one, to compile instead of them");
    text_printf(out,
                "#include \"cgtp_unity.h\"\n#include \"%s.h\"\n\n/* What the descriptor has for itself. */\n",
                name);
    add_text(a, &names, text_string(&descriptor));
    define(out, &names, 0);
    include(out, arena_printf(a, "%s_product", name), arena_printf(a, "%s.c", name));
    int before = names.n;
    add_text(a, &names, text_string(&kernels));
    text_printf(out, "/* What kernels have for themselves. */\n");
    define(out, &names, before);
    for (int k = 0; k < all->plan->kernels; k++) {
        const char *unit = arena_printf(a, "%s_%s", name, all->plan->kernel[k].form->name);
        include(out, unit, arena_printf(a, "%s%s", unit, b->suffix));
    }
    for (int i = 0; i < names.n; i++)
        text_printf(out, "#undef %s\n", names.name[i]);
}
