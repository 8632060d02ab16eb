/* device_check.c - what only a device can show of generated kernels: launches that are repeated, captured,
 * concurrent, crowded out or large. (Golden cases, paths, sizes and wrong calls are tests/check_main.c's, for
 * every backend.)
 *
 * Usage: device [--runs=N] [--product=TEXT] [--part=I/N] [--problems=FOLDER] [TOPIC...]; the topics are repeat, capture,
 * streams, crowd, large, graphs and multiply; default: all. A part: every Nth product from the Ith. With a folder products
 * are what its files say (driver_problem). Prints TAP. A sample of the outputs is compared with the dense reference after each kind of launch; where the spec says deterministic all
 * outputs must also have the same bits.
 */
#include "device_check.h"

#include "device.h"
#include "random.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static int lines, failures, skips; /* of the output so far */

static int runs = 100;
static const char *problems; /* --problems */

void tap(bool good, const char *format, ...)
{
    va_list arguments;
    printf("%sok %d - ", good ? "" : "not ", ++lines);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    fflush(stdout);
    failures += !good;
}

void tap_skip(const char *reason, const char *format, ...)
{
    va_list arguments;
    printf("ok %d - ", ++lines);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf(" # SKIP %s\n", reason);
    fflush(stdout);
    skips++;
}

void note(const char *format, ...)
{
    va_list arguments;
    printf("# ");
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    fflush(stdout);
}

bool outputs_right(const struct model *m, const struct launch *l, const char *about)
{
    struct sample_result s;
    if (!sample_check(m, l, &s))
        return false;
    if (!(s.ratio <= 1))
        note("%s %s, %s: %s is off by %.3g of its bound (%.3g u sum|terms| at most)", l->product->name,
             l->kernel->name, about, s.output, s.ratio, s.units);
    return s.ratio <= 1;
}

static bool started(const struct launch *l, cgtp_status status, const char *about)
{
    if (status)
        note("%s %s, %s: %s", l->product->name, l->kernel->name, about, cgtp_status_text(status));
    return !status;
}

/* A graph with crowded and lonely nodes: half of the edges end at three receivers, some nodes have no edge.
 */
static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static struct ref_graph make_graph(const cgtp_product *p)
{
    const int64_t row = (p->dim[CGTP_W] + p->dim[CGTP_Z] + p->dim[CGTP_X] + p->dim[CGTP_Y]) *
                        (int64_t)cgtp_type_size(p->compute);
    int64_t items = (int64_t)(64 << 20) / (row + 1), senders = 60, receivers = 70;
    items = items < 5000 ? items : 5000;
    for (int slot = 0; slot < CGTP_SLOTS; slot++) /* a row that all items share is compared as a whole */
        if (p->index[slot] == CGTP_SHARED && items > 1000)
            items = 1000;
    if (!p->graph)
        return (struct ref_graph){.items = items};
    int64_t *sender = malloc((size_t)items * sizeof *sender),
            *receiver = malloc((size_t)items * sizeof *receiver);
    if (!sender || !receiver)
        abort();
    for (int64_t e = 0; e < items; e++) {
        uint64_t h = random_bits(7, (uint64_t)e);
        sender[e] = (int64_t)(h >> 40) % (senders - 4);
        receiver[e] =
            h & 1 ? 3 + (int64_t)(h >> 20 & 0xffff) % 3 : (int64_t)(h >> 20 & 0xffff) % (receivers - 5);
    }
    if (p->sorted)
        qsort(receiver, (size_t)items, sizeof *receiver, by_number);
    return (struct ref_graph){items, senders, receivers, sender, receiver};
}

/* ---- topics; each looks at one kernel ---- */

struct scene {
    const struct table_entry *entry;
    const struct model *model;
    struct launch *launch;
    uint64_t expected; /* of a first, undisturbed run, which was right */
    void *stream, *other;
};

/* After a launch: the same bits, or right where the spec does not promise them. */
static bool same_again(const struct scene *s, const struct launch *l, const char *about)
{
    if (!s->entry->deterministic)
        return outputs_right(s->model, l, about);
    bool same = launch_hash(l) == s->expected;
    if (!same)
        note("%s %s, %s: other bits than in the first run", l->product->name, l->kernel->name, about);
    return same;
}

/* Many runs, every other one while memory is being read on another stream. */
static bool repeat(struct scene *s)
{
    for (int i = 0; i < runs; i++) {
        launch_clear(s->launch, s->stream);
        if (i % 2)
            device_flush(s->other);
        if (!started(s->launch, launch_run(s->launch, s->stream), "repeated") || !device_wait(s->stream))
            return false;
        /* without the promise a few are looked at */
        if ((s->entry->deterministic || i < 3) && !same_again(s, s->launch, "repeated"))
            return false;
        device_wait(s->other);
    }
    return true;
}

static bool capture(struct scene *s)
{
    launch_clear(s->launch, s->stream);
    device_wait(s->stream);
    uint64_t untouched = launch_hash(s->launch);
    if (!device_capture_begin(s->stream))
        return false;
    cgtp_status status = launch_run(s->launch, s->stream);
    void *graph = device_capture_end(s->stream);
    bool good = started(s->launch, status, "captured") && graph;
    device_wait(s->stream);
    if (good && s->launch->graph->items && launch_hash(s->launch) != untouched) {
        note("%s %s: ran while it was captured", s->launch->product->name, s->launch->kernel->name);
        good = false;
    }
    for (int i = 0; i < 3 && good; i++) {
        launch_clear(s->launch, s->stream);
        device_replay(graph, s->stream);
        good = device_wait(s->stream) && same_again(s, s->launch, "replayed");
    }
    if (graph)
        device_capture_free(graph);
    return good;
}

/* The same kernel on two streams at once, each with arrays of its own. */
static bool streams(struct scene *s)
{
    struct launch second;
    bool good = true;
    launch_new(&second, s->launch->product, s->launch->kernel, s->launch->graph, s->launch->prepared);
    launch_clear(s->launch, s->stream);
    for (int i = 0; i < 10 && good; i++)
        good = started(s->launch, launch_run(s->launch, s->stream), "on the first of two streams") &&
               started(&second, launch_run(&second, s->other), "on the second of two streams");
    good = device_wait(s->stream) && good;
    good = device_wait(s->other) && good;
    good = good && same_again(s, s->launch, "first of two streams") &&
           same_again(s, &second, "second of two streams");
    launch_free(&second);
    return good;
}

/* With all but two multiprocessors taken by another kernel it must still end: no block may wait for one that
 * cannot start. */
static bool crowd(struct scene *s)
{
    launch_clear(s->launch, s->stream);
    device_wait(s->stream);
    bool spinning = device_spin_start(2), done = false;
    if (!spinning)
        note("the other kernel did not start");
    else if (started(s->launch, launch_run(s->launch, s->stream), "crowded out"))
        done = device_done_within(s->stream, 10);
    device_spin_stop();
    bool ended = device_wait(s->stream);
    if (spinning && !done)
        note("%s %s: not finished within 10 s beside another kernel", s->launch->product->name,
             s->launch->kernel->name);
    return done && ended && same_again(s, s->launch, "crowded out");
}

static const struct topic {
    const char *name, *text;
    bool (*run)(struct scene *);
    bool device; /* means nothing on the host */
} topics[] = {
    {"repeat", "repeated runs", repeat, false},
    {"capture", "captured and replayed", capture, true},
    {"streams", "two streams at once", streams, false},
    {"crowd", "beside a kernel on most multiprocessors", crowd, true},
};

enum { TOPICS = sizeof topics / sizeof *topics };

static bool wanted(int argc, char **argv, const char *topic)
{
    bool any = false;
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-')
            continue;
        any = true;
        if (strcmp(argv[i], topic) == 0)
            return true;
    }
    return !any;
}

static void check_product(const struct table_entry *t, int argc, char **argv, bool host)
{
    const cgtp_product *p = t->product;
    struct model m;
    struct driver_graph d;
    struct ref_graph g = make_graph(p);
    bool right = true, good[TOPICS];
    if (!model_make(&m, p, problems)) {
        tap(false, "%s: descriptor", p->name);
        return;
    }
    driver_graph_make(&d, p, &g);
    for (int i = 0; i < TOPICS; i++)
        good[i] = true;
    for (int k = 0; k < p->kernels; k++) {
        struct launch l;
        launch_new(&l, p, &p->kernel[k], &g, &d);
        struct scene s = {t, &m, &l, 0, device_stream_new(), device_stream_new()};
        bool first = started(&l, launch_run(&l, s.stream), "first run") && device_wait(s.stream) &&
                     outputs_right(&m, &l, "first run");
        right &= first;
        s.expected = launch_hash(&l);
        for (int i = 0; i < TOPICS && first; i++)
            if (wanted(argc, argv, topics[i].name) && !(host && topics[i].device))
                good[i] &= topics[i].run(&s);
        device_stream_free(s.stream);
        device_stream_free(s.other);
        launch_free(&l);
    }
    tap(right, "%s: %d kernels on %lld items", p->name, p->kernels, (long long)g.items);
    for (int i = 0; i < TOPICS; i++) {
        if (!wanted(argc, argv, topics[i].name))
            continue;
        if (host && topics[i].device)
            tap_skip("no device", "%s: %s", p->name, topics[i].text);
        else if (topics[i].run == repeat)
            tap(good[i] && right, "%s: %d runs, %s", p->name, runs,
                t->deterministic ? "the same bits each time" : "a sample right");
        else
            tap(good[i] && right, "%s: %s", p->name, topics[i].text);
    }
    driver_graph_free(&d);
    model_free(&m);
    free((void *)g.sender);
    free((void *)g.receiver);
}

int main(int argc, char **argv)
{
    struct device_info info;
    const char *product = "";
    int part = 0, parts = 1;
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "--runs=", 7) == 0)
            runs = atoi(argv[i] + 7);
        else if (strncmp(argv[i], "--product=", 10) == 0)
            product = argv[i] + 10;
        else if (strncmp(argv[i], "--problems=", 11) == 0)
            problems = argv[i] + 11;
        else if (sscanf(argv[i], "--part=%d/%d", &part, &parts) == 2)
            ;
        else if (argv[i][0] == '-')
            runs = 0;
    if (runs < 1 || parts < 1)
        fputs("device [--runs=N] [--product=TEXT] [--part=I/N] [--problems=FOLDER] [TOPIC...]\n", stderr);
    if (runs < 1 || parts < 1 || !device_open(&info))
        return 2;
    note("%s, compute capability %d.%d, %d multiprocessors, %.1f GiB; driver API %d.%d, runtime %d.%d; "
         "commit %s",
         info.name, info.major, info.minor, info.multiprocessors, (double)info.memory / 0x1p30,
         info.driver / 1000, info.driver % 1000 / 10, info.runtime / 1000, info.runtime % 1000 / 10,
         table_commit);
    const bool host = info.driver == 0;
    bool per_kernel = false;
    for (int i = 0; i < TOPICS; i++)
        per_kernel |= wanted(argc, argv, topics[i].name);
    for (int t = 0; t < table_entries; t++) {
        if (!strstr(table[t].product->name, product) || t % parts != part)
            continue;
        if (per_kernel)
            check_product(&table[t], argc, argv, host);
        if (table[t].large && wanted(argc, argv, "large"))
            check_large(&table[t]);
    }
    if (wanted(argc, argv, "graphs"))
        check_graphs();
    if (wanted(argc, argv, "multiply") && host)
        tap_skip("no device", "products of matrices on tensor cores");
    else if (wanted(argc, argv, "multiply"))
        tap(device_multiplies_wrong() == 0, "products of matrices on tensor cores: elements are where PTX ISA has them");
    printf("1..%d\n", lines);
    note("%d failed, %d skipped", failures, skips);
    return failures > 0 || (lines == 0 && parts == 1);
}
