/* memory.c - see memory.h.
 *
 * Areas are the schedules'; what the numbers of their rows mean, which are C expressions of the runtime, is
 * told by a table here. Which of them the reduction costs is not told by anybody: the kernel is planned once
 * more, as if the spec had atomic additions.
 */
#include "emit/memory.h"
#include "schedule/cover.h"
#include "schedule/report.h"

#include <stdio.h>
#include <string.h>

/* ---- areas of a kernel's file ---- */

bool memory_has_copy(const struct source *w, int i)
{
    bool copied = false;
    for (int s = 0; s < w->kernel->schedules; s++) {
        const struct demand *d = w->kernel->schedule[s].demand;
        bool used = i < w->form->inputs && demand_reads(d, i);
        for (int o = 0; o < d->outputs; o++)
            used |= d->output[o] == i - w->form->inputs;
        copied |= used && operand_is_copied(&d->kernel->operand[i]);
    }
    return copied;
}

struct areas memory_areas(struct source *w)
{
    struct areas all = {.arena = w->arena};
    for (int i = 0; i < w->form->inputs + w->form->outputs; i++) {
        const struct operand *q = &w->kernel->kernel->operand[i];
        if (memory_has_copy(w, i))
            areas_add(&all, source_held(w->plan, q), q->symbol, q->index, q->dim);
    }
    for (int s = 0; s < w->kernel->schedules; s++)
        w->kernel->schedule[s].evaluation->areas(&all, &w->kernel->schedule[s]);
    return all;
}

/* ---- numbers of rows ---- */

/* Rows of an area, by what they are multiplied by. */
struct rows {
    double by[BY_COUNT];
};

enum {
    SHORT_ROUNDS = 3,
    GENERAL_WARPS = 1024,
    SHARED_PARTS = 16,
    LEAST_BYTES = 32 << 20
}; /* of the runtime: CGTP_.. */

static bool is_text(const char *s, const char *text)
{
    return strcmp(s, text) == 0;
}

/* The rows of chunks of items, which are longer the more items there are: of at least so many, where there
 * are many. */
static bool read_chunks(const char *s, struct rows *rows)
{
    int each, teams, some, most;
    if (sscanf(s, "%d * cgtp_chunks(graph->items, cgtp_chunk(graph->items, %d, %d, %d))", &each, &teams,
               &some, &most) != 4) {
        if (sscanf(s, "%d * cgtp_chunks(graph->items, cgtp_chunk(graph->items, %d))", &each, &teams) != 2)
            return false;
        most = 8;
    }
    rows->by[BY_ITEM] = each / (most / 2 + 1.0);
    rows->by[BY_CALL] = each;
    return true;
}

/* What the C expression counts; false: that is not known here. */
static bool read_count(const char *s, struct rows *rows)
{
    int a, b, c, sets;
    char end;
    *rows = (struct rows){{0}};
    if (sscanf(s, "cgtp_partial_rows(%d, %d, %d, %d)", &sets, &a, &b, &c) == 4)
        rows->by[BY_WORKER] = (sets > 1 ? 1.0 + SHORT_ROUNDS : 1) * a * b;
    else if (sscanf(s, "cgtp_counters(%d, %d", &a, &b) == 2) {
        rows->by[BY_CALL] = a + b;
        rows->by[BY_WORKER] = a > 1;
    } else if (sscanf(s, "cgtp_multiprocessors() * %d", &a) == 1)
        rows->by[BY_WORKER] = a;
    else if (is_text(s, "cgtp_multiprocessors()") || is_text(s, "parts"))
        rows->by[BY_WORKER] = 1;
    else if (sscanf(s, "cgtp_%*[a-z]_parts(%d, %d)", &a, &b) == 2)
        rows->by[BY_WORKER] = (double)a / b;
    else if (sscanf(s, "cgtp_%*[a-z]_teams(%d, %d)", &a, &b) == 2)
        rows->by[BY_WORKER] = (double)b / a;
    else if (is_text(s, "CGTP_GENERAL_WARPS"))
        rows->by[BY_CALL] = GENERAL_WARPS;
    else if (is_text(s, "CGTP_SHARED_PARTS"))
        rows->by[BY_CALL] = SHARED_PARTS;
    else if (is_text(s, "parts < CGTP_SHARED_PARTS ? CGTP_SHARED_PARTS : parts")) {
        rows->by[BY_CALL] = SHARED_PARTS;
        rows->by[BY_WORKER] = 1;
    } else if (sscanf(s, "%d%c", &a, &end) == 1)
        rows->by[BY_CALL] = a;
    else
        return read_chunks(s, rows);
    return true;
}

static struct rows rows_of(enum index_kind index)
{
    static const enum memory_by by[INDEX_COUNT] = {[INDEX_ITEM] = BY_ITEM,
                                                   [INDEX_SENDER] = BY_SENDER,
                                                   [INDEX_RECEIVER] = BY_RECEIVER,
                                                   [INDEX_SHARED] = BY_CALL};
    struct rows rows = {{0}};
    rows.by[by[index]] = 1;
    return rows;
}

/* ---- areas ---- */

static int type_bytes(const struct spec *s, const char *type)
{
    for (int p = 0; p < PRECISION_COUNT; p++)
        if (is_text(type, precision_table[p].c))
            return precision_table[p].bytes;
    return is_text(type, "real") ? precision_table[s->compute].bytes : 4; /* unsigned */
}

static bool ends_with(const char *s, const char *end)
{
    const size_t n = strlen(s), m = strlen(end);
    return n >= m && is_text(s + n - m, end);
}

/* The option that an area is due to, by its name: a copy of an array has that of the array. */
static const char *because_of(struct arena *a, const struct spec *s, const char *name)
{
    if (ends_with(name, "_"))
        return arena_printf(a, "precision: %s", precision_table[s->compute].name);
    if (ends_with(name, "_error"))
        return "accumulate: compensated";
    return NULL;
}

static struct source source_of(struct arena *a, const struct schedules *all, const struct kernel_schedule *k)
{
    const struct problem *p = all->plan->problem;
    struct source w = {.arena = a,
                       .plan = all->plan,
                       .problem = p,
                       .spec = p->spec,
                       .form = k->kernel->form,
                       .kernel = k,
                       .graph = spec_is_graph(p->spec)};
    if (spec_orders(p->spec) && all->target.device->lanes > 1)
        kernel_reads_graph(k, &w.orders, &w.lists_senders);
    return w;
}

/* What putting edges in order takes (runtime/cgtp_order.h): lists in order and numbers on their way there,
 * rows and counts. */
static void add_ordering(struct memory *m, const struct source *w)
{
    const double index = w->spec->index64 ? 8 : 4, row = 8, count = 4;
    struct memory_area *q = &m->area[m->areas++];
    *q = (struct memory_area){.name = "ordering", .because = "edges: any"};
    q->bytes[BY_ITEM] = index * (3 * w->orders + w->lists_senders + 1);
    q->bytes[BY_SENDER] = w->lists_senders ? row + count : 0;
    q->bytes[BY_RECEIVER] = w->orders ? row + count : 0;
    q->bytes[BY_CALL] = 2 * row;
    for (int by = 0; by < BY_COUNT; by++)
        m->least[by] += q->bytes[by];
}

static struct memory areas_of(struct arena *a, const struct schedules *all, const struct kernel_schedule *k)
{
    struct source w = source_of(a, all, k);
    const struct areas found = memory_areas(&w);
    struct memory m = {.area = NEW_ARRAY(a, struct memory_area, found.n + 1)};
    bool divided = false;
    for (int i = 0; i < found.n; i++) {
        const struct area *from = &found.area[i];
        struct memory_area *q = &m.area[m.areas];
        const double each = (double)from->each * type_bytes(w.spec, from->type);
        struct rows rows;
        *q = (struct memory_area){.name = from->name, .because = because_of(a, w.spec, from->name)};
        if (!from->count)
            rows = rows_of(from->rows);
        else if (!read_count(from->count, &rows))
            q->unknown = from->count, rows = rows_of(INDEX_SHARED);
        for (int by = 0; by < BY_COUNT; by++)
            q->bytes[by] = rows.by[by] * each;
        for (int by = 0; by < BY_COUNT; by++)
            m.least[by] += from->divided ? 0 : q->bytes[by];
        m.areas += !from->between;
        divided |= from->divided;
    }
    m.least[BY_CALL] += divided ? LEAST_BYTES : 0;
    if (w.orders || w.lists_senders)
        add_ordering(&m, &w);
    return m;
}

/* The kernel's schedules, planned by their evaluations as if the spec asked for atomic additions; NULL: one
 * of them cannot be. */
static struct schedule *schedules_if_atomic(struct arena *a, const struct plan *plan,
                                            const struct kernel_schedule *k)
{
    struct schedule *planned = arena_copy(a, k->schedule, (size_t)k->schedules * sizeof *k->schedule);
    for (int i = 0; i < k->schedules; i++) {
        struct demand *d = arena_copy(a, planned[i].demand, sizeof *d);
        d->plan = plan;
        planned[i].demand = d;
        if (planned[i].evaluation->plan(a, &planned[i]))
            return NULL;
    }
    return planned;
}

static struct memory areas_if_atomic(struct arena *a, const struct schedules *all,
                                     const struct kernel_schedule *k)
{
    struct spec *spec = arena_copy(a, all->plan->problem->spec, sizeof *spec);
    struct problem *problem = arena_copy(a, all->plan->problem, sizeof *problem);
    struct plan *plan = arena_copy(a, all->plan, sizeof *plan);
    struct schedules other = *all;
    spec->reduction = REDUCTION_ATOMIC;
    problem->spec = spec;
    plan->problem = problem;
    if (plan->summed) {
        struct plan *summed = arena_copy(a, plan->summed, sizeof *summed);
        summed->problem = problem;
        plan->summed = summed;
    }
    other.plan = plan;
    struct kernel_schedule same = *k;
    same.schedule = schedules_if_atomic(a, plan, k);
    if (same.schedule)
        return areas_of(a, &other, &same);
    const int number = (int)(k - all->kernel);
    const struct schedules *planned = schedules_with(a, &other, number, all->target.knobs, all->target.knob);
    return areas_of(a, planned, &planned->kernel[number]);
}

static void find_by_reduction(struct arena *a, const struct schedules *all, const struct kernel_schedule *k,
                              struct memory *m)
{
    bool any = false;
    const struct spec *spec = all->plan->problem->spec;
    for (int i = 0; i < m->areas; i++)
        any |= m->area[i].bytes[BY_ITEM] > 0 && !m->area[i].because;
    if (!any || spec->reduction == REDUCTION_ATOMIC || !spec_is_graph(spec) || all->target.device->lanes == 1)
        return;
    const struct memory other = areas_if_atomic(a, all, k); /* codes that it asked for stay */
    for (int i = 0; i < m->areas; i++) {
        bool stays = false;
        for (int j = 0; j < other.areas; j++)
            stays |= is_text(m->area[i].name, other.area[j].name);
        m->area[i].by_reduction = !stays && m->area[i].bytes[BY_ITEM] > 0 && !m->area[i].because;
    }
    for (int i = 0; i < m->areas; i++)
        if (m->area[i].by_reduction)
            m->area[i].because = arena_printf(a, "reduction: %s", reduction_name[spec->reduction]);
}

static struct memory memory_of(struct arena *a, const struct schedules *all, const struct kernel_schedule *k)
{
    struct memory m = areas_of(a, all, k);
    find_by_reduction(a, all, k, &m);
    for (int i = 0; i < m.areas; i++)
        for (int by = 0; by < BY_COUNT && !m.area[i].unknown; by++) {
            m.all[by] += m.area[i].bytes[by];
            m.by_reduction[by] += m.area[i].by_reduction ? m.area[i].bytes[by] : 0;
        }
    return m;
}

const struct memory *memory_build(struct arena *a, const struct schedules *all)
{
    struct memory *memory = NEW_ARRAY(a, struct memory, all->plan->kernels + 1);
    for (int k = 0; k < all->plan->kernels; k++)
        memory[k] = memory_of(a, all, &all->kernel[k]);
    return memory;
}

/* ---- traffic ---- */

static double figure_number(const struct report *r, const char *name)
{
    double value = 0;
    for (int i = 0; i < r->n; i++)
        if (r->figure[i].kind == FIGURE_NUMBER && is_text(r->figure[i].name, name))
            value = r->figure[i].number;
    return value;
}

/* What the path sets of a schedule move, each for itself; 0: it has none. */
static double sets_moved(const struct report *r)
{
    double bytes = 0;
    for (int i = 0; i < r->n; i++)
        for (int k = 0; r->figure[i].kind == FIGURE_RECORDS && k < r->figure[i].n; k++) {
            const struct report *set = r->figure[i].record[k];
            bytes += figure_number(set, "bytes_per_edge") * figure_number(set, "channel_blocks");
        }
    return bytes;
}

/* Rows of an item: its own, and of the nodes at its ends those that nobody keeps. */
static double rows_moved(const struct schedule *s)
{
    const struct kernel_form *f = s->demand->kernel->form;
    const enum index_kind owner = demand_owner(s->demand);
    double bytes = 0;
    for (int i = 0; i < f->inputs; i++) {
        const struct operand *q = kernel_input(s->demand->kernel, i);
        if (demand_reads(s->demand, i) && q->index != INDEX_SHARED &&
            (q->index == INDEX_ITEM || q->index != owner))
            bytes += operand_size(q) * (double)q->dim;
    }
    for (int o = 0; o < s->demand->outputs; o++) {
        const struct operand *q = demand_operand(s->demand, o);
        if (q->index == INDEX_ITEM || s->route[o].kind == ROUTE_EDGE_BUFFER ||
            s->route[o].kind == ROUTE_ATOMIC)
            bytes += operand_size(q) * (double)q->dim;
    }
    return bytes;
}

double memory_moved(struct arena *a, const struct schedules *all, const struct kernel_schedule *k)
{
    const struct memory m = areas_of(a, all, k);
    double bytes = 0;
    for (int s = 0; s < k->schedules; s++) {
        struct report r = {.arena = a};
        k->schedule[s].evaluation->report(&r, &k->schedule[s]);
        const double sets = sets_moved(&r);
        bytes += sets > 0 ? sets : rows_moved(&k->schedule[s]);
    }
    for (int i = 0; i < m.areas; i++) /* read again; copies of arrays are written, too */
        bytes += m.area[i].bytes[BY_ITEM] * (ends_with(m.area[i].name, "_") ? 2 : 1);
    return bytes;
}

double memory_per_item(const double bytes[BY_COUNT], double degree)
{
    return bytes[BY_ITEM] + (bytes[BY_SENDER] + bytes[BY_RECEIVER]) / degree;
}

double memory_arguments_per_item(const struct kernel_plan *k, double degree)
{
    return k->bytes_least + (k->bytes_row[INDEX_SENDER] + k->bytes_row[INDEX_RECEIVER]) / degree;
}

/* ---- in words ---- */

const char *memory_word(const struct schedules *all, enum memory_by by)
{
    static const char *const word[BY_COUNT] = {
        [BY_SENDER] = "sender", [BY_RECEIVER] = "receiver", [BY_CALL] = "call"};
    return by == BY_ITEM     ? (spec_is_graph(all->plan->problem->spec) ? "edge" : "item")
           : by == BY_WORKER ? (all->target.device->lanes > 1 ? "multiprocessor" : "thread")
                             : word[by];
}

const char *memory_formula(struct arena *a, const struct schedules *all, const double bytes[BY_COUNT])
{
    struct text t = {.arena = a};
    for (int by = 0; by < BY_COUNT; by++) {
        if (bytes[by] <= 0)
            continue;
        text_printf(&t, "%s%.0f", t.n ? " + " : "", bytes[by]);
        if (by != BY_CALL)
            text_printf(&t, " * %ss", memory_word(all, (enum memory_by)by));
    }
    return t.n ? text_string(&t) : "0";
}

/* Columns of a table: of kernels' names, of areas'. */
struct columns {
    int kernel, area;
};

static void widen(int *width, const char *s)
{
    *width = *width < (int)strlen(s) ? (int)strlen(s) : *width;
}

static void print_area(struct text *out, struct columns c, const char *kernel, const struct memory_area *q)
{
    text_printf(out, "%-*s  %-*s", c.kernel, kernel, c.area, q->name);
    for (int by = 0; by < BY_COUNT && !q->unknown; by++)
        text_printf(out, by == BY_WORKER ? " %14.0f" : " %8.0f", q->bytes[by]);
    if (q->unknown)
        text_printf(out, " %.0f * %s", q->bytes[BY_CALL], q->unknown);
    text_printf(out, "%s%s\n", q->because ? "  " : "", q->because ? q->because : "");
}

void memory_print(struct text *out, const struct schedules *all, const struct memory *of)
{
    const int kernels = all->plan->kernels;
    struct columns c = {(int)strlen("kernel"), (int)strlen("nothing")};
    for (int k = 0; k < kernels; k++) {
        widen(&c.kernel, all->kernel[k].kernel->form->name);
        for (int i = 0; i < of[k].areas; i++)
            widen(&c.area, of[k].area[i].name);
    }
    text_printf(out, "%s: workspace, bytes for each\n%-*s  %-*s", all->plan->problem->spec->name, c.kernel,
                "kernel", c.area, "area");
    for (int by = 0; by < BY_COUNT; by++)
        text_printf(out, by == BY_WORKER ? " %14s" : " %8s", memory_word(all, (enum memory_by)by));
    text_printf(out, "  due to\n");
    for (int k = 0; k < kernels; k++) {
        const char *kernel = all->kernel[k].kernel->form->name;
        struct memory_area sum = {.name = of[k].areas ? "all" : "nothing"};
        for (int i = 0; i < of[k].areas; i++)
            print_area(out, c, kernel, &of[k].area[i]);
        memcpy(sum.bytes, of[k].all, sizeof sum.bytes);
        if (of[k].areas != 1)
            print_area(out, c, kernel, &sum);
    }
}

static void json_bytes(struct text *out, const struct schedules *all, const double bytes[BY_COUNT])
{
    for (int by = 0; by < BY_COUNT; by++)
        text_printf(out, "%s\"%s\": %.17g", by ? ", " : "", memory_word(all, (enum memory_by)by), bytes[by]);
}

void memory_json(struct text *out, const struct schedules *all, const struct memory *of)
{
    text_puts(out, "\"workspace\": {\"bytes\": {");
    json_bytes(out, all, of->all);
    text_puts(out, "}, \"due_to_reduction\": {");
    json_bytes(out, all, of->by_reduction);
    text_puts(out, "}, \"least\": {");
    json_bytes(out, all, of->least);
    text_puts(out, "}, \"areas\": [");
    for (int i = 0; i < of->areas; i++) {
        text_printf(out, "%s\n      {\"name\": \"%s\", \"bytes\": {", i ? "," : "", of->area[i].name);
        json_bytes(out, all, of->area[i].bytes);
        text_puts(out, "}, \"due_to\": ");
        text_json(out, of->area[i].because ? of->area[i].because : "");
        if (of->area[i].unknown) {
            text_puts(out, ", \"rows\": ");
            text_json(out, of->area[i].unknown);
        }
        text_puts(out, "}");
    }
    text_puts(out, "]}");
}
