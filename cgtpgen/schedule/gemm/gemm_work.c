/* gemm_work.c - items by GEMM: what its loops take, counted (see gemm_plan.h). */
#include "schedule/gemm/gemm_plan.h"

int gemm_round_up(int64_t n, int by)
{
    return (int)((n + by - 1) / by);
}

double gemm_tensor_work(const struct demand *d, int path)
{
    const struct code *code = demand_code(d, path).tensor;
    const int parts = gemm_has_parts(d) ? 4 : 1;
    const struct path_plan *e = &d->plan->path[path];
    if (!code)
        return 0;
    return 4 * (code->channel.fma + code->channel.mul + code->channel.add + e->matrix->rows + 2 +
                parts * gemm_variant(d, path)->ts * e->matrix->columns);
}

double gemm_product_work(const struct demand *d, int components, int rows, int tiles, double right)
{
    const double busy = 2.5; /* instructions in the time of a product */
    return tiles * (right + busy * (gemm_has_parts(d) ? 3 : 4) * components * rows);
}

int gemm_sum_products(const struct demand *d, int path)
{
    const struct variant *v = gemm_variant(d, path);
    int n = 0;
    for (int i = 0; i < v->ws; i++)
        n += v->w[i].parts;
    return n;
}

double gemm_sum_work(const struct demand *d, const struct gemm_sum *q)
{
    const int columns = d->plan->path[q->path].matrix->columns;
    const double right = 2.0 * (gemm_has_parts(d) ? 4 : 1) * columns;
    return q->parts * 2.0 *
           (q->rows * gemm_tensor_work(d, q->path) +
            gemm_sum_products(d, q->path) * gemm_product_work(d, columns, q->rows, q->tiles, right));
}
