/* unity.c - all sources of a product as one: NAME.unity.c includes them, NAME.unity.cu has them all in it.
 *
 * In C what a file has for itself gets the file's name behind its own, by macros (runtime/cgtp_unity.h), so
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

static void unity_c(struct text *out, const struct emission *e)
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

/* ---- CUDA ---- */

/* Copies the text from the end of its banner on but for what stands at the top of the unit: includes, each
 * once, and the type `real`. */
static void put_inside(struct text *out, const char *text, struct text *top)
{
    const char *s = strstr(text, "*/\n");
    for (size_t n; *s; s += n) {
        n = strcspn(s, "\n");
        n += s[n] == '\n';
        const char *line = arena_string(out->arena, s, n);
        if (s[0] == '*')
            continue;
        if (strncmp(line, "#include ", strlen("#include ")) && strncmp(line, "typedef ", strlen("typedef ")))
            text_puts(out, line);
        else if (!strstr(text_string(top), line))
            text_puts(top, line);
    }
}

/* The descriptor: in the namespace all but the product itself, which names two tables of it. */
static void put_descriptor(struct text *out, const char *text, const char *scope, struct text *top)
{
    static const char before[] = "const cgtp_product ";
    struct text body = {.arena = out->arena};
    put_inside(&body, text, top);
    const char *s = strstr(text_string(&body), before);
    text_printf(out, "namespace %s\n{\n", scope);
    text_put(out, text_string(&body), (size_t)(s - text_string(&body)));
    text_printf(out, "} // namespace %s\n\n", scope);
    for (const char *next; (next = strstr(s, "_table")); s = next) {
        const char *word = next;
        while (in_word(word[-1]))
            word--;
        text_put(out, s, (size_t)(word - s));
        next += strlen("_table");
        text_printf(out, "%s::%.*s", scope, (int)(next - word), word);
    }
    text_puts(out, s);
}

static void unity_cuda(struct text *out, const struct emission *e)
{
    struct arena *a = out->arena;
    const char *name = e->schedules->plan->problem->spec->name;
    struct text top = {.arena = a}, units = {.arena = a}, descriptor = {.arena = a};
    emit_descriptor(&descriptor, e->schedules, e->memory, e->backend->name);
    for (int k = 0; k < e->schedules->plan->kernels; k++) {
        struct text kernel = {.arena = a};
        const char *scope =
            arena_printf(a, "cgtp_unity_%s_%s", name, e->schedules->plan->kernel[k].form->name);
        e->backend->kernel(&kernel, e->schedules, &e->schedules->kernel[k]);
        text_printf(&units, "\nnamespace %s\n{\n", scope);
        put_inside(&units, text_string(&kernel), &top);
        text_printf(&units, "} // namespace %s\n", scope);
    }
    text_puts(&units, "\n");
    put_descriptor(&units, text_string(&descriptor), arena_printf(a, "cgtp_unity_%s", name), &top);
    emit_banner(out, e->schedules->plan, "descriptor and all kernels as one source, CUDA");
    text_puts(out, text_string(&top));
    text_puts(out, text_string(&units));
}

void emit_unity(struct text *out, const struct emission *e)
{
    (e->backend == &backend_cuda ? unity_cuda : unity_c)(out, e);
}
