/* problem.c - see problem.h. After the spec is read: what its instructions mean, and whether they can.
 *
 * The source of every rule is e3nn.o3.TensorProduct: multiplicities and weights a mode asks for
 * (_codegen.py), path shapes and coefficients (_tensor_product.py). Rules are asked of empty segments too,
 * where e3nn skips them.
 */
#include "problem/problem.h"
#include "problem/sugar.h"

/* The problem being built. */
struct builder {
    struct arena *arena;
    const struct spec *spec;
    struct diag *diag;
    struct expansion from;
    struct problem *problem;
};

static int64_t pairs(int64_t mul)
{
    return mul * (mul - 1) / 2;
}

static const char *parity_text(int parity)
{
    return parity > 0 ? "even" : "odd";
}

/* ---- checks ---- */

static bool check_segment(struct builder *b, char slot, const struct irreps *irreps, struct pos irreps_pos,
                          int n, struct pos pos)
{
    if (n >= 0 && n < irreps->n)
        return true;
    if (irreps->n == 0)
        diag_report(b->diag, DIAG_NO_SEGMENT, pos, "there is no segment %d in %c, which is empty", n, slot);
    else if (irreps->n == 1)
        diag_report(b->diag, DIAG_NO_SEGMENT, pos, "there is no segment %d in %c: expected 0, its only one",
                    n, slot);
    else
        diag_report(b->diag, DIAG_NO_SEGMENT, pos, "there is no segment %d in %c: expected 0 to %d", n, slot,
                    irreps->n - 1);
    diag_note(b->diag, irreps_pos, "the segments of %c", slot);
    return false;
}

/* Does the product of x and y hold the irrep of z? Notes which segments are meant when it does not. */
static void check_irrep(struct builder *b, const struct spec_instruction *ins, const struct segment *x,
                        const struct segment *y, const struct segment *z)
{
    int least = x->ir.l > y->ir.l ? x->ir.l - y->ir.l : y->ir.l - x->ir.l, most = x->ir.l + y->ir.l;
    const char *left = irrep_text(b->arena, x->ir), *right = irrep_text(b->arena, y->ir),
               *whole = segment_text(b->arena, z->mul, z->ir);
    if (x->ir.parity * y->ir.parity != z->ir.parity)
        diag_report(b->diag, DIAG_PARITY, ins->z_pos,
                    "the parity of %s times %s is %s, but segment %d of z, %s, is %s", left, right,
                    parity_text(-z->ir.parity), ins->z, whole, parity_text(z->ir.parity));
    if (z->ir.l < least || z->ir.l > most) {
        if (least == most)
            diag_report(b->diag, DIAG_TRIANGLE, ins->z_pos,
                        "%s times %s has l = %d only, but segment %d of z, %s, has l = %d", left, right,
                        least, ins->z, whole, z->ir.l);
        else
            diag_report(b->diag, DIAG_TRIANGLE, ins->z_pos,
                        "%s times %s has l from %d to %d, but segment %d of z, %s, has l = %d", left, right,
                        least, most, ins->z, whole, z->ir.l);
    }
    if (!irrep_in_product(z->ir, x->ir, y->ir))
        diag_note(b->diag, b->spec->z_pos, "segment %d of z is %s", ins->z, whole);
}

/* The multiplicities and weights that the mode needs. */
static void check_mode(struct builder *b, const struct spec_instruction *ins, const struct segment *x,
                       const struct segment *y, const struct segment *z)
{
    static const char equal[] = "%s needs equal multiplicities of %c and %c, but they are %d and %d";
    const struct mode_row *m = &mode_table[ins->mode];
    int64_t product = (int64_t)x->mul * y->mul;
    const char *mode = m->name;
    struct pos pos = ins->mode_pos;
    bool x_wrong = false, y_wrong = false, z_wrong = false; /* which of them to show */
    if (mode_ties_inputs(m) && x->mul != y->mul) {
        diag_report(b->diag, DIAG_MULTIPLICITY, pos, equal, mode, 'x', 'y', x->mul, y->mul);
        x_wrong = y_wrong = true;
    }
    if (m->z[0] == AXIS_U && m->z[1] == AXIS_NONE && x->mul != z->mul) {
        diag_report(b->diag, DIAG_MULTIPLICITY, pos, equal, mode, 'x', 'z', x->mul, z->mul);
        x_wrong = z_wrong = true;
    }
    if (m->z[0] == AXIS_V && y->mul != z->mul) {
        diag_report(b->diag, DIAG_MULTIPLICITY, pos, equal, mode, 'y', 'z', y->mul, z->mul);
        y_wrong = z_wrong = true;
    }
    if (m->z[1] == AXIS_V && product != z->mul) {
        diag_report(b->diag, DIAG_MULTIPLICITY, pos,
                    "%s needs multiplicity %d * %d = %lld in z, that of x times that of y, but it is %d",
                    mode, x->mul, y->mul, (long long)product, z->mul);
        x_wrong = y_wrong = z_wrong = true;
    }
    if (m->z[0] == AXIS_PAIRS && pairs(x->mul) != z->mul) {
        diag_report(b->diag, DIAG_MULTIPLICITY, pos,
                    "%s needs multiplicity %d * %d / 2 = %lld in z, the pairs u < v of x, but it is %d", mode,
                    x->mul, x->mul - 1, (long long)pairs(x->mul), z->mul);
        x_wrong = z_wrong = true;
    }
    if (x_wrong)
        diag_note(b->diag, b->spec->x_pos, "segment %d of x is %s", ins->x,
                  segment_text(b->arena, x->mul, x->ir));
    if (y_wrong)
        diag_note(b->diag, b->spec->y_pos, "segment %d of y is %s", ins->y,
                  segment_text(b->arena, y->mul, y->ir));
    if (z_wrong)
        diag_note(b->diag, b->spec->z_pos, "segment %d of z is %s", ins->z,
                  segment_text(b->arena, z->mul, z->ir));
    if (m->needs_weights && !ins->weighted)
        diag_report(b->diag, DIAG_NEEDS_WEIGHTS, ins->weighted_pos, "%s needs weights: expected true", mode);
    if (m->z[0] == AXIS_W && !m->needs_weights && !ins->weighted && z->mul != 1) {
        diag_report(
            b->diag, DIAG_NEEDS_WEIGHTS, ins->weighted_pos,
            "%s without weights sums into one channel, but the multiplicity of z is %d: expected true "
            "here, or 1 there",
            mode, z->mul);
        diag_note(b->diag, b->spec->z_pos, "segment %d of z is %s", ins->z,
                  segment_text(b->arena, z->mul, z->ir));
    }
}

static void check_dim(struct builder *b, struct pos pos, char slot, int64_t dim)
{
    if (dim > DIM_MAX)
        diag_report(b->diag, DIAG_LIMIT, pos,
                    "a row of %c has %lld elements, more than the largest number supported, %d", slot,
                    (long long)dim, DIM_MAX);
}

static void check_segments(struct builder *b, struct pos pos, char slot, const struct irreps *irreps)
{
    if (irreps->n > SEGMENTS_MAX)
        diag_report(b->diag, DIAG_LIMIT, pos,
                    "%c has %d segments, more than the largest number supported, %d", slot, irreps->n,
                    SEGMENTS_MAX);
}

/* ---- what a path is ---- */

/* The length of an axis. */
static int64_t extent(const struct path *p, enum axis axis)
{
    const int64_t length[AXIS_COUNT] = {1, p->mul_x, p->mul_y, p->mul_z, pairs(p->mul_x)};
    return length[axis];
}

/* e3nn's path_shape. */
static int weight_shape(const struct path *p, int64_t shape[AXES_MOST])
{
    const enum axis *axis = mode_table[p->mode].weights;
    int rank = 0;
    for (; rank < AXES_MOST && axis[rank]; rank++)
        shape[rank] = extent(p, axis[rank]);
    return rank;
}

int path_weight_shape(const struct path *p, int shape[3])
{
    int64_t wide[3];
    int rank = weight_shape(p, wide);
    for (int i = 0; i < rank; i++)
        shape[i] = (int)wide[i]; /* problem_build has seen that it fits */
    return rank;
}

int64_t path_weight_step(const struct path *p, enum slot s)
{
    const enum axis *axis = mode_table[p->mode].weights, own = s == SLOT_X   ? AXIS_U
                                                               : s == SLOT_Y ? AXIS_V
                                                                             : mode_table[p->mode].z[0];
    int i = 0;
    while (i < AXES_MOST && axis[i] != own && axis[i] != AXIS_PAIRS)
        i++;
    if (i == AXES_MOST)
        return 0;
    int64_t step = 1;
    for (i++; i < AXES_MOST; i++)
        step *= extent(p, axis[i]);
    return step;
}

int path_mul(const struct path *p, enum slot s)
{
    return s == SLOT_X ? p->mul_x : s == SLOT_Y ? p->mul_y : p->mul_z;
}

int path_degree(const struct path *p, enum slot s)
{
    return s == SLOT_X ? p->l1 : s == SLOT_Y ? p->l2 : p->l3;
}

/* e3nn's num_elements: how many products x y are summed into one output channel. */
static uint64_t summed_elements(const struct path *p)
{
    const struct mode_row *m = &mode_table[p->mode];
    int64_t n = 1;
    for (int i = 0; i < AXES_MOST; i++)
        if (m->inputs[i] != m->z[0] && m->inputs[i] != m->z[1])
            n *= extent(p, m->inputs[i]);
    return (uint64_t)n;
}

/* Elements of the weight block; reports a row that grows too long. */
static void place_weights(struct builder *b, const struct spec_instruction *ins, struct path *p)
{
    int64_t shape[3], numel = 1;
    int rank = weight_shape(p, shape);
    bool fits = true;
    for (int i = 0; i < rank; i++)
        fits &= shape[i] <= DIM_MAX;
    for (int i = 0; i < rank; i++)
        numel *= fits ? shape[i] : 1; /* three multiplicities, or pairs and one: at most 2^60 */
    if (ins->weighted && fits) {
        p->weight_offset = b->problem->weight_numel;
        p->weight_numel = numel;
        fits = numel <= DIM_MAX - b->problem->weight_numel;
    }
    if (fits)
        b->problem->weight_numel += p->weight_numel;
    else
        diag_report(
            b->diag, DIAG_LIMIT, ins->mode_pos,
            "with this instruction a row of w has more than %d elements, the largest number supported",
            DIM_MAX);
}

/* One instruction, if it can be. */
static void build_path(struct builder *b, int number)
{
    const struct expansion *from = &b->from;
    const struct spec_instruction *ins = &from->instruction[number];
    int before = b->diag->errors;
    bool found = check_segment(b, 'x', &from->x, b->spec->x_pos, ins->x, ins->x_pos);
    found &= check_segment(b, 'y', &from->y, b->spec->y_pos, ins->y, ins->y_pos);
    found &= check_segment(b, 'z', &from->z, b->spec->z_pos, ins->z, ins->z_pos);
    if (!found)
        return;
    const struct segment *x = &from->x.segment[ins->x], *y = &from->y.segment[ins->y];
    const struct segment *z = &from->z.segment[ins->z];
    check_irrep(b, ins, x, y, z);
    check_mode(b, ins, x, y, z);
    if (b->diag->errors > before)
        return;
    struct path *p = &b->problem->path[number];
    *p = (struct path){
        .number = number,
        .x = ins->x,
        .y = ins->y,
        .z = ins->z,
        .mul_x = x->mul,
        .mul_y = y->mul,
        .mul_z = z->mul,
        .l1 = x->ir.l,
        .l2 = y->ir.l,
        .l3 = z->ir.l,
        .mode = ins->mode,
        .weighted = ins->weighted,
        .path_weight = ins->path_weight,
    };
    place_weights(b, ins, p);
}

/* ---- coefficients ---- */

/* Variance of what an instruction sums into one output channel, were all factors of variance one but those
 * given. */
static struct rat summed_variance(struct builder *b, const struct path *p)
{
    struct rat variance = rat_make(b->arena, summed_elements(p), 1);
    if (b->from.variance[0])
        variance = rat_mul(b->arena, variance, b->from.variance[0][p->x]);
    if (b->from.variance[1])
        variance = rat_mul(b->arena, variance, b->from.variance[1][p->y]);
    return variance;
}

/* Coefficients must leave values around them room in float32, which spans 1e-38 to 1e38; float64's range is
 * far beyond what the factors, each within 1e-30 .. 1e30, can make. */
static void check_range(struct builder *b)
{
    enum { LARGEST_EXPONENT = 30 };
    struct rat one = rat_make(b->arena, 1, 1), hundred = rat_make(b->arena, 100, 1), largest = one;
    if (b->spec->compute != PRECISION_FLOAT32)
        return;
    for (int i = 0; i < LARGEST_EXPONENT; i++)
        largest = rat_mul(b->arena, largest, hundred); /* squared, as coefficients are kept */
    struct rat least = rat_div(b->arena, one, largest);
    for (int i = 0; i < b->problem->paths; i++) {
        struct surd a = b->problem->path[i].coefficient;
        if (a.sign && (rat_compare(a.square, largest) > 0 || rat_compare(a.square, least) < 0))
            diag_report(b->diag, DIAG_COEFFICIENT_RANGE, b->from.instruction[i].path_weight_pos,
                        "variances and path weights make the coefficient of this instruction %.3g, outside "
                        "1e-%d .. 1e%d: change them, or ask for precision: float64",
                        surd_double(a), LARGEST_EXPONENT, LARGEST_EXPONENT);
    }
}

/* e3nn's: the root of alpha / x * out_var * path_weight, where alpha belongs to the irreps and x to the
 * paths that share the output segment. x may be zero (no channels, variance zero); then it does not divide.
 * */
static void compute_coefficients(struct builder *b)
{
    struct problem *problem = b->problem;
    /* Of the paths into each segment of z: */
    struct rat *sum = NEW_ARRAY(b->arena, struct rat, problem->z.n);
    int *count = NEW_ARRAY(b->arena, int, problem->z.n);
    for (int i = 0; i < problem->z.n; i++)
        sum[i] = rat_make(b->arena, 0, 1);
    for (int i = 0; i < problem->paths; i++) {
        const struct path *p = &problem->path[i];
        sum[p->z] = rat_add(b->arena, sum[p->z], summed_variance(b, p));
        count[p->z]++;
    }
    for (int i = 0; i < problem->paths; i++) {
        struct path *p = &problem->path[i];
        uint64_t alpha = 1;
        if (b->spec->irrep_normalization == IRREP_COMPONENT)
            alpha = (uint64_t)(2 * p->l3 + 1);
        else if (b->spec->irrep_normalization == IRREP_NORM)
            alpha = (uint64_t)((2 * p->l1 + 1) * (2 * p->l2 + 1));
        struct rat square = rat_make(b->arena, alpha, 1), x = rat_make(b->arena, 1, 1);
        if (b->spec->path_normalization == PATH_ELEMENT)
            x = sum[p->z];
        else if (b->spec->path_normalization == PATH_PATH)
            x = rat_mul(b->arena, summed_variance(b, p), rat_make(b->arena, (uint64_t)count[p->z], 1));
        if (!rat_is_zero(x))
            square = rat_div(b->arena, square, x);
        if (b->from.variance[2])
            square = rat_mul(b->arena, square, b->from.variance[2][p->z]);
        p->coefficient = surd_make(1, rat_mul(b->arena, square, p->path_weight));
    }
}

struct problem *problem_build(struct arena *arena, struct wigner *wigner, const struct spec *spec,
                              struct diag *diag)
{
    struct builder b = {.arena = arena, .spec = spec, .diag = diag};
    int before = diag->errors;
    bool z_follows = spec->sugar != SUGAR_NONE && spec->sugar != SUGAR_FULLY_CONNECTED;
    check_segments(&b, spec->x_pos, 'x', &spec->x);
    check_segments(&b, spec->y_pos, 'y', &spec->y);
    check_segments(&b, spec->z_pos, 'z', &spec->z);
    check_dim(&b, spec->x_pos, 'x', spec->x.dim); /* first: sums of multiplicities are then below 2^31 */
    check_dim(&b, spec->y_pos, 'y', spec->y.dim);
    if (!z_follows)
        check_dim(&b, spec->z_pos, 'z', spec->z.dim);
    if (diag->errors > before) {
        diag_sort(diag);
        return NULL;
    }
    sugar_expand(arena, spec, diag, &b.from);
    if (z_follows && diag->errors == before)
        check_dim(&b, spec->sugar_pos, 'z', b.from.z.dim);

    int64_t of_kernels = (int64_t)b.from.instructions * spec->kernels;
    if (of_kernels > PATHS_OF_KERNELS_MAX)
        diag_report(diag, DIAG_LIMIT, spec->instructions_pos,
                    "%d instructions in %d kernels are %lld, more than the largest number supported, %d",
                    b.from.instructions, spec->kernels, (long long)of_kernels, PATHS_OF_KERNELS_MAX);

    struct problem *problem = b.problem = NEW(arena, struct problem);
    *problem = (struct problem){.spec = spec, .x = b.from.x, .y = b.from.y, .z = b.from.z};
    problem->paths = b.from.instructions;
    problem->path = NEW_ARRAY(arena, struct path, problem->paths);
    for (int i = 0; i < problem->paths; i++)
        build_path(&b, i);
    if (diag->errors == before) {
        compute_coefficients(&b);
        check_range(&b);
    }
    if (diag->errors > before) {
        diag_sort(diag);
        return NULL;
    }
    for (int i = 0; i < problem->paths; i++) {
        struct path *p = &problem->path[i];
        p->cg = wigner_3j(wigner, p->l1, p->l2, p->l3);
    }
    problem->dim[SLOT_X] = problem->x.dim;
    problem->dim[SLOT_Y] = problem->y.dim;
    problem->dim[SLOT_W] = problem->weight_numel;
    problem->dim[SLOT_G] = problem->z.dim;
    return problem;
}

const struct irreps *slot_irreps(const struct problem *p, enum slot s)
{
    return s == SLOT_X ? &p->x : s == SLOT_Y ? &p->y : &p->z;
}

int problem_couplings(struct arena *a, const struct problem *problem, struct coupling **couplings)
{
    struct coupling by_l[L_MAX + 1][L_MAX + 1][L_MAX + 1] = {0};
    struct coupling *list = *couplings = NEW_ARRAY(a, struct coupling, problem->paths + 1);
    int n = 0;
    for (int i = 0; i < problem->paths; i++) {
        const struct path *p = &problem->path[i];
        struct coupling *c = &by_l[p->l1][p->l2][p->l3];
        c->cg = p->cg;
        c->paths++;
    }
    for (int l1 = 0; l1 <= L_MAX; l1++)
        for (int l2 = 0; l2 <= L_MAX; l2++)
            for (int l3 = 0; l3 <= L_MAX; l3++)
                if (by_l[l1][l2][l3].paths)
                    list[n++] = by_l[l1][l2][l3];
    return n;
}
