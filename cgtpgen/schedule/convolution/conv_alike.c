/* conv_alike.c - the pipelined convolution: segments of x whose paths are alike. Where paths differ only in
 * where their operands are, as those of both parities do, one loop does the work of several path sets, and
 * the code of a kernel is that much smaller.
 */
#include "schedule/convolution/conv_plan.h"

/* The path of the demand among a group's from number *i of the group on; NULL: there is no more. */
static const struct path *next_path(const struct demand *d, const struct path_group *of_x, int *i)
{
    while (*i < of_x->paths && d->variant_of[of_x->path[*i]] < 0)
        ++*i;
    return *i < of_x->paths ? &d->plan->problem->path[of_x->path[(*i)++]] : NULL;
}

/* Does the code of p compute q, if its operands are those of q? */
static bool path_is_like(const struct convolution *g, const struct path *p, const struct path *q)
{
    return g->matrix[p->number] == g->matrix[q->number] && g->code[p->number] == g->code[q->number] &&
           p->number - g->first[p->number] == q->number - g->first[q->number] && p->y == q->y &&
           p->mul_x == q->mul_x && p->weighted == q->weighted && !g->shares_z[p->number] &&
           !g->shares_z[q->number];
}

/* Does the code of a group's paths compute another's, if rows of weights begin so many elements later? */
static bool group_is_like(const struct convolution *g, const struct path_group *one,
                          const struct path_group *other, int64_t *weights)
{
    const struct demand *d = g->demand;
    int i = 0, j = 0;
    bool weighted = false;
    *weights = 0;
    for (;;) {
        const struct path *p = next_path(d, one, &i), *q = next_path(d, other, &j);
        if (!p || !q)
            return !p && !q && i;
        if (!path_is_like(g, p, q))
            return false;
        int64_t distance = q->weight_offset - p->weight_offset;
        if (weighted && p->weighted && distance != *weights)
            return false;
        if (p->weighted) {
            weighted = true;
            *weights = distance;
        }
    }
}

static void join(struct convolution *g, const struct path_group *one, const struct path_group *other,
                 int64_t weights)
{
    int i = 0, j = 0;
    for (const struct path *p; (p = next_path(g->demand, one, &i));)
        g->like[p->number] = next_path(g->demand, other, &j)->number;
    g->alike[one->x].next = other->x;
    g->alike[one->x].weights = weights;
    g->alike[other->x].follows = true;
}

void conv_find_alike(struct arena *a, struct convolution *g)
{
    const struct plan *plan = g->demand->plan;
    g->like = NEW_ARRAY(a, int, plan->problem->paths + 1);
    g->alike = NEW_ARRAY(a, struct alike, plan->problem->x.n + 1);
    for (int p = 0; p < plan->problem->paths; p++)
        g->like[p] = -1;
    for (int x = 0; x < plan->problem->x.n; x++)
        g->alike[x].next = -1;
    for (int i = 0; i < plan->groups && (g->shared || g->joined); i++) {
        const struct path_group *last = &plan->group[i];
        for (int k = i + 1; k < plan->groups && !g->alike[plan->group[i].x].follows; k++) {
            int64_t weights;
            if (g->alike[plan->group[k].x].follows || !group_is_like(g, last, &plan->group[k], &weights))
                continue;
            join(g, last, &plan->group[k], weights);
            last = &plan->group[k];
        }
    }
}

bool conv_moves_alike(const struct convolution *g, int x1, int x2)
{
    const struct segment *s = g->demand->plan->problem->x.segment;
    for (; g->alike[x1].next >= 0 && g->alike[x2].next >= 0; x1 = g->alike[x1].next, x2 = g->alike[x2].next)
        if (s[g->alike[x1].next].offset - s[x1].offset != s[g->alike[x2].next].offset - s[x2].offset ||
            g->alike[x1].weights != g->alike[x2].weights)
            return false;
    return g->alike[x1].next < 0 && g->alike[x2].next < 0;
}

void conv_add_alike(struct arena *a, struct convolution *g)
{
    int sets = 0, capacity = 0;
    struct path_set *all = NULL;
    for (int i = 0; i < g->sets; i++) {
        struct path_set s = g->set[i];
        const int first = sets;
        for (bool more = true; more;) {
            all = arena_grow(a, all, sets, &capacity, sizeof *all);
            s.like = first;
            all[sets++] = s;
            more = g->shared && g->alike[s.x[0]].next >= 0;
            s.path = arena_copy(a, s.path, (size_t)s.paths * sizeof *s.path);
            s.x = arena_copy(a, s.x, (size_t)s.xs * sizeof *s.x);
            s.z = arena_copy(a, s.z, (size_t)s.zs * sizeof *s.z);
            for (int k = 0; k < s.paths && more; k++)
                s.path[k] = g->like[s.path[k]];
            for (int k = 0; k < s.xs && more; k++)
                s.x[k] = g->alike[s.x[k]].next;
            for (int k = 0; k < s.zs && more; k++)
                s.z[k] = g->like[s.z[k]];
        }
    }
    g->set = all;
    g->sets = sets;
}

/* Is every path of a set, and every segment of x, the one that follows one of another set's, all at one
 * distance? */
static bool set_follows(const struct convolution *g, const struct path_set *s, const struct path_set *to)
{
    bool follows =
        s->paths == to->paths && s->xs == to->xs && s->channels == to->channels && s->lanes == to->lanes;
    for (int i = 0; i < s->paths && follows; i++)
        follows = g->like[to->path[i]] == s->path[i];
    for (int i = 0; i < s->xs && follows; i++)
        follows = g->alike[to->x[i]].next == s->x[i] && conv_moves_alike(g, to->x[0], to->x[i]);
    return follows;
}

void conv_link_alike(struct arena *a, struct convolution *g)
{
    struct path_set *all = NEW_ARRAY(a, struct path_set, g->sets + 1);
    bool *placed = NEW_ARRAY(a, bool, g->sets + 1);
    int sets = 0;
    for (int i = 0; i < g->sets; i++) {
        if (placed[i])
            continue;
        const int first = sets;
        for (int next = i; next >= 0;) {
            all[sets] = g->set[next];
            all[sets++].like = first;
            placed[next] = true;
            for (next = 0; next < g->sets; next++)
                if (!placed[next] && set_follows(g, &g->set[next], &all[sets - 1]))
                    break;
            next = next < g->sets ? next : -1;
        }
    }
    g->set = all;
}

void conv_ask(const struct convolution *g, const struct conv_choice *c)
{
    enum { WORD = 60 }; /* bits */
    const struct demand *d = g->demand;
    const struct problem *p = d->plan->problem;
    struct answers *k = d->plan->answers;
    answers_ask(k);
    answers_word(k, ASKED_CODES);
    answers_pointer(k, g->device);
    answers_pointer(k, d->kernel->form);
    answers_pointer(k, d->plan->path); /* whose matrices are those of g */
    for (int o = 0; o < d->outputs; o++)
        answers_word(k, d->output[o]);
    answers_word(k, -1);
    answers_word(k, c->together);
    answers_word(k, c->code);
    answers_word(k, g->edge_buffer | g->wide << 1 | g->carries << 2 | g->g_outputs << 3 | g->a_outputs << 4 |
                        g->b_outputs << 5 | g->w_outputs << 6);
    answers_word(k, g->shifted);
    for (int s = 0; s < SLOT_COUNT; s++)
        answers_word(k, g->aligned[s]);
    for (int i = 0; i < d->kernel->form->inputs + d->kernel->form->outputs; i++) {
        const struct operand *o = &d->kernel->operand[i];
        answers_word(k, i < d->kernel->form->inputs && demand_reads(d, i));
        answers_word(k, operand_size(o));
        int64_t apart = 0;
        for (int b = 0; b < o->blocks; b++) {
            apart = apart << 1 | block_is_apart(&o->block[b]);
            if (b % WORD == WORD - 1 || b == o->blocks - 1) {
                answers_word(k, apart);
                apart = 0;
            }
        }
    }
    for (int v = 0; v < d->variants; v++) {
        const struct variant *of = &d->variant[v];
        answers_word(k, of->a | of->g << 4 | of->elementwise << 8 | of->contracted << 9 | of->weighted << 10 |
                            of->strided << 11 | of->weight_strided << 12);
        answers_pointer(k, of->product);
    }
    for (int i = 0; i < p->paths; i++) {
        answers_word(k, 2 * (int64_t)d->variant_of[i] + g->shares_z[i]);
        answers_pointer(k, g->code[i]);
    }
}

/* Chooses what paths share that are alike. */
void conv_choose_code(struct arena *a, struct convolution *g, const struct conv_choice *c)
{
    enum { SHARED_INSTRUCTIONS = 10 << 10 }; /* of all paths, from which on those alike share loops */
    const struct demand *d = g->demand;
    int instructions = 0;
    for (int i = 0; i < d->plan->problem->paths; i++)
        if (d->variant_of[i] >= 0 && g->first[i] == i)
            instructions += code_instructions(g->code[i]->channel) + code_instructions(g->code[i]->item);
    int share = c->share ? c->share : instructions > SHARED_INSTRUCTIONS ? SHARE_LOOPS : SHARE_NOTHING;
    g->shared = share == SHARE_LOOPS;
    g->joined = share == SHARE_FORMS;
    conv_find_alike(a, g);
}
