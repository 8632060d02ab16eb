/* bench.c - times generated kernels on the benchmark's graphs and batches, beside the floor of the memory and
 * the fastest peers.
 *
 * Kernel time by events, median, L2 flushed before every run by reading; inputs random. A sample of every
 * output is compared with the dense reference after the runs. Golden cases with more channels (sweep.py) are
 * timed in 100,000 items, or as many as memory holds, beside the larger of that floor and one by flops.
 * Usage: bench [options], see `usage`. The table on standard output is Markdown between comments; the same
 * with more columns goes to a file for compare.py.
 */
#include "device.h"
#include "peers.h"
#include "random.h"
#include "sample.h"
#include "table.h"

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

enum { WARM_UP = 3, RUNS_LEAST = 5, RESULTS = 1000 };

/* Warm-up runs go on so long, in seconds: a device that waited for the host has lowered its clocks. Not
 * longer, or the power limit lowers them again. */
static const double warm_up_time = 0.03;

/* Timed runs of one kernel take about this long at most, in seconds. */
static const double timed_most = 0.5;

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
    const struct ref_graph *place;
    const char *reduction; /* "-" where nothing is added up */
    double ms, least, floor;
    bool by_flops;           /* the floor */
    const struct peer *peer; /* NULL: none */
    int checked;             /* 0: not, 1: right, -1: wrong */
    struct sample_result sample;
};

/* Everything that a run of the program has. */
struct bench {
    struct ref_graph place[PLACES], shuffled[PLACES]; /* as they are; graphs with edges in any order */
    struct ref_graph thin, scaled[RESULTS]; /* see SCALED_EDGES; of each row of such a case: a part of thin */
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

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- what is read ---- */

static int64_t *read_ends(const char *graph, const char *end, int64_t *edges)
{
    char path[512];
    snprintf(path, sizeof path, "%s/graphs/%s_%s.i32", option.folder, graph, end);
    FILE *file = fopen(path, "rb");
    unsigned char b[4];
    int64_t n = 0, capacity = 1 << 18, *ends = malloc((size_t)capacity * sizeof *ends);
    if (!file)
        fail(path, strerror(errno));
    while (ends && n < option.items && fread(b, 4, 1, file) == 1) {
        if (n == capacity && !(ends = realloc(ends, (size_t)(capacity *= 2) * sizeof *ends)))
            break;
        ends[n++] =
            (int64_t)((uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24);
    }
    fclose(file);
    if (!ends)
        fail(path, "out of memory");
    *edges = n;
    return ends;
}

static struct ref_graph read_place(int i)
{
    const int64_t nodes = place_info[i].nodes, all = nodes ? nodes + option.padding : 0;
    struct ref_graph g = {.senders = all, .receivers = all};
    int64_t receivers;
    if (!nodes) {
        g.items = place_info[i].rows < option.items ? place_info[i].rows : option.items;
        return g;
    }
    g.sender = read_ends(place_info[i].name, "sender", &g.items);
    g.receiver = read_ends(place_info[i].name, "receiver", &receivers);
    if (g.items != receivers || !g.items)
        fail(place_info[i].name, "senders and receivers are not as many, or none");
    return g;
}

/* The graph with its edges in a random order. */
static struct ref_graph shuffle(const struct ref_graph *g)
{
    const size_t bytes = (size_t)g->items * sizeof *g->sender;
    int64_t *sender = malloc(bytes + 1), *receiver = malloc(bytes + 1);
    if (!sender || !receiver)
        fail("a graph", "out of memory");
    for (int64_t e = 0; e < g->items; e++) {
        const int64_t with = (int64_t)(random_bits(11, (uint64_t)e) % (uint64_t)(e + 1));
        sender[e] = sender[with], receiver[e] = receiver[with];
        sender[with] = g->sender[e], receiver[with] = g->receiver[e];
    }
    return (struct ref_graph){g->items, g->senders, g->receivers, sender, receiver};
}

/* The graph with the first edges of each receiver. */
static struct ref_graph thin_out(const struct ref_graph *g, int64_t most)
{
    const size_t bytes = (size_t)g->items * sizeof *g->sender;
    int64_t *sender = malloc(bytes + 1), *receiver = malloc(bytes + 1), n = 0;
    if (!sender || !receiver)
        fail("a graph", "out of memory");
    for (int64_t e = 0; e < g->items; e++)
        if (n < most || receiver[n - most] != g->receiver[e]) /* edges are sorted by receiver */
            sender[n] = g->sender[e], receiver[n++] = g->receiver[e];
    return (struct ref_graph){n, g->senders, g->receivers, sender, receiver};
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

/* The least milliseconds for the bytes: every array read or written once. An array of nodes counts a row for
 * every node. */
static double floor_of(const cgtp_product *p, const cgtp_kernel *k, const struct ref_graph *g)
{
    double bytes = 0;
    for (int i = 0; i < k->inputs; i++)
        bytes += bytes_of(p, g, k->input[i].slot);
    for (int o = 0; o < k->outputs; o++)
        bytes += bytes_of(p, g, k->output[o].slot);
    return 1e3 * bytes / bandwidth;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Runs until the clocks are up; sets how many timed ones are to follow. */
static bool warm_up(struct launch *l, void *stream, int *runs)
{
    const double begin = seconds();
    double passed = 0;
    int n = 0;
    for (; n < WARM_UP || passed < warm_up_time; n++) {
        device_flush(stream);
        cgtp_status status = launch_run(l, stream);
        if (status || !device_wait(stream)) {
            printf("# %s %s: %s\n", l->product->name, l->kernel->name, cgtp_status_text(status));
            return false;
        }
        passed = seconds() - begin;
    }
    const double affordable = timed_most * n / passed;
    const int asked = (int)option.runs;
    *runs = affordable > asked ? asked : affordable > RUNS_LEAST ? (int)affordable : RUNS_LEAST;
    *runs = *runs < asked ? *runs : asked;
    return true;
}

/* Milliseconds of so many runs. */
static bool time_runs(struct launch *l, void *stream, double *ms, int runs)
{
    void **event = malloc(2 * (size_t)runs * sizeof *event);
    cgtp_status status = CGTP_OK;
    if (!event)
        fail("runs", "out of memory");
    for (int i = 0; i < 2 * runs; i++)
        event[i] = device_event_new();
    for (int i = 0; i < runs && !status; i++) {
        device_flush(stream);
        device_event_record(event[2 * i], stream);
        status = launch_run(l, stream);
        device_event_record(event[2 * i + 1], stream);
    }
    const bool good = device_wait(stream) && !status;
    if (!good)
        printf("# %s %s: %s\n", l->product->name, l->kernel->name, cgtp_status_text(status));
    for (int i = 0; i < runs && good; i++)
        ms[i] = device_event_ms(event[2 * i], event[2 * i + 1]);
    for (int i = 0; i < 2 * runs; i++)
        device_event_free(event[i]);
    free(event);
    return good;
}

/* Sets what is measured of a row; false, with a comment in the table, where it could not be. */
static bool measure(const struct model *m, const struct ref_graph *g, const struct driver_graph *d,
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
    int runs;
    void *stream = device_stream_new();
    double *ms = malloc((size_t)option.runs * sizeof *ms);
    if (!ms)
        fail("runs", "out of memory");
    launch_new(&l, p, r->kernel, g, d);
    const bool good = warm_up(&l, stream, &runs) && time_runs(&l, stream, ms, runs);
    if (good) {
        qsort(ms, (size_t)runs, sizeof *ms, by_value);
        r->ms = (ms[runs / 2] + ms[(runs - 1) / 2]) / 2;
        r->least = ms[0];
        r->floor = floor_of(p, r->kernel, g);
        const double by_flops = 1e3 * (double)g->items * planned(r->entry, r->kernel)->flops /
                                (p->compute == CGTP_FLOAT64 ? flops_f64 : flops_f32);
        r->by_flops = r->entry->scaled && by_flops > r->floor;
        r->floor = r->by_flops ? by_flops : r->floor;
        if (!option.no_check && sample_check(m, &l, &r->sample))
            r->checked = r->sample.ratio <= 1 ? 1 : -1;
    }
    device_stream_free(stream);
    launch_free(&l);
    free(ms);
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
    return c ? c : (x->ms > y->ms) - (x->ms < y->ms);
}

static void print_head(void)
{
    printf("| %-25s | %-6s | %-4s | %-15s | %-13s | %8s | %8s | %7s | %7s | %-12s | %8s | %5s |\n", "product",
           "place", "type", "kernel", "reduction", "ms", "least", "floor", "x floor", "best peer", "peer ms",
           "gain");
    printf("|---|---|---|---|---|---:|---:|---:|---:|---|---:|---:|\n");
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
        snprintf(t.gain, sizeof t.gain, "%.2f", r->peer->ms / r->ms);
    }
    return t;
}

static void print_result(const struct result *r)
{
    const struct peer_text peer = peer_text(r);
    printf("| %-25s | %-6s | %-4s | %-15s | %-13s | %8.4f | %8.4f | %7.4f | %7.2f | %-12s | %8s | %5s |\n",
           option.variants ? r->entry->product->name : r->key.problem, r->key.place, r->key.type,
           r->key.kernel, r->reduction, r->ms, r->least, r->floor, r->ms / r->floor,
           r->peer ? r->peer->name : "-", peer.ms, peer.gain);
    if (r->checked < 0)
        printf("# WRONG: %s of the row above is off by %.3g of its bound\n", r->sample.output,
               r->sample.ratio);
    fflush(stdout);
}

static void write_head(FILE *file)
{
    fputs("op\tproblem\tgraph\tdtype\tkernel\treduction\tms\tleast\tfloor\txfloor\tbest_peer\tpeer_ms\tgain\t"
          "evaluation\tbound\titems\tsenders\treceivers\tx\ty\tw\tz\n",
          file);
}

static void write_result(FILE *file, const struct result *r)
{
    const struct peer_text peer = peer_text(r);
    const cgtp_product *p = r->entry->product;
    fprintf(file, "%s\t%s\t%s\t%s\t%s\t%s\t%.5f\t%.5f\t%.5f\t%.3f\t%s\t%s\t%s\t%s\t%s", r->key.op,
            r->key.problem, r->key.place, r->key.type, r->key.kernel, r->reduction, r->ms, r->least, r->floor,
            r->ms / r->floor, r->peer ? r->peer->name : "-", peer.ms, peer.gain,
            planned(r->entry, r->kernel)->evaluation, r->by_flops ? "flops" : "bytes");
    fprintf(file, "\t%lld\t%lld\t%lld\t%s\t%s\t%lld\t%lld\n", (long long)r->place->items,
            (long long)r->place->senders, (long long)r->place->receivers, p->irreps[CGTP_X],
            p->irreps[CGTP_Y], (long long)p->dim[CGTP_W], (long long)p->dim[CGTP_Z]);
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
        .place = g,
        .key = {p->graph ? "conv" : "batch", name, place, type_name(p), k->name},
        .reduction = !p->graph        ? "-"
                     : t->compensated ? "compensated"
                                      : reduction[p->sorted][t->deterministic]};
    if (b->results == RESULTS)
        return;
    if (option.items == INT64_MAX && !option.padding && !t->scaled)
        r.peer = peer_of(b->peer, b->peers, r.key);
    if (measure(m, g, d, &r))
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
        struct ref_graph *g = &b->scaled[b->results < RESULTS ? b->results : 0];
        struct driver_graph d;
        *g = p->graph ? b->thin : (struct ref_graph){.items = SCALED_ROWS};
        g->items = option.items < g->items ? option.items : g->items;
        if (!wanted(option.kernel, k->name))
            continue;
        driver_graph_make(&d, p, g);
        while (g->items > 1 && launch_bytes(p, k, g, &d) > device_free_memory()) {
            driver_graph_free(&d);
            g->items /= 2;
            driver_graph_make(&d, p, g);
        }
        time_kernel(b, t, k, p->name, p->graph ? place_info[0].name : "rows", m, g, &d);
        driver_graph_free(&d);
    }
}

static void time_entry(struct bench *b, const struct table_entry *t)
{
    const struct problem *q = t->scaled ? NULL : problem_of(t->product);
    struct model m;
    if (option.product && !strstr(t->product->name, option.product))
        return;
    if (!q && !t->scaled)
        printf("# %s: not one of the benchmark's problems\n", t->product->name);
    if ((!q && !t->scaled) || !model_make(&m, t->product, NULL)) {
        b->failed++;
        return;
    }
    if (t->scaled)
        time_scaled(b, t, &m);
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
           (int)option.runs, 1e3 * timed_most / (double)option.runs, WARM_UP, bandwidth / 1e12);
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
    for (int i = 0; i < PLACES; i++)
        b.place[i] = read_place(i);
    for (int i = 0; i < GRAPHS; i++)
        b.shuffled[i] = shuffle(&b.place[i]);
    b.thin = thin_out(&b.place[0], SCALED_EDGES);
    if (option.tsv && !(b.tsv = fopen(option.tsv, "w")))
        fail(option.tsv, strerror(errno));
    if (b.tsv)
        write_head(b.tsv);
    const double begin = seconds();
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
           b.wrong, b.failed, b.largest, seconds() - begin);
    for (int i = 0; i < PLACES; i++) {
        free((void *)b.place[i].sender);
        free((void *)b.place[i].receiver);
        free((void *)b.shuffled[i].sender);
        free((void *)b.shuffled[i].receiver);
    }
    free((void *)b.thin.sender);
    free((void *)b.thin.receiver);
    if (b.tsv && fclose(b.tsv))
        fail(option.tsv, strerror(errno));
    return b.wrong || b.failed || !b.results;
}
