/* reference_wigner.c - coupling tensors and rotations of real irreps, from ladder operators alone.
 *
 * |l3 l3> is the combination of |m1>|m2> that J+ annihilates, positive at m1 = l1 (Condon and Shortley); J-
 * gives the rest. e3nn's real basis is reached by its change_basis_real_to_complex, with the factor (-i)^l.
 */
#include "reference.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 2 * REF_L_MAX + 1 };

/* sqrt((l - m)(l + m + 1)): J+ |l m> is this times |l m+1>, and J- |l m+1> this times |l m>. */
static long double step(int l, int m)
{
    return m < -l || m >= l ? 0 : sqrtl((long double)(l - m) * (l + m + 1));
}

/* <l1 m1, l2 m2 | l3 m1+m2> at c[m1 + l1][m2 + l2]; zero elsewhere. */
static void clebsch(int l1, int l2, int l3, long double c[SIDE][SIDE])
{
    long double square = 0;
    memset(c, 0, SIDE * sizeof *c);
    c[l3 - l2 + l1][2 * l2] = 1;
    for (int m1 = l3 - l2; m1 < l1; m1++) {
        int m2 = l3 - m1;
        c[m1 + 1 + l1][m2 - 1 + l2] = -c[m1 + l1][m2 + l2] * step(l1, m1) / step(l2, m2 - 1);
    }
    long double sign = c[2 * l1][l3 - l1 + l2] < 0 ? -1 : 1;
    for (int m1 = l3 - l2; m1 <= l1; m1++)
        square += c[m1 + l1][l3 - m1 + l2] * c[m1 + l1][l3 - m1 + l2];
    for (int m1 = l3 - l2; m1 <= l1; m1++)
        c[m1 + l1][l3 - m1 + l2] *= sign / sqrtl(square);
    for (int m = l3 - 1; m >= 0; m--)
        for (int m1 = -l1; m1 <= l1; m1++) {
            int m2 = m - m1;
            if (m2 < -l2 || m2 > l2)
                continue;
            long double from1 = m1 < l1 ? step(l1, m1) * c[m1 + 1 + l1][m2 + l2] : 0;
            long double from2 = m2 < l2 ? step(l2, m2) * c[m1 + l1][m2 + 1 + l2] : 0;
            c[m1 + l1][m2 + l2] = (from1 + from2) / step(l3, m);
        }
    /* Half way down is far enough: errors grow with each step, and m < 0 is m > 0 up to a sign. */
    for (int m1 = -l1; m1 <= l1; m1++)
        for (int m2 = -l2; m2 <= l2; m2++)
            if (m1 + m2 < 0)
                c[m1 + l1][m2 + l2] = ((l1 + l2 - l3) % 2 ? -1 : 1) * c[l1 - m1][l2 - m2];
}

/* e3nn's change of basis: entry [m + l][column] for column l + |m| and l - |m|. */
static long double complex basis(int l, int m, int column)
{
    static const long double complex phase[4] = {1, -I, -1, I}; /* (-i)^l */
    const long double half = sqrtl(0.5L);
    long double complex q = 0;
    if (m == 0)
        q = column == l ? 1 : 0;
    else if (m < 0)
        q = column == l - m ? half : column == l + m ? -I * half : 0;
    else
        q = (m % 2 ? -1 : 1) * (column == l + m ? half : column == l - m ? I * half : 0);
    return phase[l % 4] * q;
}

/* The one or two columns in which row m of the change of basis is not zero. */
static int columns(int l, int m, int column[2])
{
    column[0] = l + m;
    column[1] = l - m;
    return m ? 2 : 1;
}

struct ref_w3j *ref_w3j(int l1, int l2, int l3)
{
    const int d1 = 2 * l1 + 1, d2 = 2 * l2 + 1, d3 = 2 * l3 + 1;
    long double(*c)[SIDE] = malloc(SIDE * sizeof *c);
    long double complex *t = calloc((size_t)(d1 * d2 * d3), sizeof *t);
    struct ref_w3j *out = malloc(sizeof *out);
    if (!c || !t || !out)
        abort();
    clebsch(l1, l2, l3, c);
    for (int m1 = -l1; m1 <= l1; m1++)
        for (int m2 = -l2; m2 <= l2; m2++) {
            int i[2], j[2], k[2], m3 = m1 + m2;
            if (abs(m3) > l3)
                continue;
            int ni = columns(l1, m1, i), nj = columns(l2, m2, j), nk = columns(l3, m3, k);
            for (int a = 0; a < ni * nj * nk; a++) {
                int p = i[a % ni], q = j[a / ni % nj], r = k[a / ni / nj];
                t[(p * d2 + q) * d3 + r] +=
                    basis(l1, m1, p) * basis(l2, m2, q) * conjl(basis(l3, m3, r)) * c[m1 + l1][m2 + l2];
            }
        }
    /* Rounding leaves about 1e-18 where the tensor is zero; its smallest entries for l <= 11 are above 1e-5.
     */
    long double square = 0;
    *out = (struct ref_w3j){l1, l2, l3, 0, malloc((size_t)(d1 * d2 * d3) * sizeof *out->entry)};
    if (!out->entry)
        abort();
    for (int a = 0; a < d1 * d2 * d3; a++) {
        if (fabsl(cimagl(t[a])) > 1e-14L)
            abort();
        if (fabsl(creall(t[a])) < 1e-14L)
            continue;
        out->entry[out->n++] = (struct ref_entry){a / d3 / d2, a / d3 % d2, a % d3, creall(t[a]), 0};
        square += creall(t[a]) * creall(t[a]);
    }
    for (int a = 0; a < out->n; a++) {
        out->entry[a].value /= sqrtl(square);
        out->entry[a].rounded = (double)out->entry[a].value;
    }
    free(t);
    free(c);
    return out;
}

void ref_w3j_free(struct ref_w3j *w)
{
    if (w)
        free(w->entry);
    free(w);
}

/* out = a b, n x n */
static void multiply(int n, const long double *a, const long double *b, long double *out)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) {
            long double sum = 0;
            for (int j = 0; j < n; j++)
                sum += a[i * n + j] * b[j * n + k];
            out[i * n + k] = sum;
        }
}

/* -i (turn . J) in the real basis: Q^H (..) Q, a real antisymmetric matrix. */
static void generator(int l, const long double turn[3], long double *out)
{
    const int n = 2 * l + 1;
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
            long double complex sum = 0;
            for (int m = -l; m <= l; m++) /* row m, column p of turn . J */
                for (int p = -l; p <= l; p++) {
                    long double complex j = 0;
                    if (p == m)
                        j = turn[2] * m;
                    else if (m == p + 1)
                        j = step(l, p) / 2 * (turn[0] - I * turn[1]);
                    else if (m == p - 1)
                        j = step(l, m) / 2 * (turn[0] + I * turn[1]);
                    sum += conjl(basis(l, m, a)) * (-I * j) * basis(l, p, b);
                }
            out[a * n + b] = creall(sum);
        }
}

void ref_rotation(int l, const long double turn[3], long double *d)
{
    enum { HALVINGS = 6, SERIES = 30 };
    const int n = 2 * l + 1;
    long double *matrices = malloc(3 * (size_t)(n * n) * sizeof *matrices);
    if (!matrices)
        abort();
    long double *g = matrices, *power = g + n * n, *next = power + n * n;
    generator(l, turn, g);
    for (int a = 0; a < n * n; a++) {
        g[a] = ldexpl(g[a], -HALVINGS);
        power[a] = d[a] = a % (n + 1) == 0;
    }
    for (int s = 1; s <= SERIES; s++) {
        multiply(n, power, g, next);
        for (int a = 0; a < n * n; a++)
            d[a] += power[a] = next[a] / s;
    }
    for (int h = 0; h < HALVINGS; h++) {
        multiply(n, d, d, next);
        memcpy(d, next, (size_t)(n * n) * sizeof *d);
    }
    free(matrices);
}
