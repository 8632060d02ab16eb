/* measured.c - see measured.h. Columns are found by their names; those that nothing here needs may be
 * missing. */
#include "emit/measured.h"

#include <string.h>

enum column {
    COLUMN_PLACE,
    COLUMN_TYPE,
    COLUMN_KERNEL,
    COLUMN_REDUCTION,
    COLUMN_MS,
    COLUMN_EVALUATION,
    COLUMN_ITEMS,
    COLUMN_SENDERS,
    COLUMN_RECEIVERS,
    COLUMN_X,
    COLUMN_Y,
    COLUMN_W,
    COLUMN_Z,
    COLUMNS
};

static const char *const column_name[COLUMNS] = {[COLUMN_PLACE] = "graph",
                                                 [COLUMN_TYPE] = "dtype",
                                                 [COLUMN_KERNEL] = "kernel",
                                                 [COLUMN_REDUCTION] = "reduction",
                                                 [COLUMN_MS] = "ms",
                                                 [COLUMN_EVALUATION] = "evaluation",
                                                 [COLUMN_ITEMS] = "items",
                                                 [COLUMN_SENDERS] = "senders",
                                                 [COLUMN_RECEIVERS] = "receivers",
                                                 [COLUMN_X] = "x",
                                                 [COLUMN_Y] = "y",
                                                 [COLUMN_W] = "w",
                                                 [COLUMN_Z] = "z"};

/* A row of the log, or its line of names. */
struct cells {
    int n, capacity;
    const char **text;
    struct pos *pos;
};

/* Takes the line apart that begins at *s and moves *s to the next. */
static struct cells read_line(struct arena *a, const char **s, int line)
{
    struct cells c = {0};
    const char *begin = *s, *end = begin + strcspn(begin, "\r\n");
    for (const char *p = begin;; p++) {
        size_t n = strcspn(p, "\t\r\n");
        int capacity = c.capacity;
        c.text = arena_grow(a, c.text, c.n, &capacity, sizeof *c.text);
        c.pos = arena_grow(a, c.pos, c.n, &c.capacity, sizeof *c.pos);
        c.text[c.n] = arena_string(a, p, n);
        c.pos[c.n++] = (struct pos){line, (int)(p - begin) + 1, n ? (int)n : 1};
        p += n;
        if (p == end)
            break;
    }
    *s = end + (*end == '\r') + (end[*end == '\r'] == '\n');
    return c;
}

/* A decimal number that is not negative: digits, perhaps a period and digits. */
static bool read_decimal(const char *s, double *value)
{
    double digits = 0, unit = 1;
    size_t whole = strspn(s, "0123456789"), n = strlen(s);
    bool good = whole > 0 && n <= 18;
    for (size_t i = 0; i < n && good; i++) {
        if (i == whole && s[i] == '.' && s[i + 1])
            continue;
        good = s[i] >= '0' && s[i] <= '9';
        digits = 10 * digits + (s[i] - '0');
        unit *= i > whole ? 10 : 1;
    }
    *value = digits / unit;
    return good;
}

/* What a row of the product has in its columns; NULL: anything. */
struct wanted {
    const char *text[COLUMNS];
    const char **evaluation; /* [kernels] */
};

/* Its evaluations' names, sorted, each once, joined by +. */
static const char *evaluations_of(struct arena *a, const struct kernel_schedule *k)
{
    struct text t = {.arena = a};
    for (const char *last = "", *next; (next = NULL, true); last = next) {
        for (int s = 0; s < k->schedules; s++) {
            const char *name = k->schedule[s].evaluation->name;
            if (strcmp(name, last) > 0 && (!next || strcmp(name, next) < 0))
                next = name;
        }
        if (!next)
            return text_string(&t);
        text_printf(&t, "%s%s", *last ? "+" : "", next);
    }
}

/* What the log calls a product's types: those of one for all arrays. */
static const char *type_words(const struct spec *s)
{
    static const char *const words[PRECISION_COUNT] = {"fp32", "fp64", "bf16", "fp16"};
    bool same = true;
    for (int i = 0; i < SLOT_COUNT; i++)
        same &= s->storage[i] == s->storage[0];
    return same ? words[s->storage[0]] : "mixed";
}

static struct wanted wanted_of(struct arena *a, const struct schedules *all)
{
    const struct problem *p = all->plan->problem;
    const bool graph = spec_is_graph(p->spec);
    struct wanted w = {.text = {[COLUMN_TYPE] = type_words(p->spec),
                                [COLUMN_REDUCTION] = graph ? reduction_name[p->spec->reduction] : "-",
                                [COLUMN_X] = irreps_text(a, &p->x),
                                [COLUMN_Y] = irreps_text(a, &p->y),
                                [COLUMN_W] = arena_printf(a, "%lld", (long long)p->dim[SLOT_W]),
                                [COLUMN_Z] = arena_printf(a, "%lld", (long long)p->dim[SLOT_G])}};
    w.evaluation = NEW_ARRAY(a, const char *, all->plan->kernels + 1);
    for (int k = 0; k < all->plan->kernels; k++)
        w.evaluation[k] = evaluations_of(a, &all->kernel[k]);
    return w;
}

/* Where the columns are; false after a message. */
static bool find_columns(const struct cells *names, int at[COLUMNS], struct diag *log)
{
    for (int c = 0; c < COLUMNS; c++) {
        at[c] = 0;
        while (at[c] < names->n && strcmp(names->text[at[c]], column_name[c]) != 0)
            at[c]++;
        if (at[c] == names->n) {
            diag_report(log, DIAG_LOG_FORM, (struct pos){1, 1, 1},
                        "there is no column '%s': not a log of gpu-bench", column_name[c]);
            return false;
        }
    }
    return true;
}

/* The kernel that a row is of; -1: not one of this product, or computed otherwise. */
static int kernel_of(const struct schedules *all, const struct wanted *w, const struct cells *row,
                     const int *at)
{
    for (int c = 0; c < COLUMNS; c++)
        if (w->text[c] && strcmp(w->text[c], row->text[at[c]]) != 0)
            return -1;
    for (int k = 0; k < all->plan->kernels; k++)
        if (!strcmp(all->plan->kernel[k].form->name, row->text[at[COLUMN_KERNEL]]) &&
            !strcmp(w->evaluation[k], row->text[at[COLUMN_EVALUATION]]))
            return k;
    return -1;
}

static bool read_numbers(struct measurement *m, const struct cells *row, const int *at, struct diag *log)
{
    const struct {
        enum column column;
        double *value;
    } number[] = {{COLUMN_MS, &m->ms},
                  {COLUMN_ITEMS, &m->items},
                  {COLUMN_SENDERS, &m->senders},
                  {COLUMN_RECEIVERS, &m->receivers}};
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        int c = at[number[i].column];
        bool positive = number[i].column == COLUMN_MS || number[i].column == COLUMN_ITEMS;
        if (read_decimal(row->text[c], number[i].value) && (*number[i].value > 0 || !positive))
            continue;
        diag_report(log, DIAG_LOG_FORM, row->pos[c], "%s is no %snumber", column_name[number[i].column],
                    positive ? "positive " : "");
        return false;
    }
    return true;
}

const struct measured *measured_read(struct arena *a, const struct schedules *all, struct diag *log)
{
    const char *s = log->source;
    const struct wanted w = wanted_of(a, all);
    const struct spec *spec = all->plan->problem->spec;
    const struct cells names = read_line(a, &s, 1);
    struct measurement *row = NULL;
    int at[COLUMNS], rows = 0, capacity = 0, lines = 1;
    if (!find_columns(&names, at, log))
        return NULL;
    while (*s) {
        const struct cells c = read_line(a, &s, ++lines);
        struct measurement m = {0};
        if (c.n != names.n) {
            diag_report(log, DIAG_LOG_FORM, c.pos[0], "a row of %d cells; there are %d columns", c.n,
                        names.n);
            return NULL;
        }
        if (!read_numbers(&m, &c, at, log))
            return NULL;
        m.kernel = kernel_of(all, &w, &c, at);
        m.place = c.text[at[COLUMN_PLACE]];
        if (m.kernel < 0)
            continue;
        row = arena_grow(a, row, rows, &capacity, sizeof m);
        row[rows++] = m;
    }
    if (!rows) {
        diag_report(log, DIAG_LOG_OTHER, (struct pos){0},
                    "none of its %d rows is of %s: %s, %s, in the same irreps and evaluations", lines - 1,
                    spec->name, w.text[COLUMN_TYPE],
                    spec_is_graph(spec) ? w.text[COLUMN_REDUCTION] : "no graph");
        return NULL;
    }
    struct measured *m = NEW(a, struct measured);
    *m = (struct measured){log->file, rows, row};
    return m;
}
