/* convolution.c - the pipelined convolution's row in the table of a GPU: see conv_plan.h. */
#include "schedule/convolution/conv_emit.h"
#include "schedule/convolution/conv_plan.h"

#include "schedule/check.h"
#include "schedule/evaluations.h"
#include "schedule/gather.h"
#include "schedule/program.h"

#include <string.h>

static void areas(struct areas *all, const struct schedule *s)
{
    struct arena *a = all->arena;
    const struct conv_kernel g = conv_kernel_of(a, s);
    areas_add_counted(all, "unsigned", arena_printf(a, "counters_%s", g.name), conv_counters(a, &g), 1);
    if (g.first->walk.shares) {
        const char *rows = conv_partial_rows(a, &g);
        areas_add_counted(all, "unsigned", arena_printf(a, "flag_%s", g.name), rows, 1);
        areas_add_counted(all, "real", arena_printf(a, "partial_%s", g.name), rows,
                          conv_partial_bytes(s, g.first) / g.first->size);
    }
    for (int o = 0; o < s->demand->outputs; o++) {
        const char *output = demand_output(s->demand, o)->symbol;
        if (s->route[o].kind == ROUTE_EDGE_BUFFER) {
            areas_add_divided(all, "real", arena_printf(a, "%sedges", output), g.edge_row);
            gather_areas(all, s, o);
        }
        if (s->route[o].kind == ROUTE_PARTS)
            areas_add(all, "real", arena_printf(a, "%sparts", output), INDEX_ITEM,
                      g.parts * s->demand->plan->problem->dim[SLOT_Y]);
    }
}

static void reads_graph(const struct schedule *s, bool *receiver_row, bool *by_sender)
{
    *receiver_row = true;
    for (int o = 0; o < s->demand->outputs; o++)
        *by_sender |= s->route[o].kind == ROUTE_EDGE_BUFFER;
}

static void device(struct source *w, const struct schedule *s)
{
    int label = 0; /* path sets before these in the file */
    for (const struct schedule *q = w->kernel->schedule; q < s; q++)
        label += q->evaluation == s->evaluation ? conv_kernel_of(w->arena, q).sets : 0;
    source_set(w, s);
    conv_kernels(w, label);
}

/* Does the loop of a path set compute another? */
static bool is_like(const struct plan *plan, const struct path_list *q, const struct path_list *loop)
{
    bool like = q->paths == loop->paths && q->sums == loop->sums;
    for (int i = 0; i < q->paths && like; i++) {
        const struct path *p = &plan->problem->path[q->path[i]], *r = &plan->problem->path[loop->path[i]];
        like = p->mul_x == r->mul_x && p->y == r->y && p->weighted == r->weighted &&
               plan->path[p->number].matrix == plan->path[r->number].matrix;
    }
    return like;
}

/* A set's paths that one code computes follow each other, the first of them first. */
static void check_together(struct checker *c, const struct path *path, const struct pipeline *p)
{
    for (int i = 0; i < p->steps; i++) {
        const struct call *call = p->step[i].kind == STEP_CALL ? p->step[i].call : NULL;
        int at = 0;
        if (!call || !call->code || !call->code->matrices)
            continue;
        while (at < p->set->paths && p->set->path[at] != call->path)
            at++;
        for (int k = 0; k < call->code->matrices; k++)
            check_that(c,
                       at + k < p->set->paths && path[p->set->path[at + k]].l3 == call->code->matrix[k]->l3,
                       "path %d is computed with others than its own", call->path);
    }
}

/* Numbers of a lane in the longest segment of z. */
static int longest_z(const struct schedule *s, const struct pipeline *p)
{
    int longest = 0;
    for (int i = 0; i < p->set->zs; i++) {
        const struct path *q = &s->demand->plan->problem->path[p->set->z[i]];
        int at = 0;
        while (p->spread[at].mul != q->mul_x)
            at++;
        const int n = p->spread[at].channels * (2 * q->l3 + 1);
        longest = longest > n ? longest : n;
    }
    return longest;
}

/* Are rounding errors of sums at nodes carried along? */
static bool carries(const struct schedule *s)
{
    const struct spec *spec = s->demand->plan->problem->spec;
    return spec->compensated || spec->sum != spec->compute;
}

/* The channels of a path set, and what leaves of it. */
static void check_set(struct checker *c, const struct schedule *s, const struct pipeline *p, int number)
{
    const struct worker *k = &p->worker;
    const int stages = p->of_warp.field[0].count[0];
    check_that(c, stages >= 2, "a ring of %d stages", stages);
    const int room = stages * p->group[RING].layout.bytes + p->group[STAGING].layout.bytes;
    const int sum = precision_table[s->demand->plan->problem->spec->sum].bytes;
    check_that(c, !p->walk.teams || p->worker.lanes * p->set->sums * sum <= room,
               "path set %d: a team's sums are larger than its rings and buffers", number);
    for (int i = 0; i < p->spreads; i++) {
        const struct spread *q = &p->spread[i];
        const int width = q->lanes * q->channels;
        check_that(c, q->blocks * width >= q->mul && k->lanes % q->lanes == 0,
                   "path set %d: %d warps do not have %d channels", number, q->blocks, q->mul);
        check_that(c, q->lanes == k->lanes || (q->blocks == 1 && k->warps == 1 && !carries(s)),
                   "path set %d: edges side by side whose sums others share", number);
    }
    for (int i = 0; i < p->places; i++) {
        const int bytes = k->lanes * longest_z(s, p) * p->size,
                  room = p->place[i].fields ? p->place[i].field->length * p->size : 0;
        check_that(c, strcmp(p->place[i].name, "rows") != 0 || bytes <= room,
                   "path set %d: a row of %d bytes does not fit its buffer of %d", number, bytes, room);
    }
}

static void check(struct checker *c, const struct schedule *s)
{
    const struct spec *spec = s->demand->plan->problem->spec;
    const struct conv_kernel g = conv_kernel_of(c->out->arena, s);
    int number = 0;
    program_check(c, s);
    check_that(c, g.first->walk.orders == spec_orders(spec),
               "rows of items are %sthose of edges as they come", g.first->walk.orders ? "not " : "");
    for (int o = 0; o < s->demand->outputs; o++) {
        const bool node = demand_operand(s->demand, o)->index != INDEX_ITEM;
        check_that(c, route_keeps(&s->route[o]) == (node && carries(s)),
                   "rounding errors of %s are %scarried along", demand_output(s->demand, o)->name,
                   route_keeps(&s->route[o]) ? "" : "not ");
    }
    for (const struct pipeline *p = g.first; p; number += p->sets, p = p->next) {
        check_that(c, !p->walk.teams || !g.reduces || g.warps % p->spread[0].blocks == 0,
                   "teams of warps of several blocks");
        check_set(c, s, p, number);
        check_together(c, s->demand->plan->problem->path, p);
        for (int i = 1; i < p->sets; i++)
            check_that(c, is_like(s->demand->plan, &p->set[i], p->set),
                       "path set %d has not the loop of path set %d", number + i, number);
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
