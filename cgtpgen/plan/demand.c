/* demand.c - see demand.h: recipes for paths, what they read, what they cost. */
#include "plan/demand.h"

#include <string.h>

static enum role role_of(const struct variant *v, enum slot s)
{
    return s == SLOT_W ? ROLE_W : s == v->g ? ROLE_G : s == v->a ? ROLE_A : ROLE_B;
}

/* Terms of the kernel's output o that path p takes part in, in roles. */
static int applicable(const struct kernel_form *k, int o, const struct path *p, const struct variant *v,
                      struct recipe_term *out)
{
    int n = 0;
    for (int t = 0; t < k->output[o].terms; t++) {
        const struct form_term *term = &k->output[o].term[t];
        if (!form_term_applies(k, term, p))
            continue;
        struct recipe_term *r = &out[n++];
        r->target = role_of(v, term->target);
        for (int s = 0; s < SLOT_COUNT; s++)
            r->input[role_of(v, (enum slot)s)] = term->argument[s];
        if (!p->weighted)
            r->input[ROLE_W] = -1;
    }
    return n;
}

static struct recipe_input *kernel_inputs(struct arena *a, const struct kernel_form *k,
                                          const struct variant *v, int more)
{
    struct recipe_input *in = NEW_ARRAY(a, struct recipe_input, k->inputs + more + 1);
    for (int i = 0; i < k->inputs; i++)
        in[i] = (struct recipe_input){role_of(v, k->input[i].slot), k->input[i].symbol, i, 0};
    return in;
}

/* Everything in one recipe: weights act channel by channel. */
static void diagonal(struct arena *a, const struct problem *problem, const struct kernel_form *k,
                     const struct demand *d, const struct path *p, struct variant *v)
{
    struct recipe_request *request = NEW_ARRAY(a, struct recipe_request, d->outputs);
    int n = 0;
    for (int i = 0; i < d->outputs; i++) {
        const struct form_output *o = &k->output[d->output[i]];
        struct recipe_request *q = &request[n];
        q->term = NEW_ARRAY(a, struct recipe_term, o->terms);
        q->terms = applicable(k, d->output[i], p, v, q->term);
        q->role = role_of(v, o->slot);
        q->name = o->symbol;
        q->source = d->output[i];
        /* each path has its own weights: an item's are written once */
        q->assign = o->slot == SLOT_W && problem->spec->index[SLOT_W] == INDEX_ITEM;
        n += q->terms > 0;
    }
    if (n)
        v->product = codes_recipe(d->codes,
                                  recipe_build(a, k->inputs, kernel_inputs(a, k, v, 0), n, request, v->wide));
}

/* A set of (A, B) pairs whose products with M are added up in one T vector. */
struct pair_set {
    int n;
    struct recipe_term *term;
};

static int intern_set(struct pair_set *sets, int *n, struct pair_set s)
{
    for (int i = 0; i < *n; i++) {
        bool equal = sets[i].n == s.n;
        for (int t = 0; equal && t < s.n; t++)
            equal = sets[i].term[t].input[ROLE_A] == s.term[t].input[ROLE_A] &&
                    sets[i].term[t].input[ROLE_B] == s.term[t].input[ROLE_B];
        if (equal)
            return i;
    }
    sets[*n] = s;
    return (*n)++;
}

/* The (A, B) pairs of the terms whose `role` input is `input`. */
static struct pair_set pairs_with(struct arena *a, const struct recipe_term *term, int n, enum role role,
                                  int input)
{
    struct pair_set s = {0, NEW_ARRAY(a, struct recipe_term, n)};
    for (int t = 0; t < n; t++)
        if (term[t].input[role] == input) {
            s.term[s.n] = term[t];
            s.term[s.n].target = ROLE_G;
            s.term[s.n].input[ROLE_W] = s.term[s.n].input[ROLE_G] = -1;
            s.n++;
        }
    return s;
}

/* Through T = M B and P = W g. */
static void contracted(struct arena *a, const struct kernel_form *k, const struct demand *d,
                       const struct path *p, struct variant *v)
{
    int most = 0;
    for (int i = 0; i < d->outputs; i++)
        most += k->output[d->output[i]].terms;
    struct pair_set *sets = NEW_ARRAY(a, struct pair_set, most + 1);
    struct recipe_request *back = NEW_ARRAY(a, struct recipe_request, d->outputs);
    int backs = 0;
    v->p = NEW_ARRAY(a, struct contract_p, most + 1);
    v->z = NEW_ARRAY(a, struct contract_z, most + 1);
    v->w = NEW_ARRAY(a, struct contract_w, d->outputs);
    for (int i = 0; i < d->outputs; i++) {
        const struct form_output *o = &k->output[d->output[i]];
        struct recipe_term *term = NEW_ARRAY(a, struct recipe_term, o->terms);
        int n = applicable(k, d->output[i], p, v, term);
        enum role role = role_of(v, o->slot);
        if (n == 0)
            continue;
        if (role == ROLE_G) {
            for (int t = 0; t < n; t++)
                if (recipe_first_with(term, t, ROLE_W)) {
                    int w = term[t].input[ROLE_W];
                    int set = intern_set(sets, &v->ts, pairs_with(a, term, n, ROLE_W, w));
                    v->z[v->zs++] = (struct contract_z){d->output[i], w, set};
                }
        } else if (role == ROLE_W) {
            struct contract_w *c = &v->w[v->ws++];
            *c = (struct contract_w){d->output[i], 0, NEW_ARRAY(a, struct contract_w_part, n)};
            for (int t = 0; t < n; t++)
                if (recipe_first_with(term, t, ROLE_G)) {
                    int g = term[t].input[ROLE_G];
                    int set = intern_set(sets, &v->ts, pairs_with(a, term, n, ROLE_G, g));
                    c->part[c->parts++] = (struct contract_w_part){set, g};
                }
        } else {
            for (int t = 0; t < n; t++) {
                int w = term[t].input[ROLE_W], g = term[t].input[ROLE_G], number = 0;
                while (number < v->ps && (v->p[number].w != w || v->p[number].g != g))
                    number++;
                if (number == v->ps)
                    v->p[v->ps++] = (struct contract_p){w, g};
                term[t].input[ROLE_W] = -1;
                term[t].input[ROLE_G] = k->inputs + number;
            }
            back[backs++] = (struct recipe_request){role, o->symbol, d->output[i], false, n, term};
        }
    }
    if (v->ts) {
        struct recipe_request *tensor = NEW_ARRAY(a, struct recipe_request, v->ts);
        for (int t = 0; t < v->ts; t++)
            tensor[t] =
                (struct recipe_request){ROLE_G, arena_printf(a, "t%d", t), t, true, sets[t].n, sets[t].term};
        v->tensor = codes_recipe(
            d->codes, recipe_build(a, k->inputs, kernel_inputs(a, k, v, 0), v->ts, tensor, v->wide));
    }
    if (backs) {
        struct recipe_input *in = kernel_inputs(a, k, v, v->ps);
        for (int i = 0; i < v->ps; i++)
            in[k->inputs + i] = (struct recipe_input){ROLE_G, arena_printf(a, "p%d", i), k->inputs + i, 0};
        v->product = codes_recipe(d->codes, recipe_build(a, k->inputs + v->ps, in, backs, back, v->wide));
    }
}

static int variant_of(struct arena *a, const struct problem *problem, const struct kernel_form *k,
                      struct demand *d, int *capacity, const struct path_plan *e)
{
    if (!e->matrix)
        return -1;
    struct variant v = {.a = e->a,
                        .g = e->g,
                        .elementwise = e->elementwise,
                        .contracted = e->contracted,
                        .weighted = e->path->weighted,
                        .wide = e->matrix->rows <= e->matrix->columns,
                        .strided = e->strided,
                        .weight_strided = e->weight_strided};
    for (int i = 0; i < d->variants; i++) {
        const struct variant *w = &d->variant[i];
        if (w->a == v.a && w->g == v.g && w->elementwise == v.elementwise && w->contracted == v.contracted &&
            w->weighted == v.weighted && w->wide == v.wide && w->strided == v.strided &&
            w->weight_strided == v.weight_strided)
            return i;
    }
    if (v.contracted)
        contracted(a, k, d, e->path, &v);
    else
        diagonal(a, problem, k, d, e->path, &v);
    d->variant = arena_grow(a, d->variant, d->variants, capacity, sizeof v);
    d->variant[d->variants] = v;
    return d->variants++;
}

/* Adds what a path takes for an item: its code for each channel of A, with all channels of B; the products
 * with the block of weights, a multiply-add for each weight, or where there are none sums over channels. */
static void add_work(struct operations *sum, const struct variant *v, const struct path_plan *e,
                     struct path_code code)
{
    const struct code *both[] = {code.product, code.tensor};
    double a = path_channels_a(e), b = path_channels_b(e);
    double items = e->pairs || e->below ? a - 1 : a, channels = items * (e->pairs ? b / 2 : b); /* a < b */
    const double g = path_channels_g(e), block = channels * (e->below ? g / 2 : g) * e->matrix->columns;
    for (int i = 0; i < v->ws; i++)
        sum->fma += block * v->w[i].parts;
    for (int i = 0; i < v->zs; i++)
        *(v->z[i].w < 0 ? &sum->add : &sum->fma) +=
            v->z[i].w < 0 ? (channels - 1 + g) * e->matrix->columns : block;
    for (int i = 0; i < v->ps; i++)
        *(v->p[i].w < 0 ? &sum->add : &sum->fma) += v->p[i].w < 0 ? (g - 1) * e->matrix->columns : block;
    for (int i = 0; i < 2; i++)
        if (both[i]) {
            operations_add(sum, both[i]->channel, channels);
            operations_add(sum, both[i]->item, items);
        }
}

static const struct code *code_of(const struct demand *d, const struct recipe *r, const struct path_plan *e)
{
    return r ? codes_lower(d->codes, r, e->matrix, e->elementwise, false) : NULL;
}

struct path_code demand_code(const struct demand *d, int path)
{
    struct path_code *code = &d->code[path];
    if (d->variant_of[path] >= 0 && !code->product && !code->tensor) {
        const struct variant *v = &d->variant[d->variant_of[path]];
        code->product = code_of(d, v->product, &d->plan->path[path]);
        code->tensor = code_of(d, v->tensor, &d->plan->path[path]);
    }
    return *code;
}

const struct code *demand_code_of(const struct demand *d, int path, int n)
{
    const int variant = d->variant_of[path];
    const struct recipe **r = &d->repeated[variant * DEMAND_TOGETHER + n - 1];
    if (!*r)
        *r = n == 1 ? d->variant[variant].product
                    : codes_recipe(d->codes,
                                   recipe_repeat(d->codes->arena, d->variant[variant].product, n, false));
    return code_of(d, *r, &d->plan->path[path]);
}

const struct code *demand_code_outer(const struct demand *d, const int *path, int n)
{
    const struct matrix **matrix = NEW_ARRAY(d->codes->arena, const struct matrix *, n);
    const struct recipe *r = d->variant[d->variant_of[path[0]]].product;
    for (int i = 0; i < n; i++)
        matrix[i] = d->plan->path[path[i]].matrix;
    return codes_lower_outer(d->codes, codes_recipe(d->codes, recipe_repeat(d->codes->arena, r, n, true)), n,
                             matrix);
}

struct operations demand_operations(const struct demand *d)
{
    struct operations sum = {0};
    for (int p = 0; p < d->plan->problem->paths; p++)
        if (d->variant_of[p] >= 0)
            add_work(&sum, &d->variant[d->variant_of[p]], &d->plan->path[p], demand_code(d, p));
    return sum;
}

double demand_flops(const struct demand *d)
{
    return operations_flops(demand_operations(d));
}

/* Which inputs are read, and in which form. */
static void find_reads(struct demand *d)
{
    for (int i = 0; i < d->plan->problem->paths; i++) {
        if (d->variant_of[i] < 0)
            continue;
        const struct variant *v = &d->variant[d->variant_of[i]];
        for (int which = 0; which < 2; which++) {
            const struct recipe *r = which ? v->tensor : v->product;
            for (int in = 0; r && in < r->inputs; in++) {
                bool virtual = v->contracted && r->input[in].role == ROLE_G; /* P, counted below */
                if (virtual || !recipe_reads(r, in))
                    continue;
                enum role role = r->input[in].role;
                bool raw = role == ROLE_W || (role == ROLE_A && !v->elementwise);
                (raw ? d->raw : d->vector)[r->input[in].source] = true;
            }
        }
        for (int z = 0; z < v->zs; z++)
            if (v->z[z].w >= 0)
                d->raw[v->z[z].w] = true;
        for (int p = 0; p < v->ps; p++) {
            if (v->p[p].w >= 0)
                d->raw[v->p[p].w] = true;
            d->vector[v->p[p].g] = true;
        }
        for (int w = 0; w < v->ws; w++)
            for (int part = 0; part < v->w[w].parts; part++)
                d->vector[v->w[w].part[part].g] = true;
    }
}

const struct demand *demand_build(struct codes *codes, const struct plan *plan,
                                  const struct kernel_plan *kernel, int outputs, const int *output,
                                  const bool *takes)
{
    struct arena *a = codes->arena;
    const struct problem *problem = plan->problem;
    const struct kernel_form *k = kernel->form;
    codes->kept = plan->codes;
    struct demand *d = NEW(a, struct demand);
    *d = (struct demand){.plan = plan, .kernel = kernel, .codes = codes, .outputs = outputs};
    d->output = arena_copy(a, output, (size_t)outputs * sizeof *output);
    d->variant_of = NEW_ARRAY(a, int, problem->paths + 1);
    d->code = NEW_ARRAY(a, struct path_code, problem->paths + 1);
    d->raw = NEW_ARRAY(a, bool, k->inputs + 1);
    d->vector = NEW_ARRAY(a, bool, k->inputs + 1);
    int capacity = 0;
    for (int p = 0; p < problem->paths; p++) {
        d->variant_of[p] = takes && !takes[p] ? -1 : variant_of(a, problem, k, d, &capacity, &plan->path[p]);
        const struct variant *v = d->variant_of[p] < 0 ? NULL : &d->variant[d->variant_of[p]];
        if (v && !v->product && !v->tensor)
            d->variant_of[p] = -1;
    }
    d->repeated = NEW_ARRAY(a, const struct recipe *, d->variants *DEMAND_TOGETHER + 1);
    find_reads(d);
    return d;
}

const struct form_output *demand_output(const struct demand *d, int i)
{
    return &d->kernel->form->output[d->output[i]];
}

const struct operand *demand_operand(const struct demand *d, int i)
{
    return kernel_output(d->kernel, d->output[i]);
}

int demand_arrays(const struct demand *d)
{
    return d->kernel->form->inputs + d->outputs;
}

const struct operand *demand_array(const struct demand *d, int i)
{
    const int inputs = d->kernel->form->inputs;
    if (i >= inputs)
        return demand_operand(d, i - inputs);
    return demand_reads(d, i) ? kernel_input(d->kernel, i) : NULL;
}

bool demand_reads(const struct demand *d, int input)
{
    return d->raw[input] || d->vector[input];
}

enum index_kind demand_owner(const struct demand *d)
{
    enum index_kind owner = INDEX_ITEM;
    for (int o = 0; o < d->outputs; o++) {
        enum index_kind mine = demand_operand(d, o)->index;
        if (mine != INDEX_ITEM && owner != INDEX_ITEM && mine != owner)
            return INDEX_COUNT;
        owner = mine != INDEX_ITEM ? mine : owner;
    }
    return owner;
}

const struct operand *demand_of_slot(const struct demand *d, enum slot slot)
{
    for (int i = 0; i < demand_arrays(d); i++)
        if (demand_array(d, i) && demand_array(d, i)->slot == slot)
            return demand_array(d, i);
    return NULL;
}

double demand_row_bytes(const struct demand *d, bool shared)
{
    double elements = 0;
    for (int i = 0; d && i < demand_arrays(d); i++)
        if (demand_array(d, i) && (shared || demand_array(d, i)->index != INDEX_SHARED))
            elements += (double)demand_array(d, i)->dim;
    return d ? elements * kernel_size(d->kernel) : 0;
}

int demand_inputs_of(const struct demand *d, enum slot s)
{
    const struct kernel_form *k = d->kernel->form;
    int n = 0;
    for (int i = 0; i < k->inputs; i++)
        n += k->input[i].slot == s && demand_reads(d, i);
    return n;
}

int demand_bytes_of(const struct demand *d, enum slot s, bool outputs)
{
    const struct kernel_plan *k = d->kernel;
    int bytes = 0;
    for (int i = 0; i < k->form->inputs && !outputs; i++)
        bytes += k->operand[i].slot == s && demand_reads(d, i) ? operand_size(&k->operand[i]) : 0;
    for (int o = 0; o < d->outputs && outputs; o++)
        bytes += demand_operand(d, o)->slot == s ? operand_size(demand_operand(d, o)) : 0;
    return bytes;
}

int demand_outputs_of(const struct demand *d, enum slot s)
{
    int n = 0;
    for (int o = 0; o < d->outputs; o++)
        n += demand_output(d, o)->slot == s;
    return n;
}
