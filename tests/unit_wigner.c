/* unit_wigner.c - the 3j tensors: e3nn's to l = 6; to l = 11 invariant under the rotation group's generators,
 * normalised, orthogonal, symmetric under permutations, and correctly rounded.
 *
 * The generators are made here from ladder operators and e3nn's change of basis, in long double; nothing is
 * shared with wigner.c. They decide everything but the sign: the invariant tensor is unique up to a factor,
 * and a tensor of norm one whose image under all three generators has norm r is within r / sqrt(2) of it,
 * the Casimir operator being at least 1 * 2 on the rest of the space. The sign is the Condon-Shortley phase
 * of one complex entry.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "algebra/wigner.h"
#include "bracket.h"

#include <complex.h>
#include <float.h>
#include <stdio.h>

enum { N = 2 * L_MAX + 1 };

static struct arena arena; /* holds every tensor from the first test to the last */
static struct wigner wigner = {.arena = &arena};
static struct arena scratch;

/* Calls visit for every triple to l_max. */
static int each_triple(int l_max, void (*visit)(const struct cg *))
{
    int triples = 0;
    for (int l1 = 0; l1 <= l_max; l1++)
        for (int l2 = 0; l2 <= l_max; l2++)
            for (int l3 = abs(l1 - l2); l3 <= l1 + l2 && l3 <= l_max; l3++, triples++) {
                visit(wigner_3j(&wigner, l1, l2, l3));
                arena_free(&scratch);
            }
    return triples;
}

static int compare_entries(const void *a, const void *b)
{
    const struct cg_entry *p = a, *q = b;
    return p->i != q->i ? p->i - q->i : p->j != q->j ? p->j - q->j : p->k - q->k;
}

/* The entry at (i, j, k), NULL where the tensor is zero. */
static const struct cg_entry *find(const struct cg *cg, int i, int j, int k)
{
    struct cg_entry key = {i, j, k, {0, {{0, NULL}, {0, NULL}}}};
    return cg->n ? bsearch(&key, cg->entry, (size_t)cg->n, sizeof key, compare_entries) : NULL;
}

/* ---- e3nn's tensors ---- */

static FILE *golden;
static double golden_worst; /* ulp */

static double read_double(void)
{
    unsigned char byte[8];
    assert_int_equal(fread(byte, 1, 8, golden), 8);
    uint64_t bits = 0;
    for (int i = 7; i >= 0; i--)
        bits = bits << 8 | byte[i];
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* e3nn's values are sums of products, yet its zeros came out exactly zero in these files: no threshold is
 * needed to tell them from small entries, and zero must be zero. */
static void compare_golden(const struct cg *cg)
{
    for (int i = 0; i <= 2 * cg->l1; i++)
        for (int j = 0; j <= 2 * cg->l2; j++)
            for (int k = 0; k <= 2 * cg->l3; k++) {
                double theirs = read_double();
                const struct cg_entry *e = find(cg, i, j, k);
                if ((theirs != 0) != (e != NULL))
                    fail_msg("(%d %d %d) at %d %d %d: e3nn has %g", cg->l1, cg->l2, cg->l3, i, j, k, theirs);
                if (!e)
                    continue;
                double ours = surd_double(e->value);
                double ulp = fabs(nextafter(ours, INFINITY) - ours), error = fabs(theirs - ours) / ulp;
                if (error > 16)
                    fail_msg("(%d %d %d) at %d %d %d: %.17g, e3nn has %.17g", cg->l1, cg->l2, cg->l3, i, j, k,
                             ours, theirs);
                golden_worst = fmax(golden_worst, error);
            }
}

static void equals_e3nn(void **state)
{
    (void)state;
    golden = fopen("tests/data/w3j/w3j.f64", "rb");
    assert_non_null(golden);
    assert_int_equal(each_triple(6, compare_golden), 175);
    assert_int_equal(fgetc(golden), EOF);
    fclose(golden);
    printf("# largest difference from e3nn: %.1f ulp\n", golden_worst);
}

/* ---- invariance ---- */

/* The real antisymmetric generators of rotations about x, y, z in e3nn's basis: X[axis][row][column], with
 * the nonzero rows of each column listed. */
struct generator {
    long double x[N][N];
    int rows[N], row[N][N];
};
static struct generator generators[L_MAX + 1][3];

/* e3nn's change_basis_real_to_complex(l)[l + m, l + r] up to the factor 1/sqrt(2) of r != 0: a power of i. */
static long double complex basis(int l, int m, int r)
{
    static const long double complex power_of_i[4] = {1, I, -1, -I};
    long double complex q = 0;
    if (abs(m) == abs(r)) {
        q = r < 0 ? -I : 1; /* rows m < 0; columns l + |m| and l - |m| */
        if (m > 0)
            q = (m % 2 ? -1 : 1) * (r < 0 ? I : 1);
        if (m == 0)
            q = 1;
    }
    return q * power_of_i[3 * l % 4]; /* (-i)^l */
}

/* <m'| J_axis |m> from J+- = Jx +- i Jy. */
static long double complex angular_momentum(int l, int axis, int to, int from)
{
    if (axis == 2)
        return to == from ? (long double)from : 0;
    long double up = to == from + 1 ? sqrtl((long double)(l * (l + 1) - from * (from + 1))) : 0;
    long double down = to == from - 1 ? sqrtl((long double)(l * (l + 1) - from * (from - 1))) : 0;
    return axis == 0 ? (up + down) / 2 : (up - down) / 2 * -I;
}

static int make_generators(void **state)
{
    (void)state;
    for (int l = 0; l <= L_MAX; l++)
        for (int axis = 0; axis < 3; axis++) {
            struct generator *g = &generators[l][axis];
            for (int r = -l; r <= l; r++)
                for (int s = -l; s <= l; s++) {
                    /* Equal terms, so that they double or cancel without rounding; then the two factors
                     * 1/sqrt(2). */
                    long double complex sum = 0;
                    for (int m = -abs(r); m <= abs(r); m += r ? 2 * abs(r) : 1)
                        for (int n = -abs(s); n <= abs(s); n += s ? 2 * abs(s) : 1)
                            sum +=
                                conjl(basis(l, m, r)) * I * angular_momentum(l, axis, m, n) * basis(l, n, s);
                    if (cimagl(sum) != 0)
                        return -1;
                    g->x[l + r][l + s] = creall(sum) * (r && s ? 0.5L : r || s ? sqrtl(0.5L) : 1.0L);
                    if (g->x[l + r][l + s] != 0)
                        g->row[l + s][g->rows[l + s]++] = l + r;
                }
        }
    return 0;
}

static long double long_double(struct nat a)
{
    long double value = 0;
    for (int i = a.n - 1; i >= 0; i--)
        value = value * 4294967296.0L + (long double)a.limb[i];
    return value;
}

static long double value_of(const struct cg_entry *e)
{
    return e->value.sign * sqrtl(long_double(e->value.square.num) / long_double(e->value.square.den));
}

static long double image[N][N][N], magnitude[N][N][N];

static void add_term(int i, int j, int k, long double term)
{
    image[i][j][k] += term;
    magnitude[i][j][k] += fabsl(term);
}

/* Every generator takes the tensor to zero, up to the rounding of the sums: at most a dozen terms, each a
 * product of two numbers a few roundings away from exact. */
static void check_invariance(const struct cg *cg)
{
    for (int axis = 0; axis < 3; axis++) {
        const struct generator *x1 = &generators[cg->l1][axis], *x2 = &generators[cg->l2][axis];
        const struct generator *x3 = &generators[cg->l3][axis];
        memset(image, 0, sizeof image);
        memset(magnitude, 0, sizeof magnitude);
        for (int n = 0; n < cg->n; n++) {
            const struct cg_entry *e = &cg->entry[n];
            long double value = value_of(e);
            for (int t = 0; t < x1->rows[e->i]; t++)
                add_term(x1->row[e->i][t], e->j, e->k, x1->x[x1->row[e->i][t]][e->i] * value);
            for (int t = 0; t < x2->rows[e->j]; t++)
                add_term(e->i, x2->row[e->j][t], e->k, x2->x[x2->row[e->j][t]][e->j] * value);
            for (int t = 0; t < x3->rows[e->k]; t++)
                add_term(e->i, e->j, x3->row[e->k][t], x3->x[x3->row[e->k][t]][e->k] * value);
        }
        for (int i = 0; i <= 2 * cg->l1; i++)
            for (int j = 0; j <= 2 * cg->l2; j++)
                for (int k = 0; k <= 2 * cg->l3; k++)
                    if (!(fabsl(image[i][j][k]) <= 16 * LDBL_EPSILON * magnitude[i][j][k]))
                        fail_msg("(%d %d %d): generator %d leaves %Lg at %d %d %d", cg->l1, cg->l2, cg->l3,
                                 axis, image[i][j][k], i, j, k);
    }

    /* The complex coefficient <l1 l1 l2 (l3-l1) | l3 l3> is positive; the change of basis is unitary. */
    const int m[3] = {cg->l1, cg->l3 - cg->l1, cg->l3};
    long double complex sum = 0;
    for (int n = 0; n < cg->n; n++) {
        const struct cg_entry *e = &cg->entry[n];
        const int r[3] = {e->i - cg->l1, e->j - cg->l2, e->k - cg->l3};
        long double complex q =
            conjl(basis(cg->l1, m[0], r[0])) * conjl(basis(cg->l2, m[1], r[1])) * basis(cg->l3, m[2], r[2]);
        for (int i = 0; i < 3; i++)
            q *= r[i] ? sqrtl(0.5L) : 1.0L;
        sum += q * value_of(e);
    }
    assert_true(fabsl(cimagl(sum)) <= 16 * LDBL_EPSILON && creall(sum) > 1e-9L);
}

static void invariant(void **state)
{
    (void)state;
    assert_int_equal(each_triple(L_MAX, check_invariance), 870);
}

/* ---- orthogonality and norm ---- */

static void check_orthogonality(const struct cg *cg)
{
    /* sum_ij C[i,j,k]^2 = 1 / (2 l3 + 1), exactly. */
    struct rat norm[N];
    for (int k = 0; k <= 2 * cg->l3; k++)
        norm[k] = rat_make(&scratch, 0, 1);
    for (int n = 0; n < cg->n; n++)
        norm[cg->entry[n].k] = rat_add(&scratch, norm[cg->entry[n].k], cg->entry[n].value.square);
    for (int k = 0; k <= 2 * cg->l3; k++)
        assert_int_equal(rat_compare(norm[k], rat_make(&scratch, 1, (uint64_t)(2 * cg->l3 + 1))), 0);

    /* sum_ij C[i,j,k] C[i,j,k'] = 0 for k != k': entries are rounded once, products once, and there are at
     * most 2 N of them, as (i, j) leaves at most four k. */
    static long double gram[N][N], total[N][N];
    memset(gram, 0, sizeof gram);
    memset(total, 0, sizeof total);
    const struct cg_entry *end = cg->entry + cg->n;
    for (const struct cg_entry *a = cg->entry; a < end; a++)
        for (const struct cg_entry *b = a + 1; b < end && b->i == a->i && b->j == a->j; b++) {
            long double product = value_of(a) * value_of(b);
            gram[a->k][b->k] += product;
            total[a->k][b->k] += fabsl(product);
        }
    for (int k = 0; k <= 2 * cg->l3; k++)
        for (int q = k + 1; q <= 2 * cg->l3; q++)
            assert_true(fabsl(gram[k][q]) <= 2 * N * LDBL_EPSILON * total[k][q]);
}

static void orthogonal(void **state)
{
    (void)state;
    each_triple(L_MAX, check_orthogonality);
}

/* ---- permutations: cyclic ones change nothing, odd ones the sign (-1)^(l1+l2+l3) ---- */

static void check_permutations(const struct cg *cg)
{
    const struct cg *swapped = wigner_3j(&wigner, cg->l2, cg->l1, cg->l3);
    const struct cg *turned = wigner_3j(&wigner, cg->l2, cg->l3, cg->l1);
    assert_int_equal(swapped->n, cg->n);
    assert_int_equal(turned->n, cg->n);
    for (int n = 0; n < cg->n; n++) {
        const struct cg_entry *e = &cg->entry[n];
        const struct cg_entry *s = find(swapped, e->j, e->i, e->k), *t = find(turned, e->j, e->k, e->i);
        assert_true(s && t);
        assert_true(surd_equal(t->value, e->value));
        bool odd = (cg->l1 + cg->l2 + cg->l3) % 2;
        assert_true(surd_equal(odd ? surd_negate(s->value) : s->value, e->value));
    }
}

static void permutations(void **state)
{
    (void)state;
    each_triple(L_MAX, check_permutations);
}

/* ---- form and rounding ---- */

static uint64_t gcd(uint64_t a, uint64_t b)
{
    return b ? gcd(b, a % b) : a;
}

static void check_form(const struct cg *cg)
{
    for (int n = 0; n < cg->n; n++) {
        const struct cg_entry *e = &cg->entry[n];
        if (n)
            assert_true(compare_entries(e - 1, e) < 0);
        assert_true(e->i >= 0 && e->i <= 2 * cg->l1 && e->j >= 0 && e->j <= 2 * cg->l2);
        assert_true(e->k >= 0 && e->k <= 2 * cg->l3 && abs(e->value.sign) == 1);
        struct nat num = e->value.square.num, den = e->value.square.den;
        assert_true(num.n >= 1 && num.n <= 2 && den.n >= 1 && den.n <= 2);
        assert_true(num.limb[num.n - 1] && den.limb[den.n - 1]);
        uint64_t p = num.limb[0] | (num.n > 1 ? (uint64_t)num.limb[1] << 32 : 0);
        uint64_t q = den.limb[0] | (den.n > 1 ? (uint64_t)den.limb[1] << 32 : 0);
        assert_true(gcd(p, q) == 1);
        double wide = surd_double(e->value);
        float narrow = surd_float(e->value);
        assert_true((wide < 0) == (e->value.sign < 0) && (narrow < 0) == (e->value.sign < 0));
        if (!bracket_nearest(fabs(wide), 53, e->value.square))
            fail_msg("sqrt(%llu/%llu) is not %.17g", (unsigned long long)p, (unsigned long long)q,
                     fabs(wide));
        if (!bracket_nearest((double)fabsf(narrow), 24, e->value.square))
            fail_msg("sqrt(%llu/%llu) is not %.9gf", (unsigned long long)p, (unsigned long long)q,
                     (double)fabsf(narrow));
    }
}

static void correctly_rounded(void **state)
{
    (void)state;
    each_triple(L_MAX, check_form);
}

static void computed_once(void **state)
{
    (void)state;
    assert_ptr_equal(wigner_3j(&wigner, 3, 2, 4), wigner_3j(&wigner, 3, 2, 4));
    const struct cg *scalar = wigner_3j(&wigner, 0, 0, 0);
    assert_int_equal(scalar->n, 1);
    assert_true(surd_double(scalar->entry[0].value) == 1.0);
}

int main(void)
{
    if (setjmp(arena.failure)) {
        puts("Bail out! out of memory");
        return 1;
    }
    if (setjmp(scratch.failure)) {
        puts("Bail out! out of memory for scratch");
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_e3nn),  cmocka_unit_test(invariant),         cmocka_unit_test(orthogonal),
        cmocka_unit_test(permutations), cmocka_unit_test(correctly_rounded), cmocka_unit_test(computed_once),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    int failed = cmocka_run_group_tests(tests, make_generators, NULL);
    arena_free(&arena);
    return failed;
}
