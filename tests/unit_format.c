/* unit_format.c - format.h: it writes what vsnprintf does, in any room. */
#include "util/format.h"

#include <limits.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { ROOM = 200 };

/* In every room from none to more than the text takes: its length, and the text where it fits; nothing is
 * written behind the room. */
static void same(const char *format, ...)
{
    char wanted[ROOM], got[ROOM];
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int length = vsnprintf(wanted, sizeof wanted, format, again);
    va_end(again);
    assert_in_range(length, 0, ROOM - 3);
    for (size_t room = 0; room < (size_t)length + 3; room++) {
        memset(got, '#', sizeof got);
        va_copy(again, args);
        assert_int_equal(format_text(got, room, format, again), length);
        va_end(again);
        if (room > (size_t)length)
            assert_string_equal(got, wanted);
        for (size_t i = room; i < sizeof got; i++)
            assert_int_equal(got[i], '#');
    }
    va_end(args);
}

static void test_formats(void **state)
{
    (void)state;
    same("");
    same("nothing of it");
    same("%%");
    same("100 %%, %s%c", "done", '.');
    same("%s", "");
    same("[%s] %s", "a", "and a longer one");
    same("%.*s|%.*s|%.*s|%.*s", 0, "none", 2, "some", 9, "all", -1, "all, too");
    same("%d %d %d %d", 0, -1, INT_MAX, INT_MIN);
    same("%ld %ld", LONG_MAX, LONG_MIN);
    same("%lld %lld %lld", 10LL, LLONG_MAX, LLONG_MIN);
    same("row[%d] = %s%d * w[%lld];", 12, "x", 3, 456LL);
}

/* What it leaves to vsnprintf, from the beginning. */
static void test_others(void **state)
{
    (void)state;
    same("%s %d %.17g", "first", 7, 0.1);
    same("%*s|%-12s|%6d|%04x|%u|%zu", 5, "", "left", 42, 255u, UINT_MAX, SIZE_MAX);
    same("%.3s|%5.1f|% d|%+d", "short", 2.25, 3, 4);
    same("%s%g%s", "a", 1e300, "b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_formats), cmocka_unit_test(test_others)};
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
