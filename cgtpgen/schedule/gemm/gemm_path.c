/* gemm_path.c - items by GEMM: a path's operands in registers, and the calls of its code. */
#include "schedule/gemm/gemm_emit.h"
#include "schedule/path.h"

struct gemm_path gemm_path_of(struct gemm_writer *c, int path, const char *item, const char *channel,
                              const char *sum)
{
    const struct path_plan *e = &c->d->plan->path[path];
    return (struct gemm_path){c,    e,       e->path, gemm_variant(c->d, path), e->matrix->columns,
                              item, channel, sum};
}

/* ---- calls ---- */

static const char *argument(const struct device_path *f, int operand)
{
    const struct gemm_path *q = f->context;
    struct arena *a = q->c->w->arena;
    const struct recipe *r = f->code->recipe;
    const bool input = operand < r->inputs;
    const enum role role = recipe_operand(r, operand).role;
    const char *name = recipe_operand(r, operand).name;
    if (role == ROLE_A && q->e->elementwise)
        return arena_printf(a, "%s%s", name, input ? q->channel : "u");
    if (role == ROLE_A)
        return arena_printf(a, "%s%s[%s]", name, input ? "i" : "sum", q->item);
    if (role == ROLE_B)
        return arena_printf(a, "%s%s", name, input ? q->channel : q->sum);
    return arena_printf(a, "%su", name);
}

static struct device_path function_of(const struct gemm_path *q, bool tensor)
{
    const struct path_code code = demand_code(q->c->d, q->path->number);
    return (struct device_path){.w = q->c->w,
                                .o = q->c->o,
                                .path = q->path,
                                .code = tensor ? code.tensor : code.product,
                                .matrix = q->e->matrix,
                                .channels = 1,
                                .argument = argument,
                                .context = (void *)q};
}

void gemm_functions(struct gemm_writer *c)
{
    for (int p = 0; p < c->w->problem->paths; p++) {
        if (c->d->variant_of[p] < 0)
            continue;
        const struct gemm_path q = gemm_path_of(c, p, "i", "u", "sum");
        for (int tensor = 1; tensor >= 0; tensor--) {
            const struct device_path f = function_of(&q, tensor);
            if (f.code)
                device_path_function(&f);
        }
    }
}

void gemm_comment(const struct gemm_path *q)
{
    const struct device_path f = function_of(q, q->v->tensor != NULL);
    device_path_comment(&f);
}

void gemm_call(const struct gemm_path *q, bool tensor)
{
    const struct device_path f = function_of(q, tensor);
    device_path_call(&f);
}

/* ---- operands ---- */

bool gemm_has_channels(const struct gemm_path *q, enum role role)
{
    return role == ROLE_B || (role == ROLE_A && q->e->elementwise);
}

void gemm_begin_channels(const struct gemm_path *q, const char *from)
{
    const int channels = path_channels_a(q->e);
    if (channels > 1) {
        line(q->c->o, "CGTP_LOOP");
        line(q->c->o, "for (int a = %s; a < %d; a += %d) {", from ? from : "0", channels,
             gemm_divides(q->c->r) ? q->c->r->members : 1);
        if (q->e->below)
            line(q->c->o, "const int below = cgtp_gemm_blocks(a);");
    } else {
        line(q->c->o, "{");
    }
}

void gemm_take_items(const struct gemm_path *q, const struct recipe *r, const char *from)
{
    for (int i = 0; i < r->inputs && !q->e->elementwise; i++) {
        if (r->input[i].role != ROLE_A || !recipe_reads(r, i))
            continue;
        const struct operand *y = source_input(q->c->w, r->input[i].source);
        const struct operand_block *b = operand_block_of(y, q->path);
        const char *row = arena_printf(q->c->w->arena, "rows.%s[%s]", y->symbol, from);
        line(q->c->o, "real %si[2][%d];", r->input[i].name, q->e->matrix->depth);
        line(q->c->o, "CGTP_UNROLL for (int i = 0; i < 2; i++)");
        line(q->c->o, "cgtp_take<%d>(%si[i], %s);", (int)b->component, r->input[i].name,
             path_address(q->c->w->arena, q->e, ROLE_A, row, b));
    }
}

/* ---- launches ---- */

void gemm_begin_launch(struct gemm_writer *c)
{
    line(c->o, c->beside ? "cgtp_launch_beside();" : "cgtp_launch_wait();");
    line(c->o, "cgtp_launch_next();");
}

void gemm_end_launch(struct gemm_writer *c)
{
    if (c->beside)
        line(c->o, "cgtp_launch_wait();");
    line(c->o, "}");
    blank(c->o);
}

/* ---- copies ---- */

/* Is the input a row that is copied for a tile? */
static bool copied(const struct gemm_writer *c, int input)
{
    const struct operand *q = source_input(c->w, input);
    return demand_reads(c->d, input) && q->index == INDEX_ITEM && q->dim;
}

/* Elements of the input's rows that a piece has. */
static struct gemm_window window_of(const struct gemm_writer *c, int input, int cut)
{
    if (c->r && c->r->window)
        return c->r->window[cut * c->w->form->inputs + input];
    return (struct gemm_window){0, c->r ? (int)source_input(c->w, input)->dim : gemm_sum_length(c->g, input)};
}

/* Where a block of sums begins in rows of the input, as it is told: the name of a variable; NULL: with them.
 */
static const char *begin_of(const struct gemm_writer *c, int input)
{
    const struct operand *q = source_input(c->w, input);
    return !c->r && gemm_sum_length(c->g, input) < q->dim ? arena_printf(c->w->arena, "%sfirst", q->symbol)
                                                          : NULL;
}

const char *gemm_row(const struct gemm_path *q, const struct operand *x, const char *item)
{
    const struct gemm_writer *c = q->c;
    int input = 0;
    while (source_input(c->w, input) != x)
        input++;
    const char *begin = begin_of(c, input), *row = arena_printf(c->w->arena, "rows.%s[%s]", x->symbol, item);
    row = plus_offset(c->w->arena, row,
                      operand_block_of(x, q->path)->offset - window_of(c, input, c->cut).first);
    return begin ? arena_printf(c->w->arena, "%s - %s", row, begin) : row;
}

/* Each warp copies rows of few inputs, as what comes before the first row takes as long as some rows. */
void gemm_copies(struct gemm_writer *c, const char *tile, const char *to, const char *warp, int warps,
                 int cut)
{
    const int items = c->r ? GEMM_ITEMS : c->g->sum_items;
    int64_t all = 0, before = 0;
    for (int i = 0; i < c->w->form->inputs; i++)
        all += copied(c, i) ? window_of(c, i, cut).length : 0;
    for (int i = 0; i < c->w->form->inputs; i++) {
        const struct operand *q = source_input(c->w, i);
        const struct gemm_window window = window_of(c, i, cut);
        if (!copied(c, i) || !window.length)
            continue;
        const char *array =
            plus_offset(c->w->arena, arena_printf(c->w->arena, "l.%s", q->array), window.first);
        if (begin_of(c, i))
            array = arena_printf(c->w->arena, "%s + %s", array, begin_of(c, i));
        int first = (int)((2 * before * warps + all) / (2 * all)), last;
        before += window.length;
        first = first < warps ? first : warps - 1;
        last = (int)((2 * before * warps + all) / (2 * all));
        last = last > first ? last : first + 1;
        if (first > 0 && last < warps)
            line(c->o, "if (%s >= %d && %s < %d)", warp, first, warp, last);
        else if (first > 0)
            line(c->o, "if (%s >= %d)", warp, first);
        else if (last < warps)
            line(c->o, "if (%s < %d)", warp, last);
        line(c->o, "cgtp_copy_items<%d, %s, %d>(%s.%s, %s + %s * (int64_t)%s, %s, count_of(%s), %s%s, once);",
             window.length, gemm_is_wide(q) ? "true" : "false", last - first, to, q->symbol, array, tile,
             source_rows_apart(c->w->arena, q, items, "l."), source_stride(c->w, q), tile, warp,
             first ? arena_printf(c->w->arena, " - %d", first) : "");
    }
}
