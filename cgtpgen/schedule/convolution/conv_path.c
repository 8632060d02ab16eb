/* conv_path.c - the pipelined convolution, one edge: the arithmetic of a path. */
#include "schedule/convolution/conv_emit.h"

#include <string.h>

/* Where a component of an operand stands, of an input or an output behind them: x and z in registers of the
 * lane's channels, the whole of y, a number per channel of w. */
static const char *place(void *context, int operand, int i)
{
    struct conv *c = context;
    const struct path *p = c->path;
    const struct recipe *r = own(c->w)->code[p->number]->recipe;
    struct arena *a = c->w->arena;
    bool input = operand < r->inputs;
    enum role role = input ? r->input[operand].role : r->output[operand - r->inputs].role;
    const char *name = input ? r->input[operand].name : r->output[operand - r->inputs].name;
    bool several = c->s->channels > 1;
    if (role == ROLE_A) {
        const struct operand_block *y = operand_block_of(conv_array(c->w, SLOT_Y), p);
        return arena_printf(a, "%s[%lld]", name, (long long)(y->offset + i * y->component));
    }
    if (role == ROLE_W && input && !several)
        return arena_printf(a, "%s[lane]", conv_staged(c, r->input[operand].source, p->number));
    if (role == ROLE_W)
        return arena_printf(a, several ? "%sv[u]" : "%sv[0]", name);
    int segment = role == ROLE_G ? p->z : p->x, n = 2 * (role == ROLE_G ? p->l3 : p->l1) + 1;
    if (!several)
        return arena_printf(a, "%ss%d[%d]", name, segment, i);
    const char *channel = n == 1 ? "u" : arena_printf(a, "u * %d", n);
    return i ? arena_printf(a, "%ss%d[%s + %d]", name, segment, channel, i)
             : arena_printf(a, "%ss%d[%s]", name, segment, channel);
}

/* Adds words to a comment, beginning a new line where the current one would be too long. */
static void comment_add(struct text *out, size_t *line, const char *words)
{
    if (out->n - *line + strlen(words) > 106) {
        text_printf(out, "\n");
        *line = out->n;
        text_printf(out, "               *");
    }
    text_printf(out, " %s", words);
}

/* The path, what its code computes of the coefficient, and what that costs. */
static void emit_comment(struct conv *c)
{
    struct source *w = c->w;
    struct text *out = w->out, words = {.arena = w->arena};
    const struct matrix *m = own(w)->matrix[c->path->number];
    size_t line = out->n;
    text_printf(out, "            { /*");
    source_path_line(&words, w->plan, c->path);
    text_printf(&words, ";");
    comment_add(out, &line, text_string(&words));
    bool ones = true;
    for (int k = 0; k < m->columns && m->column; k++)
        ones &= surd_double(m->column[k]) == 1;
    comment_add(out, &line, ones ? "a C = form;" : "a C = form *");
    for (int k = 0, next; !ones && k < m->columns; k = next) {
        for (next = k; next < m->columns && surd_equal(m->column[next], m->column[k]);)
            next++;
        const char *name = !m->column[k].sign               ? "0"
                           : surd_double(m->column[k]) == 1 ? "1"
                                                            : constant_name(w->constants, m->column[k]);
        comment_add(out, &line,
                    arena_printf(w->arena, next - k > 1 ? "%s%s x%d%s" : "%s%s%.0d%s", k ? "" : "{", name,
                                 next - k > 1 ? next - k : 0, next < m->columns ? "," : "};"));
    }
    words = (struct text){.arena = w->arena};
    code_print_counts(&words, own(w)->code[c->path->number]);
    comment_add(out, &line, text_string(&words));
    text_printf(out, " */\n");
}

/* Is the recipe's input a weight per channel, several of which come by one load? */
static bool loads_weights(const struct conv *c, const struct recipe *r, int i)
{
    return c->s->channels > 1 && r->input[i].role == ROLE_W && recipe_reads(r, i);
}

/* Adds name_v[channels] to the list, once. */
static void add_array(const struct conv *c, struct text *list, const char *name)
{
    const char *array = arena_printf(c->w->arena, "%s %sv[%d]", list->n ? "," : "", name, c->s->channels);
    if (!list->n || !strstr(list->s, array + (*array == ',')))
        text_printf(list, "%s", array);
}

void conv_weights(struct conv *c)
{
    struct text list = {.arena = c->w->arena};
    for (int k = 0; k < c->s->paths; k++) {
        const struct recipe *r = own(c->w)->code[c->s->path[k]]->recipe;
        for (int i = 0; i < r->inputs; i++)
            if (loads_weights(c, r, i))
                add_array(c, &list, r->input[i].name);
        for (int o = 0; o < r->outputs; o++)
            if (r->output[o].role == ROLE_W)
                add_array(c, &list, r->output[o].name);
    }
    if (list.n)
        line(c->o, "real%s; /* of the path at hand */", list.s);
}

void conv_path(struct conv *c)
{
    struct source *w = c->w;
    struct text *out = w->out;
    const struct path *p = c->path;
    int channels = c->s->channels;
    const struct recipe *r = own(w)->code[p->number]->recipe;
    bool *in_place = NEW_ARRAY(w->arena, bool, r->inputs + 1);
    for (int i = 0; i < r->inputs; i++)
        in_place[i] = r->input[i].role == ROLE_A;
    struct code_printer printer = {.out = out,
                                   .code = own(w)->code[p->number],
                                   .constants = w->constants,
                                   .mutation = w->mutation,
                                   .indent = 16,
                                   .place = place,
                                   .context = c,
                                   .in_place = in_place};
    emit_comment(c);
    code_printer_begin(&printer);
    code_print_item(&printer);
    for (int i = 0; i < r->inputs; i++)
        if (loads_weights(c, r, i))
            text_printf(out, "                cgtp_load_lane(%sv, %s, lane);\n", r->input[i].name,
                        conv_staged(c, r->input[i].source, p->number));
    if (channels > 1) {
        text_printf(out, "                CGTP_UNROLL for (int u = 0; u < %d; u++) {\n", channels);
        printer.indent += 4;
    }
    code_print_channel(&printer);
    if (channels > 1)
        text_printf(out, "                }\n");
    for (int o = 0; o < r->outputs; o++)
        if (r->output[o].role == ROLE_W)
            text_printf(
                out, "                cgtp_store_stream<%d>(%s, %sv);\n", channels,
                plus_offset(w->arena, arena_printf(w->arena, "%sout", r->output[o].name), p->weight_offset),
                r->output[o].name);
    text_printf(out, "            }\n");
}
