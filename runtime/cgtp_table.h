/* SPDX-License-Identifier: MIT */
/* cgtp_table.h - paths by tables: a warp does an item's paths one after the other, by numbers that are read while the
 * kernel runs, so that there is the same code for all of them. Included by cgtp_item.h.
 *
 * Of a path's tensor the terms c y[j] are listed that entries of its matrix M are sums of, by j: of number start[j] to
 * start[j + 1], in cell i * columns + k of M. M is made of an item's y in `scratch`, and meets rows from there.
 */
#ifndef CGTP_TABLE_H
#define CGTP_TABLE_H

namespace
{

/* A path: M has rows for B and columns for G, made of A; where its parts of rows begin, and how far apart channels and
 * components are in them. */
struct cgtp_table_path {
    int channels, rows, columns, depth, start;
    int a, b, w, g;
    int a_component, b_channel, b_component, w_channel, g_channel, g_component;
};

/* The terms of all paths. */
struct cgtp_terms {
    const int *start;
    const unsigned short *cell;
    const real *value;
};

/* Lanes share channels; where there are fewer channels than lanes, `parts` lanes share one. */
struct cgtp_table_lanes {
    int width, part, parts;
    CGTP_MEMBER cgtp_table_lanes(int channels)
        : width(cgtp_lanes_for(channels)), part(cgtp_lane() / width), parts(CGTP_LANES / width)
    {
    }
    CGTP_MEMBER int channel(void) const
    {
        return cgtp_lane() % width;
    }
    /* Of the lanes that share a channel. */
    CGTP_MEMBER real sum(real value) const
    {
        cgtp_sum_shared<1>(&value, width);
        return value;
    }
};

CGTP_DEVICE void cgtp_table_clear(real *m, int cells)
{
    for (int i = cgtp_lane(); i < cells; i += CGTP_LANES)
        m[i] = 0;
    cgtp_sync_warp();
}

/* M of a channel of A. Terms of one j are in different cells. */
CGTP_DEVICE void cgtp_table_matrix(real *m, const cgtp_table_path &p, cgtp_terms terms, const real *a)
{
    cgtp_table_clear(m, p.rows * p.columns);
    for (int j = 0; j < p.depth; j++) {
        const real factor = a[j * p.a_component];
        for (int t = terms.start[p.start + j] + cgtp_lane(); t < terms.start[p.start + j + 1]; t += CGTP_LANES)
            m[terms.cell[t]] += terms.value[t] * factor;
        cgtp_sync_warp();
    }
}

/* m[i,k] += sum over some channels of b[i] g[k]; of b rows of as many numbers as there are lanes, and one. */
CGTP_DEVICE void cgtp_table_outer(real *m, const cgtp_table_path &p, const real *b, const real *g, int channels)
{
    for (int cell = cgtp_lane(); cell < p.rows * p.columns; cell += CGTP_LANES) {
        const int i = cell / p.columns, k = cell - i * p.columns;
        real sum = m[cell];
        for (int u = 0; u < channels; u++)
            sum += b[i * (CGTP_LANES + 1) + u] * g[u * p.g_channel + k * p.g_component];
        m[cell] = sum;
    }
    cgtp_sync_warp();
}

/* a[j] += the derivative by a[j] of the sum of m times M. */
template <typename Row>
CGTP_DEVICE void cgtp_table_back(Row a, const cgtp_table_path &p, cgtp_terms terms, const real *m)
{
    for (int j = 0; j < p.depth; j++) {
        real sum = 0;
        for (int t = terms.start[p.start + j] + cgtp_lane(); t < terms.start[p.start + j + 1]; t += CGTP_LANES)
            sum += terms.value[t] * m[terms.cell[t]];
        cgtp_sum_shared<1>(&sum, 1);
        if (cgtp_lane() == 0)
            a[j * p.a_component] += sum;
    }
    cgtp_sync_warp();
}

} // namespace

#endif
