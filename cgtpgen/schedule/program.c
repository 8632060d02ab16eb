/* program.c - see program.h. */
#include "schedule/program.h"
#include "schedule/source.h"

#include <string.h>

#include "schedule/check.h"
#include "schedule/clear.h"
#include "schedule/parts.h"
#include "schedule/path.h"
#include "schedule/path_device.h"
#include "schedule/print.h"
#include "schedule/report.h"

const char *program_routes(struct arena *a, struct schedule *s)
{
    s->route = NEW_ARRAY(a, struct route, s->demand->outputs + 1);
    for (int o = 0; o < s->demand->outputs; o++) {
        s->route[o] = route_owned(s->demand->plan->problem->spec, demand_operand(s->demand, o)->index);
        if (route_keeps(&s->route[o]))
            return "no way to sum as the spec asks";
    }
    return NULL;
}

const char *program_finish(struct schedule *s, struct pipeline *p, int registers)
{
    s->pipeline = p;
    s->registers = registers;
    s->cost = pipeline_cost(p, &s->operations);
    return pipeline_sync(p);
}

void program_check_sync(struct checker *c, const struct pipeline *p, int bytes)
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
    const struct demand *d = s->demand;
    const int paths = d->plan->problem->paths;
    bool *has = NEW_ARRAY(c->out->arena, bool, paths + 1);
    program_check_sync(c, s->pipeline, s->target->device->shared_bytes);
    for (int i = 0; i < s->pipeline->steps; i++)
        if (s->pipeline->step[i].kind == STEP_CALL && s->pipeline->step[i].call->path >= 0)
            has[s->pipeline->step[i].call->path] = true;
    for (int i = 0; i < paths; i++)
        check_that(c, has[i] == (d->variant_of[i] >= 0), "path %d is %s", i,
                   has[i] ? "not its own" : "left out");
}

void program_areas(struct areas *all, const struct schedule *s)
{
    for (int o = 0; o < s->demand->outputs; o++)
        if (s->route[o].kind == ROUTE_PARTS)
            parts_area(all, demand_operand(s->demand, o), "cgtp_multiprocessors()");
}

void program_reads_graph(const struct schedule *s, bool *receiver_row, bool *by_sender)
{
    (void)s;
    (void)receiver_row;
    (void)by_sender;
}

/* The function of a call's code, and its name for the call. */
static void emit_function(struct source *w, struct out *o, struct call *c)
{
    const struct path_plan *e = &w->plan->path[c->path];
    const struct pipeline *p = w->schedule->pipeline;
    const struct device_path f = {.w = w,
                                  .o = o,
                                  .path = e->path,
                                  .code = c->code,
                                  .matrix = e->matrix,
                                  .channels = p->spreads ? p->spread[0].channels : 1,
                                  .rows = p->walk.warps ? "rows" : NULL};
    device_path_function(&f);
    c->function = device_path_name(&f);
}

static struct call *code_of(const struct pipeline *p, int step)
{
    struct call *c = p->step[step].kind == STEP_CALL ? p->step[step].call : NULL;
    return c && c->code ? c : NULL;
}

/* Those of all paths, one path after the other. */
static void emit_functions(struct source *w, struct out *o, const struct pipeline *p)
{
    bool *done = NEW_ARRAY(w->arena, bool, w->problem->paths + 1);
    product_functions_begin(w->arena, &w->functions);
    device_path_note(o);
    for (int i = 0; i < p->steps; i++) {
        const struct call *first = code_of(p, i);
        for (int k = i; first && !done[first->path] && k < p->steps; k++)
            if (code_of(p, k) && code_of(p, k)->path == first->path)
                emit_function(w, o, code_of(p, k));
        if (first)
            done[first->path] = true;
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
    const struct cuda_words words = {kernel_of(w, s), source_items(w), SOURCE_WAITS};
    pipeline_print_structs(&o, s->pipeline, words.name);
    emit_functions(w, &o, s->pipeline);
    if (s->pipeline->walk.warps)
        pipeline_print_items(
            &o, s->pipeline,
            &(struct edges_words){.name = words.name, .items = words.items, .real = w->spec->compute});
    else
        pipeline_print_cuda(&o, s->pipeline, &words);
    for (int i = 0; i < w->demand->outputs; i++)
        if (s->route[i].kind == ROUTE_PARTS)
            parts_sum(w, &o, demand_operand(w->demand, i));
}

/* Of rows whose channels lanes share: are all written? */
static bool covers(const struct pipeline *p, const struct operand *o)
{
    int64_t written = 0;
    bool some = false;
    for (int i = 0; i < p->places && p->spreads; i++)
        for (int k = 0; k < p->place[i].fields; k++) {
            const struct field *f = &p->place[i].field[k];
            const struct spread *s = &p->spread[f->spread < 0 ? 0 : f->spread];
            if (f->operand != o)
                continue;
            some = true;
            written += (int64_t)f->runs * f->length / (s->lanes * s->channels) * s->mul;
        }
    return !some || written == o->dim;
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
        if (!covers(s->pipeline, demand_operand(w->demand, o)))
            clear_rows(&c, w, demand_operand(w->demand, o));
    clear_launch(&c, w);
    source_step(w, arena_printf(w->arena,
                                "cgtp_launch_early(code::%s, %s, %d, sizeof(code::%s_block), stream, l)",
                                kernel_of(w, s), grid, k->lanes * k->warps * k->teams, kernel_of(w, s)));
    for (int o = 0; o < w->demand->outputs; o++)
        if (s->route[o].kind == ROUTE_PARTS)
            parts_launch(w, demand_operand(w->demand, o), grid);
}

static int count(const struct pipeline *p, enum step_kind kind)
{
    int n = 0;
    for (int i = 0; i < p->steps; i++)
        n += p->step[i].kind == kind;
    return n;
}

void program_report(struct report *r, const struct schedule *s)
{
    const struct pipeline *p = s->pipeline;
    int stages = 1, versions = 1;
    for (int i = 0; i < p->places; i++)
        if (p->place[i].rate > versions) {
            stages = p->place[i].stages;
            versions = p->place[i].rate;
        }
    report_ring(r, "stages", stages, "warp", "part");
    report_number(r, "warps_per_block", p->worker.teams * p->worker.warps);
    report_part(r, "shared_bytes_per_block", p->of_block.bytes, s->target->device->shared_bytes);
    report_part(r, "values_alive", pipeline_registers(p), s->registers);
    report_number(r, "registers_most", s->registers);
    report_number(r, "pieces", versions);
    report_number(r, "waits", count(p, STEP_WAIT));
    report_number(r, "barriers", count(p, STEP_BARRIER));
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
