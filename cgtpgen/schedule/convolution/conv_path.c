/* emit_cuda_path.c - the pipelined convolution, one edge: the arithmetic of a path. */
#include "schedule/body.h"
#include "schedule/convolution/conv_emit.h"

static const char *output_element(void *context, const struct recipe_output *o, int i)
{
    struct conv *c = context;
    struct source *w = c->w;
    const struct path *p = c->path;
    struct arena *a = w->arena;
    if (o->role == ROLE_G)
        return arena_printf(a, "%s%d[%d]", o->name, p->z, c->v * (2 * p->l3 + 1) + i);
    if (o->role == ROLE_B)
        return arena_printf(a, "%s%d[%d]", o->name, p->x, c->v * (2 * p->l1 + 1) + i);
    if (o->role == ROLE_A)
        return arena_printf(a, "%s[%lld]", o->name, (long long)(w->problem->y.segment[p->y].offset + i));
    return arena_printf(a, "%s_v[%d]", o->name, c->v);
}

static void emit_channel_inputs(struct conv *c, const struct recipe *r)
{
    struct source *w = c->w;
    const struct path *p = c->path;
    for (int i = 0; i < r->inputs; i++) {
        const struct recipe_input *in = &r->input[i];
        if (!recipe_reads(r, i) || in->role == ROLE_A)
            continue;
        int n = in->role == ROLE_B ? 2 * p->l1 + 1 : in->role == ROLE_G ? 2 * p->l3 + 1 : 1;
        struct text line = {.arena = w->arena};
        for (int k = 0; k < n; k++) {
            text_printf(&line, "%s%s_%d = ", k ? ", " : "", in->name, k);
            if (in->role == ROLE_W)
                text_printf(&line, "%s_v[%d]", in->name, c->v);
            else
                text_printf(&line, "%s%d[%d]", in->name, in->role == ROLE_B ? p->x : p->z, c->v * n + k);
        }
        text_printf(w->out, "                const real %s;\n", line.s);
    }
}

void conv_path(struct conv *c)
{
    struct source *w = c->w;
    struct text *out = w->out;
    const struct path *p = c->path;
    const struct gpu_segment *s = c->s;
    const struct demand *pass = w->demand;
    const struct recipe *r = pass->variant[pass->variant_of[p->number]].product;
    const char **stem = NEW_ARRAY(w->arena, const char *, r->inputs + 1);
    for (int i = 0; i < r->inputs; i++)
        stem[i] = r->input[i].name;
    text_printf(out, "            { /* ");
    source_path_line(out, w->plan, p);
    text_printf(out, " */\n");
    struct body body = {.out = out,
                        .indent = 16,
                        .recipe = r,
                        .matrix = own(w)->matrix[p->number],
                        .stem = stem,
                        .is_float = w->spec->precision == PRECISION_FLOAT32,
                        .output = output_element,
                        .context = c};
    body_begin(&body);
    for (int i = 0; i < r->inputs; i++) {
        if (r->input[i].role == ROLE_A && body_needs_forms(r, i)) {
            const struct segment *y = &w->problem->y.segment[p->y];
            struct text line = {.arena = w->arena};
            for (int j = 0; j < 2 * p->l2 + 1; j++)
                text_printf(&line, "%s%s_%d = %s[%lld]", j ? ", " : "", stem[i], j, stem[i],
                            (long long)(y->offset + j));
            text_printf(out, "                const real %s;\n", line.s);
            body_forms(&body, i, "%s_%d");
        }
        if (r->input[i].role == ROLE_W && recipe_reads(r, i))
            text_printf(
                out, "                real %s_v[%d];\n                cgtp_load<%d>(%s_v, %s + lane * %d);\n",
                stem[i], s->channels, s->channels, stem[i], conv_staged(c, r->input[i].source, p->number),
                s->channels);
    }
    for (int o = 0; o < r->outputs; o++)
        if (r->output[o].role == ROLE_W)
            text_printf(out, "                real %s_v[%d];\n", r->output[o].name, s->channels);
    for (c->v = 0; c->v < s->channels; c->v++) {
        if (s->channels > 1)
            text_printf(out, "                {\n");
        emit_channel_inputs(c, r);
        body_channel(&body);
        if (s->channels > 1)
            text_printf(out, "                }\n");
    }
    for (int o = 0; o < r->outputs; o++)
        if (r->output[o].role == ROLE_W)
            text_printf(out, "                cgtp_store_stream<%d>(%s_row + %lld, %s_v);\n", s->channels,
                        r->output[o].name, (long long)p->weight_offset, r->output[o].name);
    text_printf(out, "            }\n");
}
