/* report_schedule.c - how each kernel is computed, as the evaluations report it: see report_page.h. Nothing
 * here knows one of them: a figure says by itself what it is besides its number (schedule/report.h).
 */
#include "emit/report_page.h"
#include "schedule/print.h"

enum {
    STRIP = 168,
    STRIP_HIGH = 10,
    GAUGE = 72,
    GAUGE_HIGH = 5,
    RECORDS_MOST = 64,
    OWNERS = 900,
    OWNERS_HIGH = 22
};

/* ---- a figure ---- */

/* A bar of which a part is filled. */
static void gauge(struct page *p, double part, double whole, const char *title)
{
    const double wide = whole > 0 ? (part < whole ? GAUGE * part / whole : GAUGE) : 0;
    page_picture(p, "gauge", GAUGE, GAUGE_HIGH, title);
    put(p, "<path class=\"bg\" d=\"M0 0h%dv%dh-%dz\"/><path class=\"mk\" d=\"M0 0h%.1fv%dh-%.1fz\"/></svg>",
        GAUGE, GAUGE_HIGH, GAUGE, wide, GAUGE_HIGH, wide);
}

/* The paths of a list among all of the product. */
static void owned_paths(struct page *p, const struct figure *f)
{
    const int all = p->problem->paths;
    put(p, "%s", report_ranges(p->arena, f->n, f->list));
    if (all < 2)
        return;
    page_picture(p, "gauge owned", STRIP, STRIP_HIGH, arena_printf(p->arena, "%d of %d paths", f->n, all));
    put(p, "<path class=\"bg\" d=\"M0 0h%dv%dh-%dz\"/><path class=\"mk\" d=\"", STRIP, STRIP_HIGH, STRIP);
    const double each = (double)STRIP / all, gap = each > 3 ? 0.8 : 0;
    for (int i = 0; i < f->n; i++)
        put(p, "M%.1f 0h%.1fv%dh-%.1fz", each * f->list[i], each - gap, STRIP_HIGH, each - gap);
    put(p, "\"/></svg>");
}

/* "2 × 64 per warp" */
static void channel_parts(struct page *p, const struct figure *f)
{
    put(p, "%s × %s <span class=\"soft u\">per %s</span>", page_number(p->arena, f->number),
        page_number(p->arena, f->most), f->word);
    if (f->number < 2 || f->number > GAUGE / 4)
        return;
    const double each = GAUGE / f->number;
    page_picture(p, "gauge", GAUGE, GAUGE_HIGH, "Parts of the channels");
    put(p, "<path class=\"mk\" d=\"");
    for (int i = 0; i < (int)f->number; i++)
        put(p, "M%.1f 0h%.1fv%dh-%.1fz", i * each, each - 1.5, GAUGE_HIGH, each - 1.5);
    put(p, "\"/></svg>");
}

/* whole: what all records of the list have of the figure together. */
static void value(struct page *p, const struct figure *f, double whole)
{
    struct arena *a = p->arena;
    if (f->kind == FIGURE_WORD)
        put(p, "%s", page_escaped(a, f->word));
    if (f->kind == FIGURE_FLAG)
        put(p, f->number != 0 ? "yes" : "no");
    if (f->kind == FIGURE_LIST)
        owned_paths(p, f);
    if (f->kind != FIGURE_NUMBER)
        return;
    if (f->of == OF_CHANNELS) {
        channel_parts(p, f);
        return;
    }
    put(p, "%s", page_number(a, f->number));
    if (f->of == OF_LIMIT) {
        put(p, " <span class=\"soft u\">of %s</span>", page_number(a, f->most));
        gauge(p, f->number, f->most,
              arena_printf(a, "%s of %s", page_number(a, f->number), page_number(a, f->most)));
    }
    if (f->of == OF_RECORDS) {
        const char *percent = page_percent(a, f->number, whole);
        put(p, " <span class=\"soft u\">%s</span>", percent);
        gauge(p, f->number, whole, arena_printf(a, "%s of all", percent));
    }
}

/* ---- records ---- */

static double whole_of(const struct figure *list, int column)
{
    double whole = 0;
    for (int i = 0; i < list->n; i++)
        whole += list->record[i]->n > column ? list->record[i]->figure[column].number : 0;
    return whole;
}

/* The figure that lists paths, and the one that is a part of all records'; NULL: none. */
static const struct figure *find(const struct report *r, bool share)
{
    for (int i = 0; i < r->n; i++)
        if (share ? r->figure[i].of == OF_RECORDS : r->figure[i].kind == FIGURE_LIST)
            return &r->figure[i];
    return NULL;
}

/* Two bars: all paths of the product, each in the colour of the record that computes it; and what the records
 * have of the whole. */
static void owners(struct page *p, const struct figure *list)
{
    const struct figure *share = find(list->record[0], true);
    const int all = p->problem->paths;
    if (!share || !find(list->record[0], false) || list->n < 2)
        return;
    const double whole = whole_of(list, (int)(share - list->record[0]->figure)), each = (double)OWNERS / all;
    put(p, "<h4>Who owns what</h4>\n");
    page_scroll(p, "Who owns what");
    page_picture(p, "owners", OWNERS, 2 * OWNERS_HIGH + 40,
                 arena_printf(p->arena, "Paths and %s", figure_name(p->arena, list)));
    put(p, "<text class=\"s\" x=\"0\" y=\"11\">paths, in the colour of their %s</text>\n", list->word);
    double at = 0;
    for (int i = 0; i < list->n; i++) {
        const struct figure *f = find(list->record[i], false), *part = find(list->record[i], true);
        if (!f || !part)
            continue;
        const double wide = whole > 0 ? OWNERS * part->number / whole : 0;
        const int y = OWNERS_HIGH + 38;
        put(p, "<g class=\"%s\"><path class=\"%s\" d=\"", page_color(i), each < 8 ? "f" : "w");
        for (int k = 0; k < f->n; k++)
            put(p, "M%.1f 16h%.1fv%dh-%.1fz", each * f->list[k], each, OWNERS_HIGH, each);
        put(p, "\"/><path class=\"w\" d=\"M%.1f %dh%.1fv%dh-%.1fz\"/>", at, y, wide, OWNERS_HIGH, wide);
        for (int k = 0; k < f->n && each >= 20; k++)
            put(p, "<text class=\"m\" x=\"%.1f\" y=\"31\">%d</text>", each * (f->list[k] + 0.5), f->list[k]);
        if (wide > 64)
            put(p, "<text x=\"%.1f\" y=\"%d\">%d: %s</text>", at + 5, y + 15, i,
                page_percent(p->arena, wide, OWNERS));
        put(p, "</g>\n");
        at += wide;
    }
    put(p, "<text class=\"s\" x=\"0\" y=\"%d\">%s by %s</text></svg>\n", OWNERS_HIGH + 33, list->word,
        figure_name(p->arena, share));
    page_scroll_end(p);
}

/* A row per record: path sets and the like. All have the figures of the first. */
static void records(struct page *p, const struct figure *list)
{
    const struct report *first = list->record[0];
    page_scroll(p, figure_name(p->arena, list));
    put(p, "<table class=\"records\"><caption>%s</caption>\n<thead><tr><th>%s</th>",
        figure_name(p->arena, list), list->word);
    for (int c = 0; c < first->n; c++)
        put(p, "<th>%s</th>", figure_name(p->arena, &first->figure[c]));
    put(p, "</tr></thead>\n<tbody>\n");
    for (int i = 0; i < list->n && i < RECORDS_MOST; i++) {
        put(p, "<tr><th scope=\"row\">%d</th>", i);
        for (int c = 0; c < list->record[i]->n; c++) {
            put(p, "<td>");
            value(p, &list->record[i]->figure[c], whole_of(list, c));
            put(p, "</td>");
        }
        put(p, "</tr>\n");
    }
    put(p, "</tbody></table>\n");
    page_scroll_end(p);
    if (list->n > RECORDS_MOST)
        put(p, "<p class=\"soft\">%d more are left out; <code>--print=json</code> has all.</p>\n",
            list->n - RECORDS_MOST);
}

/* ---- the ring of stages ---- */

enum { RING_LABEL = 56, TURN = 84, TURNS = 9, SLOT = 25 };

/* What slot s does in time: a copy from when it is free until the turn, then the turn's work. */
static void slot(struct page *p, const struct figure *f, int s, int y)
{
    const int slots = (int)f->number, begin = RING_LABEL + TURN, end = begin + TURNS * TURN;
    put(p, "<text x=\"0\" y=\"%d\" class=\"s\">stage %d</text>", y + 15, s);
    for (int turn = s; turn < TURNS + slots; turn += slots) {
        int from = begin + (turn - slots + 1) * TURN, to = begin + turn * TURN;
        from = from < RING_LABEL ? RING_LABEL : from;
        const int shown = to < end ? to : end;
        if (from < shown)
            put(p,
                "<rect class=\"w c0\" x=\"%d.5\" y=\"%d.5\" width=\"%d\" height=\"14\" rx=\"2\"/>"
                "<text class=\"s\" x=\"%d\" y=\"%d\">copy %d</text>\n",
                from + 1, y + 2, shown - from - 3, from + 7, y + 14, turn);
        if (to < end)
            put(p,
                "<rect class=\"mk\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"18\" rx=\"2\"/>"
                "<text class=\"o m\" x=\"%d\" y=\"%d\">%s %d</text>\n",
                to, y + 1, TURN - 1, to + TURN / 2, y + 14, f->word, turn);
    }
}

static void ring(struct page *p, const struct figure *f)
{
    const int slots = (int)f->number;
    if (slots < 2)
        return;
    put(p,
        "<h4>Stages over time</h4>\n<p class=\"soft\">A %s's ring has %d stages in shared memory. While one "
        "%s is worked "
        "on, the rows of the next %d are on their way; a stage that has been read is filled again at "
        "once.</p>\n",
        f->owner, slots, f->word, slots - 1);
    page_scroll(p, "Stages over time");
    page_picture(p, "ringtime", RING_LABEL + (TURNS + 1) * TURN, slots * SLOT + 22,
                 arena_printf(p->arena, "%d stages over %d turns", slots, TURNS));
    put(p, "\n");
    for (int s = 0; s < slots; s++)
        slot(p, f, s, s * SLOT);
    put(p, "<path class=\"ax\" d=\"M%d %d.5h%d\"/><text class=\"s e\" x=\"%d\" y=\"%d\">time</text></svg>\n",
        RING_LABEL, slots * SLOT + 3, (TURNS + 1) * TURN, RING_LABEL + (TURNS + 1) * TURN, slots * SLOT + 18);
    page_scroll_end(p);
}

/* ---- a schedule ---- */

static void outputs(struct page *p, const struct schedule *s)
{
    put(p, "<ul class=\"plain\">\n");
    for (int o = 0; o < s->demand->outputs; o++) {
        const struct form_output *f = demand_output(s->demand, o);
        struct text terms = {.arena = p->arena};
        for (int t = 0; t < f->terms; t++) {
            text_printf(&terms, t ? " + " : " ");
            form_term_print(&terms, s->demand->kernel->form, &f->term[t]);
        }
        put(p, "<li><code>%s =%s</code> <span class=\"soft\">leaves by: %s%s</span></li>\n",
            page_escaped(p->arena, f->name), page_escaped(p->arena, text_string(&terms)),
            route_facts[s->route[o].kind].words, s->route[o].compensated ? ", compensated" : "");
    }
    put(p, "</ul>\n");
}

/* What the schedule needs of the workspace. */
static void workspace(struct page *p, const struct schedule *s)
{
    struct areas all = {.arena = p->arena};
    s->evaluation->areas(&all, s);
    if (!all.n)
        return;
    page_scroll(p, "Workspace");
    put(p, "<table><caption>workspace</caption>\n<thead><tr><th>area</th><th>elements</th><th>for "
           "each</th></tr></thead>"
           "\n<tbody>\n");
    for (int i = 0; i < all.n; i++) {
        const struct area *area = &all.area[i];
        const char *rows = area->count                  ? page_escaped(p->arena, area->count)
                           : area->rows == INDEX_SHARED ? "one row"
                                                        : index_name[area->rows];
        put(p, "<tr><th scope=\"row\"><code>%s</code></th><td>%s %s</td><td>%s%s</td></tr>\n",
            page_escaped(p->arena, area->name), page_number(p->arena, (double)area->each), area->type,
            area->count ? "<code>" : "", area->count ? arena_printf(p->arena, "%s</code>", rows) : rows);
    }
    put(p, "</tbody></table>\n");
    page_scroll_end(p);
}

static void schedule(struct page *p, const struct schedule *s)
{
    struct arena *a = p->arena;
    const int all = p->problem->paths;
    int *list = NEW_ARRAY(a, int, all + 1), n = schedule_paths(s, list);
    struct report r = {.arena = a};
    s->evaluation->report(&r, s);
    put(p, "<h3>%s</h3>\n<p class=\"soft\">%s, %s; %s flops per item, cost %s%s.</p>\n",
        page_escaped(a, s->name), s->evaluation->words, paths_text(a, n, list, all),
        page_number(a, operations_flops(s->operations)), page_number(a, s->cost),
        s->before ? "; adds to what another has written" : "");
    outputs(p, s);
    put(p, "<dl class=\"facts\">\n");
    for (int i = 0; i < r.n; i++) {
        const struct figure *f = &r.figure[i];
        if (f->kind == FIGURE_RECORDS || f->kind == FIGURE_LAYOUT)
            continue;
        put(p, "<div><dt>%s</dt><dd>", figure_name(a, f));
        value(p, f, f->number);
        put(p, "</dd></div>\n");
    }
    put(p, "</dl>\n");
    for (int i = 0; i < r.n; i++)
        if (r.figure[i].kind == FIGURE_RECORDS) {
            owners(p, &r.figure[i]);
            records(p, &r.figure[i]);
        }
    for (int i = 0; i < r.n; i++)
        if (r.figure[i].kind == FIGURE_NUMBER && r.figure[i].of == OF_RING)
            ring(p, &r.figure[i]);
    for (int i = 0; i < r.n; i++)
        if (r.figure[i].kind == FIGURE_LAYOUT)
            page_memory(p, r.figure[i].layout, p->all->target.device->shared_bytes);
    workspace(p, s);
}

/* Evaluations that do not compute some outputs, and why. */
static void refusals(struct page *p, const struct kernel_schedule *k)
{
    int n = 0;
    for (int v = 0; v < k->verdicts; v++) {
        const struct verdict *q = &k->verdict[v];
        const char *reason = verdict_reason(p->arena, q);
        if (!reason)
            continue;
        if (!n++)
            put(p, "<details><summary>What else was asked</summary>\n<ul class=\"plain\">\n");
        put(p, "<li>%s, asked for", q->evaluation->words);
        for (int o = 0; o < q->outputs; o++)
            put(p, "%s <code>%s</code>", o ? "," : "",
                page_escaped(p->arena, k->kernel->form->output[q->output[o]].name));
        put(p, ": %s</li>\n", page_escaped(p->arena, reason));
    }
    if (n)
        put(p, "</ul>\n</details>\n");
}

void page_schedules(struct page *p)
{
    for (int i = 0; i < p->all->plan->kernels; i++) {
        const struct kernel_schedule *k = &p->all->kernel[i];
        const char *name = page_escaped(p->arena, k->kernel->form->name);
        put(p, "<section id=\"kernel-%s\">\n<h2>Kernel %s</h2>\n<p class=\"soft\">%s", name, name,
            plural(p->arena, k->schedules, "schedule"));
        put(p, "; %s flops and at least %s bytes per item.</p>\n",
            page_number(p->arena, operations_flops(k->operations)),
            page_number(p->arena, k->kernel->bytes_least));
        for (int s = 0; s < k->schedules; s++)
            schedule(p, &k->schedule[s]);
        refusals(p, k);
        put(p, "</section>\n");
    }
}
