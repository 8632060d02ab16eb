/* wigner.c - see wigner.h.
 *
 * With complex spherical harmonics the Clebsch-Gordan coefficient divided by sqrt(2 l3 + 1) is, by Racah's
 * formula (Varshalovich, Moskalev, Khersonskii, Quantum Theory of Angular Momentum, 8.2.1, its sum written
 * with binomials),
 *
 *     sqrt( prod_i (li + mi)! (li - mi)! / ((l1+l2+l3+1)! a! b! c!) ) * S,      m3 = m1 + m2,
 *     S = sum_n (-1)^n binom(a, n) binom(b, l1 - m1 - n) binom(c, l2 + m2 - n),
 *     a = l1 + l2 - l3,  b = l1 - l2 + l3,  c = -l1 + l2 + l3:
 *
 * the root of a rational times an integer. e3nn's change of basis takes a real component r to the complex m
 * = |r| and m = -|r| with entries of modulus 1/sqrt(2) (1 for r = 0), so a real entry (r1, r2, r3) collects
 * the complex ones with |mi| = |ri| and m3 = m1 + m2. There are at most two, (m1, m2, m3) and its negative,
 * equal up to sign: they double or they cancel, and each real entry is again the root of a rational.
 */
#include "algebra/wigner.h"

#include <assert.h>
#include <stdlib.h>

/* Everything is a product of primes up to J + 1, and S; J = l1 + l2 + l3 <= 3 L_MAX. */
enum { J_MAX = 3 * L_MAX, PRIMES = 11, BINOMIAL_MAX = 2 * L_MAX };
static const int prime[PRIMES] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31};

struct tables {
    int factorial[J_MAX + 2][PRIMES];                     /* exponents of the primes in n! */
    int64_t binomial[BINOMIAL_MAX + 1][BINOMIAL_MAX + 1]; /* zero above the diagonal */
};

static struct tables *tables_new(struct arena *arena)
{
    struct tables *t = NEW(arena, struct tables);
    for (int p = 0; p < PRIMES; p++)
        t->factorial[0][p] = 0;
    for (int n = 1; n <= J_MAX + 1; n++) {
        int rest = n;
        for (int p = 0; p < PRIMES; p++) {
            t->factorial[n][p] = t->factorial[n - 1][p];
            for (; rest % prime[p] == 0; rest /= prime[p])
                t->factorial[n][p]++;
        }
        assert(rest == 1);
    }
    for (int n = 0; n <= BINOMIAL_MAX; n++)
        for (int k = 0; k <= BINOMIAL_MAX; k++)
            t->binomial[n][k] = k == 0 ? 1 : n == 0 ? 0 : t->binomial[n - 1][k - 1] + t->binomial[n - 1][k];
    return t;
}

static int64_t binomial(const struct tables *t, int n, int k)
{
    return k < 0 || k > n ? 0 : t->binomial[n][k];
}

/* prod prime[p]^exponent[p] * rest^2. */
static struct rat from_primes(struct arena *arena, const int exponent[PRIMES], uint64_t rest)
{
    struct rat value = rat_make(arena, 1, 1);
    uint64_t part[2] = {1, 1}; /* numerator, denominator: multiplied in when they would pass 64 bits */
    for (int p = 0; p < PRIMES; p++) {
        int below = exponent[p] < 0;
        for (int n = abs(exponent[p]); n > 0; n--) {
            if (part[below] > UINT64_MAX / (uint64_t)prime[p]) {
                value = rat_mul(arena, value, rat_make(arena, part[0], part[1]));
                part[0] = part[1] = 1;
            }
            part[below] *= (uint64_t)prime[p];
        }
    }
    value = rat_mul(arena, value, rat_make(arena, part[0], part[1]));
    for (int twice = 0; twice < 2 && rest != 1; twice++)
        value = rat_mul(arena, value, rat_make(arena, rest, 1));
    return value;
}

/* The Clebsch-Gordan coefficient of complex harmonics over sqrt(2 l3 + 1), its square divided by two where
 * `halved`. */
static struct surd complex_entry(struct arena *arena, const struct tables *t, const int l[3], const int m[3],
                                 bool halved)
{
    int a = l[0] + l[1] - l[2], b = l[0] - l[1] + l[2], c = -l[0] + l[1] + l[2];
    int64_t sum = 0; /* each |term| and their sum is at most 2^(a+b+c) <= 2^33 */
    for (int n = 0; n <= a; n++) {
        int64_t term = binomial(t, a, n) * binomial(t, b, l[0] - m[0] - n) * binomial(t, c, l[1] + m[1] - n);
        sum += n % 2 ? -term : term;
    }
    if (sum == 0)
        return surd_make(0, rat_make(arena, 0, 1));
    uint64_t rest = (uint64_t)(sum < 0 ? -sum : sum);
    int exponent[PRIMES];
    for (int p = 0; p < PRIMES; p++) {
        exponent[p] = -t->factorial[l[0] + l[1] + l[2] + 1][p];
        exponent[p] -= t->factorial[a][p] + t->factorial[b][p] + t->factorial[c][p];
        for (int i = 0; i < 3; i++)
            exponent[p] += t->factorial[l[i] + m[i]][p] + t->factorial[l[i] - m[i]][p];
        for (; rest % (uint64_t)prime[p] == 0; rest /= (uint64_t)prime[p])
            exponent[p] += 2;
    }
    exponent[0] -= halved;
    return surd_make(sum < 0 ? -1 : 1, from_primes(arena, exponent, rest));
}

/* e3nn's change_basis_real_to_complex(l)[l + m, l + r] with |m| = |r| is a power of i (times 1/sqrt(2)
 * unless r = 0), (-i)^l included: that power. */
static int basis_phase(int l, int m, int r)
{
    int phase = 3 * l;
    if (m > 0)
        phase += 2 * m; /* (-1)^m */
    if (r < 0)
        phase += m < 0 ? 3 : 1; /* -i, i */
    return phase;
}

/* Entry (r1, r2, r3) of the real tensor. */
static struct surd real_entry(struct arena *arena, const struct tables *t, const int l[3], const int r[3])
{
    int m[3] = {abs(r[0]), abs(r[1]), 0};
    if (abs(m[0] + m[1]) != abs(r[2]))
        m[1] = -m[1];
    m[2] = m[0] + m[1];
    if (abs(m[2]) != abs(r[2]))
        return surd_make(0, rat_make(arena, 0, 1));

    /* The third matrix enters conjugated. Negating every m multiplies the complex entry by (-1)^(l1+l2-l3).
     * */
    int phase = 0, mirrored = 2 * (l[0] + l[1] + l[2]), nonzero = 0;
    for (int i = 0; i < 3; i++) {
        phase += (i == 2 ? 3 : 1) * basis_phase(l[i], m[i], r[i]);
        mirrored += (i == 2 ? 3 : 1) * basis_phase(l[i], -m[i], r[i]);
        nonzero += r[i] != 0;
    }
    if (nonzero && phase % 4 != mirrored % 4)
        return surd_make(0, rat_make(arena, 0, 1)); /* the two cancel */
    /* Two equal terms with 1/sqrt(2) for each nonzero r: 2/sqrt(8) with three, 2/sqrt(4) with two. A single
     * term with none; and there is never just one, as m3 = m1 + m2. */
    struct surd value = complex_entry(arena, t, l, m, nonzero == 3);
    assert(!value.sign || phase % 2 == 0); /* the tensor is real */
    return phase % 4 ? surd_negate(value) : value;
}

const struct cg *wigner_3j(struct wigner *w, int l1, int l2, int l3)
{
    assert(l1 >= 0 && l2 >= 0 && l1 <= L_MAX && l2 <= L_MAX && l3 <= L_MAX);
    assert(abs(l1 - l2) <= l3 && l3 <= l1 + l2);
    struct cg **cached = &w->table[l1][l2][l3];
    if (*cached)
        return *cached;
    if (!w->tables)
        w->tables = tables_new(w->arena);
    struct cg *cg = NEW(w->arena, struct cg);
    *cg = (struct cg){.l1 = l1, .l2 = l2, .l3 = l3};
    const int l[3] = {l1, l2, l3};
    int capacity = 0;
    for (int i = 0; i <= 2 * l1; i++)
        for (int j = 0; j <= 2 * l2; j++)
            for (int k = 0; k <= 2 * l3; k++) {
                const int r[3] = {i - l1, j - l2, k - l3};
                struct surd value = real_entry(w->arena, w->tables, l, r);
                if (!value.sign)
                    continue;
                cg->entry = arena_grow(w->arena, cg->entry, cg->n, &capacity, sizeof *cg->entry);
                cg->entry[cg->n++] = (struct cg_entry){i, j, k, value};
            }
    return *cached = cg;
}

int cg_dense(const struct cg *c)
{
    return (2 * c->l1 + 1) * (2 * c->l2 + 1) * (2 * c->l3 + 1);
}
