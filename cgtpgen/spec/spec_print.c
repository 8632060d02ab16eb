/* spec_print.c - a spec as it was read: what -d s shows. */
#include "spec/spec.h"

#include "spec/device.h"

static void print_kernel(struct text *out, const struct spec_kernel *k)
{
    text_printf(out, "  kernel %s", k->name);
    if (k->of)
        text_printf(out, ", of %s", k->of->name);
    for (int i = 0; i < k->arguments; i++)
        text_printf(out, ", %s: %s%s", k->argument[i].name, k->argument[i].tangent ? "d " : "",
                    slot_name[k->argument[i].slot]);
    text_printf(out, "\n");
    for (int o = 0; o < k->outputs; o++) {
        const struct spec_output *q = &k->output[o];
        text_printf(out, "    %s%s", q->name, q->terms ? " =" : "");
        for (int t = 0; t < q->terms; t++)
            text_printf(out, "%s Q_%c(%s, %s, %s)", t ? " +" : "", slot_letters[q->term[t].target],
                        q->term[t].argument[0], q->term[t].argument[1], q->term[t].argument[2]);
        text_printf(out, "\n");
    }
}

const char *spec_knob_text(struct arena *a, const struct spec_knob *k)
{
    return k->word ? arena_printf(a, "%s: %s", knob_name[k->knob], k->word)
                   : arena_printf(a, "%s: %d", knob_name[k->knob], k->value);
}

void spec_print(struct text *out, const struct spec *s)
{
    text_printf(out, "%s: spec\n  x ", s->name);
    irreps_print(out, &s->x);
    text_printf(out, "\n  y ");
    irreps_print(out, &s->y);
    if (s->has_z) {
        text_printf(out, "\n  z ");
        irreps_print(out, &s->z);
    }
    text_printf(out, "\n");
    for (int i = 0; i < s->instructions; i++) {
        const struct spec_instruction *q = &s->instruction[i];
        struct text weight = {.arena = out->arena};
        rat_print(&weight, q->path_weight);
        text_printf(out, "  instruction %d: %d %d %d %s%s, path weight %s\n", i, q->x, q->y, q->z,
                    mode_table[q->mode].name, q->weighted ? "" : " unweighted", text_string(&weight));
    }
    text_printf(out, "  normalization %s %s\n  index", irrep_normalization_name[s->irrep_normalization],
                path_normalization_name[s->path_normalization]);
    for (int i = 0; i < SLOT_COUNT; i++)
        text_printf(out, " %s", index_name[s->index[i]]);
    text_printf(out, "\n  edges %s, reduction %s, accumulate %s, index_type %s, precision %s\n",
                edges_name[s->sorted], reduction_name[s->reduction], accumulate_name[s->compensated],
                index_type_name[s->index64], spec_precision(out->arena, s));
    if (spec_has_strides(s))
        text_printf(out, "  rows %s\n", spec_rows(out->arena, s));
    for (int i = 0; i < SLOT_COUNT; i++)
        for (int k = 0; k < s->unused[i].n; k++)
            text_printf(out, "  unused %s %d\n", slot_name[i], s->unused[i].segment[k].number);
    for (int k = 0; k < s->kernels; k++)
        print_kernel(out, &s->kernel[k]);
    for (int k = 0; k < s->knobs; k++)
        text_printf(out, "  tune %s%s%s %s\n", s->knob[k].device->name, s->knob[k].kernel < 0 ? "" : " ",
                    s->knob[k].kernel < 0 ? "" : s->kernel[s->knob[k].kernel].name,
                    spec_knob_text(out->arena, &s->knob[k]));
}
