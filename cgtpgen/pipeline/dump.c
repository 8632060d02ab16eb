/* dump.c - a pipeline as text for people, with what was derived. */
#include "pipeline/call.h"
#include "pipeline/cost.h"
#include "pipeline/share.h"

const char *const step_words[STEP_KINDS] = {[STEP_LOOP] = "for",        [STEP_BLOCK] = "block",
                                            [STEP_END] = "end",         [STEP_FILL] = "fill",
                                            [STEP_DRAIN] = "drain",     [STEP_COPY] = "copy",
                                            [STEP_STORE] = "store",     [STEP_ZERO] = "zero",
                                            [STEP_LOCAL] = "real",      [STEP_CALL] = "call",
                                            [STEP_NOTE] = "#",          [STEP_COMMIT] = "commit",
                                            [STEP_ROW] = "row",         [STEP_HAND_OVER] = "hand over",
                                            [STEP_MEET] = "meet",       [STEP_WAIT] = "wait",
                                            [STEP_BARRIER] = "barrier", [STEP_LAUNCH_WAIT] = "launch wait"};

static void dump_place(struct text *out, const struct pipeline *p, int place)
{
    static const char *const hows[] = {"load", "async", "code", "stands in memory"};
    const struct place *q = &p->place[place];
    text_printf(out, "  place %s %s", q->name, scope_words[q->scope]);
    if (q->alias >= 0)
        text_printf(out, ", alias %s", p->place[q->alias].name);
    else if (share_leader(p, place) != place)
        text_printf(out, ", instead of %s", p->place[share_leader(p, place)].name);
    text_printf(out, ", %s, %d a %s in %s, stages %d", hows[q->how], q->rate, p->loop[q->clock].name,
                p->loop[q->within].name, q->stages);
    for (int i = 0; i < q->fields; i++) {
        const struct field *f = &q->field[i];
        text_printf(out, "%s%s%s(%d, %d):(%d, 1)", i ? " " : "; ", f->name ? f->name : "", f->name ? " " : "",
                    f->runs, f->length, f->apart ? f->apart : q->pitch);
        if (f->version >= 0)
            text_printf(out, ".%d", f->version);
        if (f->base)
            text_printf(out, " from %lld", (long long)f->base);
        if (f->wide > 1)
            text_printf(out, " by %d", f->wide);
    }
    text_printf(out, "\n");
}

/* name, or name.2 of the versions of a turn, or name[+1] a turn ahead */
static void dump_version(struct text *out, const struct pipeline *p, int place, int index, int skew)
{
    text_puts(out, p->place[place].name);
    if (p->place[place].rate > 1 && index >= 0)
        text_printf(out, ".%d", index);
    if (skew)
        text_printf(out, "[%+d]", skew);
}

static void dump_call(struct text *out, const struct pipeline *p, const struct call *c);

/* What it is passed by: a place's field, a local, a number, a conversion. */
static const char *argument_base(struct text *out, const struct pipeline *p, const struct argument *a)
{
    struct text base = {.arena = out->arena};
    const struct place *q = a->of == ARGUMENT_PLACE ? &p->place[a->number] : NULL;
    if (q && a->field < q->fields && q->field[a->field].name)
        text_puts(&base, q->field[a->field].name);
    else if (q)
        dump_version(&base, p, a->number, a->index, 0);
    else if (a->of == ARGUMENT_LOCAL)
        text_puts(&base, p->local[a->number].name);
    else if (a->of == ARGUMENT_CALL)
        dump_call(&base, p, a->call);
    else if (!a->at.terms)
        text_printf(&base, "%d", a->number);
    return text_string(&base);
}

static void dump_call(struct text *out, const struct pipeline *p, const struct call *c)
{
    text_puts(out, c->function);
    if (c->path >= 0)
        text_printf(out, " of path %d", c->path);
    for (int i = 0; i < c->numbers; i++)
        text_printf(out, "%s%d", i ? ", " : "<", c->number[i]);
    text_puts(out, c->numbers ? ">(" : "(");
    for (int i = 0; i < c->arguments; i++) {
        static const char *const touches[] = {"", "=", "+="};
        const struct argument *a = &c->argument[i];
        text_printf(out, "%s%s%s", i ? ", " : "", touches[a->touch],
                    address_text(out->arena, argument_base(out, p, a), &a->at));
    }
    text_puts(out, ")");
}

static void dump_step(struct text *out, const struct pipeline *p, const struct step *s)
{
    const struct loop *l = &p->loop[s->loop];
    switch (s->kind) {
    case STEP_LOOP:
        if (l->counted)
            text_printf(out, "for %s = %d..%d%s%s by %d", l->name, l->first, l->end, l->less ? " - " : "",
                        l->less ? l->less : "", l->by);
        else
            text_printf(out, l->side > 1 ? "for each %s, %d side by side" : "for each %s", l->name, l->side);
        break;
    case STEP_FILL:
    case STEP_DRAIN:
    case STEP_ROW:
    case STEP_NOTE:
        text_printf(out, "%s %s", step_words[s->kind],
                    s->kind == STEP_ROW    ? p->place[s->number].name
                    : s->kind == STEP_NOTE ? s->note
                                           : l->name);
        break;
    case STEP_COPY:
    case STEP_STORE:
    case STEP_ZERO:
        text_printf(out, "%s ", step_words[s->kind]);
        dump_version(out, p, s->access[0].place, s->access[0].index, s->skew);
        text_printf(out, " by %s", who_words[s->access[0].who]);
        break;
    case STEP_LOCAL:
        text_printf(out, "real %s[%d]", p->local[s->number].name, p->local[s->number].elements);
        break;
    case STEP_CALL:
        dump_call(out, p, s->call);
        break;
    case STEP_BLOCK:
        text_printf(out, s->note ? "if %s" : "block", s->note);
        if (s->below)
            text_printf(out, " of the first %d turns", s->below);
        break;
    case STEP_WAIT:
        text_printf(out, "wait until %d groups are under way", s->number);
        break;
    case STEP_BARRIER:
        text_printf(out, "barrier of the %s", scope_words[scope_of(p, s->scope)]);
        break;
    default:
        text_puts(out, step_words[s->kind]);
    }
}

void pipeline_dump(struct text *out, const struct pipeline *p)
{
    int depth = 1;
    text_printf(out, "  worker %d lanes, teams of %d warps, %d teams; units of %d items; %d bytes\n",
                p->worker.lanes, p->worker.warps, p->worker.teams, p->items, p->of_block.bytes);
    text_printf(out, "  registers %d alive, %d at least, %d taken\n", p->registers.alive, p->registers.least,
                p->registers.taken);
    if (p->work.abreast)
        text_printf(out, "  work of a turn %.0f instructions, of an edge %.0f bytes\n",
                    cost_instructions(&p->work), p->work.bytes);
    for (int i = 0; i < p->places; i++)
        dump_place(out, p, i);
    for (int i = 0; i < p->steps; i++) {
        const struct step *s = &p->step[i];
        depth -= s->kind == STEP_END;
        text_printf(out, "%*s", 2 * depth, "");
        dump_step(out, p, s);
        if (s->every)
            text_printf(out, ", every %d turns", s->every);
        text_printf(out, "\n");
        depth += s->kind == STEP_LOOP || s->kind == STEP_BLOCK;
    }
}
