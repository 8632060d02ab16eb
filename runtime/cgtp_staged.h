/* SPDX-License-Identifier: MIT */
/* cgtp_staged.h - staged items: what teams of warps do with an item's rows in shared memory. Included after
 * cgtp_cuda.h.
 */
#ifndef CGTP_STAGED_H
#define CGTP_STAGED_H

#include "cgtp_item.h"
#include "cgtp_rows.h"

namespace
{

/* ---- products with weights ---- */

/* z[c,k] += sum_u t[u,k] w[u,c] for the lane's v columns c: n rows of ld weights. t begins at a multiple of 16 bytes. */
template <int v, int d, int n, int ld> CGTP_DEVICE void cgtp_add_columns(real *z, const real *t, const real *w)
{
    constexpr int some = CGTP_WIDE, whole = n / some * some;
    auto add = [&](const real *row, const real *weights) {
        real f[v];
        cgtp_load<v>(f, weights);
        cgtp_add_channels<v, d>(z, f, row);
    };
    CGTP_UNROLL_BY(v * d < 8 ? 8 / CGTP_WIDE : 1)
    for (int u = 0; u < whole; u += some) {
        real rows[some * d];
        cgtp_load<some * d>(rows, t + u * d);
        CGTP_UNROLL
        for (int i = 0; i < some; i++)
            add(rows + i * d, w + (u + i) * ld);
    }
    CGTP_UNROLL
    for (int u = whole; u < n; u++)
        add(t + u * d, w + u * ld);
}

} // namespace

#endif
