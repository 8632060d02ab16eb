/* digest.c - what a generated product is known by: a hash of its spec as understood. */
#include "plan/plan.h"

#include <stdint.h>

static void normalised_knob(struct text *t, const struct spec *s, const struct spec_knob *k)
{
    text_printf(t, "tune %s ", k->device->name);
    if (k->kernel >= 0)
        text_printf(t, "%s ", s->kernel[k->kernel].name);
    if (k->word)
        text_printf(t, "%s %s\n", knob_name[k->knob], k->word);
    else
        text_printf(t, "%s %d\n", knob_name[k->knob], k->value);
}

/* One line a fact, in a fixed order: what the digest is taken of. The name is the spec's own, so that a
 * product has the same under any name. */
static void normalised_spec(struct text *t, const struct plan *plan)
{
    const struct problem *p = plan->problem;
    const struct spec *s = p->spec;
    text_printf(t, "cgtp 1\nname %s\ndescription %s\nx ", s->written_name, s->description);
    irreps_print(t, &p->x);
    text_printf(t, "\ny ");
    irreps_print(t, &p->y);
    text_printf(t, "\nz ");
    irreps_print(t, &p->z);
    text_printf(t, "\nnormalization %s %s\n", irrep_normalization_name[s->irrep_normalization],
                path_normalization_name[s->path_normalization]);
    for (int i = 0; i < p->paths; i++) {
        const struct path *q = &p->path[i];
        text_printf(t, "path %d %d %d %s %s ", q->x, q->y, q->z, mode_table[q->mode].name,
                    q->weighted ? "weighted" : "unweighted");
        surd_print(t, q->coefficient);
        text_printf(t, "\n");
    }
    text_printf(t, "index");
    for (int i = 0; i < SLOT_COUNT; i++)
        text_printf(t, " %s", index_name[s->index[i]]);
    text_printf(t, "\nedges %s\nreduction %s\naccumulate %s\nindex_type %s\nprecision %s\n",
                edges_name[s->sorted], reduction_name[s->reduction], accumulate_name[s->compensated],
                index_type_name[s->index64], spec_precision(t->arena, s));
    if (!spec_has_e3nn_layout(s))
        text_printf(t, "layout %s %s %s\n", layout_name[s->layout[SLOT_X]], layout_name[s->layout[SLOT_Y]],
                    layout_name[s->layout[SLOT_G]]);
    if (spec_has_strides(s))
        text_printf(t, "rows %s\n", spec_rows(t->arena, s));
    for (int k = 0; k < plan->kernels; k++) {
        const struct kernel_form *f = plan->kernel[k].form;
        text_printf(t, "kernel %s\n", f->name);
        for (int o = 0; o < f->outputs; o++) {
            text_printf(t, "  %s", f->output[o].name);
            for (int i = 0; i < f->output[o].terms; i++) {
                text_printf(t, " ");
                form_term_print(t, f, &f->output[o].term[i]);
            }
            text_printf(t, "\n");
        }
    }
    for (int i = 0; i < s->knobs; i++)
        normalised_knob(t, s, &s->knob[i]);
}

/* FNV-1a, 64 bits: identifies a spec, protects against nothing. */
const char *plan_digest(struct arena *a, const struct plan *plan)
{
    struct text t = {.arena = a};
    uint64_t hash = 0xcbf29ce484222325u;
    normalised_spec(&t, plan);
    for (size_t i = 0; i < t.n; i++)
        hash = (hash ^ (unsigned char)t.s[i]) * 0x100000001b3u;
    return arena_printf(a, "%08lx%08lx", (unsigned long)(hash >> 32), (unsigned long)(hash & 0xffffffffu));
}
