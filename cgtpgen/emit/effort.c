/* effort.c - see effort.h. What is counted stands in the text, so that it is right whatever wrote it.
 * Functions are read in their order, so that what a call of one means is known where it is read. */
#include "emit/effort.h"
#include "util/hash.h"

#include <ctype.h>
#include <string.h>

const char *const effort_name[EFFORT_COUNT] = {
    "argument", "product",       "loop",      "call",   "dense",    "uneven", "dot",  "block", "row",
    "sum",      "long_argument", "long_loop", "callee", "instance", "path",   "rest", "apart"};

struct function {
    const char *name;
    size_t length; /* of the name */
    bool inlined;  /* it counts where it is called */
    bool callee;   /* of a GPU's kernel, and not inlined */
    int launched;  /* instances of a template; 0: it is none */
    bool channels; /* it has a loop over n channels, its first argument */
    int calls, n;  /* with a number for n; the last one, 0 where they differ */
    double count[EFFORT_COUNT];
};

/* A loop that is unrolled, or a statement that is the body of one. */
struct unrolled {
    int depth; /* braces around it */
    bool block;
    double times; /* that what stands around it counts */
};

enum { UNROLLED_MOST = 32 };

/* Where the reader is. */
struct reader {
    struct function *function;
    int functions, capacity;
    struct hash names;         /* of functions */
    int vector;                /* numbers that a CPU's register holds */
    struct function *now;      /* the function that is read; NULL: what stands there does not count */
    struct function announced; /* what begins at the next brace of the first column, if it has a name */
    int depth;
    double times; /* that what is read counts */
    struct unrolled unrolled[UNROLLED_MOST];
    int unrolls;
};

static bool begins(const char *at, const char *word)
{
    return *at == *word && strncmp(at, word, strlen(word)) == 0;
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static const char *after_word(const char *at)
{
    while (in_word(*at))
        at++;
    return at;
}

static int number_at(const char *at)
{
    enum { MOST = 100000 };
    int n = 0;
    for (; isdigit((unsigned char)*at) && n < MOST; at++)
        n = n * 10 + *at - '0';
    return n;
}

static struct function *find(const struct reader *r, const char *name, size_t length)
{
    int i = hash_first(&r->names, hash_bytes(0, name, length));
    while (i >= 0 && (r->function[i].length != length || memcmp(r->function[i].name, name, length)))
        i = hash_next(&r->names, i);
    return i < 0 ? NULL : &r->function[i];
}

/* A line of the first column: the head of a function is one word after the other up to its name. */
static void read_head(struct reader *r, const char *line)
{
    if (begins(line, "typedef double real;"))
        r->vector = 2;
    r->announced = (struct function){.inlined = begins(line, "CGTP_DEVICE "),
                                     .callee = begins(line, "CGTP_DEVICE_CALL ")};
    for (const char *at = line; *at && *at != '\n' && *at != '{' && *at != ';'; at++) {
        const char *end = after_word(at);
        if (*end == '(' && end > at && !begins(at, "CGTP_KERNEL(")) {
            r->announced.name = at, r->announced.length = (size_t)(end - at);
            r->announced.channels = begins(end, "(int64_t n,");
            return;
        }
        at = end > at ? end - 1 : at;
    }
}

static void begin_function(struct reader *r)
{
    r->depth = 1, r->times = 1, r->unrolls = 0;
    if (!r->announced.name)
        return;
    r->function = arena_grow(r->names.arena, r->function, r->functions, &r->capacity, sizeof *r->function);
    r->now = &r->function[r->functions++];
    *r->now = r->announced;
    hash_add(&r->names, hash_bytes(0, r->now->name, r->now->length));
}

static void end_function(struct reader *r)
{
    r->now = NULL;
    r->announced.name = NULL;
    r->depth = 0, r->unrolls = 0;
}

/* for (int u = 0; u < 4; u += 2): what follows counts twice, or as often as compilers write it out at most.
 * Returns where that begins; what has no number of turns is left as it stands. */
static const char *read_for(struct reader *r, const char *head, int most)
{
    const char *test = begins(head, "for (int ") ? strstr(head, "; ") : NULL;
    const char *limit = test ? after_word(test + 2) : NULL;
    const char *close = limit && begins(limit, " < ") ? strchr(limit, ')') : NULL;
    const int end = close ? number_at(limit + 3) : 0;
    if (!end || r->unrolls == UNROLLED_MOST)
        return head;
    const char *step = limit;
    while (step < close && !begins(step, " += "))
        step++;
    const int by = step < close ? number_at(step + 4) : 1, turns = by > 0 && by < end ? end / by : 1;
    for (close++; isspace((unsigned char)*close);)
        close++;
    r->unrolled[r->unrolls++] = (struct unrolled){r->depth, *close == '{', r->times};
    r->times *= turns < most ? turns : most;
    return close;
}

/* A block or a statement ends, and with it those of which it is the body. */
static void end_unrolled(struct reader *r, bool block)
{
    const struct unrolled *last;
    while (r->unrolls && (last = &r->unrolled[r->unrolls - 1])->depth == r->depth && (block || !last->block))
        r->times = last->times, r->unrolls--;
}

static void add(struct reader *r, int what)
{
    if (r->now)
        r->now->count[what] += r->times;
}

/* cgtp_weights_columns(3, 10, 8, ..: three sums for each of ten rows of eight columns; few rows are no loop.
 */
static void read_weights(struct reader *r, const char *at, const char *arguments)
{
    enum { SWEEP = 4, LANES = 8, WRITTEN_OUT = 4 }; /* rows; of a dot; turns of its loop */
    const char *rows = strchr(arguments, ' '), *columns = rows ? strchr(rows + 1, ' ') : NULL;
    if (!r->now || !columns || number_at(rows + 1) < SWEEP)
        return;
    const int m = number_at(columns + 1), turns = m / LANES;
    const double sums = r->times * number_at(arguments + 1);
    r->now->count[EFFORT_DENSE] += sums;
    r->now->count[EFFORT_UNEVEN] += m % r->vector ? sums : 0;
    if (begins(at, "cgtp_weights_rows") && m % LANES == 0 && turns > 1 && turns <= WRITTEN_OUT)
        add(r, EFFORT_DOT);
}

/* A call of the runtime. */
static void read_call(struct reader *r, const char *at, const char *arguments)
{
    add(r, EFFORT_CALL);
    if (begins(at, "cgtp_add_columns") || begins(at, "cgtp_add_dots") || begins(at, "cgtp_add_outer"))
        add(r, EFFORT_BLOCK);
    if (begins(at, "cgtp_row_"))
        add(r, EFFORT_ROW);
    if (begins(at, "cgtp_sum"))
        add(r, EFFORT_SUM);
    if (begins(at, "cgtp_weights_") && *arguments == '(')
        read_weights(r, at, arguments);
}

/* A call of a function of the source. */
static void read_own_call(struct reader *r, struct function *called, const char *arguments)
{
    const int n = number_at(arguments + 1);
    for (int i = 0; i < EFFORT_COUNT && called->inlined; i++)
        r->now->count[i] += r->times * called->count[i];
    if (!called->inlined)
        add(r, EFFORT_CALL);
    if (called->channels && n > 0)
        called->n = called->calls++ && called->n != n ? 0 : n;
}

/* A loop, with what stands before it. */
static const char *read_loop(struct reader *r, const char *at)
{
    enum { SPONTANEOUS = 3, ALL = 1 << 20 }; /* turns that a compiler writes out, unasked and asked to */
    const bool unrolled = begins(at, "CGTP_UNROLL"), kept = begins(at, "CGTP_LOOP");
    if (kept)
        add(r, EFFORT_LOOP);
    for (at = unrolled || kept ? after_word(at) : at; isspace((unsigned char)*at);)
        at++;
    if (!begins(at, "for ("))
        return at;
    const char *after = read_for(r, at, unrolled ? ALL : kept ? 1 : SPONTANEOUS);
    return after == at ? after_word(at) : after;
}

/* A word, with what is called by it. */
static const char *read_word(struct reader *r, const char *at)
{
    const char *end = after_word(at);
    struct function *called;
    const bool call = *end == '(' || *end == '<';
    if (begins(at, "for (") || begins(at, "CGTP_LOOP\n") ||
        (begins(at, "CGTP_UNROLL") && isspace((unsigned char)*end)))
        return read_loop(r, at);
    if (begins(at, "code::")) { /* launched */
        const char *name = end + 2, *close = after_word(name);
        struct function *kernel = *close == '<' ? find(r, name, (size_t)(close - name)) : NULL;
        if (kernel)
            kernel->launched++;
        return close;
    }
    if (call && begins(at, "cgtp_")) {
        read_call(r, at, end);
    } else if (call && r->now && (called = find(r, at, (size_t)(end - at)))) {
        read_own_call(r, called, end);
    }
    return end;
}

/* What begins in the first column of a line. */
static const char *read_line(struct reader *r, const char *line)
{
    if (*line == '{')
        return begin_function(r), line + 1;
    if (*line == '}')
        return end_function(r), line + 1;
    if (!r->now && isalpha((unsigned char)*line))
        read_head(r, line);
    return line;
}

/* What begins there is counted; where to go on, NULL: the text ends. */
static const char *read_at(struct reader *r, const char *at)
{
    const char *close;
    if (isalpha((unsigned char)*at) || *at == '_')
        return read_word(r, at);
    switch (*at) {
    case '/':
        close = at[1] == '*' ? strstr(at + 2, "*/") : at - 1;
        return close ? close + 2 : NULL;
    case '[': /* numbers of a table take next to nothing */
        close = begins(at, "[] = {") ? strstr(at, "};") : at;
        return close ? close + 1 : NULL;
    case ',':
        add(r, EFFORT_ARGUMENT);
        break;
    case ' ':
        if (at[1] == '*' && at[2] == ' ')
            add(r, EFFORT_PRODUCT);
        break;
    case '{':
        r->depth++;
        break;
    case '}':
        r->depth--;
        end_unrolled(r, true);
        break;
    case ';':
        end_unrolled(r, false);
        break;
    case '\n':
        return read_line(r, at + 1);
    default:
        if (isdigit((unsigned char)*at))
            return after_word(at);
        break;
    }
    return at + 1;
}

/* What is done with each of n instructions takes longer the more there are, up to what compilers look at at
 * once. */
static double growing(double n, double most)
{
    return n * n / (n + most);
}

/* Loops over channels: compilers inline those that are short or are called once, if they are not long.
 * Vectors leave channels that are compiled one by one. */
static void count_loop(const struct reader *r, const struct function *f, double total[EFFORT_COUNT])
{
    enum { SHORT = 12, LONG = 64 };
    const double products = f->count[EFFORT_PRODUCT], scalar = 0.65; /* of what a vector takes */
    const int rest = f->n == 0 ? 1 : f->n < r->vector ? f->n - 1 : f->n % r->vector;
    if (products <= (f->calls > 1 ? SHORT : LONG)) {
        total[EFFORT_PATH] += f->calls;
        total[EFFORT_REST] += f->calls * products * rest;
    } else {
        total[EFFORT_APART] += growing(products * (1 + scalar * rest), 350);
    }
}

/* text is NUL-terminated. */
static void count(struct arena *a, const char *text, double total[EFFORT_COUNT])
{
    const double most = 60, few = 10; /* of sums with weights, that compilers inline; of sums over channels */
    struct reader r = {.names.arena = a, .vector = 4};
    for (const char *at = read_line(&r, text); at && *at;)
        at = read_at(&r, at);
    for (const struct function *f = r.function; f < r.function + r.functions; f++) {
        const double times = f->inlined ? 0 : f->launched ? f->launched : 1;
        for (int i = 0; i < EFFORT_COUNT; i++)
            total[i] += times * f->count[i];
        total[EFFORT_LONG_ARGUMENT] += growing(times * f->count[EFFORT_ARGUMENT], 3000);
        total[EFFORT_LONG_LOOP] += times * f->count[EFFORT_PRODUCT] * f->count[EFFORT_LOOP];
        total[EFFORT_CALLEE] += f->callee ? f->count[EFFORT_PRODUCT] : 0;
        total[EFFORT_INSTANCE] += f->launched ? times * f->count[EFFORT_ARGUMENT] : 0;
        if (f->channels)
            count_loop(&r, f, total);
    }
    const double compiled = total[EFFORT_DENSE] > most ? most / total[EFFORT_DENSE] : 1;
    total[EFFORT_DENSE] *= compiled, total[EFFORT_UNEVEN] *= compiled, total[EFFORT_DOT] *= compiled;
    total[EFFORT_SUM] *= few / (few + total[EFFORT_SUM]);
}

struct effort effort_of(struct arena *a, const struct backend *b, const char *text)
{
    const struct compile_rates *r = &b->rates;
    struct effort e = {.seconds = r->start};
    count(a, text, e.count);
    for (int i = 0; i < EFFORT_COUNT; i++)
        e.seconds += r->rate[i] * e.count[i];
    return e;
}

const struct backend *backend_of(const struct schedules *all)
{
    int i = 0;
    while (backend_table[i]->evaluations != all->target.evaluations)
        i++;
    return backend_table[i];
}

struct effort kernel_effort(struct arena *a, const struct schedules *all,
                            const struct kernel_schedule *kernel)
{
    const struct backend *b = backend_of(all);
    struct text source = {.arena = a};
    b->kernel(&source, all, kernel);
    return effort_of(a, b, text_string(&source));
}

const char *duration_text(struct arena *a, double seconds)
{
    return seconds < 10    ? arena_printf(a, "%.1f s", seconds)
           : seconds < 100 ? arena_printf(a, "%.0f s", seconds)
                           : arena_printf(a, "%.0f minutes", seconds / 60);
}
