/* unit_codes.c - memory that grows or is scratch (arena.h), and that equal recipes and codes are made once
 * (codes.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/demand.h"
#include "unit_source.h"

#include <string.h>

static struct arena arena;

static int teardown(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

static void scratch_counts_and_goes(void **state)
{
    (void)state;
    struct arena *scratch = arena_scratch(&arena);
    assert_ptr_equal(arena_scratch(&arena), scratch);
    size_t before = arena.used;
    memset(arena_alloc(scratch, 96000), 1, 96000);
    memset(arena_alloc(scratch, 64000), 1, 64000);
    assert_int_equal(arena.used, before + 160000);
    arena_empty(scratch);
    assert_int_equal(arena.used, before);
    assert_int_equal(arena.most, before + 160000);
    const char *again = arena_alloc(scratch, 64);
    for (int i = 0; i < 64; i++)
        assert_int_equal(again[i], 0);
    arena_empty(scratch);
}

/* What is allocated after a mark goes at its release, small or large, and nothing else. */
static void released(void **state)
{
    (void)state;
    arena_scratch(&arena);
    char *before = arena_alloc(&arena, 64);
    memset(before, 7, 64);
    const size_t used = arena.used;
    for (int turn = 0; turn < 3; turn++) {
        const struct arena_mark outer = arena_mark(&arena);
        memset(arena_alloc(&arena, 1000), 1, 1000);
        memset(arena_alloc(&arena, 200000), 2, 200000);
        const struct arena_mark inner = arena_mark(&arena);
        memset(arena_alloc(&arena, 200000), 3, 200000);
        for (int i = 0; i < 100; i++)
            memset(arena_alloc(&arena, 5000), 4, 5000);
        arena_release(&arena, inner);
        memset(arena_alloc(&arena, 3000), 5, 3000);
        arena_release(&arena, outer);
        assert_int_equal(arena.used, used);
        for (int i = 0; i < 64; i++)
            assert_int_equal(before[i], 7);
    }
}

/* A large array that grows is counted once, in the arena and in its scratch; a small one leaves its copies.
 */
static void large_arrays_grow_in_place(void **state)
{
    (void)state;
    struct arena *in[] = {&arena, arena_scratch(&arena)};
    for (int i = 0; i < 2; i++) {
        size_t before = arena.used;
        char *small = arena_resize(in[i], NULL, 0, 32);
        memcpy(small, "what stands there", 18);
        small = arena_resize(in[i], small, 32, 64);
        assert_int_equal(arena.used, before + 96);
        char *large = arena_resize(in[i], small, 64, 100000);
        char *other = arena_string(in[i], "another", 7);
        size_t others = arena.used - 100000;
        for (size_t size = 100000; size < 3000000; size *= 2) {
            large[size - 1] = 'e';
            large = arena_resize(in[i], large, size, 2 * size);
            assert_int_equal(arena.used, others + 2 * size);
            assert_string_equal(large, "what stands there");
            assert_int_equal(large[size - 1], 'e');
            assert_string_equal(other, "another");
        }
    }
    arena_empty(in[1]);
    struct arena limited = {.limit = 300000};
    volatile int got = 0;
    if (setjmp(limited.failure) == 0) {
        void *p = arena_resize(&limited, NULL, 0, 100000);
        got++;
        p = arena_resize(&limited, p, 100000, 200000);
        got++;
        arena_resize(&limited, p, 200000, 400000);
        got++;
    }
    assert_int_equal(got, 2);
    arena_free(&limited);
}

static void scratch_fails_as_its_owner(void **state)
{
    (void)state;
    struct arena small = {.limit = 1000};
    volatile int got = 0;
    if (setjmp(small.failure) == 0) {
        struct arena *scratch = arena_scratch(&small);
        for (;; got++)
            arena_alloc(got % 2 ? scratch : &small, 64);
    }
    assert_in_range(got, 8, 15); /* of both together */
    arena_free(&small);
}

/* A part outlives the release of a later mark, is counted, and goes with an earlier one. */
static void parts_stay(void **state)
{
    (void)state;
    arena_scratch(&arena);
    const size_t none = arena.used;
    const struct arena_mark outer = arena_mark(&arena);
    struct arena *part = arena_part(&arena);
    const size_t before = arena.used;
    const struct arena_mark inner = arena_mark(&arena);
    memset(arena_alloc(&arena, 200000), 2, 200000);
    char *stays = arena_alloc(part, 96000);
    memset(stays, 7, 96000);
    char *scratch = arena_alloc(arena_scratch(part), 96000);
    memset(scratch, 3, 96000);
    assert_int_equal(arena.used, before + 200000 + 2 * 96000);
    arena_release(&arena, inner);
    assert_int_equal(arena.used, before + 2 * 96000);
    arena_empty(part->scratch);
    memset(arena_alloc(&arena, 200000), 4, 200000);
    for (int i = 0; i < 96000; i++)
        assert_int_equal(stays[i], 7);
    arena_release(&arena, outer);
    assert_int_equal(arena.used, none);
}

/* Paths 0 and 2 are alike. The demands of all three, of the last two and of another output. */
static void equal_codes_are_one(void **state)
{
    (void)state;
    const struct plan *plan =
        unit_plan(&arena, "cgtp: 1\nname: t\nkernels: [backward]\n"
                          "irreps: {x: 4x1o + 4x1o, y: 1o, z: 4x1e + 4x2e + 4x1e}\n"
                          "instructions: [[0, 0, 0, uvu], [0, 0, 1, uvu], [1, 0, 2, uvu]]\n");
    const int both[] = {0, 1}, weights[] = {2};
    const bool last[] = {false, true, true};
    struct codes codes = {.arena = &arena};
    const struct demand *all = demand_build(&codes, plan, &plan->kernel[0], 2, both, NULL);
    assert_int_equal(codes.recipes, 1);
    assert_null(all->code[0].product); /* not asked for yet */
    assert_ptr_equal(demand_code(all, 0).product, demand_code(all, 2).product);
    assert_ptr_not_equal(demand_code(all, 0).product, demand_code(all, 1).product);
    const struct demand *some = demand_build(&codes, plan, &plan->kernel[0], 2, both, last);
    assert_int_equal(codes.recipes, 1);
    assert_null(demand_code(some, 0).product);
    assert_ptr_equal(demand_code(some, 1).product, demand_code(all, 1).product);
    assert_ptr_equal(demand_code(some, 2).product, demand_code(all, 2).product);
    const struct demand *other = demand_build(&codes, plan, &plan->kernel[0], 1, weights, NULL);
    assert_int_equal(codes.recipes, 2);
    assert_ptr_not_equal(demand_code(other, 1).product, demand_code(all, 1).product);
    size_t before = arena.used;
    const struct recipe *recipe = all->variant[all->variant_of[1]].product;
    assert_ptr_equal(codes_lower(&codes, recipe, plan->path[1].matrix, plan->path[1].elementwise, false),
                     demand_code(all, 1).product);
    assert_int_equal(arena.used, before);
    assert_ptr_not_equal(codes_lower(&codes, recipe, plan->path[1].matrix, plan->path[1].elementwise, true),
                         demand_code(all, 1).product);
}

/* What one planning has made is there for the next, when all else of it is gone. */
static void codes_stay(void **state)
{
    (void)state;
    const struct plan *plan = unit_plan(&arena, "cgtp: 1\nname: t\nkernels: [backward]\n"
                                                "irreps: {x: 4x1o + 4x1o, y: 1o, z: 4x1e + 4x2e}\n"
                                                "instructions: [[0, 0, 0, uvu], [1, 0, 1, uvu]]\n");
    const int both[] = {0, 1};
    const struct code *code[2], *outer[2], *scaled[2];
    const struct matrix *matrix[2];
    size_t grown[2];
    struct text dump[2] = {{.arena = &arena}, {.arena = &arena}};
    text_printf(&dump[0], "%*s", 1 << 16, ""); /* room for what is written below */
    text_printf(&dump[1], "%*s", 1 << 16, "");
    arena_scratch(&arena);
    for (int turn = 0; turn < 2; turn++) {
        const size_t before = arena.used;
        const struct arena_mark mark = arena_mark(&arena);
        struct codes codes = {.arena = &arena};
        const struct demand *d = demand_build(&codes, plan, &plan->kernel[0], 2, both, NULL);
        code[turn] = demand_code(d, 0).product;
        outer[turn] = demand_code_outer(d, (int[]){0, 1}, 2);
        scaled[turn] =
            codes_lower(&codes, d->variant[d->variant_of[1]].product,
                        matrix[turn] = codes_scaled(&codes, &plan->problem->path[1], SLOT_Y), false, false);
        arena_release(&arena, mark);
        grown[turn] = arena.used - before;
        memset(arena_alloc(&arena, 100000), 0xa5, 100000); /* over what is gone */
        code_dump(&dump[turn], code[turn]);
        code_dump(&dump[turn], outer[turn]);
        code_dump(&dump[turn], scaled[turn]);
    }
    assert_ptr_equal(code[0], code[1]);
    assert_ptr_equal(outer[0], outer[1]);
    assert_ptr_equal(scaled[0], scaled[1]);
    assert_ptr_equal(matrix[0], matrix[1]);
    assert_ptr_not_equal(scaled[0], code[0]);
    assert_true(grown[0] > 0); /* what stays counts */
    assert_int_equal(grown[1], 0);
    assert_true(dump[0].n == dump[1].n &&
                memcmp(text_string(&dump[0]), text_string(&dump[1]), dump[0].n) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(scratch_counts_and_goes, teardown),
        cmocka_unit_test_teardown(released, teardown),
        cmocka_unit_test_teardown(large_arrays_grow_in_place, teardown),
        cmocka_unit_test_teardown(scratch_fails_as_its_owner, teardown),
        cmocka_unit_test_teardown(equal_codes_are_one, teardown),
        cmocka_unit_test_teardown(codes_stay, teardown),
        cmocka_unit_test_teardown(parts_stay, teardown),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
