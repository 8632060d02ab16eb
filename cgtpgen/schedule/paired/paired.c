/* paired.c - paired items' row in the table of a GPU: see paired_plan.h. */
#include "schedule/paired/paired_emit.h"

#include "schedule/check.h"
#include "schedule/evaluations.h"
#include "schedule/index_words.h"
#include "schedule/item_rows.h"
#include "schedule/report.h"

static void areas(struct areas *all, const struct schedule *s)
{
    item_rows_areas(all, s, paired_blocks(all->arena, s->own), paired_partial(all->arena, s->own));
}

static void device(struct source *w, const struct schedule *s)
{
    paired_layout_name(w->arena, s);
    source_set(w, s);
    paired_kernel(w);
}

/* Is each channel of each path in one set? */
static void check_paths(struct checker *c, const struct schedule *s)
{
    const struct paired *g = s->own;
    const struct problem *p = s->demand->plan->problem;
    int *channels = NEW_ARRAY(c->out->arena, int, p->paths + 1);
    for (int i = 0; i < g->sets; i++)
        for (int k = 0; k < g->set[i].paths; k++) {
            int path = g->set[i].path[k];
            check_that(c, p->path[path].mul_x == g->set[i].mul && g->set[i].first == channels[path],
                       "path set %d: path %d from channel %d on, after %d", i, path, g->set[i].first,
                       channels[path]);
            channels[path] = g->set[i].first + g->set[i].lanes;
        }
    for (int i = 0; i < p->paths; i++) {
        int all = s->demand->variant_of[i] < 0 ? 0 : p->path[i].mul_x;
        check_that(c, channels[i] == all, "path %d: %d channels of %d", i, channels[i], all);
    }
}

static void check(struct checker *c, const struct schedule *s)
{
    const struct paired *g = s->own;
    int next = 0;
    check_paths(c, s);
    for (int k = 0; k < g->kinds; next += g->kind[k++].sets)
        check_that(c, g->kind[k].first == next, "kind %d begins with path set %d, not %d", k,
                   g->kind[k].first, next);
    check_that(c, next == g->sets, "kinds of %d path sets, not %d", next, g->sets);
    item_rows_check_owner(c, s, g->owner);
    if (g->direct) {
        check_that(c, paired_may_be_direct(s, g), "threads alone, where they have not all that they need");
        return;
    }
    for (int i = 0; i < g->sets; i++)
        check_that(c, g->items * g->set[i].lanes <= paired_threads(g),
                   "path set %d: %d channels of %d items for %d threads", i, g->set[i].lanes, g->items,
                   paired_threads(g));
    check_that(c, g->groups >= 1 && g->warps % g->groups == 0, "%d groups of %d warps", g->groups, g->warps);
    check_that(c, !g->in_place || paired_reads_once(g), "results in place of rows that are read again");
    const char *wrong = layout_check(c->out->arena, g->block);
    check_that(c, !wrong, "shared memory: %s", wrong);
    check_that(c, g->block->bytes <= g->device->shared_bytes, "a block of %d bytes of %d that there are",
               g->block->bytes, g->device->shared_bytes);
}

static void report(struct report *r, const struct schedule *s)
{
    const struct paired *g = s->own;
    report_number(r, "teams_per_block", g->teams);
    report_number(r, "blocks_per_multiprocessor", g->blocks);
    report_number(r, "warps_per_team", g->warps);
    report_number(r, "groups_per_team", g->groups);
    report_number(r, "items_per_team", g->items);
    if (g->owner != INDEX_ITEM)
        report_word(r, "in_the_order_of", index_words[g->owner].plural);
    if (!g->direct)
        report_part(r, "shared_bytes_per_block", g->block->bytes, g->device->shared_bytes);
    report_number(r, "registers_most", device_registers(g->device, g->teams * g->blocks * g->warps));
    report_flag(r, "weights_in_shared", g->keeps_weights);
    report_flag(r, "results_in_place", g->in_place);
    report_flag(r, "rows_where_they_stand", g->direct);
    report_number(r, "kinds", g->kinds);
    report_number(r, "instructions_per_item", g->work);
    for (int i = 0; i < g->sets; i++) {
        const struct paired_set *q = &g->set[i];
        struct report *record = report_record(r, "path_sets", "path set");
        report_list(record, "paths", q->paths, q->path);
        report_number(record, "kind", q->kind);
        report_number(record, "channels", q->lanes);
        report_number(record, "values", q->values);
        report_share(record, "instructions_per_channel", g->kind[q->kind].work);
    }
    if (!g->direct)
        report_layout(r, "shared_memory", g->block);
}

const struct evaluation paired_evaluation = {
    .name = "paired",
    .words = "paired items",
    .header = "cgtp_paired.h",
    .access.stored = 1u << SLOT_X | 1u << SLOT_Y | 1u << SLOT_W | 1u << SLOT_G,
    .refuses = paired_refuses,
    .refuses_path = paired_refuses_path,
    .plan = paired_plan,
    .check = check,
    .areas = areas,
    .reads_graph = item_rows_reads_graph,
    .device = device,
    .launch = paired_launch,
    .report = report,
};
