/* tiled_group.c - tiled items: the work of a group of paths (see tiled_plan.h). */
#include "schedule/path.h"
#include "schedule/tiled/tiled_emit.h"

#include <string.h>

/* A path while its part of a group is written. */
struct tiled_path {
    struct tiled_writer *c;
    const struct tiled_group *group;
    const struct path_plan *e;
    const struct path *path;
    const struct variant *v;
    int d; /* components of z */
};

static struct tiled_path path_of(struct tiled_writer *c, const struct tiled_group *group, int number)
{
    const struct path_plan *e = &c->w->plan->path[number];
    return (struct tiled_path){c, group, e, e->path, tiled_variant(c->g, number), e->matrix->columns};
}

/* ---- the kernel's operands ---- */

static int operands(const struct tiled_writer *c)
{
    return c->w->form->inputs + c->w->demand->outputs;
}

/* Inputs, then the demand's outputs; NULL: an input that is not read. */
static const struct operand *operand_at(const struct tiled_writer *c, int i)
{
    const int inputs = c->w->form->inputs;
    if (i >= inputs)
        return demand_operand(c->w->demand, i - inputs);
    return demand_reads(c->w->demand, i) ? source_input(c->w, i) : NULL;
}

/* The number there of a kernel's output. */
static int operand_of(const struct tiled_writer *c, int output)
{
    int o = 0;
    while (c->w->demand->output[o] != output)
        o++;
    return c->w->form->inputs + o;
}

static enum role role_of(const struct tiled_path *q, const struct operand *operand)
{
    return operand->slot == SLOT_W    ? ROLE_W
           : operand->slot == SLOT_G  ? ROLE_G
           : operand->slot == q->e->a ? ROLE_A
                                      : ROLE_B;
}

/* Its block of the path, as it stands in shared memory. */
static struct operand_block block_of(const struct tiled_path *q, const struct operand *operand)
{
    struct operand_block b = *operand_block_of(operand, q->path);
    if (tiled_streams(q->c->g, operand))
        b.offset = 0;
    return b;
}

/* "x_p3": registers of a path */
static const char *registers(const struct tiled_path *q, const char *name)
{
    return arena_printf(q->c->w->arena, "%sp%d", name, q->path->number);
}

/* The same from channel j of those that are worked on together. */
static const char *of_channel(const struct tiled_path *q, const char *name, int components)
{
    struct arena *a = q->c->w->arena;
    if (q->group->together == 1)
        return name;
    return components == 1 ? arena_printf(a, "%s + j", name)
                           : arena_printf(a, "%s + j * %d", name, components);
}

/* Is the channel of A in a loop of its own? */
static bool has_own_a(const struct tiled_path *q)
{
    return !q->e->elementwise;
}

static int turns_b(const struct tiled_path *q)
{
    return path_channels_b(q->e) / q->group->together;
}

/* Does a turn have all channels of z of a path that it leads to? */
static bool has_one_turn(const struct tiled_group *group, const struct path *p)
{
    return p->mul_z == group->turn;
}

/* Do the rows of weights of its channels follow each other, where a turn has whole rows? */
static bool is_block(const struct tiled_path *q)
{
    return q->e->contracted && has_one_turn(q->group, q->path) && path_weight_rows(q->e) == q->path->mul_z &&
           path_channels_a(q->e) == 1;
}

/* ---- addresses ---- */

/* Elements that an address is a multiple of, where it moves on by so many channels. */
static int alignment(const struct tiled_path *q, const struct operand *operand, const struct operand_block *b,
                     enum role role, int channels)
{
    int most = 16 / kernel_size(q->c->w->kernel->kernel);
    if (operand->slot == SLOT_W ? tiled_is_row(operand) : !tiled_streams(q->c->g, operand) || !q->c->g->wide)
        return 1;
    if (role == ROLE_W) {
        while (most > 1 && (b->offset % most || channels % most || (!is_block(q) && q->path->mul_z % most)))
            most /= 2;
        return q->e->contracted ? most : 1;
    }
    const bool odd_steps = q->e->pairs || (q->e->strided && role == ROLE_G);
    const int step = role == ROLE_A && has_own_a(q) ? 1 : channels;
    while (most > 1 && ((b->channels > step && (odd_steps || step * b->channel % most)) ||
                        (block_is_apart(b) && b->component % most)))
        most /= 2;
    return most;
}

/* " + u * 3", or nothing where there is one. */
static const char *times(struct arena *a, const char *variable, int64_t step, bool any)
{
    return !any       ? ""
           : step > 1 ? arena_printf(a, " + %s * %lld", variable, (long long)step)
                      : arena_printf(a, " + %s", variable);
}

/* Loads or stores some channels of an operand: registers `name`, from channel `variable` on where that is
 * any. */
static void move(const struct tiled_path *q, const struct operand *operand, int channels, const char *name,
                 const char *variable, bool load)
{
    struct arena *a = q->c->w->arena;
    const struct operand_block b = block_of(q, operand);
    const enum role role = role_of(q, operand);
    const char *row = path_address(a, q->e, role, arena_printf(a, "%srow", operand->symbol), &b);
    const char *at = arena_printf(a, "%s%s", row, times(a, variable ? variable : "", b.channel, variable));
    const int align = alignment(q, operand, &b, role, channels), d = b.components;
    const char *call = load ? "cgtp_get" : "cgtp_set";
    if (!block_is_apart(&b))
        line(q->c->o, "%s<%d, %d>(%s, %s);", call, channels * d, align, load ? name : at, load ? at : name);
    else if (load)
        line(q->c->o, "%s_components<%d, %d, %d>(%s, %s, %lld);", call, channels, d, align, name, at,
             (long long)b.component);
    else
        line(q->c->o, "%s_components<%d, %d, %d>(%s, %lld, %s);", call, channels, d, align, at,
             (long long)b.component, name);
}

/* Declares registers for some channels of an operand, with what is there: zeros, where nobody has added to
 * them. */
static void begin(const struct tiled_path *q, const struct operand *operand, int channels, const char *name,
                  const char *variable)
{
    const int n = channels * block_of(q, operand).components;
    const bool zeros = operand->output && tiled_streams(q->c->g, operand) && q->group->once;
    line(q->c->o, "real %s[%d]%s;", name, n, zeros ? " = {0}" : "");
    if (!zeros)
        move(q, operand, channels, name, variable, true);
}

/* Where the path's weights begin, in a row, that the channels in the loops have. */
static const char *weights_at(const struct tiled_path *q, const char *row, const struct operand *operand)
{
    struct arena *a = q->c->w->arena;
    const char *first = path_address(a, q->e, ROLE_W, row, operand_block_of(operand, q->path));
    return arena_printf(a, "%s%s", first, times(a, "u", path_weight_rows(q->e), turns_b(q) > 1));
}

/* The same for channel j of those that are worked on together. */
static const char *weights_of_channel(const struct tiled_path *q, const struct operand *operand)
{
    struct arena *a = q->c->w->arena;
    return arena_printf(a, "%s%s", weights_at(q, arena_printf(a, "%srow", operand->symbol), operand),
                        times(a, "j", path_weight_rows(q->e), q->group->together > 1));
}

/* ---- operands of the products ---- */

static const struct recipe *recipe_of(const struct tiled_path *q, bool tensor)
{
    return tensor ? q->v->tensor : q->v->product;
}

/* Does the recipe read the input, or make the output? */
static bool recipe_has(const struct tiled_path *q, const struct recipe *r, int operand)
{
    const int inputs = q->c->w->form->inputs;
    bool has = false;
    for (int i = 0; i < r->inputs && operand < inputs; i++)
        has |= r->input[i].source == operand && recipe_reads(r, i);
    for (int o = 0; o < r->outputs && operand >= inputs; o++)
        has |= r->output[o].source == q->c->w->demand->output[operand - inputs];
    return has;
}

enum side { SIDE_A, SIDE_CHANNEL }; /* what has channels of A alone; all else */

/* Does the operand stand in registers while a recipe is computed, on this side? */
static bool is_held_by(const struct tiled_path *q, bool tensor, int operand, enum side side)
{
    const struct operand *o = operand_at(q->c, operand);
    const bool input = operand < q->c->w->form->inputs;
    const struct recipe *r = recipe_of(q, tensor);
    if (!o || !r || (tensor && !input) || !recipe_has(q, r, operand))
        return false;
    const enum role role = role_of(q, o);
    if (role == ROLE_G && q->e->contracted)
        return false;
    return (role == ROLE_A && has_own_a(q)) == (side == SIDE_A);
}

enum { OF_TENSOR = 1, OF_PRODUCT = 2, OF_BOTH = 3 };

static bool is_held(const struct tiled_path *q, int recipes, int operand, enum side side)
{
    return ((recipes & OF_TENSOR) && is_held_by(q, true, operand, side)) ||
           ((recipes & OF_PRODUCT) && is_held_by(q, false, operand, side));
}

/* Brings them into registers, or stores those that are outputs. */
static void hold(const struct tiled_path *q, int recipes, enum side side, bool load)
{
    struct tiled_writer *c = q->c;
    for (int i = 0; i < operands(c); i++) {
        const struct operand *o = operand_at(c, i);
        const bool input = i < c->w->form->inputs;
        if (!is_held(q, recipes, i, side) || (input && !load))
            continue;
        const int channels = side == SIDE_A ? 1 : q->group->together;
        const char *name = registers(q, o->symbol);
        const char *variable = side == SIDE_CHANNEL && turns_b(q) > 1 ? "u" : NULL;
        if (o->slot != SLOT_W) {
            if (load)
                begin(q, o, channels, name, variable);
            else
                move(q, o, channels, name, variable, false);
        } else if (input) {
            line(c->o, "real %s[%d];", name, channels);
            if (channels > 1)
                line(c->o, "CGTP_UNROLL for (int j = 0; j < %d; j++)", channels);
            line(c->o, "%s[%s] = %s[0];", name, channels > 1 ? "j" : "0",
                 arena_printf(c->w->arena, "(%s)", weights_of_channel(q, o)));
        } else if (load) {
            line(c->o, "real %s[%d] = {0};", name, channels);
        }
    }
}

static const char *argument(const struct device_path *f, int operand)
{
    const struct tiled_path *q = f->context;
    struct arena *a = q->c->w->arena;
    const struct recipe *r = f->code->recipe;
    const bool input = operand < r->inputs;
    const int number = input ? operand : operand - r->inputs;
    const enum role role = input ? r->input[number].role : r->output[number].role;
    const char *name = registers(q, input ? r->input[number].name : r->output[number].name);
    if (role == ROLE_W && input)
        return arena_printf(a, "%s[%s]", name, q->group->together > 1 ? "j" : "0");
    return role == ROLE_A && has_own_a(q) ? name : of_channel(q, name, path_components(f->matrix, role));
}

static struct device_path function_of(const struct tiled_path *q, bool tensor)
{
    const struct path_code code = demand_code(q->c->w->demand, q->path->number);
    return (struct device_path){.w = q->c->w,
                                .o = q->c->o,
                                .path = q->path,
                                .code = tensor ? code.tensor : code.product,
                                .matrix = q->e->matrix,
                                .channels = 1,
                                .argument = argument,
                                .context = (void *)q};
}

/* Calls it for each channel that is worked on together. */
static void call(const struct tiled_path *q, bool tensor)
{
    const struct device_path f = function_of(q, tensor);
    if (q->group->together > 1)
        line(q->c->o, "CGTP_UNROLL for (int j = 0; j < %d; j++)", q->group->together);
    device_path_call(&f);
}

void tiled_functions(struct tiled_writer *c)
{
    for (int i = 0; i < c->g->parts; i++)
        for (int k = 0; k < c->g->part[i].groups; k++)
            for (int p = 0; p < c->g->part[i].group[k].paths; p++) {
                const struct tiled_group *group = &c->g->part[i].group[k];
                const struct tiled_path q = path_of(c, group, group->path[p]);
                for (int tensor = 1; tensor >= 0; tensor--) {
                    const struct device_path f = function_of(&q, tensor);
                    if (f.code)
                        device_path_function(&f);
                }
            }
}

/* ---- turns over channels of z ---- */

/* Does the path's part of a turn read the input; add to the output? Weights: multiply by them, make them. */
static bool turn_has(const struct tiled_path *q, int operand)
{
    const int inputs = q->c->w->form->inputs;
    const int output = operand >= inputs ? q->c->w->demand->output[operand - inputs] : -1;
    bool has = false;
    for (int i = 0; i < q->v->zs; i++)
        has |= q->v->z[i].w == operand || q->v->z[i].output == output;
    for (int i = 0; i < q->v->ps; i++)
        has |= q->v->p[i].w == operand || q->v->p[i].g == operand;
    for (int i = 0; i < q->v->ws; i++) {
        has |= q->v->w[i].output == output;
        for (int k = 0; k < q->v->w[i].parts; k++)
            has |= q->v->w[i].part[k].g == operand;
    }
    return has;
}

static const char *symbol_of(const struct tiled_writer *c, int output)
{
    return c->w->form->output[output].symbol;
}

/* Paths of the group, up to its path number `end`, whose turns read the input or add to the output. */
static int paths_with(struct tiled_writer *c, const struct tiled_group *group, int operand, int end)
{
    int n = 0;
    for (int i = 0; i < end; i++) {
        const struct tiled_path q = path_of(c, group, group->path[i]);
        n += turn_has(&q, operand);
    }
    return n;
}

/* A channel's weights of a turn, of an input (-1: all one). */
static const char *weight_of(const struct tiled_path *q, int input, int v)
{
    if (input < 0)
        return "one";
    const char *name = arena_printf(q->c->w->arena, "%sf", source_input(q->c->w, input)->symbol);
    return is_block(q) ? of_channel(q, name, v) : name;
}

/* Products of the group's path `number` with its weights, and for gradients of them. */
static void emit_products(const struct tiled_path *q, int v, const char *at, int number)
{
    struct tiled_writer *c = q->c;
    struct arena *a = c->w->arena;
    const int together = q->group->together, channels = is_block(q) ? together : 1;
    const char *each =
        together > 1 ? arena_printf(a, "CGTP_UNROLL for (int j = 0; j < %d; j++) {", together) : "{";
    line(c->o, "%s", channels > 1 ? "{" : each);
    for (int i = 0; i < c->w->form->inputs; i++) {
        const struct operand *o = operand_at(c, i);
        if (!o || o->slot != SLOT_W || !turn_has(q, i))
            continue;
        const struct operand_block b = block_of(q, o);
        const char *row = arena_printf(a, "%srow", o->symbol);
        line(c->o, "real %sf[%d];", o->symbol, channels * v);
        line(c->o, "cgtp_get<%d, %d>(%sf, %s%s);", channels * v,
             alignment(q, o, &b, ROLE_W, channels * q->group->turn), o->symbol,
             channels > 1 ? weights_at(q, row, o) : weights_of_channel(q, o), at);
    }
    if (channels > 1)
        line(c->o, "%s", each);
    for (int i = 0; i < q->v->zs; i++) {
        const struct contract_z *z = &q->v->z[i];
        line(c->o, "cgtp_add_channels<%d, %d>(%sf, %s, %s);", v, q->d, symbol_of(c, z->output),
             weight_of(q, z->w, v), of_channel(q, registers(q, arena_printf(a, "t%d", z->t)), q->d));
    }
    for (int i = 0; i < q->v->ps; i++)
        line(c->o, "cgtp_add_products<%d, %d>(%s, %s, %sf);", v, q->d,
             of_channel(q, registers(q, arena_printf(a, "p%d", i)), q->d), weight_of(q, q->v->p[i].w, v),
             source_input(c->w, q->v->p[i].g)->symbol);
    for (int i = 0; i < q->v->ws; i++)
        for (int k = 0; k < q->v->w[i].parts; k++) {
            const struct contract_w_part *part = &q->v->w[i].part[k];
            const int before = paths_with(c, q->group, operand_of(c, q->v->w[i].output), number) * together;
            const char *to =
                plus_offset(a, arena_printf(a, "%sf", symbol_of(c, q->v->w[i].output)), before * v);
            line(c->o, "cgtp_add_dots<%d, %d>(%s, %s, %sf);", v, q->d, of_channel(q, to, v),
                 of_channel(q, registers(q, arena_printf(a, "t%d", part->t)), q->d),
                 source_input(c->w, part->g)->symbol);
        }
    line(c->o, "}");
    if (channels > 1)
        line(c->o, "}");
}

/* Where sums over lanes of a group's gradients go: a place for each path and channel of B. */
static void emit_places(struct tiled_writer *c, const struct tiled_group *group, int operand)
{
    struct arena *a = c->w->arena;
    struct text list = {.arena = a};
    int n = 0;
    for (int i = 0; i < group->paths; i++) {
        const struct tiled_path q = path_of(c, group, group->path[i]);
        const struct operand *o = operand_at(c, operand);
        if (q.e->contracted && !turn_has(&q, operand))
            continue;
        for (int j = 0; j < (is_block(&q) ? 1 : group->together); j++) {
            const char *at = plus_offset(a, weights_at(&q, "0", o), j * path_weight_rows(q.e));
            text_printf(&list, "%s%s", n++ ? ", " : "", strncmp(at, "0 + ", 4) == 0 ? at + 4 : at);
        }
    }
    line(c->o, "const int %sat[%d] = {%s};", operand_at(c, operand)->symbol, n, text_string(&list));
}

/* Gradients of weights on their way from registers, v of each of so many paths' channels of B. */
static void emit_gradients(struct tiled_writer *c, const struct tiled_group *group, int operand, int paths,
                           int v, const char *channel)
{
    const struct tiled_path first = path_of(c, group, group->path[0]);
    const char *name = operand_at(c, operand)->symbol;
    const int each = is_block(&first) ? v * group->together : v, all = paths * group->together * v;
    if (!tiled_is_row(operand_at(c, operand))) {
        line(c->o, "cgtp_add_lane_sums<%d, %d>(%srow%s, %sat, %sf);", each, all / each, name, channel, name,
             name);
        return;
    }
    line(c->o, "CGTP_UNROLL for (int i = 0; i < %d; i++)", all);
    line(c->o, "(%srow%s)[%sat[i / %d] + i %% %d] += %sf[i];", name, channel, name, each, each, name);
}

/* Brings what a turn needs of rows of z into registers, or stores what is added to. */
static void hold_z(struct tiled_writer *c, const struct tiled_group *group, int v, const char *variable,
                   bool load)
{
    const struct tiled_path first = path_of(c, group, group->path[0]);
    for (int i = 0; i < operands(c); i++) {
        const struct operand *o = operand_at(c, i);
        if (!o || o->slot != SLOT_G || !paths_with(c, group, i, group->paths))
            continue;
        const char *name = arena_printf(c->w->arena, "%sf", o->symbol);
        if (load)
            begin(&first, o, v, name, variable);
        else if (o->output)
            move(&first, o, v, name, variable, false);
    }
}

/* A turn of all paths, from channel c on. z: are rows of z brought and stored, too? */
static void emit_turn(struct tiled_writer *c, const struct tiled_group *group, int v, const char *variable,
                      const char *at, bool z)
{
    bool one = false;
    for (int p = 0; p < group->paths; p++)
        one |= !c->w->problem->path[group->path[p]].weighted;
    if (one)
        line(c->o, "const real one[1] = {1};");
    if (z)
        hold_z(c, group, v, variable, true);
    for (int i = c->w->form->inputs; i < operands(c); i++) {
        const struct operand *o = operand_at(c, i);
        const int n = paths_with(c, group, i, group->paths);
        if (n && o->slot == SLOT_W)
            line(c->o, "real %sf[%d] = {0};", o->symbol, n * group->together * v);
    }
    for (int p = 0; p < group->paths; p++) {
        const struct tiled_path q = path_of(c, group, group->path[p]);
        emit_products(&q, v, at, p);
    }
    for (int i = c->w->form->inputs; i < operands(c); i++) {
        const int n = paths_with(c, group, i, group->paths);
        if (n && operand_at(c, i)->slot == SLOT_W)
            emit_gradients(c, group, i, n, v, at);
    }
    if (z)
        hold_z(c, group, v, variable, false);
}

/* All turns; z: are rows of z brought and stored in each? */
static void emit_turns(struct tiled_writer *c, const struct tiled_group *group, bool z)
{
    const int m = c->w->problem->path[group->path[0]].mul_z, rest = m % group->turn;
    for (int i = c->w->form->inputs; i < operands(c); i++)
        if (operand_at(c, i)->slot == SLOT_W && paths_with(c, group, i, group->paths))
            emit_places(c, group, i);
    if (m == group->turn) {
        line(c->o, "{");
        emit_turn(c, group, group->turn, NULL, "", z);
        line(c->o, "}");
        return;
    }
    line(c->o, "CGTP_LOOP");
    line(c->o, "for (int c = 0; c < %d; c += %d) {", m - rest, group->turn);
    emit_turn(c, group, group->turn, "c", " + c", true);
    line(c->o, "}");
    if (rest) {
        line(c->o, "{");
        line(c->o, "constexpr int c = %d;", m - rest);
        emit_turn(c, group, rest, "c", " + c", true);
        line(c->o, "}");
    }
}

/* ---- a group ---- */

/* T of a path's channels. */
static void emit_tensors(const struct tiled_path *q)
{
    for (int t = 0; t < q->v->ts; t++)
        line(q->c->o, "real t%dp%d[%d];", t, q->path->number, q->group->together * q->d);
    for (int p = 0; p < q->v->ps; p++)
        line(q->c->o, "real p%dp%d[%d] = {0};", p, q->path->number, q->group->together * q->d);
    if (!q->v->tensor)
        return;
    line(q->c->o, "{");
    if (turns_b(q) == 1)
        hold(q, OF_TENSOR, SIDE_A, true);
    hold(q, OF_TENSOR, SIDE_CHANNEL, true);
    call(q, true);
    line(q->c->o, "}");
}

/* What comes of P, or of the operands themselves. */
static void emit_product(const struct tiled_path *q)
{
    struct tiled_writer *c = q->c;
    if (!q->v->product)
        return;
    line(c->o, "{");
    if (turns_b(q) == 1)
        hold(q, OF_PRODUCT, SIDE_A, true);
    hold(q, OF_PRODUCT, SIDE_CHANNEL, true);
    call(q, false);
    hold(q, OF_PRODUCT, SIDE_CHANNEL, false);
    if (turns_b(q) == 1)
        hold(q, OF_PRODUCT, SIDE_A, false);
    for (int i = c->w->form->inputs; i < operands(c); i++)
        if (is_held(q, OF_PRODUCT, i, SIDE_CHANNEL) && operand_at(c, i)->slot == SLOT_W) {
            emit_places(c, q->group, i);
            line(c->o, "real *const %sf = %s;", operand_at(c, i)->symbol,
                 registers(q, operand_at(c, i)->symbol));
            emit_gradients(c, q->group, i, 1, 1, "");
        }
    line(c->o, "}");
}

void tiled_group(struct tiled_writer *c, const struct tiled_group *group)
{
    const struct tiled_path first = path_of(c, group, group->path[0]);
    const int channels_a = path_channels_a(first.e), channels_b = path_channels_b(first.e);
    const int less = first.e->pairs ? 1 : 0; /* of a < b */
    for (int p = 0; p < group->paths; p++) {
        const struct tiled_path q = path_of(c, group, group->path[p]);
        const struct device_path f = function_of(&q, q.v->tensor != NULL);
        device_path_comment(&f);
    }
    if (channels_a > 1) {
        line(c->o, "CGTP_LOOP");
        line(c->o, "for (int a = 0; a < %d; a++) {", channels_a - less);
    }
    if (turns_b(&first) > 1) {
        line(c->o, "{");
        hold(&first, OF_BOTH, SIDE_A, true);
        if (tiled_turns(first.v) && has_one_turn(group, first.path))
            hold_z(c, group, group->turn, NULL, true);
        line(c->o, "CGTP_LOOP");
        line(c->o, "for (int u = 0; u < %d%s; u += %d) {", channels_b - less, less ? " - a" : "",
             group->together);
    } else {
        line(c->o, "{");
    }
    for (int p = 0; p < group->paths; p++) {
        const struct tiled_path q = path_of(c, group, group->path[p]);
        emit_tensors(&q);
    }
    if (tiled_turns(first.v))
        emit_turns(c, group, turns_b(&first) == 1);
    for (int p = 0; p < group->paths; p++) {
        const struct tiled_path q = path_of(c, group, group->path[p]);
        emit_product(&q);
    }
    line(c->o, "}");
    if (turns_b(&first) > 1) {
        hold(&first, OF_BOTH, SIDE_A, false);
        if (tiled_turns(first.v) && has_one_turn(group, first.path))
            hold_z(c, group, group->turn, NULL, false);
        line(c->o, "}");
    }
    if (channels_a > 1)
        line(c->o, "}");
}
