/* conv_rows.c - the pipelined convolution: what follows for the rows of a path set from its paths:
 * sizes, whether they come in whole chunks, factors of tables.
 */
#include "schedule/convolution/conv_plan.h"

/* ---- sizes ---- */

static int part_of(const struct path_set *s, int mul)
{
    int i = 0;
    while (s->part[i] != mul)
        i++;
    return i;
}

static bool weighted_after(const struct path_set *s, const struct path *p, const struct path *q)
{
    const int part = part_of(s, p->mul_x) - part_of(s, q->mul_x), calls = conv_calls(p) - conv_calls(q);
    return part ? part > 0 : calls ? calls > 0 : p->weight_offset > q->weight_offset;
}

int conv_weighted(struct arena *a, const struct problem *p, const struct path_set *s, int **sorted)
{
    int *path = *sorted = NEW_ARRAY(a, int, s->paths + 1), n = 0;
    for (int i = 0; i < s->paths; i++) {
        int j = n;
        if (!p->path[s->path[i]].weighted)
            continue;
        for (; j > 0 && weighted_after(s, &p->path[path[j - 1]], &p->path[s->path[i]]); j--)
            path[j] = path[j - 1];
        path[j] = s->path[i];
        n++;
    }
    return n;
}

int conv_summed_ys(const struct convolution *g, const struct path_set *s, int *begin)
{
    bool some = g->parts > 1;
    *begin = some ? s->y_begin : 0;
    return some ? s->y_end - s->y_begin : (int)g->demand->plan->problem->dim[SLOT_Y];
}

int conv_sums_bytes(const struct convolution *g, const struct path_set *s)
{
    enum { CHUNKS = 4 }; /* of a lane's row, and one that keeps lanes off each other's banks */
    int begin, bytes = conv_summed_ys(g, s, &begin) * kernel_size(g->demand->kernel);
    return g->a_outputs && s->lanes == LANES && bytes == CHUNKS * CHUNK ? LANES * (CHUNKS + 1) * CHUNK : 0;
}

int conv_kept_bytes(const struct convolution *g, const struct path_set *s)
{
    return g->keeps_z ? LANES * s->lane.bytes * demand_inputs_of(g->demand, SLOT_G) : 0;
}

/* ---- tables ---- */

bool conv_has_factors(const struct convolution *g, const struct path_set *s, int mul)
{
    const struct path *path = g->demand->plan->problem->path;
    for (int i = 0; i < s->zs; i++)
        if (path[s->z[i]].mul_x == mul && matrix_has_factors(g->matrix[s->z[i]]))
            return true;
    return false;
}

const char *conv_x_out(const struct convolution *g, const struct path_set *s)
{
    const struct operand *x = g->demand->kernel->operand;
    int64_t at = s->edge_at;
    bool same = true;
    while (x->slot != SLOT_X)
        x++;
    for (int i = 0; i < s->xs; i++) {
        const struct operand_block *b = &x->block[s->x[i]];
        same &= at == b->offset;
        at += b->channels * b->components;
    }
    return g->edge_buffer && !same ? "edge" : "x";
}
