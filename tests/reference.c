/* reference.c - products, their coefficients and weights, and the evaluation of kernels; see reference.h. */
#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void fail(const char *what, const char *where)
{
    fprintf(stderr, "reference: %s: %s\n", what, where);
    abort();
}

static void *allocate(size_t n, size_t size)
{
    void *p = calloc(n + 1, size); /* one more, so that nothing is a valid pointer too */
    if (!p)
        fail("out of memory", "");
    return p;
}

/* ---- irreps and paths ---- */

static struct ref_irreps read_irreps(const char *text)
{
    struct ref_irreps r = {0, NULL, 0};
    int plus = 0;
    for (const char *p = text; *p; p++)
        plus += *p == '+';
    r.segment = allocate((size_t)plus + 1, sizeof *r.segment);
    for (const char *p = text + strspn(text, " "); *p;) {
        struct ref_segment *s = &r.segment[r.n++];
        char parity;
        int mul = 1, used = 0;
        if (sscanf(p, "%dx%d%c%n", &mul, &s->l, &parity, &used) < 3 || used == 0) {
            mul = 1;
            if (sscanf(p, "%d%c%n", &s->l, &parity, &used) < 2)
                fail("not irreps", text);
        }
        if ((parity != 'e' && parity != 'o') || s->l < 0 || s->l > REF_L_MAX || mul < 0)
            fail("not irreps", text);
        s->mul = mul;
        s->parity = parity == 'e' ? 1 : -1;
        s->offset = r.dim;
        r.dim += (int64_t)mul * (2 * s->l + 1);
        p += used;
        p += strspn(p, " ");
        if (*p == '+')
            p += 1 + strspn(p + 1, " ");
        else if (*p)
            fail("not irreps", text);
    }
    return r;
}

struct ref_problem *ref_problem_new(const char *x, const char *y, const char *z)
{
    struct ref_problem *p = allocate(1, sizeof *p);
    p->irreps[REF_X] = read_irreps(x);
    p->irreps[REF_Y] = read_irreps(y);
    p->irreps[REF_W] = read_irreps("");
    p->irreps[REF_G] = read_irreps(z);
    strcpy(p->irrep_normalization, "component");
    strcpy(p->path_normalization, "element");
    return p;
}

void ref_problem_free(struct ref_problem *p)
{
    for (int s = 0; s < REF_SLOTS; s++) {
        free(p->irreps[s].segment);
        free(p->variance[s]);
    }
    for (int i = 0; i <= REF_L_MAX; i++)
        for (int j = 0; j <= REF_L_MAX; j++)
            for (int k = 0; k <= REF_L_MAX; k++)
                ref_w3j_free(p->cg[i][j][k]);
    free(p->kernel);
    free(p->path);
    free(p);
}

static const struct ref_mode modes[] = {
    {"uvw", REF_ALL_PAIRS, REF_ALL_CHANNELS},    {"uvu", REF_ALL_PAIRS, REF_CHANNEL_U},
    {"uvv", REF_ALL_PAIRS, REF_CHANNEL_V},       {"uuw", REF_EQUAL_PAIRS, REF_ALL_CHANNELS},
    {"uuu", REF_EQUAL_PAIRS, REF_CHANNEL_U},     {"uvuv", REF_ALL_PAIRS, REF_OWN_CHANNEL},
    {"uvu<v", REF_UPPER_PAIRS, REF_OWN_CHANNEL}, {"u<vw", REF_UPPER_PAIRS, REF_ALL_CHANNELS},
};

void ref_add_path(struct ref_problem *p, int x, int y, int z, const char *mode, bool weighted,
                  long double path_weight)
{
    if (x < 0 || y < 0 || z < 0 || x >= p->irreps[REF_X].n || y >= p->irreps[REF_Y].n ||
        z >= p->irreps[REF_G].n)
        fail("an instruction's segment is out of range", mode);
    if (strlen(mode) >= sizeof p->path->mode)
        fail("unknown mode", mode);
    p->path = realloc(p->path, ((size_t)p->paths + 1) * sizeof *p->path);
    if (!p->path)
        fail("out of memory", "");
    struct ref_path *q = &p->path[p->paths++];
    *q = (struct ref_path){.x = x, .y = y, .z = z, .weighted = weighted, .path_weight = path_weight};
    strcpy(q->mode, mode);
    for (size_t i = 0; i < sizeof modes / sizeof *modes && !q->meaning; i++)
        if (strcmp(modes[i].name, mode) == 0)
            q->meaning = &modes[i];
    if (!q->meaning)
        fail("unknown mode", mode);
}

static bool mode_is(const struct ref_path *p, const char *mode)
{
    return strcmp(p->mode, mode) == 0;
}

/* Elements of the path's weight block in e3nn's path_shape. */
static int64_t weight_count(const struct ref_path *p, int64_t u, int64_t v, int64_t w)
{
    if (mode_is(p, "uvw"))
        return u * v * w;
    if (mode_is(p, "uvu") || mode_is(p, "uvv") || mode_is(p, "uvuv"))
        return u * v;
    if (mode_is(p, "uuw"))
        return u * w;
    if (mode_is(p, "uuu"))
        return u;
    if (mode_is(p, "uvu<v"))
        return u * (v - 1) / 2;
    if (mode_is(p, "u<vw"))
        return u * (v - 1) / 2 * w;
    fail("unknown mode", p->mode);
}

/* How many products x y one element of z sums over, as e3nn counts them. */
static double fan_in(const struct ref_path *p, int u, int v)
{
    if (mode_is(p, "uvw"))
        return (double)u * v;
    if (mode_is(p, "uvu"))
        return v;
    if (mode_is(p, "uvv") || mode_is(p, "uuw"))
        return u;
    if (mode_is(p, "u<vw"))
        return (double)((int64_t)u * (v - 1) / 2);
    return 1;
}

static long double variance(const struct ref_problem *p, int slot, int segment)
{
    return p->variance[slot] ? p->variance[slot][segment] : 1;
}

/* in1_var in2_var times the number of elements of path q. */
static long double weight_of(const struct ref_problem *p, const struct ref_path *q)
{
    return variance(p, REF_X, q->x) * variance(p, REF_Y, q->y) *
           fan_in(q, p->irreps[REF_X].segment[q->x].mul, p->irreps[REF_Y].segment[q->y].mul);
}

static long double coefficient(const struct ref_problem *p, const struct ref_path *q)
{
    const int d1 = 2 * p->irreps[REF_X].segment[q->x].l + 1, d2 = 2 * p->irreps[REF_Y].segment[q->y].l + 1,
              d3 = 2 * p->irreps[REF_G].segment[q->z].l + 1;
    long double alpha = 1, sum = 0;
    int siblings = 0;
    if (strcmp(p->irrep_normalization, "component") == 0)
        alpha = d3;
    else if (strcmp(p->irrep_normalization, "norm") == 0)
        alpha = d1 * d2;
    else if (strcmp(p->irrep_normalization, "none") != 0)
        fail("unknown normalisation", p->irrep_normalization);
    for (int i = 0; i < p->paths; i++)
        if (p->path[i].z == q->z) {
            sum += weight_of(p, &p->path[i]);
            siblings++;
        }
    if (strcmp(p->path_normalization, "path") == 0)
        sum = weight_of(p, q) * siblings;
    else if (strcmp(p->path_normalization, "none") == 0)
        sum = 1;
    else if (strcmp(p->path_normalization, "element") != 0)
        fail("unknown normalisation", p->path_normalization);
    if (sum > 0)
        alpha /= sum;
    return sqrtl(alpha * variance(p, REF_G, q->z) * q->path_weight);
}

void ref_problem_finish(struct ref_problem *p)
{
    int64_t offset = 0;
    for (int i = 0; i < p->paths; i++) {
        struct ref_path *q = &p->path[i];
        const struct ref_segment *x = &p->irreps[REF_X].segment[q->x], *y = &p->irreps[REF_Y].segment[q->y],
                                 *z = &p->irreps[REF_G].segment[q->z];
        if (x->parity * y->parity != z->parity || z->l > x->l + y->l || z->l < abs(x->l - y->l))
            fail("a path that no rotation allows", q->mode);
        q->coefficient = coefficient(p, q);
        q->weight_offset = offset;
        q->weight_numel = q->weighted ? weight_count(q, x->mul, y->mul, z->mul) : 0;
        offset += q->weight_numel;
        if (!p->cg[x->l][y->l][z->l])
            p->cg[x->l][y->l][z->l] = ref_w3j(x->l, y->l, z->l);
        q->cg = p->cg[x->l][y->l][z->l];
    }
    for (int s = 0; s < REF_SLOTS; s++)
        p->dim[s] = s == REF_W ? offset : p->irreps[s].dim;
}

/* ---- problem files ---- */

static int slot_of(const char *name)
{
    static const char *const names[REF_SLOTS] = {"x", "y", "w", "z"};
    for (int s = 0; s < REF_SLOTS; s++)
        if (strcmp(name, names[s]) == 0)
            return s;
    fail("not a slot", name);
}

static int index_of(const char *name)
{
    static const char *const names[REF_INDICES] = {"item", "sender", "receiver", "shared"};
    for (int i = 0; i < REF_INDICES; i++)
        if (strcmp(name, names[i]) == 0)
            return i;
    fail("not an index", name);
}

static void read_variance(struct ref_problem *p, const char *line)
{
    char name[8];
    int used, slot;
    if (sscanf(line, "%7s%n", name, &used) != 1)
        fail("not a variance", line);
    slot = slot_of(name);
    free(p->variance[slot]);
    p->variance[slot] = allocate((size_t)p->irreps[slot].n, sizeof(long double));
    for (int i = 0; i < p->irreps[slot].n; i++) {
        int more;
        line += used;
        if (sscanf(line, "%Lf%n", &p->variance[slot][i], &more) != 1)
            fail("too few variances", name);
        used = more;
    }
}

/* NAME PRIMAL TEXT */
static void read_kernel(struct ref_problem *p, const char *line)
{
    char name[REF_NAME], primal[256];
    int used = 0;
    p->kernel = realloc(p->kernel, ((size_t)p->kernels + 1) * sizeof *p->kernel);
    if (!p->kernel || sscanf(line, "%31s %255s %n", name, primal, &used) != 2)
        fail("not a kernel", line);
    const char *known = ref_kernel_text(line + used);
    ref_kernel_parse(&p->kernel[p->kernels++], name, known ? known : line + used, primal);
}

struct ref_problem *ref_problem_read(FILE *file, const char *name, struct ref_array *array, int capacity,
                                     int *arrays)
{
    enum { LINE = 65536 };
    struct ref_problem *p = NULL;
    char *line = allocate(LINE, 1), *irreps[3] = {allocate(LINE, 1), allocate(LINE, 1), allocate(LINE, 1)};
    int count = 0, given = 0;
    int64_t offset = 0;
    while (fgets(line, LINE, file)) {
        char word[32] = "", rest[5][32] = {""};
        int used = 0;
        line[strcspn(line, "\n")] = 0;
        if (sscanf(line, "%31s%n", word, &used) != 1 || word[0] == '#')
            continue;
        const char *text = line + used;
        if (!p) {
            int slot = slot_of(word);
            strcpy(irreps[slot == REF_G ? 2 : slot], text);
            if (++given == 3)
                p = ref_problem_new(irreps[0], irreps[1], irreps[2]);
        } else if (strcmp(word, "normalization") == 0) {
            if (sscanf(text, "%15s %15s", p->irrep_normalization, p->path_normalization) != 2)
                fail("not a normalisation", line);
        } else if (strcmp(word, "variance") == 0) {
            read_variance(p, text);
        } else if (strcmp(word, "instruction") == 0) {
            int x, y, z, weighted;
            long double path_weight;
            if (sscanf(text, "%d %d %d %31s %d %Lf", &x, &y, &z, rest[0], &weighted, &path_weight) != 6)
                fail("not an instruction", line);
            ref_add_path(p, x, y, z, rest[0], weighted != 0, path_weight);
        } else if (strcmp(word, "index") == 0) {
            if (sscanf(text, "%31s %31s %31s %31s", rest[0], rest[1], rest[2], rest[3]) != 4)
                fail("not an index", line);
            for (int s = 0; s < REF_SLOTS; s++)
                p->index[s] = index_of(rest[s]);
        } else if (strcmp(word, "kernel") == 0) {
            read_kernel(p, text);
        } else if (strcmp(word, "array") == 0) {
            long long rows, columns;
            if (!array || count == capacity || sscanf(text, "%31s %lld %lld", rest[0], &rows, &columns) != 3)
                fail("not an array, or one too many", line);
            array[count] = (struct ref_array){.rows = rows, .columns = columns, .offset = offset};
            strcpy(array[count++].name, rest[0]);
            offset += rows * columns;
        } else {
            fail("unknown word", line);
        }
    }
    if (!p)
        fail("no irreps", name);
    for (int i = 0; i < 3; i++)
        free(irreps[i]);
    free(line);
    ref_problem_finish(p);
    if (arrays)
        *arrays = count;
    return p;
}

/* ---- evaluation ---- */

int64_t ref_rows(const struct ref_problem *p, const struct ref_graph *g, int slot)
{
    switch (p->index[slot]) {
    case REF_SENDER:
        return g->senders;
    case REF_RECEIVER:
        return g->receivers;
    case REF_SHARED:
        return 1;
    default:
        return g->items;
    }
}

static int64_t row_of(const struct ref_problem *p, const struct ref_graph *g, int slot, int64_t item)
{
    switch (p->index[slot]) {
    case REF_SENDER:
        return g->sender[item];
    case REF_RECEIVER:
        return g->receiver[item];
    case REF_SHARED:
        return 0;
    default:
        return item;
    }
}

/* The channels that one pair (u, v) connects: channels first .. first + count of z, with weights at w, w + 1,
 * ... */
struct tie {
    int64_t u, v, first, count, w;
};

static const double *moved(const double *row, int64_t offset) /* NULL: the target's, or there are none */
{
    return row ? row + offset : NULL;
}

/* The terms themselves, in long double; and in double, which is enough for a product in single precision. */
#define NUMBER long double
#define NAMED(name) exact_##name
#define TAKEN(number) ((long double)(number))
#define ENTRY(entry) ((entry)->value)
#include "reference_sums.h"
#define NUMBER double
#define NAMED(name) rounded_##name
#define TAKEN(number) ((double)(number))
#define ENTRY(entry) ((entry)->rounded)
#include "reference_sums.h"

/* One for each that is not zero: exact. */
#define NUMBER double
#define NAMED(name) terms_##name
#define TAKEN(number) ((number) != 0)
#define ENTRY(entry) ((entry)->value != 0)
#include "reference_sums.h"

void ref_evaluate(const struct ref_problem *p, const struct ref_graph *g, const struct ref_kernel *kernel,
                  int output, const double *const *input, int only, long double *value,
                  long double *magnitude)
{
    (p->rounded || !value ? rounded_evaluate : exact_evaluate)(p, g, kernel, output, input, only, value,
                                                               magnitude);
}

void ref_count_terms(const struct ref_problem *p, const struct ref_graph *g, const struct ref_kernel *kernel,
                     int output, const double *const *input, int only, long double *terms)
{
    terms_evaluate(p, g, kernel, output, input, only, terms, NULL);
}
