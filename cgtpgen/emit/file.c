/* file.c - what the files of kernels of all backends have in common. */
#include "emit/emit.h"
#include "schedule/code_print.h"

struct areas emit_areas(struct source *w)
{
    struct areas all = {.arena = w->arena};
    for (int s = 0; s < w->kernel->schedules; s++)
        w->kernel->schedule[s].evaluation->areas(&all, &w->kernel->schedule[s]);
    return all;
}

void emit_launch_fields(struct source *w)
{
    const struct areas all = emit_areas(w);
    for (int i = 0; i < w->form->inputs; i++)
        text_printf(w->out, "    const real *%s;\n", w->form->input[i].symbol);
    for (int o = 0; o < w->form->outputs; o++)
        text_printf(w->out, "    real *%s;\n", w->form->output[o].symbol);
    for (int i = 0; i < all.n; i++)
        text_printf(w->out, "    %s *%s;\n", all.area[i].type, all.area[i].name);
}

bool emit_sized(struct source *w)
{
    const struct areas all = emit_areas(w);
    bool sized = false;
    for (int i = 0; i < all.n; i++)
        sized |= all.area[i].rows != INDEX_COUNT && all.area[i].rows != INDEX_SHARED;
    return sized;
}

void emit_lay_out(struct source *w)
{
    const struct areas all = emit_areas(w);
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
    constants_print(out, &constants, w->plan, qualifier);
    text_put(out, text_string(&code), code.n);
}

void emit_launches(struct source *w)
{
    for (int s = 0; s < w->kernel->schedules; s++)
        w->kernel->schedule[s].evaluation->launch(w, &w->kernel->schedule[s]);
}
