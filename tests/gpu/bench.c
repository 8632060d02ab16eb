/* bench.c - times generated kernels on the benchmark's graphs beside the floor of the memory and the best
 * peers.
 *
 * Kernel time by events, median, L2 flushed before every run by reading; inputs random. A sample of every
 * output is compared with the dense reference after the runs. Usage: bench [options], see `usage`.
 */
#include "device.h"
#include "sample.h"
#include "table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char usage[] =
    "bench [--folder=DIR] [--product=TEXT] [--kernel=NAME] [--graph=NAME] [--runs=N] [--edges=N] "
    "[--variants]\n"
    "      [--no-check]\n"
    "  --folder    where peers_h200.tsv and graphs/ are (default tests/gpu)\n"
    "  --product   only products with TEXT in their names; --kernel, --graph: only that one\n"
    "  --runs      timed runs of each kernel (default 25, at least 3)\n"
    "  --edges     only that many edges of each graph (for trying things out; no peers then)\n"
    "  --variants  sorted by time within a kernel and graph, without peers\n"
    "  --no-check  no comparison with the reference\n";

/* Bytes a second that a copy reaches on the machine that the peers were timed on. */
static const double bandwidth = 4.3e12;

enum { WARM_UP = 3, PEERS = 400, RESULTS = 1000, GRAPHS = 4 };

/* Warm-up runs go on so long, in seconds: a device that waited for the host has lowered its clocks. Not longer, or
 * the power limit lowers them again. */
static const double warm_up_time = 0.03;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const struct {
    const char *name;
    int64_t nodes;
} graph_info[GRAPHS] = {{"carbon", 1000}, {"dhfr", 1800}, {"covid", 23000}, {"table5", 512}};

/* A problem as the peers' table names it, told from others by what defines it, and the graphs that it is
 * timed on. */
static const struct problem {
    const char *name;
    int64_t dim[CGTP_SLOTS];
    unsigned graphs; /* bits by number */
} problems[] = {
    {"mace-large", {1152, 16, 2176, 9088}, 7},
    {"table5-lmax3", {1024, 16, 2176, 9984}, 8},
};

struct peer {
    char problem[40], graph[16], direction[24], name[24];
    double floor, ms;
};

struct result {
    const struct table_entry *entry;
    const char *problem, *graph, *kernel;
    double ms, least, floor;
    const struct peer *peer; /* NULL: none */
    int checked;             /* 0: not, 1: right, -1: wrong */
    double ratio;
    const char *output;
};

static struct {
    const char *folder, *product, *kernel, *graph;
    int runs, variants, check;
    int64_t edges;
} option = {.folder = "tests/gpu", .runs = 25, .check = 1, .edges = INT64_MAX};

static _Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(2);
}

/* ---- what is read ---- */

static FILE *open_file(const char *name, const char *suffix)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s%s", option.folder, name, suffix);
    FILE *file = fopen(path, "rb");
    if (!file)
        fail(path, strerror(errno));
    return file;
}

/* Fields between tabs, which may be empty; returns how many. */
static int split(char *line, char **field, int most)
{
    int n = 0;
    line[strcspn(line, "\r\n")] = 0;
    for (char *p = line; p && n < most;) {
        field[n++] = p;
        p = strchr(p, '\t');
        if (p)
            *p++ = 0;
    }
    return n;
}

/* Convolutions in fp32: op problem graph dtype direction floor best_peer best_ms ... */
static int read_peers(struct peer *peer)
{
    FILE *file = open_file("peers_h200", ".tsv");
    char line[1024], *f[8];
    int n = 0;
    while (fgets(line, sizeof line, file)) {
        if (split(line, f, 8) < 8 || strcmp(f[0], "conv") || strcmp(f[3], "fp32"))
            continue;
        if (n == PEERS)
            fail("peers_h200.tsv", "too many rows");
        struct peer *p = &peer[n++];
        snprintf(p->problem, sizeof p->problem, "%s", f[1]);
        snprintf(p->graph, sizeof p->graph, "%s", f[2]);
        snprintf(p->direction, sizeof p->direction, "%s", f[4]);
        snprintf(p->name, sizeof p->name, "%s", f[6]);
        p->floor = strtod(f[5], NULL);
        p->ms = strtod(f[7], NULL);
    }
    fclose(file);
    return n;
}

static int64_t *read_ends(const char *graph, const char *end, int64_t *edges)
{
    char name[64], suffix[32];
    snprintf(name, sizeof name, "graphs/%s", graph);
    snprintf(suffix, sizeof suffix, "_%s.i32", end);
    FILE *file = open_file(name, suffix);
    unsigned char b[4];
    int64_t n = 0, capacity = 1 << 18, *ends = malloc((size_t)capacity * sizeof *ends);
    while (ends && n < option.edges && fread(b, 4, 1, file) == 1) {
        if (n == capacity && !(ends = realloc(ends, (size_t)(capacity *= 2) * sizeof *ends)))
            break;
        ends[n++] =
            (int64_t)((uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24);
    }
    fclose(file);
    if (!ends)
        fail(name, "out of memory");
    *edges = n;
    return ends;
}

static struct ref_graph read_graph(int i)
{
    int64_t senders, receivers;
    struct ref_graph g = {.senders = graph_info[i].nodes, .receivers = graph_info[i].nodes};
    g.sender = read_ends(graph_info[i].name, "sender", &senders);
    g.receiver = read_ends(graph_info[i].name, "receiver", &receivers);
    if (senders != receivers || !senders)
        fail(graph_info[i].name, "senders and receivers are not as many, or none");
    g.items = senders;
    return g;
}

/* ---- one kernel on one graph ---- */

/* The least milliseconds for the bytes: every array read or written once. An array of nodes counts a row for
 * every node. A deterministic reduction over senders also writes a row for every edge, and reads it. */
static double floor_of(const struct table_entry *t, const cgtp_kernel *k, const struct ref_graph *g)
{
    const cgtp_product *p = t->product;
    double elements = 0;
    for (int i = 0; i < k->inputs; i++)
        elements += (double)(driver_rows(p, g, k->input[i].slot) * p->dim[k->input[i].slot]);
    for (int o = 0; o < k->outputs; o++) {
        cgtp_slot slot = k->output[o].slot;
        elements += (double)(driver_rows(p, g, slot) * p->dim[slot]);
        if (t->deterministic && p->index[slot] == CGTP_SENDER)
            elements += 2 * (double)(g->items * p->dim[slot]);
    }
    return 1e3 * elements * p->scalar_size / bandwidth;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool measure(const struct model *m, const struct ref_graph *g, const struct driver_graph *d,
                    const cgtp_kernel *k, struct result *r)
{
    const cgtp_product *p = m->product;
    size_t bytes = launch_bytes(p, k, g, d);
    if (bytes > device_free_memory()) {
        printf("# %s %s on %s: %.1f GiB needed, %.1f free: skipped\n", p->name, k->name, r->graph,
               (double)bytes / 0x1p30, (double)device_free_memory() / 0x1p30);
        return false;
    }
    struct launch l;
    void *stream = device_stream_new(), **event = malloc(2 * (size_t)option.runs * sizeof *event);
    double *ms = malloc((size_t)option.runs * sizeof *ms);
    cgtp_status status = CGTP_OK;
    if (!event || !ms)
        fail("runs", "out of memory");
    launch_new(&l, p, k, g, d);
    for (int i = 0; i < 2 * option.runs; i++)
        event[i] = device_event_new();
    const double begin = seconds();
    bool good = true;
    for (int i = 0; (i < WARM_UP || seconds() - begin < warm_up_time) && good && !status; i++) {
        device_flush(stream);
        status = launch_run(&l, stream);
        good = !status && device_wait(stream);
    }
    for (int i = 0; i < option.runs && good && !status; i++) {
        device_flush(stream);
        device_event_record(event[2 * i], stream);
        status = launch_run(&l, stream);
        device_event_record(event[2 * i + 1], stream);
    }
    good = good && !status && device_wait(stream);
    if (!good)
        printf("# %s %s on %s: %s\n", p->name, k->name, r->graph, cgtp_status_text(status));
    for (int i = 0; i < option.runs && good; i++)
        ms[i] = device_event_ms(event[2 * i], event[2 * i + 1]);
    if (good) {
        struct sample_result s;
        qsort(ms, (size_t)option.runs, sizeof *ms, by_value);
        r->ms = option.runs % 2 ? ms[option.runs / 2] : (ms[option.runs / 2 - 1] + ms[option.runs / 2]) / 2;
        r->least = ms[0];
        r->floor = floor_of(r->entry, k, g);
        if (option.check && sample_check(m, &l, &s)) {
            r->checked = s.ratio <= 1 ? 1 : -1;
            r->ratio = s.ratio;
            r->output = s.output;
        }
    }
    for (int i = 0; i < 2 * option.runs; i++)
        device_event_free(event[i]);
    device_stream_free(stream);
    launch_free(&l);
    free(event);
    free(ms);
    return good;
}

/* ---- the table ---- */

static const struct problem *problem_of(const cgtp_product *p)
{
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
        if (memcmp(problems[i].dim, p->dim, sizeof p->dim) == 0 && p->scalar_size == 4)
            return &problems[i];
    return NULL;
}

static int by_place_and_time(const void *a, const void *b)
{
    const struct result *x = a, *y = b;
    int c = strcmp(x->problem, y->problem);
    c = c ? c : strcmp(x->graph, y->graph);
    c = c ? c : strcmp(x->kernel, y->kernel);
    return c ? c : (x->ms > y->ms) - (x->ms < y->ms);
}

static void print_result(const struct result *r)
{
    const char *order = r->entry->deterministic ? "deterministic" : "atomic";
    char peer[64] = "-", gain[16] = "-", right[64] = "not compared";
    if (r->peer) {
        snprintf(peer, sizeof peer, "%.4f %s", r->peer->ms, r->peer->name);
        snprintf(gain, sizeof gain, "%.2f", r->peer->ms / r->ms);
    }
    if (r->checked)
        snprintf(right, sizeof right, "%.3g (%s)%s", r->ratio, r->output, r->checked < 0 ? " WRONG" : "");
    printf("%-13s %-7s %-16s %-14s %9.4f %9.4f %8.4f %7.2f %20s %7s  %-20s %s\n", r->problem, r->graph,
           r->kernel, order, r->ms, r->least, r->floor, r->ms / r->floor, peer, gain, right,
           r->entry->product->name);
    fflush(stdout);
}

static void print_head(void)
{
    printf("%-13s %-7s %-16s %-14s %9s %9s %8s %7s %20s %7s  %-20s %s\n", "problem", "graph", "kernel",
           "reduction", "ours ms", "least ms", "floor ms", "x floor", "best peer ms", "gain", "error / bound",
           "product");
}

static bool wanted(const char *filter, const char *name)
{
    return !filter || strcmp(filter, name) == 0;
}

static void read_options(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *value = strchr(argv[i], '=');
        size_t n = value ? (size_t)(value - argv[i]) : strlen(argv[i]);
        value = value ? value + 1 : "";
        if (n == 8 && !strncmp(argv[i], "--folder", n))
            option.folder = value;
        else if (n == 9 && !strncmp(argv[i], "--product", n))
            option.product = value;
        else if (n == 8 && !strncmp(argv[i], "--kernel", n))
            option.kernel = value;
        else if (n == 7 && !strncmp(argv[i], "--graph", n))
            option.graph = value;
        else if (n == 6 && !strncmp(argv[i], "--runs", n))
            option.runs = atoi(value);
        else if (n == 7 && !strncmp(argv[i], "--edges", n))
            option.edges = atoll(value);
        else if (!strcmp(argv[i], "--variants"))
            option.variants = 1;
        else if (!strcmp(argv[i], "--no-check"))
            option.check = 0;
        else {
            fputs(usage, stderr);
            exit(2);
        }
    }
    if (option.runs < 3 || option.edges < 1) {
        fputs(usage, stderr);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    static struct peer peer[PEERS];
    static struct result result[RESULTS];
    struct device_info info;
    int results = 0, wrong = 0, failed = 0;
    read_options(argc, argv);
    int peers = read_peers(peer);
    if (!device_open(&info))
        return 2;
    time_t now = time(NULL);
    char date[32];
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    printf("# %s, compute capability %d.%d, driver API %d.%d, runtime %d.%d, %d multiprocessors; %s; commit "
           "%s\n",
           info.name, info.major, info.minor, info.driver / 1000, info.driver % 1000 / 10,
           info.runtime / 1000, info.runtime % 1000 / 10, info.multiprocessors, date, table_commit);
    printf("# median and least of %d runs after %d or more; L2 flushed by reading; floor at %.2f TB/s; fp32; errors "
           "in units of "
           "their bound\n",
           option.runs, WARM_UP, bandwidth / 1e12);
    if (!option.variants)
        print_head();
    for (int gi = 0; gi < GRAPHS; gi++) {
        struct ref_graph g = {0};
        for (int t = 0; t < table_entries; t++) {
            const struct problem *problem = problem_of(table[t].product);
            if (!problem && gi == 0) {
                printf("# %s: not one of the benchmark's problems\n", table[t].product->name);
                failed++;
            }
            if (!problem || !(problem->graphs & 1u << gi) || !wanted(option.graph, graph_info[gi].name) ||
                (option.product && !strstr(table[t].product->name, option.product)))
                continue;
            if (!g.sender)
                g = read_graph(gi);
            struct driver_graph d;
            struct model m;
            if (!model_make(&m, table[t].product)) {
                failed++;
                continue;
            }
            driver_graph_make(&d, table[t].product, &g);
            for (int k = 0; k < table[t].product->kernels; k++) {
                const cgtp_kernel *kernel = &table[t].product->kernel[k];
                if (!wanted(option.kernel, kernel->name) || results == RESULTS)
                    continue;
                struct result *r = &result[results];
                *r = (struct result){.entry = &table[t],
                                     .problem = problem->name,
                                     .graph = graph_info[gi].name,
                                     .kernel = kernel->name};
                for (int i = 0; i < peers; i++)
                    if (option.edges == INT64_MAX && !strcmp(peer[i].problem, r->problem) &&
                        !strcmp(peer[i].graph, r->graph) && !strcmp(peer[i].direction, r->kernel))
                        r->peer = &peer[i];
                if (!measure(&m, &g, &d, kernel, r)) {
                    failed++;
                    continue;
                }
                results++;
                wrong += r->checked < 0;
                /* The peers' table has the floors of the same problems: a check of this program's formula. */
                if (r->peer && !table[t].deterministic &&
                    fabs(r->floor - r->peer->floor) > 1e-4 + 1e-3 * r->floor) {
                    printf("# floor %.4f, the peers' table has %.4f\n", r->floor, r->peer->floor);
                    failed++;
                }
                if (!option.variants)
                    print_result(r);
            }
            driver_graph_free(&d);
            model_free(&m);
        }
        free((void *)g.sender);
        free((void *)g.receiver);
    }
    if (option.variants) {
        qsort(result, (size_t)results, sizeof *result, by_place_and_time);
        print_head();
        for (int i = 0; i < results; i++)
            print_result(&result[i]);
    }
    printf("# %d kernels timed, %d wrong, %d not measured\n", results, wrong, failed);
    return wrong || failed || !results;
}
