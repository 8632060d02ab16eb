/* path_calls.c - see path_calls.h: operands in registers, and codes. */
#include "schedule/path_calls.h"

#include "schedule/path.h"

#include <string.h>

struct path_calls calls_path(const struct path_calls *c, int number)
{
    struct path_calls q = *c;
    q.e = &c->demand->plan->path[c->path[number]];
    q.v = &q.demand->variant[q.demand->variant_of[q.e->path->number]];
    q.d = q.e->matrix->columns;
    return q;
}

const char *calls_of_path(const struct path_calls *q, const char *name)
{
    return arena_printf(q->pipeline->arena, "%sp%d", name, q->e->path->number);
}

const char *calls_of_turn(const struct path_calls *q, const char *name)
{
    return arena_printf(q->pipeline->arena, "%sf", name);
}

/* ---- what is called with ---- */

void calls_declare(const struct path_calls *q, const char *name, int elements, bool zeros)
{
    build_local(q->pipeline,
                (struct local){.name = name, .elements = elements, .begins = zeros ? LOCAL_ZERO : LOCAL_ANY});
}

struct argument calls_in(const struct path_calls *q, const char *name)
{
    return build_named(q->pipeline, name);
}

struct argument calls_in_channel(const struct path_calls *q, const char *name, int components)
{
    struct argument a = calls_in(q, name);
    if (q->together > 1)
        build_term(&a.at, "j", components);
    return a;
}

struct argument calls_row(const struct path_calls *q, int operand, struct address at)
{
    const struct place *place = &q->pipeline->place[q->place[operand]];
    return build_at(q->place[operand], place_is_in_parts(place) ? q->version : 0, at);
}

void calls_call(const struct path_calls *q, const char *function, int n0, int n1, int n2, int arguments,
                const struct argument *argument)
{
    build_call(q->pipeline, function, (int[]){n0, n1, n2}, arguments, argument);
}

void calls_loop(const struct path_calls *q, struct loop l)
{
    l.counted = true;
    build_begin(q->pipeline, build_loop(q->pipeline, l));
}

void calls_each(const struct path_calls *q)
{
    calls_loop(q, (struct loop){.name = "j", .end = q->together, .by = 1, .unroll = true});
}

/* ---- operands ---- */

static enum role role_of(const struct path_calls *q, const struct operand *o)
{
    return o->slot == SLOT_W ? ROLE_W : o->slot == SLOT_G ? ROLE_G : o->slot == q->e->a ? ROLE_A : ROLE_B;
}

int calls_turns_b(const struct path_calls *q)
{
    return path_channels_b(q->e) / q->together;
}

bool calls_is_block(const struct path_calls *q)
{
    return q->e->contracted && q->e->path->mul_z == q->turn && path_weight_rows(q->e) == q->e->path->mul_z &&
           path_channels_a(q->e) == 1;
}

struct operand_block calls_block_of(const struct path_calls *q, int operand)
{
    struct operand_block b = *operand_block_of(demand_array(q->demand, operand), q->e->path);
    const struct place *place = &q->pipeline->place[q->place[operand]];
    const struct field *f = place->field;
    if (!place_is_in_parts(place))
        return b;
    while (f->version != q->version)
        f++;
    const bool several = f + 1 < place->field + place->fields && f[1].version == q->version;
    b.offset -= f->base;
    b.channels = several ? f->length : f->length / b.components;
    b.component = several ? f[1].at : b.component;
    return b;
}

int calls_alignment(const struct path_calls *q, int operand, const struct operand_block *b, int channels)
{
    const struct place *place = &q->pipeline->place[q->place[operand]];
    const enum role role = role_of(q, place->operand);
    int most = place->fields ? place->field[0].lane : 1;
    if (role == ROLE_W) {
        while (most > 1 &&
               (b->offset % most || channels % most || (!calls_is_block(q) && q->e->path->mul_z % most)))
            most /= 2;
        return q->e->contracted ? most : 1;
    }
    const bool odd_steps = q->e->pairs || (q->e->strided && role == ROLE_G);
    const int step = role == ROLE_A && !q->e->elementwise ? 1 : channels;
    while (most > 1 && ((b->channels > step && (odd_steps || step * b->channel % most)) ||
                        (block_is_apart(b) && b->component % most)))
        most /= 2;
    return most;
}

void calls_move(const struct path_calls *q, int operand, int channels, const char *name, const char *variable,
                bool load)
{
    const struct operand *o = demand_array(q->demand, operand);
    struct operand_block b = calls_block_of(q, operand);
    if (!variable && place_is_in_parts(&q->pipeline->place[q->place[operand]]))
        b.offset = 0;
    struct address at = path_at(q->pipeline->arena, q->e, role_of(q, o), &b);
    if (variable)
        build_term(&at, variable, b.channel);
    const struct argument r = calls_in(q, name), m = calls_row(q, operand, at),
                          step = build_number((int)b.component);
    const int align = calls_alignment(q, operand, &b, channels), d = b.components;
    if (!block_is_apart(&b))
        calls_call(q, load ? "cgtp_get" : "cgtp_set", channels * d, align, 0, 2,
                   (struct argument[]){load ? r : m, load ? m : r});
    else if (load)
        calls_call(q, "cgtp_get_components", channels, d, align, 3, (struct argument[]){r, m, step});
    else
        calls_call(q, "cgtp_set_components", channels, d, align, 3, (struct argument[]){m, step, r});
}

void calls_begin(const struct path_calls *q, int operand, int channels, const char *name,
                 const char *variable)
{
    const struct operand *o = demand_array(q->demand, operand);
    const bool zeros = q->made && place_is_in_parts(&q->pipeline->place[q->place[operand]]) && o->output;
    calls_declare(q, name, channels * calls_block_of(q, operand).components, zeros);
    if (!zeros)
        calls_move(q, operand, channels, name, variable, true);
}

struct address calls_weights_at(const struct path_calls *q, int operand, bool each)
{
    struct address at = path_at(q->pipeline->arena, q->e, ROLE_W,
                                operand_block_of(demand_array(q->demand, operand), q->e->path));
    if (calls_turns_b(q) > 1)
        build_term(&at, "u", path_weight_rows(q->e));
    if (each && q->together > 1)
        build_term(&at, "j", path_weight_rows(q->e));
    return at;
}

/* ---- operands of the products of channels ---- */

/* Does the recipe read the input, or make the output? */
static bool recipe_has(const struct path_calls *q, const struct recipe *r, int operand)
{
    const int inputs = q->demand->kernel->form->inputs;
    bool has = false;
    for (int i = 0; i < r->inputs && operand < inputs; i++)
        has |= r->input[i].source == operand && recipe_reads(r, i);
    for (int o = 0; o < r->outputs && operand >= inputs; o++)
        has |= r->output[o].source == q->demand->output[operand - inputs];
    return has;
}

bool calls_holds(const struct path_calls *q, int recipes, int operand, bool of_a)
{
    const struct operand *o = demand_array(q->demand, operand);
    const bool tensor =
        (recipes & CALLS_TENSOR) && q->v->tensor && o && !o->output && recipe_has(q, q->v->tensor, operand);
    const bool product =
        (recipes & CALLS_PRODUCT) && q->v->product && o && recipe_has(q, q->v->product, operand);
    const enum role role = o ? role_of(q, o) : ROLE_G;
    return (tensor || product) && !(role == ROLE_G && q->e->contracted) &&
           (role == ROLE_A && !q->e->elementwise) == of_a;
}

static void hold_weights(const struct path_calls *q, int operand, int channels, const char *name)
{
    const struct operand *o = demand_array(q->demand, operand);
    calls_declare(q, name, channels, o->output);
    if (o->output)
        return;
    if (channels > 1)
        calls_each(q);
    calls_call(q, "cgtp_get", 1, 1, 0, 2,
               (struct argument[]){calls_in_channel(q, name, 1),
                                   calls_row(q, operand, calls_weights_at(q, operand, true))});
    if (channels > 1)
        build_end(q->pipeline);
}

void calls_hold(const struct path_calls *q, int recipes, bool of_a, bool load)
{
    for (int i = 0; i < demand_arrays(q->demand); i++) {
        const struct operand *o = demand_array(q->demand, i);
        if (!calls_holds(q, recipes, i, of_a) || (!o->output && !load))
            continue;
        const int channels = of_a ? 1 : q->together;
        const char *name = calls_of_path(q, o->symbol),
                   *variable = !of_a && calls_turns_b(q) > 1 ? "u" : NULL;
        if (o->slot == SLOT_W && load)
            hold_weights(q, i, channels, name);
        else if (o->slot != SLOT_W && load)
            calls_begin(q, i, channels, name, variable);
        else if (o->slot != SLOT_W)
            calls_move(q, i, channels, name, variable, false);
    }
}

void calls_code(const struct path_calls *q, bool tensor)
{
    const struct path_code all = demand_code(q->demand, q->e->path->number);
    const struct code *code = tensor ? all.tensor : all.product;
    const struct recipe *r = code->recipe;
    struct argument *list = NEW_ARRAY(q->pipeline->arena, struct argument, r->inputs + r->outputs + 1);
    int n = 0;
    for (int i = 0; i < r->inputs + r->outputs; i++) {
        const bool input = i < r->inputs;
        const enum role role = recipe_operand(r, i).role;
        if (input && !recipe_reads(r, i))
            continue;
        const char *name = calls_of_path(q, recipe_operand(r, i).name);
        list[n] = role == ROLE_A && !q->e->elementwise
                      ? calls_in(q, name)
                      : calls_in_channel(q, name, path_components(q->e->matrix, role));
        list[n].element = input && role == ROLE_W;
        list[n++].touch = input ? TOUCH_READ : TOUCH_ADD;
    }
    if (q->together > 1)
        calls_each(q);
    build_code(q->pipeline, q->e->path->number, code, n, list);
    if (q->together > 1)
        build_end(q->pipeline);
}

void calls_tensors(const struct path_calls *c, int number)
{
    const struct path_calls own = calls_path(c, number), *q = &own;
    for (int t = 0; t < q->v->ts; t++)
        calls_declare(q, calls_of_path(q, arena_printf(q->pipeline->arena, "t%d", t)), q->together * q->d,
                      false);
    for (int p = 0; p < q->v->ps; p++)
        calls_declare(q, calls_of_path(q, arena_printf(q->pipeline->arena, "p%d", p)), q->together * q->d,
                      true);
    if (!q->v->tensor)
        return;
    build_block(q->pipeline, -1);
    if (calls_turns_b(q) == 1)
        calls_hold(q, CALLS_TENSOR, true, true);
    calls_hold(q, CALLS_TENSOR, false, true);
    calls_code(q, true);
    build_end(q->pipeline);
}
