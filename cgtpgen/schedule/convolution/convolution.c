/* convolution.c - the pipelined convolution's row in the table of a GPU: see conv_plan.h. */
#include "schedule/convolution/conv_emit.h"

#include "schedule/check.h"
#include "schedule/evaluations.h"
#include "schedule/gather.h"
#include "schedule/program.h"

static void areas(struct areas *all, const struct schedule *s)
{
    const struct convolution *g = s->own;
    struct arena *a = all->arena;
    const char *name = arena_printf(a, "%s_%s", s->demand->kernel->form->name, s->name);
    areas_add_counted(all, "unsigned", arena_printf(a, "counters_%s", name), conv_counters(a, g), 1);
    if (g->hands_over) {
        int longest = 0;
        for (int i = 0; i < g->sets; i++)
            longest = longest > g->set[i].g_length ? longest : g->set[i].g_length;
        const char *rows = conv_partial_rows(a, g);
        areas_add_counted(all, "unsigned", arena_printf(a, "flag_%s", name), rows, 1);
        areas_add_counted(all, "real", arena_printf(a, "partial_%s", name), rows,
                          (int64_t)LANES * longest * conv_sum_words(g));
    }
    for (int o = 0; o < s->demand->outputs; o++) {
        const char *output = demand_output(s->demand, o)->symbol;
        if (s->route[o].kind == ROUTE_EDGE_BUFFER) {
            areas_add_divided(all, "real", arena_printf(a, "%sedges", output), g->edge_row);
            gather_areas(all, s, o);
        }
        if (s->route[o].kind == ROUTE_PARTS)
            areas_add(all, "real", arena_printf(a, "%sparts", output), INDEX_ITEM,
                      g->parts * s->demand->plan->problem->dim[SLOT_Y]);
    }
}

static void reads_graph(const struct schedule *s, bool *receiver_row, bool *by_sender)
{
    *receiver_row = true;
    for (int o = 0; o < s->demand->outputs; o++)
        *by_sender |= s->route[o].kind == ROUTE_EDGE_BUFFER;
}

/* Names the device code of a schedule, and its structs. */
static void name_layouts(struct arena *a, const struct schedule *schedule, int label)
{
    struct convolution *g = schedule->own;
    g->name = arena_printf(a, "%s_%s", schedule->demand->kernel->form->name, schedule->name);
    g->label = label;
    for (int i = 0; i < g->sets; i++) {
        struct path_set *s = &g->set[i];
        if (s->like != i)
            continue;
        conv_stage_of(s)->name = arena_printf(a, "stage_%d", label + i);
        s->pipeline->of_warp.name = arena_printf(a, "warp_%d", label + i);
        conv_reduce_of(s)->name = arena_printf(a, "reduce_%d", g->one_reduce ? label : label + i);
    }
    g->warp->name = arena_printf(a, "%s_warp", g->name);
    g->reduce->name = arena_printf(a, "%s_reduce", g->name);
    g->block->name = arena_printf(a, "%s_block", g->name);
}

static void device(struct source *w, const struct schedule *s)
{
    int label = 0; /* path sets before these in the file */
    for (const struct schedule *q = w->kernel->schedule; q < s; q++)
        label += q->evaluation == s->evaluation ? ((const struct convolution *)q->own)->sets : 0;
    name_layouts(w->arena, s, label);
    source_set(w, s);
    conv_kernels(w);
}

/* Does the loop of a path set compute another? */
static bool is_like(const struct convolution *g, const struct path_set *q, const struct path_set *loop)
{
    const struct path *path = g->demand->plan->problem->path;
    bool like = q->paths == loop->paths && q->channels == loop->channels && q->lanes == loop->lanes &&
                q->mul == loop->mul;
    for (int i = 0; i < q->paths && like; i++)
        like = g->code[q->path[i]] == g->code[loop->path[i]] &&
               path[q->path[i]].mul_x == path[loop->path[i]].mul_x &&
               g->matrix[q->path[i]] == g->matrix[loop->path[i]] &&
               path[q->path[i]].y == path[loop->path[i]].y;
    return like;
}

/* A set's paths that one code computes follow each other, the first of them first. */
static void check_together(struct checker *c, const struct convolution *g, const struct path_set *q)
{
    for (int i = 0, first = 0; i < q->paths; i++) {
        const struct code *code = g->code[q->path[first]];
        if (!code || i >= first + (code->matrices ? code->matrices : 1))
            first = i;
        check_that(c, !g->code[q->path[i]] || g->first[q->path[i]] == q->path[first],
                   "path %d is not computed where path %d is", q->path[i], q->path[first]);
    }
}

static void check(struct checker *c, const struct schedule *s)
{
    const struct convolution *g = s->own;
    program_check(c, s);
    check_that(c, g->orders == spec_orders(s->demand->plan->problem->spec),
               "rows of items are %sthose of edges as they come", g->orders ? "not " : "");
    for (int o = 0; o < s->demand->outputs; o++) {
        const bool node = demand_operand(s->demand, o)->index != INDEX_ITEM;
        check_that(c, route_keeps(&s->route[o]) == (node && g->carries),
                   "rounding errors of %s are %scarried along", demand_output(s->demand, o)->name,
                   route_keeps(&s->route[o]) ? "not " : "");
    }
    check_that(c, g->stages >= 2, "a ring of %d stages", g->stages);
    check_that(c, !g->teams || (g->sets == 1 && g->warps % g->set[0].channel_blocks == 0),
               "teams of warps of several blocks");
    for (int i = 0; i < g->sets; i++) {
        const struct path_set *q = &g->set[i];
        check_that(c, !g->teams || conv_team_fits(g, q),
                   "path set %d: a team's sums are larger than its rings", i);
        check_that(c, !g->g_outputs || q->longest <= g->buffer_bytes,
                   "path set %d: a row of %d bytes does not fit its buffer of %d", i, q->longest,
                   g->buffer_bytes);
        check_together(c, g, q);
        check_that(c, is_like(g, q, &g->set[q->like]), "path set %d has not the loop of path set %d", i,
                   q->like);
        check_that(c,
                   q->channel_blocks * q->lanes * q->channels >= q->mul &&
                       (q->channel_blocks - 1) * q->lanes * q->channels < q->mul && LANES % q->lanes == 0,
                   "path set %d: %d warps do not have %d channels", i, q->channel_blocks, q->mul);
        check_that(c, q->lanes == LANES || (q->channel_blocks == 1 && !g->reduces && !g->carries),
                   "path set %d: edges side by side whose sums others share", i);
    }
}

const struct evaluation convolution_evaluation = {
    .name = "convolution",
    .words = "pipelined convolution",
    .header = "cgtp_convolution.h",
    .access.rounded = 1u << SLOT_X | 1u << SLOT_G,
    .access.written = 1u << SLOT_Y,
    .access.stored = 1u << SLOT_X | 1u << SLOT_W | 1u << SLOT_G,
    .refuses = conv_refuses,
    .refuses_path = conv_refuses_path,
    .plan = conv_plan,
    .registers = program_registers,
    .finish = program_sync,
    .check = check,
    .areas = areas,
    .reads_graph = reads_graph,
    .device = device,
    .launch = conv_launch,
    .report = program_report,
};
