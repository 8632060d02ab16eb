/* report.c - NAME.html: what the product is, and the parts of the page in their order. Everything that it
 * shows is read from problem, plan and schedules, and figures of schedules are those of --print=json.
 */
#include "emit/report.h"
#include "emit/report_page.h"

static void fact(struct page *p, const char *name, const char *text, bool broad)
{
    put(p, "<div%s><dt>%s</dt><dd>%s</dd></div>\n", broad ? " class=\"broad\"" : "", name, text);
}

static void irreps_fact(struct page *p, enum slot slot)
{
    const struct spec *s = p->problem->spec;
    struct text t = {.arena = p->arena};
    text_printf(&t, "<span class=\"n\">");
    const struct irreps *irreps = slot_irreps(p->problem, slot);
    for (int i = 0; i < irreps->n; i++) {
        if (i == 48) {
            text_printf(&t, " + %d more segments", irreps->n - i);
            break;
        }
        text_printf(&t, "%s%s", i ? " + " : "",
                    segment_text(p->arena, irreps->segment[i].mul, irreps->segment[i].ir));
    }
    text_printf(&t, "</span> <span class=\"soft\">%s %s, %s", page_number(p->arena, (double)irreps->dim),
                irreps->dim == 1 ? "element" : "elements",
                s->index[slot] == INDEX_SHARED ? "one row for all" : "a row per ");
    text_printf(&t, "%s, %s%s</span>", s->index[slot] == INDEX_SHARED ? "" : index_name[s->index[slot]],
                layout_name[s->layout[slot]], spec_is_strided(s, slot) ? ", strided" : "");
    fact(p, slot_name[slot], text_string(&t), true);
}

static void facts(struct page *p)
{
    struct arena *a = p->arena;
    const struct spec *s = p->problem->spec;
    const struct device *d = p->all->target.device;
    put(p, "<dl class=\"facts\">\n");
    irreps_fact(p, SLOT_X);
    irreps_fact(p, SLOT_Y);
    irreps_fact(p, SLOT_G);
    fact(p, "weights",
         arena_printf(a, "%s per %s", page_number(a, (double)p->problem->weight_numel),
                      s->index[SLOT_W] == INDEX_SHARED ? "product, shared" : index_name[s->index[SLOT_W]]),
         false);
    fact(p, "paths", page_number(a, p->problem->paths), false);
    fact(p, "backend", p->from->backend->name, false);
    fact(p, "planned for",
         d->machine.name ? arena_printf(a, "%s (%s)", d->name, d->machine.name) : "the host", false);
    fact(p, "precision", spec_precision(a, s), false);
    fact(p, "items",
         spec_is_graph(s) ? arena_printf(a, "edges, %s", edges_name[s->sorted]) : "rows, no graph", false);
    fact(p, "sums", arena_printf(a, "%s, %s", reduction_name[s->reduction], accumulate_name[s->compensated]),
         false);
    fact(p, "digest of the spec", arena_printf(a, "<code>%s</code>", p->all->plan->digest), false);
    put(p, "</dl>\n");
}

static void head(struct page *p)
{
    const struct spec *s = p->problem->spec;
    put(p, "<header>\n<h1>%s</h1>\n", page_escaped(p->arena, s->name));
    if (*s->description)
        put(p, "<p>%s</p>\n", page_escaped(p->arena, s->description));
    put(p, "<nav aria-label=\"Parts\"><a href=\"#structure\">Structure</a> <a href=\"#paths\">Paths</a>\n");
    for (int k = 0; k < p->all->plan->kernels; k++) {
        const char *name = page_escaped(p->arena, p->all->plan->kernel[k].form->name);
        put(p, "<a href=\"#kernel-%s\">Kernel %s</a>\n", name, name);
    }
    put(p, "<a href=\"#costs\">Costs</a> <a href=\"#roofline\">Roofline</a></nav>\n");
    facts(p);
    put(p, "</header>\n");
}

void emit_report(struct text *out, const struct emission *from)
{
    struct page page = {.arena = out->arena,
                        .out = out,
                        .from = from,
                        .all = from->schedules,
                        .problem = from->schedules->plan->problem};
    page_begin(&page);
    head(&page);
    page_structure(&page);
    page_schedules(&page);
    page_costs(&page);
    page_end(&page);
}
