/* staged_pass.c - staged items: T, passes by columns, and all passes of a part (see staged_plan.h). */
#include "schedule/staged/staged_path.h"

static bool has_gradients(const struct demand *d)
{
    return demand_outputs_of(d, SLOT_X) + demand_outputs_of(d, SLOT_Y) + demand_outputs_of(d, SLOT_W) > 0;
}

/* Are there paths whose weights connect channels, that z is made of by columns; others, that do all by rows?
 */
static bool has_pieces(const struct staged *g, bool connected)
{
    bool any = false;
    for (int i = 0; i < g->whole.pieces; i++)
        any |= staged_connects(&g->demand->plan->problem->path[g->whole.piece[i].path]) == connected;
    return any;
}

/* ---- T ---- */

static void emit_tensors(struct staged_writer *c, const struct staged_part *part,
                         const struct staged_pass *pass)
{
    staged_open_channels(c, pass, "u");
    staged_load_x(c, pass);
    for (int i = pass->piece; i >= 0; i = part->piece[i].next[BY_ROWS]) {
        const struct staged_path q = staged_path_of(c, part, i);
        if (!q.v->zs)
            continue;
        staged_path_comment(&q);
        line(c->o, "{");
        staged_open_ys(&q, false);
        staged_make_tensors(&q);
        for (int t = 0; t < q.v->ts; t++)
            if (staged_keeps(q.v, t))
                line(c->o, "cgtp_store<%d>(%s, t%ds%d);", q.d, staged_tensor_at(&q, t), t, q.path->z);
        staged_close_ys(&q, false);
        line(c->o, "}");
    }
    staged_close_channels(c, pass);
}

/* ---- columns ---- */

static void emit_column(struct staged_writer *c, const struct staged_part *part,
                        const struct staged_pass *pass)
{
    const struct source *w = c->w;
    const int components = 2 * w->problem->z.segment[pass->segment].ir.l + 1;
    staged_open_channels(c, pass, "c");
    staged_begin_outputs(c, pass, SLOT_G, components, "c");
    for (int i = pass->piece; i >= 0; i = part->piece[i].next[BY_COLUMNS]) {
        const struct staged_path q = staged_path_of(c, part, i);
        staged_path_comment(&q);
        for (int k = 0; k < q.v->zs; k++) {
            const struct contract_z *z = &q.v->z[k];
            line(c->o, "cgtp_add_columns<%d, %d, %d, %d>(%ss%d, %s, %s + c);", pass->channels, q.d,
                 (q.piece->to - q.piece->from) * q.rows, q.m, w->form->output[z->output].symbol,
                 pass->segment, staged_tensor_from(&q, z->t, q.piece->from),
                 staged_weights_in(&q, staged_input(c, z->w)));
        }
    }
    staged_end_outputs(c, pass, SLOT_G, components, "c");
    staged_close_channels(c, pass);
}

/* ---- all passes ---- */

/* Passes of one segment follow each other in a part, 32 lanes after 32 lanes, and may have the same code: it
 * is there once. How many there are from number `first` on; *all: one of all their channels. */
static int alike(const struct staged *g, const struct staged_part *part, enum staged_by by, int first,
                 struct staged_pass *all)
{
    const struct staged_pass *pass = &part->pass[by][first];
    int n = 1;
    *all = *pass;
    for (; g->shares_code && first + n < part->passes[by] && pass[n].segment == pass->segment; n++)
        all->lanes += pass[n].lanes;
    return n;
}

/* Begins what the warps of so many alike passes do, each for its own; then come `more` of another segment. */
static void open_passes(struct staged_writer *c, const struct staged_pass *pass, int n,
                        const struct staged_pass *other, int more)
{
    struct text warp = {.arena = c->w->arena};
    for (int i = 0; i < n + more; i++) {
        const int of = i < n ? pass[i].warp : other[i - n].warp;
        if (i + 1 < n + more)
            text_printf(&warp, "i == %d ? %d : ", i, of);
        else
            text_printf(&warp, "%d", of);
    }
    if (n + more > 1) {
        line(c->o, "CGTP_LOOP");
        line(c->o, "for (int i = 0; i < %d; i++) {", n + more);
    }
    if (c->g->warps > 1)
        line(c->o, n + more > 1 ? "if (warp == (%s)) {" : "if (warp == %s) {", text_string(&warp));
}

static void close_passes(struct staged_writer *c, int n)
{
    if (c->g->warps > 1)
        line(c->o, "}");
    if (n > 1)
        line(c->o, "}");
}

/* All passes, each by its warp. */
static void emit_passes(struct staged_writer *c, const struct staged_part *part, enum staged_by by,
                        void (*emit)(struct staged_writer *, const struct staged_part *,
                                     const struct staged_pass *))
{
    const int passes = part->passes[by];
    const struct staged_pass *pass = part->pass[by];
    bool *done = NEW_ARRAY(c->w->arena, bool, passes + 1);
    int *path = NEW_ARRAY(c->w->arena, int, c->w->problem->paths + 1);
    for (int i = 0, n; i < passes; i += n) {
        struct staged_pass all, others;
        int j = i, more = 0;
        n = alike(c->g, part, by, i, &all);
        if (done[i])
            continue;
        for (j = i + n; j < passes && j <= i + STAGED_NEAR && c->g->shares_code && by == BY_ROWS && !more;
             j++)
            if (!done[j] && staged_alike(c->g, part, &pass[i], &pass[j], path))
                more = alike(c->g, part, by, j, &others);
        const struct staged_pass *other = &pass[j - 1];
        for (int k = 0; k < more; k++)
            done[j - 1 + k] = true;
        if (i && all.tied)
            line(c->o, "cgtp_sync_warp(); /* to the same channels of z */");
        c->alike = (struct staged_alike){more ? n : 0, more ? other->segment : 0, path};
        open_passes(c, &pass[i], n, other, more);
        emit(c, part, &all);
        close_passes(c, n + more);
        c->alike = (struct staged_alike){0};
    }
}

void staged_work(struct staged_writer *c, const struct staged_part *part)
{
    const struct staged *g = c->g;
    const bool columns = demand_outputs_of(c->w->demand, SLOT_G) && has_pieces(g, true),
               rows = has_gradients(c->w->demand) || has_pieces(g, false);
    if (g->whole.pieces == 0)
        return;
    if (columns && part == g->part) {
        line(c->o, "/* T, by channels of x */");
        emit_passes(c, &g->whole, BY_ROWS, emit_tensors);
        line(c->o, "cgtp_sync_group<%d>();", g->warps);
    }
    if (columns) {
        line(c->o, "/* by columns of weights, channels of z */");
        emit_passes(c, part, BY_COLUMNS, emit_column);
    }
    if (rows) {
        if (columns)
            line(c->o, "cgtp_sync_group<%d>(); /* nobody reads weights by columns any more */", g->warps);
        line(c->o, "/* by rows of weights, channels of x */");
        emit_passes(c, part, BY_ROWS, staged_row);
    }
}
