/* unit_layout.c - layout.h: fields follow each other aligned, unions overlap, what is printed; each wrong
 * layout is reported. out.h: indentation, wrapping, plurals. */
#include "util/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static int set_up(void **state)
{
    struct arena *a = *state = calloc(1, sizeof *a);
    return a ? setjmp(a->failure) : -1;
}

static int tear_down(void **state)
{
    arena_free(*state);
    free(*state);
    return 0;
}

/* real x[10]; double sums[2][3]; int count; and 4 bytes to fill up. */
static struct layout small(struct arena *a)
{
    struct layout l = {.name = "small", .align = 1};
    layout_add(a, &l, "x", "float", 4, 4, 10, NULL);
    layout_add(a, &l, "sums", "double", 8, 8, 3, NULL);
    layout_repeat(&l, 2);
    layout_add(a, &l, "count", "int", 4, 4, 0, NULL);
    layout_pad(a, &l, 16);
    return l;
}

static void fields_follow(void **state)
{
    struct layout l = small(*state);
    const int at[] = {0, 40, 88, 92}, bytes[] = {40, 48, 4, 4};
    assert_int_equal(l.fields, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(l.field[i].at, at[i]);
        assert_int_equal(l.field[i].bytes, bytes[i]);
    }
    assert_int_equal(l.bytes, 96);
    assert_null(layout_check(*state, &l));
}

static void alternatives_overlap(void **state)
{
    struct arena *a = *state;
    struct layout inner = small(a), both = {.name = "both", .alternatives = true, .align = 1};
    layout_nest(a, &both, "one", &inner, 2, NULL);
    layout_add(a, &both, "other", "int", 4, 4, 3, NULL);
    assert_int_equal(both.field[1].at, 0);
    assert_int_equal(both.bytes, 192);
    assert_null(layout_check(a, &both));
    layout_pad(a, &both, 128); /* all of it: padding begins at 0, too */
    assert_int_equal(both.bytes, 256);
    assert_int_equal(both.field[2].bytes, 256);
}

static void sizes_stop(void **state)
{
    struct arena *a = *state;
    struct layout row = {.name = "row", .align = 1}, all = {.name = "all", .align = 1};
    layout_add(a, &row, "w", "double", 8, 16, INT64_MAX, NULL);
    assert_int_equal(row.bytes, LAYOUT_MOST);
    layout_add(a, &row, "cw", "double", 8, 16, 1 << 27, NULL);
    layout_repeat(&row, INT32_MAX);
    layout_pad(a, &row, 128);
    assert_int_equal(row.bytes, LAYOUT_MOST);
    layout_nest(a, &all, "ring", &row, INT32_MAX, NULL);
    assert_int_equal(all.bytes, LAYOUT_MOST);
}

/* Seeds a mistake in a field and expects what is said of it. */
static void expect(void **state, int field, int at, int bytes, const char *message)
{
    struct layout l = small(*state);
    l.field[field].at = at;
    l.field[field].bytes = bytes;
    assert_string_equal(layout_check(*state, &l), message);
}

static void mistakes_are_reported(void **state)
{
    expect(state, 1, 32, 48, "small.sums: overlaps x");
    expect(state, 2, 96, 4, "small.count: bytes 96 to 100 of 96");
    expect(state, 1, 44, 40, "small.sums: at byte 44, not a multiple of 8");
    expect(state, 0, -4, 40, "small.x: bytes -4 to 36 of 96");
    expect(state, 0, 4, -4, "small.x: bytes 4 to 0 of 96");
    struct layout coarse = small(*state);
    coarse.align = 4; /* where elements of 8 bytes are not aligned */
    assert_string_equal(layout_check(*state, &coarse), "small.sums: at byte 40, not a multiple of 8");
    expect(state, 0, 56, 40, "small.sums: overlaps x");
    struct arena *a = *state;
    struct layout inner = small(a), outer = {.name = "outer", .align = 1};
    layout_nest(a, &outer, "in", &inner, 0, NULL);
    inner.field[3].at = 40;
    assert_string_equal(layout_check(a, &outer), "small.padding0: overlaps sums");
}

static void printed_as_a_struct(void **state)
{
    static const char owner[] = "x, by segment";
    struct text text = {.arena = *state};
    struct out o = {.text = &text};
    struct layout l = {.name = "stage", .note = "A stage.", .align = 16};
    layout_add(*state, &l, "x0", "real", 4, 16, 4, owner);
    layout_add(*state, &l, "x1", "real", 4, 16, 12, owner);
    layout_add(*state, &l, "y", "real", 4, 16, 3, NULL);
    layout_add(*state, &l, "w", "real", 4, 16, 4, NULL);
    layout_print(&o, &l);
    assert_string_equal(
        text_string(&text),
        "/* A stage. */\n"
        "struct alignas(16) stage {\n"
        "    real x0[4], x1[12]; /* x, by segment */\n"
        "    real y[3];\n"
        "    alignas(16) real w[4];\n"
        "};\n"
        "static_assert(sizeof(stage) == 96 && offsetof(stage, y) == 64 && offsetof(stage, w) == 80, "
        "\"as planned\");\n\n");
}

/* Neither a note nor more alignment than the compiler's; fields of two types that have one owner. */
static void printed_plainly(void **state)
{
    static const char owner[] = "by item";
    struct text text = {.arena = *state};
    struct out o = {.text = &text};
    struct layout l = {.name = "counts", .align = 1};
    layout_add(*state, &l, "n", "int", 4, 4, 2, owner);
    layout_add(*state, &l, "total", "double", 8, 8, 0, owner);
    layout_print(&o, &l);
    assert_string_equal(text_string(&text),
                        "struct counts {\n"
                        "    int n[2]; /* by item */\n"
                        "    double total; /* by item */\n"
                        "};\n"
                        "static_assert(sizeof(counts) == 16 && offsetof(counts, total) == 8, "
                        "\"as planned\");\n\n");
}

static void lines_are_indented(void **state)
{
    struct text text = {.arena = *state};
    struct out o = {.text = &text};
    line(&o, "for (int i = 0; i < %d; i++) {", 3);
    line(&o, "if (i)");
    line(&o, "while (next())");
    line(&o, "f(i);");
    line(&o, "} /* %s */", plural(*state, 1, "path"));
    line(&o, "/* %s */", plural(*state, 2, "path"));
    line(&o, "else");
    line(&o, "format(1);");
    line(&o, "iffy(2)");
    line(&o, "/* */ a = b /* c */ + d;");
    line(&o, "%s", "");
    line(&o, "}");
    assert_string_equal(text_string(&text),
                        "for (int i = 0; i < 3; i++) {\n    if (i)\n        while (next())\n"
                        "            f(i);\n} /* 1 path */\n/* 2 paths */\n"
                        "else\n    format(1);\niffy(2)\n/* */ a = b /* c */ + d;\n\n}\n");
}

static void long_lines_are_wrapped(void **state)
{
    struct text text = {.arena = *state};
    struct out o = {.text = &text};
    line(&o, "call(a_rather_long_argument, another_one + that_goes_on(here, and_here), a_third, and_the_last_"
             "argument_of_all);");
    assert_string_equal(text_string(&text),
                        "call(a_rather_long_argument, another_one + that_goes_on(here, and_here), "
                        "a_third,\n    and_the_last_argument_of_all);\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fields_follow, set_up, tear_down),
        cmocka_unit_test_setup_teardown(alternatives_overlap, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sizes_stop, set_up, tear_down),
        cmocka_unit_test_setup_teardown(mistakes_are_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(printed_as_a_struct, set_up, tear_down),
        cmocka_unit_test_setup_teardown(printed_plainly, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lines_are_indented, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_lines_are_wrapped, set_up, tear_down),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
