/* form.c - derives kernels: the forward one, cotangents of any (backward), tangents of any (JVP), subsets,
 * spelled ones.
 *
 * The rule is one line of mathematics. A kernel's outputs times their cotangents is a sum of full numbers
 * Q(x', y', w', g'), one for each term, the cotangent standing in the slot of the term's target. Its
 * derivative by an input is the sum, over the numbers in which that input stands, of Q by that slot at the
 * other three arguments.
 */
#include "form/form.h"

#include <string.h>

static const char *const slot_letter[SLOT_COUNT] = {"x", "y", "w", "g"};

/* A kernel while it is derived: growing arrays. */
struct draft {
    struct arena *arena;
    const char *name;
    const struct kernel_form *of;
    int inputs, input_capacity, outputs, output_capacity;
    struct form_argument *input;
    struct form_output *output;
};

const char *form_symbol(struct arena *a, const char *name)
{
    return arena_printf(a, "%s_", name);
}

static int add_input(struct draft *d, const char *name, enum slot slot, bool tangent)
{
    d->input = arena_grow(d->arena, d->input, d->inputs, &d->input_capacity, sizeof *d->input);
    d->input[d->inputs] = (struct form_argument){
        .name = name, .symbol = form_symbol(d->arena, name), .slot = slot, .tangent = tangent};
    return d->inputs++;
}

static struct form_output *add_output(struct draft *d, const char *name, enum slot slot, int most_terms)
{
    d->output = arena_grow(d->arena, d->output, d->outputs, &d->output_capacity, sizeof *d->output);
    struct form_output *o = &d->output[d->outputs++];
    *o = (struct form_output){.name = name, .symbol = form_symbol(d->arena, name), .slot = slot};
    o->term = NEW_ARRAY(d->arena, struct form_term, most_terms);
    return o;
}

/* A kernel that begins with the inputs of the one it derives from. */
static struct draft start(struct arena *a, const char *name, const struct kernel_form *of)
{
    struct draft d = {.arena = a, .name = name, .of = of};
    for (int i = 0; i < of->inputs; i++) {
        add_input(&d, of->input[i].name, of->input[i].slot, of->input[i].tangent);
        d.input[i].lineage = (struct lineage){KIN_SAME, i};
    }
    return d;
}

static struct draft forward(struct arena *a, bool weights)
{
    struct draft d = {.arena = a, .name = known_table[KNOWN_FORWARD].name};
    struct form_term t = {.target = SLOT_G, .argument = {-1, -1, -1, -1}};
    t.argument[SLOT_X] = add_input(&d, "x", SLOT_X, false);
    t.argument[SLOT_Y] = add_input(&d, "y", SLOT_Y, false);
    if (weights)
        t.argument[SLOT_W] = add_input(&d, "w", SLOT_W, false);
    struct form_output *z = add_output(&d, "z", SLOT_G, 1);
    z->term[z->terms++] = t;
    return d;
}

static int terms_of(const struct kernel_form *k)
{
    int n = 0;
    for (int o = 0; o < k->outputs; o++)
        n += k->output[o].terms;
    return n;
}

/* The first input of a slot, -1 where there is none. */
static int first_input(const struct kernel_form *k, enum slot s)
{
    int i = 0;
    while (i < k->inputs && k->input[i].slot != s)
        i++;
    return i < k->inputs ? i : -1;
}

/* Adds the derivative by input i of `of`; cotangent: [outputs of `of`], the inputs that are theirs. */
static void add_derivative(struct draft *d, const char *prefix, int i, const int *cotangent)
{
    const struct kernel_form *of = d->of;
    enum slot slot = of->input[i].slot;
    const char *name = arena_printf(d->arena, "%s%s", prefix, of->input[i].name);
    struct form_output *out = add_output(d, name, slot, terms_of(of));
    out->lineage = (struct lineage){KIN_COTANGENT, i};
    for (int o = 0; o < of->outputs; o++)
        for (int t = 0; t < of->output[o].terms; t++) {
            struct form_term term = of->output[o].term[t];
            if (term.argument[slot] != i)
                continue;
            term.argument[term.target] = cotangent[o];
            term.argument[slot] = -1;
            term.target = slot;
            out->term[out->terms++] = term;
        }
}

/* The reverse-mode derivative of `of` by each of its inputs. The cotangent of an output whose slot has no
 * input yet is that slot's primal value: gz is the value of g that backward and all after it are evaluated
 * at. */
static struct draft cotangent(struct arena *a, const struct known_kernel *row, const struct kernel_form *of)
{
    struct draft d = start(a, row->name, of);
    int *of_output = NEW_ARRAY(a, int, of->outputs + 1), first = first_input(of, row->first);
    for (int s = 0; s < SLOT_COUNT; s++)
        for (int o = 0; o < of->outputs; o++)
            if ((int)of->output[o].slot == s) {
                of_output[o] =
                    add_input(&d, row->cotangent[s], (enum slot)s, first_input(of, (enum slot)s) >= 0);
                d.input[of_output[o]].lineage = (struct lineage){KIN_COTANGENT, o};
            }
    if (first >= 0)
        add_derivative(&d, row->prefix, first, of_output);
    for (int i = 0; i < of->inputs; i++)
        if (i != first)
            add_derivative(&d, row->prefix, i, of_output);
    return d;
}

/* The forward-mode derivative of `of` along tangents of all its inputs. */
static struct draft tangent(struct arena *a, const struct known_kernel *row, const struct kernel_form *of)
{
    struct draft d = start(a, row->name, of);
    for (int i = 0; i < of->inputs; i++) {
        const char *name = arena_printf(a, "%s%s", row->prefix, of->input[i].name);
        int number = add_input(&d, name, of->input[i].slot, true);
        d.input[number].lineage = (struct lineage){KIN_TANGENT, i};
    }
    for (int o = 0; o < of->outputs; o++) {
        const struct form_output *from = &of->output[o];
        const char *name = arena_printf(a, "%s%s", row->prefix, from->name);
        struct form_output *out = add_output(&d, name, from->slot, 3 * from->terms);
        out->lineage = (struct lineage){KIN_TANGENT, o};
        for (int t = 0; t < from->terms; t++)
            for (int s = 0; s < SLOT_COUNT; s++) {
                struct form_term term = from->term[t];
                if (term.argument[s] < 0)
                    continue;
                term.argument[s] += of->inputs;
                out->term[out->terms++] = term;
            }
    }
    return d;
}

/* Drops the inputs that no term uses and renumbers the rest. */
static struct kernel_form finish(struct draft *d)
{
    struct kernel_form k = {.name = d->name, .of = d->of, .outputs = d->outputs, .output = d->output};
    k.input = NEW_ARRAY(d->arena, struct form_argument, d->inputs + 1);
    int *renumbered = NEW_ARRAY(d->arena, int, d->inputs + 1);
    for (int i = 0; i < d->inputs; i++) {
        bool used = false;
        for (int o = 0; o < d->outputs; o++)
            for (int t = 0; t < d->output[o].terms; t++)
                used |= d->output[o].term[t].argument[d->input[i].slot] == i;
        renumbered[i] = used ? k.inputs : -1;
        if (used)
            k.input[k.inputs++] = d->input[i];
    }
    for (int o = 0; o < d->outputs; o++)
        for (int t = 0; t < d->output[o].terms; t++)
            for (int s = 0; s < SLOT_COUNT; s++) {
                int *argument = &d->output[o].term[t].argument[s];
                *argument = *argument < 0 ? -1 : renumbered[*argument];
            }
    return k;
}

/* The known kernels of a product, each made when it is first asked for. */
struct known_forms {
    struct arena *arena;
    bool weights;
    const struct kernel_form *kernel[KNOWN_COUNT]; /* with all outputs; NULL: not yet made */
};

/* A known kernel; those it derives from are made before. */
static struct draft derive(struct known_forms *all, const struct known_kernel *row)
{
    if (row->derivation == DERIVATION_NONE)
        return forward(all->arena, all->weights);
    if (!all->kernel[row->of]) {
        struct draft from = derive(all, &known_table[row->of]);
        struct kernel_form *of = NEW(all->arena, struct kernel_form);
        *of = finish(&from);
        all->kernel[row->of] = of;
    }
    return (row->derivation == DERIVATION_TANGENT ? tangent : cotangent)(all->arena, row,
                                                                         all->kernel[row->of]);
}

/* Keeps the outputs that a subset lists, in its order; reports names that the kernel does not have. */
static void choose_outputs(struct draft *d, const struct spec_kernel *k, struct diag *diag)
{
    struct form_output *all = d->output;
    int count = d->outputs;
    const char **names = NEW_ARRAY(d->arena, const char *, count + 1);
    struct text list = {.arena = d->arena};
    for (int o = 0; o < count; o++) {
        names[o] = all[o].name;
        text_printf(&list, "%s%s", o ? ", " : "", all[o].name);
    }
    d->output = NULL;
    d->outputs = d->output_capacity = 0;
    for (int s = 0; s < k->outputs; s++) {
        int o = 0;
        while (o < count && strcmp(all[o].name, k->output[s].name) != 0)
            o++;
        if (o < count) {
            *add_output(d, all[o].name, all[o].slot, 0) = all[o];
            continue;
        }
        diag_report(diag, DIAG_UNKNOWN_OUTPUT, k->output[s].pos, "%s has no output '%s'; it has %s",
                    k->of->name, k->output[s].name, text_string(&list));
        diag_suggest(diag, diag_nearest(k->output[s].name, names, count));
    }
}

static int input_named(const struct draft *d, const char *name)
{
    for (int i = 0; i < d->inputs; i++)
        if (strcmp(d->input[i].name, name) == 0)
            return i;
    return -1;
}

/* The inputs of a kernel that the spec spells out: the primal values, then those that it declares. */
static void declare_inputs(struct draft *d, const struct spec_kernel *k, bool weights, struct diag *diag)
{
    add_input(d, "x", SLOT_X, false);
    add_input(d, "y", SLOT_Y, false);
    if (weights)
        add_input(d, "w", SLOT_W, false);
    add_input(d, "gz", SLOT_G, false);
    for (int i = 0; i < k->arguments; i++) {
        const struct spec_argument *s = &k->argument[i];
        if (input_named(d, s->name) >= 0)
            diag_report(diag, DIAG_NAME_TAKEN, s->pos,
                        "'%s' is already an argument; x, y, w and gz need no declaration", s->name);
        if (s->slot == SLOT_W && !weights)
            diag_report(diag, DIAG_NO_WEIGHTS, s->pos,
                        "'%s' is declared as %s of w, but no path of this product has weights", s->name,
                        s->tangent ? "a (co)tangent" : "a value");
        add_input(d, s->name, s->slot, s->tangent);
    }
}

/* The input that a term names for a slot, -1 for w where the product has no weights: there w is a formality.
 * False after reporting that it cannot stand there. */
static bool resolve_argument(const struct draft *d, const struct spec_term *q, int argument, enum slot slot,
                             bool weights, struct diag *diag, int *input)
{
    const char *name = q->argument[argument];
    struct pos pos = q->argument_pos[argument];
    *input = input_named(d, name);
    if (*input < 0) {
        if (slot == SLOT_W && !weights && strcmp(name, "w") == 0)
            return true;
        const char **names = NEW_ARRAY(d->arena, const char *, d->inputs + 1);
        for (int i = 0; i < d->inputs; i++)
            names[i] = d->input[i].name;
        const char *near = diag_nearest(name, names, d->inputs);
        diag_report(diag, DIAG_UNKNOWN_ARGUMENT, pos, "unknown argument '%s'%s", name,
                    near ? "" : "; declare it under `arguments`");
        diag_suggest(diag, near);
        return false;
    }
    if (d->input[*input].slot == slot)
        return true;
    diag_report(diag, DIAG_WRONG_SLOT, pos,
                "'%s' is an argument of slot %s, but slot %s stands here: Q_%s takes (%s, %s, %s)", name,
                slot_letter[d->input[*input].slot], slot_letter[slot], slot_letter[q->target],
                q->target == SLOT_X ? "y" : "x", q->target <= SLOT_Y ? "w" : "y",
                q->target == SLOT_G ? "w" : "g");
    return false;
}

/* Adds one term to an output; reports what is wrong with it instead. */
static void add_term(const struct draft *d, struct form_output *out, const struct spec_term *q, bool weights,
                     struct diag *diag)
{
    struct form_term term = {.target = q->target, .argument = {-1, -1, -1, -1}};
    if (q->target != out->slot) {
        diag_report(diag, DIAG_MIXED_TARGETS, q->pos,
                    "'%s' adds derivatives by %s and by %s; all terms of an output must have one target",
                    out->name, slot_letter[out->slot], slot_letter[q->target]);
        return;
    }
    if (q->target == SLOT_W && !weights) {
        diag_report(diag, DIAG_NO_WEIGHTS, q->pos,
                    "no path of this product has weights, so there is no derivative by w");
        return;
    }
    bool good = true;
    for (int slot = 0, given = 0; slot < SLOT_COUNT; slot++)
        if (slot != (int)q->target)
            good &= resolve_argument(d, q, given++, (enum slot)slot, weights, diag, &term.argument[slot]);
    for (int before = 0; good && before < out->terms; before++)
        if (memcmp(&out->term[before], &term, sizeof term) == 0) {
            diag_report(diag, DIAG_LISTED_TWICE, q->pos, "the term is listed twice");
            return;
        }
    if (good)
        out->term[out->terms++] = term;
}

/* A kernel that the spec spells out as terms. */
static struct draft spelled(struct arena *a, const struct spec_kernel *k, bool weights, struct diag *diag)
{
    struct draft d = {.arena = a, .name = k->name};
    declare_inputs(&d, k, weights, diag);
    for (int o = 0; o < k->outputs; o++) {
        const struct spec_output *s = &k->output[o];
        if (input_named(&d, s->name) >= 0)
            diag_report(diag, DIAG_NAME_TAKEN, s->pos, "output '%s' has the name of an argument", s->name);
        struct form_output *out = add_output(&d, s->name, s->term[0].target, s->terms);
        for (int t = 0; t < s->terms; t++)
            add_term(&d, out, &s->term[t], weights, diag);
    }
    return d;
}

struct form *form_build(struct arena *a, const struct problem *problem, struct diag *diag)
{
    const struct spec *spec = problem->spec;
    struct known_forms known = {.arena = a, .weights = problem->weight_numel > 0};
    int errors = diag->errors;
    struct form *form = NEW(a, struct form);
    form->kernel = NEW_ARRAY(a, struct kernel_form, spec->kernels + 1);
    for (int i = 0; i < spec->kernels; i++) {
        const struct spec_kernel *k = &spec->kernel[i];
        struct draft d;
        if (k->of) {
            d = derive(&known, k->of);
            d.name = k->name;
            if (k->subset)
                choose_outputs(&d, k, diag);
        } else {
            d = spelled(a, k, known.weights, diag);
        }
        form->kernel[form->kernels++] = finish(&d);
    }
    return diag->errors == errors ? form : NULL;
}

/* Are they the same kernel, under whatever name? */
static bool same_kernel(const struct kernel_form *a, const struct kernel_form *b)
{
    bool same = a->of == b->of && a->inputs == b->inputs && a->outputs == b->outputs;
    for (int i = 0; same && i < a->inputs; i++)
        same = !strcmp(a->input[i].name, b->input[i].name) && a->input[i].slot == b->input[i].slot &&
               a->input[i].tangent == b->input[i].tangent;
    for (int o = 0; same && o < a->outputs; o++) {
        const struct form_output *p = &a->output[o], *q = &b->output[o];
        same = !strcmp(p->name, q->name) && p->slot == q->slot && p->terms == q->terms &&
               !memcmp(p->term, q->term, (size_t)p->terms * sizeof *p->term);
    }
    return same;
}

const struct kernel_form *form_parent(const struct form *form, const struct kernel_form *k)
{
    for (int i = 0; k->of && i < form->kernels; i++)
        if (same_kernel(&form->kernel[i], k->of))
            return &form->kernel[i];
    return NULL;
}

bool form_term_applies(const struct kernel_form *k, const struct form_term *t, const struct path *p)
{
    if (p->coefficient.sign == 0)
        return false;
    if (p->weighted)
        return true;
    return t->target != SLOT_W && (t->argument[SLOT_W] < 0 || !k->input[t->argument[SLOT_W]].tangent);
}

void form_term_print(struct text *out, const struct kernel_form *k, const struct form_term *t)
{
    const char *separator = "(";
    text_printf(out, "Q_%c", slot_letters[t->target]);
    for (int s = 0; s < SLOT_COUNT; s++)
        if (t->argument[s] >= 0) {
            text_printf(out, "%s%s", separator, k->input[t->argument[s]].name);
            separator = ", ";
        }
    text_printf(out, ")");
}

int64_t form_entries(const struct problem *problem, const struct form *form)
{
    int64_t entries = 0, terms = 0;
    for (int p = 0; p < problem->paths; p++)
        entries += problem->path[p].cg->n;
    for (int k = 0; k < form->kernels; k++)
        for (int o = 0; o < form->kernel[k].outputs; o++)
            terms += form->kernel[k].output[o].terms;
    return entries * terms;
}
