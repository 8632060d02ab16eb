/* SPDX-License-Identifier: MIT */
/* cgtp_table.h - paths by table: products with a path's matrix M, whose entries are numbers in tables. Loops over
 * tables are unrolled, so that what a device executes has no tables in it. Included by cgtp_convolution.h.
 *
 * A generated kernel describes a matrix of M::rows and M::columns by a struct M. Entry e of M::entries is in row M::row(e)
 * and column M::column(e), and is plus (M::entry(e) > 0) or minus the linear form of number |M::entry(e)| - 1 of
 * the M::depth components of y. M::forms there are, of M::terms terms together: term t belongs to form M::form(t), and
 * is M::coefficient(t) y[M::index(t)]. M::bare(f): the component that form f is alone; -1: it is none.
 */
#ifndef CGTP_TABLE_H
#define CGTP_TABLE_H

namespace
{

/* Nothing, to which something is added: the zero that the compiler knows to change no number. */
template <int n> CGTP_DEVICE void cgtp_table_clear(real *v)
{
    CGTP_UNROLL
    for (int i = 0; i < n; i++)
        v[i] = (real)-0.0;
}

/* The forms of y. */
template <typename M> CGTP_DEVICE void cgtp_table_forms(real *form, const real *y)
{
    cgtp_table_clear<M::forms>(form);
    CGTP_UNROLL
    for (int t = 0; t < M::terms; t++)
        form[M::form(t)] += M::coefficient(t) * y[M::index(t)];
}

/* The number of an entry's form; its sign. */
CGTP_DEVICE int cgtp_table_number(int entry)
{
    return (entry < 0 ? -entry : entry) - 1;
}
CGTP_DEVICE real cgtp_table_sign(int entry)
{
    return entry < 0 ? (real)-1 : (real)1;
}

/* z[k] += sum over i of M[i,k] b[i] */
template <typename M> CGTP_DEVICE void cgtp_table_add(real *z, const real *form, const real *b)
{
    CGTP_UNROLL
    for (int e = 0; e < M::entries; e++)
        z[M::column(e)] += cgtp_table_sign(M::entry(e)) * form[cgtp_table_number(M::entry(e))] * b[M::row(e)];
}

/* l[i] += sum over k of M[i,k] g[k] */
template <typename M> CGTP_DEVICE void cgtp_table_add_left(real *l, const real *form, const real *g)
{
    CGTP_UNROLL
    for (int e = 0; e < M::entries; e++)
        l[M::row(e)] += cgtp_table_sign(M::entry(e)) * form[cgtp_table_number(M::entry(e))] * g[M::column(e)];
}

/* y[j] += the derivative by y[j] of sum over i and k of b[i] M[i,k] g[k]: that of a form which is a component goes to
 * that, others to sums of their own. */
template <typename M> CGTP_DEVICE void cgtp_table_add_forms(real *y, const real *b, const real *g)
{
    real sum[M::depth + M::forms];
    cgtp_table_clear<M::depth + M::forms>(sum);
    CGTP_UNROLL
    for (int j = 0; j < M::depth; j++)
        sum[j] = y[j];
    CGTP_UNROLL
    for (int e = 0; e < M::entries; e++) {
        const int number = cgtp_table_number(M::entry(e));
        const int to = M::bare(number) < 0 ? M::depth + number : M::bare(number);
        sum[to] += cgtp_table_sign(M::entry(e)) * b[M::row(e)] * g[M::column(e)];
    }
    CGTP_UNROLL
    for (int t = 0; t < M::terms; t++)
        if (M::bare(M::form(t)) < 0)
            sum[M::index(t)] += M::coefficient(t) * sum[M::depth + M::form(t)];
    CGTP_UNROLL
    for (int j = 0; j < M::depth; j++)
        y[j] = sum[j];
}

/* to[i] += s v[i]; without s; the sum of v[i] w[i]. */
template <int n> CGTP_DEVICE void cgtp_table_add_scaled(real *to, real s, const real *v)
{
    CGTP_UNROLL
    for (int i = 0; i < n; i++)
        to[i] += s * v[i];
}
template <int n> CGTP_DEVICE void cgtp_table_add_vector(real *to, const real *v)
{
    CGTP_UNROLL
    for (int i = 0; i < n; i++)
        to[i] += v[i];
}
template <int n> CGTP_DEVICE real cgtp_table_dot(const real *v, const real *w)
{
    real sum = (real)-0.0;
    CGTP_UNROLL
    for (int i = 0; i < n; i++)
        sum += v[i] * w[i];
    return sum;
}

} // namespace

#endif
