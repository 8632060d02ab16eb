/* unit_diag.c - diagnostics: their table, their text with its carets, what is cut, what is suggested. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "util/diag.h"

#include <string.h>

static struct arena arena;

static int teardown(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

/* Every kind has a name of its own, of small letters and hyphens. */
static void rows(void **state)
{
    (void)state;
    for (int i = 0; i < DIAG_COUNT; i++) {
        assert_non_null(diag_table[i].name);
        assert_int_equal(diag_table[i].name[strspn(diag_table[i].name, "abcdefghijklmnopqrstuvwxyz-")], 0);
        assert_int_equal(diag_table[i].severity == SEVERITY_IGNORED, i == DIAG_MEMORY); /* it is asked for */
        for (int k = 0; k < i; k++)
            assert_string_not_equal(diag_table[i].name, diag_table[k].name);
    }
}

static struct diag begin(const char *source)
{
    return (struct diag){
        .file = "a.yaml", .source = source, .source_size = strlen(source), .arena = &arena};
}

static void diagnostics(void **state)
{
    (void)state;
    struct diag diag = begin("cgtp: 1\nnane: water\r\n");
    diag_report(&diag, DIAG_UNKNOWN_KEY, (struct pos){2, 1, 4}, "unknown key '%s'", "nane");
    diag_suggest(&diag, "name");
    diag_note(&diag, (struct pos){1, 7, 1}, "the version");
    diag_report(&diag, DIAG_UNKNOWN_KEY, (struct pos){0}, "no place");
    diag_report(&diag, DIAG_UNKNOWN_KEY, (struct pos){2, 7, 100}, "cut at the end of the line");
    diag_report(&diag, DIAG_UNKNOWN_KEY, (struct pos){1, 8, 1}, "past the end");
    assert_int_equal(diag.errors, 4);
    assert_string_equal(diag_text(&diag), "a.yaml:2:1: error: unknown key 'nane'; did you mean 'name'? [unknown-key]\n"
                                                "nane: water\n"
                                                "^~~~\n"
                                                "a.yaml:1:7: note: the version\n"
                                                "cgtp: 1\n"
                                                "      ^\n"
                                                "a.yaml: error: no place [unknown-key]\n"
                                                "a.yaml:2:7: error: cut at the end of the line [unknown-key]\n"
                                                "nane: water\n"
                                                "      ^~~~~\n"
                                                "a.yaml:1:8: error: past the end [unknown-key]\n"
                                                "cgtp: 1\n"
                                                "       ^\n");
}

static void carets(void **state)
{
    (void)state;
    /* Bytes are counted in the position, columns on the screen: a tab, a two-column character, an accent, a
     * control, a space without width. What is not visible is shown by its number. */
    struct diag diag = begin("a\tb\n\xe6\xbc\xa2\xc3\xa9 x\x1b[1m!\na\xe2\x80\x8b" "b\n");
    diag_report(&diag, DIAG_UNKNOWN_KEY, (struct pos){1, 3, 1}, "tab");
    diag_report(&diag, DIAG_UNKNOWN_KEY, (struct pos){2, 7, 1}, "wide\x1b[1m");
    diag_report(&diag, DIAG_UNKNOWN_KEY, (struct pos){2, 1, 5}, "two characters");
    diag_report(&diag, DIAG_UNKNOWN_KEY, (struct pos){2, 12, 1}, "after controls");
    diag_report(&diag, DIAG_UNKNOWN_KEY, (struct pos){3, 5, 1}, "after \xe2\x80\x8b and \xff");
    assert_string_equal(diag_text(&diag), "a.yaml:1:3: error: tab [unknown-key]\n"
                                                "a       b\n"
                                                "        ^\n"
                                                "a.yaml:2:7: error: wide<U+001B>[1m [unknown-key]\n"
                                                "\xe6\xbc\xa2\xc3\xa9 x<U+001B>[1m!\n"
                                                "    ^\n"
                                                "a.yaml:2:1: error: two characters [unknown-key]\n"
                                                "\xe6\xbc\xa2\xc3\xa9 x<U+001B>[1m!\n"
                                                "^~~\n"
                                                "a.yaml:2:12: error: after controls [unknown-key]\n"
                                                "\xe6\xbc\xa2\xc3\xa9 x<U+001B>[1m!\n"
                                                "                ^\n"
                                                "a.yaml:3:5: error: after <U+200B> and \\xff [unknown-key]\n"
                                                "a<U+200B>b\n"
                                                "         ^\n");
}

static void long_lines(void **state)
{
    (void)state;
    char line[1001];
    for (int i = 0; i < 1000; i++)
        line[i] = (char)('a' + i % 26);
    line[1000] = '\0';
    for (int column = 1; column <= 1000; column++) {
        struct diag diag = begin(line);
        diag_report(&diag, DIAG_UNKNOWN_KEY, (struct pos){1, column, 3}, "here");
        const char *shown = strchr(diag_text(&diag), '\n') + 1;
        const char *caret = strchr(shown, '\n') + 1;
        size_t width = (size_t)(caret - 1 - shown), at = strspn(caret, " ");
        assert_true(width <= 106);
        assert_int_equal(caret[at], '^');
        assert_int_equal(shown[at], line[column - 1]);
    }
}

static void many_errors(void **state)
{
    (void)state;
    struct diag diag = begin("x\n");
    for (int i = 0; i < 1000; i++)
        diag_report(&diag, DIAG_UNKNOWN_KEY, (struct pos){1, 1, 1}, "again");
    assert_int_equal(diag.errors, 1000);
    int lines = 0;
    for (const char *s = diag_text(&diag); *s; s++)
        lines += *s == '\n';
    assert_int_equal(lines, 3 * 100 + 1);
    assert_non_null(
        strstr(diag_text(&diag), "a.yaml: note: more than 100 errors; the rest is not shown\n"));
}

/* Kinds as the caller wants them: what is ignored leaves nothing, not its notes either. */
static void severities(void **state)
{
    (void)state;
    struct diag diag = begin("x\n");
    enum diag_severity severity[DIAG_COUNT] = {
        [DIAG_DEAD_INPUT] = SEVERITY_ERROR, [DIAG_DEAD_INDEX] = SEVERITY_WARNING, [DIAG_PARITY] = SEVERITY_ERROR};
    diag.severity = severity;
    diag_report(&diag, DIAG_DEAD_INPUT, (struct pos){0}, "one");
    diag_report(&diag, DIAG_DEAD_FILTER, (struct pos){0}, "two");
    diag_note(&diag, (struct pos){0}, "of two");
    diag_suggest(&diag, "of two");
    diag_report(&diag, DIAG_DEAD_INDEX, (struct pos){0}, "three");
    diag_report(&diag, DIAG_PARITY, (struct pos){0}, "four");
    diag_note(&diag, (struct pos){0}, "of four");
    assert_string_equal(diag_text(&diag), "a.yaml: error: one [-Werror=dead-input]\n"
                                          "a.yaml: warning: three [-Wdead-index]\n"
                                          "a.yaml: error: four [parity]\n"
                                          "a.yaml: note: of four\n");
    assert_int_equal(diag.errors, 2);
    assert_int_equal(diag.warnings, 1);
    for (int i = 0; i < 200; i++)
        diag_report(&diag, DIAG_DEAD_INDEX, (struct pos){0}, "again");
    assert_int_equal(diag.messages, 102);
    assert_int_equal(diag.errors, 2);
    assert_non_null(strstr(diag_text(&diag), "a.yaml: note: more than 100 warnings; the rest is not shown\n"));
}

static void suggestions(void **state)
{
    (void)state;
    static const char *const words[] = {"forward", "backward", "double_backward", "jvp", "uvw", "uvu"};
    enum { WORDS = sizeof words / sizeof *words };
    assert_string_equal(diag_nearest("foward", words, WORDS), "forward");
    assert_string_equal(diag_nearest("double-backward", words, WORDS), "double_backward");
    assert_string_equal(diag_nearest("bakcward", words, WORDS), "backward");
    assert_string_equal(diag_nearest("UVU", words, WORDS), "uvu");
    assert_string_equal(diag_nearest("jpv", words, WORDS), "jvp");
    assert_null(diag_nearest("elephant", words, WORDS));
    assert_null(diag_nearest("", words, WORDS));
    char word[4096];
    memset(word, 'f', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    assert_null(diag_nearest(word, words, WORDS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(rows, teardown),
        cmocka_unit_test_teardown(diagnostics, teardown),
        cmocka_unit_test_teardown(carets, teardown),
        cmocka_unit_test_teardown(long_lines, teardown),
        cmocka_unit_test_teardown(many_errors, teardown),
        cmocka_unit_test_teardown(severities, teardown),
        cmocka_unit_test_teardown(suggestions, teardown),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
