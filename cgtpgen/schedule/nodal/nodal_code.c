/* nodal_code.c - matrices of nodes: what is done once for a node, in lanes that have a channel of a cell
 * each. */
#include "schedule/nodal/nodal_emit.h"

#include "schedule/code_print.h"
#include "schedule/path.h"

#include <string.h>

/* ---- functions: cells of a path's matrix, and their sums by component of y ---- */

static const char *place(void *context, int operand, int i)
{
    const struct recipe *r = ((const struct code_printer *)context)->code->recipe;
    return arena_printf(((const struct code_printer *)context)->out->arena, "%s[%d]",
                        operand < r->inputs ? r->input[operand].name : r->output[operand - r->inputs].name,
                        i);
}

static struct recipe *recipe_of(struct arena *a, enum role from, const char *input, const char *output)
{
    struct recipe *r = NEW(a, struct recipe);
    *r = (struct recipe){.inputs = 1,
                         .outputs = 1,
                         .input = NEW(a, struct recipe_input),
                         .output = NEW(a, struct recipe_output)};
    r->input[0] = (struct recipe_input){.role = from, .name = input};
    r->output[0] =
        (struct recipe_output){.role = from == ROLE_A ? ROLE_G : ROLE_A, .name = output, .assign = true};
    return r;
}

/* m += M(v), by cell. */
static const struct code *code_there(struct arena *a, const struct matrix *m)
{
    struct code *c = code_begin(a, recipe_of(a, ROLE_A, "v", "m"));
    int *form = NEW_ARRAY(a, int, m->forms + 1);
    for (int f = 0; f < m->forms; f++)
        for (int t = 0; t < m->form[f].terms; t++)
            form[f] = code_fma(c, code_constant(c, m->form[f].coefficient[t]),
                               code_load(c, 0, m->form[f].index[t], false), form[f]);
    for (int i = 0; i < m->rows * m->columns; i++)
        if (m->entry[i])
            code_result(c, 0, i, m->entry[i] > 0 ? form[m->entry[i] - 1] : -form[-m->entry[i] - 1], true);
    return code_finish(a, c);
}

/* v = what flows back from m to y. */
static const struct code *code_back(struct arena *a, const struct matrix *m)
{
    struct code *c = code_begin(a, recipe_of(a, ROLE_G, "m", "v"));
    int *flow = NEW_ARRAY(a, int, m->forms + 1), *sum = NEW_ARRAY(a, int, m->depth + 1);
    for (int i = 0; i < m->rows * m->columns; i++) {
        const int e = m->entry[i], f = (e < 0 ? -e : e) - 1;
        if (e)
            flow[f] = code_add(c, flow[f], e < 0 ? -code_load(c, 0, i, false) : code_load(c, 0, i, false));
    }
    for (int f = 0; f < m->forms; f++)
        for (int t = 0; t < m->form[f].terms; t++) {
            const int j = m->form[f].index[t];
            sum[j] = code_fma(c, code_constant(c, m->form[f].coefficient[t]), flow[f], sum[j]);
        }
    for (int j = 0; j < m->depth; j++)
        if (sum[j])
            code_result(c, 0, j, sum[j], false);
    return code_finish(a, c);
}

static const char *function_of(struct nodal_writer *c, const struct matrix *m, bool back, bool *is_new)
{
    return product_table_name(
        c->w->functions, m, back,
        arena_printf(c->w->arena, "%s_%d_%d_%d", back ? "fold" : "cells", m->l1, m->l2, m->l3), is_new);
}

static void emit_function(struct nodal_writer *c, const struct matrix *m, bool back)
{
    static const bool in_place[] = {true};
    bool is_new = false;
    const char *name = function_of(c, m, back, &is_new);
    if (!is_new)
        return;
    struct code_printer printer = {.out = c->w->out,
                                   .code = back ? code_back(c->w->arena, m) : code_there(c->w->arena, m),
                                   .constants = c->w->constants,
                                   .mutation = c->w->mutation,
                                   .indent = 4,
                                   .place = place,
                                   .in_place = in_place};
    printer.context = &printer;
    struct text words = {.arena = c->w->arena};
    code_print_counts(&words, printer.code);
    line(c->o, "/* (l1, l2, l3) = (%d, %d, %d): %s. */", m->l1, m->l2, m->l3, text_string(&words));
    line(c->o, "CGTP_DEVICE void %s(real *%s, const real *%s)", name, back ? "v" : "m", back ? "m" : "v");
    line(c->o, "{");
    code_printer_begin(&printer);
    code_print_channel(&printer);
    line(c->o, "}");
    blank(c->o);
}

void nodal_functions(struct nodal_writer *c)
{
    const struct plan *plan = c->w->plan;
    line(c->o,
         "/* cells_L1_L2_L3: what a path of these l adds to the cells of a matrix, of y times the path's "
         "weight; fold_L1_L2_L3: what flows back from the cells. */");
    blank(c->o);
    for (int i = 0; i < plan->problem->paths; i++) {
        if (c->w->demand->variant_of[i] < 0)
            continue;
        if (c->g->matrices)
            emit_function(c, plan->path[i].matrix, false);
        if (c->g->outers)
            emit_function(c, plan->path[i].matrix, true);
    }
}

/* ---- places ---- */

/* "name + 64", where offsets of the job's cells differ by `number`. */
static const char *with_offset(const struct nodal_writer *c, const char *name, int n, const int *offset)
{
    struct text out = {.arena = c->w->arena};
    bool steady = true;
    for (int i = 2; i < n; i++)
        steady &= offset[i] - offset[i - 1] == offset[1] - offset[0];
    if (n == 1 || (steady && offset[0] == offset[1]))
        return plus_offset(c->w->arena, name, offset[0]);
    if (steady)
        return arena_printf(c->w->arena, "%s + number * %d", plus_offset(c->w->arena, name, offset[0]),
                            offset[1] - offset[0]);
    text_printf(&out, "%s + (", name);
    for (int i = 0; i < n - 1; i++)
        text_printf(&out, "number == %d ? %d : ", i, offset[i]);
    text_printf(&out, "%d)", offset[n - 1]);
    return text_string(&out);
}

int nodal_step(const struct operand_block *b)
{
    return block_is_apart(b) ? NODAL_CHANNELS : 1;
}

int nodal_place(const struct operand *q, int segment)
{
    int before = 0;
    for (int i = 0; i < segment; i++)
        before += q->block[i].components;
    return before * NODAL_CHANNELS;
}

/* The job's path number i of its first cell. */
static const struct path *path_of(const struct nodal_writer *c, const struct nodal_job *job, int i, int cell)
{
    return &c->w->problem->path[c->g->cell[job->cell[cell]].path[i]];
}

/* Where the lane's channel of the paths' y begins. */
static const char *y_at(const struct nodal_writer *c, const struct nodal_job *job, int i,
                        const struct operand *q, const char *row)
{
    int offset[NODAL_CELLS];
    const struct operand_block *b = &q->block[path_of(c, job, i, 0)->y];
    for (int k = 0; k < job->cells; k++)
        offset[k] = nodal_place(q, path_of(c, job, i, k)->y);
    const int channel = nodal_step(b) == 1 ? b->components : 1;
    return arena_printf(c->w->arena, "%s + %s", with_offset(c, row, job->cells, offset),
                        scaled(c->w->arena, "u", channel));
}

static const char *w_at(const struct nodal_writer *c, const struct nodal_job *job, int i, const char *rows)
{
    int offset[NODAL_CELLS];
    for (int k = 0; k < job->cells; k++)
        offset[k] = path_of(c, job, i, k)->number * NODAL_CHANNELS;
    return arena_printf(c->w->arena, "*(%s + u)", with_offset(c, rows, job->cells, offset));
}

const char *nodal_matrix_of(const struct nodal_writer *c, const char *matrix, const char *channel)
{
    const struct nodal_spread spread = nodal_spread(c->g);
    return arena_printf(c->w->arena, "block.now.matrix[%s] + %s * %d + %s / %d * %d", matrix, channel,
                        spread.channel, channel, spread.group, spread.gap);
}

static const char *cell_at(const struct nodal_writer *c, const struct nodal_job *job)
{
    int offset[NODAL_CELLS];
    for (int k = 0; k < job->cells; k++) {
        const struct nodal_cell *cell = &c->g->cell[job->cell[k]];
        offset[k] = nodal_before(&c->w->problem->x, cell->x) * nodal_pitch(c->g) +
                    nodal_before(&c->w->problem->z, cell->z);
    }
    return with_offset(c, nodal_matrix_of(c, "of", "u"), job->cells, offset);
}

/* Rows and columns of the job's cells, and the distance of the matrix's rows: template arguments. */
static const char *cell_size(const struct nodal_writer *c, const struct nodal_job *job)
{
    const struct nodal_cell *cell = &c->g->cell[job->cell[0]];
    return arena_printf(c->w->arena, "%d, %d, %d", 2 * c->w->problem->x.segment[cell->x].ir.l + 1,
                        2 * c->w->problem->z.segment[cell->z].ir.l + 1, nodal_pitch(c->g));
}

static int cell_elements(const struct nodal_writer *c, const struct nodal_job *job)
{
    const struct nodal_cell *cell = &c->g->cell[job->cell[0]];
    return (2 * c->w->problem->x.segment[cell->x].ir.l + 1) *
           (2 * c->w->problem->z.segment[cell->z].ir.l + 1);
}

/* ---- jobs ---- */

typedef void emit_task(struct nodal_writer *, const struct nodal_job *, const struct nodal_task *);

/* Says which of the job's cells and channels the lane has, and calls `emit`. */
static void emit_one(struct nodal_writer *c, const struct nodal_task *task, emit_task *emit)
{
    const struct nodal_job *job = &c->g->job[task->job];
    const struct nodal_cell *cell = &c->g->cell[job->cell[0]];
    line(c->o, "{ /* %s to %s%s */",
         segment_text(c->w->arena, c->g->mul, c->w->problem->x.segment[cell->x].ir),
         segment_text(c->w->arena, c->g->mul, c->w->problem->z.segment[cell->z].ir),
         job->cells > 1 ? arena_printf(c->w->arena, ", and %d alike", job->cells - 1) : "");
    if (job->cells > 1)
        line(c->o, "const int number = cgtp_lane() / %d < %d ? cgtp_lane() / %d : %d;", NODAL_CHANNELS,
             job->cells, NODAL_CHANNELS, job->cells - 1);
    if (job->cells < NODAL_CELLS)
        line(c->o, "const bool mine = cgtp_lane() < %d;", job->cells * NODAL_CHANNELS);
    emit(c, job, task);
    line(c->o, "}");
}

/* All tasks, in the branches of their warps, for the matrices of each: number `of` of so many. */
static void emit_tasks(struct nodal_writer *c, int n, const struct nodal_task *task, int abreast,
                       int matrices, emit_task *emit)
{
    bool branches = false;
    line(c->o, "{");
    line(c->o, "const int u = cgtp_lane() %% %d;", NODAL_CHANNELS);
    if (abreast > 1)
        line(c->o, "const int of = warp %% %d;", abreast);
    else if (matrices > 1)
        line(c->o, "CGTP_LOOP for (int of = 0; of < %d; of++) {", matrices);
    else
        line(c->o, "constexpr int of = 0;");
    for (int warp = 0; warp < NODAL_CHANNELS / abreast; warp++) {
        bool any = false;
        for (int i = 0; i < n; i++) {
            if (task[i].warp != warp)
                continue;
            if (!any)
                line(c->o, "%sif (%s == %d) {", branches ? "} else " : "",
                     abreast > 1 ? arena_printf(c->w->arena, "warp / %d", abreast) : "warp", warp);
            any = branches = true;
            emit_one(c, &task[i], emit);
        }
    }
    if (branches)
        line(c->o, "}");
    if (abreast < matrices) {
        line(c->o, "cgtp_sync_warp();");
        line(c->o, "}");
    }
    line(c->o, "}");
}

/* Of so many matrices each has a name here, or none. Where it has none nothing is done. */
static const char *if_named(const struct nodal_writer *c, int matrices, const char *const *name)
{
    struct text some = {.arena = c->w->arena};
    bool all = true;
    for (int k = 0; k < matrices; k++) {
        all &= name[k] != NULL;
        if (name[k])
            text_printf(&some, "%sof == %d", some.n ? " || " : "", k);
    }
    return all ? "" : arena_printf(c->w->arena, "if (%s) ", text_string(&some));
}

/* The name of the matrix that the warp has. */
static const char *named(const struct nodal_writer *c, int matrices, const char *const *name)
{
    const char *last = NULL;
    for (int k = matrices - 1; k >= 0; k--)
        if (name[k] && !last)
            last = name[k];
        else if (name[k] && strcmp(name[k], last) != 0)
            last = arena_printf(c->w->arena, "(of == %d ? %s : %s)", k, name[k], last);
    return last;
}

static const char *y_row(const struct nodal_writer *c, int input)
{
    return arena_printf(c->w->arena, "block.%s[turn_of_y]", source_input(c->w, input)->symbol);
}

static const char *w_row(const struct nodal_writer *c, int input)
{
    return arena_printf(c->w->arena, "block.%s", source_input(c->w, input)->symbol);
}

/* v += w y, by a path of the job, for the matrices' terms: one of each at a time. */
static void emit_scaled(struct nodal_writer *c, const struct nodal_job *job, int i)
{
    const struct nodal *g = c->g;
    const struct path *p = path_of(c, job, i, 0);
    const char **y = NEW_ARRAY(c->w->arena, const char *, g->matrices),
               **w = NEW_ARRAY(c->w->arena, const char *, g->matrices);
    int *next = NEW_ARRAY(c->w->arena, int, g->matrices);
    for (const struct operand *row = source_input(c->w, g->matrix[0].term[0].y); row;) {
        bool any = false;
        for (int k = 0; k < g->matrices; k++) {
            const struct nodal_matrix *m = &g->matrix[k];
            while (next[k] < m->terms && !nodal_takes(g, p, m->term[next[k]].w))
                next[k]++;
            const struct nodal_pair *pair = next[k] < m->terms ? &m->term[next[k]++] : NULL;
            y[k] = pair ? y_row(c, pair->y) : NULL;
            w[k] = pair && p->weighted ? w_row(c, pair->w) : NULL;
            any |= pair != NULL;
        }
        if (!any)
            break;
        line(c->o, "%scgtp_nodal_scale<%d, %d>(v, %s, %s);", if_named(c, g->matrices, y), 2 * p->l2 + 1,
             nodal_step(&row->block[p->y]), y_at(c, job, i, row, named(c, g->matrices, y)),
             p->weighted ? w_at(c, job, i, named(c, g->matrices, w)) : "1");
    }
}

/* The job's cells of a matrix. */
static void emit_making(struct nodal_writer *c, const struct nodal_job *job, const struct nodal_task *task)
{
    (void)task;
    line(c->o, "real m[%d] = {0};", cell_elements(c, job));
    for (int i = 0; i < c->g->cell[job->cell[0]].paths; i++) {
        const struct path *p = path_of(c, job, i, 0);
        bool takes = false, is_new = false;
        for (int k = 0; k < c->g->matrices; k++)
            for (int t = 0; t < c->g->matrix[k].terms; t++)
                takes |= nodal_takes(c->g, p, c->g->matrix[k].term[t].w);
        if (!takes)
            continue;
        line(c->o, "{");
        line(c->o, "real v[%d] = {0};", 2 * p->l2 + 1);
        emit_scaled(c, job, i);
        line(c->o, "%s(m, v);", function_of(c, c->w->plan->path[p->number].matrix, false, &is_new));
        line(c->o, "}");
    }
    if (job->cells < NODAL_CELLS)
        line(c->o, "if (mine)");
    line(c->o, "cgtp_nodal_put_cell<%s>(%s, m);", cell_size(c, job), cell_at(c, job));
}

void nodal_make_matrices(struct nodal_writer *c)
{
    const struct nodal *g = c->g;
    if (g->makings)
        emit_tasks(c, g->makings, g->making, g->making_abreast, g->matrices, emit_making);
}

/* For each of the sums that flow back, what an output takes of it by a path, times what: the row of the
 * kernel input there; false: nothing. `turn` counts what it takes of one. */
static bool find_shares(struct nodal_writer *c, const struct path *p, int output, int turn, const char **row)
{
    const bool weights = demand_operand(c->w->demand, output)->slot == SLOT_W;
    bool any = false;
    for (int k = 0; k < c->g->outers; k++) {
        int n = 0;
        row[k] = NULL;
        for (int s = 0; s < c->g->shares; s++) {
            const struct nodal_share *share = &c->g->share[s];
            if (share->output != output || share->outer != k ||
                (!weights && !nodal_takes(c->g, p, share->by)))
                continue;
            if (n++ == turn)
                row[k] = weights ? y_row(c, share->by) : p->weighted ? w_row(c, share->by) : "1";
        }
        any |= row[k] != NULL;
    }
    return any;
}

/* What a path's flow gives an output of weights: one lane adds all that there is for a weight and a matrix.
 */
static void emit_weight_shares(struct nodal_writer *c, const struct nodal_job *job, int i, int output)
{
    const struct path *p = path_of(c, job, i, 0);
    const struct operand *q = demand_operand(c->w->demand, output),
                         *y = source_input(c->w, c->g->share[0].by);
    const char **row = NEW_ARRAY(c->w->arena, const char *, c->g->outers);
    for (int s = 0; s < c->g->shares; s++)
        if (c->g->share[s].output == output)
            y = source_input(c->w, c->g->share[s].by);
    for (int turn = 0; p->weighted && find_shares(c, p, output, turn, row); turn++) {
        if (job->cells < NODAL_CELLS)
            line(c->o, "if (mine)");
        line(c->o, "%s%s += cgtp_nodal_dot<%d, %d>(%s, v);", if_named(c, c->g->outers, row),
             w_at(c, job, i,
                  arena_printf(c->w->arena, "block.%ssums[%s]", q->symbol,
                               c->g->flow_abreast > 1 ? "of" : "0")),
             2 * p->l2 + 1, nodal_step(&y->block[p->y]), y_at(c, job, i, y, named(c, c->g->outers, row)));
    }
}

/* Which of the warp's sums of a row cells add to, so that none adds where another does. */
static const char *copy_of(const struct nodal_writer *c, const struct nodal_job *job, int i)
{
    int copy[NODAL_CELLS];
    for (int k = 0; k < job->cells; k++)
        copy[k] = nodal_same_before(c->g, job, i, k);
    return with_offset(c, "0", job->cells, copy);
}

/* What they give an output of y: cells of a job may lead to one segment, and add to sums of their own. */
static void emit_row_shares(struct nodal_writer *c, const struct nodal_job *job, int i, bool waits,
                            int output)
{
    const struct path *p = path_of(c, job, i, 0);
    const struct operand *q = demand_operand(c->w->demand, output);
    const char **row = NEW_ARRAY(c->w->arena, const char *, c->g->outers);
    if (!find_shares(c, p, output, 0, row))
        return;
    line(c->o, "{");
    line(c->o, "real sum[%d] = {0};", 2 * p->l2 + 1);
    for (int turn = 0; find_shares(c, p, output, turn, row); turn++)
        line(c->o, "%scgtp_nodal_scale<%d, 1>(sum, v, %s);", if_named(c, c->g->outers, row), 2 * p->l2 + 1,
             p->weighted ? w_at(c, job, i, named(c, c->g->outers, row)) : "1");
    if (job->cells < NODAL_CELLS)
        line(c->o, "if (mine)");
    line(c->o, "cgtp_nodal_add<%d, %d>(%s, sum);", 2 * p->l2 + 1, nodal_step(&q->block[p->y]),
         y_at(c, job, i, q,
              arena_printf(c->w->arena, "block.%ssums[warp][%s]", q->symbol, copy_of(c, job, i))));
    if (waits)
        line(c->o, "cgtp_sync_warp();");
    line(c->o, "}");
}

/* What flows back from the job's cells by a path. */
static void emit_path_flow(struct nodal_writer *c, const struct nodal_job *job, int path, bool waits)
{
    const struct path *p = path_of(c, job, path, 0);
    bool is_new = false;
    const char *fold = function_of(c, c->w->plan->path[p->number].matrix, true, &is_new);
    line(c->o, "{");
    line(c->o, "real v[%d] = {0};", 2 * p->l2 + 1);
    line(c->o, "%s(v, m);", fold);
    for (int o = 0; o < c->w->demand->outputs; o++)
        if (demand_operand(c->w->demand, o)->slot == SLOT_W)
            emit_weight_shares(c, job, path, o);
        else if (demand_operand(c->w->demand, o)->slot == SLOT_Y)
            emit_row_shares(c, job, path, waits, o);
    line(c->o, "}");
}

static void emit_flowing(struct nodal_writer *c, const struct nodal_job *job, const struct nodal_task *task)
{
    line(c->o, "real m[%d];", cell_elements(c, job));
    line(c->o, "cgtp_nodal_take_cell<%s>(m, %s);", cell_size(c, job), cell_at(c, job));
    for (int i = 0; i < task->paths; i++)
        emit_path_flow(c, job, task->first + i, task->waits[i]);
}

void nodal_flow_back(struct nodal_writer *c)
{
    const struct nodal *g = c->g;
    if (g->flows)
        emit_tasks(c, g->flows, g->flow, g->flow_abreast, g->outers, emit_flowing);
}
