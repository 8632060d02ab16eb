/* report_memory.c - shared memory drawn to scale: see report_page.h. A bar is a layout; below it stand the
 * layouts of its fields, each over the whole width, until there are none.
 */
#include "emit/report_page.h"

#include <string.h>

enum {
    WIDE = 900,
    HIGH = 26,
    LABEL_AT = 15,
    TICK = 6,
    STEP = 54,
    LETTER = 7,
    ALTERNATIVES_MOST = 3,
    ELEMENTS_MOST = 32,
    ROWS_MOST = 200
};

/* The picture while it is measured and drawn: the same walk does both. */
struct map {
    struct page *p;
    bool draws;
    int y;      /* where the next bar begins */
    int left;   /* alternatives that are left out */
    int colors; /* of fields whose names begin alike */
    const char *color[64];
};

/* "ring[3]" */
static const char *declared(struct arena *a, const struct layout_field *f)
{
    struct text t = {.arena = a};
    text_puts(&t, f->name);
    for (int i = 0; i < 3 && f->count[i]; i++)
        text_printf(&t, "[%d]", f->count[i]);
    return text_string(&t);
}

static const char *type_of(const struct layout_field *f)
{
    return f->of ? (f->of->alternatives ? "union" : "struct") : f->type;
}

static bool is_padding(const struct layout_field *f)
{
    return !strncmp(f->name, "padding", strlen("padding"));
}

/* Fields of an array (x_s0, x_s1) have one colour, as have alternatives (set0, set1). */
static const char *color_of(struct map *m, const struct layout_field *f)
{
    const char *end = strrchr(f->name, '_');
    const size_t length = end ? (size_t)(end - f->name) : strcspn(f->name, "0123456789");
    const char *name = arena_string(m->p->arena, f->name, length);
    int i = 0;
    while (i < m->colors && strcmp(m->color[i], name) != 0)
        i++;
    if (i == m->colors && i < (int)(sizeof m->color / sizeof *m->color))
        m->color[m->colors++] = name;
    return page_color(i);
}

/* Of alternatives, which are often many and much alike, the first are drawn. */
static bool is_left_out(const struct layout *l, int field)
{
    return l->alternatives && field >= ALTERNATIVES_MOST;
}

static int bytes_of(const struct layout *l)
{
    return l->bytes > 0 ? l->bytes : 1;
}

static void draw_box(struct map *m, const struct layout_field *f, const char *title, double at, double wide,
                     int y)
{
    put(m->p,
        "<g class=\"%s\"><title>%s, %s bytes from %d on</title><rect class=\"%s\" x=\"%.1f\" y=\"%d\" "
        "width=\"%.1f\" "
        "height=\"%d\"/></g>",
        color_of(m, f), title, page_number(m->p->arena, f->bytes), f->at, is_padding(f) ? "bg" : "w", at, y,
        wide, HIGH);
}

static bool fits(const char *name, double wide)
{
    return wide > LETTER * (int)strlen(name) + 6;
}

/* The name, and the bytes, where there is room. */
static void draw_label(struct map *m, const char *name, int bytes, double at, double wide, int y)
{
    const int letters = (int)strlen(name);
    if (fits(name, wide))
        put(m->p, "<text x=\"%.1f\" y=\"%d\">%s</text>", at + 5, y + LABEL_AT, name);
    if (wide > LETTER * (letters + 9) + 16)
        put(m->p, "<text class=\"s e\" x=\"%.1f\" y=\"%d\">%s B</text>", at + wide - 5, y + LABEL_AT,
            page_number(m->p->arena, bytes));
    put(m->p, "\n");
}

static void draw_field(struct map *m, const struct layout *l, const struct layout_field *f, int y)
{
    struct page *p = m->p;
    const double scale = (double)WIDE / bytes_of(l), at = scale * f->at, wide = scale * f->bytes;
    const int elements = f->count[0];
    const char *name = declared(p->arena, f);
    draw_box(m, f, arena_printf(p->arena, "%s %s", type_of(f), name), at, wide, y);
    if (f->of && elements > 1 && elements <= ELEMENTS_MOST) {
        put(p, "<path class=\"ax\" d=\"");
        for (int i = 1; i < elements; i++)
            put(p, "M%.1f %dv%d", at + i * wide / elements, y + HIGH - TICK, TICK);
        put(p, "\"/>");
    }
    if (!is_padding(f))
        draw_label(m, fits(name, wide) ? name : f->name, f->bytes, at, wide, y);
}

/* Fields of an array (x_s0 to x_s2) that are narrower than their names: one box, with ticks between them. */
static void draw_run(struct map *m, const struct layout *l, int first, int end, int y)
{
    struct page *p = m->p;
    const double scale = (double)WIDE / bytes_of(l);
    const struct layout_field *from = &l->field[first], *to = &l->field[end - 1];
    struct layout_field all = *from;
    all.bytes = to->at + to->bytes - from->at;
    const char *name = arena_printf(p->arena, "%s to %s", from->name, to->name);
    draw_box(m, &all, name, scale * all.at, scale * all.bytes, y);
    put(p, "<path class=\"ax\" d=\"");
    for (int i = first + 1; i < end; i++)
        put(p, "M%.1f %dv%d", scale * l->field[i].at, y + HIGH - TICK, TICK);
    put(p, "\"/>");
    draw_label(m, name, all.bytes, scale * all.at, scale * all.bytes, y);
}

static void draw_fields(struct map *m, const struct layout *l, int y)
{
    const double scale = (double)WIDE / bytes_of(l);
    for (int first = 0, end = 0; first < l->fields; first = end) {
        const struct layout_field *f = &l->field[first];
        bool all_fit = true;
        for (end = first; end < l->fields; end++) {
            const struct layout_field *g = &l->field[end];
            if (color_of(m, g) != color_of(m, f))
                break;
            all_fit &= fits(g->name, scale * g->bytes);
        }
        if (!all_fit && end > first + 1)
            draw_run(m, l, first, end, y);
        else
            for (int i = first; i < end; i++)
                draw_field(m, l, &l->field[i], y);
    }
}

/* From a field of the bar above to the ends of the bar below. */
static void draw_zoom(struct map *m, const struct layout *above, const struct layout_field *f, int from,
                      int to)
{
    const int elements = f->count[0] ? f->count[0] : 1;
    const double scale = (double)WIDE / bytes_of(above), at = scale * f->at,
                 wide = scale * f->bytes / elements;
    put(m->p, "<path class=\"zo\" d=\"M%.1f %dL%.1f %dL%d %dL0 %dz\"/>\n", at, from, at + wide, from, WIDE,
        to, to);
}

static void draw(struct map *m, const struct layout *l, const char *title);

/* The layouts inside of a bar. */
static void draw_inside(struct map *m, const struct layout *l, int bottom, const char *title)
{
    struct page *p = m->p;
    for (int i = 0; i < l->fields; i++) {
        const struct layout_field *f = &l->field[i];
        if (is_left_out(l, i)) {
            m->left++;
            continue;
        }
        if (!f->of)
            continue;
        if (m->draws && m->y == bottom)
            draw_zoom(m, l, f, bottom, m->y + STEP - HIGH);
        const char *one = f->count[0] > 1 ? arena_printf(p->arena, ", one of %d", f->count[0]) : "";
        draw(m, f->of, arena_printf(p->arena, "%.*s › %s%s", (int)strcspn(title, ","), title, f->name, one));
    }
}

static void draw(struct map *m, const struct layout *l, const char *title)
{
    struct page *p = m->p;
    int bars = 1;
    while (l->alternatives && bars < l->fields && !is_left_out(l, bars))
        bars++;
    const int y = m->y + STEP - HIGH;
    m->y = y + bars * HIGH;
    if (m->draws) {
        put(p, "<text class=\"s\" x=\"0\" y=\"%d\">%s%s%s: %s bytes%s</text>\n", y - 6, *title ? "" : "block",
            title, strchr(title, '[') ? ", one" : "", page_number(p->arena, l->bytes),
            l->alternatives && l->fields > 1 ? ", one of these at a time" : "");
        for (int i = 0; i < l->fields && l->alternatives; i++)
            if (!is_left_out(l, i))
                draw_field(m, l, &l->field[i], y + i * HIGH);
        if (!l->alternatives)
            draw_fields(m, l, y);
        put(p, "<rect class=\"ax\" x=\"0.5\" y=\"%d.5\" width=\"%d\" height=\"%d\"/>\n", y, WIDE - 1,
            bars * HIGH - 1);
    }
    draw_inside(m, l, m->y, title);
}

/* ---- the same as a table ---- */

static void rows(struct page *p, const struct layout *l, const char *title, int *left)
{
    for (int i = 0; i < l->fields; i++) {
        const struct layout_field *f = &l->field[i];
        const char *name = arena_printf(p->arena, "%s%s%s", title, *title ? "." : "", declared(p->arena, f));
        if ((*left)-- > 0)
            put(p,
                "<tr><th scope=\"row\"><code>%s</code></th><td>%s</td><td class=\"r\">%s</td><td "
                "class=\"r\">%s</td>"
                "</tr>\n",
                name, type_of(f), page_number(p->arena, f->at), page_number(p->arena, f->bytes));
        if (f->of)
            rows(p, f->of, name, left);
    }
}

void page_memory(struct page *p, const struct layout *l, double most)
{
    struct map measured = {.p = p}, drawn = {.p = p, .draws = true};
    int left = ROWS_MOST;
    draw(&measured, l, "block");
    put(p,
        "<h4>Shared memory</h4>\n<p class=\"soft\">A block has %s bytes of the %s that there are, %s. Bars "
        "are to scale; the "
        "first of several equal parts is shown below them over the whole width.</p>\n",
        page_number(p->arena, l->bytes), page_number(p->arena, most), page_percent(p->arena, l->bytes, most));
    page_scroll(p, "Shared memory");
    page_picture(p, "memory", WIDE, measured.y + 2, "Shared memory of a block, to scale");
    put(p, "\n");
    draw(&drawn, l, "block");
    put(p, "</svg>\n");
    page_scroll_end(p);
    if (drawn.left)
        put(p, "<p class=\"soft\">%s not drawn.</p>\n",
            arena_printf(p->arena, drawn.left == 1 ? "%d more alternative is" : "%d more alternatives are",
                         drawn.left));
    put(p, "<details><summary>All fields</summary>\n");
    page_scroll(p, "Fields of shared memory");
    put(p, "<table><caption>fields of shared memory</caption>\n<thead><tr><th>field</th><th>type</th><th "
           "class=\"r\">at "
           "byte</th><th class=\"r\">bytes</th></tr></thead>\n<tbody>\n");
    rows(p, l, "", &left);
    put(p, "</tbody></table>\n");
    page_scroll_end(p);
    if (left < 0)
        put(p, "<p class=\"soft\">%d more are left out; <code>--print=json</code> has all.</p>\n", -left);
    put(p, "</details>\n");
}
