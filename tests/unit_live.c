/* unit_live.c - values that are alive at once (live.h), counted by hand for small codes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/live.h"

static struct arena arena;

static int teardown(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

/* Inputs x and y, a weight w, and an output z. */
enum { X, Y, W, Z };
static struct recipe_input input[] = {{ROLE_B, "x", 0, 0}, {ROLE_A, "y", 1, 0}, {ROLE_W, "w", 2, 0}};
static struct recipe_output output[] = {{.role = ROLE_G, .name = "z"}};
static const struct recipe recipe = {.inputs = 3, .outputs = 1, .input = input, .output = output};

static struct code *begin(void)
{
    return code_begin(&arena, &recipe);
}

static int x(struct code *c, int i)
{
    return code_load(c, X, i, false);
}

static int y(struct code *c, int i)
{
    return code_load(c, Y, i, true);
}

/* Rows of so many components for each channel, in registers since the first step. */
struct rows {
    struct live live;
    int channels, words;
    struct live_place place[4];
    int elements[4];
};

static struct rows rows_of(int xs, int ys, int zs, int channels, int words)
{
    const int components[] = {xs, ys, 0, zs};
    struct rows r = {.live.arena = &arena, .channels = channels, .words = words};
    for (int i = 0; i < 4; i++) {
        r.elements[i] = components[i] * (i == Y ? 1 : channels);
        r.place[i] =
            (struct live_place){live_values(&r.live, r.elements[i], words), i == Y ? 0 : components[i]};
    }
    r.place[W] = (struct live_place){-1, channels > 1};
    return r;
}

static void execute(struct rows *r, struct code *c)
{
    live_code(&r->live, code_finish(&arena, c), r->channels, r->words, r->place);
}

/* held: x and y are needed afterwards, too. z is. */
static int most(struct rows *r, bool held)
{
    r->live.step++;
    for (int i = X; i <= Y; i++) {
        live_since(&r->live, r->place[i].first, r->elements[i], 0);
        if (held)
            live_until(&r->live, r->place[i].first, r->elements[i]);
    }
    live_until(&r->live, r->place[Z].first, r->elements[Z]);
    return live_most(&r->live);
}

static void values_overlap(void **state)
{
    (void)state;
    struct live l = {.arena = &arena};
    assert_int_equal(live_most(&l), 0);
    int a = live_values(&l, 2, 1), wide = live_values(&l, 1, 2), never = live_values(&l, 1, 8);
    live_touch(&l, a, 1); /* from step 0 to 2 */
    l.step = 1;
    live_touch(&l, wide, 1); /* from 1 to 3 */
    l.step = 2;
    live_touch(&l, a, 2); /* the first ends as the second begins; nobody needs the second again */
    l.step = 3;
    live_touch(&l, wide, 1);
    assert_int_equal(live_most(&l), 1 + 2);
    live_since(&l, a, 2, 1); /* the first was there before, the second from 1 on */
    assert_int_equal(l.value[a].first, 0);
    assert_int_equal(live_most(&l), 1 + 1 + 2);
    live_since(&l, never, 1, 0);
    live_until(&l, never, 1);
    assert_int_equal(live_most(&l), 1 + 1 + 2);
    live_until(&l, a, 2);
    l.step = 4;
    assert_int_equal(live_most(&l), 1 + 1 + 2);
}

/* z0 = x0 y0 + x1 y1 + x2 y2: a sum needs one register, whatever its length. */
static void sums_take_one(void **state)
{
    (void)state;
    for (int held = 0; held < 2; held++)
        for (int words = 1; words <= 2; words++) {
            struct rows r = rows_of(3, 3, 1, 1, words);
            struct code *c = begin();
            int sum = 0;
            for (int i = 0; i < 3; i++)
                sum = code_fma(c, x(c, i), y(c, i), sum);
            code_result(c, 0, 0, sum, false);
            execute(&r, c);
            assert_int_equal(most(&r, held), words * (held ? 6 + 1 : 6));
        }
}

/* z0 += x0 y0 + x1 y1: the sum is made where z0 is, which was there before. */
static void sums_stand_where_they_go(void **state)
{
    (void)state;
    struct rows r = rows_of(2, 2, 1, 1, 1);
    struct code *c = begin();
    int sum = code_load(c, recipe.inputs, 0, false);
    for (int i = 0; i < 2; i++)
        sum = code_fma(c, x(c, i), y(c, i), sum);
    code_result(c, 0, 0, sum, false);
    live_touch(&r.live, r.place[Z].first, 1);
    execute(&r, c);
    assert_int_equal(most(&r, true), 4 + 1);
}

/* p = x0 y0, q = x1 y1; z0 = p + q, z1 = p - q: p, q and z0 are there when z1 is not yet. */
static void shared_products_wait(void **state)
{
    (void)state;
    struct rows r = rows_of(2, 2, 2, 1, 1);
    struct code *c = begin();
    int p = code_mul(c, x(c, 0), y(c, 0)), q = code_mul(c, x(c, 1), y(c, 1));
    code_result(c, 0, 0, code_add(c, p, q), false);
    code_result(c, 0, 1, code_add(c, p, -q), false);
    execute(&r, c);
    assert_int_equal(most(&r, true), 4 + 3);
}

/* Four products, each for a sum in z0 and one in z1, are printed before the sums; but a product goes as soon
 * as it can. */
static void products_end_early(void **state)
{
    (void)state;
    struct rows r = rows_of(4, 4, 2, 1, 1);
    struct code *c = begin();
    int p[4], sum[2] = {code_load(c, recipe.inputs, 0, false), code_load(c, 2 + 1, 1, false)};
    for (int i = 0; i < 4; i++)
        p[i] = code_mul(c, x(c, i), y(c, i));
    for (int o = 0; o < 2; o++) {
        for (int i = 0; i < 4; i++)
            sum[o] = code_fma(c, o ? -p[i] : p[i], y(c, i), sum[o]);
        code_result(c, 0, o, sum[o], false);
    }
    live_touch(&r.live, r.place[Z].first, 2);
    execute(&r, c);
    assert_int_equal(most(&r, true), 8 + 2 + 1);
}

/* A weight is loaded for each channel; x y of one channel after the other. */
static void channels_follow_each_other(void **state)
{
    (void)state;
    for (int channels = 1; channels <= 2; channels++) {
        struct rows r = rows_of(1, 1, 1, channels, 1);
        struct code *c = begin();
        int product = code_mul(c, x(c, 0), y(c, 0));
        code_result(c, 0, 0, code_mul(c, code_load(c, W, 0, false), product), false);
        execute(&r, c);
        /* x of all channels, y; z of the channels before; the weight and x y */
        assert_int_equal(most(&r, true), channels + 1 + (channels - 1) + 2);
    }
}

/* Three codes that multiply x by a form of y: y0 + y1, y0 y1, and again y0 + y1, which has stayed, or y0 -
 * y1. */
static void forms_are_made_once(void **state)
{
    (void)state;
    for (int other = 0; other < 2; other++) {
        struct rows r = rows_of(1, 2, 1, 1, 1);
        for (int i = 0; i < 3; i++) {
            struct code *c = begin();
            int form = i == 1 ? code_mul(c, y(c, 0), y(c, 1))
                              : code_add(c, y(c, 0), i && other ? -y(c, 1) : y(c, 1));
            code_result(c, 0, 0, code_mul(c, x(c, 0), form), false);
            execute(&r, c);
        }
        assert_int_equal(most(&r, true), 3 + 1 + (other ? 1 : 2)); /* x and y, z, forms */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(values_overlap, teardown),
        cmocka_unit_test_teardown(sums_take_one, teardown),
        cmocka_unit_test_teardown(sums_stand_where_they_go, teardown),
        cmocka_unit_test_teardown(shared_products_wait, teardown),
        cmocka_unit_test_teardown(products_end_early, teardown),
        cmocka_unit_test_teardown(channels_follow_each_other, teardown),
        cmocka_unit_test_teardown(forms_are_made_once, teardown),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
