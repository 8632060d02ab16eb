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

/* "set_0", "set_0_of_64": the struct that tables of a spread begin with. */
static const char *table_of(const struct conv *c, const struct spread *s)
{
    return arena_printf(c->w->arena, "set_%d%s", c->label, s->name);
}

static int mul_of_z(const struct conv *c, int i)
{
    return c->w->problem->path[c->s->z[i]].mul_x;
}

/* The factors of the path's components of slot z, that its matrix leaves out; NULL: none. */
static const struct surd *factors_of(const struct conv *c, int path)
{
    const struct matrix *m = NULL;
    for (int i = 0; i < c->p->steps && !m; i++)
        if (c->p->step[i].kind == STEP_CALL && c->p->step[i].call->path == path)
            m = c->p->step[i].call->matrix;
    return m && matrix_has_factors(m) ? m->column : NULL;
}

/* The factors of slot z's components, by path; true: there are none. */
static bool emit_factors(struct conv *c, int mul, bool only_asks)
{
    struct source *w = c->w;
    struct text all = {.arena = w->arena};
    bool none = true;
    for (int i = 0; i < c->s->zs; i++)
        none &= mul_of_z(c, i) != mul || !factors_of(c, c->s->z[i]);
    if (none || only_asks)
        return none;
    line(c->o, "static constexpr real factor[] = {");
    for (int i = 0; i < c->s->zs; i++) {
        const struct path *p = &w->problem->path[c->s->z[i]];
        const struct surd *column = factors_of(c, c->s->z[i]);
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
    return false;
}

static void emit_z_table(struct conv *c, const struct spread *s, const struct operand *z, bool factors)
{
    const struct operand_block **block = NEW_ARRAY(c->w->arena, const struct operand_block *, c->s->zs + 1);
    int64_t *offset = NEW_ARRAY(c->w->arena, int64_t, c->s->zs + 1);
    const char *table = table_of(c, s);
    const int aligned = c->p->aligned[SLOT_G];
    int n = 0;
    for (int i = 0; i < c->s->zs; i++) {
        block[n] = operand_block_of(z, &c->w->problem->path[c->s->z[i]]);
        offset[n] = block[n]->offset;
        n += mul_of_z(c, i) == s->mul;
    }
    const char *all = segments(c->w->arena, n, block, offset);
    if (!factors || emit_factors(c, s->mul, true)) {
        emit_table(c, table, "z", aligned, all);
        return;
    }
    line(c->o, "struct %s_z : %s {", table, table);
    line(c->o, ALIGNED, aligned);
    line(c->o, "%s", all);
    emit_factors(c, s->mul, false);
    line(c->o, "};");
}

/* Of x, in its own rows or in those of the buffer of edges. */
static void emit_x_table(struct conv *c, const struct spread *s, const struct operand *x, bool edges)
{
    const struct operand_block **block = NEW_ARRAY(c->w->arena, const struct operand_block *, c->s->xs + 1);
    int64_t *offset = NEW_ARRAY(c->w->arena, int64_t, c->s->xs + 1), at = c->s->edge_at;
    int n = 0;
    for (int i = 0; i < c->s->xs; i++) {
        block[n] = &x->block[c->s->x[i]];
        offset[n] = edges ? at : block[n]->offset;
        at += block[n]->channels * block[n]->components;
        n += block[n]->channels == s->mul;
    }
    if (n)
        emit_table(c, table_of(c, s), edges ? "edge" : "x",
                   edges ? c->p->aligned_edges : c->p->aligned[SLOT_X],
                   segments(c->w->arena, n, block, offset));
}

/* Of weights that come in, in the order of their fields. */
static void emit_w_table(struct conv *c, int spread)
{
    struct text list = {.arena = c->w->arena};
    const struct place *q = c->p->place;
    while (!(q->how == HOW_ASYNC && q->operand->slot == SLOT_W))
        q++;
    for (int i = 0; i < q->fields; i++)
        if (q->field[i].spread == spread)
            text_printf(&list, "%s%lld", list.n ? ", " : "", (long long)q->field[i].base);
    if (list.n)
        emit_table(
            c, table_of(c, &c->p->spread[spread]), "w", c->p->aligned[SLOT_W],
            arena_printf(c->w->arena, "static constexpr int64_t offset[] = {%s};", text_string(&list)));
}

static void emit_spread(struct conv *c, const struct spread *s)
{
    line(c->o, "struct %s { static constexpr int mul = %d, channels = %d, lanes = %d, blocks = %d; };",
         table_of(c, s), s->mul, s->channels, s->lanes, s->blocks);
}

/* The tables of weights of paths of so many channels, where each has several. */
static void emit_tables_by(struct conv *c, int mul)
{
    for (int k = 0; k < c->p->spreads; k++)
        if (c->p->spread[k].of > 1 && c->p->spread[k].mul == mul * c->p->spread[k].of) {
            emit_spread(c, &c->p->spread[k]);
            emit_w_table(c, k);
        }
}

/* An array of the slot, of which the kernel has one: all have the same layout. */
static const struct operand *array_of(const struct source *w, enum slot slot)
{
    const struct operand *o = w->demand->kernel->operand;
    while (o->slot != slot)
        o++;
    return o;
}

/* The tables of paths of so many channels. */
static void emit_tables_of(struct conv *c, int spread)
{
    struct source *w = c->w;
    const struct spread *s = &c->p->spread[spread];
    const struct place *edges = conv_edge_place(c->p);
    const bool in_edges = edges && strcmp(edges->table, "edge") == 0;
    emit_spread(c, s);
    const bool z = demand_inputs_of(w->demand, SLOT_G) || demand_outputs_of(w->demand, SLOT_G);
    if (demand_inputs_of(w->demand, SLOT_X) || (edges && !in_edges))
        emit_x_table(c, s, array_of(w, SLOT_X), false);
    if (in_edges)
        emit_x_table(c, s, array_of(w, SLOT_X), true);
    if (demand_inputs_of(w->demand, SLOT_W)) {
        emit_w_table(c, spread);
        emit_tables_by(c, s->mul);
    }
    if (z)
        emit_z_table(c, s, array_of(w, SLOT_G), true);
    for (int i = 1; i < c->alike; i++) {
        struct conv other = conv_after(c, i);
        line(c->o, "/* Path set %d is like it; its paths are %s. */", other.number,
             report_ranges(w->arena, other.s->paths, other.s->path));
        line(c->o, "struct %s : %s {};", table_of(&other, s), table_of(c, s));
        if (z)
            emit_z_table(&other, s, array_of(w, SLOT_G), false);
    }
}

void conv_tables(struct conv *c)
{
    struct source *w = c->w;
    int channels = 0, mul = 0;
    for (int k = 0; k < c->p->spreads; k++)
        if (c->p->spread[k].of == 1 && c->p->spread[k].mul > mul) {
            mul = c->p->spread[k].mul;
            channels = c->p->spread[k].channels;
        }
    line(c->o, "/* Path set %d: %s, %s per lane, %s%s. */", c->number, plural(w->arena, c->s->paths, "path"),
         plural(w->arena, channels, "channel"), plural(w->arena, c->blocks, "channel block"),
         c->number ? "" : "; where its parts are in rows");
    for (int k = 0; k < c->p->spreads; k++)
        if (c->p->spread[k].of == 1)
            emit_tables_of(c, k);
    blank(c->o);
}
