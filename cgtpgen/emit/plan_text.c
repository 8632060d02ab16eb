/* plan_text.c - see plan_text.h. */
#include "emit/plan_text.h"
#include "emit/emit.h"
#include "emit/memory.h"
#include "emit/seal.h"
#include "schedule/print.h"

#include <string.h>

enum { COLUMNS = 100 };

/* The text with lines that are too long continued, four columns further in. */
static void wrapped(struct text *out, const char *s)
{
    struct arena *a = out->arena;
    for (size_t n; *s; s += n + (s[n] == '\n')) {
        n = strcspn(s, "\n");
        const size_t indent = strspn(s, " ");
        if (n > indent)
            text_wrap(out, arena_printf(a, "%*s", (int)indent, ""),
                      arena_printf(a, "%*s", (int)indent + 4, ""), s + indent, n - indent, COLUMNS);
        else
            text_puts(out, "\n");
    }
}

/* With room around its plus signs, where lines can break. */
static const char *spaced(struct arena *a, const struct irreps *r)
{
    struct text t = {.arena = a};
    for (const char *s = irreps_text(a, r); *s; s++)
        if (*s == '+')
            text_puts(&t, " + ");
        else
            text_put(&t, s, 1);
    return text_string(&t);
}

static void rows(struct text *out, const struct problem *p)
{
    const struct spec *s = p->spec;
    const struct irreps *irreps[SLOT_COUNT] = {[SLOT_X] = &p->x, [SLOT_Y] = &p->y, [SLOT_G] = &p->z};
    text_puts(out, "\nrows\n");
    for (int slot = 0; slot < SLOT_COUNT; slot++)
        text_printf(out, "  %s of %s%s, %s, %lld elements: %s\n", slot_name[slot],
                    s->index[slot] == INDEX_SHARED ? "all, " : "each ", index_name[s->index[slot]],
                    precision_table[s->storage[slot]].name, (long long)p->dim[slot],
                    irreps[slot] ? spaced(out->arena, irreps[slot])
                                 : arena_printf(out->arena, "weights of %d paths", p->paths));
    text_printf(out, "  arithmetic %s, sums %s\n", precision_table[s->compute].name,
                precision_table[s->sum].name);
    if (spec_is_graph(s))
        text_printf(out, "  edges %s, node numbers %s, reduction %s, accumulate %s\n", edges_name[s->sorted],
                    index_type_name[s->index64], reduction_name[s->reduction],
                    accumulate_name[s->compensated]);
    if (!spec_has_e3nn_layout(s))
        text_printf(out, "  layout: x %s, y %s, z %s\n", layout_name[s->layout[SLOT_X]],
                    layout_name[s->layout[SLOT_Y]], layout_name[s->layout[SLOT_G]]);
    if (spec_has_strides(s))
        text_printf(out, "  strides: %s\n", spec_rows(out->arena, s));
}

static void costs(struct text *out, const struct schedules *all)
{
    text_puts(out, "\ncosts, per item; bytes of nodes and shared arrays per row of theirs\n");
    for (int k = 0; k < all->plan->kernels; k++) {
        const struct kernel_plan *q = &all->plan->kernel[k];
        text_printf(
            out,
            "  %s: %.0f flops, at least %.0f bytes, planned %.0f; sender %.0f, receiver %.0f, shared %.0f\n",
            q->form->name, operations_flops(all->kernel[k].operations), q->bytes_least,
            memory_moved(out->arena, all, &all->kernel[k]), q->bytes_row[INDEX_SENDER],
            q->bytes_row[INDEX_RECEIVER], q->bytes_row[INDEX_SHARED]);
    }
}

static void workspaces(struct text *out, const struct schedules *all, const struct memory *memory)
{
    struct arena *a = out->arena;
    text_puts(out, "\nworkspaces, bytes\n");
    for (int k = 0; k < all->plan->kernels; k++) {
        const struct memory *m = &memory[k];
        text_printf(out, "  %s: %s\n", all->plan->kernel[k].form->name, memory_formula(a, all, m->all));
        for (int i = 0; i < m->areas; i++) {
            const struct memory_area *q = &m->area[i];
            text_printf(out, "    %s: %s%s%s%s%s\n", q->name, memory_formula(a, all, q->bytes),
                        q->unknown ? " * " : "", q->unknown ? q->unknown : "", q->because ? ", due to " : "",
                        q->because ? q->because : "");
        }
    }
}

void emit_plan_text(struct text *out, const struct emission *e)
{
    const struct schedules *all = e->schedules;
    const struct problem *p = all->plan->problem;
    struct text t = {.arena = out->arena};
    text_printf(&t, "%s: plan, for %s\n", p->spec->name,
                all->target.device->lanes > 1
                    ? arena_printf(out->arena, "%s, %s", e->backend->name, all->target.device->name)
                    : e->backend->name);
    text_puts(&t, SEAL_BY " (" SEAL_TEXT "); edit the spec, not this.\n");
    rows(&t, p);
    text_puts(&t, "\npaths: number: segments, mode, coefficient; place in a row of w, shape\n");
    emit_paths(&t, all->plan, "  ");
    costs(&t, all);
    workspaces(&t, all, e->memory);
    text_puts(&t, "\nschedules\n");
    for (int k = 0; k < all->plan->kernels; k++)
        kernel_schedule_print(&t, &all->kernel[k]);
    wrapped(out, text_string(&t));
}
