/* report_page.h - the parts of NAME.html, a page about one product, and what they are written with.
 *
 * The page is one file that needs no other: style and pictures stand in it, nothing is loaded and no script
 * runs. It is well-formed as XML, too. Every string of a spec or a log goes through page_escaped.
 */
#ifndef CGTPGEN_REPORT_PAGE_H
#define CGTPGEN_REPORT_PAGE_H

#include "emit/emitter.h"
#include "util/layout.h"
#include "schedule/report.h"

struct page {
    struct arena *arena;
    struct text *out;
    const struct emission *from;
    const struct schedules *all;
    const struct problem *problem;
};

/* ---- writing (report_html.c) ---- */

void put(struct page *, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The text as HTML and XML have it, in elements and attributes; what a reader would not see, or might obey,
 * as its number. */
const char *page_escaped(struct arena *, const char *);

/* 53,211; four digits of what is no whole number. */
const char *page_number(struct arena *, double);

/* 24 %, 0.4 %; nothing where there is no whole. */
const char *page_percent(struct arena *, double part, double whole);

/* The class of the colour number n, of those there are: c0, c1 .. */
const char *page_color(int n);

/* A picture of so many pixels, which `title` describes. */
void page_picture(struct page *, const char *style, double width, double height, const char *title);

/* What may be wider than a phone's screen scrolls by itself, until page_scroll_end. */
void page_scroll(struct page *, const char *label);
void page_scroll_end(struct page *);

void page_begin(struct page *);
void page_end(struct page *);

/* ---- the parts, in their order ---- */

void page_structure(struct page *); /* report_paths.c: blocks, tensors, paths */
void page_schedules(struct page *); /* report_schedule.c: who owns what, in what order */
void page_memory(struct page *, const struct layout *, double most); /* report_memory.c */
void page_costs(struct page *); /* report_cost.c: operations, bytes, roofline */

#endif
