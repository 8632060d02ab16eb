/* file.c - what the files of kernels of all backends have in common. */
#include "emit/emit.h"
#include "schedule/code_print.h"

bool emit_converts(const struct source *w)
{
    bool any = false;
    for (int i = 0; i < w->form->inputs + w->form->outputs; i++)
        any |= memory_has_copy(w, i);
    return any;
}

const char *emit_stored(const struct source *w, int i)
{
    const char *symbol = w->kernel->kernel->operand[i].symbol;
    return operand_is_copied(&w->kernel->kernel->operand[i]) ? arena_printf(w->arena, "%sstored", symbol)
                                                             : symbol;
}

const char *emit_type(const struct source *w, int i)
{
    const struct operand *q = &w->kernel->kernel->operand[i];
    return q->storage == w->spec->compute ? "real" : source_stored(w->plan, q->slot);
}

void emit_launch_fields(struct source *w)
{
    const struct areas all = memory_areas(w);
    for (int i = 0; i < w->form->inputs + w->form->outputs; i++)
        text_printf(w->out, "    %s%s *%s;\n", i < w->form->inputs ? "const " : "", emit_type(w, i),
                    emit_stored(w, i));
    emit_strides(w->out, w->kernel->kernel, "");
    for (int i = 0; i < all.n; i++)
        text_printf(w->out, "    %s *%s;\n", all.area[i].type, all.area[i].name);
}

bool emit_sized(struct source *w)
{
    const struct areas all = memory_areas(w);
    bool sized = false;
    for (int i = 0; i < all.n; i++)
        sized |= all.area[i].rows != INDEX_COUNT && all.area[i].rows != INDEX_SHARED && !all.area[i].divided;
    return sized;
}

void emit_lay_out(struct source *w)
{
    const struct areas all = memory_areas(w);
    text_printf(w->out, "    size_t at = 0;\n");
    for (int i = 0; i < all.n; i++) {
        const struct area *area = &all.area[i];
        text_printf(w->out,
                    "    if (base)\n        l->%s = (%s *)(base + at);\n"
                    "    at = cgtp_area_end(at, %s, %lld * sizeof(%s), 64);\n",
                    area->name, area->type, area->count ? area->count : source_rows(w->plan, area->rows),
                    (long long)area->each, area->type);
    }
    text_printf(w->out, all.n ? "    return at;\n" : "    (void)l;\n    (void)base;\n    return at;\n");
}

void emit_schedules(struct source *w, const char *qualifier)
{
    struct text code = {.arena = w->arena}, *out = w->out;
    struct constants constants = {.arena = w->arena};
    w->constants = &constants;
    w->out = &code;
    for (int s = 0; s < w->kernel->schedules; s++)
        w->kernel->schedule[s].evaluation->device(w, &w->kernel->schedule[s]);
    w->out = out;
    w->constants = NULL;
    constants_print(out, &constants, w->plan, qualifier);
    text_put(out, text_string(&code), code.n);
}

void emit_launches(struct source *w, void (*convert)(struct source *, const struct operand *))
{
    const struct operand *operand = w->kernel->kernel->operand;
    for (int i = 0; i < w->form->inputs; i++)
        if (memory_has_copy(w, i))
            convert(w, &operand[i]);
    for (int s = 0; s < w->kernel->schedules; s++)
        w->kernel->schedule[s].evaluation->launch(w, &w->kernel->schedule[s]);
    for (int i = w->form->inputs; i < w->form->inputs + w->form->outputs; i++)
        if (memory_has_copy(w, i))
            convert(w, &operand[i]);
}
