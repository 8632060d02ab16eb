/* unit_operand.c - operand.h: where elements of each layout are, alignment, and which block is a path's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/plan.h"
#include "unit_source.h"

#include <string.h>

static struct arena arena;

static int teardown(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

/* Kernel `number` of a spec whose further keys are `more`. */
static const struct kernel_plan *plan_for(const char *more, int number)
{
    const char *source = arena_printf(&arena,
                                      "cgtp: 1\nname: t\n"
                                      "irreps: {x: 3x0e + 4x1o, y: 0e + 1o, z: 4x0e + 4x1o}\n"
                                      "instructions: [[0, 1, 1, uvw], [1, 1, 0, uvu], [1, 0, 1, uvu]]\n%s",
                                      more);
    return &unit_plan(&arena, source)->kernel[number];
}

static void assert_block(const struct operand_block *b, int64_t offset, int64_t channel, int64_t component,
                         int64_t channels, int components)
{
    assert_int_equal(b->offset, offset);
    assert_int_equal(b->channel, channel);
    assert_int_equal(b->component, component);
    assert_int_equal(b->channels, channels);
    assert_int_equal(b->components, components);
}

static void each_layout(void **state)
{
    (void)state;
    const struct kernel_plan *k = plan_for("layout: {x: ir_mul}\n", 1); /* backward: x y w gz, gx gy gw */
    const struct operand *x = kernel_input(k, 0), *gx = kernel_output(k, 0), *gz = kernel_input(k, 3);
    assert_string_equal(x->name, "x");
    assert_string_equal(gz->name, "gz");
    assert_string_equal(gx->name, "gx");
    assert_true(gx->output && !x->output && !gz->tangent && !x->tangent);
    for (int i = 0; i < 2; i++) {
        const struct operand *o = i ? gx : x;
        assert_int_equal(o->blocks, 2);
        assert_block(&o->block[1], 3, 1, 4, 4, 3);
        assert_true(block_is_by_component(&o->block[1]) && block_is_apart(&o->block[1]));
        assert_true(block_is_by_component(&o->block[0]) && !block_is_apart(&o->block[0]));
    }
    assert_block(&gz->block[1], 4, 3, 1, 4, 3);
    assert_false(block_is_by_component(&gz->block[1]));
    assert_false(block_is_apart(&gz->block[1]));
    struct operand_block b = block_in_component_order(&gz->block[1]);
    assert_block(&b, 4, 1, 4, 4, 3);
}

static void paths_and_types(void **state)
{
    (void)state;
    const struct kernel_plan *k = plan_for("precision: float64\nlayout: ir_mul\n", 0);
    const struct operand *x = kernel_input(k, 0), *w = kernel_input(k, 2), *z = kernel_output(k, 0);
    const struct path one = {.number = 1, .x = 1, .y = 1, .z = 0};
    assert_ptr_equal(operand_block_of(x, &one), &x->block[1]);
    assert_ptr_equal(operand_block_of(z, &one), &z->block[0]);
    assert_ptr_equal(operand_block_of(w, &one), &w->block[1]);
    assert_int_equal(w->blocks, 3);
    assert_block(&w->block[1], 12, 1, 1, 4, 1);
    assert_int_equal(operand_size(x), 8);
    assert_int_equal(x->storage, PRECISION_FLOAT64);
    assert_int_equal(x->held, PRECISION_FLOAT64);
    assert_int_equal(x->block[1].alignment, 1); /* rows of 15 elements */
    assert_int_equal(w->block[1].alignment, 2); /* 16 bytes */
}

static void strides(void **state)
{
    (void)state;
    const struct kernel_plan *k = plan_for("index: {w: shared}\nrows: strided\n", 1); /* backward: x y w gz, gx gy gw */
    assert_string_equal(kernel_input(k, 0)->stride, "x_stride");
    assert_string_equal(operand_stride(kernel_output(k, 1)), "gy_stride");
    assert_null(kernel_input(k, 2)->stride); /* one row */
    assert_null(kernel_output(k, 2)->stride);
    assert_int_equal(kernel_input(k, 3)->block[1].alignment, 4); /* rows of 16 */
    k = plan_for("precision: {x: bfloat16}\nrows: {x: strided, z: strided}\n", 0);
    assert_string_equal(kernel_input(k, 0)->stride, "x_stride");
    assert_null(operand_stride(kernel_input(k, 0))); /* of a copy */
    assert_null(kernel_input(k, 1)->stride);
    assert_string_equal(operand_stride(kernel_output(k, 0)), "z_stride");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_layout),
        cmocka_unit_test(paths_and_types),
        cmocka_unit_test(strides),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, teardown);
}
