/* paired_sets.c - paired items: paths into sets, sets into kinds. */
#include "schedule/paired/paired_plan.h"

#include <stdlib.h>
#include <string.h>

enum {
    RULES = PAIRED_RULES - 1
}; /* by channels; and by the parity of y; and of x; after these, as many paths as registers hold */

/* A path and what decides about its set. */
struct entry {
    int number;
    int key[7]; /* the first three (fewer by a coarser rule) are the set's; then the order in it */
};

enum { KEY_SET = 3 };

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    for (int i = 0; i < (int)(sizeof a->key / sizeof *a->key); i++)
        if (a->key[i] != b->key[i])
            return a->key[i] < b->key[i] ? -1 : 1;
    return a->number - b->number;
}

/* Paths of a segment of y with the same matrix follow each other: they share its forms. */
static struct entry entry_of(const struct problem *p, const struct path *q, int rule)
{
    return (struct entry){q->number,
                          {q->mul_x, rule > 0 ? p->y.segment[q->y].ir.parity : 0,
                           rule > 1 ? p->x.segment[q->x].ir.parity : 0, q->y, q->l1, q->l3, q->x}};
}

/* Where the segment is in the set's list; adds it. */
static int part_of(struct paired_set *s, enum slot slot, int segment)
{
    int i = 0;
    while (i < s->parts[slot] && s->part[slot][i] != segment)
        i++;
    if (i == s->parts[slot])
        s->part[slot][s->parts[slot]++] = segment;
    return i;
}

static int segment_of(const struct path *q, enum slot slot)
{
    return slot == SLOT_X ? q->x : slot == SLOT_Y ? q->y : q->z;
}

/* Words of a thread's components of a segment in all arrays of the slot. */
static int values_of(const struct demand *d, enum slot slot, int l)
{
    return (demand_inputs_of(d, slot) + demand_outputs_of(d, slot)) * (2 * l + 1) * kernel_size(d->kernel) /
           4;
}

/* Words that the path would add to the set. */
static int added_values(const struct demand *d, const struct paired_set *s, const struct path *q)
{
    static const enum slot slots[] = {SLOT_X, SLOT_Y, SLOT_G};
    const int l[SLOT_COUNT] = {[SLOT_X] = q->l1, [SLOT_Y] = q->l2, [SLOT_G] = q->l3};
    int sum = 0;
    for (int k = 0; k < 3; k++) {
        bool there = false;
        for (int i = 0; i < s->parts[slots[k]]; i++)
            there |= s->part[slots[k]][i] == segment_of(q, slots[k]);
        sum += there ? 0 : values_of(d, slots[k], l[slots[k]]);
    }
    return sum;
}

static int forms_of(const struct demand *d, const struct path *q)
{
    return d->plan->path[q->number].matrix->forms;
}

int paired_words(const struct demand *d, const struct paired_set *s)
{
    return s->values + s->forms * (demand_inputs_of(d, SLOT_Y) + demand_outputs_of(d, SLOT_Y)) *
                           (kernel_size(d->kernel) / 4);
}

/* The same with the path. */
static int words_with(const struct demand *d, const struct paired_set *s, const struct path *q)
{
    struct paired_set more = *s;
    more.values += added_values(d, s, q);
    more.forms = more.forms > forms_of(d, q) ? more.forms : forms_of(d, q);
    return paired_words(d, &more);
}

static void add_path(struct arena *a, struct paired_set *s, const struct demand *d, const struct path *q,
                     int most)
{
    if (s->paths == 0) {
        *s = (struct paired_set){
            .mul = q->mul_x, .path = NEW_ARRAY(a, int, most), .together = NEW_ARRAY(a, int, most)};
        for (int slot = 0; slot < SLOT_COUNT; slot++)
            s->part[slot] = NEW_ARRAY(a, int, most);
    }
    s->values += added_values(d, s, q);
    s->forms = s->forms > forms_of(d, q) ? s->forms : forms_of(d, q);
    s->path[s->paths++] = q->number;
    part_of(s, SLOT_X, q->x);
    part_of(s, SLOT_Y, q->y);
    part_of(s, SLOT_G, q->z);
}

const struct code *paired_code(const struct demand *d, const struct paired_set *s, int path)
{
    return demand_code_of(d, s->path[path], s->together[path]);
}

/* Have the paths the same matrix of the same segment of y, and all else their own? */
static bool may_join(const struct demand *d, const struct path *p, const struct path *q)
{
    return p->y == q->y && p->x != q->x && p->z != q->z &&
           d->variant_of[p->number] == d->variant_of[q->number] &&
           d->plan->path[p->number].matrix == d->plan->path[q->number].matrix;
}

/* Paths that follow each other become calls. */
static void find_calls(const struct demand *d, struct paired_set *s)
{
    const struct path *path = d->plan->problem->path;
    for (int i = 0, n; i < s->paths; i += n) {
        bool joins = true;
        for (n = 1; joins && i + n < s->paths && n < PAIRED_TOGETHER; n += joins)
            for (int k = 0; k < n; k++)
                joins &= may_join(d, &path[s->path[i + k]], &path[s->path[i + n]]);
        s->together[i] = n;
    }
}

/* Have the sets the same code: alike paths that tie their segments alike? */
static bool are_alike(const struct demand *d, struct paired_set *s, struct paired_set *t)
{
    const struct plan *plan = d->plan;
    bool alike = s->mul == t->mul && s->lanes == t->lanes && s->paths == t->paths;
    for (int i = 0; alike && i < s->paths; i++) {
        const struct path *p = &plan->problem->path[s->path[i]], *q = &plan->problem->path[t->path[i]];
        alike = d->variant_of[p->number] == d->variant_of[q->number] &&
                plan->path[p->number].matrix == plan->path[q->number].matrix && p->weighted == q->weighted;
        for (int slot = 0; slot < SLOT_COUNT; slot++)
            alike &= slot == SLOT_W || part_of(s, (enum slot)slot, segment_of(p, (enum slot)slot)) ==
                                           part_of(t, (enum slot)slot, segment_of(q, (enum slot)slot));
    }
    return alike;
}

/* Sets of one kind follow each other, in their order. */
static void find_kinds(struct arena *a, struct paired *g)
{
    struct paired_set *sorted = NEW_ARRAY(a, struct paired_set, g->sets + 1);
    int done = 0;
    g->kinds = 0;
    g->kind = NEW_ARRAY(a, struct paired_kind, g->sets + 1);
    for (int i = 0; i < g->sets; i++)
        g->set[i].kind = -1;
    for (int i = 0; i < g->sets; i++) {
        if (g->set[i].kind >= 0)
            continue;
        struct paired_kind *k = &g->kind[g->kinds];
        *k = (struct paired_kind){.first = done};
        for (int j = i; j < g->sets; j++)
            if (g->set[j].kind < 0 && are_alike(g->demand, &g->set[i], &g->set[j])) {
                g->set[j].kind = g->kinds;
                sorted[done++] = g->set[j];
                k->sets++;
            }
        g->kinds++;
    }
    g->set = sorted;
}

/* A new set, without paths. */
static struct paired_set *begin_set(struct arena *a, struct paired *g, int *capacity)
{
    g->set = arena_grow(a, g->set, g->sets, capacity, sizeof *g->set);
    g->set[g->sets] = (struct paired_set){0};
    return &g->set[g->sets++];
}

/* Each set becomes one for each block of its channels. */
static bool divide_channels(struct arena *a, struct paired *g)
{
    struct paired_set *whole = g->set;
    int wholes = g->sets, capacity = 0;
    g->sets = 0;
    g->set = NULL;
    for (int i = 0; i < wholes; i++) {
        int blocks = (whole[i].mul + PAIRED_CHANNELS_MOST - 1) / PAIRED_CHANNELS_MOST;
        int lanes = (whole[i].mul + blocks - 1) / blocks;
        if (g->sets + blocks > PAIRED_SETS_MOST)
            return false;
        for (int k = 0; k < blocks; k++) {
            struct paired_set *s = begin_set(a, g, &capacity);
            *s = whole[i];
            s->first = k * lanes;
            s->lanes = s->mul - s->first < lanes ? s->mul - s->first : lanes;
        }
    }
    return true;
}

bool paired_divide(struct arena *a, struct paired *g, int rule, int words_most)
{
    const struct demand *d = g->demand;
    const struct problem *p = d->plan->problem;
    struct entry *entry = NEW_ARRAY(a, struct entry, p->paths + 1);
    int n = 0, capacity = 0;
    for (int i = 0; i < p->paths; i++)
        if (d->variant_of[i] >= 0)
            entry[n++] = entry_of(p, &p->path[i], rule);
    qsort(entry, (size_t)n, sizeof *entry, compare_entries);
    g->sets = 0;
    g->set = NULL;
    for (int i = 0; i < n; i++) {
        const struct path *q = &p->path[entry[i].number];
        struct paired_set *s = g->sets ? &g->set[g->sets - 1] : NULL;
        bool begins = !s || memcmp(entry[i].key, entry[i - 1].key, KEY_SET * sizeof(int)) != 0;
        bool small = begins || words_with(d, s, q) <= words_most;
        if ((!small && rule < RULES) || ((begins || !small) && g->sets == PAIRED_SETS_MOST))
            return false;
        add_path(a, begins || !small ? begin_set(a, g, &capacity) : s, d, q, n);
    }
    for (int i = 0; i < g->sets; i++)
        find_calls(d, &g->set[i]);
    if (!divide_channels(a, g))
        return false;
    find_kinds(a, g);
    return true;
}
