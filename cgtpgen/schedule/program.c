/* program.c - see program.h. */
#include "schedule/program.h"
#include "pipeline/build.h"
#include "pipeline/cost.h"
#include "schedule/source.h"

#include <string.h>

#include "schedule/check.h"
#include "schedule/clear.h"
#include "schedule/item_rows.h"
#include "schedule/path.h"
#include "schedule/path_device.h"
#include "schedule/print.h"
#include "schedule/report.h"

/* The paths that calls name. */
static void find_set(struct pipeline *p, int paths)
{
    int *path = NEW_ARRAY(p->arena, int, paths + 1), n = 0;
    bool *has = NEW_ARRAY(p->arena, bool, paths + 1);
    for (int i = 0; i < p->steps; i++)
        if (p->step[i].kind == STEP_CALL && p->step[i].call->path >= 0)
            has[p->step[i].call->path] = true;
    for (int i = 0; i < paths; i++)
        if (has[i])
            path[n++] = i;
    build_set(p, n, path);
}

const char *program_finish(struct schedule *s, struct pipeline *p, int registers)
{
    const char *why = item_rows_owned(p->arena, s);
    if (why)
        return why;
    s->pipeline = p;
    p->synced = s->target->synced;
    s->registers = registers;
    s->operations = demand_operations(s->demand);
    s->cost = cost_items(p, &s->operations);
    if (!p->sets)
        find_set(p, s->demand->plan->problem->paths);
    p->answers = s->demand->plan->answers;
    pipeline_registers(p, registers);
    return pipeline_sync(p);
}

void program_registers(struct arena *a, struct schedule *s)
{
    (void)a;
    for (struct pipeline *p = s->pipeline; p; p = p->next) {
        if (p->registers.taken == 0) { /* not counted yet */
            p->answers = s->demand->plan->answers;
            pipeline_registers(p, s->registers);
            p->work = cost_work(p);
        }
        s->spills |= p->registers.spills;
    }
}

void program_sync(struct schedule *s)
{
    for (struct pipeline *p = s->pipeline; p; p = p->next) {
        p->synced = s->target->synced;
        p->unsound = pipeline_sync(p);
    }
}

static void check_sync(struct checker *c, const struct pipeline *p, int bytes)
{
    struct text said = {.arena = c->out->arena};
    pipeline_check(p, bytes, &said);
    for (const char *line = text_string(&said), *end; *line; line = end + 1) {
        end = line + strcspn(line, "\n");
        check_that(c, false, "%.*s", (int)(end - line), line);
    }
}

void program_check(struct checker *c, const struct schedule *s)
{
    const int paths = s->demand->plan->problem->paths;
    int *times = NEW_ARRAY(c->out->arena, int, paths + 1);
    for (const struct pipeline *p = s->pipeline; p; p = p->next) {
        check_that(c, !p->unsound, "%s", p->unsound);
        check_sync(c, p, s->target->device->shared_bytes);
        for (int i = 0; i < p->sets; i++)
            for (int k = 0; k < p->set[i].paths; k++)
                times[p->set[i].path[k]]++;
    }
    for (int i = 0; i < paths; i++)
        check_that(c, times[i] == (s->demand->variant_of[i] >= 0), "path %d is in %d path sets", i, times[i]);
}

/* Blocks of a launch, at most: a C expression. */
static const char *program_blocks(struct arena *a, const struct pipeline *p)
{
    return p->worker.blocks > 1 ? arena_printf(a, "cgtp_multiprocessors() * %d", p->worker.blocks)
                                : "cgtp_multiprocessors()";
}

void program_areas(struct areas *all, const struct schedule *s)
{
    item_rows_areas(all, s, program_blocks(all->arena, s->pipeline), NULL);
}

struct device_path program_path(struct source *w, struct out *o, const struct pipeline *p,
                                const struct call *c)
{
    const struct path_plan *e = &w->plan->path[c->path];
    const int spread = c->spread < 0 ? 0 : c->spread;
    return (struct device_path){.w = w,
                                .o = o,
                                .path = e->path,
                                .code = c->code,
                                .matrix = c->matrix ? c->matrix : e->matrix,
                                .channels = p->spreads ? p->spread[spread].channels : 1,
                                .rows = p->walk.warps ? "rows" : NULL};
}

/* The function of a call's code, and its name for the call. */
static void emit_function(struct source *w, struct out *o, const struct pipeline *p, struct call *c)
{
    const struct device_path f = program_path(w, o, p, c);
    device_path_function(&f);
    c->function = device_path_name(&f);
}

static struct call *code_of(const struct pipeline *p, int step)
{
    struct call *c = p->step[step].kind == STEP_CALL ? p->step[step].call : NULL;
    return c && c->code ? c : NULL;
}

void program_functions(struct source *w, struct out *o, const struct pipeline *p)
{
    int *first = NEW_ARRAY(w->arena, int, w->problem->paths + 1); /* step with a path's code, plus 1; */
    int *next = NEW_ARRAY(w->arena, int, p->steps + 1);           /* the one after it; 0: none */
    for (int i = p->steps - 1; i >= 0; i--)
        if (code_of(p, i)) {
            next[i] = first[code_of(p, i)->path];
            first[code_of(p, i)->path] = i + 1;
        }
    for (int i = 0; i < p->steps; i++)
        if (code_of(p, i)) {
            for (int k = first[code_of(p, i)->path]; k; k = next[k - 1])
                emit_function(w, o, p, code_of(p, k - 1));
            first[code_of(p, i)->path] = 0;
        }
}

static const char *kernel_of(const struct source *w, const struct schedule *s)
{
    return arena_printf(w->arena, "%s_%s", s->demand->kernel->form->name, s->name);
}

void program_device(struct source *w, const struct schedule *s)
{
    struct out o = {.text = w->out};
    source_set(w, s);
    const struct print_words words = {
        .name = kernel_of(w, s), .items = source_items(w), .real = w->spec->compute, .note = SOURCE_WAITS};
    pipeline_print_structs(&o, s->pipeline, words.name);
    product_functions_begin(w->arena, &w->functions);
    device_path_note(&o);
    program_functions(w, &o, s->pipeline);
    (s->pipeline->walk.warps ? pipeline_print_items : pipeline_print_cuda)(&o, s->pipeline, &words);
    item_rows_kernels(w, &o);
}

bool program_covers(const struct schedule *s, const struct operand *o)
{
    bool *has = NEW_ARRAY(s->pipeline->arena, bool, o->blocks + 1);
    int64_t written = 0;
    for (const struct pipeline *p = s->pipeline; p; p = p->next)
        for (int i = 0; i < p->sets; i++)
            for (int k = 0; k < p->set[i].paths; k++) {
                const struct path *path = &s->demand->plan->problem->path[p->set[i].path[k]];
                has[operand_block_of(o, path) - o->block] = true;
            }
    for (int i = 0; i < o->blocks; i++)
        written += has[i] * o->block[i].channels * o->block[i].components;
    return written == o->dim || o->slot == SLOT_Y || o->slot == SLOT_W;
}

void program_launch(struct source *w, const struct schedule *s)
{
    source_set(w, s);
    const struct worker *k = &s->pipeline->worker;
    const char *rows = source_rows(w->plan, INDEX_ITEM);
    const char *grid = s->pipeline->walk.warps
                           ? arena_printf(w->arena, "cgtp_items_grid(%s, %d, %d)", rows, k->teams, k->blocks)
                           : arena_printf(w->arena, "cgtp_tile_grid(%s)", rows);
    struct clear c = clear_begin(w->arena);
    for (int o = 0; o < w->demand->outputs; o++)
        if (s->pipeline->spreads && !program_covers(s, demand_operand(w->demand, o)))
            clear_rows(&c, w, demand_operand(w->demand, o));
    clear_launch(&c, w);
    source_step(w, arena_printf(w->arena,
                                "cgtp_launch_early(code::%s, %s, %d, sizeof(code::%s_block), stream, l)",
                                kernel_of(w, s), grid, k->lanes * k->warps * k->teams, kernel_of(w, s)));
    item_rows_finish(w, grid, NULL);
}

static int count(const struct pipeline *p, enum step_kind kind)
{
    int n = 0;
    for (int i = 0; i < p->steps; i++)
        n += p->step[i].kind == kind;
    return n;
}

static void report_registers(struct report *r, const struct pipeline *p, int most)
{
    report_part(r, "values_alive", p->registers.alive, most);
    report_part(r, "registers_least", p->registers.least, most);
    report_part(r, "registers", p->registers.taken, most);
}

/* The widest of its spreads; the numbers of channels of all. */
static const struct spread *report_spreads(struct report *r, const struct pipeline *p)
{
    int *mul = NEW_ARRAY(r->arena, int, p->spreads + 1), widest = 0, n = 0;
    for (int i = 0; i < p->spreads && p->spread[i].of == 1; i++) {
        mul[n++] = p->spread[i].mul;
        widest = mul[i] > mul[widest] ? i : widest;
    }
    if (n > 1)
        report_list(r, "channels", n, mul);
    else
        report_number(r, "channels", *mul);
    return &p->spread[widest];
}

/* The stages of its ring. */
static int stages_of(const struct pipeline *p)
{
    int stages = 1;
    for (int i = 0; i < p->places; i++)
        if (p->place[i].how == HOW_ASYNC && p->place[i].group == 0)
            stages = p->place[i].stages;
    return stages;
}

/* Path sets of edges. loop: the first that its pipeline computes; rings: are these of different stages? */
static void report_set(struct report *r, const struct pipeline *p, int set, int loop, bool shared, bool rings,
                       int most)
{
    report_list(r, "paths", p->set[set].paths, p->set[set].path);
    const struct spread *s = report_spreads(r, p);
    report_number(r, "channels_per_lane", s->channels);
    if (shared)
        report_number(r, "loop_of_path_set", loop);
    report_channels(r, "channel_blocks", s->blocks, s->lanes * s->channels, "warp");
    if (p->items > 1)
        report_number(r, "edges_side_by_side", p->items);
    report_registers(r, p, most);
    report_number(r, "stage_bytes", p->group[0].layout.bytes);
    if (rings)
        report_number(r, "stages", stages_of(p));
    const struct work *work =
        p->registers.taken ? &p->work : &p->planned; /* with registers it is counted, too */
    report_number(r, "instructions_per_edge", (int)cost_instructions(work));
    report_number(r, "bytes_per_edge", (int)work->bytes);
    report_share(r, "time_per_edge", (int)cost_share(work, p->size / 4));
}

static bool has_route(const struct schedule *s, enum route_kind kind)
{
    bool has = false;
    for (int o = 0; o < s->demand->outputs; o++)
        has |= s->route[o].kind == kind;
    return has;
}

/* Items that warps take in turn: path sets, each of which has a place of the ring. */
static void report_items(struct report *r, const struct pipeline *p)
{
    int blocks = 0, set = 0;
    bool sides = false;
    for (int i = 0; i < p->spreads; i++)
        blocks = blocks > p->spread[i].blocks ? blocks : p->spread[i].blocks;
    for (int i = 0; i < p->loop_count; i++)
        sides |= p->loop[i].side > 1;
    report_number(r, "channels_per_lane", p->spread[0].channels);
    report_channels(r, "channel_blocks", blocks, p->worker.lanes * p->spread[0].channels, "turn");
    report_number(r, "phases", count(p, STEP_FILL));
    for (int i = 0; i < p->places; i++) {
        const struct place *q = &p->place[i];
        if (q->group != 0 || q->how != HOW_ASYNC)
            continue;
        struct report *record = report_record(r, "path_sets", "path set");
        report_list(record, "paths", p->set[set].paths, p->set[set].path);
        if (q->field[0].spread >= 0)
            report_number(record, "channels", p->spread[q->field[0].spread].mul);
        if (sides)
            report_number(record, "items_side_by_side", p->loop[q->clock].side);
        report_number(record, "stage_bytes", place_bytes(q));
        set++;
    }
}

void program_report(struct report *r, const struct schedule *s)
{
    const struct pipeline *p = s->pipeline;
    const bool edges = p->walk.room > 0, tiles = !edges && !p->walk.warps;
    int stages = stages_of(p), versions = 1, loop = 0;
    bool kept = false, rings = false;
    for (const struct pipeline *q = p->next; q && edges; q = q->next) {
        rings |= stages_of(q) != stages_of(p);
        stages = stages < stages_of(q) ? stages : stages_of(q);
    }
    for (int i = 0; i < p->places; i++) {
        const struct place *q = &p->place[i];
        if (tiles && q->rate > versions)
            stages = q->stages;
        versions = q->rate > versions ? q->rate : versions;
        kept |= q->who == WHO_KEPT && q->clock != LOOP_LAUNCH;
    }
    report_ring(r, "stages", stages, "warp", edges ? "edge" : tiles ? "part" : "turn");
    report_number(r, "warps_per_block", p->worker.teams * p->worker.warps);
    if (!tiles)
        report_number(r, "blocks_per_multiprocessor", p->worker.blocks);
    report_part(r, "shared_bytes_per_block", p->of_block.bytes, s->target->device->shared_bytes);
    if (!edges)
        report_registers(r, p, s->registers);
    report_number(r, "registers_most", s->registers);
    if (edges) {
        report_flag(r, "edge_buffer", has_route(s, ROUTE_EDGE_BUFFER));
        report_flag(r, "receivers_in_shared_memory", kept);
    } else {
        if (tiles)
            report_number(r, "pieces", versions);
        report_number(r, "waits", count(p, STEP_WAIT));
        report_number(r, "barriers", count(p, STEP_BARRIER));
    }
    if (p->walk.warps)
        report_items(r, p);
    bool shared = false;
    for (const struct pipeline *q = p; q; q = q->next)
        shared |= q->sets > 1;
    for (const struct pipeline *q = p; q && edges; loop += q->sets, q = q->next)
        for (int i = 0; i < q->sets; i++)
            report_set(report_record(r, "path_sets", "path set"), q, i, loop, shared, rings, s->registers);
    report_layout(r, "shared_memory", &p->of_block);
}

void programs_dump(struct text *out, const struct schedules *all)
{
    schedules_print(out, all);
    for (int k = 0; k < all->plan->kernels; k++)
        for (int s = 0; s < all->kernel[k].schedules; s++) {
            const struct schedule *q = &all->kernel[k].schedule[s];
            for (const struct pipeline *p = q->pipeline; p; p = p->next) {
                text_printf(out, "kernel %s, %s: pipeline\n", all->kernel[k].kernel->form->name, q->name);
                pipeline_dump(out, p);
            }
        }
}
