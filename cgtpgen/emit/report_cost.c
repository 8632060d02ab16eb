/* report_cost.c - operations and bytes of each kernel, and where they stand under the machine's roof: see
 * report_page.h.
 */
#include "emit/memory.h"
#include "emit/report_page.h"

#include <string.h>

/* ---- one kernel ---- */

/* What the machine does at most a second; 0 where the device table has no machine. */
struct machine_roof {
    double fma, bytes;
};

static struct machine_roof roof_of(const struct page *p)
{
    const struct device *d = p->all->target.device;
    return (struct machine_roof){device_fma_rate(d, p->problem->spec->compute), d->machine.bytes};
}

/* Flops a second at so many flops per byte, if every operation is a multiply-add. */
static double roof_at(struct machine_roof r, double intensity)
{
    return intensity * r.bytes < 2 * r.fma ? intensity * r.bytes : 2 * r.fma;
}

struct prediction {
    double flops, intensity; /* per item; per byte of least */
    double rate;             /* flops a second */
    bool by_memory;          /* what limits it */
};

/* A kernel moves its least bytes at the memory's rate, or does an operation wherever the machine could do a
 * multiply-add: the longer of both. */
static struct prediction predict(struct machine_roof r, const struct kernel_schedule *k)
{
    const struct operations *n = &k->operations;
    struct prediction q = {.flops = operations_flops(*n)};
    const double all = n->fma + n->mul + n->add, bytes = k->kernel->bytes_least;
    const double arithmetic = all > 0 ? q.flops / all * r.fma : 0,
                 memory = bytes > 0 ? q.flops / bytes * r.bytes : 0;
    q.intensity = bytes > 0 ? q.flops / bytes : 0;
    q.by_memory = bytes > 0 && memory < arithmetic;
    q.rate = q.by_memory ? memory : arithmetic;
    return q;
}

/* Of a measurement: flops a second and per byte, every array moved once. */
static void measured_rates(const struct page *p, const struct measurement *m, double *rate, double *bytes)
{
    const struct kernel_schedule *k = &p->all->kernel[m->kernel];
    const double seconds = m->ms / 1000;
    *rate = operations_flops(k->operations) * m->items / seconds;
    *bytes = (k->kernel->bytes_least * m->items + k->kernel->bytes_row[INDEX_SENDER] * m->senders +
              k->kernel->bytes_row[INDEX_RECEIVER] * m->receivers + k->kernel->bytes_row[INDEX_SHARED]) /
             seconds;
}

/* "1.23 TFLOP/s", "456 GB/s" */
static const char *rate_text(struct arena *a, double rate, const char *unit)
{
    return rate >= 1e12 ? arena_printf(a, "%.3g T%s", rate / 1e12, unit)
                        : arena_printf(a, "%.3g G%s", rate / 1e9, unit);
}

static void swatch(struct page *p, int kernel)
{
    put(p,
        "<svg class=\"key %s\" width=\"9\" height=\"9\" aria-hidden=\"true\"><rect class=\"f\" width=\"9\" "
        "height=\"9\" rx=\"2\"/></svg>",
        page_color(kernel));
}

/* ---- tables ---- */

static void cost_row(struct page *p, int kernel, struct machine_roof r)
{
    struct arena *a = p->arena;
    const struct kernel_schedule *k = &p->all->kernel[kernel];
    const struct prediction q = predict(r, k);
    const double figure[] = {q.flops,
                             k->operations.fma,
                             k->operations.mul,
                             k->operations.add,
                             k->kernel->bytes_least,
                             memory_moved(a, p->all, k),
                             k->kernel->bytes_row[INDEX_SENDER],
                             k->kernel->bytes_row[INDEX_RECEIVER],
                             k->kernel->bytes_row[INDEX_SHARED]};
    put(p, "<tr><th scope=\"row\">");
    swatch(p, kernel);
    put(p, "%s</th>", page_escaped(a, k->kernel->form->name));
    for (size_t i = 0; i < sizeof figure / sizeof *figure; i++)
        put(p, "<td class=\"r\">%s</td>", page_number(a, figure[i]));
    put(p, "<td class=\"r\">%.2f</td>", q.intensity);
    if (r.fma > 0)
        put(p, "<td class=\"r\">%s</td><td>%s</td>", rate_text(a, q.rate, "FLOP/s"),
            q.by_memory ? "memory" : "arithmetic");
    put(p, "</tr>\n");
}

static void cost_table(struct page *p, struct machine_roof r)
{
    static const char *const head[] = {"flops",        "multiply-adds",  "multiplications", "additions",
                                       "bytes, least", "bytes, planned", "per sender",      "per receiver",
                                       "shared",       "flops per byte"};
    page_scroll(p, "Costs");
    put(p, "<table class=\"costs\"><caption>per item; bytes of nodes and shared arrays per row of "
           "theirs</caption>\n<thead>"
           "<tr><th>kernel</th>");
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        put(p, "<th class=\"r\">%s</th>", head[i]);
    if (r.fma > 0)
        put(p, "<th class=\"r\">predicted</th><th>limit</th>");
    put(p, "</tr></thead>\n<tbody>\n");
    for (int k = 0; k < p->all->plan->kernels; k++)
        cost_row(p, k, r);
    put(p, "</tbody></table>\n");
    page_scroll_end(p);
}

static void measured_table(struct page *p, struct machine_roof r)
{
    struct arena *a = p->arena;
    const struct measured *m = p->from->measured;
    const char *slash = strrchr(m->file, '/');
    put(p,
        "<h3>Measured</h3>\n<p class=\"soft\">From <code>%s</code>. Bytes are those that must move at least, "
        "each array "
        "once.%s</p>\n",
        page_escaped(a, slash ? slash + 1 : m->file),
        r.fma > 0 ? " The last column compares with the roof at the same flops per byte; a log does not say "
                    "which GPU ran."
                  : "");
    page_scroll(p, "Measured");
    put(p,
        "<table class=\"measured\"><caption>kernel "
        "times</caption>\n<thead><tr><th>kernel</th><th>where</th><th "
        "class=\"r\">items</th><th class=\"r\">ms</th><th class=\"r\">flops</th><th class=\"r\">bytes</th>");
    put(p, "%s</tr></thead>\n<tbody>\n", r.fma > 0 ? "<th class=\"r\">of the roof</th>" : "");
    for (int i = 0; i < m->rows; i++) {
        const struct measurement *q = &m->row[i];
        double rate, bytes;
        measured_rates(p, q, &rate, &bytes);
        put(p, "<tr><th scope=\"row\">");
        swatch(p, q->kernel);
        put(p,
            "%s</th><td>%s</td><td class=\"r\">%s</td><td class=\"r\">%.4g</td><td class=\"r\">%s</td><td "
            "class=\"r\">%s</td>",
            page_escaped(a, p->all->plan->kernel[q->kernel].form->name), page_escaped(a, q->place),
            page_number(a, q->items), q->ms, rate_text(a, rate, "FLOP/s"), rate_text(a, bytes, "B/s"));
        if (r.fma > 0)
            put(p, "<td class=\"r\">%s</td>",
                page_percent(a, rate, bytes > 0 ? roof_at(r, rate / bytes) : 0));
        put(p, "</tr>\n");
    }
    put(p, "</tbody></table>\n");
    page_scroll_end(p);
}

/* ---- the roofline ---- */

enum { LEFT = 58, TOP = 22, PLOT_WIDE = 640, PLOT_HIGH = 340, BOTTOM = 42, RIGHT = 22, LINE = 13 };

/* Both axes are logarithmic: powers of two. */
struct chart {
    struct page *p;
    double unit;        /* 1e9 or 1e12 */
    int x0, x1, y0, y1; /* exponents at the ends: of flops per byte, of `unit` flops a second */
};

/* The binary logarithm of what is positive, by arithmetic alone, which is the same everywhere. */
static double logarithm(double x)
{
    double whole = 0, part = 0, bit = 1;
    for (; x >= 2; x /= 2)
        whole++;
    for (; x < 1; x *= 2)
        whole--;
    for (int i = 0; i < 20; i++) {
        x *= x;
        bit /= 2;
        if (x >= 2) {
            x /= 2;
            part += bit;
        }
    }
    return whole + part;
}

static double power(int exponent)
{
    double x = 1;
    for (; exponent > 0; exponent--)
        x *= 2;
    for (; exponent < 0; exponent++)
        x /= 2;
    return x;
}

static int below(double x)
{
    const int whole = (int)x;
    return whole > x ? whole - 1 : whole;
}

static double x_of(const struct chart *c, double intensity)
{
    return LEFT + PLOT_WIDE * (logarithm(intensity) - c->x0) / (c->x1 - c->x0);
}

static double y_of(const struct chart *c, double rate)
{
    return TOP + PLOT_HIGH * (c->y1 - logarithm(rate / c->unit)) / (c->y1 - c->y0);
}

/* Makes room for a point. */
static void include(struct chart *c, double intensity, double rate)
{
    const int x = below(logarithm(intensity)), y = below(logarithm(rate / c->unit));
    c->x0 = c->x0 < x ? c->x0 : x;
    c->x1 = c->x1 > x + 1 ? c->x1 : x + 1;
    c->y0 = c->y0 < y ? c->y0 : y;
    c->y1 = c->y1 > y + 1 ? c->y1 : y + 1;
}

static bool has_point(const struct prediction *q)
{
    return q->intensity > 0 && q->rate > 0;
}

/* Returns the number of points. */
static int chart_of(struct page *p, struct machine_roof r, struct chart *c)
{
    const struct measured *m = p->from->measured;
    int points = 0;
    *c = (struct chart){p, r.fma > 0 ? 1e12 : 1e9, 100, -100, 100, -100};
    for (int k = 0; k < p->all->plan->kernels; k++) {
        const struct prediction q = predict(r, &p->all->kernel[k]);
        if (has_point(&q)) {
            include(c, q.intensity, q.rate);
            points++;
        }
    }
    for (int i = 0; m && i < m->rows; i++) {
        double rate, bytes;
        measured_rates(p, &m->row[i], &rate, &bytes);
        if (rate > 0 && bytes > 0) {
            include(c, rate / bytes, rate);
            points++;
        }
    }
    if (points && r.fma > 0) {
        const double ridge = 2 * r.fma / r.bytes;
        include(c, ridge, 2 * r.fma);
        c->x1 += x_of(c, ridge) > LEFT + PLOT_WIDE * 0.8;
    }
    return points;
}

static const char *tick_text(struct arena *a, double value)
{
    return value >= 1 ? arena_printf(a, "%.0f", value) : arena_printf(a, "1/%.0f", 1 / value);
}

static void axes(const struct chart *c)
{
    struct page *p = c->p;
    const int bottom = TOP + PLOT_HIGH, x_step = (c->x1 - c->x0) / 12 + 1, y_step = (c->y1 - c->y0) / 12 + 1;
    put(p, "<rect class=\"fr\" x=\"%d.5\" y=\"%d.5\" width=\"%d\" height=\"%d\"/>\n", LEFT, TOP, PLOT_WIDE,
        PLOT_HIGH);
    for (int e = c->x0; e <= c->x1; e += x_step) {
        const double x = x_of(c, power(e));
        if (e > c->x0 && e < c->x1)
            put(p, "<path class=\"ln\" d=\"M%.1f %dv%d\"/>", x, TOP, PLOT_HIGH);
        put(p, "<text class=\"s m\" x=\"%.1f\" y=\"%d\">%s</text>\n", x, bottom + 15,
            tick_text(p->arena, power(e)));
    }
    for (int e = c->y0; e <= c->y1; e += y_step) {
        const double y = y_of(c, c->unit * power(e));
        if (e > c->y0 && e < c->y1)
            put(p, "<path class=\"ln\" d=\"M%d %.1fh%d\"/>", LEFT, y, PLOT_WIDE);
        put(p, "<text class=\"s e\" x=\"%d\" y=\"%.1f\">%s</text>\n", LEFT - 6, y + 4,
            tick_text(p->arena, power(e)));
    }
    put(p,
        "<text class=\"s m\" x=\"%d\" y=\"%d\">flops per byte</text><text class=\"s\" x=\"0\" "
        "y=\"12\">%s</text>\n",
        LEFT + PLOT_WIDE / 2, bottom + 34, c->unit > 1e9 ? "TFLOP/s" : "GFLOP/s");
}

static void draw_roof(const struct chart *c, struct machine_roof r)
{
    struct page *p = c->p;
    const double ridge = 2 * r.fma / r.bytes, lowest = c->unit * power(c->y0);
    double left = power(c->x0), low = roof_at(r, left);
    if (low < lowest) { /* it leaves the plot at its lower end */
        low = lowest;
        left = lowest / r.bytes;
    }
    put(p, "<path class=\"sk\" stroke-width=\"2\" d=\"M%.1f %.1fL%.1f %.1fH%d\"/>\n", x_of(c, left),
        y_of(c, low), x_of(c, ridge), y_of(c, 2 * r.fma), LEFT + PLOT_WIDE);
    if (r.fma > lowest)
        put(p, "<path class=\"ax\" stroke-dasharray=\"4 4\" d=\"M%.1f %.1fH%d\"/>\n", x_of(c, ridge / 2),
            y_of(c, r.fma), LEFT + PLOT_WIDE);
    put(p, "<text class=\"s e\" x=\"%d\" y=\"%.1f\">%s</text>\n", LEFT + PLOT_WIDE - 5,
        y_of(c, 2 * r.fma) - 6, rate_text(p->arena, 2 * r.fma, "FLOP/s"));
    if (r.fma > lowest)
        put(p, "<text class=\"s e\" x=\"%d\" y=\"%.1f\">no multiply-adds</text>\n", LEFT + PLOT_WIDE - 5,
            y_of(c, r.fma) + 14);
}

/* Names stand above and left of their points, where the roof leaves room, one above the other. */
static void draw_predictions(const struct chart *c, struct machine_roof r)
{
    struct page *p = c->p;
    const int kernels = p->all->plan->kernels;
    bool *done = NEW_ARRAY(p->arena, bool, kernels + 1);
    double free = TOP + PLOT_HIGH;
    for (int i = 0; i < kernels; i++) {
        struct prediction first = {0};
        int k = -1;
        for (int j = 0; j < kernels; j++) {
            const struct prediction q = predict(r, &p->all->kernel[j]);
            if (!done[j] && has_point(&q) && (k < 0 || q.rate < first.rate)) {
                first = q;
                k = j;
            }
        }
        if (k < 0)
            return;
        done[k] = true;
        const double x = x_of(c, first.intensity), y = y_of(c, first.rate);
        const char *name = p->all->plan->kernel[k].form->name;
        put(p,
            "<g class=\"%s\"><title>%s, predicted: %.2f flops per byte, %s</title><circle class=\"ring "
            "predicted\" "
            "cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\"/>",
            page_color(k), page_escaped(p->arena, name), first.intensity,
            rate_text(p->arena, first.rate, "FLOP/s"), x, y);
        free = y - 7 < free - LINE ? y - 7 : free - LINE;
        if (free > TOP + LINE)
            put(p, "<text class=\"e\" x=\"%.1f\" y=\"%.1f\">%s</text>", x - 7, free,
                page_escaped(p->arena, name));
        put(p, "</g>\n");
    }
}

static void draw_measurements(const struct chart *c)
{
    struct page *p = c->p;
    const struct measured *m = p->from->measured;
    for (int i = 0; m && i < m->rows; i++) {
        double rate, bytes;
        measured_rates(p, &m->row[i], &rate, &bytes);
        if (rate > 0 && bytes > 0)
            put(p,
                "<g class=\"%s\"><title>%s, %s: %.2f flops per byte, %s</title><circle class=\"pt measured\" "
                "cx=\"%.1f\" "
                "cy=\"%.1f\" r=\"4.5\"/></g>\n",
                page_color(m->row[i].kernel),
                page_escaped(p->arena, p->all->plan->kernel[m->row[i].kernel].form->name),
                page_escaped(p->arena, m->row[i].place), rate / bytes, rate_text(p->arena, rate, "FLOP/s"),
                x_of(c, rate / bytes), y_of(c, rate));
    }
}

static void roofline(struct page *p, struct machine_roof r)
{
    struct arena *a = p->arena;
    const struct device *d = p->all->target.device;
    struct chart c;
    put(p, "<section id=\"roofline\">\n<h2>Roofline</h2>\n");
    if (r.fma > 0)
        put(p,
            "<p class=\"soft\">The roof is %s's: %d multiprocessors, %d multiply-adds of %s each per clock, "
            "%d MHz; "
            "memory at %s. Rings are predicted, for graphs with many edges per node: the least bytes of an "
            "item, and an "
            "operation in the time of a multiply-add.</p>\n",
            d->machine.name, d->machine.multiprocessors, d->fma[p->problem->spec->compute],
            precision_table[p->problem->spec->compute].name, d->machine.mhz, rate_text(a, r.bytes, "B/s"));
    else
        put(p, "<p class=\"soft\">The device table has no rates for the host, so that nothing is "
               "predicted.</p>\n");
    if (chart_of(p, r, &c)) {
        page_scroll(p, "Roofline");
        page_picture(p, "roofline", LEFT + PLOT_WIDE + RIGHT, TOP + PLOT_HIGH + BOTTOM,
                     "Flops a second by flops per byte, both logarithmic");
        put(p, "\n");
        axes(&c);
        if (r.fma > 0)
            draw_roof(&c, r);
        draw_measurements(&c);
        draw_predictions(&c, r);
        put(p, "</svg>\n");
        page_scroll_end(p);
        put(p, "<ul class=\"keys\">");
        if (r.fma > 0)
            put(p, "<li><svg width=\"12\" height=\"12\" aria-hidden=\"true\"><g class=\"c7\"><circle "
                   "class=\"ring\" cx=\"6\" "
                   "cy=\"6\" r=\"4.5\"/></g></svg>predicted</li>");
        if (p->from->measured)
            put(p, "<li><svg width=\"12\" height=\"12\" aria-hidden=\"true\"><g class=\"c7\"><circle "
                   "class=\"pt\" cx=\"6\" "
                   "cy=\"6\" r=\"4.5\"/></g></svg>measured</li>");
        for (int k = 0; k < p->all->plan->kernels; k++) {
            put(p, "<li>");
            swatch(p, k);
            put(p, "%s</li>", page_escaped(a, p->all->plan->kernel[k].form->name));
        }
        put(p, "</ul>\n");
    }
    if (p->from->measured)
        measured_table(p, r);
    put(p, "</section>\n");
}

void page_costs(struct page *p)
{
    const struct machine_roof r = roof_of(p);
    put(p, "<section id=\"costs\">\n<h2>Costs</h2>\n<p class=\"soft\">Operations are counted in the "
           "generated code. The least "
           "bytes are every array of items once; what is planned reads an input once for each schedule that "
           "needs "
           "it.</p>\n");
    cost_table(p, r);
    put(p, "</section>\n");
    roofline(p, r);
}
