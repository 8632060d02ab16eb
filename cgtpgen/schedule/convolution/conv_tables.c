/* conv_tables.c - the pipelined convolution: where a path set's irreps segments and weights are in rows, as
 * structs of constants.
 */
#include "schedule/convolution/conv_emit.h"
#include "schedule/report.h"

#include <string.h>

enum { FACTORS_WIDTH = 100 };

#define ALIGNED "static constexpr int aligned = %d;"

/* struct set_N_what, of a struct set_N and rows that are so aligned, of one constant. */
static void emit_table(struct conv *c, const char *table, const char *what, int aligned, const char *constant)
{
    const char *head = arena_printf(c->w->arena, "struct %s_%s : %s {", table, what, table);
    if (strlen(head) + strlen(constant) + strlen(ALIGNED) < FACTORS_WIDTH) {
        line(c->o, "%s " ALIGNED " %s };", head, aligned, constant);
        return;
    }
    line(c->o, "%s", head);
    line(c->o, ALIGNED, aligned);
    line(c->o, "%s", constant);
    line(c->o, "};");
}

/* The blocks of the rows of an operand, as a constant. offset: of block i in the rows. */
static const char *segments(struct arena *a, int n, const struct operand_block *const *block,
                            const int64_t *offset)
{
    struct text list = {.arena = a};
    for (int i = 0; i < n; i++)
        source_segment(&list, block[i], offset[i]);
    return arena_printf(a, "static constexpr cgtp_segment segment[] = {%s};", text_string(&list));
}

static int mul_of_z(const struct conv *c, int i)
{
    return c->w->problem->path[c->s->z[i]].mul_x;
}

/* The factors of slot z's components, by path: those that matrices leave out. */
static void emit_factors(struct conv *c, int mul)
{
    struct source *w = c->w;
    struct text all = {.arena = w->arena};
    line(c->o, "static constexpr real factor[] = {");
    for (int i = 0; i < c->s->zs; i++) {
        const struct path *p = &w->problem->path[c->s->z[i]];
        const struct surd *column = conv_column(own(c->w), c->s, i);
        struct text one = {.arena = w->arena};
        if (p->mul_x != mul)
            continue;
        text_printf(&one, "/* z%d */", p->z);
        for (int k = 0; k < 2 * p->l3 + 1; k++)
            text_printf(&one, " %s,",
                        !column || !column[k].sign || surd_is_one(column[k])
                            ? "1"
                            : constant_name(w->constants, column[k]));
        if (all.n && all.n + one.n > FACTORS_WIDTH) {
            line(c->o, "%s", text_string(&all));
            all.n = 0;
        }
        text_printf(&all, "%s%s", all.n ? " " : "", one.s);
    }
    line(c->o, "%s", text_string(&all));
    line(c->o, "};");
}

static void emit_z_table(struct conv *c, int mul, bool factors)
{
    const struct operand *z = conv_array(c->w, SLOT_G);
    const struct operand_block **block = NEW_ARRAY(c->w->arena, const struct operand_block *, c->s->zs + 1);
    int64_t *offset = NEW_ARRAY(c->w->arena, int64_t, c->s->zs + 1);
    int n = 0;
    for (int i = 0; i < c->s->zs; i++) {
        block[n] = operand_block_of(z, &c->w->problem->path[c->s->z[i]]);
        offset[n] = block[n]->offset;
        n += mul_of_z(c, i) == mul;
    }
    const char *all = segments(c->w->arena, n, block, offset);
    if (!factors) {
        emit_table(c, conv_table(c, mul), "z", own(c->w)->aligned[SLOT_G], all);
        return;
    }
    line(c->o, "struct %s_z : %s {", conv_table(c, mul), conv_table(c, mul));
    line(c->o, ALIGNED, own(c->w)->aligned[SLOT_G]);
    line(c->o, "%s", all);
    emit_factors(c, mul);
    line(c->o, "};");
}

/* Of x, in its own rows or in those of the buffer of edges. */
static void emit_x_table(struct conv *c, int mul, bool edges)
{
    const struct operand *x = conv_array(c->w, SLOT_X);
    const struct operand_block **block = NEW_ARRAY(c->w->arena, const struct operand_block *, c->s->xs + 1);
    int64_t *offset = NEW_ARRAY(c->w->arena, int64_t, c->s->xs + 1), at = c->s->edge_at;
    int n = 0;
    for (int i = 0; i < c->s->xs; i++) {
        block[n] = &x->block[c->s->x[i]];
        offset[n] = edges ? at : block[n]->offset;
        at += block[n]->channels * block[n]->components;
        n += block[n]->channels == mul;
    }
    if (n)
        emit_table(c, conv_table(c, mul), edges ? "edge" : "x",
                   edges ? own(c->w)->aligned_edges : own(c->w)->aligned[SLOT_X],
                   segments(c->w->arena, n, block, offset));
}

/* Of weights, of which a channel has `of`. */
static void emit_w_table(struct conv *c, const char *table, int mul, int of)
{
    const struct problem *p = c->w->problem;
    struct text list = {.arena = c->w->arena};
    int *path, n = conv_weighted(c->w->arena, p, c->s, &path);
    for (int i = 0; i < n; i++)
        if (p->path[path[i]].mul_x == mul && conv_calls(&p->path[path[i]]) == of)
            text_printf(&list, "%s%lld", list.n ? ", " : "", (long long)p->path[path[i]].weight_offset);
    if (list.n)
        emit_table(
            c, table, "w", own(c->w)->aligned[SLOT_W],
            arena_printf(c->w->arena, "static constexpr int64_t offset[] = {%s};", text_string(&list)));
}

/* The struct that tables of a spread begin with. */
static const char *emit_spread(struct conv *c, const struct spread *s)
{
    const char *name = arena_printf(c->w->arena, "set_%d%s", c->label, s->name);
    line(c->o, "struct %s { static constexpr int mul = %d, channels = %d, lanes = %d, blocks = %d; };", name,
         s->mul, s->channels, s->lanes, s->blocks);
    return name;
}

/* Of weights of paths of so many channels, where each has several. */
static void emit_tables_by(struct conv *c, int mul)
{
    const struct pipeline *p = c->s->pipeline;
    for (int k = 0; k < p->spreads; k++) {
        const struct spread *s = &p->spread[k];
        if (s->of > 1 && s->mul == mul * s->of)
            emit_w_table(c, emit_spread(c, s), mul, s->of);
    }
}

/* The tables of paths of so many channels. */
static void emit_tables_of(struct conv *c, int mul)
{
    struct source *w = c->w;
    const struct convolution *g = own(w);
    int n[SLOT_COUNT], *number = NEW_ARRAY(w->arena, int, w->form->inputs + w->form->outputs + 1);
    const struct pipeline *p = c->s->pipeline;
    int spread = 0;
    while (p->spread[spread].mul != mul)
        spread++;
    const char *table = emit_spread(c, &p->spread[spread]);
    for (int s = 0; s < SLOT_COUNT; s++)
        n[s] = conv_operands(w, (enum slot)s, false, number);
    if (n[SLOT_X] || (g->b_outputs && strcmp(conv_x_out(g, c->s), "x") == 0))
        emit_x_table(c, mul, false);
    if (g->b_outputs && strcmp(conv_x_out(g, c->s), "edge") == 0)
        emit_x_table(c, mul, true);
    if (n[SLOT_W]) {
        emit_w_table(c, table, mul, 1);
        emit_tables_by(c, mul);
    }
    if (n[SLOT_G] || g->g_outputs)
        emit_z_table(c, mul, conv_has_factors(g, c->s, mul));
    for (int i = 1; i < c->alike; i++) {
        struct conv other = conv_of_set(c, c->number + i);
        line(c->o, "/* Path set %d is like it; its paths are %s. */", other.number,
             report_ranges(w->arena, other.s->paths, other.s->path));
        line(c->o, "struct %s : %s {};", conv_table(&other, mul), conv_table(c, mul));
        if (n[SLOT_G] || g->g_outputs)
            emit_z_table(&other, mul, false);
    }
}

void conv_tables(struct conv *c)
{
    struct source *w = c->w;
    line(c->o, "/* Path set %d: %s, %s per lane, %s%s. */", c->number, plural(w->arena, c->s->paths, "path"),
         plural(w->arena, c->s->channels, "channel"), plural(w->arena, c->s->channel_blocks, "channel block"),
         c->number ? "" : "; where its parts are in rows");
    for (int k = 0; k < c->s->parts; k++)
        emit_tables_of(c, c->s->part[k]);
    blank(c->o);
}
