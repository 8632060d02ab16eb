/* bench.c - times generated kernels on the benchmark's graphs and batches, beside the floor of the memory and
 * the fastest peers.
 *
 * Kernel time by events, median, L2 flushed before every run by reading; inputs random. A sample of every
 * output is compared with the dense reference after the runs. Golden cases with more channels (sweep.py) are
 * timed in 100,000 items, or as many as memory holds, beside the larger of that floor and one by flops. Layers
 * that were drawn (drawn.py) are timed where they say, and their floor is of what the device was seen to reach.
 * Usage: bench [options], see `usage`. The table on standard output is Markdown between comments; the same
 * with more columns goes to a file for compare.py.
 */
#include "device.h"
#include "peers.h"
#include "places.h"
#include "sample.h"
#include "table.h"
#include "timing.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char usage[] =
    "bench [--folder=DIR] [--product=TEXT] [--kernel=NAME] [--place=NAME] [--runs=N] [--items=N]\n"
    "      [--padding=N] [--tsv=FILE] [--variants] [--no-check]\n"
    "  --folder    where peers_h200.tsv and graphs/ are (default tests/gpu)\n"
    "  --product   only products with TEXT in their names\n"
    "  --kernel    only that one\n"
    "  --place     only that graph, or the batch of that many rows\n"
    "  --runs      timed runs of each kernel (default 25, at least 3; fewer, but 5, where they take long)\n"
    "  --items     at most so many edges of each graph and rows of a batch (for trying things out; no peers "
    "then)\n"
    "  --padding   so many nodes without edges after those of each graph (no peers then)\n"
    "  --tsv       also write the table to FILE, as tab-separated columns\n"
    "  --variants  sorted by time within a kernel and place, under the products' own names\n"
    "  --no-check  no comparison with the reference\n";

/* Bytes a second that a copy reaches on the machine that the peers were timed on, and flops at its highest
 * clock. */
static const double bandwidth = 4.3e12, flops_f32 = 66.9e12, flops_f64 = 33.5e12;

/* What was measured of devices, by a word of their names: a copy's bytes a second, flops a second; others are taken for the
 * first. And the least time of a launch, in milliseconds. */
static const struct speed {
    const char *device;
    double bandwidth, flops_f32, flops_f64;
} speeds[] = {{"H200", 4.29e12, 63.7e12, 32.7e12}, {"H100", 3.0e12, 63.7e12, 32.7e12}};
static const double launch_least = 0.003;

enum { SPEEDS = sizeof speeds / sizeof *speeds, RESULTS = 1000 };

/* Where products are timed: graphs, then batches. Golden cases with more channels: in the first graph, with
 * so many edges of each receiver at most; in so many rows. */
enum { GRAPHS = 4, FIRST_ORDERS = GRAPHS, SECOND_ORDERS, PLACES, SCALED_EDGES = 100, SCALED_ROWS = 100000 };

static const struct {
    const char *name;
    int64_t nodes; /* of a graph */
    int64_t rows;  /* of a batch */
} place_info[PLACES] = {{"carbon", 1000, 0}, {"dhfr", 1800, 0},   {"covid", 23000, 0},
                        {"table5", 512, 0},  {"50000", 0, 50000}, {"20000", 0, 20000}};

/* A row of the table. */
struct result {
    const struct table_entry *entry;
    const cgtp_kernel *kernel;
    struct peer_key key;
    int64_t items, senders, receivers;
    const char *reduction; /* "-" where nothing is added up */
    struct timing time;
    double floor;
    const char *bound;       /* what the floor is of: bytes, flops, launch */
    size_t workspace;        /* bytes */
    const struct peer *peer; /* NULL: none */
    int checked;             /* 0: not, 1: right, -1: wrong */
    struct sample_result sample;
};

/* Everything that a run of the program has. */
struct bench {
    struct ref_graph place[PLACES], shuffled[PLACES]; /* as they are; graphs with edges in any order */
    struct ref_graph thin; /* see SCALED_EDGES */
    const struct speed *speed;
    struct peer peer[PEERS];
    struct result result[RESULTS];
    int peers, results, wrong, failed;
    double largest; /* error, of its bound */
    FILE *tsv;      /* NULL: none */
};

static struct {
    const char *folder, *product, *kernel, *place, *tsv;
    int64_t runs, items, padding;
    bool variants, no_check;
} option = {.folder = "tests/gpu", .runs = 25, .items = INT64_MAX};

static const struct {
    const char *name; /* one with a value ends in = */
    const char **text;
    int64_t *number;
    bool *flag;
} options[] = {
    {"--folder=", &option.folder, NULL, NULL},    {"--product=", &option.product, NULL, NULL},
    {"--kernel=", &option.kernel, NULL, NULL},    {"--place=", &option.place, NULL, NULL},
    {"--tsv=", &option.tsv, NULL, NULL},          {"--runs=", NULL, &option.runs, NULL},
    {"--items=", NULL, &option.items, NULL},      {"--padding=", NULL, &option.padding, NULL},
    {"--variants", NULL, NULL, &option.variants}, {"--no-check", NULL, NULL, &option.no_check},
};

enum { OPTIONS = sizeof options / sizeof *options };

static _Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(2);
}

static struct ref_graph place_of(int i)
{
    const int64_t nodes = place_info[i].nodes, rows = place_info[i].rows;
    if (!nodes)
        return (struct ref_graph){.items = rows < option.items ? rows : option.items};
    return places_read(option.folder, place_info[i].name, nodes + option.padding, option.items);
}

/* ---- one kernel in one place ---- */

/* How the generator evaluates the kernel. */
static const struct table_kernel *planned(const struct table_entry *t, const cgtp_kernel *k)
{
    static const struct table_kernel unknown = {NULL, "-", 0};
    for (const struct table_kernel *of = t->kernel; of->name; of++)
        if (strcmp(of->name, k->name) == 0)
            return of;
    return &unknown;
}

static double bytes_of(const cgtp_product *p, const struct ref_graph *g, cgtp_slot slot)
{
    return (double)(driver_rows(p, g, slot) * p->dim[slot]) * (double)cgtp_type_size(p->type[slot]);
}

/* What all arrays of a product are. */
static const char *type_name(const cgtp_product *p)
{
    static const char *const name[] = {
        [CGTP_FLOAT32] = "fp32", [CGTP_FLOAT64] = "fp64", [CGTP_BFLOAT16] = "bf16", [CGTP_FLOAT16] = "fp16"};
    for (int slot = 1; slot < CGTP_SLOTS; slot++)
        if (p->type[slot] != p->type[0])
            return "mixed";
    return name[p->type[0]];
}

/* Sets the least milliseconds and what they are of: every array read or written once (an array of nodes counts a row for
 * every node), flops where no peer's table has the floor, and a launch's own time of a layer that was drawn. */
static void set_floor(const struct bench *b, struct result *r, const cgtp_product *p, const struct ref_graph *g)
{
    const bool drawn = r->entry->place.name != NULL, wide = p->compute == CGTP_FLOAT64;
    const double flops = (double)g->items * planned(r->entry, r->kernel)->flops;
    const double rate = drawn ? (wide ? b->speed->flops_f64 : b->speed->flops_f32) : wide ? flops_f64 : flops_f32;
    double bytes = 0;
    for (int i = 0; i < r->kernel->inputs; i++)
        bytes += bytes_of(p, g, r->kernel->input[i].slot);
    for (int o = 0; o < r->kernel->outputs; o++)
        bytes += bytes_of(p, g, r->kernel->output[o].slot);
    r->floor = 1e3 * bytes / (drawn ? b->speed->bandwidth : bandwidth);
    r->bound = "bytes";
    if ((drawn || r->entry->scaled) && 1e3 * flops / rate > r->floor)
        r->floor = 1e3 * flops / rate, r->bound = "flops";
    if (drawn && launch_least > r->floor)
        r->floor = launch_least, r->bound = "launch";
}

/* Sets what is measured of a row; false, with a comment in the table, where it could not be. */
static bool measure(const struct bench *b, const struct model *m, const struct ref_graph *g, const struct driver_graph *d,
                    struct result *r)
{
    const cgtp_product *p = m->product;
    size_t bytes = launch_bytes(p, r->kernel, g, d);
    if (bytes > device_free_memory()) {
        printf("# %s %s on %s: %.1f GiB needed, %.1f free: skipped\n", p->name, r->kernel->name, r->key.place,
               (double)bytes / 0x1p30, (double)device_free_memory() / 0x1p30);
        return false;
    }
    struct launch l;
    launch_new(&l, p, r->kernel, g, d);
    const bool good = timing_runs(&l, (int)option.runs, &r->time);
    r->workspace = l.workspace_bytes;
    if (good) {
        set_floor(b, r, p, g);
        if (!option.no_check && sample_check(m, &l, &r->sample))
            r->checked = r->sample.ratio <= 1 ? 1 : -1;
    }
    launch_free(&l);
    return good;
}

/* ---- the table ---- */

static int by_place_and_time(const void *a, const void *b)
{
    const struct result *x = a, *y = b;
    int c = strcmp(x->key.problem, y->key.problem);
    c = c ? c : strcmp(x->key.place, y->key.place);
    c = c ? c : strcmp(x->key.type, y->key.type);
    c = c ? c : strcmp(x->key.kernel, y->key.kernel);
    return c ? c : (x->time.ms > y->time.ms) - (x->time.ms < y->time.ms);
}

static void print_head(void)
{
    printf("| %-25s | %-6s | %-4s | %-15s | %-13s | %8s | %8s | %7s | %7s | %-12s | %8s | %5s | %13s |\n", "product",
           "place", "type", "kernel", "reduction", "ms", "least", "floor", "x floor", "best peer", "peer ms",
           "gain", "workspace MiB");
    printf("|---|---|---|---|---|---:|---:|---:|---:|---|---:|---:|---:|\n");
}

/* A peer's milliseconds and the gain, or dashes. */
struct peer_text {
    char ms[16], gain[16];
};

static struct peer_text peer_text(const struct result *r)
{
    struct peer_text t = {"-", "-"};
    if (r->peer) {
        snprintf(t.ms, sizeof t.ms, "%.4f", r->peer->ms);
        snprintf(t.gain, sizeof t.gain, "%.2f", r->peer->ms / r->time.ms);
    }
    return t;
}

static void print_result(const struct result *r)
{
    const struct peer_text peer = peer_text(r);
    printf("| %-25s | %-6s | %-4s | %-15s | %-13s | %8.4f | %8.4f | %7.4f | %7.2f | %-12s | %8s | %5s | %13.1f |\n",
           option.variants ? r->entry->product->name : r->key.problem, r->key.place, r->key.type,
           r->key.kernel, r->reduction, r->time.ms, r->time.least, r->floor, r->time.ms / r->floor,
           r->peer ? r->peer->name : "-", peer.ms, peer.gain, (double)r->workspace / 0x1p20);
    if (r->checked < 0)
        printf("# WRONG: %s of the row above is off by %.3g of its bound\n", r->sample.output,
               r->sample.ratio);
    fflush(stdout);
}

static void write_head(FILE *file)
{
    fputs("op\tproblem\tgraph\tdtype\tkernel\treduction\tms\tleast\tfloor\txfloor\tbest_peer\tpeer_ms\tgain\t"
          "evaluation\tbound\titems\tsenders\treceivers\tx\ty\tw\tz\tworkspace\tchecked\n",
          file);
}

static void write_result(FILE *file, const struct result *r)
{
    const struct peer_text peer = peer_text(r);
    const cgtp_product *p = r->entry->product;
    fprintf(file, "%s\t%s\t%s\t%s\t%s\t%s\t%.5f\t%.5f\t%.5f\t%.3f\t%s\t%s\t%s\t%s\t%s", r->key.op,
            r->key.problem, r->key.place, r->key.type, r->key.kernel, r->reduction, r->time.ms, r->time.least, r->floor,
            r->time.ms / r->floor, r->peer ? r->peer->name : "-", peer.ms, peer.gain,
            planned(r->entry, r->kernel)->evaluation, r->bound);
    fprintf(file, "\t%lld\t%lld\t%lld\t%s\t%s\t%lld\t%lld\t%lld\t%s\n", (long long)r->items,
            (long long)r->senders, (long long)r->receivers, p->irreps[CGTP_X],
            p->irreps[CGTP_Y], (long long)p->dim[CGTP_W], (long long)p->dim[CGTP_Z], (long long)r->workspace,
            r->checked < 0 ? "wrong" : r->checked ? "right" : "-");
    fflush(file);
}

static void add_result(struct bench *b, const struct result *r)
{
    b->result[b->results++] = *r;
    b->wrong += r->checked < 0;
    b->largest = fmax(b->largest, r->checked ? r->sample.ratio : 0);
    if (!option.variants)
        print_result(r);
    if (b->tsv)
        write_result(b->tsv, r);
    /* The peers' table has the floors of the same problems: a check of this program's formula. */
    if (r->peer && r->peer->floor > 0 && fabs(r->floor - r->peer->floor) > 1e-4 + 1e-3 * r->floor) {
        printf("# floor %.4f, the peers' table has %.4f\n", r->floor, r->peer->floor);
        b->failed++;
    }
}

/* ---- what is timed where ---- */

static bool wanted(const char *filter, const char *name)
{
    return !filter || strcmp(filter, name) == 0;
}

/* A convolution on the problem's graphs, a product of rows in a batch. */
static bool timed_in(const struct problem *q, const cgtp_product *p, int place)
{
    const char *name = place_info[place].name;
    return wanted(option.place, name) && (p->graph ? strstr(q->graphs, name) != NULL : place >= GRAPHS);
}

/* Kernels of the second order have a batch of their own, which leaves room for what they read. */
static bool kernel_timed_in(const cgtp_kernel *k, int place)
{
    const bool second = strcmp(k->name, "double_backward") == 0;
    return wanted(option.kernel, k->name) &&
           (place < GRAPHS || place == (second ? SECOND_ORDERS : FIRST_ORDERS));
}

/* One kernel; name: the product's. */
static void time_kernel(struct bench *b, const struct table_entry *t, const cgtp_kernel *k, const char *name,
                        const char *place, const struct model *m, const struct ref_graph *g,
                        const struct driver_graph *d)
{
    static const char *const reduction[2][2] = {{"atomic, any order", "any order"},
                                                {"atomic", "deterministic"}};
    const cgtp_product *p = t->product;
    struct result r = {
        .entry = t,
        .kernel = k,
        .items = g->items,
        .senders = g->senders,
        .receivers = g->receivers,
        .key = {p->graph ? "conv" : "batch", name, place, type_name(p), k->name},
        .reduction = !p->graph        ? "-"
                     : t->compensated ? "compensated"
                                      : reduction[p->sorted][t->deterministic]};
    if (b->results == RESULTS)
        return;
    if (option.items == INT64_MAX && !option.padding && !t->scaled && !t->place.name)
        r.peer = peer_of(b->peer, b->peers, r.key);
    if (measure(b, m, g, d, &r))
        add_result(b, &r);
    else
        b->failed++;
}

static void time_product(struct bench *b, const struct table_entry *t, const struct problem *q,
                         const struct model *m, int place)
{
    const cgtp_product *p = t->product;
    const struct ref_graph *g = p->graph && !p->sorted ? &b->shuffled[place] : &b->place[place];
    struct driver_graph d;
    driver_graph_make(&d, p, g);
    for (int i = 0; i < p->kernels; i++)
        if (kernel_timed_in(&p->kernel[i], place))
            time_kernel(b, t, &p->kernel[i], q->name, place_info[place].name, m, g, &d);
    driver_graph_free(&d);
}

/* Each kernel in as many items as memory holds, of all and halves of them. */
static void time_scaled(struct bench *b, const struct table_entry *t, const struct model *m)
{
    const cgtp_product *p = t->product;
    for (int i = 0; i < p->kernels; i++) {
        const cgtp_kernel *k = &p->kernel[i];
        struct ref_graph g = p->graph ? b->thin : (struct ref_graph){.items = SCALED_ROWS};
        struct driver_graph d;
        g.items = option.items < g.items ? option.items : g.items;
        if (!wanted(option.kernel, k->name))
            continue;
        driver_graph_make(&d, p, &g);
        while (g.items > 1 && launch_bytes(p, k, &g, &d) > device_free_memory()) {
            driver_graph_free(&d);
            g.items /= 2;
            driver_graph_make(&d, p, &g);
        }
        time_kernel(b, t, k, p->name, p->graph ? place_info[0].name : "rows", m, &g, &d);
        driver_graph_free(&d);
    }
}

/* One of the benchmark's places, or the layer's own graph, with its edges in the product's order; to be freed. */
static struct ref_graph drawn_place(const struct bench *b, const struct table_entry *t, bool sorted)
{
    struct ref_graph g = {0};
    for (int i = 0; i < PLACES && !t->place.items; i++)
        if (strcmp(place_info[i].name, t->place.name) == 0)
            g = sorted ? places_thin(&b->place[i], INT64_MAX) : places_shuffled(&b->place[i]);
    if (t->place.items) {
        struct ref_graph own = places_drawn(&t->place, option.items);
        g = sorted ? own : places_shuffled(&own);
        if (!sorted)
            places_free(&own);
    }
    return g;
}

/* Each kernel where the layer says. */
static void time_drawn(struct bench *b, const struct table_entry *t, const struct model *m)
{
    const cgtp_product *p = t->product;
    struct ref_graph g = drawn_place(b, t, p->sorted || !p->graph);
    struct driver_graph d;
    if (!g.items) {
        printf("# %s: no such place: %s\n", p->name, t->place.name);
        b->failed++;
        return;
    }
    driver_graph_make(&d, p, &g);
    for (int i = 0; i < p->kernels; i++)
        if (wanted(option.kernel, p->kernel[i].name))
            time_kernel(b, t, &p->kernel[i], p->name, t->place.name, m, &g, &d);
    driver_graph_free(&d);
    places_free(&g);
}

static void time_entry(struct bench *b, const struct table_entry *t)
{
    const bool own = t->scaled || t->place.name;
    const struct problem *q = own ? NULL : problem_of(t->product);
    struct model m;
    if (option.product && !strstr(t->product->name, option.product))
        return;
    if (!q && !own)
        printf("# %s: not one of the benchmark's problems\n", t->product->name);
    if ((!q && !own) || !model_make(&m, t->product, NULL)) {
        b->failed++;
        return;
    }
    if (t->scaled)
        time_scaled(b, t, &m);
    if (t->place.name)
        time_drawn(b, t, &m);
    for (int place = 0; place < PLACES && q; place++)
        if (timed_in(q, t->product, place))
            time_product(b, t, q, &m, place);
    model_free(&m);
}

/* ---- the program ---- */

static bool read_option(const char *argument)
{
    for (int i = 0; i < OPTIONS; i++) {
        const size_t n = strlen(options[i].name);
        const bool valued = options[i].name[n - 1] == '=';
        if (strncmp(argument, options[i].name, n) || (!valued && argument[n]))
            continue;
        if (options[i].text)
            *options[i].text = argument + n;
        else if (options[i].number)
            *options[i].number = atoll(argument + n);
        else
            *options[i].flag = true;
        return true;
    }
    return false;
}

static void print_conditions(const struct device_info *info)
{
    time_t now = time(NULL);
    char date[32];
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    printf("# %s, compute capability %d.%d, driver API %d.%d, runtime %d.%d, %d multiprocessors; %s; commit "
           "%s\n",
           info->name, info->major, info->minor, info->driver / 1000, info->driver % 1000 / 10,
           info->runtime / 1000, info->runtime % 1000 / 10, info->multiprocessors, date, table_commit);
    printf("# median and least of %d runs, of fewer where they take over %.0f ms, after %d or more; L2 "
           "flushed by "
           "reading; floor at %.2f TB/s\n",
           (int)option.runs, 1e3 * TIMED_MOST / (double)option.runs, WARM_UP, bandwidth / 1e12);
}

int main(int argc, char **argv)
{
    static struct bench b;
    struct device_info info;
    char path[512];
    bool good = true;
    for (int i = 1; i < argc && good; i++)
        good = read_option(argv[i]);
    if (!good || option.runs < 3 || option.runs > 100000 || option.items < 1 || option.padding < 0) {
        fputs(usage, stderr);
        return 2;
    }
    snprintf(path, sizeof path, "%s/peers_h200.tsv", option.folder);
    b.peers = peers_read(path, b.peer);
    if (b.peers < 0 || !device_open(&info))
        return 2;
    b.speed = speeds;
    for (int i = 0; i < SPEEDS; i++)
        if (strstr(info.name, speeds[i].device))
            b.speed = &speeds[i];
    for (int i = 0; i < PLACES; i++)
        b.place[i] = place_of(i);
    for (int i = 0; i < GRAPHS; i++)
        b.shuffled[i] = places_shuffled(&b.place[i]);
    b.thin = places_thin(&b.place[0], SCALED_EDGES);
    if (option.tsv && !(b.tsv = fopen(option.tsv, "w")))
        fail(option.tsv, strerror(errno));
    if (b.tsv)
        write_head(b.tsv);
    const double begin = timing_seconds();
    print_conditions(&info);
    if (!option.variants)
        print_head();
    for (int t = 0; t < table_entries; t++)
        time_entry(&b, &table[t]);
    if (option.variants) {
        qsort(b.result, (size_t)b.results, sizeof *b.result, by_place_and_time);
        print_head();
        for (int i = 0; i < b.results; i++)
            print_result(&b.result[i]);
    }
    printf("# %d rows, %d wrong, %d not measured; largest error %.3g of its bound; %.0f s\n", b.results,
           b.wrong, b.failed, b.largest, timing_seconds() - begin);
    for (int i = 0; i < PLACES; i++) {
        places_free(&b.place[i]);
        places_free(&b.shuffled[i]);
    }
    places_free(&b.thin);
    if (b.tsv && fclose(b.tsv))
        fail(option.tsv, strerror(errno));
    return b.wrong || b.failed || !b.results;
}
