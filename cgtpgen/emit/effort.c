/* effort.c - see effort.h. What is counted stands in the text, so that it is right whatever wrote it. */
#include "emit/effort.h"

#include <ctype.h>
#include <string.h>

struct counts {
    double argument; /* commas: of calls, of what is declared */
    double product;
    double loop;                 /* of a GPU's kernel, over tiles and items; what stands in them is inlined */
    double dense;                /* sums with blocks of weights, each of which is compiled for its sizes */
    double sweep;                /* loops on a CPU, over channels, items and nodes: some become several */
    double call;                 /* of paths' codes, where compilers may put these */
    double function, before;     /* products of functions, weighed; those of the functions before */
    double templates, instances; /* kernels of long code that are templates; what is launched of them */
};

static bool begins(const char *at, const char *word)
{
    return *at == *word && strncmp(at, word, strlen(word)) == 0;
}

static int number_at(const char *at)
{
    enum { MOST = 100000 };
    int n = 0;
    for (; isdigit((unsigned char)*at) && n < MOST; at++)
        n = n * 10 + *at - '0';
    return n;
}

/* cgtp_weights_columns(3, 10, ..: three sums for each of ten rows. So few rows are no loop. */
static int dense_at(const char *at)
{
    enum { SWEEP = 4 }; /* rows */
    if (!begins(at, "cgtp_weights_"))
        return 0;
    while (*at && *at != '(')
        at++;
    const int components = number_at(at + (*at == '('));
    while (*at && *at != ' ')
        at++;
    return number_at(at + (*at == ' ')) >= SWEEP ? components : 0;
}

/* A line that calls the code of a path: uvu_1_2_1(.. */
static bool is_call(const char *line)
{
    const char *at = line;
    while (*at == ' ')
        at++;
    const char *name = at;
    while (isalnum((unsigned char)*at) || *at == '_')
        at++;
    return name > line && *name == 'u' && *at == '(' && strchr("uvw", name[1]) && strchr("uvw", name[2]);
}

/* A function ends. What is done with each of its instructions takes longer the more there are, up to what
 * compilers look at at once. */
static void end_function(struct counts *c)
{
    const double far = 300, n = c->product - c->before;
    c->function += n * n / (n + far);
    c->before = c->product;
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
    case 'f':
        c->sweep += begins(at, "for (");
        break;
    case '\n':
        c->call += is_call(at + 1);
        if (at[1] == '}')
            end_function(c);
        break;
    case 'c':
        c->dense += dense_at(at);
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
    const double loop = times * c.loop;
    return r->start + r->argument * c.argument + r->dense * c.dense + r->loop * loop +
           r->long_code * times * c.product * loop + r->sweep * c.sweep + r->call * c.call +
           r->function * c.function;
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
