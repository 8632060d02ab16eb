/* unit_file.c - file.h and depend.h: diffs that patch(1)'s rules turn back, files replaced only when they
 * change and all or none, dependency rules escaped as make reads them. */
#define _XOPEN_SOURCE 700 /* mkdtemp, symlink */

#include "cli/depend.h"
#include "util/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char folder[] = "/tmp/cgtpgen-file-XXXXXX";

static struct arena *new_arena(void)
{
    struct arena *a = calloc(1, sizeof *a);
    assert_non_null(a);
    return a;
}

/* Where running out of memory comes back to; the function that says so must be the one that waits for it. */
#define GUARD(a)                                                                                             \
    if (setjmp((a)->failure))                                                                                \
    fail_msg("out of memory")

static void free_arena(struct arena *a)
{
    arena_free(a);
    free(a);
}

static const char *in_folder(struct arena *a, const char *name)
{
    return arena_printf(a, "%s/%s", folder, name);
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void assert_file(struct arena *a, const char *path, const char *text)
{
    size_t size;
    const char *there = file_read(a, path, SIZE_MAX, &size);
    assert_non_null(there);
    assert_string_equal(there, text);
}

static const char *diff(struct arena *a, const char *from, const char *to)
{
    struct text t = {.arena = a};
    file_diff(&t, "a", from, strlen(from), "b", to, strlen(to));
    return text_string(&t);
}

static void diffs_have_the_known_text(void **state)
{
    (void)state;
    struct arena *a = new_arena();
    GUARD(a);
    assert_string_equal(diff(a, "same\n", "same\n"), "");
    assert_string_equal(diff(a, "", ""), "");
    assert_string_equal(diff(a, "", "one\ntwo\n"), "--- a\n+++ b\n@@ -0,0 +1,2 @@\n+one\n+two\n");
    assert_string_equal(diff(a, "one\n", ""), "--- a\n+++ b\n@@ -1 +0,0 @@\n-one\n");
    assert_string_equal(diff(a, "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n"),
                        "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
    assert_string_equal(diff(a, "1\n", "1"),
                        "--- a\n+++ b\n@@ -1 +1 @@\n-1\n+1\n\\ No newline at end of file\n");
    /* Six common lines between two changes keep one hunk; seven make two. */
    assert_string_equal(diff(a, "x\n1\n2\n3\n4\n5\n6\ny\n", "1\n2\n3\n4\n5\n6\n"),
                        "--- a\n+++ b\n@@ -1,8 +1,6 @@\n-x\n 1\n 2\n 3\n 4\n 5\n 6\n-y\n");
    assert_string_equal(diff(a, "x\n1\n2\n3\n4\n5\n6\n7\ny\n", "1\n2\n3\n4\n5\n6\n7\n"),
                        "--- a\n+++ b\n@@ -1,4 +1,3 @@\n-x\n 1\n 2\n 3\n@@ -6,4 +5,3 @@\n 5\n 6\n 7\n-y\n");
    free_arena(a);
}

static uint32_t random_state = 7;

static int random_below(int n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (int)((random_state >> 8) % (uint32_t)n);
}

/* The start of line n (from 0) of s. */
static const char *line_at(const char *s, int n)
{
    while (n-- && *s) {
        s += strcspn(s, "\n");
        s += *s == '\n';
    }
    return s;
}

/* Applies a unified diff strictly: positions, context and removed lines must match. Returns the edits in it.
 */
static int patch(struct text *out, const char *from, const char *d)
{
    int at = 0, edits = 0, a_first, a_count, b_first, b_count;
    d = line_at(d, 2);
    while (*d) {
        a_count = b_count = 1;
        if (sscanf(d, "@@ -%d,%d +%d,%d @@", &a_first, &a_count, &b_first, &b_count) != 4 &&
            sscanf(d, "@@ -%d +%d,%d @@", &a_first, &b_first, &b_count) != 3 &&
            sscanf(d, "@@ -%d,%d +%d @@", &a_first, &a_count, &b_first) != 3 &&
            sscanf(d, "@@ -%d +%d @@", &a_first, &b_first) != 2)
            fail_msg("not a hunk header: %.40s", d);
        const char *begin = line_at(from, at), *end = line_at(from, a_count ? a_first - 1 : a_first);
        text_put(out, begin, (size_t)(end - begin));
        at = (a_count ? a_first - 1 : a_first);
        int lines = 0;
        for (const char *p = text_string(out); *p; p++)
            lines += *p == '\n';
        assert_int_equal(lines, b_count ? b_first - 1 : b_first);
        for (d = line_at(d, 1); *d && *d != '@'; d = line_at(d, 1)) {
            size_t n = (size_t)(line_at(d, 1) - d - 1);
            if (*d != '+') {
                assert_memory_equal(line_at(from, at), d + 1, n);
                at++;
                a_count--;
            }
            if (*d != '-') {
                text_put(out, d + 1, n);
                b_count--;
            }
            edits += *d != ' ';
        }
        assert_int_equal(a_count, 0);
        assert_int_equal(b_count, 0);
    }
    text_printf(out, "%s", line_at(from, at));
    return edits;
}

/* Edits of the shortest script: lines less twice the longest common subsequence. Lines are one letter long.
 */
static int least_edits(const char *a, const char *b)
{
    int n = (int)strlen(a) / 2, m = (int)strlen(b) / 2, row[64] = {0};
    for (int i = 0; i < n; i++) {
        int diagonal = 0;
        for (int j = 0; j < m; j++) {
            int above = row[j + 1];
            int here = a[2 * i] == b[2 * j] ? diagonal + 1 : row[j] > above ? row[j] : above;
            row[j + 1] = here;
            diagonal = above;
        }
    }
    return n + m - 2 * row[m];
}

static void check_random_diff(void)
{
    struct arena *a = new_arena();
    GUARD(a);
    struct text text[2] = {{.arena = a}, {.arena = a}}, out = {.arena = a};
    int letters = 1 + random_below(6);
    for (int which = 0; which < 2; which++) {
        int n = random_below(60);
        for (int i = 0; i < n; i++) {
            bool copy = which && random_below(8) && (size_t)(2 * i) < text[0].n;
            text_printf(&text[which], "%c\n", copy ? text[0].s[2 * i] : 'a' + random_below(letters));
        }
    }
    const char *from = text_string(&text[0]), *to = text_string(&text[1]);
    int edits = patch(&out, from, diff(a, from, to));
    assert_string_equal(text_string(&out), to);
    assert_int_equal(edits, least_edits(from, to));
    free_arena(a);
}

static void random_diffs_apply_and_are_shortest(void **state)
{
    (void)state;
    for (int round = 0; round < 3000; round++)
        check_random_diff();
}

static void a_huge_difference_is_still_a_diff(void **state)
{
    (void)state;
    struct arena *a = new_arena();
    GUARD(a);
    struct text from = {.arena = a}, to = {.arena = a}, out = {.arena = a};
    for (int i = 0; i < 3000; i++) {
        text_printf(&from, "old %d\n", i);
        text_printf(&to, "new %d\n", i);
    }
    int edits = patch(&out, text_string(&from), diff(a, text_string(&from), text_string(&to)));
    assert_string_equal(text_string(&out), text_string(&to));
    assert_int_equal(edits, 6000);
    free_arena(a);
}

static void only_what_changes_is_replaced(void **state)
{
    (void)state;
    struct arena *a = new_arena();
    GUARD(a);
    const char *same = in_folder(a, "same"), *other = in_folder(a, "other"), *fresh = in_folder(a, "fresh");
    write_file(same, "same\n");
    write_file(other, "old\n");
    assert_int_equal(chmod(other, 06750), 0);
    struct timespec past[2] = {{1000000000, 0}, {1000000000, 0}};
    assert_int_equal(utimensat(AT_FDCWD, same, past, 0), 0);
    assert_int_equal(utimensat(AT_FDCWD, other, past, 0), 0);
    struct stat before, after;
    assert_int_equal(stat(same, &before), 0);

    struct file_content files[] = {{same, "same\n", 5}, {other, "new\n", 4}, {fresh, "", 0}};
    assert_null(file_replace(a, files, 3));
    assert_file(a, other, "new\n");
    assert_file(a, fresh, "");
    assert_int_equal(stat(same, &after), 0);
    assert_int_equal(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
    assert_int_equal(after.st_ino, before.st_ino);
    assert_int_equal(stat(other, &after), 0);
    assert_int_not_equal(after.st_mtim.tv_sec, 1000000000);
    assert_int_equal(after.st_mode & 07777, 0750); /* but no program of the owner's */
    free_arena(a);
}

static void a_failure_changes_nothing(void **state)
{
    (void)state;
    struct arena *a = new_arena();
    GUARD(a);
    const char *good = in_folder(a, "good"), *bad = in_folder(a, "missing/bad");
    write_file(good, "old\n");
    struct file_content files[] = {{good, "new\n", 4}, {bad, "new\n", 4}};
    assert_string_equal(file_replace(a, files, 2), bad);
    assert_int_equal(errno, ENOENT);
    assert_file(a, good, "old\n");
    struct file_content full[] = {{good, "new\n", 4}, {"/dev/full", "new\n", 4}};
    assert_string_equal(file_replace(a, full, 2), "/dev/full");
    assert_int_equal(errno, ENOSPC);
    assert_file(a, good, "old\n");
    /* No temporary file is left. */
    char *command = arena_printf(a, "test \"$(ls %s | grep -c tmp)\" = 0", folder);
    assert_int_equal(system(command), 0);
    free_arena(a);
}

static void links_and_devices_stay_what_they_are(void **state)
{
    (void)state;
    struct arena *a = new_arena();
    GUARD(a);
    const char *target = in_folder(a, "target"), *link = in_folder(a, "link");
    write_file(target, "old\n");
    assert_int_equal(symlink("target", link), 0);
    struct file_content files[] = {{link, "new\n", 4}, {"/dev/null", "new\n", 4}};
    assert_null(file_replace(a, files, 2));
    struct stat status;
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_file(a, target, "new\n");
    assert_int_equal(stat("/dev/null", &status), 0);
    assert_true(S_ISCHR(status.st_mode));
    free_arena(a);
}

static void reading_reports_what_is_wrong(void **state)
{
    (void)state;
    struct arena *a = new_arena();
    GUARD(a);
    size_t size;
    assert_null(file_read(a, in_folder(a, "nothing"), 100, &size));
    assert_int_equal(errno, ENOENT);
    assert_null(file_read(a, folder, 100, &size));
    assert_int_equal(errno, EISDIR);
    assert_non_null(file_read(a, "/dev/zero", 100000, &size));
    assert_int_equal(size, 100000);
    assert_string_equal(file_read(a, "/dev/null", 100, &size), "");
    free_arena(a);
}

static void folders_are_made_with_those_above(void **state)
{
    (void)state;
    struct arena *a = new_arena();
    GUARD(a);
    struct stat status;
    const char *deep = in_folder(a, "deep/er/est");
    assert_true(file_make_folder(a, deep));
    assert_int_equal(stat(deep, &status), 0);
    assert_true(S_ISDIR(status.st_mode));
    assert_true(file_make_folder(a, in_folder(a, "deep/er/")));
    assert_true(file_make_folder(a, "/"));
    assert_true(file_make_folder(a, "."));
    write_file(in_folder(a, "plain"), "");
    assert_false(file_make_folder(a, in_folder(a, "plain")));
    assert_int_equal(errno, ENOTDIR);
    assert_false(file_make_folder(a, in_folder(a, "plain/below")));
    assert_int_equal(errno, ENOTDIR);
    free_arena(a);
}

static void sizes_that_no_memory_has_fail(void **state)
{
    (void)state;
    enum { WAYS = 5 };
    struct arena *a = new_arena();
    volatile int failed = 0;
    for (volatile int way = 0; way < WAYS; way++) {
        if (setjmp(a->failure)) {
            failed++;
            continue;
        }
        static char large[1 << 17];
        switch (way) {
        case 0:
            arena_alloc(a, SIZE_MAX);
            break;
        case 1:
            arena_array(a, SIZE_MAX / 2, 3);
            break;
        case 2:
            arena_resize(a, large, 8, SIZE_MAX);
            break;
        case 3: /* it has a block of its own */
            arena_resize(a, arena_alloc(a, sizeof large), sizeof large, SIZE_MAX);
            break;
        default:
            arena_resize(a, arena_alloc(a, sizeof large), sizeof large, SIZE_MAX / 4);
        }
    }
    assert_int_equal(failed, WAYS);
    free_arena(a);
}

static void dependency_rules_are_escaped(void **state)
{
    (void)state;
    struct arena *a = new_arena();
    GUARD(a);
    struct text t = {.arena = a};
    const char *const target[] = {"out/a b.h", "$x#y.c", "b\\ c"};
    depend_rule(&t, target, 3, false, &(const char *){"my specs/a$.yaml"}, 1, true);
    assert_string_equal(text_string(&t), "out/a\\ b.h $$x\\#y.c b\\\\\\ c: my\\ specs/a$$.yaml\n\n"
                                         "my\\ specs/a$$.yaml:\n");
    t = (struct text){.arena = a};
    depend_rule(&t, target, 2, true, NULL, 0, true);
    assert_string_equal(text_string(&t), "out/a b.h $x#y.c:\n");
    t = (struct text){.arena = a};
    const char *many[20];
    for (int i = 0; i < 20; i++)
        many[i] = "a_generated_file.c";
    depend_rule(&t, many, 20, false, &(const char *){"s.yaml"}, 1, false);
    int lines = 0;
    for (const char *p = text_string(&t); *p; p += strcspn(p, "\n") + 1, lines++)
        assert_true(strcspn(p, "\n") <= 110);
    assert_int_equal(lines, 4);
    free_arena(a);
}

/* Where nothing is, a path stands for itself: it is neither a plain file nor what comes on standard input. */
static void paths_to_nothing(void **state)
{
    (void)state;
    struct arena *a = new_arena();
    GUARD(a);
    const char *nowhere = in_folder(a, "no_folder/no_file"), *nothing = in_folder(a, "no_file");
    assert_string_equal(file_place(a, nowhere), nowhere);
    assert_string_equal(file_place(a, nothing), nothing);
    assert_false(file_is_plain(nothing));
    assert_false(file_is_stdin(nothing));
    assert_false(file_is_plain(folder));
    free_arena(a);
}

/* A folder that has been removed has not even itself: there is nothing to be sorted, which UBSan sees. */
static void names_of_no_file(void **state)
{
    (void)state;
    struct arena *a = new_arena();
    GUARD(a);
    const char **names, *gone = in_folder(a, "gone");
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(mkdir(gone, 0777), 0);
    assert_int_equal(chdir(gone), 0);
    assert_int_equal(rmdir(gone), 0);
    const int n = file_names(a, ".", &names);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(n, 0);
    assert_int_equal(file_names(a, gone, &names), -1);
    free_arena(a);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(diffs_have_the_known_text),
        cmocka_unit_test(random_diffs_apply_and_are_shortest),
        cmocka_unit_test(a_huge_difference_is_still_a_diff),
        cmocka_unit_test(only_what_changes_is_replaced),
        cmocka_unit_test(a_failure_changes_nothing),
        cmocka_unit_test(links_and_devices_stay_what_they_are),
        cmocka_unit_test(reading_reports_what_is_wrong),
        cmocka_unit_test(folders_are_made_with_those_above),
        cmocka_unit_test(sizes_that_no_memory_has_fail),
        cmocka_unit_test(dependency_rules_are_escaped),
        cmocka_unit_test(paths_to_nothing),
        cmocka_unit_test(names_of_no_file),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
