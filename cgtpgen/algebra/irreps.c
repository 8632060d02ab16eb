/* irreps.c - see irreps.h. The notation is that of e3nn.o3.Irreps: "16x0e + 1o", parity e, o or y (= (-1)^l).
 */
#include "algebra/irreps.h"
#include "algebra/wigner.h"

#include <string.h>

/* The string being read, and where reading stands. */
struct scan {
    struct arena *arena;
    const char *s, *p;
    struct irreps_error *error;
};

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void skip_spaces(struct scan *scan)
{
    while (is_space(*scan->p))
        scan->p++;
}

/* The length of what a reader would call the word at p: up to a space or plus sign, at least one byte. */
static int word_width(const char *p)
{
    int n = 0;
    while (p[n] && p[n] != '+' && !is_space(p[n]))
        n++;
    return n ? n : 1;
}

static bool fail(struct scan *scan, const char *at, int width, const char *message)
{
    *scan->error = (struct irreps_error){.at = (int)(at - scan->s), .width = width, .message = message};
    return false;
}

/* A number above the largest that is supported. */
static bool fail_limit(struct scan *scan, const char *at, int width, const char *what, int most)
{
    const char *digits = arena_string(scan->arena, at, (size_t)(width > 30 ? 30 : width));
    fail(scan, at, width,
         arena_printf(scan->arena, "%s%s is above the largest supported, %d", what, digits, most));
    scan->error->too_large = true;
    return false;
}

/* The number at p, which is a digit, held at limit + 1 when larger; *width is its length. */
static int read_number(struct scan *scan, int limit, int *width)
{
    const char *start = scan->p;
    int value = 0;
    for (; is_digit(*scan->p); scan->p++)
        if (value <= limit) {
            value = 10 * value + (*scan->p - '0');
            if (value > limit)
                value = limit + 1;
        }
    *width = (int)(scan->p - start);
    return value;
}

/* A term: [mul x] l parity. */
static bool read_term(struct scan *scan, int *mul, struct irrep *ir)
{
    struct arena *arena = scan->arena;
    const char *start = scan->p;
    if (!*start || *start == '+') {
        /* At the end of the string the plus sign before it is the thing to show. */
        const char *at = start;
        if (!*at)
            while (at > scan->s && *at != '+')
                at--;
        return fail(scan, at, 1, "expected a term such as 16x1o on both sides of '+'");
    }
    if (*start == '-')
        return fail(scan, start, word_width(start),
                    "expected a term such as 16x1o; nothing here can be negative");
    if (*start == 'x')
        return fail(scan, start, 1, "expected a multiplicity before 'x', as in 16x1o");
    if (!is_digit(*start))
        return fail(scan, start, word_width(start), "expected a term such as 16x1o or 1o");

    int width, value = read_number(scan, MUL_MAX, &width);
    const char *number = start;
    skip_spaces(scan);
    *mul = 1;
    if (*scan->p == 'x') {
        if (value > MUL_MAX)
            return fail_limit(scan, number, width, "multiplicity ", MUL_MAX);
        *mul = value;
        scan->p++;
        skip_spaces(scan);
        number = scan->p;
        if (!is_digit(*number)) {
            bool end = !*number || *number == '+';
            return fail(scan, end ? start : number, end ? (int)(scan->p - start) : word_width(number),
                        "expected an irrep such as 1o after the multiplicity");
        }
        value = read_number(scan, MUL_MAX, &width);
        skip_spaces(scan);
    }
    const char *parity = scan->p;
    if (*parity != 'e' && *parity != 'o' && *parity != 'y') {
        if (*parity && strchr("EOY", *parity))
            return fail(scan, parity, 1, "a parity is a small letter, e (even) or o (odd)");
        if (number == start && *parity && strchr("*X", *parity))
            return fail(scan, parity, 1, "a small x stands between multiplicity and irrep, as in 16x1o");
        if (*parity == '.' && is_digit(parity[1]))
            return fail(scan, start, word_width(start),
                        "multiplicities and l are whole numbers, as in 16x1o");
        if (!*parity || *parity == '+')
            return fail(scan, number, width,
                        arena_printf(arena, "expected a parity after l, as in %.*so (odd) or %.*se (even)",
                                     width > 30 ? 30 : width, number, width > 30 ? 30 : width, number));
        return fail(scan, parity, word_width(parity),
                    arena_printf(arena, "expected a parity, e (even) or o (odd), after l"));
    }
    if (value > L_MAX)
        return fail_limit(scan, number, width, "l = ", L_MAX);
    ir->l = value;
    ir->parity = *parity == 'e' || (*parity == 'y' && value % 2 == 0) ? 1 : -1;
    scan->p++;
    skip_spaces(scan);
    if (*scan->p && *scan->p != '+')
        return fail(scan, scan->p, word_width(scan->p), "expected '+' or the end of the irreps here");
    return true;
}

bool irreps_parse(struct arena *arena, const char *s, struct irreps *out, struct irreps_error *error)
{
    struct scan scan = {arena, s, s, error};
    int capacity = 0;
    *out = (struct irreps){0};
    *error = (struct irreps_error){0};
    skip_spaces(&scan);
    if (!*scan.p)
        return true;
    for (;;) {
        int mul;
        struct irrep ir;
        if (!read_term(&scan, &mul, &ir))
            return false;
        irreps_append(arena, out, &capacity, mul, ir);
        if (!*scan.p)
            return true;
        scan.p++; /* the plus sign */
        skip_spaces(&scan);
    }
}

void irreps_append(struct arena *arena, struct irreps *irreps, int *capacity, int mul, struct irrep ir)
{
    irreps->segment = arena_grow(arena, irreps->segment, irreps->n, capacity, sizeof *irreps->segment);
    irreps->segment[irreps->n++] = (struct segment){mul, ir, irreps->dim};
    irreps->dim += (int64_t)mul * (2 * ir.l + 1);
}

void irreps_print(struct text *text, const struct irreps *irreps)
{
    for (int i = 0; i < irreps->n; i++) {
        text_printf(text, "%s%dx", i ? "+" : "", irreps->segment[i].mul);
        irrep_print(text, irreps->segment[i].ir);
    }
}

void irrep_print(struct text *text, struct irrep ir)
{
    text_printf(text, "%d%c", ir.l, ir.parity > 0 ? 'e' : 'o');
}

int irrep_compare(struct irrep a, struct irrep b)
{
    if (a.l != b.l)
        return a.l < b.l ? -1 : 1;
    return (a.parity > b.parity) - (a.parity < b.parity);
}

int irrep_number(struct irrep ir)
{
    return 2 * ir.l + (ir.parity > 0);
}

bool irrep_in_product(struct irrep c, struct irrep a, struct irrep b)
{
    int least = a.l > b.l ? a.l - b.l : b.l - a.l;
    return c.parity == a.parity * b.parity && c.l >= least && c.l <= a.l + b.l;
}

const char *irreps_text(struct arena *a, const struct irreps *irreps)
{
    struct text t = {.arena = a};
    irreps_print(&t, irreps);
    return text_string(&t);
}

const char *irrep_text(struct arena *a, struct irrep ir)
{
    struct text t = {.arena = a};
    irrep_print(&t, ir);
    return text_string(&t);
}

const char *segment_text(struct arena *a, int mul, struct irrep ir)
{
    return arena_printf(a, "%dx%s", mul, irrep_text(a, ir));
}
