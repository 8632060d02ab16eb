/* report_paths.c - which blocks of x, y and z the paths connect, and their tensors: see report_page.h. */
#include "emit/report_page.h"

#include <string.h>

/* What of large products is drawn, so that the page stays small. */
enum { TILES_MOST = 400, COLUMNS_MOST = 12, ROWS_MOST = 40, DOTS_MOST = 24000, TABLE_MOST = 400 };

/* 128x0e */
static const char *segment(struct page *p, enum slot slot, int number)
{
    const struct segment *s = &slot_irreps(p->problem, slot)->segment[number];
    return segment_text(p->arena, s->mul, s->ir);
}

/* "path 9: 128x1o * 1x1o to 128x2e, segments 1, 1 and 9" */
static const char *path_title(struct page *p, const struct path *q)
{
    return arena_printf(p->arena, "path %d: %s times %s to %s; segments x %d, y %d, z %d", q->number,
                        segment(p, SLOT_X, q->x), segment(p, SLOT_Y, q->y), segment(p, SLOT_G, q->z), q->x,
                        q->y, q->z);
}

/* ---- blocks ---- */

enum { LABEL = 84, TILE = 47, TILE_HIGH = 18, GAP = 3, HEAD = 22 };

/* How the grid is laid out: cells of segments of x by segments of y. */
struct grid {
    int across;      /* tiles beside each other in a cell */
    int *count;      /* [x * y]: paths */
    int *y;          /* [x + 1]: where rows begin */
    int cell, width; /* a cell; all */
};

static struct grid grid_of(struct page *p)
{
    const struct problem *of = p->problem;
    const int nx = of->x.n, ny = of->y.n;
    struct grid g = {.count = NEW_ARRAY(p->arena, int, nx *ny + 1), .y = NEW_ARRAY(p->arena, int, nx + 1)};
    int most = 1;
    for (int i = 0; i < of->paths; i++) {
        int n = ++g.count[of->path[i].x * ny + of->path[i].y];
        most = most > n ? most : n;
    }
    g.across = ny <= 4 ? 4 : ny <= 6 ? 3 : 2;
    g.across = g.across < most ? g.across : most;
    g.cell = g.across * (TILE + GAP) + 2 * GAP;
    g.width = LABEL + ny * g.cell;
    g.y[0] = HEAD;
    for (int x = 0; x < nx; x++) {
        int high = 1;
        for (int y = 0; y < ny; y++) {
            int n = (g.count[x * ny + y] + g.across - 1) / g.across;
            high = high > n ? high : n;
        }
        g.y[x + 1] = g.y[x] + high * (TILE_HIGH + GAP) + 2 * GAP;
    }
    return g;
}

static void tile(struct page *p, const struct path *q, int x, int y)
{
    put(p,
        "<g class=\"%s\"><title>%s</title><rect class=\"w\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
        "rx=\"2\"/>"
        "<text class=\"s\" x=\"%d\" y=\"%d\">%d</text><text class=\"e\" x=\"%d\" y=\"%d\">%s</text></g>\n",
        page_color(q->l3), path_title(p, q), x, y, TILE, TILE_HIGH, x + 4, y + 13, q->number, x + TILE - 4,
        y + 13, irrep_text(p->arena, p->problem->z.segment[q->z].ir));
}

static void blocks(struct page *p)
{
    const struct problem *of = p->problem;
    const int nx = of->x.n, ny = of->y.n;
    if (of->paths > TILES_MOST || nx > ROWS_MOST || ny > COLUMNS_MOST) {
        put(p,
            "<p class=\"soft\">The grid of blocks is left out: %d paths, %d segments of x and %d of y.</p>\n",
            of->paths, nx, ny);
        return;
    }
    struct grid g = grid_of(p);
    put(p, "<p class=\"soft\">Rows are segments of x, columns segments of y. A tile is a path: its number, "
           "and the "
           "irrep of the segment of z that it adds to, coloured by that one's l.</p>\n");
    page_scroll(p, "Blocks");
    page_picture(p, "blocks", g.width, g.y[nx], "Paths by segment of x and of y");
    put(p, "\n");
    for (int y = 0; y < ny; y++)
        put(p, "<text class=\"m\" x=\"%d\" y=\"14\">%s</text>\n", LABEL + y * g.cell + g.cell / 2,
            segment(p, SLOT_Y, y));
    for (int x = 0; x <= nx; x++)
        put(p, "<path class=\"ln\" d=\"M0 %d.5h%d\"/>", g.y[x], g.width);
    for (int y = 0; y <= ny; y++)
        put(p, "<path class=\"ln\" d=\"M%d.5 0v%d\"/>", LABEL + y * g.cell - (y == ny), g.y[nx]);
    put(p, "\n");
    for (int x = 0; x < nx; x++)
        put(p, "<text x=\"2\" y=\"%d\">%s</text>\n", g.y[x] + 2 * GAP + 13, segment(p, SLOT_X, x));
    memset(g.count, 0, sizeof *g.count * (size_t)(nx * ny));
    for (int i = 0; i < of->paths; i++) {
        const struct path *q = &of->path[i];
        int n = g.count[q->x * ny + q->y]++;
        tile(p, q, LABEL + q->y * g.cell + 2 * GAP + n % g.across * (TILE + GAP),
             g.y[q->x] + 2 * GAP + n / g.across * (TILE_HIGH + GAP));
    }
    put(p, "</svg>\n");
    page_scroll_end(p);
}

/* ---- tensors ---- */

static int ceiling_root(double n)
{
    int r = 1;
    while ((double)r * r < n)
        r++;
    return r;
}

/* Pixels from dot to dot: small tensors are drawn larger. */
static int pitch_of(int rows, int panels, int columns)
{
    const int most = rows > columns ? rows : columns, size = most > panels ? most : panels;
    return size <= 3 ? 10 : size <= 5 ? 8 : size <= 7 ? 6 : 5;
}

/* A panel for each component j of y; in it rows are components i of x, columns components k of z. */
static void tensor(struct page *p, const struct coupling *of)
{
    const struct cg *c = of->cg;
    const int rows = 2 * c->l1 + 1, panels = 2 * c->l2 + 1, columns = 2 * c->l3 + 1;
    const int pitch = pitch_of(rows, panels, columns), gap = 4, wide = columns * pitch, high = rows * pitch;
    int across = ceiling_root((double)panels * (high + gap) / (wide + gap));
    across = across < panels ? across : panels;
    const int down = (panels + across - 1) / across;
    put(p, "<figure><figcaption><b>%d, %d, %d</b> in %s<br/>%d of %d, %s</figcaption>", c->l1, c->l2, c->l3,
        plural(p->arena, of->paths, "path"), c->n, cg_dense(c), page_percent(p->arena, c->n, cg_dense(c)));
    page_picture(p, "tensor", across * (wide + gap) - gap, down * (high + gap) - gap,
                 arena_printf(p->arena, "Tensor of l %d, %d, %d: %d nonzeros of %d", c->l1, c->l2, c->l3,
                              c->n, cg_dense(c)));
    put(p, "<path class=\"bg\" d=\"");
    for (int j = 0; j < panels; j++)
        put(p, "M%d %dh%dv%dh-%dz", j % across * (wide + gap), j / across * (high + gap), wide, high, wide);
    for (int sign = 1; sign >= -1; sign -= 2) {
        put(p, "\"/><path class=\"%s\" stroke-width=\"%.1f\" d=\"", sign > 0 ? "dot" : "neg",
            (sign > 0 ? 0.66 : 0.54) * pitch);
        for (int e = 0; e < c->n; e++) {
            const struct cg_entry *q = &c->entry[e];
            if (q->value.sign == sign)
                put(p, "M%g %gh0", q->j % across * (wide + gap) + (q->k + 0.5) * pitch,
                    q->j / across * (high + gap) + (q->i + 0.5) * pitch);
        }
    }
    put(p, "\"/></svg></figure>\n");
}

static void tensors(struct page *p)
{
    struct coupling *coupling;
    const int n = problem_couplings(p->arena, p->problem, &coupling);
    double nonzeros = 0, dense = 0;
    int drawn = 0;
    for (int i = 0; i < n; i++) {
        nonzeros += (double)coupling[i].cg->n * coupling[i].paths;
        dense += (double)cg_dense(coupling[i].cg) * coupling[i].paths;
    }
    put(p,
        "<h3>Clebsch-Gordan tensors</h3>\n<p class=\"soft\" id=\"nonzeros\">%s of %s entries of all paths' "
        "tensors are "
        "not zero: %s. There are %s. Each has a panel for every component of y; rows are components of x, "
        "columns "
        "of z.</p>\n",
        page_number(p->arena, nonzeros), page_number(p->arena, dense),
        page_percent(p->arena, nonzeros, dense), plural(p->arena, n, "tensor"));
    put(p, "<ul class=\"keys\"><li><svg width=\"8\" height=\"8\" aria-hidden=\"true\"><path class=\"dot\" "
           "stroke-width=\"6\" "
           "d=\"M4 4h0\"/></svg>positive</li><li><svg width=\"8\" height=\"8\" aria-hidden=\"true\">"
           "<path class=\"neg\" stroke-width=\"5\" d=\"M4 4h0\"/></svg>negative</li></ul>\n<div "
           "class=\"tensors\">\n");
    for (int i = 0, dots = 0; i < n && dots + coupling[i].cg->n <= DOTS_MOST; i++) {
        dots += coupling[i].cg->n;
        tensor(p, &coupling[i]);
        drawn++;
    }
    put(p, "</div>\n");
    if (drawn < n)
        put(p,
            "<p class=\"soft\">%s left out: pictures of more than %s dots; <code>--print=nnz</code> counts "
            "all.</p>\n",
            plural(p->arena, n - drawn, "tensor"), page_number(p->arena, DOTS_MOST));
}

/* ---- the table of paths ---- */

enum { STRIP = 56, STRIP_GAP = 8, STRIP_HIGH = 9 };

/* Three rows of elements, to scale, and in each the path's segment. */
static void strips(struct page *p, const struct path *q)
{
    static const enum slot slot[] = {SLOT_X, SLOT_Y, SLOT_G};
    const int segment[] = {q->x, q->y, q->z}, l[] = {q->l1, q->l2, q->l3};
    page_picture(p, "", 3 * STRIP + 2 * STRIP_GAP, STRIP_HIGH, path_title(p, q));
    for (int i = 0; i < 3; i++) {
        const struct irreps *irreps = slot_irreps(p->problem, slot[i]);
        const struct segment *s = &irreps->segment[segment[i]];
        const double scale = (double)STRIP / (double)(irreps->dim > 0 ? irreps->dim : 1);
        double wide = scale * s->mul * (2 * s->ir.l + 1), at = scale * (double)s->offset;
        wide = wide < 2 ? 2 : wide;
        at = at > STRIP - wide ? STRIP - wide : at;
        put(p,
            "<path class=\"bg\" d=\"M%d 0h%dv%dh-%dz\"/><path class=\"f %s\" d=\"M%.1f 0h%.1fv%dh-%.1fz\"/>",
            i * (STRIP + STRIP_GAP), STRIP, STRIP_HIGH, STRIP, page_color(l[i]), i * (STRIP + STRIP_GAP) + at,
            wide, STRIP_HIGH, wide);
    }
    put(p, "</svg>");
}

static void path_row(struct page *p, const struct path *q)
{
    struct arena *a = p->arena;
    struct text coefficient = {.arena = a}, shape = {.arena = a};
    int dimension[3], rank = q->weighted ? path_weight_shape(q, dimension) : 0;
    surd_print(&coefficient, q->coefficient);
    for (int i = 0; i < rank; i++)
        text_printf(&shape, "%s%d", i ? " × " : "", dimension[i]);
    put(p, "<tr><th scope=\"row\">%d</th><td>", q->number);
    strips(p, q);
    put(p,
        "</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%d, %d, %d</td><td class=\"r\">%d</td>"
        "<td class=\"r\">%d</td><td class=\"r\">%s</td><td>%s</td><td>%s</td></tr>\n",
        segment(p, SLOT_X, q->x), segment(p, SLOT_Y, q->y), segment(p, SLOT_G, q->z),
        mode_table[q->mode].name, q->l1, q->l2, q->l3, q->cg->n, cg_dense(q->cg),
        page_percent(a, q->cg->n, cg_dense(q->cg)), text_string(&coefficient),
        rank ? text_string(&shape) : "none");
}

static void path_table(struct page *p)
{
    const struct problem *of = p->problem;
    page_scroll(p, "Paths");
    put(p, "<table class=\"paths\"><caption>Instructions in their order; the bars show rows of x, y and z, "
           "to scale, and "
           "the path's segment in each.</caption>\n<thead><tr><th>path</th><th>x, y, z</th>");
    static const char *const head[] = {"x",        "y",  "z", "mode",        "l",
                                       "nonzeros", "of", "",  "coefficient", "weights"};
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        put(p, "<th%s>%s</th>", i >= 5 && i <= 7 ? " class=\"r\"" : "", *head[i] ? head[i] : "share");
    put(p, "</tr></thead>\n<tbody>\n");
    for (int i = 0; i < of->paths && i < TABLE_MOST; i++)
        path_row(p, &of->path[i]);
    put(p, "</tbody></table>\n");
    page_scroll_end(p);
    if (of->paths > TABLE_MOST)
        put(p, "<p class=\"soft\">%s left out; <code>--print=paths</code> has all.</p>\n",
            plural(p->arena, of->paths - TABLE_MOST, "path"));
}

void page_structure(struct page *p)
{
    put(p, "<section id=\"structure\">\n<h2>Structure</h2>\n");
    if (p->problem->paths) {
        blocks(p);
        tensors(p);
    } else {
        put(p, "<p>There are no paths: all outputs are zero.</p>\n");
    }
    put(p, "</section>\n<section id=\"paths\">\n<h2>Paths</h2>\n");
    if (p->problem->paths)
        path_table(p);
    else
        put(p, "<p>None.</p>\n");
    put(p, "</section>\n");
}
