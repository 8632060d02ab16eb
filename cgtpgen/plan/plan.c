/* plan.c - see plan.h: evaluations of paths, passes of kernels, their recipes and costs. */
#include "plan/plan.h"

#include <string.h>

static enum role role_of(const struct variant *v, enum slot s)
{
    return s == SLOT_W ? ROLE_W : s == SLOT_G ? ROLE_G : s == v->a ? ROLE_A : ROLE_B;
}

/* ---- paths ---- */

static struct path_plan plan_path(struct matrices *matrices, const struct path *p)
{
    struct path_plan e = {.path = p, .a = SLOT_Y};
    switch (p->mode) {
    case MODE_UVU:
        e.weight_strided = p->mul_y > 1;
        break;
    case MODE_UVV:
        e.a = SLOT_X;
        break;
    case MODE_UVUV:
        e.a = SLOT_X;
        e.strided = true;
        break;
    case MODE_UVULTV:
        e.a = SLOT_X;
        e.pairs = e.strided = true;
        break;
    case MODE_ULTVW:
        e.a = SLOT_X;
        e.pairs = e.strided = e.contracted = true;
        break;
    case MODE_UVW: /* the longer of the two is the vector dimension */
        e.a = p->mul_y <= p->mul_x ? SLOT_Y : SLOT_X;
        e.contracted = true;
        break;
    case MODE_UUW:
        e.elementwise = e.contracted = true;
        break;
    case MODE_UUU:
        e.elementwise = true;
        break;
    case MODE_COUNT:
        break;
    }
    e.b = e.a == SLOT_Y ? SLOT_X : SLOT_Y;
    bool channels = p->mul_x && p->mul_y && p->mul_z && !(e.pairs && p->mul_x < 2);
    if (channels && p->coefficient.sign)
        e.matrix = matrix_of(matrices, p, e.a);
    return e;
}

/* Channels of operand B that one application of a path's M covers, on average over the channels of A. */
static double vector_length(const struct path_plan *e)
{
    double n = e->b == SLOT_X ? e->path->mul_x : e->path->mul_y;
    return e->pairs ? n / 2 : n;
}

static double applications(const struct path_plan *e)
{
    double n = e->elementwise ? 1 : e->a == SLOT_X ? e->path->mul_x : e->path->mul_y;
    return e->pairs ? n - 1 : n;
}

/* ---- variants ---- */

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
        in[i] = (struct recipe_input){role_of(v, k->input[i].slot), k->input[i].name, i};
    return in;
}

/* Everything in one recipe: weights act channel by channel. */
static void diagonal(struct arena *a, const struct problem *problem, const struct kernel_form *k,
                     const struct pass *pass, const struct path *p, struct variant *v)
{
    struct recipe_request *request = NEW_ARRAY(a, struct recipe_request, pass->outputs);
    int n = 0;
    for (int i = 0; i < pass->outputs; i++) {
        const struct form_output *o = &k->output[pass->output[i]];
        struct recipe_request *q = &request[n];
        q->term = NEW_ARRAY(a, struct recipe_term, o->terms);
        q->terms = applicable(k, pass->output[i], p, v, q->term);
        q->role = role_of(v, o->slot);
        q->name = o->name;
        q->source = pass->output[i];
        /* each path has its own weights: an item's are written once */
        q->assign = o->slot == SLOT_W && problem->spec->index[SLOT_W] == INDEX_ITEM;
        n += q->terms > 0;
    }
    if (n)
        v->product = recipe_build(a, k->inputs, kernel_inputs(a, k, v, 0), n, request, v->wide);
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
static void contracted(struct arena *a, const struct kernel_form *k, const struct pass *pass,
                       const struct path *p, struct variant *v)
{
    int most = 0;
    for (int i = 0; i < pass->outputs; i++)
        most += k->output[pass->output[i]].terms;
    struct pair_set *sets = NEW_ARRAY(a, struct pair_set, most + 1);
    struct recipe_request *back = NEW_ARRAY(a, struct recipe_request, pass->outputs);
    int backs = 0;
    v->p = NEW_ARRAY(a, struct contract_p, most + 1);
    v->z = NEW_ARRAY(a, struct contract_z, most + 1);
    v->w = NEW_ARRAY(a, struct contract_w, pass->outputs);
    for (int i = 0; i < pass->outputs; i++) {
        const struct form_output *o = &k->output[pass->output[i]];
        struct recipe_term *term = NEW_ARRAY(a, struct recipe_term, o->terms);
        int n = applicable(k, pass->output[i], p, v, term);
        enum role role = role_of(v, o->slot);
        if (n == 0)
            continue;
        if (role == ROLE_G) {
            for (int t = 0; t < n; t++)
                if (recipe_first_with(term, t, ROLE_W)) {
                    int w = term[t].input[ROLE_W];
                    int set = intern_set(sets, &v->ts, pairs_with(a, term, n, ROLE_W, w));
                    v->z[v->zs++] = (struct contract_z){pass->output[i], w, set};
                }
        } else if (role == ROLE_W) {
            struct contract_w *c = &v->w[v->ws++];
            *c = (struct contract_w){pass->output[i], 0, NEW_ARRAY(a, struct contract_w_part, n)};
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
            back[backs++] = (struct recipe_request){role, o->name, pass->output[i], false, n, term};
        }
    }
    if (v->ts) {
        struct recipe_request *tensor = NEW_ARRAY(a, struct recipe_request, v->ts);
        for (int t = 0; t < v->ts; t++)
            tensor[t] =
                (struct recipe_request){ROLE_G, arena_printf(a, "t%d", t), t, true, sets[t].n, sets[t].term};
        v->tensor = recipe_build(a, k->inputs, kernel_inputs(a, k, v, 0), v->ts, tensor, v->wide);
    }
    if (backs) {
        struct recipe_input *in = kernel_inputs(a, k, v, v->ps);
        for (int i = 0; i < v->ps; i++)
            in[k->inputs + i] = (struct recipe_input){ROLE_G, arena_printf(a, "p%d", i), k->inputs + i};
        v->product = recipe_build(a, k->inputs + v->ps, in, backs, back, v->wide);
    }
}

static int variant_of(struct arena *a, const struct problem *problem, const struct kernel_form *k,
                      struct pass *pass, int *capacity, const struct path_plan *e)
{
    if (!e->matrix)
        return -1;
    struct variant v = {.a = e->a,
                        .elementwise = e->elementwise,
                        .contracted = e->contracted,
                        .weighted = e->path->weighted,
                        .wide = e->matrix->rows <= e->matrix->columns,
                        .strided = e->strided,
                        .weight_strided = e->weight_strided};
    for (int i = 0; i < pass->variants; i++) {
        const struct variant *w = &pass->variant[i];
        if (w->a == v.a && w->elementwise == v.elementwise && w->contracted == v.contracted &&
            w->weighted == v.weighted && w->wide == v.wide && w->strided == v.strided &&
            w->weight_strided == v.weight_strided)
            return i;
    }
    if (v.contracted)
        contracted(a, k, pass, e->path, &v);
    else
        diagonal(a, problem, k, pass, e->path, &v);
    pass->variant = arena_grow(a, pass->variant, pass->variants, capacity, sizeof v);
    pass->variant[pass->variants] = v;
    return pass->variants++;
}

/* ---- passes ---- */

static struct path_code path_code(struct arena *a, const struct plan *plan, const struct pass *pass,
                                  int number)
{
    const struct path_plan *e = &plan->path[number];
    const struct variant *v = &pass->variant[pass->variant_of[number]];
    for (int i = 0; i < number; i++)
        if (pass->variant_of[i] == pass->variant_of[number] && plan->path[i].matrix == e->matrix)
            return pass->code[i];
    const struct recipe *recipe[] = {v->product, v->tensor};
    const struct code *code[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++)
        if (recipe[i])
            code[i] = code_lower(a, recipe[i], e->matrix, e->elementwise, false);
    return (struct path_code){code[0], code[1]};
}

/* Flops of a path for an item: of its code for each channel of A, with all channels of B; of the products
 * with rows of weights, a multiply-add for each weight, or an addition where there are none. */
static double work(const struct variant *v, const struct path_plan *e, struct path_code code)
{
    const struct code *both[] = {code.product, code.tensor};
    double contractions = 0, channel = 0, item = 0;
    for (int i = 0; i < v->ws; i++)
        contractions += 2.0 * e->path->mul_z * v->w[i].parts;
    for (int i = 0; i < v->zs; i++)
        contractions += v->z[i].w < 0 ? 1 : 2.0 * e->path->mul_z;
    for (int i = 0; i < v->ps; i++)
        contractions += v->p[i].w < 0 ? 0 : 2.0 * e->path->mul_z;
    channel = contractions * e->matrix->columns;
    for (int i = 0; i < 2; i++)
        if (both[i]) {
            channel += code_flops(both[i]->channel);
            item += code_flops(both[i]->item);
        }
    return (channel * vector_length(e) + item) * applications(e);
}

/* Which inputs a pass reads, and in which form. */
static void find_reads(struct pass *pass, const struct plan *plan)
{
    for (int i = 0; i < plan->problem->paths; i++) {
        if (pass->variant_of[i] < 0)
            continue;
        const struct variant *v = &pass->variant[pass->variant_of[i]];
        for (int which = 0; which < 2; which++) {
            const struct recipe *r = which ? v->tensor : v->product;
            for (int in = 0; r && in < r->inputs; in++) {
                bool virtual = v->contracted && r->input[in].role == ROLE_G; /* P, counted below */
                if (virtual || !recipe_reads(r, in))
                    continue;
                enum role role = r->input[in].role;
                bool raw = role == ROLE_W || (role == ROLE_A && !v->elementwise);
                (raw ? pass->raw : pass->vector)[r->input[in].source] = true;
            }
        }
        for (int z = 0; z < v->zs; z++)
            if (v->z[z].w >= 0)
                pass->raw[v->z[z].w] = true;
        for (int p = 0; p < v->ps; p++) {
            if (v->p[p].w >= 0)
                pass->raw[v->p[p].w] = true;
            pass->vector[v->p[p].g] = true;
        }
        for (int w = 0; w < v->ws; w++)
            for (int part = 0; part < v->w[w].parts; part++)
                pass->vector[v->w[w].part[part].g] = true;
    }
}

struct pass plan_pass(struct arena *a, const struct plan *plan, const struct kernel_form *k,
                      enum index_kind owner, int outputs, const int *output, const bool *only)
{
    const struct problem *problem = plan->problem;
    const struct spec *spec = problem->spec;
    struct pass pass = {.owner = owner, .outputs = outputs, .output = NEW_ARRAY(a, int, outputs + 1)};
    memcpy(pass.output, output, (size_t)outputs * sizeof *output);
    pass.variant_of = NEW_ARRAY(a, int, problem->paths + 1);
    pass.code = NEW_ARRAY(a, struct path_code, problem->paths + 1);
    pass.staging = NEW_ARRAY(a, enum staging, k->inputs + 1);
    pass.raw = NEW_ARRAY(a, bool, k->inputs + 1);
    pass.vector = NEW_ARRAY(a, bool, k->inputs + 1);
    int capacity = 0;
    for (int p = 0; p < problem->paths; p++) {
        pass.variant_of[p] =
            only && !only[p] ? -1 : variant_of(a, problem, k, &pass, &capacity, &plan->path[p]);
        const struct variant *v = pass.variant_of[p] < 0 ? NULL : &pass.variant[pass.variant_of[p]];
        if (v && !v->product && !v->tensor)
            pass.variant_of[p] = -1;
        else if (v) {
            pass.code[p] = path_code(a, plan, &pass, p);
            pass.flops += work(v, &plan->path[p], pass.code[p]);
        }
    }
    find_reads(&pass, plan);
    for (int i = 0; i < k->inputs; i++) {
        enum slot s = k->input[i].slot;
        enum index_kind index = spec->index[s];
        if (!pass.vector[i] || !plan->transposed[s])
            pass.staging[i] = STAGE_NONE;
        else if (index == INDEX_SENDER || (index == INDEX_RECEIVER && !spec->sorted))
            pass.staging[i] = STAGE_ALL;
        else
            pass.staging[i] = STAGE_ROW;
    }
    return pass;
}

static void plan_passes(struct arena *a, struct plan *plan, struct kernel_plan *kernel)
{
    const struct kernel_form *k = kernel->form;
    const enum index_kind *index = plan->problem->spec->index;
    static const enum index_kind owners[] = {INDEX_RECEIVER, INDEX_SENDER, INDEX_SHARED};
    int *of_item = NEW_ARRAY(a, int, k->outputs + 1), items = 0;
    for (int o = 0; o < k->outputs; o++)
        if (index[k->output[o].slot] == INDEX_ITEM)
            of_item[items++] = o;
    kernel->pass = NEW_ARRAY(a, struct pass, INDEX_COUNT);
    double least = 0;
    int host = -1; /* the pass that the items' outputs ride along with */
    struct pass with_items = {0};
    for (int w = 0; w < 3; w++) {
        int *own = NEW_ARRAY(a, int, k->outputs + 1), n = 0, merged = 0;
        int *both = NEW_ARRAY(a, int, k->outputs + 1);
        for (int o = 0; o < k->outputs; o++) {
            bool mine = index[k->output[o].slot] == owners[w];
            if (mine)
                own[n++] = o;
            if (mine || index[k->output[o].slot] == INDEX_ITEM)
                both[merged++] = o;
        }
        if (n == 0)
            continue;
        struct pass alone = plan_pass(a, plan, k, owners[w], n, own, NULL);
        if (items) {
            struct pass larger = plan_pass(a, plan, k, owners[w], merged, both, NULL);
            double more = larger.flops - alone.flops;
            if (host < 0 || more < least) {
                host = kernel->passes;
                least = more;
                with_items = larger;
            }
        }
        kernel->pass[kernel->passes++] = alone;
    }
    if (host >= 0)
        kernel->pass[host] = with_items;
    else if (items)
        kernel->pass[kernel->passes++] = plan_pass(a, plan, k, INDEX_ITEM, items, of_item, NULL);
}

static void count_bytes(const struct plan *plan, struct kernel_plan *kernel)
{
    const struct problem *problem = plan->problem;
    const struct kernel_form *k = kernel->form;
    double size = problem->spec->precision == PRECISION_FLOAT64 ? 8 : 4;
    for (int i = 0; i < k->inputs + k->outputs; i++) {
        enum slot s = i < k->inputs ? k->input[i].slot : k->output[i - k->inputs].slot;
        double bytes = size * (double)problem->dim[s];
        enum index_kind index = problem->spec->index[s];
        int passes = i < k->inputs ? 0 : 1;
        for (int p = 0; p < kernel->passes && i < k->inputs; p++)
            passes += kernel->pass[p].raw[i] || kernel->pass[p].vector[i];
        if (index == INDEX_ITEM) {
            kernel->bytes_least += bytes;
            kernel->bytes_planned += bytes * passes;
        } else {
            kernel->bytes_row[index] += bytes;
        }
    }
    for (int p = 0; p < kernel->passes; p++)
        kernel->flops += kernel->pass[p].flops;
}

/* ---- the whole ---- */

static void group_paths(struct arena *a, struct plan *plan)
{
    const struct problem *problem = plan->problem;
    plan->group = NEW_ARRAY(a, struct group, problem->x.n + 1);
    for (int x = 0; x < problem->x.n; x++) {
        struct group g = {x, 0, NEW_ARRAY(a, int, problem->paths + 1)};
        for (int p = 0; p < problem->paths; p++)
            if (problem->path[p].x == x)
                g.path[g.paths++] = p;
        if (g.paths)
            plan->group[plan->groups++] = g;
    }
}

static void find_transposed(struct plan *plan)
{
    const struct problem *problem = plan->problem;
    for (int p = 0; p < problem->paths; p++) {
        const struct path_plan *e = &plan->path[p];
        const struct path *path = e->path;
        if (!e->matrix)
            continue;
        if (path->mul_x > 1 && path->l1 > 0 && (e->b == SLOT_X || e->elementwise))
            plan->transposed[SLOT_X] = true;
        if (path->mul_y > 1 && path->l2 > 0 && (e->b == SLOT_Y || e->elementwise))
            plan->transposed[SLOT_Y] = true;
        if (path->mul_z > 1 && path->l3 > 0)
            plan->transposed[SLOT_G] = true;
    }
}

struct plan *plan_build(struct arena *a, const struct problem *problem, const struct form *form)
{
    struct plan *plan = NEW(a, struct plan);
    plan->problem = problem;
    plan->form = form;
    plan->matrices.arena = a;
    plan->path = NEW_ARRAY(a, struct path_plan, problem->paths + 1);
    for (int p = 0; p < problem->paths; p++)
        plan->path[p] = plan_path(&plan->matrices, &problem->path[p]);
    group_paths(a, plan);
    find_transposed(plan);
    plan->kernels = form->kernels;
    plan->kernel = NEW_ARRAY(a, struct kernel_plan, form->kernels + 1);
    for (int k = 0; k < form->kernels; k++) {
        plan->kernel[k].form = &form->kernel[k];
        plan_passes(a, plan, &plan->kernel[k]);
        count_bytes(plan, &plan->kernel[k]);
    }
    return plan;
}
