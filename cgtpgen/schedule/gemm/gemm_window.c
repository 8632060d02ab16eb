/* gemm_window.c - items by GEMM: pieces of rows, where whole ones have no room in shared memory, or are more
 * than a block of sums reads.
 */
#include "schedule/gemm/gemm_plan.h"

/* Windows begin at multiples of so many elements, and end there in rows that are copied so: 16 bytes. */
static int every_of(const struct demand *d)
{
    return 16 / kernel_size(d->kernel);
}

static struct gemm_window whole(const struct operand *q)
{
    return (struct gemm_window){0, (int)q->dim};
}

/* The window, and what the path reads of the operand besides. */
static struct gemm_window with_path(struct gemm_window w, const struct demand *d, const struct operand *q,
                                    const struct path *path)
{
    const struct operand_block *b = operand_block_of(q, path);
    const int first = (int)b->offset / every_of(d) * every_of(d);
    const int end = (int)(b->offset + (int64_t)b->channels * b->components);
    const int before = w.length ? w.first + w.length : 0;
    w.first = w.length && w.first < first ? w.first : first;
    w.length = (before > end ? before : end) - w.first;
    return w;
}

/* As long as so many elements, of those that there are. */
static struct gemm_window lengthened(struct gemm_window w, const struct operand *q, int length)
{
    const int last = (int)q->dim - length;
    w.first = w.first < last ? w.first : last;
    w.length = length;
    return w;
}

/* Elements of a path's rows. */
static double elements_of(const struct demand *d, const struct path *path)
{
    double n = 0;
    for (int i = 0; i < d->kernel->form->inputs; i++) {
        const struct operand *q = kernel_input(d->kernel, i);
        if (demand_reads(d, i) && (q->slot == SLOT_X || q->slot == SLOT_G))
            n += operand_block_of(q, path)->channels * operand_block_of(q, path)->components;
    }
    return n;
}

/* Segments that follow each other, with about as many elements for each piece. */
static int divide(struct gemm_rows *r, enum slot slot, int cuts)
{
    const struct demand *d = r->demand;
    const struct problem *p = d->plan->problem;
    double all = 0, before = 0;
    int used = 0, last = -1;
    for (int i = 0; i < p->paths; i++)
        all += d->variant_of[i] >= 0 ? elements_of(d, &p->path[i]) : 0;
    for (int s = 0; s < slot_irreps(p, slot)->n; s++) {
        double own = 0;
        for (int i = 0; i < p->paths; i++)
            if (d->variant_of[i] >= 0 && gemm_segment(&p->path[i], slot) == s)
                own += elements_of(d, &p->path[i]);
        const int cut = own ? (int)((before + own / 2) * cuts / all) : last;
        used += cut > last;
        last = cut > last ? cut : last;
        r->cut_of[s] = used > 0 ? used - 1 : 0;
        before += own;
    }
    return used ? used : 1;
}

bool gemm_cut_rows(struct arena *a, struct gemm_rows *r, int cuts)
{
    const struct demand *d = r->demand;
    const struct problem *p = d->plan->problem;
    const enum slot slot = gemm_slot(d->plan, r->back ? ROLE_B : ROLE_G);
    const int inputs = d->kernel->form->inputs;
    r->cut_of = NEW_ARRAY(a, int, slot_irreps(p, slot)->n + 1);
    r->cuts = divide(r, slot, cuts);
    r->window = r->cuts > 1 ? NEW_ARRAY(a, struct gemm_window, r->cuts * inputs + 1) : NULL;
    for (int i = 0; i < inputs && r->window; i++) {
        const struct operand *q = kernel_input(d->kernel, i);
        const int every = gemm_is_wide(q) ? every_of(d) : 1;
        for (int k = 0; k < r->cuts; k++) {
            struct gemm_window *w = &r->window[k * inputs + i];
            for (int n = 0; n < p->paths && q->slot != SLOT_Y && q->slot != SLOT_W; n++)
                if (d->variant_of[n] >= 0 && r->cut_of[gemm_segment(&p->path[n], slot)] == k)
                    *w = with_path(*w, d, q, &p->path[n]);
            if (q->slot == SLOT_Y || q->slot == SLOT_W)
                *w = whole(q);
            w->length = (w->length + every - 1) / every * every;
        }
    }
    return r->cuts == cuts;
}

int gemm_rows_length(const struct gemm_rows *r, int input)
{
    const int inputs = r->demand->kernel->form->inputs;
    int most = r->window ? 0 : (int)kernel_input(r->demand->kernel, input)->dim;
    for (int k = 0; k < r->cuts && r->window; k++) {
        const int length = r->window[k * inputs + input].length;
        most = most > length ? most : length;
    }
    return most;
}

/* ---- sums ---- */

/* Are the parts of a set neighbours? Those of paths whose parts differ in length are not. */
static bool has_neighbours(const struct gemm *g)
{
    bool below = false;
    for (int i = 0; i < g->sum_count; i++)
        below |= g->sums->plan->path[g->sum[i].path].below;
    return !below;
}

void gemm_find_sum_windows(struct arena *a, struct gemm *g)
{
    const struct demand *d = g->sums;
    const int inputs = d->kernel->form->inputs;
    g->sum_window =
        g->sets > 1 && has_neighbours(g) ? NEW_ARRAY(a, struct gemm_window, g->sets * inputs + 1) : NULL;
    for (int i = 0; i < inputs && g->sum_window; i++) {
        const struct operand *q = kernel_input(d->kernel, i);
        const int every = gemm_is_wide(q) ? every_of(d) : 1;
        int most = 0;
        for (int set = 0; set < g->sets; set++) {
            struct gemm_window *w = &g->sum_window[set * inputs + i];
            for (int k = 0; k < g->sum_count && q->slot != SLOT_Y && q->slot != SLOT_W; k++)
                if (g->sum[k].first < (set + 1) * g->warps &&
                    g->sum[k].first + g->sum[k].parts > set * g->warps)
                    *w = with_path(*w, d, q, &d->plan->problem->path[g->sum[k].path]);
            if (q->slot == SLOT_Y || q->slot == SLOT_W)
                *w = whole(q);
            most = most > w->length ? most : w->length;
        }
        most = (most + every - 1) / every * every;
        for (int set = 0; set < g->sets; set++)
            g->sum_window[set * inputs + i] = lengthened(g->sum_window[set * inputs + i], q, most);
    }
}

int gemm_sum_length(const struct gemm *g, int input)
{
    return g->sum_window ? g->sum_window[input].length : (int)kernel_input(g->sums->kernel, input)->dim;
}

double gemm_sum_bytes(const struct gemm *g)
{
    const struct demand *d = g->sums;
    double bytes = demand_row_bytes(d, false);
    for (int i = 0; d && i < d->kernel->form->inputs; i++) {
        const struct operand *q = kernel_input(d->kernel, i);
        if (demand_reads(d, i) && q->index == INDEX_ITEM)
            bytes -= (double)kernel_size(d->kernel) * ((int)q->dim - gemm_sum_length(g, i));
    }
    return bytes * (g->sets > 1 ? g->sets : 1);
}
