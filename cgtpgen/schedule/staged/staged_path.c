/* staged_path.c - staged items: what a path is in a pass, and where a lane's part of its operands is. */
#include "schedule/staged/staged_path.h"

#include <string.h>

#include "schedule/code_print.h"
#include "schedule/path.h"

/* Where a lane's sums of gradients of y have the path's. */
static int64_t y_sums(const struct staged_path *q)
{
    return q->c->w->problem->y.segment[q->path->y].offset - q->c->g->sums_from;
}

/* What a path's function takes where y is in arrays of the lane: of an input or output of the kernel. */
static const char *argument(const struct device_path *f, int operand)
{
    const struct staged_path *q = f->context;
    const struct recipe *r = f->code->recipe;
    const bool input = operand < r->inputs;
    const enum role role = recipe_operand(r, operand).role;
    const char *name = recipe_operand(r, operand).name;
    const struct path_plan *e = &f->w->plan->path[f->path->number];
    const enum slot slot = role == ROLE_A ? e->a : role == ROLE_B ? e->b : role == ROLE_W ? SLOT_W : SLOT_G;
    if (slot == SLOT_Y)
        return input || q->rows > 1 ? arena_printf(f->w->arena, "%sv", name)
                                    : plus_offset(f->w->arena, name, y_sums(q));
    if (slot == SLOT_X)
        return staged_own_channel(q, arena_printf(f->w->arena, "%ss%d", name, f->path->x),
                                  2 * q->path->l1 + 1);
    if (slot == SLOT_G)
        return staged_own_channel(q, arena_printf(f->w->arena, "%ss%d", name, f->path->z), q->d);
    if (slot == SLOT_W)
        return input ? arena_printf(f->w->arena, "%s%s", staged_factor(q),
                                    staged_weight(q, staged_input(q->c, r->input[operand].source)))
                     : arena_printf(f->w->arena, "%sv", name);
    return NULL;
}

const char *staged_own_channel(const struct staged_path *q, const char *name, int components)
{
    return q->channels > 1 ? arena_printf(q->c->w->arena, "%s + k * %d", name, components) : name;
}

struct device_path staged_path_function(const struct staged_path *q, bool tensor)
{
    const struct source *w = q->c->w;
    const struct path_code code = q->c->g->code[q->path->number];
    struct device_path f = {.w = q->c->w,
                            .o = q->c->o,
                            .path = q->path,
                            .code = tensor ? code.tensor : code.product,
                            .matrix = q->c->g->matrix[q->path->number],
                            .channels = 1};
    if (staged_connects(q->path))
        f.rows = w->spec->index[SLOT_Y] == INDEX_SHARED ? "l" : "at";
    if (staged_takes_ys(q->path)) {
        f.argument = argument;
        f.context = (void *)q;
    }
    return f;
}

struct staged_path staged_path_of(struct staged_writer *c, const struct staged_part *part, int piece)
{
    const struct staged_piece *at = &part->piece[piece];
    const struct path *p = &c->w->problem->path[at->path];
    return (struct staged_path){
        c, part, at, p, staged_variant(c->g, at->path), 2 * p->l3 + 1, p->mul_z, staged_rows(p), 1};
}

void staged_functions(struct staged_writer *c)
{
    for (int i = 0; i < c->g->whole.pieces; i++) {
        const struct staged_path q = staged_path_of(c, &c->g->whole, i);
        for (int tensor = 1; tensor >= 0; tensor--) {
            const struct device_path f = staged_path_function(&q, tensor);
            if (f.code)
                device_path_function(&f);
        }
    }
}

/* ---- addresses ---- */

const char *staged_either(const struct staged_writer *c, const char *row, int64_t first, int64_t second)
{
    return !c->alike.first || first == second
               ? row
               : arena_printf(c->w->arena, "%s + (other ? %lld : 0)", row, (long long)(second - first));
}

const char *staged_row_of(const struct staged_writer *c, const char *row, const struct operand *q,
                          const struct path *p)
{
    if (!c->alike.first)
        return row;
    const struct path *other = &c->w->problem->path[c->alike.path[p->number]];
    return staged_either(c, row, operand_block_of(q, p)->offset, operand_block_of(q, other)->offset);
}

/* The same of a segment of x. */
static const char *row_of_x(const struct staged_writer *c, const char *row, const struct operand *q,
                            int segment)
{
    return staged_either(c, row, q->block[segment].offset, q->block[c->alike.segment].offset);
}

/* Where channel `channel` (a C expression) of the block is in a row. */
static const char *channel_at(const struct staged_writer *c, const char *row, const struct operand_block *b,
                              const char *channel)
{
    const char *step = b->channel > 1 ? arena_printf(c->w->arena, " * %lld", (long long)b->channel) : "";
    return arena_printf(c->w->arena, "%s + %s%s", plus_offset(c->w->arena, row, b->offset), channel, step);
}

/* "_components<V, D>", or "<V * D>" where a channel's components are neighbours; the step between them is
 * then the last argument. */
static void copy_channels(const struct staged_writer *c, const char *call, int v, int d, const char *first,
                          const char *second, const struct operand_block *b, bool load)
{
    if (!block_is_apart(b))
        line(c->o, "%s<%d>(%s, %s);", call, v * d, first, second);
    else if (load)
        line(c->o, "%s_components<%d, %d>(%s, %s, %lld);", call, v, d, first, second,
             (long long)b->component);
    else
        line(c->o, "%s_components<%d, %d>(%s, %lld, %s);", call, v, d, first, (long long)b->component,
             second);
}

void staged_load(const struct staged_writer *c, int v, int d, const char *registers, const char *row,
                 const struct operand_block *b, const char *channel)
{
    copy_channels(c, "cgtp_load", v, d, registers, channel_at(c, row, b, channel), b, true);
}

void staged_store(const struct staged_writer *c, int v, int d, const char *row, const struct operand_block *b,
                  const char *channel, const char *registers)
{
    copy_channels(c, "cgtp_store", v, d, channel_at(c, row, b, channel), registers, b, false);
}

const char *staged_input(const struct staged_writer *c, int input)
{
    const struct operand *q = source_input(c->w, input);
    const bool part = staged_in_parts(c->g) && q->slot == SLOT_W;
    return arena_printf(c->w->arena, "%s.%s",
                        c->g->keeps && staged_is_common(q) ? "common"
                        : q->index == INDEX_SHARED         ? "l"
                        : part                             ? "part"
                                                           : "at",
                        q->symbol);
}

const char *staged_rows_of(const struct staged_writer *c, int o)
{
    const struct operand *q = demand_operand(c->w->demand, o);
    return arena_printf(c->w->arena, "own.%s.%s", q->index == INDEX_SHARED ? "sums" : "out", q->symbol);
}

const char *staged_output(const struct staged_writer *c, int o)
{
    const int place = c->g->in_place[o];
    const bool first = staged_by_warps(c->g, o) && demand_operand(c->w->demand, o)->slot != SLOT_Y;
    return place >= 0 ? staged_input(c, place)
                      : arena_printf(c->w->arena, "%s%s", staged_rows_of(c, o), first ? "[0]" : "");
}

bool staged_output_in_parts(const struct staged_writer *c, int o)
{
    return staged_in_parts(c->g) && demand_operand(c->w->demand, o)->slot == SLOT_W;
}

/* "own.out.t0p3 + 48": the path's vector, from a channel on. */
const char *staged_tensor_from(const struct staged_path *q, int t, int channel)
{
    struct arena *a = q->c->w->arena;
    return plus_offset(a, arena_printf(a, "own.out.%s", staged_tensor(a, q->path, t)),
                       (int64_t)channel * q->rows * q->d);
}

const char *staged_tensor_at(const struct staged_path *q, int t)
{
    struct arena *a = q->c->w->arena;
    return arena_printf(a, "%s + %s", staged_tensor_from(q, t, 0), scaled(a, staged_row_number(q, 0), q->d));
}

/* The piece's weights in a row or part of one. */
const char *staged_weights_in(const struct staged_path *q, const char *row)
{
    return plus_offset(q->c->w->arena, row,
                       q->path->weight_offset + (int64_t)q->piece->from * q->rows * q->m - q->part->base);
}

/* "u", from the piece's first channel on; "(u * 3 + v)": the row of weights or T of the lane's channel of x,
 * and of that of y where this has several. */
const char *staged_weight(const struct staged_path *q, const char *row)
{
    const struct staged_writer *c = q->c;
    const int64_t first = q->path->weight_offset;
    const char *at = arena_printf(c->w->arena, "%lld", (long long)first);
    if (c->alike.first)
        at = staged_either(c, at, first, c->w->problem->path[c->alike.path[q->path->number]].weight_offset);
    return strcmp(at, "0") == 0 ? arena_printf(c->w->arena, "%s[%s]", row, staged_row_number(q, 0))
                                : arena_printf(c->w->arena, "%s[%s + %s]", row, at, staged_row_number(q, 0));
}

const char *staged_factor(const struct staged_path *q)
{
    const struct surd factor = q->c->g->factor[q->path->number];
    return factor.sign ? arena_printf(q->c->w->arena, "%s * ", constant_name(q->c->w->constants, factor))
                       : "";
}

const char *staged_row_number(const struct staged_path *q, int from)
{
    struct arena *a = q->c->w->arena;
    const char *u = from ? arena_printf(a, "(u - %d)", from) : q->channels > 1 ? "(u + k)" : "u";
    return q->rows > 1 ? arena_printf(a, "(%s * %d + v)", u, q->rows) : u;
}

/* ---- what a path is, and a lane's part of rows ---- */

void staged_path_comment(const struct staged_path *q)
{
    const struct device_path f = staged_path_function(q, q->v->tensor != NULL);
    device_path_comment(&f);
}

/* The lane's channels of all inputs of slot x. */
void staged_load_x(struct staged_writer *c, const struct staged_pass *pass)
{
    const int segment = pass->segment;
    const struct demand *d = c->w->demand;
    for (int i = 0; i < c->w->form->inputs; i++) {
        const struct operand *q = source_input(c->w, i);
        if (q->slot != SLOT_X || !demand_reads(d, i))
            continue;
        const char *name = arena_printf(c->w->arena, "%ss%d", q->symbol, segment);
        int components = q->block[segment].components;
        line(c->o, "real %s[%d];", name, pass->channels * components);
        staged_load(c, pass->channels, components, name, row_of_x(c, staged_input(c, i), q, segment),
                    &q->block[segment], "u");
    }
}

/* Begins the loop over channels of y, where there are several: one of each input, and zeros to sum gradients
 * of it. */
/* Does the path make a part of output number o of the demand, of slot y? */
static bool makes_y(const struct staged_path *q, int o)
{
    const struct demand *d = q->c->w->demand;
    const struct recipe *r = q->v->product;
    bool makes = false;
    for (int i = 0; r && i < r->outputs; i++)
        makes |= r->output[i].source == d->output[o];
    return makes && demand_output(d, o)->slot == SLOT_Y;
}

void staged_open_ys(const struct staged_path *q, bool sums)
{
    struct staged_writer *c = q->c;
    const struct demand *d = c->w->demand;
    if (!staged_takes_ys(q->path))
        return;
    if (q->rows > 1) {
        line(c->o, c->g->shares_code ? "CGTP_LOOP" : "CGTP_UNROLL");
        line(c->o, "for (int v = 0; v < %d; v++) {", q->rows);
    } else {
        line(c->o, "{");
    }
    for (int i = 0; i < c->w->form->inputs; i++) {
        const struct operand *y = source_input(c->w, i);
        const struct operand_block *b = &y->block[q->path->y];
        if (y->slot != SLOT_Y || !demand_reads(d, i))
            continue;
        const char *name = arena_printf(c->w->arena, "%sv", y->symbol);
        line(c->o, "real %s[%d];", name, b->components);
        staged_load(c, 1, b->components, name, staged_input(c, i), b, q->rows > 1 ? "v" : "0");
    }
    for (int o = 0; o < d->outputs && sums && q->rows > 1; o++)
        if (makes_y(q, o))
            line(c->o, "real %sv[%d] = {0};", demand_output(d, o)->symbol, 2 * q->path->l2 + 1);
}

void staged_close_ys(const struct staged_path *q, bool sums)
{
    struct staged_writer *c = q->c;
    const struct demand *d = c->w->demand;
    if (!staged_takes_ys(q->path))
        return;
    for (int o = 0; o < d->outputs && sums && q->rows > 1; o++) {
        const struct operand *y = demand_operand(d, o);
        if (!makes_y(q, o))
            continue;
        const struct operand_block *b = &y->block[q->path->y];
        const bool each = c->g->shares_code; /* registers have numbers that are known */
        const char *channel =
            arena_printf(c->w->arena, " + %s", scaled(c->w->arena, each ? "k" : "v", b->channel));
        if (each) {
            line(c->o, "CGTP_UNROLL");
            line(c->o, "for (int k = 0; k < %d; k++)", q->rows);
            line(c->o, "if (k == v)");
        }
        line(c->o, "CGTP_UNROLL");
        line(c->o, "for (int j = 0; j < %d; j++)", 2 * q->path->l2 + 1);
        line(c->o, "%s[%s%s] += %sv[j];", y->symbol,
             plus_offset(c->w->arena, scaled(c->w->arena, "j", b->component), b->offset - c->g->sums_from),
             channel, y->symbol);
    }
    line(c->o, "}");
}

void staged_declare(const struct staged_path *q, const char *kind, int n, bool zero)
{
    for (int i = 0; i < n; i++)
        line(q->c->o, "real %s%ds%d[%d]%s;", kind, i, q->path->z, q->d, zero ? " = {0}" : "");
}

/* T of the lane's channel. */
void staged_make_tensors(const struct staged_path *q)
{
    const struct device_path f = staged_path_function(q, true);
    staged_declare(q, "t", q->v->ts, false);
    device_path_call(&f);
}

/* Passes by columns are never alike. */
static const char *by_x(const struct staged_writer *c, enum slot slot, const char *row,
                        const struct operand *q, int segment)
{
    return slot == SLOT_X ? row_of_x(c, row, q, segment) : row;
}

/* The lane's channels of the outputs of a slot that a pass makes: from zero on, or what parts or items before
 * have made. */
void staged_begin_outputs(struct staged_writer *c, const struct staged_pass *pass, enum slot slot,
                          int components, const char *channel)
{
    const struct demand *d = c->w->demand;
    const int v = pass->channels;
    for (int o = 0; o < d->outputs; o++) {
        if (demand_output(d, o)->slot != slot)
            continue;
        const char *name = arena_printf(c->w->arena, "%ss%d", demand_output(d, o)->symbol, pass->segment);
        const bool goes_on = staged_in_parts(c->g) || c->g->owned[o];
        line(c->o, "real %s[%d]%s;", name, v * components, goes_on ? "" : " = {0}");
        if (goes_on)
            staged_load(c, v, components, name,
                        by_x(c, slot, staged_output(c, o), demand_operand(d, o), pass->segment),
                        &demand_operand(d, o)->block[pass->segment], channel);
    }
}

void staged_end_outputs(struct staged_writer *c, const struct staged_pass *pass, enum slot slot,
                        int components, const char *channel)
{
    const struct demand *d = c->w->demand;
    for (int o = 0; o < d->outputs; o++)
        if (demand_output(d, o)->slot == slot)
            staged_store(c, pass->channels, components,
                         by_x(c, slot, staged_output(c, o), demand_operand(d, o), pass->segment),
                         &demand_operand(d, o)->block[pass->segment], channel,
                         arena_printf(c->w->arena, "%ss%d", demand_output(d, o)->symbol, pass->segment));
}

/* ---- lanes ---- */

void staged_open_channels(struct staged_writer *c, const struct staged_pass *p, const char *name)
{
    struct arena *a = c->w->arena;
    const char *times = p->channels > 1 ? arena_printf(a, " * %d", p->channels) : "";
    const char *number = c->alike.first ? arena_printf(a, "(other ? i - %d : i)", c->alike.first) : "i";
    const int second = c->alike.first ? (int)c->w->problem->x.segment[c->alike.segment].mul : p->lanes;
    const char *pass = p->lanes > STAGED_LANES || second > STAGED_LANES
                           ? arena_printf(a, " + %s * %d", number, STAGED_LANES * p->channels)
                           : "";
    line(c->o, "{");
    if (c->alike.first)
        line(c->o, "const bool other = i >= %d; /* the second segment */", c->alike.first);
    line(c->o, "const int %s = %s%s;", name, plus_offset(a, arena_printf(a, "lane%s", times), p->first),
         pass);
    if (p->lanes != second)
        line(c->o, "if (%s < (other ? %d : %d)) {", name, second, p->lanes);
    else if (p->lanes % STAGED_LANES)
        line(c->o, "if (%s < %d) {", name, p->first + p->lanes * p->channels);
}

void staged_close_channels(struct staged_writer *c, const struct staged_pass *p)
{
    const bool apart = c->alike.first && p->lanes != c->w->problem->x.segment[c->alike.segment].mul;
    if (apart || p->lanes % STAGED_LANES)
        line(c->o, "}");
    line(c->o, "}");
}
