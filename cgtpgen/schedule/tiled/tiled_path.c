/* tiled_path.c - see tiled_path.h. */
#include "schedule/tiled/tiled_path.h"

#include "schedule/path.h"

struct tiled_path tiled_path_of(struct tiled_writer *c, const struct tiled_group *group, int number)
{
    const struct path_plan *e = &c->w->plan->path[number];
    return (struct tiled_path){c, group, e, e->path, tiled_variant(c->g, number), e->matrix->columns};
}

/* ---- the kernel's operands ---- */

int tiled_operands(const struct tiled_writer *c)
{
    return c->w->form->inputs + c->w->demand->outputs;
}

const struct operand *tiled_operand_at(const struct tiled_writer *c, int i)
{
    const int inputs = c->w->form->inputs;
    if (i >= inputs)
        return demand_operand(c->w->demand, i - inputs);
    return demand_reads(c->w->demand, i) ? source_input(c->w, i) : NULL;
}

int tiled_operand_of(const struct tiled_writer *c, int output)
{
    int o = 0;
    while (c->w->demand->output[o] != output)
        o++;
    return c->w->form->inputs + o;
}

enum role tiled_role_of(const struct tiled_path *q, const struct operand *operand)
{
    return operand->slot == SLOT_W    ? ROLE_W
           : operand->slot == SLOT_G  ? ROLE_G
           : operand->slot == q->e->a ? ROLE_A
                                      : ROLE_B;
}

struct operand_block tiled_block_of(const struct tiled_path *q, const struct operand *operand)
{
    struct operand_block b = *operand_block_of(operand, q->path);
    if (!tiled_streams(q->c->g, operand))
        return b;
    const struct tiled_part *part = q->c->part;
    const bool apart = block_is_apart(&b);
    b.channels = part->channels / part->pieces;
    b.offset = -q->c->piece * b.channels * b.channel;
    b.component = apart ? b.channels : b.component;
    return b;
}

const char *tiled_registers(const struct tiled_path *q, const char *name)
{
    return arena_printf(q->c->w->arena, "%sp%d", name, q->path->number);
}

const char *tiled_of_channel(const struct tiled_path *q, const char *name, int components)
{
    struct arena *a = q->c->w->arena;
    if (q->group->together == 1)
        return name;
    return components == 1 ? arena_printf(a, "%s + j", name)
                           : arena_printf(a, "%s + j * %d", name, components);
}

bool tiled_has_own_a(const struct tiled_path *q)
{
    return !q->e->elementwise;
}

int tiled_turns_b(const struct tiled_path *q)
{
    return path_channels_b(q->e) / q->group->together;
}

bool tiled_has_one_turn(const struct tiled_group *group, const struct path *p)
{
    return p->mul_z == group->turn;
}

bool tiled_is_block(const struct tiled_path *q)
{
    return q->e->contracted && tiled_has_one_turn(q->group, q->path) &&
           path_weight_rows(q->e) == q->path->mul_z && path_channels_a(q->e) == 1;
}

/* ---- addresses ---- */

int tiled_alignment(const struct tiled_path *q, const struct operand *operand, const struct operand_block *b,
                    enum role role, int channels)
{
    int most = 16 / kernel_size(q->c->w->kernel->kernel);
    if (operand->slot == SLOT_W ? tiled_is_row(operand) : !tiled_streams(q->c->g, operand) || !q->c->g->wide)
        return 1;
    if (role == ROLE_W) {
        while (most > 1 &&
               (b->offset % most || channels % most || (!tiled_is_block(q) && q->path->mul_z % most)))
            most /= 2;
        return q->e->contracted ? most : 1;
    }
    const bool odd_steps = q->e->pairs || (q->e->strided && role == ROLE_G);
    const int step = role == ROLE_A && tiled_has_own_a(q) ? 1 : channels;
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

void tiled_move(const struct tiled_path *q, const struct operand *operand, int channels, const char *name,
                const char *variable, bool load)
{
    struct arena *a = q->c->w->arena;
    struct operand_block b = tiled_block_of(q, operand);
    if (!variable && tiled_streams(q->c->g, operand))
        b.offset = 0;
    const enum role role = tiled_role_of(q, operand);
    const char *row = path_address(a, q->e, role, arena_printf(a, "%srow", operand->symbol), &b);
    const char *at = arena_printf(a, "%s%s", row, times(a, variable ? variable : "", b.channel, variable));
    const int align = tiled_alignment(q, operand, &b, role, channels), d = b.components;
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

void tiled_begin(const struct tiled_path *q, const struct operand *operand, int channels, const char *name,
                 const char *variable)
{
    const int n = channels * tiled_block_of(q, operand).components;
    const bool zeros = operand->output && tiled_streams(q->c->g, operand) && q->group->once;
    line(q->c->o, "real %s[%d]%s;", name, n, zeros ? " = {0}" : "");
    if (!zeros)
        tiled_move(q, operand, channels, name, variable, true);
}

const char *tiled_weights_at(const struct tiled_path *q, const char *row, const struct operand *operand)
{
    struct arena *a = q->c->w->arena;
    const char *first = path_address(a, q->e, ROLE_W, row, operand_block_of(operand, q->path));
    return arena_printf(a, "%s%s", first, times(a, "u", path_weight_rows(q->e), tiled_turns_b(q) > 1));
}

const char *tiled_weights_of_channel(const struct tiled_path *q, const struct operand *operand)
{
    struct arena *a = q->c->w->arena;
    return arena_printf(a, "%s%s", tiled_weights_at(q, arena_printf(a, "%srow", operand->symbol), operand),
                        times(a, "j", path_weight_rows(q->e), q->group->together > 1));
}
