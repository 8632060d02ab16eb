/* unit_form.c - known kernels and what their arrays are to the kernel that they derive from.
 *
 * For every kernel K with a forward-mode derivative and a reverse-mode one, tangents t of its inputs and
 * cotangents c of its outputs must satisfy sum c_o K'_o(t) = sum K*_i(c) t_i. Arrays are single numbers here
 * and Q = x y w g, so both sides are exact; which number an array has is told by its lineage alone, never by
 * its name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "form/form.h"
#include "unit_source.h"

#include <string.h>

static struct arena arena;

static int teardown(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

static struct form *read(const char *mode, const char *kernels)
{
    const char *source = arena_printf(&arena,
                                      "cgtp: 1\nname: t\nirreps: {x: 2x0e, y: 1x0e, z: 2x0e}\n"
                                      "instructions: [[0, 0, 0, %s]]\nkernels: %s\n",
                                      mode, kernels);
    struct problem *problem;
    return unit_form(&arena, source, &problem);
}

enum { MOST = 64 };

/* Numbers for the arrays of K: its inputs, tangents of them, cotangents of its outputs. */
struct numbers {
    int64_t input[MOST], tangent[MOST], cotangent[MOST];
};

static int64_t small(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(*state >> 60) - 7;
}

static int64_t number_of(const struct numbers *n, struct lineage l)
{
    switch (l.kin) {
    case KIN_SAME:
        return n->input[l.number];
    case KIN_COTANGENT:
        return n->cotangent[l.number];
    case KIN_TANGENT:
        return n->tangent[l.number];
    case KIN_NONE:
        break;
    }
    fail_msg("an input without lineage");
    return 0;
}

/* An output of a derivative of K. */
static int64_t evaluate(const struct kernel_form *k, int output, const struct numbers *n)
{
    int64_t sum = 0;
    for (int t = 0; t < k->output[output].terms; t++) {
        int64_t product = 1;
        for (int s = 0; s < SLOT_COUNT; s++) {
            int argument = k->output[output].term[t].argument[s];
            product *= argument < 0 ? 1 : number_of(n, k->input[argument].lineage);
        }
        sum += product;
    }
    return sum;
}

static void check_adjoint(const struct kernel_form *forward_mode, const struct kernel_form *reverse_mode)
{
    const struct kernel_form *k = forward_mode->of;
    assert_ptr_equal(k, reverse_mode->of); /* made once */
    assert_int_equal(forward_mode->outputs, k->outputs);
    assert_int_equal(reverse_mode->outputs, k->inputs);
    uint64_t state = 1;
    for (int round = 0; round < 20; round++) {
        struct numbers n;
        for (int i = 0; i < MOST; i++) {
            n.input[i] = small(&state);
            n.tangent[i] = small(&state);
            n.cotangent[i] = small(&state);
        }
        int64_t left = 0, right = 0;
        for (int o = 0; o < forward_mode->outputs; o++) {
            struct lineage l = forward_mode->output[o].lineage;
            assert_int_equal(l.kin, KIN_TANGENT);
            left += n.cotangent[l.number] * evaluate(forward_mode, o, &n);
        }
        for (int o = 0; o < reverse_mode->outputs; o++) {
            struct lineage l = reverse_mode->output[o].lineage;
            assert_int_equal(l.kin, KIN_COTANGENT);
            right += n.tangent[l.number] * evaluate(reverse_mode, o, &n);
        }
        assert_true(left == right);
    }
}

static void adjoints(void **state)
{
    (void)state;
    static const char *const modes[] = {"uvu", "uvu, false"}; /* with weights and without */
    for (int m = 0; m < 2; m++) {
        const struct form *f = read(modes[m], "[jvp, backward, backward_jvp, double_backward, "
                                              "double_backward_jvp, triple_backward]");
        for (int i = 0; i < f->kernels; i += 2)
            check_adjoint(&f->kernel[i], &f->kernel[i + 1]);
    }
}

/* The table: each kernel derives from one before it, and each output of that has a cotangent with a name. */
static void table(void **state)
{
    (void)state;
    for (int i = 0; i < KNOWN_COUNT; i++) {
        const struct known_kernel *row = &known_table[i];
        assert_int_equal(row->derivation == DERIVATION_NONE, i == 0);
        const struct form *f = read("uvu", arena_printf(&arena, "[%s]", row->name));
        const struct kernel_form *k = f->kernel, *of = k->of;
        assert_string_equal(k->name, row->name);
        if (i == 0) {
            assert_null(of);
            continue;
        }
        assert_true((int)row->of < i);
        assert_string_equal(of->name, known_table[row->of].name);
        bool reverse = row->derivation == DERIVATION_COTANGENT;
        int made = 0;
        for (int n = 0; n < k->inputs; n++) {
            struct lineage l = k->input[n].lineage;
            if (l.kin == KIN_SAME) {
                assert_string_equal(k->input[n].name, of->input[l.number].name);
                continue;
            }
            assert_int_equal(l.kin, reverse ? KIN_COTANGENT : KIN_TANGENT);
            assert_int_equal(k->input[n].slot,
                             reverse ? of->output[l.number].slot : of->input[l.number].slot);
            assert_non_null(k->input[n].name);
            assert_int_equal(l.number < (reverse ? of->outputs : of->inputs), true);
            made++;
        }
        assert_int_equal(made, reverse ? of->outputs : of->inputs);
    }
}

/* A subset keeps the lineage of what is left of it; a kernel that is spelled out has none. */
static void subsets(void **state)
{
    (void)state;
    const struct form *f = read("uvu", "[backward, {name: forces, of: backward, outputs: [gy]},\n"
                                       "  {name: mine, outputs: {ga: [Q_x(y, w, gz)]}}]");
    const struct kernel_form *forces = &f->kernel[1], *mine = &f->kernel[2];
    assert_string_equal(forces->name, "forces");
    assert_ptr_equal(forces->of, f->kernel[0].of);
    assert_int_equal(forces->outputs, 1);
    assert_int_equal(forces->output->lineage.kin, KIN_COTANGENT);
    assert_string_equal(forces->of->input[forces->output->lineage.number].name, "y");
    assert_int_equal(forces->inputs, 3); /* x, w, gz */
    assert_string_equal(forces->of->input[forces->input[1].lineage.number].name, "w");
    assert_int_equal(forces->input[2].lineage.kin, KIN_COTANGENT);
    assert_string_equal(forces->of->output[forces->input[2].lineage.number].name, "z");
    assert_null(mine->of);
    assert_int_equal(mine->output->lineage.kin, KIN_NONE);
    for (int i = 0; i < mine->inputs; i++)
        assert_int_equal(mine->input[i].lineage.kin, KIN_NONE);
}

/* The parent among the product's own kernels: under any name, with all outputs or not at all. */
static void parents(void **state)
{
    (void)state;
    const struct form *f = read("uvu", "[{name: gx_alone, of: backward, outputs: [gx]}, double_backward,\n"
                                       "  {name: f, of: forward}, {name: turned, of: backward, outputs: [gy, gx, gw]},\n"
                                       "  {name: b, of: backward}, triple_backward, backward_jvp,\n"
                                       "  {name: mine, outputs: {ga: [Q_x(y, w, gz)]}}]");
    static const char *const parent[] = {"f", "b", NULL, "f", "f", "double_backward", "b", NULL};
    for (int k = 0; k < f->kernels; k++) {
        const struct kernel_form *found = form_parent(f, &f->kernel[k]);
        assert_int_equal(found != NULL, parent[k] != NULL);
        if (found)
            assert_string_equal(found->name, parent[k]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(adjoints), cmocka_unit_test(table),
                                       cmocka_unit_test(subsets), cmocka_unit_test(parents)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, teardown);
}
