/* sugar.c - see sugar.h. The order of segments and instructions is e3nn's (o3/_tensor_product/_sub.py). */
#include "problem/sugar.h"
#include "algebra/wigner.h"

#include <stdlib.h>

/* Numbers of segments, ascending. */
struct list {
    int n, capacity, *segment;
};

/* The expansion being made. */
struct maker {
    struct arena *arena;
    const struct spec *spec;
    struct diag *diag;
    struct expansion *out;
    int z_capacity, capacity;        /* of out->z, out->instruction */
    bool stopped;                    /* something was too large, and reported: the rest would be too */
    struct list wanted[IRREP_COUNT]; /* segments of the spec's z, by irrep; without z nothing is unwanted */
};

/* ---- variances ---- */

/* The list of slot 0, 1, 2 if it was given and has one number for each segment; NULL if not. */
static struct rat *variance_of(struct maker *m, int slot)
{
    const struct spec_variance *variance = &m->spec->variance[slot];
    static const char letter[] = "xyz";
    const struct irreps *irreps[3] = {&m->spec->x, &m->spec->y, &m->spec->z};
    const struct pos pos[3] = {m->spec->x_pos, m->spec->y_pos, m->spec->z_pos};
    if (!variance->n)
        return NULL;
    if (slot == 2 && m->spec->sugar != SUGAR_NONE && m->spec->sugar != SUGAR_FULLY_CONNECTED) {
        diag_report(m->diag, DIAG_VARIANCE_COUNT, variance->pos,
                    "z takes no list of variances here: its segments follow from x and y");
        diag_note(m->diag, m->spec->sugar_pos, "with these instructions");
        return NULL;
    }
    if (variance->n != irreps[slot]->n) {
        diag_report(m->diag, DIAG_VARIANCE_COUNT, variance->pos,
                    "expected one variance for each segment of %c, that is %d, but got %d", letter[slot],
                    irreps[slot]->n, variance->n);
        diag_note(m->diag, pos[slot], "the segments of %c", letter[slot]);
        return NULL;
    }
    return variance->value;
}

/* ---- segments ---- */

/* e3nn's Irreps.simplify: drops empty segments, then merges neighbours of equal irreps. Rows keep their
 * layout. */
static void simplify(struct maker *m, int slot, const struct irreps *irreps, struct irreps *out)
{
    struct rat *written = m->out->variance[slot], *merged = NULL;
    if (written)
        m->out->variance[slot] = merged = NEW_ARRAY(m->arena, struct rat, irreps->n);
    int capacity = 0;
    bool agree = true;
    *out = (struct irreps){0};
    for (int i = 0; i < irreps->n; i++) {
        const struct segment *s = &irreps->segment[i];
        struct segment *last = out->n ? &out->segment[out->n - 1] : NULL;
        if (!s->mul)
            continue;
        if (last && irrep_compare(last->ir, s->ir) == 0) {
            last->mul += s->mul; /* problem.c refuses rows in which this could overflow */
            out->dim += (int64_t)s->mul * (2 * s->ir.l + 1);
            agree &= !written || rat_compare(merged[out->n - 1], written[i]) == 0;
        } else {
            irreps_append(m->arena, out, &capacity, s->mul, s->ir);
            if (written)
                merged[out->n - 1] = written[i];
        }
    }
    if (!agree) {
        diag_report(m->diag, DIAG_VARIANCE_MERGED, m->spec->variance[slot].pos,
                    "neighbours of equal irreps in %c are merged here, so their variances must be equal",
                    "xy"[slot]);
        diag_note(m->diag, slot ? m->spec->y_pos : m->spec->x_pos, "the segments of %c", "xy"[slot]);
    }
}

static void list_append(struct maker *m, struct list *list, int segment)
{
    list->segment = arena_grow(m->arena, list->segment, list->n, &list->capacity, sizeof *list->segment);
    list->segment[list->n++] = segment;
}

/* Is the irrep wanted in the output? */
static bool is_wanted(const struct maker *m, struct irrep ir)
{
    return !m->spec->has_z || (ir.l <= L_MAX && m->wanted[irrep_number(ir)].n);
}

/* Does the product of a and b hold an irrep that is wanted? */
static bool makes_wanted(const struct maker *m, struct irrep a, struct irrep b)
{
    for (int l = abs(a.l - b.l); l <= a.l + b.l; l++)
        if (is_wanted(m, (struct irrep){l, a.parity * b.parity}))
            return true;
    return false;
}

/* Products of large l go beyond what there is, unless a filter keeps them out. */
static void report_l(struct maker *m, struct irrep ir, const struct segment *x, const struct segment *y)
{
    struct text a = {.arena = m->arena}, b = {.arena = m->arena};
    irrep_print(&a, x->ir);
    irrep_print(&b, y->ir);
    diag_report(m->diag, DIAG_LIMIT, m->spec->sugar_pos,
                "%s times %s has l = %d, above the largest supported, %d: give the irreps wanted as z",
                text_string(&a), text_string(&b), ir.l, L_MAX);
    diag_note(m->diag, m->spec->x_pos, "%s in x", text_string(&a));
    diag_note(m->diag, m->spec->y_pos, "%s in y", text_string(&b));
    m->stopped = true;
}

/* ---- instructions ---- */

static void add_instruction(struct maker *m, int x, int y, int z, enum mode mode, bool weighted)
{
    struct expansion *out = m->out;
    struct pos pos = m->spec->sugar_pos;
    if (out->instructions == PATHS_MAX) {
        diag_report(m->diag, DIAG_LIMIT, pos,
                    "this makes more than %d instructions, the largest number supported", PATHS_MAX);
        m->stopped = true;
        return;
    }
    out->instruction =
        arena_grow(m->arena, out->instruction, out->instructions, &m->capacity, sizeof *out->instruction);
    out->instruction[out->instructions++] = (struct spec_instruction){
        .x = x,
        .y = y,
        .z = z,
        .mode = mode,
        .weighted = weighted,
        .path_weight = rat_make(m->arena, 1, 1),
        .pos = pos,
        .x_pos = pos,
        .y_pos = pos,
        .z_pos = pos,
        .mode_pos = pos,
        .weighted_pos = pos,
        .path_weight_pos = pos,
    };
}

/* An instruction into an output segment of its own for each wanted irrep of x segment i times y segment j. */
static void add_outputs(struct maker *m, int i, int j, int64_t mul, enum mode mode, bool weighted)
{
    const struct segment *x = &m->out->x.segment[i], *y = &m->out->y.segment[j];
    if (mul > MUL_MAX) {
        diag_report(m->diag, DIAG_LIMIT, m->spec->sugar_pos,
                    "this makes an output segment of multiplicity %lld, above the largest supported, %d",
                    (long long)mul, MUL_MAX);
        m->stopped = true;
        return;
    }
    for (int l = abs(x->ir.l - y->ir.l); l <= x->ir.l + y->ir.l && !m->stopped; l++) {
        struct irrep ir = {l, x->ir.parity * y->ir.parity};
        if (!is_wanted(m, ir))
            continue;
        if (l > L_MAX) {
            report_l(m, ir, x, y);
            return;
        }
        add_instruction(m, i, j, m->out->z.n, mode, weighted);
        irreps_append(m->arena, &m->out->z, &m->z_capacity, (int)mul, ir);
    }
}

/* Sorts the output by (l, parity), keeping the order of equals, and has the instructions follow. */
static void sort_output(struct maker *m)
{
    struct irreps sorted = {0};
    int capacity = 0, *to = NEW_ARRAY(m->arena, int, m->out->z.n);
    for (int l = 0; l <= L_MAX; l++)
        for (int parity = -1; parity <= 1; parity += 2)
            for (int i = 0; i < m->out->z.n; i++) {
                const struct segment *s = &m->out->z.segment[i];
                if (s->ir.l != l || s->ir.parity != parity)
                    continue;
                to[i] = sorted.n;
                irreps_append(m->arena, &sorted, &capacity, s->mul, s->ir);
            }
    m->out->z = sorted;
    for (int i = 0; i < m->out->instructions; i++)
        m->out->instruction[i].z = to[m->out->instruction[i].z];
}

/* By output segment; each has one instruction here. */
static int compare_outputs(const void *a, const void *b)
{
    const struct spec_instruction *p = a, *q = b;
    return (p->z > q->z) - (p->z < q->z);
}

/* By x, y, z. */
static int compare_segments(const void *a, const void *b)
{
    const struct spec_instruction *p = a, *q = b;
    const int x = (p->x > q->x) - (p->x < q->x), y = (p->y > q->y) - (p->y < q->y);
    return x ? x : y ? y : compare_outputs(a, b);
}

/* Calls make for each segment i of x with each j of y whose product holds something wanted, in order. Which j
 * these are is found once for each irrep of x, so that pairs that make nothing take no time. */
static void for_each_pair(struct maker *m, void (*make)(struct maker *, int i, int j))
{
    const struct irreps *x = &m->out->x, *y = &m->out->y;
    struct list partners[IRREP_COUNT] = {{0}};
    bool known[IRREP_COUNT] = {false};
    for (int i = 0; i < x->n && !m->stopped; i++) {
        int number = irrep_number(x->segment[i].ir);
        struct list *with = &partners[number];
        for (int j = 0; j < y->n && !known[number]; j++)
            if (makes_wanted(m, x->segment[i].ir, y->segment[j].ir))
                list_append(m, with, j);
        known[number] = true;
        for (int n = 0; n < with->n && !m->stopped; n++)
            make(m, i, with->segment[n]);
    }
}

static void channelwise_pair(struct maker *m, int i, int j)
{
    add_outputs(m, i, j, m->out->x.segment[i].mul, MODE_UVU, true);
}

static void channelwise(struct maker *m)
{
    struct expansion *out = m->out;
    for_each_pair(m, channelwise_pair);
    sort_output(m);
    if (m->spec->order_output && out->instructions)
        qsort(out->instruction, (size_t)out->instructions, sizeof *out->instruction, compare_outputs);
}

static void fully_connected_pair(struct maker *m, int i, int j)
{
    struct irrep x = m->out->x.segment[i].ir, y = m->out->y.segment[j].ir;
    for (int l = abs(x.l - y.l); l <= x.l + y.l && l <= L_MAX; l++) {
        const struct list *z = &m->wanted[irrep_number((struct irrep){l, x.parity * y.parity})];
        for (int n = 0; n < z->n && !m->stopped; n++)
            add_instruction(m, i, j, z->segment[n], MODE_UVW, true);
    }
}

static void fully_connected(struct maker *m)
{
    struct expansion *out = m->out;
    out->z = m->spec->z;
    for_each_pair(m, fully_connected_pair);
    if (out->instructions)
        qsort(out->instruction, (size_t)out->instructions, sizeof *out->instruction, compare_segments);
}

static void full_pair(struct maker *m, int i, int j)
{
    int64_t mul = (int64_t)m->out->x.segment[i].mul * m->out->y.segment[j].mul;
    add_outputs(m, i, j, mul, MODE_UVUV, false);
}

static void full(struct maker *m)
{
    simplify(m, 0, &m->spec->x, &m->out->x);
    simplify(m, 1, &m->spec->y, &m->out->y);
    for_each_pair(m, full_pair);
    sort_output(m);
}

static int64_t channels(const struct irreps *irreps)
{
    int64_t sum = 0;
    for (int i = 0; i < irreps->n; i++)
        sum += irreps->segment[i].mul;
    return sum;
}

/* The same channels in pieces that both inputs share. */
static void elementwise(struct maker *m)
{
    struct irreps whole[2];
    simplify(m, 0, &m->spec->x, &whole[0]);
    simplify(m, 1, &m->spec->y, &whole[1]);
    if (channels(&whole[0]) != channels(&whole[1])) {
        diag_report(m->diag, DIAG_MULTIPLICITY, m->spec->sugar_pos,
                    "elementwise needs as many channels in x as in y, but x has %lld and y %lld",
                    (long long)channels(&whole[0]), (long long)channels(&whole[1]));
        diag_note(m->diag, m->spec->x_pos, "x");
        diag_note(m->diag, m->spec->y_pos, "y");
        return;
    }
    struct irreps *piece[2] = {&m->out->x, &m->out->y};
    struct rat *variance[2] = {NULL, NULL};
    int capacity[2] = {0, 0};
    int at[2] = {0, 0}, used[2] = {0, 0}; /* where we stand in x and y: the segment, its channels done */
    int most = whole[0].n + whole[1].n;
    for (int slot = 0; slot < 2; slot++) {
        *piece[slot] = (struct irreps){0};
        if (m->out->variance[slot])
            variance[slot] = NEW_ARRAY(m->arena, struct rat, most);
    }
    while (at[0] < whole[0].n && !m->stopped) {
        int left[2], mul, n = piece[0]->n;
        for (int slot = 0; slot < 2; slot++)
            left[slot] = whole[slot].segment[at[slot]].mul - used[slot];
        mul = left[0] < left[1] ? left[0] : left[1];
        for (int slot = 0; slot < 2; slot++) {
            irreps_append(m->arena, piece[slot], &capacity[slot], mul, whole[slot].segment[at[slot]].ir);
            if (variance[slot])
                variance[slot][n] = m->out->variance[slot][at[slot]];
            used[slot] += mul;
            if (used[slot] == whole[slot].segment[at[slot]].mul) {
                at[slot]++;
                used[slot] = 0;
            }
        }
        add_outputs(m, n, n, mul, MODE_UUU, false);
    }
    m->out->variance[0] = variance[0];
    m->out->variance[1] = variance[1];
}

void sugar_expand(struct arena *arena, const struct spec *spec, struct diag *diag, struct expansion *out)
{
    struct maker m = {.arena = arena, .spec = spec, .diag = diag, .out = out};
    *out = (struct expansion){.x = spec->x, .y = spec->y};
    for (int slot = 0; slot < 3; slot++)
        out->variance[slot] = variance_of(&m, slot);
    for (int i = 0; i < spec->z.n && spec->sugar != SUGAR_NONE; i++)
        list_append(&m, &m.wanted[irrep_number(spec->z.segment[i].ir)], i);
    switch (spec->sugar) {
    case SUGAR_NONE:
        if (spec->instructions > PATHS_MAX) {
            diag_report(diag, DIAG_LIMIT, spec->instruction[PATHS_MAX].pos,
                        "these are more than %d instructions, the largest number supported", PATHS_MAX);
            break;
        }
        out->z = spec->z;
        out->instructions = spec->instructions;
        out->instruction = spec->instruction;
        break;
    case SUGAR_CHANNELWISE:
        channelwise(&m);
        break;
    case SUGAR_FULLY_CONNECTED:
        fully_connected(&m);
        break;
    case SUGAR_ELEMENTWISE:
        elementwise(&m);
        break;
    case SUGAR_FULL:
        full(&m);
        break;
    }
}
