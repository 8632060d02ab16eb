/* SPDX-License-Identifier: MIT */
/* cgtp_tune.c - times a kernel's plans beside each other; see cgtp_tune.h.
 *
 * For each kernel the product's own plan and then its alternatives run on the same random rows. What an
 * alternative computes is compared with what the product's plan does, element by element: each may be off by
 * c u S, with u the unit roundoff and S the sum of the absolute values of its n terms, c = 12 + 4 sqrt(n)
 * (cgtp_selftest.c says why), so the two differ by at most twice that. Operands are in (-1, 1), so S is at
 * most what operands that are all one make of absolute coefficients, for each item that adds to the row: a
 * table of one row, made once for each output.
 *
 * Every time goes to a log at once, from which a later run takes it instead of measuring again. A kernel is
 * known there by a hash of its source. The fastest plan is timed a second time, and the product's own after
 * it, so that one disturbed measurement chooses nothing.
 */
#include "cgtp_tune.h"
#include "cgtp_selftest_dense.h"
#include "cgtp_selftest_graph.h"
#include "cgtp_tune_device.h"
#include "cgtp_tune_problem.h"
#include "cgtp_types.h"

#include <errno.h>
#include <float.h>
#include <unistd.h>

enum { WARM_UP = 3, BAR = 24, ROUNDS = 2 };

/* Timed runs of a plan take about this long at most, in ms; but there are five. */
static const double timed_most = 1000;
enum { RUNS_LEAST = 5 };

/* A time of a plan. */
struct time {
    double ms, least; /* median, least */
    double error;     /* the largest difference, in units of its bound; 0 of the product's own plan */
    const char *why;  /* it could not run; NULL */
};

struct tuner {
    const cgtp_tune *tune;
    const cgtp_selftest *test;
    struct arguments arguments;
    struct graph graph;
    char device[FIELD], problem[FIELD];
    FILE *log;
    char *text;     /* of the log, as it was found: lines, with a zero at each one's end */
    size_t bytes;   /* of all of them */
    int done, todo; /* measurements */
    int wrong;      /* alternatives that computed something else, or did not run */
};

/* A plan of a kernel: an alternative, or (0) the product's own. */
static cgtp_tune_alternative plan_of(const struct tuner *t, int k, int plan)
{
    const cgtp_tune_kernel *q = &t->tune->kernel[k];
    const cgtp_kernel *own = &t->test->product->kernel[k];
    return plan ? *q->alternative[plan - 1]
                : (cgtp_tune_alternative){"as planned", q->all, q->source, own->workspace, own->run};
}

/* ---- the log ---- */

static const char header[] = "device\tproblem\tkernel\tknobs\tsource\tround\tms\tleast\terror\n";

/* The fields that say what was timed, with the tab after them. */
static void key_of(char *key, const struct tuner *t, int k, int plan, int round)
{
    const cgtp_tune_alternative p = plan_of(t, k, plan);
    snprintf(key, LINE, "%s\t%s\t%s\t%s\t%s\t%d\t", t->device, t->problem, t->test->product->kernel[k].name,
             plan ? p.knobs : "-", p.source, round);
}

/* Takes in what is there. A last line that was cut short is none; 1: there is one. */
static int read_log(struct tuner *t, FILE *file)
{
    const long size = fseek(file, 0, SEEK_END) ? 0 : ftell(file);
    rewind(file);
    t->text = host_new(size > 0 ? size : 0, 1);
    t->bytes = fread(t->text, 1, size > 0 ? (size_t)size : 0, file);
    const size_t all = t->bytes;
    while (t->bytes && t->text[t->bytes - 1] != '\n')
        t->bytes--;
    for (size_t i = 0; i < t->bytes; i++)
        if (t->text[i] == '\n' || !t->text[i]) /* zeros are not this program's */
            t->text[i] = t->text[i] ? '\0' : '?';
    return t->bytes < all;
}

/* Reads the log, if there is one, and opens it to go on. 0 after a complaint. */
static int open_log(struct tuner *t, const char *path)
{
    FILE *file = fopen(path, "rb");
    const int is_new = !file, is_cut = file && read_log(t, file);
    if (file)
        fclose(file);
    t->log = fopen(path, "a");
    if (t->log) {
        fprintf(t->log, "%s%s", is_cut ? "\n" : "", is_new ? header : "");
        if (!fflush(t->log))
            return 1;
    }
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return 0;
}

/* The time that the log has; the last, where there are several. */
static int known(const struct tuner *t, int k, int plan, int round, struct time *time)
{
    char key[LINE];
    int found = 0;
    key_of(key, t, k, plan, round);
    for (size_t at = 0; at < t->bytes; at += strlen(t->text + at) + 1) {
        if (strncmp(t->text + at, key, strlen(key)))
            continue;
        const char *rest = t->text + at + strlen(key);
        struct time read = {0, 0, 0, NULL};
        if (sscanf(rest, "%lf\t%lf\t%lf", &read.ms, &read.least, &read.error) != 3)
            read.why = rest;
        *time = read;
        found = 1;
    }
    return found;
}

static void record(struct tuner *t, int k, int plan, int round, const struct time *time)
{
    char key[LINE];
    key_of(key, t, k, plan, round);
    if (time->why)
        fprintf(t->log, "%s%s\n", key, time->why);
    else
        fprintf(t->log, "%s%.5f\t%.5f\t%.4f\n", key, time->ms, time->least, time->error);
    if (fflush(t->log)) { /* what follows would be measured, and lost */
        fprintf(stderr, "\nThe log cannot be written: %s\n", strerror(errno));
        exit(2);
    }
}

/* ---- a kernel on the device ---- */

/* An output of the product's own plan, on the host; a table of bounds of a row to which one item adds; how many add to each
 * row, NULL: one. */
struct wanted {
    void *rows;
    double *magnitude, *terms, *items;
};

/* What all plans of a kernel are given, and what its own plan computes. */
struct bench {
    int number, ready;
    struct kernel_graph graph;
    void **input, **output; /* the device's */
    struct wanted *wanted;  /* by output */
    size_t bytes;           /* of the workspace, */
    void *workspace;
};

/* Random numbers in (-1, 1), few of them again and again. */
static void *random_rows(int64_t n, cgtp_type type, uint64_t seed)
{
    const int64_t size = (int64_t)cgtp_type_size(type);
    enum { PIECE = 1000003 };
    const int64_t piece = n < PIECE ? n : PIECE;
    void *host = host_new(piece, (size_t)size), *p = device_new((size_t)n * (size_t)size);
    for (int64_t i = 0; i < piece; i++)
        cgtp_put_number(host, type, i, random_value(&seed));
    for (int64_t at = 0; at < n; at += piece)
        device_write((char *)p + at * size, host, (size_t)((n - at < piece ? n - at : piece) * size));
    free(host);
    return p;
}

/* With its bounds. */
static struct wanted wanted_of(const cgtp_selftest *t, const cgtp_selftest_kernel *k, const cgtp_selftest_output *o)
{
    const int64_t n = t->dim[o->slot];
    struct wanted b = {NULL, host_new(n, sizeof *b.magnitude), host_new(n, sizeof *b.terms), NULL};
    struct sum *row = host_new(n, sizeof *row);
    double **one = host_new(k->inputs, sizeof *one);
    for (int i = 0; i < k->inputs; i++) {
        one[i] = host_new(t->dim[k->input[i].slot], sizeof *one[i]);
        for (int64_t e = 0; e < t->dim[k->input[i].slot]; e++)
            one[i][e] = 1;
    }
    add_item(t, k, o, (const double *const *)one, row);
    for (int64_t e = 0; e < n; e++) {
        b.magnitude[e] = (double)row[e].magnitude;
        b.terms[e] = row[e].terms;
    }
    for (int i = 0; i < k->inputs; i++)
        free(one[i]);
    free(one);
    free(row);
    return b;
}

static double *items_of_rows(const struct tuner *t, cgtp_slot slot)
{
    if (t->test->index[slot] == CGTP_ITEM)
        return NULL;
    double *items = host_new(rows_of(t->test, &t->graph, slot), sizeof *items);
    for (int64_t i = 0; i < t->graph.items; i++)
        items[row_of(t->test, &t->graph, slot, i)]++;
    return items;
}

static cgtp_status call(const struct tuner *t, struct bench *b, int plan)
{
    return plan_of(t, b->number, plan).run(b->graph.graph, (const void *const *)b->input, b->output, NULL, b->workspace,
                                           b->bytes, NULL);
}

/* Runs a plan once, from outputs and a workspace of NaN on; why that failed, or NULL. */
static const char *run_once(struct tuner *t, struct bench *b, int plan)
{
    const cgtp_selftest_kernel *q = &t->test->kernel[b->number];
    if (b->workspace)
        device_free(b->workspace);
    b->bytes = plan_of(t, b->number, plan).workspace(b->graph.graph);
    b->workspace = NULL;
    if (b->bytes == CGTP_NO_WORKSPACE)
        return cgtp_status_text(CGTP_BAD_SIZE);
    b->workspace = device_nan(b->bytes);
    for (int o = 0; o < q->outputs; o++) {
        if (b->output[o])
            device_free(b->output[o]);
        b->output[o] = device_nan((size_t)elements_of(t->test, &t->graph, q->output[o].slot) *
                                  cgtp_type_size(t->test->type[q->output[o].slot]));
    }
    cgtp_status status = call(t, b, plan);
    const char *why = cgtp_tune_wait();
    return status != CGTP_OK ? cgtp_status_text(status) : why;
}

/* The kernel's arrays, and what its own plan computes, when a measurement first needs them. */
static void get_ready(struct tuner *t, struct bench *b)
{
    const cgtp_selftest_kernel *k = &t->test->kernel[b->number];
    if (b->ready)
        return;
    b->ready = 1;
    kernel_graph_new(&b->graph, t->test, &t->graph);
    b->input = host_new(k->inputs, sizeof *b->input);
    b->output = host_new(k->outputs, sizeof *b->output);
    b->wanted = host_new(k->outputs, sizeof *b->wanted);
    for (int i = 0; i < k->inputs; i++)
        b->input[i] = random_rows(elements_of(t->test, &t->graph, k->input[i].slot), t->test->type[k->input[i].slot],
                                  (uint64_t)i + 1);
    const char *why = run_once(t, b, 0);
    if (why)
        give_up(why);
    for (int o = 0; o < k->outputs; o++) {
        const int64_t n = elements_of(t->test, &t->graph, k->output[o].slot);
        const size_t size = cgtp_type_size(t->test->type[k->output[o].slot]);
        b->wanted[o] = wanted_of(t->test, k, &k->output[o]);
        b->wanted[o].items = items_of_rows(t, k->output[o].slot);
        b->wanted[o].rows = host_new(n, size);
        device_read(b->wanted[o].rows, b->output[o], (size_t)n * size);
    }
}

static void bench_free(struct tuner *t, struct bench *b)
{
    const cgtp_selftest_kernel *k = &t->test->kernel[b->number];
    if (!b->ready)
        return;
    for (int i = 0; i < k->inputs; i++)
        device_free(b->input[i]);
    for (int o = 0; o < k->outputs; o++) {
        device_free(b->output[o]);
        free(b->wanted[o].rows);
        free(b->wanted[o].magnitude);
        free(b->wanted[o].terms);
        free(b->wanted[o].items);
    }
    device_free(b->workspace);
    kernel_graph_free(&b->graph);
    free(b->input);
    free(b->output);
    free(b->wanted);
}

/* The largest difference of an output from the product's own, in units of its bound; what is no number is infinitely far. */
static double difference(const struct tuner *t, const struct bench *b, int o)
{
    const cgtp_selftest_output *q = &t->test->kernel[b->number].output[o];
    const struct wanted *own = &b->wanted[o];
    const int64_t n = t->test->dim[q->slot], rows = rows_of(t->test, &t->graph, q->slot);
    const cgtp_type type = t->test->type[q->slot];
    const double u = t->test->compute == CGTP_FLOAT64 ? DBL_EPSILON / 2 : (double)FLT_EPSILON / 2;
    void *found = host_new(n * rows, cgtp_type_size(type));
    double *most = host_new(n, sizeof *most), worst = 0, before = 0;
    device_read(found, b->output[o], (size_t)(n * rows) * cgtp_type_size(type));
    for (int64_t row = 0; row < rows; row++) {
        const double items = own->items ? own->items[row] : 1;
        for (int64_t e = 0; e < n && items != before; e++)
            most[e] = 2 * u * items * own->magnitude[e] * (12 + 4 * sqrt(items * own->terms[e]));
        before = items;
        for (int64_t e = 0; e < n; e++) {
            const int64_t at = row * n + e;
            const double wanted = cgtp_get_number(own->rows, type, at);
            double off = fabs(cgtp_get_number(found, type, at) - wanted);
            if (type != t->test->compute && off == off) /* both were rounded to the array's type, too */
                off = fmax(0, off - 2 * cgtp_rounding(type, fabs(wanted) + most[e]));
            if (!(off <= most[e] * worst))
                worst = off == off && most[e] > 0 ? off / most[e] : (double)INFINITY;
        }
    }
    free(found);
    free(most);
    return worst;
}

static int ascending(const void *a, const void *b)
{
    const double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

/* Times a plan that is right. */
static void time_plan(struct tuner *t, struct bench *b, int plan, struct time *time)
{
    double ms[RUNS_MOST] = {0}, sum = 0;
    int runs = 0;
    for (int i = 0; i < WARM_UP; i++)
        call(t, b, plan);
    while (runs < t->arguments.runs && (runs < RUNS_LEAST || sum < timed_most)) {
        cgtp_tune_flush();
        cgtp_tune_begin();
        call(t, b, plan);
        ms[runs] = cgtp_tune_end();
        sum += ms[runs++];
    }
    time->why = cgtp_tune_wait();
    qsort(ms, (size_t)runs, sizeof *ms, ascending);
    time->ms = ms[runs / 2];
    time->least = ms[0];
}

/* ---- progress ---- */

static void show_progress(const struct tuner *t, const char *kernel, const char *knobs)
{
    const int full = t->todo ? BAR * t->done / t->todo : 0;
    if (!isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "\r[%.*s%.*s] %d of %d  %s: %-40.40s", full, "########################", BAR - full,
            "........................", t->done, t->todo, kernel, knobs);
    fflush(stderr);
}

static void end_progress(void)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%100s\r", "");
}

/* The time of a plan: the log's, or measured now. */
static struct time measure(struct tuner *t, struct bench *b, int plan, int round)
{
    struct time time = {0, 0, 0, NULL};
    const char *const name = t->test->kernel[b->number].name, *const knobs = plan_of(t, b->number, plan).knobs;
    t->todo += round > 1;
    if (known(t, b->number, plan, round, &time)) {
        t->done++;
        return time;
    }
    show_progress(t, name, knobs);
    get_ready(t, b);
    time.why = run_once(t, b, plan);
    for (int o = 0; o < t->test->kernel[b->number].outputs && plan && !time.why; o++) {
        const double error = difference(t, b, o);
        time.error = time.error > error ? time.error : error;
    }
    if (!time.why)
        time_plan(t, b, plan, &time);
    record(t, b->number, plan, round, &time);
    if (time.why && cgtp_tune_wait()) { /* nothing runs any more in this process */
        end_progress();
        printf("%s, %s: %s\nThe log has it; run this again to go on with the next.\n", name, knobs, time.why);
        exit(1);
    }
    t->done++;
    return time;
}

/* ---- choosing ---- */

static int is_right(const struct time *time)
{
    return !time->why && time->error <= 1;
}

/* Is the plan faster than the product's own by the gain that is asked for? */
static int gains(const struct tuner *t, const struct time *plan, const struct time *own)
{
    return is_right(plan) && plan->ms <= own->ms * (1 - t->arguments.gain / 100);
}

/* The fastest plan that is faster in both rounds; 0: the product's own. */
static int choose(struct tuner *t, struct bench *b, const struct time *time, int plans)
{
    int *tried = host_new(plans, sizeof *tried), chosen = 0;
    for (int turn = 1; turn < plans && !chosen; turn++) {
        int best = 0;
        for (int i = 1; i < plans; i++)
            if (!tried[i] && gains(t, &time[i], &time[0]) && (!best || time[i].ms < time[best].ms))
                best = i;
        if (!best)
            break;
        tried[best] = 1;
        const struct time again = measure(t, b, best, ROUNDS), own = measure(t, b, 0, ROUNDS);
        if (gains(t, &again, &own))
            chosen = best;
    }
    free(tried);
    return chosen;
}

/* The kernel's times, fastest first. */
static void print_times(struct tuner *t, int k, const struct time *time, int plans, int chosen)
{
    const cgtp_tune_kernel *q = &t->tune->kernel[k];
    int *printed = host_new(plans, sizeof *printed);
    printf("\n%s%s%s\n        ms   of it  knobs\n", t->test->kernel[k].name, *q->dropped ? ": " : "",
           q->dropped);
    for (int n = 0; n < plans; n++) {
        int best = -1;
        for (int i = 0; i < plans; i++)
            if (!printed[i] &&
                (best < 0 || (is_right(&time[i]) && (!is_right(&time[best]) || time[i].ms < time[best].ms))))
                best = i;
        printed[best] = 1;
        const char *knobs = plan_of(t, k, best).knobs;
        if (time[best].why)
            printf("         -       -  %s: %s\n", knobs, time[best].why);
        else
            printf("%10.4f  %6.3f  %s%s%s\n", time[best].ms, time[best].ms / time[0].ms, knobs,
                   is_right(&time[best]) ? "" : ": WRONG: another result than the product's own",
                   best && best == chosen ? "  <- chosen" : "");
        t->wrong += !is_right(&time[best]);
    }
    free(printed);
}

/* Measures the plans of a kernel; the one that it should have. */
static int tune_kernel(struct tuner *t, int k)
{
    const int plans = 1 + t->tune->kernel[k].alternatives;
    struct bench b;
    struct time *time = host_new(plans, sizeof *time);
    memset(&b, 0, sizeof b);
    b.number = k;
    for (int i = 0; i < plans; i++)
        time[i] = measure(t, &b, i, 1);
    const int chosen = is_right(&time[0]) ? choose(t, &b, time, plans) : 0;
    end_progress();
    print_times(t, k, time, plans, chosen);
    fflush(stdout);
    bench_free(t, &b);
    free(time);
    return chosen;
}

static int is_asked_for(const struct tuner *t, int k)
{
    return !t->arguments.kernel || !strcmp(t->arguments.kernel, t->test->kernel[k].name);
}

/* The spec's key, as it should be. */
static void print_block(const struct tuner *t, const int *chosen)
{
    int changes = 0;
    for (int k = 0; k < t->test->kernels; k++)
        changes += chosen[k] > 0;
    if (!changes) {
        printf("\nNothing is faster than the plans that there are by %g %%: the spec stays as it is.\n",
               t->arguments.gain);
        return;
    }
    printf("\nThis belongs into the spec, in the place of a key `tune` that is there:\n\ntune:\n%s  %s:\n%s",
           t->tune->others, t->tune->architecture, t->tune->knobs);
    for (int k = 0; k < t->test->kernels; k++) {
        const char *all = plan_of(t, k, chosen[k]).all;
        if (*all)
            printf("    %s: {%s}\n", t->test->kernel[k].name, all);
    }
}

static void list(const struct tuner *t)
{
    for (int k = 0; k < t->test->kernels; k++) {
        const cgtp_tune_kernel *q = &t->tune->kernel[k];
        if (!is_asked_for(t, k))
            continue;
        printf("%s%s%s\n", t->test->kernel[k].name, *q->dropped ? ": " : "", q->dropped);
        for (int i = 0; i < q->alternatives; i++)
            printf("    %s\n", q->alternative[i]->knobs);
    }
}

/* Measures what is asked for, once the log is open. */
static void tune_all(struct tuner *t)
{
    const int kernels = t->test->kernels;
    int *chosen = host_new(kernels, sizeof *chosen);
    printf("%s for %s, on %s: %s\n", t->test->product->name, t->tune->architecture, t->device, t->problem);
    for (int k = 0; k < kernels; k++)
        t->todo += is_asked_for(t, k) ? 1 + t->tune->kernel[k].alternatives : 0;
    for (int k = 0; k < kernels; k++)
        if (is_asked_for(t, k))
            chosen[k] = tune_kernel(t, k);
    print_block(t, chosen);
    free(chosen);
}

int cgtp_tune_run(const cgtp_tune *tune, int argc, char **argv)
{
    const cgtp_selftest *test = tune->test;
    struct tuner t = {
        .tune = tune, .test = test, .arguments = {.degree = 64, .items = 50000, .runs = 25, .gain = 2}};
    char log[LINE];
    int asked = 0, status = 2;
    snprintf(log, sizeof log, "%s.tune.tsv", test->product->name);
    if (!read_arguments(argc, argv, &t.arguments))
        return 2;
    for (int k = 0; k < test->kernels; k++)
        asked += is_asked_for(&t, k);
    if (!asked) {
        fprintf(stderr, "%s has no kernel %s\n", test->product->name, t.arguments.kernel);
        return 2;
    }
    if (t.arguments.list) {
        list(&t);
        return 0;
    }
    cgtp_tune_device_name(t.device, sizeof t.device);
    if (make_graph(test, &t.arguments, &t.graph, t.problem) && open_log(&t, t.arguments.log ? t.arguments.log : log)) {
        tune_all(&t);
        status = t.wrong > 0;
    }
    if (t.log)
        fclose(t.log);
    free(t.text);
    graph_free(&t.graph);
    return status;
}
