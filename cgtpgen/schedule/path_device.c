/* path_device.c - see path_device.h. */
#include "schedule/path_device.h"

#include "schedule/code_print.h"
#include "schedule/path.h"

#include <string.h>

/* Is the operand a number, not an array: the weight of a lane's only channel? */
static bool is_number(const struct device_path *c, const struct recipe *r, int operand)
{
    return operand < r->inputs && r->input[operand].role == ROLE_W && c->channels == 1;
}

/* ---- functions ---- */

/* Where a component of a parameter stands: x and z in arrays of the lane's channels, y in an array of its
 * own. */
static const char *place(void *context, int operand, int i)
{
    const struct device_path *c = context;
    struct arena *a = c->w->arena;
    const struct recipe *r = c->code->recipe;
    enum role role = recipe_operand(r, operand).role;
    const char *name = recipe_operand(r, operand).name;
    int n = path_components(c->code->matrices ? c->code->matrix[recipe_operand(r, operand).copy] : c->matrix,
                            role);
    if (is_number(c, r, operand))
        return name;
    if (role == ROLE_A || c->channels == 1)
        return arena_printf(a, "%s[%d]", name, i);
    if (n == 1)
        return arena_printf(a, "%s[u]", name);
    return i ? arena_printf(a, "%s[u * %d + %d]", name, n, i) : arena_printf(a, "%s[u * %d]", name, n);
}

static bool is_passed(const struct recipe *r, int operand)
{
    return operand >= r->inputs || recipe_reads(r, operand);
}

static void emit_head(const struct device_path *c, const char *function)
{
    struct arena *a = c->w->arena;
    struct text words = {.arena = a}, list = {.arena = a};
    const struct matrix *m = c->matrix;
    const struct recipe *r = c->code->recipe;
    if (c->code->matrices)
        text_printf(&words, "(l1, l2) = (%d, %d), l3 =", m->l1, m->l2);
    else
        text_printf(&words, "(l1, l2, l3) = (%d, %d, %d)", m->l1, m->l2, m->l3);
    for (int i = 0; i < c->code->matrices; i++)
        text_printf(&words, "%s %d", i ? "," : "", c->code->matrix[i]->l3);
    if (!m->column && !c->code->matrices) {
        text_printf(&words, ", a = ");
        surd_print(&words, m->scale);
    }
    text_printf(&words, ": ");
    code_print_counts(&words, c->code);
    for (int i = 0; i < r->inputs + r->outputs; i++)
        if (is_passed(r, i)) {
            text_puts(&list, list.n ? ", " : "");
            text_puts(&list, i < r->inputs && !is_number(c, r, i) ? "const " : "");
            text_puts(&list, is_number(c, r, i) ? "real " : "real *");
            text_puts(&list, recipe_operand(r, i).name);
        }
    line(c->o, "/* %s. */", text_string(&words));
    line(c->o, "CGTP_DEVICE void %s(%s)", function, text_string(&list));
}

static void emit_function(const struct device_path *c, const char *name)
{
    const struct recipe *r = c->code->recipe;
    bool *in_place = NEW_ARRAY(c->w->arena, bool, r->inputs + 1);
    for (int i = 0; i < r->inputs; i++)
        in_place[i] = r->input[i].role == ROLE_A ? !c->rows : c->channels == 1;
    struct code_printer printer = {.out = c->w->out,
                                   .code = c->code,
                                   .constants = c->w->constants,
                                   .mutation = c->w->mutation,
                                   .indent = 4,
                                   .place = place,
                                   .context = (void *)c,
                                   .in_place = in_place};
    emit_head(c, name);
    line(c->o, "{");
    code_printer_begin(&printer);
    code_print_item(&printer);
    if (c->channels > 1) {
        line(c->o, "CGTP_UNROLL for (int u = 0; u < %d; u++) {", c->channels);
        printer.indent += 4;
    }
    code_print_channel(&printer);
    if (c->channels > 1)
        line(c->o, "}");
    line(c->o, "}");
    blank(c->o);
}

/* The function for several paths; *is_new: it has not been asked for. */
static const char *outer_function_of(const struct device_path *c, bool *is_new)
{
    const char *base =
        arena_printf(c->w->arena, "%s_%d_%d", mode_table[c->path->mode].c_name, c->path->l1, c->path->l2);
    return product_table_name(c->w->functions, c->code, c->channels, base, is_new);
}

static const char *function_of(const struct device_path *c)
{
    bool is_new;
    if (c->code->matrices)
        return outer_function_of(c, &is_new);
    return product_function_for(c->w->functions, c->code->recipe, &c->w->plan->path[c->path->number],
                                c->matrix, c->channels, (const bool[ROLE_COUNT]){false})
        ->name;
}

void device_path_function(const struct device_path *c)
{
    int known = c->w->functions->n;
    bool is_new = false;
    const char *name = c->code->matrices ? outer_function_of(c, &is_new) : function_of(c);
    if (is_new || c->w->functions->n > known)
        emit_function(c, name);
}

const char *device_path_name(const struct device_path *c)
{
    return function_of(c);
}

void device_path_note(struct out *o)
{
    line(o,
         "/* MODE_L1_L2_L3: what a path of these l does for the channels of a lane, given its part of each "
         "operand of an "
         "item. Factors of C that are not here are those of z, and named at the call: a C = form * .. */");
    blank(o);
}

/* ---- calls ---- */

const char *device_path_words(const struct device_path *c)
{
    struct source *w = c->w;
    struct text words = {.arena = w->arena};
    const struct matrix *m = c->matrix;
    text_printf(&words, "%s%s", source_path_line(w->arena, w->plan, c->path),
                c->code->matrices ? "" : "; a C = form");
    bool ones = true;
    for (int k = 0; k < m->columns && m->column; k++)
        ones &= surd_is_one(m->column[k]);
    for (int k = 0, next; !ones && k < m->columns; k = next) {
        for (next = k; next < m->columns && surd_equal(m->column[next], m->column[k]);)
            next++;
        const char *name = !m->column[k].sign          ? "0"
                           : surd_is_one(m->column[k]) ? "1"
                                                       : constant_name(w->constants, m->column[k]);
        text_printf(&words, next - k > 1 ? "%s%s x%d%s" : "%s%s%.0d%s", k ? " " : " * {", name,
                    next - k > 1 ? next - k : 0, next < m->columns ? "," : "}");
    }
    if (c->likewise)
        text_printf(&words, "; likewise %s", c->likewise);
    return text_string(&words);
}

void device_path_comment(const struct device_path *c)
{
    line(c->o, "/* %s */", device_path_words(c));
}

/* What a call passes for an operand that is a row of a lane's arrays. */
static const char *argument(const struct device_path *c, const struct recipe *r, int operand)
{
    struct arena *a = c->w->arena;
    const char *name = recipe_operand(r, operand).name;
    if (recipe_operand(r, operand).role == ROLE_A)
        return plus_offset(a, operand < r->inputs && c->rows ? arena_printf(a, "%s.%s", c->rows, name) : name,
                           c->w->problem->y.segment[c->path->y].offset);
    return arena_printf(a, "%ss%d", name,
                        recipe_operand(r, operand).role == ROLE_B ? c->path->x : c->path->z);
}

void device_path_call(const struct device_path *c)
{
    const struct recipe *r = c->code->recipe;
    struct text list = {.arena = c->w->arena};
    for (int i = 0; i < r->inputs + r->outputs; i++)
        if (is_passed(r, i)) {
            text_puts(&list, list.n ? ", " : "");
            const char *own = c->argument ? c->argument(c, i) : NULL;
            text_puts(&list, own ? own : argument(c, r, i));
        }
    line(c->o, "%s(%s);", function_of(c), text_string(&list));
}
