/* staged.c - staged items' row in the table of a GPU: see staged_plan.h. */
#include "schedule/staged/staged_emit.h"

#include "schedule/check.h"
#include "schedule/evaluations.h"
#include "schedule/index_words.h"
#include "schedule/item_rows.h"
#include "schedule/report.h"

static void areas(struct areas *all, const struct schedule *s)
{
    item_rows_areas(all, s, "cgtp_multiprocessors()", staged_partial(all->arena, s->own));
}

static void device(struct source *w, const struct schedule *s)
{
    staged_layout_name(w->arena, s);
    source_set(w, s);
    staged_kernel(w);
}

/* Are the weights of each path in one part, in order, and in a range of it? */
static void check_pieces(struct checker *c, const struct staged *g)
{
    const struct problem *p = g->demand->plan->problem;
    const int wide = 16 / kernel_size(g->demand->kernel);
    int *next = NEW_ARRAY(c->out->arena, int, p->paths + 1);
    for (int i = 0; i < g->parts; i++)
        check_that(c, g->part[i].base % wide == 0 && g->part[i].from < wide,
                   "part %d: begins %d elements after element %d", i, g->part[i].from, (int)g->part[i].base);
    for (int i = 0; i < g->parts; i++)
        for (int k = 0; k < g->part[i].pieces; k++) {
            const struct staged_part *part = &g->part[i];
            const struct staged_piece *q = &part->piece[k];
            const struct path *path = &p->path[q->path];
            const int64_t at = path->weight_offset - part->base;
            check_that(c, q->from == next[q->path], "part %d: channel %d of path %d comes after %d", i,
                       q->from, q->path, next[q->path]);
            check_that(c,
                       at + (int64_t)q->from * staged_row_length(path) >= part->from &&
                           at + (int64_t)q->to * staged_row_length(path) <= part->to,
                       "part %d: weights of path %d are not in it", i, q->path);
            next[q->path] = q->to;
        }
    for (int i = 0; i < p->paths; i++)
        check_that(c, !g->passes[i] || next[i] == p->path[i].mul_x, "path %d: %d channels of %d in parts", i,
                   next[i], p->path[i].mul_x);
}

/* Is each channel of the pieces of a part in one pass, in order, of a lane that there is? */
static void check_passes(struct checker *c, const struct staged *g, const struct staged_part *part,
                         enum staged_by by)
{
    static const char *const kind[BY_COUNT] = {"columns", "rows"};
    const struct problem *p = g->demand->plan->problem;
    const int segments = by == BY_ROWS ? p->x.n : p->z.n;
    int *first = NEW_ARRAY(c->out->arena, int, segments + 1),
        *next = NEW_ARRAY(c->out->arena, int, segments + 1);
    for (int i = 0; i < part->passes[by]; i++) {
        const struct staged_pass *pass = &part->pass[by][i];
        const int segment = pass->segment;
        check_that(c, next[segment] == 0 || pass->first == next[segment],
                   "%s of segment %d: channel %d comes after %d", kind[by], segment, pass->first,
                   next[segment]);
        check_that(c, pass->lanes <= STAGED_LANES && pass->warp < g->warps,
                   "%s of segment %d: lane %d of warp %d", kind[by], segment, pass->lanes, pass->warp);
        first[segment] = next[segment] ? first[segment] : pass->first;
        next[segment] = pass->first + pass->lanes * pass->channels;
    }
    for (int i = 0; i < part->pieces; i++) {
        const struct staged_piece *q = &part->piece[i];
        const struct path *path = &p->path[q->path];
        if (by == BY_COLUMNS && !staged_connects(path))
            continue;
        const int segment = staged_segment(path, by), from = by == BY_ROWS ? q->from : 0,
                  to = by == BY_ROWS ? q->to : path->mul_z;
        check_that(c, first[segment] <= from && next[segment] >= to,
                   "%s of segment %d: channels %d to %d of %d to %d", kind[by], segment, first[segment],
                   next[segment], from, to);
    }
}

/* Are a lane's channels neighbours in all paths of the pass? Has each path's y a place in sums? */
static void check_rows(struct checker *c, const struct staged *g)
{
    const struct problem *p = g->demand->plan->problem;
    for (int i = 0; i < g->whole.passes[BY_ROWS]; i++) {
        const struct staged_pass *pass = &g->whole.pass[BY_ROWS][i];
        for (int k = pass->piece; k >= 0; k = g->whole.piece[k].next[BY_ROWS]) {
            const int most = staged_row_channels(g, &p->path[g->whole.piece[k].path]);
            check_that(c, pass->channels <= most,
                       "rows of segment %d: %d channels of a lane of %d that may be", pass->segment,
                       pass->channels, most);
        }
    }
    for (int i = 0; i < p->paths; i++) {
        const struct segment *y = &p->y.segment[p->path[i].y];
        check_that(c,
                   !g->passes[i] || (y->offset >= g->sums_from &&
                                     y->offset + (int64_t)y->mul * (2 * y->ir.l + 1) <= g->sums_to),
                   "path %d: no sums of its gradients of y", i);
    }
}

static void check(struct checker *c, const struct schedule *s)
{
    const struct staged *g = s->own;
    const struct demand *d = s->demand;
    check_pieces(c, g);
    check_rows(c, g);
    if (staged_in_parts(g))
        check_passes(c, g, &g->whole, BY_ROWS);
    for (int i = 0; i < g->parts; i++) {
        check_passes(c, g, &g->part[i], BY_ROWS);
        if (demand_outputs_of(d, SLOT_G))
            check_passes(c, g, &g->part[i], BY_COLUMNS);
    }
    for (int o = 0; o < d->outputs; o++)
        for (int other = 0; other < o; other++)
            check_that(c, g->in_place[o] < 0 || g->in_place[o] != g->in_place[other],
                       "%s and %s take the place of the same weights", demand_output(d, other)->name,
                       demand_output(d, o)->name);
    check_that(c, g->stages >= 1, "a ring of %d stages", g->stages);
    const int items = (g->stages + g->parts - 2) / g->parts + 1; /* whose parts are worked on or under way */
    check_that(c, g->items >= items, "rows of %d items, of %d under way", g->items, items);
    item_rows_check_owner(c, s, g->owner);
    const char *wrong = layout_check(c->out->arena, g->block);
    check_that(c, !wrong, "shared memory: %s", wrong);
    check_that(c, g->block->bytes <= g->device->shared_bytes, "a block of %d bytes of %d that there are",
               g->block->bytes, g->device->shared_bytes);
}

/* Passes of all parts. */
static int passes_of(const struct staged *g, enum staged_by by)
{
    int n = 0;
    for (int i = 0; i < g->parts; i++)
        n += g->part[i].passes[by];
    return n;
}

static void report(struct report *r, const struct schedule *s)
{
    const struct staged *g = s->own;
    report_ring(r, "stages", g->stages, "team", staged_in_parts(g) ? "part" : "item");
    report_number(r, "parts", g->parts);
    if (g->owner != INDEX_ITEM)
        report_word(r, "in_the_order_of", index_words[g->owner].plural);
    report_number(r, "teams_per_block", g->teams);
    report_number(r, "warps_per_team", g->warps);
    report_part(r, "shared_bytes_per_block", g->block->bytes, g->device->shared_bytes);
    report_number(r, "registers_most", device_registers(g->device, g->teams * g->warps));
    report_number(r, "passes_by_columns", passes_of(g, BY_COLUMNS));
    report_number(r, "passes_by_rows", passes_of(g, BY_ROWS));
    report_flag(r, "passes_share_code", g->shares_code);
    report_flag(r, "by_table", g->tables != NULL);
    report_number(r, "instructions_per_item", g->work);
    report_layout(r, "shared_memory", g->block);
}

const struct evaluation staged_evaluation = {
    .name = "staged",
    .words = "staged items",
    .header = "cgtp_staged.h",
    .access.stored = 1u << SLOT_X | 1u << SLOT_Y | 1u << SLOT_W | 1u << SLOT_G,
    .refuses = staged_refuses,
    .refuses_path = staged_refuses_path,
    .plan = staged_plan,
    .check = check,
    .areas = areas,
    .reads_graph = item_rows_reads_graph,
    .device = device,
    .launch = staged_launch,
    .report = report,
};
