/* unit_mode.c - the table of e3nn's modes against their names, which say how channels are tied: the letters
 * of x, y and z, where u<v stands for pairs of channels. Weights are counted one by one in e3nn's order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "problem/problem.h"

#include <string.h>

enum { X = 5, Y = 3, Z = 4 }; /* channels, where a mode leaves them free */

/* Does the weight of channels u, v (and w) exist? */
static bool meets(const char *mode, int u, int v)
{
    return strchr(mode, '<') ? u < v : strncmp(mode, "uu", 2) || u == v;
}

static bool tied(const char *mode)
{
    return strchr(mode, '<') || strncmp(mode, "uu", 2) == 0;
}

static bool connects(const char *mode)
{
    return mode[strlen(mode) - 1] == 'w';
}

static struct path example(enum mode mode, int mul_x, int mul_y)
{
    const char *name = mode_table[mode].name;
    return (struct path){
        .mode = mode, .mul_x = mul_x, .mul_y = tied(name) ? mul_x : mul_y, .mul_z = Z, .weighted = true};
}

/* Numbers the weights of a mode; number[u][v]: the first of those of u and v, -1: none. Returns how many. */
static int count_weights(const struct path *p, int number[X][X])
{
    const char *name = mode_table[p->mode].name;
    int n = 0;
    for (int u = 0; u < p->mul_x; u++)
        for (int v = 0; v < p->mul_y; v++) {
            number[u][v] = meets(name, u, v) ? n : -1;
            n += meets(name, u, v) ? connects(name) ? p->mul_z : 1 : 0;
        }
    return n;
}

static void shapes(void **state)
{
    (void)state;
    for (int m = 0; m < MODE_COUNT; m++) {
        struct path p = example((enum mode)m, X, Y);
        int number[X][X], shape[AXES_MOST], numel = 1, rank = path_weight_shape(&p, shape);
        for (int i = 0; i < rank; i++)
            numel *= shape[i];
        assert_int_equal(numel, count_weights(&p, number));
    }
}

/* The step between weights of neighbouring channels of x or y, the other held fixed. */
static void steps(void **state)
{
    (void)state;
    for (int m = 0; m < MODE_COUNT; m++) {
        struct path p = example((enum mode)m, X, Y);
        const char *name = mode_table[m].name;
        int number[X][X];
        count_weights(&p, number);
        for (int u = 0; u < p.mul_x; u++)
            for (int v = 0; v < p.mul_y; v++) {
                if (number[u][v] < 0)
                    continue;
                if (v + 1 < p.mul_y && number[u][v + 1] >= 0) /* not where channels are tied one by one */
                    assert_int_equal(number[u][v + 1] - number[u][v], path_weight_step(&p, SLOT_Y));
                if (!strchr(name, '<') && u + 1 < p.mul_x && number[u + 1][v] >= 0)
                    assert_int_equal(number[u + 1][v] - number[u][v], path_weight_step(&p, SLOT_X));
                if (strncmp(name, "uu", 2) == 0 && u + 1 < p.mul_x)
                    assert_int_equal(number[u + 1][u + 1] - number[u][u], path_weight_step(&p, SLOT_X));
            }
    }
}

/* x, y and z of a row are what the name says. */
static void names(void **state)
{
    (void)state;
    for (int m = 0; m < MODE_COUNT; m++) {
        const struct mode_row *row = &mode_table[m];
        char inputs[8] = "", z[8] = "";
        for (int i = 0; i < AXES_MOST; i++) {
            strcat(inputs, axis_name[row->inputs[i]]);
            strcat(z, axis_name[row->z[i]]);
        }
        const char *name = row->name;
        size_t length = strlen(name), n = strlen(z);
        assert_true(n > 0 && strcmp(name + length - n, z) == 0);
        assert_string_equal(inputs, strchr(name, '<') ? "u<v" : name[1] == 'u' ? "u" : "uv");
        assert_int_equal(mode_ties_inputs(row), tied(name));
        /* weights: of what meets, and with w of each channel of z */
        char weights[8] = "", both[8] = "";
        for (int i = 0; i < AXES_MOST; i++)
            strcat(weights, axis_name[row->weights[i]]);
        strcat(strcat(both, inputs), connects(name) ? "w" : "");
        assert_string_equal(weights, both);
        for (int other = 0; other < m; other++) {
            assert_string_not_equal(mode_table[other].c_name, row->c_name);
            assert_string_not_equal(mode_table[other].constant, row->constant);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shapes), cmocka_unit_test(steps),
                                       cmocka_unit_test(names)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
