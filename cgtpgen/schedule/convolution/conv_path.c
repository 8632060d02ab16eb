/* conv_path.c - the pipelined convolution, one edge: the arithmetic of paths. It is a function for each
 * coupling (l1, l2, l3) and recipe, which the compiler puts in the place of its calls; a path is a call.
 */
#include "schedule/convolution/conv_emit.h"

#include <string.h>

static const struct code *code_of(const struct conv *c)
{
    return own(c->w)->code[c->path->number];
}

/* Elements of a channel of an operand in the role. */
static int components(const struct path *p, enum role role)
{
    return role == ROLE_A   ? 2 * p->l2 + 1
           : role == ROLE_B ? 2 * p->l1 + 1
           : role == ROLE_G ? 2 * p->l3 + 1
                            : 1;
}

/* Is the operand a number, not an array: the weight of a lane's only channel? */
static bool is_number(const struct conv *c, const struct recipe *r, int operand)
{
    return operand < r->inputs && r->input[operand].role == ROLE_W && c->s->channels == 1;
}

static enum role role_of(const struct recipe *r, int operand)
{
    return operand < r->inputs ? r->input[operand].role : r->output[operand - r->inputs].role;
}

static const char *name_of(const struct recipe *r, int operand)
{
    return operand < r->inputs ? r->input[operand].name : r->output[operand - r->inputs].name;
}

/* ---- functions ---- */

/* Where a component of a parameter stands: x and z in arrays of the lane's channels, y in an array of its
 * own. */
static const char *place(void *context, int operand, int i)
{
    struct conv *c = context;
    struct arena *a = c->w->arena;
    const struct recipe *r = code_of(c)->recipe;
    enum role role = role_of(r, operand);
    const char *name = name_of(r, operand);
    int n = components(c->path, role);
    if (is_number(c, r, operand))
        return name;
    if (role == ROLE_A || c->s->channels == 1)
        return arena_printf(a, "%s[%d]", name, i);
    const char *channel = n == 1 ? "u" : arena_printf(a, "u * %d", n);
    return i ? arena_printf(a, "%s[%s + %d]", name, channel, i) : arena_printf(a, "%s[%s]", name, channel);
}

static bool is_passed(const struct recipe *r, int operand)
{
    return operand >= r->inputs || recipe_reads(r, operand);
}

static void emit_head(struct conv *c, const char *function)
{
    struct arena *a = c->w->arena;
    struct text words = {.arena = a}, list = {.arena = a};
    const struct matrix *m = own(c->w)->matrix[c->path->number];
    const struct recipe *r = code_of(c)->recipe;
    text_printf(&words, "(l1, l2, l3) = (%d, %d, %d)", m->l1, m->l2, m->l3);
    if (!m->column) {
        text_printf(&words, ", a = ");
        surd_print(&words, m->scale);
    }
    text_printf(&words, ": ");
    code_print_counts(&words, code_of(c));
    for (int i = 0; i < r->inputs + r->outputs; i++)
        if (is_passed(r, i))
            text_printf(&list, "%s%s%s%s", list.n ? ", " : "",
                        i < r->inputs && !is_number(c, r, i) ? "const " : "",
                        is_number(c, r, i) ? "real " : "real *", name_of(r, i));
    line(c->o, "/* %s. */", text_string(&words));
    line(c->o, "CGTP_DEVICE void %s(%s)", function, text_string(&list));
}

static void emit_function(struct conv *c, const char *name)
{
    const struct recipe *r = code_of(c)->recipe;
    bool *in_place = NEW_ARRAY(c->w->arena, bool, r->inputs + 1);
    for (int i = 0; i < r->inputs; i++)
        in_place[i] = r->input[i].role == ROLE_A || c->s->channels == 1;
    struct code_printer printer = {.out = c->w->out,
                                   .code = code_of(c),
                                   .constants = c->w->constants,
                                   .mutation = c->w->mutation,
                                   .indent = 4,
                                   .place = place,
                                   .context = c,
                                   .in_place = in_place};
    emit_head(c, name);
    line(c->o, "{");
    code_printer_begin(&printer);
    code_print_item(&printer);
    if (c->s->channels > 1) {
        line(c->o, "CGTP_UNROLL for (int u = 0; u < %d; u++) {", c->s->channels);
        printer.indent += 4;
    }
    code_print_channel(&printer);
    if (c->s->channels > 1)
        line(c->o, "}");
    line(c->o, "}");
    blank(c->o);
}

static const char *function_of(struct conv *c)
{
    struct source *w = c->w;
    const struct convolution *g = own(w);
    int number = c->path->number;
    return product_function_for(w->functions, g->code[number]->recipe, &w->plan->path[number],
                                g->matrix[number], c->s->channels, (const bool[ROLE_COUNT]){false})
        ->name;
}

void conv_functions(struct conv *c)
{
    for (int i = 0; i < c->s->paths; i++) {
        int known = c->w->functions->n;
        c->path = &c->w->problem->path[c->s->path[i]];
        const char *name = function_of(c);
        if (c->w->functions->n > known)
            emit_function(c, name);
    }
}

/* ---- calls ---- */

/* The path, and what its function computes of the coefficient. */
static void emit_comment(struct conv *c)
{
    struct source *w = c->w;
    struct text words = {.arena = w->arena};
    const struct matrix *m = own(w)->matrix[c->path->number];
    source_path_line(&words, w->plan, c->path);
    text_printf(&words, "; a C = form");
    bool ones = true;
    for (int k = 0; k < m->columns && m->column; k++)
        ones &= surd_double(m->column[k]) == 1;
    for (int k = 0, next; !ones && k < m->columns; k = next) {
        for (next = k; next < m->columns && surd_equal(m->column[next], m->column[k]);)
            next++;
        const char *name = !m->column[k].sign               ? "0"
                           : surd_double(m->column[k]) == 1 ? "1"
                                                            : constant_name(w->constants, m->column[k]);
        text_printf(&words, next - k > 1 ? "%s%s x%d%s" : "%s%s%.0d%s", k ? " " : " * {", name,
                    next - k > 1 ? next - k : 0, next < m->columns ? "," : "}");
    }
    line(c->o, "/* %s */", text_string(&words));
}

/* An array of the lane's of slot z: its part for the path's segment. */
static const char *part_of_z(const struct conv *c, const char *name)
{
    const struct layout *l = &c->s->lane;
    const char *field = arena_printf(c->w->arena, "s%d", c->path->z);
    int i = 0;
    while (strcmp(l->field[i].name, field) != 0)
        i++;
    return plus_offset(c->w->arena, name, l->field[i].at / l->field[i].element);
}

/* What a call passes for an operand. */
static const char *argument(const struct conv *c, const struct recipe *r, int operand)
{
    struct arena *a = c->w->arena;
    const char *name = name_of(r, operand);
    enum role role = role_of(r, operand);
    if (role == ROLE_A)
        return plus_offset(a, name, operand_block_of(conv_array(c->w, SLOT_Y), c->path)->offset);
    if (role == ROLE_B)
        return conv_field(a, name, SLOT_X, c->path->x);
    if (role == ROLE_G)
        return part_of_z(c, name);
    if (operand >= r->inputs)
        return arena_printf(a, "cgtp_streamed<%d>(%s)", c->s->channels,
                            plus_offset(a, arena_printf(a, "%sout", name), c->path->weight_offset));
    const char *slice = conv_staged(c, r->input[operand].source, c->path->number);
    return c->s->channels == 1 ? arena_printf(a, "%s[lane]", slice)
                               : arena_printf(a, "cgtp_weights_of<%d>(%s, lane)", c->s->channels, slice);
}

void conv_path(struct conv *c)
{
    const struct recipe *r = code_of(c)->recipe;
    struct text list = {.arena = c->w->arena};
    emit_comment(c);
    for (int i = 0; i < r->inputs + r->outputs; i++)
        if (is_passed(r, i))
            text_printf(&list, "%s%s", list.n ? ", " : "", argument(c, r, i));
    line(c->o, "%s(%s);", function_of(c), text_string(&list));
}
