/* diff.c - file_diff of file.h: a unified diff by Myers' greedy algorithm.
 *
 * E. W. Myers, "An O(ND) difference algorithm and its variations", Algorithmica 1 (1986). The furthest
 * reaching points of each edit count are kept to walk back; where more than EDITS_MAX edits would be needed,
 * the part between the common beginning and the common end is shown as replaced, which bounds time and
 * memory.
 */
#include "util/file.h"

#include <string.h>

enum { CONTEXT = 3, EDITS_MAX = 2000 };

/* A text as lines; line[i] .. line[i+1] is line i with its newline, if it has one. */
struct lines {
    int n;
    const char **line;
};

static struct lines split(struct arena *a, const char *s, size_t size)
{
    struct lines out = {0};
    const char *end = s + size;
    int count = 0;
    for (const char *p = s; p < end; p++)
        count += *p == '\n' || p + 1 == end;
    out.line = NEW_ARRAY(a, const char *, count + 1);
    while (s < end) {
        const char *newline = memchr(s, '\n', (size_t)(end - s));
        out.line[out.n++] = s;
        s = newline ? newline + 1 : end;
    }
    out.line[out.n] = end;
    return out;
}

static bool same(const struct lines *a, int i, const struct lines *b, int j)
{
    size_t n = (size_t)(a->line[i + 1] - a->line[i]);
    return n == (size_t)(b->line[j + 1] - b->line[j]) && !memcmp(a->line[i], b->line[j], n);
}

/* Marks the lines of a that go and the lines of b that come, from the differing parts a[first .. a_end),
 * b[first .. b_end). */
static void mark(struct arena *arena, const struct lines *a, int a_end, const struct lines *b, int b_end,
                 int first, bool *gone, bool *come)
{
    int n = a_end - first, m = b_end - first, most = n + m < EDITS_MAX ? n + m : EDITS_MAX;
    /* reach[k + most + 1]: the furthest x on diagonal k = x - y; trace[d]: its diagonals -d .. d before edit
     * d. */
    int *reach = NEW_ARRAY(arena, int, 2 * most + 3), **trace = NEW_ARRAY(arena, int *, most + 1);
    int d, x = 0, y = 0, zero = most + 1;
    bool found = false;
    for (d = 0; d <= most && !found; d++) {
        trace[d] = NEW_ARRAY(arena, int, 2 * d + 3);
        memcpy(trace[d], reach + zero - d - 1, (size_t)(2 * d + 3) * sizeof(int));
        for (int k = -d; k <= d && !found; k += 2) {
            bool down = k == -d || (k != d && reach[zero + k - 1] < reach[zero + k + 1]);
            x = down ? reach[zero + k + 1] : reach[zero + k - 1] + 1;
            y = x - k;
            while (x < n && y < m && same(a, first + x, b, first + y))
                x++, y++;
            reach[zero + k] = x;
            found = x >= n && y >= m;
        }
    }
    if (!found) {
        memset(gone + first, 1, (size_t)n * sizeof *gone);
        memset(come + first, 1, (size_t)m * sizeof *come);
        return;
    }
    for (x = n, y = m, d--; d > 0; d--) {
        const int *before = trace[d] + d + 1;
        int k = x - y;
        bool down = k == -d || (k != d && before[k - 1] < before[k + 1]);
        int from = down ? before[k + 1] : before[k - 1];
        x = from;
        y = from - (down ? k + 1 : k - 1);
        if (down)
            come[first + y] = true;
        else
            gone[first + x] = true;
    }
}

static void put_line(struct text *out, const char *sign, const struct lines *t, int i)
{
    size_t n = (size_t)(t->line[i + 1] - t->line[i]);
    text_put(out, sign, 1);
    text_put(out, t->line[i], n);
    if (t->line[i][n - 1] != '\n')
        text_printf(out, "\n\\ No newline at end of file\n");
}

/* 12,5 as in hunk headers: first line from 1 (the one before where there is none), count left out where it
 * is 1. */
static void put_range(struct text *out, int first, int count)
{
    text_printf(out, "%d", count ? first + 1 : first);
    if (count != 1)
        text_printf(out, ",%d", count);
}

void file_diff(struct text *out, const char *a_name, const char *a_text, size_t a_size, const char *b_name,
               const char *b_text, size_t b_size)
{
    if (a_size == b_size && !memcmp(a_text, b_text, a_size))
        return;
    struct arena *arena = out->arena;
    struct lines a = split(arena, a_text, a_size), b = split(arena, b_text, b_size);
    bool *gone = NEW_ARRAY(arena, bool, a.n + 1), *come = NEW_ARRAY(arena, bool, b.n + 1);
    int first = 0, a_end = a.n, b_end = b.n;
    while (first < a_end && first < b_end && same(&a, first, &b, first))
        first++;
    while (a_end > first && b_end > first && same(&a, a_end - 1, &b, b_end - 1))
        a_end--, b_end--;
    mark(arena, &a, a_end, &b, b_end, first, gone, come);

    text_printf(out, "--- %s\n+++ %s\n", a_name, b_name);
    int i = 0, j = 0;
    for (;;) {
        while (i < a.n && j < b.n && !gone[i] && !come[j])
            i++, j++;
        if (i == a.n && j == b.n)
            break;
        /* The hunk ends where 2 CONTEXT lines or more are common. */
        int lead = i < CONTEXT ? i : CONTEXT, i_end = i, j_end = j, common = 0;
        while ((i_end < a.n || j_end < b.n) && common <= 2 * CONTEXT) {
            if (i_end < a.n && gone[i_end])
                i_end++, common = 0;
            else if (j_end < b.n && come[j_end])
                j_end++, common = 0;
            else
                i_end++, j_end++, common++;
        }
        int extra = common > CONTEXT ? common - CONTEXT : 0;
        i_end -= extra;
        j_end -= extra;
        i -= lead;
        j -= lead;
        text_printf(out, "@@ -");
        put_range(out, i, i_end - i);
        text_printf(out, " +");
        put_range(out, j, j_end - j);
        text_printf(out, " @@\n");
        while (i < i_end || j < j_end) {
            if (i < i_end && gone[i])
                put_line(out, "-", &a, i++);
            else if (j < j_end && come[j])
                put_line(out, "+", &b, j++);
            else
                put_line(out, " ", &a, i++), j++;
        }
    }
}
