/* effort.c - see effort.h. What is counted stands in the text, so that it is right whatever wrote it. */
#include "emit/effort.h"

#include <ctype.h>
#include <string.h>

struct counts {
    double argument; /* commas: of calls, of what is declared */
    double product;
    double loop;  /* of a GPU's kernel, over tiles and items; what stands in them is inlined */
    double dense; /* products with blocks of weights, each of which is compiled for its sizes */
    double templates, instances; /* kernels of long code that are templates; what is launched of them */
};

static bool begins(const char *at, const char *word)
{
    return *at == *word && strncmp(at, word, strlen(word)) == 0;
}

/* cgtp_weights_columns(3, 10, ..: a block of so few rows is no loop. */
static bool is_dense(const char *at)
{
    enum { SWEEP = 4 }; /* rows */
    int rows = 0;
    if (!begins(at, "cgtp_weights_"))
        return false;
    while (*at && *at != '(')
        at++;
    while (*at && *at != ' ')
        at++;
    for (at += *at == ' '; isdigit((unsigned char)*at) && rows < SWEEP; at++)
        rows = rows * 10 + *at - '0';
    return rows >= SWEEP;
}

/* code::NAME<.., but for gathers, which are short. */
static bool is_instance(const char *at)
{
    if (!begins(at, "code::"))
        return false;
    bool gather = false;
    for (at += strlen("code::"); isalnum((unsigned char)*at) || *at == '_'; at++)
        gather |= begins(at, "_gather_");
    return *at == '<' && !gather;
}

/* What begins there is counted; where to go on, NULL: the text ends. What begins it is looked at first, for
 * texts are long. */
static const char *count_at(struct counts *c, const char *at)
{
    const char *close;
    switch (*at) {
    case '/':
        close = at[1] == '*' ? strstr(at + 2, "*/") : at - 1;
        return close ? close + 2 : NULL;
    case '[': /* numbers of a table take next to nothing */
        close = begins(at, "[] = {") ? strstr(at, "};") : at;
        return close ? close + 1 : NULL;
    case ',':
        c->argument++;
        break;
    case ' ':
        c->product += at[1] == '*' && at[2] == ' ';
        break;
    case 'C':
        c->loop += begins(at, "CGTP_LOOP\n");
        break;
    case '>':
        c->templates += begins(at, ">\nCGTP_KERNEL(");
        break;
    case 'c':
        c->dense += is_dense(at);
        c->instances += is_instance(at);
        break;
    default:
        break;
    }
    return at + 1;
}

/* text is NUL-terminated. */
static struct counts count(const char *text)
{
    struct counts c = {0};
    for (const char *at = text; at && *at;)
        at = count_at(&c, at);
    return c;
}

double compile_seconds(const struct backend *b, const char *text)
{
    const struct compile_rates *r = &b->rates;
    const struct counts c = count(text);
    const double times = c.templates > 0 ? c.instances / c.templates : 1;
    const double product = times * c.product, loop = times * c.loop;
    return r->start + r->argument * c.argument + r->dense * c.dense + r->product * product + r->loop * loop +
           r->long_code * product * loop;
}

const struct backend *backend_of(const struct schedules *all)
{
    int i = 0;
    while (backend_table[i]->evaluations != all->target.evaluations)
        i++;
    return backend_table[i];
}

double kernel_compile_seconds(struct arena *a, const struct schedules *all,
                              const struct kernel_schedule *kernel)
{
    const struct backend *b = backend_of(all);
    struct text source = {.arena = a};
    b->kernel(&source, all, kernel);
    return compile_seconds(b, text_string(&source));
}

const char *duration_text(struct arena *a, double seconds)
{
    return seconds < 10    ? arena_printf(a, "%.1f s", seconds)
           : seconds < 100 ? arena_printf(a, "%.0f s", seconds)
                           : arena_printf(a, "%.0f minutes", seconds / 60);
}
