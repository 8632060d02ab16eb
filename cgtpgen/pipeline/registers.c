/* registers.c - registers that a thread holds at once: its locals from the step that first touches them to
 * the last that does, and what the codes of paths need meanwhile, executed as they are printed.
 */
#include "pipeline/pipeline.h"
#include "plan/live.h"

#include <string.h>

struct counted {
    const struct pipeline *p;
    struct live live;
    int words;       /* of an element */
    int *first;      /* [locals]: its values are those from this number on; -1: it takes none, */
    int *begin;      /* and the step that declares it */
    int open[64], n; /* steps that open the loops around */
};

static void touch(struct counted *c, int local)
{
    if (c->first[local] >= 0)
        live_touch(&c->live, c->first[local], c->p->local[local].elements);
}

/* Where a code finds its operands: those that it is passed, in their order. */
static void execute(struct counted *c, const struct call *call)
{
    const struct recipe *r = call->code->recipe;
    struct live_place *place = NEW_ARRAY(c->live.arena, struct live_place, r->inputs + r->outputs + 1);
    for (int i = 0, n = 0; i < r->inputs + r->outputs; i++) {
        place[i] = (struct live_place){-1, 0};
        if (i < r->inputs && !recipe_reads(r, i))
            continue;
        const struct argument *a = &call->argument[n++];
        if (a->of == ARGUMENT_LOCAL)
            place[i].first = c->first[a->number] + (int)a->at.offset;
    }
    live_code(&c->live, call->code, 1, c->words, place);
}

static void run_call(struct counted *c, const struct call *call)
{
    if (call->code)
        execute(c, call);
    for (int i = 0; i < call->arguments && !call->code; i++)
        if (call->argument[i].of == ARGUMENT_LOCAL)
            touch(c, call->argument[i].number);
    c->live.step++;
}

/* What a loop touches, and was there before it, is there until its end. */
static void end_loop(struct counted *c, int begin, int end)
{
    for (int i = begin; i < end; i++) {
        const struct call *call = c->p->step[i].kind == STEP_CALL ? c->p->step[i].call : NULL;
        for (int k = 0; call && k < call->arguments; k++)
            if (call->argument[k].of == ARGUMENT_LOCAL && c->begin[call->argument[k].number] < begin)
                touch(c, call->argument[k].number);
    }
    c->live.step++;
}

int pipeline_registers(const struct pipeline *p)
{
    struct counted c = {.p = p, .live = {.arena = p->arena}, .words = p->places ? p->place[0].size / 4 : 1};
    c.first = NEW_ARRAY(p->arena, int, p->locals + 1);
    c.begin = NEW_ARRAY(p->arena, int, p->locals + 1);
    for (int i = 0; i < p->steps; i++) {
        const struct step *s = &p->step[i];
        const struct local *l = s->kind == STEP_LOCAL ? &p->local[s->number] : NULL;
        if (l) {
            const bool held = l->begins == LOCAL_ANY || l->begins == LOCAL_ZERO;
            c.first[s->number] = held ? live_values(&c.live, l->elements, c.words) : -1;
            c.begin[s->number] = i;
        }
        if (s->kind == STEP_CALL)
            run_call(&c, s->call);
        if (s->kind == STEP_LOOP || s->kind == STEP_BLOCK)
            c.open[c.n++] = i;
        if (s->kind == STEP_END && s->loop != LOOP_LAUNCH)
            end_loop(&c, c.open[c.n - 1], i);
        c.n -= s->kind == STEP_END;
    }
    return live_most(&c.live);
}
