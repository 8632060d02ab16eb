/* unit_check.c - the checker of plans: it has nothing to say of plans as they are made, and reports each
 * wrong one that is seeded here, by the rule that it breaks. Every rule in the sources is broken once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "emit/backend.h"
#include "pipeline/pipeline.h"
#include "schedule/convolution/conv_plan.h"
#include "schedule/check.h"
#include "pipeline/cost.h"
#include "schedule/cover.h"
#include "schedule/lanes/lanes_plan.h"
#include "schedule/nodal/nodal_plan.h"
#include "schedule/paired/paired_plan.h"
#include "schedule/gemm/gemm_plan.h"
#include "schedule/loops/loops.h"
#include "schedule/staged/staged_plan.h"
#include "util/file.h"
#include "unit_source.h"

#include <glob.h>
#include <string.h>

static struct arena arena;

/* All that the checker said of wrong plans. */
static struct text said = {.arena = &arena};

static int teardown(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

/* Paths for two evaluations of a GPU: one of channels by themselves, one that weights connect; weights of
 * both. */
static const char mixed[] =
    "cgtp: 1\nname: t\nirreps: {x: 32x0e + 4x0e, y: 1x0e + 1x1o, z: 32x0e + 32x1o + 4x0e}\n"
    "instructions: [[0, 0, 0, uvu], [0, 1, 1, uvu], [1, 0, 2, uvw]]\n"
    "index: {x: sender, y: item, w: item, z: receiver}\nkernels: [forward, backward, double_backward]\n"
    "tune: {sm_90: {evaluation: convolution}}\n";

/* Segments of x whose paths are alike. */
static const char alike[] =
    "cgtp: 1\nname: t\nirreps: {x: 32x1e + 32x1o, y: 1x1e, z: 32x0e + 32x1e + 32x0o + 32x1o}\n"
    "instructions: [[0, 0, 0, uvu], [0, 0, 1, uvu], [1, 0, 2, uvu], [1, 0, 3, uvu]]\n"
    "index: {x: sender, y: item, w: item, z: receiver}\nkernels: [forward]\ntune: {sm_90: {share: 2, "
    "paths: 2}}\n";

/* Paths that are computed together. */
static const char together[] = "cgtp: 1\nname: t\nirreps: {x: 32x1o, y: 1x1o, z: 32x0e + 32x1e + 32x2e}\n"
                               "instructions: [[0, 0, 0, uvu], [0, 0, 1, uvu], [0, 0, 2, uvu]]\n"
                               "index: {x: sender, y: item, w: item, z: receiver}\nkernels: [forward]\n"
                               "tune: {sm_90: {together: 2}}\n";

/* Segments of 20 channels, so that edges are side by side. */
static const char narrow[] =
    "cgtp: 1\nname: t\nirreps: {x: 20x0e + 20x1o, y: 1x0e + 1x1o, z: 20x0e + 20x1o}\n"
    "instructions: [[0, 0, 0, uvu], [1, 0, 1, uvu]]\n"
    "index: {x: sender, y: item, w: item, z: receiver}\n"
    "kernels: [forward, backward, double_backward]\n";

/* Few channels, and many rows of each receiver. */
static const char rows[] = "cgtp: 1\nname: t\nirreps: {x: 19x0e + 19x1e + 19x2e + 19x3e, y: 0e + 1e + 2e,\n"
                           "  z: 0e + 1e + 2e + 3e}\n"
                           "instructions: channelwise\nindex: {x: sender, y: item, w: item, z: receiver}\n"
                           "kernels: [forward, backward]\n";

/* Fewer rows. */
static const char few_rows[] =
    "cgtp: 1\nname: t\nirreps: {x: 19x0e + 19x1o + 19x2e, y: 0e + 1o + 2e,\n"
    "  z: 0e + 1o + 2e}\n"
    "instructions: channelwise\nindex: {x: sender, y: item, w: item, z: receiver}\n"
    "kernels: [forward, backward]\n";

/* Items without a graph: two of three paths lead into one segment of z. */
static const char batch[] = "cgtp: 1\nname: t\nirreps: {x: 32x0e, y: 1x0e + 1x1o, z: 32x0e + 32x1o}\n"
                            "instructions: [[0, 0, 0, uvu], [0, 1, 1, uvu], [0, 0, 0, uvu]]\n"
                            "kernels: [forward]\n";

/* Weights that connect channels, of items. */
static const char staged[] =
    "cgtp: 1\nname: t\nirreps: {x: 40x0e, y: 1x0e + 1x1o, z: 32x0e + 4x1o}\n"
    "instructions: fully_connected\nkernels: [forward, backward, double_backward, triple_backward]\n";

/* Two channels a lane, and a factor for all components of z. */
static const char channels[] = "cgtp: 1\nname: t\nirreps: {x: 40x0e, y: 1x0e + 1x1o, z: 40x1o}\n"
                               "instructions: [[0, 1, 0, uvu]]\nindex: {x: sender, z: receiver}\n"
                               "tune: {sm_90: {evaluation: staged}}\n";

/* In parts: path 0 in two of them. */
static const char parts[] =
    "cgtp: 1\nname: t\nirreps: {x: 40x0e, y: 1x0e + 1x1o, z: 32x0e + 4x1o}\n"
    "instructions: fully_connected\nkernels: [forward]\ntune: {sm_90: {parts: 2, stages: 4}}\n";
/* Few weights that all items share. */
static const char tiled[] = "cgtp: 1\nname: t\nirreps: {x: 1x0e + 1x1o, y: 1x0e + 1x1o, z: 16x0e + 8x1o}\n"
                            "instructions: fully_connected\nindex: {w: shared}\nkernels: [forward]\n";
/* Many: more parts than a block has warps. */
static const char gemm[] =
    "cgtp: 1\nname: t\nirreps: {x: 192x0e, y: 1x0e + 1x1o, z: 72x0e + 20x1o}\n"
    "instructions: fully_connected\nindex: {w: shared}\nkernels: [forward, backward]\n";
/* Channels that meet in pairs. */
static const char paired[] = "cgtp: 1\nname: t\nirreps: {x: 40x0e, y: 40x0e + 40x1o, z: 40x0e + 40x1o}\n"
                             "instructions: [[0, 0, 0, uuu], [0, 1, 1, uuu]]\nkernels: [forward]\n";

/* The same, of edges and nodes: threads alone. */
static const char direct[] = "cgtp: 1\nname: t\nirreps: {x: 33x0e, y: 33x0e + 33x1o, z: 33x0e + 33x1o}\n"
                             "instructions: [[0, 0, 0, uuu], [0, 1, 1, uuu]]\nkernels: [forward]\n"
                             "index: {x: sender, z: receiver}\n";

/* The same, of items and senders. */
static const char nodal[] = "cgtp: 1\nname: t\nirreps: {x: 16x0e, y: 16x0e + 16x1o, z: 16x0e + 16x1o}\n"
                            "instructions: [[0, 0, 0, uuu], [0, 1, 1, uuu]]\nkernels: [forward]\n"
                            "index: {y: sender, w: shared}\ntune: {sm_90: {evaluation: nodal}}\n";

/* The same in both parities of z, and rows of two outputs. */
static const char lanes[] = "cgtp: 1\nname: t\nirreps: {x: 16x0e, y: 16x0e + 16x0o, z: 16x0e + 16x0o}\n"
                            "instructions: [[0, 0, 0, uuu], [0, 1, 1, uuu]]\nkernels: [double_backward]\n"
                            "index: {y: sender, w: shared}\ntune: {sm_90: {evaluation: lanes}}\n";

/* Schedules that a test may change; kernel: its number. */
static struct kernel_schedule *plan_for(const struct backend *backend, const char *source, int kernel,
                                        const struct schedules **all)
{
    const struct target target = {.device = device_named(backend->device),
                                  .evaluations = backend->evaluations};
    *all = schedules_build(&arena, unit_plan(&arena, source), &target);
    struct text out = {.arena = &arena};
    if (schedules_check(&arena, *all, &out))
        fail_msg("of a plan as it is made: %s", text_string(&out));
    return &(*all)->kernel[kernel];
}

/* The checker says this, among what it says. */
static void expect(const struct schedules *all, const char *message)
{
    struct text out = {.arena = &arena};
    int errors = schedules_check(&arena, all, &out);
    text_printf(&said, "%s", text_string(&out));
    if (errors == 0 || !strstr(text_string(&out), message))
        fail_msg("wanted: %s\nfound: %s", message, text_string(&out));
}

/* A copy of a schedule's demand that may be changed. */
static struct demand *own_demand(struct schedule *s)
{
    struct demand *d = NEW(&arena, struct demand);
    *d = *s->demand;
    d->variant_of = NEW_ARRAY(&arena, int, d->plan->problem->paths);
    memcpy(d->variant_of, s->demand->variant_of, (size_t)d->plan->problem->paths * sizeof(int));
    s->demand = d;
    return d;
}

static void every_path_once(void **state)
{
    (void)state;
    const struct schedules *all;
    struct kernel_schedule *k = plan_for(&backend_c, mixed, 0, &all);
    own_demand(&k->schedule[0])->variant_of[1] = -1;
    expect(all, "kernel forward: path 1 of output z is computed 0 times");
    k = plan_for(&backend_cuda, mixed, 0, &all);
    assert_int_equal(k->schedules, 2);
    own_demand(&k->schedule[1])->variant_of[0] = 0;
    expect(all, "path 0 of output z is computed 2 times");
}

static void outputs_written_once(void **state)
{
    (void)state;
    const struct schedules *all;
    struct kernel_schedule *k = plan_for(&backend_cuda, mixed, 0, &all);
    k->schedule[1].before = NULL;
    expect(all, "writes z, which");
    k = plan_for(&backend_cuda, mixed, 0, &all);
    k->schedule[0].before = k->schedule[1].demand;
    expect(all, "adds to z, which nothing has written");
    k = plan_for(&backend_cuda, mixed, 1, &all);
    for (int s = 0; s < k->schedules; s++)
        if (k->schedule[s].before) {
            struct demand *other = NEW(&arena, struct demand);
            *other = *k->schedule[s].before;
            other->outputs = 0;
            k->schedule[s].before = other;
        }
    expect(all, "of which it does not know what is written");
    k = plan_for(&backend_c, mixed, 0, &all);
    own_demand(&k->schedule[0])->outputs = 0;
    expect(all, "output z is computed by nothing");
}

static void weights_written_once(void **state)
{
    (void)state;
    const struct schedules *all;
    struct kernel_schedule *k = plan_for(&backend_cuda, mixed, 1, &all);
    k->schedules = 1;
    expect(all, "the weights of path 2 in gw are written 0 times");
}

static void areas_named_once(void **state)
{
    (void)state;
    const struct schedules *all;
    struct kernel_schedule *k = plan_for(&backend_c, mixed, 2, &all);
    assert_true(k->schedules > 1);
    k->schedule[1].name = k->schedule[0].name;
    expect(all, "two areas of the workspace are named");
    k = plan_for(&backend_c, mixed, 0, &all);
    ((struct loops *)k->schedule[0].own)->scratch = 0;
    expect(all, "has no elements");
}

/* The demand of a schedule gets all outputs of the kernel. */
static void take_all_outputs(struct kernel_schedule *k, struct schedule *s)
{
    struct demand *d = own_demand(s);
    d->outputs = k->kernel->form->outputs;
    d->output = NEW_ARRAY(&arena, int, d->outputs);
    s->route = NEW_ARRAY(&arena, struct route, d->outputs);
    for (int o = 0; o < d->outputs; o++)
        d->output[o] = o;
}

static void rows_have_an_owner(void **state)
{
    (void)state;
    const struct schedules *all;
    struct kernel_schedule *k = plan_for(&backend_c, mixed, 2, &all);
    take_all_outputs(k, &k->schedule[0]);
    expect(all, "loops_receivers: outputs have several owners");
    k = plan_for(&backend_cuda, mixed, 2, &all);
    for (int s = 0; s < k->schedules; s++)
        if (!strcmp(k->schedule[s].evaluation->name, "general"))
            take_all_outputs(k, &k->schedule[s]);
    expect(all, "general_receivers: outputs have several owners");
    expect(all, "nobody owns the rows of");
}

/* The plan of the first schedule, which this evaluation has made, of a new plan for the kernel. */
static void *own_plan(const char *evaluation, const struct backend *backend, const char *source, int kernel,
                      const struct schedules **all)
{
    struct kernel_schedule *k = plan_for(backend, source, kernel, all);
    assert_string_equal(k->schedule[0].evaluation->name, evaluation);
    return k->schedule[0].own;
}

static void scratch_of_loops(void **state)
{
    (void)state;
    const struct schedules *all;
    struct loops *l = own_plan("loops", &backend_c, mixed, 0, &all);
    l->t_at = l->p_at + 1;
    expect(all, "loops: areas of the scratch overlap");
    l = own_plan("loops", &backend_c, mixed, 0, &all);
    l->sum_at = l->sums_length - 1;
    expect(all, "loops: areas of the scratch overlap");
    l = own_plan("loops", &backend_c, mixed, 0, &all);
    l->t_at = l->sum_at - 1;
    expect(all, "loops: areas of the scratch overlap");
    l = own_plan("loops", &backend_c, mixed, 0, &all);
    l->scratch = l->p_at - 1;
    expect(all, "loops: areas of the scratch overlap");
    l = own_plan("loops", &backend_c, mixed, 0, &all);
    l->staging[0] = STAGE_ROW;
    l->brought_at[0] = l->temporary_at;
    expect(all, "loops: the copy of x goes beyond the scratch");
    struct kernel_schedule *k = plan_for(&backend_c, mixed, 1, &all);
    for (int s = 0; s < k->schedules; s++) {
        l = k->schedule[s].own;
        for (int i = 0; i < l->sums; i++)
            l->sum[i].at = l->sums_length;
    }
    expect(all, "sum 0 over channels goes beyond what is cleared");
}

static struct schedule *new_convolution(const char *source, int kernel, const struct schedules **all)
{
    struct kernel_schedule *k = plan_for(&backend_cuda, source, kernel, all);
    assert_string_equal(k->schedule[0].evaluation->name, "convolution");
    return &k->schedule[0];
}

/* What a path set was chosen by is what its program takes. */
static void work_of_the_convolution(void **state)
{
    const char *const spec[] = {alike, together, narrow, mixed};
    (void)state;
    for (int i = 0; i < 4 * 3; i++) {
        const struct schedules *all;
        const int kernel = spec[i / 3] == alike || spec[i / 3] == together ? 0 : i % 3;
        for (const struct pipeline *p = new_convolution(spec[i / 3], kernel, &all)->pipeline; p;
             p = p->next) {
            assert_float_equal(cost_instructions(&p->planned), cost_instructions(&p->work), 1e-6);
            assert_float_equal(p->planned.bytes, p->work.bytes, 1);
        }
    }
    assert_float_equal(cost_copies(512, 4), 4 * cost_copies(512, 16), 1e-6);
}

static struct pipeline *own_loop(const char *source, const struct schedules **all)
{
    return new_convolution(source, 0, all)->pipeline;
}

/* Edges side by side leave each lane more of a receiver's sums: where these are much beside an edge's work,
 * as in forward, a warp has one; where nothing leaves, several, if one path set has all. */
static void lanes_of_the_convolution(void **state)
{
    const struct schedules *all;
    (void)state;
    for (int kernel = 0; kernel < 2; kernel++)
        for (const struct pipeline *p = new_convolution(kernel ? few_rows : rows, kernel, &all)->pipeline; p;
             p = p->next)
            assert_int_equal(p->spread[0].lanes, kernel == 0 ? LANES : 8);
    const struct path_set one = {.lanes = LANES}, eight = {.lanes = 4};
    assert_float_equal(conv_of_edge(&one, 100, 0), 100, 1e-6);
    assert_true(conv_of_edge(&eight, 800, 0) > 100); /* turns that a receiver does not fill */
    assert_true(conv_of_edge(&eight, 800, 400) > conv_of_edge(&eight, 800, 0));
}

static void memory_of_the_convolution(void **state)
{
    (void)state;
    const struct schedules *all;
    const int there = device_named("sm_90")->shared_bytes;
    struct pipeline *p = own_loop(mixed, &all);
    p->of_warp.field[0].count[0] = 1;
    expect(all, "convolution: a ring of 1 stages");
    p = own_loop(mixed, &all);
    p->of_block.field[0].at = -16;
    expect(all, "convolution: shared memory: ");
    p = own_loop(mixed, &all);
    ((struct layout *)p->of_block.field[0].of)->field[0].bytes += 1 << 20;
    expect(all, "convolution: shared memory: ");
    p = own_loop(mixed, &all);
    p->of_block.bytes = there + 1;
    expect(all,
           arena_printf(&arena, "convolution: a block of %d bytes of %d that there are", there + 1, there));
    p = own_loop(mixed, &all);
    for (int i = 0; i < p->places; i++)
        if (strcmp(p->place[i].name, "rows") == 0)
            p->place[i].field->length = 1;
    expect(all, "does not fit its buffer of 4");
    p = own_loop(mixed, &all);
    p->set->sums = 1 << 16;
    expect(all, "convolution: path set 0: a team's sums are larger than its rings and buffers");
}

static void rules_of_the_convolution(void **state)
{
    (void)state;
    const struct schedules *all;
    struct pipeline *p = own_loop(mixed, &all);
    const int path = p->set->path[--p->set->paths];
    expect(all, arena_printf(&arena, "convolution: path %d is in 0 path sets", path));
    p->set->paths++;
    ((int *)p->set->path)[0] = 2; /* which is the general evaluation's */
    expect(all, "convolution: path 2 is in 1 path sets");
    p = own_loop(mixed, &all);
    p->spread[0].mul++;
    expect(all, "warps do not have 33 channels");
    new_convolution(mixed, 0, &all)->route[0].compensated = true;
    expect(all, "rounding errors of z are carried along");
    p = own_loop(mixed, &all);
    p->walk.orders = true;
    expect(all, "rows of items are not those of edges as they come");
    p = own_loop(mixed, &all);
    assert_true(p->walk.teams);
    p->worker.teams = 3;
    p->spread[0].blocks = 2;
    p->group[3].layout.fields = 1; /* which are added up over the warps of a block */
    expect(all, "convolution: teams of warps of several blocks");
    p = own_loop(mixed, &all);
    p->spread[0].lanes = 16, p->worker.warps = 2;
    expect(all, "convolution: path set 0: edges side by side whose sums others share");
    p = own_loop(alike, &all);
    assert_int_equal(p->sets, 2);
    ((int *)p->set[1].path)[0] = p->set[1].path[1];
    expect(all, "path set 1 has not the loop of path set 0");
    for (int field = 0; field < 2; field++) {
        p = own_loop(alike, &all);
        --*(field ? &p->set[1].paths : &p->set[1].sums);
        expect(all, "path set 1 has not the loop of path set 0");
    }
    p = own_loop(together, &all);
    ((int *)p->set->path)[0] = p->set->path[1];
    ((int *)p->set->path)[1] = 0;
    expect(all, "path 0 is computed with others than its own");
}

static struct staged *new_staged(int kernel, const struct schedules **all)
{
    return own_plan("staged", &backend_cuda, staged, kernel, all);
}

static void rules_of_staged_weights(void **state)
{
    (void)state;
    const struct schedules *all;
    struct staged *g = new_staged(1, &all);
    g->part->pass[BY_ROWS][1].first++;
    expect(all, "staged: rows of segment 0: channel 33 comes after 32");
    g = new_staged(1, &all);
    g->part->pass[BY_ROWS][0].warp = g->warps;
    expect(all, arena_printf(&arena, "staged: rows of segment 0: lane 32 of warp %d", g->warps));
    g = new_staged(1, &all);
    g->part->pass[BY_ROWS][0].lanes = STAGED_LANES + 1;
    expect(all, "staged: rows of segment 0: lane 33 of warp 0");
    g = new_staged(0, &all);
    g->part->pass[BY_COLUMNS][0].first = 1;
    expect(all, "staged: columns of segment 0: channels 1 to 33 of 0 to 32");
    g = new_staged(0, &all);
    g->part->pass[BY_COLUMNS][0].lanes--;
    expect(all, "staged: columns of segment 0: channels 0 to 31 of 0 to 32");
    g = new_staged(0, &all);
    g->stages = 0;
    expect(all, "staged: a ring of 0 stages");
    g = new_staged(0, &all);
    g->owner = INDEX_SENDER;
    expect(all, "staged: items in the order of senders, whose edges nobody lists");
    g = new_staged(0, &all);
    g->block->field[0].at = 8;
    expect(all, "staged: shared memory: ");
    g = new_staged(0, &all);
    g->block->bytes = g->device->shared_bytes + 1;
    expect(all, arena_printf(&arena, "staged: a block of %d bytes of %d that there are", g->block->bytes,
                             g->device->shared_bytes));
    g = new_staged(3, &all); /* gradients of both inputs of weights */
    int w[2], n = 0;
    for (int o = 0; o < g->demand->outputs; o++)
        if (g->in_place[o] >= 0)
            w[n++] = o;
    assert_int_equal(n, 2);
    g->in_place[w[1]] = g->in_place[w[0]];
    expect(all, "staged: t_w and t_cw take the place of the same weights");
}

static void rules_of_staged_channels(void **state)
{
    (void)state;
    const struct schedules *all;
    struct staged *g = own_plan("staged", &backend_cuda, channels, 1, &all);
    assert_int_equal(g->part->pass[BY_ROWS][0].channels, 2);
    assert_int_equal(g->sums_from, 1);
    g->wide = false;
    expect(all, "staged: rows of segment 0: 2 channels of a lane of 1 that may be");
    g = own_plan("staged", &backend_cuda, channels, 1, &all);
    g->sums_to--;
    expect(all, "staged: path 0: no sums of its gradients of y");
}

static struct staged *new_parts(const struct schedules **all)
{
    struct staged *g = own_plan("staged", &backend_cuda, parts, 0, all);
    assert_int_equal(g->parts, 2);
    assert_int_equal(g->items, 3);
    return g;
}

static void rules_of_staged_parts(void **state)
{
    (void)state;
    const struct schedules *all;
    struct staged *g = new_parts(&all);
    const int cut = g->part[1].piece[0].from;
    assert_true(cut > 0 && g->part[1].piece[0].path == 0 && g->part[0].pieces == 1);
    g->part[1].piece[0].from++;
    expect(all, arena_printf(&arena, "staged: part 1: channel %d of path 0 comes after %d", cut + 1, cut));
    g = new_parts(&all);
    g->part[1].to--;
    expect(all, "staged: part 1: weights of path 1 are not in it");
    g = new_parts(&all);
    g->part[1].pieces--;
    expect(all, "staged: path 1: 0 channels of 40 in parts");
    g = new_parts(&all);
    g->part[0].from = 4;
    expect(all, "staged: part 0: begins 4 elements after element 0");
    g = new_parts(&all);
    g->part[0].base = 1;
    expect(all, "staged: part 0: begins 0 elements after element 1");
    g = new_parts(&all);
    g->whole.pass[BY_ROWS][1].first++;
    expect(all, "staged: rows of segment 0: channel 33 comes after 32");
    g = new_parts(&all);
    g->items--;
    expect(all, "staged: rows of 2 items, of 3 under way");
}

/* What pipeline/check.c has to say is broken by tests of its own (unit_pipeline.c). */
static void rules_of_pipelines(void **state)
{
    (void)state;
    const struct schedules *all;
    struct schedule *s = &plan_for(&backend_cuda, tiled, 0, &all)->schedule[0];
    struct pipeline *p = s->pipeline;
    p->set->path++;
    p->set->paths--;
    expect(all, "tiled: path 0 is in 0 path sets");
    s = &plan_for(&backend_cuda, batch, 0, &all)->schedule[0];
    s->pipeline->set->path++;
    s->pipeline->set->paths--;
    expect(all, "batch: path 0 is in 0 path sets");
    s = &plan_for(&backend_cuda, tiled, 0, &all)->schedule[0];
    own_demand(s)->variant_of[1] = -1;
    expect(all, "tiled: path 1 is in 1 path sets");
    s = &plan_for(&backend_cuda, tiled, 0, &all)->schedule[0];
    p = s->pipeline;
    p->of_block.bytes = s->target->device->shared_bytes + 128;
    expect(all, arena_printf(&arena, "tiled: a block of %d bytes of %d that there are", p->of_block.bytes,
                             s->target->device->shared_bytes));
}

static struct gemm *new_gemm(const struct schedules **all)
{
    struct gemm *g = own_plan("gemm", &backend_cuda, gemm, 1, all);
    assert_null(g->rows[GEMM_FORTH].demand);
    assert_int_equal(g->rows[GEMM_BACK].spans, 1);
    assert_int_equal(g->sum_count, 2);
    assert_int_equal(g->parts, 18);
    return g;
}

static struct gemm_rows *new_back(const struct schedules **all)
{
    return &new_gemm(all)->rows[GEMM_BACK];
}

static void rows_by_gemm(void **state)
{
    (void)state;
    const struct schedules *all;
    struct gemm_rows *r = new_back(&all);
    r->span[0].first = 1;
    expect(all, "gemm: chunks of span 0 of x begin at 1, not 0");
    r = new_back(&all);
    r->span[0].tiles = 0;
    expect(all, arena_printf(&arena, "gemm: span 0 of x: %d chunks of 0 blocks for 192 channels",
                             r->span[0].chunks));
    r = new_back(&all);
    r->span[0].segment = 1;
    expect(all, "gemm: path 0 is in a span of segment 1 of x");
    r = new_back(&all);
    r->span[0].paths = 1;
    expect(all, "gemm: path 1 is in 0 spans of x");
    r = new_back(&all);
    r->blocks[1] = 11;
    expect(all, arena_printf(&arena, "gemm: path 1: 11 blocks of weights for %d chunks of %d",
                             r->span[0].chunks, r->span[0].tiles));
    r = &((struct gemm *)own_plan("gemm", &backend_cuda, gemm, 0, &all))->rows[GEMM_FORTH];
    r->span[0].paths = 0;
    expect(all, "gemm: path 0 is in 0 spans of z");
    r = new_back(&all);
    r->block.field[0].at = 8;
    expect(all, "gemm: shared memory of x: ");
    r = new_back(&all);
    r->block.bytes = 1 << 20;
    expect(all, "gemm: a block of x of 1048576 bytes of 232448 that there are");
}

static void sums_by_gemm(void **state)
{
    (void)state;
    const struct schedules *all;
    struct gemm *g = new_gemm(&all);
    g->sum[1].first = 11;
    expect(all, "gemm: parts of path 1 begin at 11, before 12");
    g = new_gemm(&all);
    g->sum[1].tiles = 2;
    expect(all,
           arena_printf(&arena, "gemm: path 1: %d chunks of 2 blocks for 192 channels", g->sum[1].chunks));
    g = new_gemm(&all);
    g->sum[1].parts = 5;
    expect(all, "gemm: path 1: 5 parts for 20 channels"); /* from z to x */
    g = new_gemm(&all);
    g->sets = 1;
    expect(all, "gemm: 1 sets of 9 warps for 18 parts");
    g = new_gemm(&all);
    g->sum_count = 1;
    expect(all, "gemm: path 1 has 0 sums");
    g = new_gemm(&all);
    g->sum_block.field[0].at = 8;
    expect(all, "gemm: shared memory of sums: ");
    g = new_gemm(&all);
    g->sum_block.bytes = g->device->shared_bytes + 1;
    expect(all, arena_printf(&arena, "gemm: a block of sums of %d bytes of %d that there are",
                             g->sum_block.bytes, g->device->shared_bytes));
}

static void times_of_gemm(void **state)
{
    (void)state;
    const struct schedules *all;
    struct gemm *g = new_gemm(&all);
    g->rows[GEMM_BACK].time = 0;
    expect(all, "gemm: a tile of x takes no time");
    g = new_gemm(&all);
    g->time = 0;
    expect(all, "gemm: a tile of sums takes no time");
    g = new_gemm(&all);
    g->turn = g->warps;
    expect(all, arena_printf(&arena, "gemm: parts from number %d of %d on", g->warps, g->warps));
}

static struct paired *new_paired(const struct schedules **all)
{
    return own_plan("paired", &backend_cuda, paired, 0, all);
}

static void rules_of_paired_items(void **state)
{
    (void)state;
    const struct schedules *all;
    struct paired *g = new_paired(&all);
    g->set[0].first = 8;
    expect(all, "paired: path set 0: path 0 from channel 8 on, after 0");
    g = new_paired(&all);
    g->set[0].mul++;
    expect(all, "paired: path set 0: path 0 from channel 0 on, after 0");
    g = new_paired(&all);
    g->set[0].lanes--;
    expect(all, "paired: path 1: 39 channels of 40");
    g = new_paired(&all);
    g->set[0].lanes += 1000;
    expect(all, "paired: path set 0: 1040 channels of ");
    g = new_paired(&all);
    g->kind[0].first = 1;
    expect(all, "paired: kind 0 begins with path set 1, not 0");
    g = new_paired(&all);
    g->kind[0].sets = 3;
    expect(all, arena_printf(&arena, "paired: kinds of 3 path sets, not %d", g->sets));
    g = new_paired(&all);
    g->groups = 7;
    expect(all, arena_printf(&arena, "paired: 7 groups of %d warps", g->warps));
    g = new_paired(&all);
    g->in_place = true;
    expect(all, "paired: results in place of rows that are read again");
    g = new_paired(&all);
    g->block->field[0].at = 8;
    expect(all, "paired: shared memory: ");
    g = new_paired(&all);
    g->block->bytes = g->device->shared_bytes + 1;
    expect(all, arena_printf(&arena, "paired: a block of %d bytes of %d that there are", g->block->bytes,
                             g->device->shared_bytes));
    g = own_plan("paired", &backend_cuda, direct, 0, &all);
    assert_true(g->direct);
    g->owner = INDEX_ITEM;
    expect(all, "paired: threads alone, where they have not all that they need");
}

static struct nodal *new_nodal(const struct schedules **all)
{
    return own_plan("nodal", &backend_cuda, nodal, 0, all);
}

static void rules_of_nodal_matrices(void **state)
{
    (void)state;
    const struct schedules *all;
    struct nodal *g = new_nodal(&all);
    g->making[1].warp = 8;
    expect(all, "nodal: task 1 is of warp 8");
    g = new_nodal(&all);
    g->makings = 1;
    expect(all, "nodal: 1 tasks and 0 paths, not 2 and 0");
    g = new_nodal(&all);
    g->making_abreast = 2;
    expect(all, "nodal: 2 warps abreast make 1 matrices");
    g = new_nodal(&all);
    g->flow_abreast = 4;
    expect(all, "nodal: 4 warps abreast take 0 sums");
    g = new_nodal(&all);
    g->job[0].cells = 0;
    expect(all, "nodal: cell 0 is in 0 jobs");
    g = new_nodal(&all);
    g->job[0].cell[g->job[0].cells++] = 1;
    g->cell[1].paths = 0;
    expect(all, "nodal: job 0: cells of 1 and 0 paths");
    g = new_nodal(&all);
    g->cell[1].paths = 0;
    expect(all, "nodal: path 1 is in 0 cells");
    g = new_nodal(&all);
    g->operand[0].matrix = 1;
    expect(all, "nodal: operand 0 is of matrix 1 of 1");
    g = new_nodal(&all);
    g->stages = 1;
    expect(all, "nodal: a ring of 1 tiles");
    g = new_nodal(&all);
    g->block.field[0].at = 8;
    expect(all, "nodal: shared memory: ");
    g = new_nodal(&all);
    g->block.bytes = g->device->shared_bytes + 1;
    expect(all, arena_printf(&arena, "nodal: a block of %d bytes of %d that there are", g->block.bytes,
                             g->device->shared_bytes));
}

static struct lanes *new_lanes(const struct schedules **all, struct nodal **front)
{
    struct lanes *g = own_plan("lanes", &backend_cuda, lanes, 0, all);
    *front = NEW(&arena, struct nodal);
    **front = *g->nodal;
    g->nodal = *front;
    return g;
}

static void rules_of_matrices_in_lanes(void **state)
{
    (void)state;
    const struct schedules *all;
    struct nodal *n;
    struct lanes *g = new_lanes(&all, &n);
    assert_true(g->rows == 1 && g->columns == 2);
    g->nz = 2;
    expect(all, "lanes: 1 times 1 segments of x and 2 times 2 of z, not 1 and 2");
    g = new_lanes(&all, &n);
    n->jobs = 0;
    expect(all, "lanes: 0 kinds of cells, not 1");
    expect(all, "lanes: path 0 is in 0 cells");
    g = new_lanes(&all, &n);
    n->job[0].cells = 1;
    expect(all, "lanes: 1 cells of kind 0 for 2 lanes");
    expect(all, "lanes: path 1 is in 0 cells");
    g = new_lanes(&all, &n);
    n->job[0].cell[1] = n->job[0].cell[0];
    expect(all, "lanes: path 0 is in 2 cells");
    g = new_lanes(&all, &n);
    n->mul = 24;
    expect(all, "lanes: blocks of 16 channels of 24");
    g = new_lanes(&all, &n);
    g->copiers = 2 * g->items;
    expect(all,
           arena_printf(&arena, "lanes: tiles of %d items for %d warps that copy", g->items, g->copiers));
    g = new_lanes(&all, &n);
    g->stages = 1;
    expect(all, "lanes: a ring of 1 tiles");
    g = new_lanes(&all, &n);
    g->splits = 2;
    g->warps = 3;
    expect(all, "lanes: 3 warps for 2 parts of a matrix");
    expect(all, "lanes: 2 parts of 1 by 1 components");
    expect(all, arena_printf(&arena, "lanes: %d products and %d sums in parts", n->products, n->outers));
    expect(all, "lanes: output 0 in the place of rows that several warps read");
    g = new_lanes(&all, &n);
    assert_true(g->in_place_of[0] >= 0 && g->in_place_of[1] >= 0);
    g->in_place_of[1] = g->in_place_of[0];
    expect(all, "lanes: outputs 0 and 1 in one place");
    g = new_lanes(&all, &n);
    g->block.field[0].at = 8;
    expect(all, "lanes: shared memory: ");
    g = new_lanes(&all, &n);
    g->block.bytes = n->device->shared_bytes + 1;
    expect(all, arena_printf(&arena, "lanes: a block of %d bytes of %d that there are", g->block.bytes,
                             n->device->shared_bytes));
}

/* ---- every rule ---- */

/* The string that stands at p, of several literals. */
static const char *literal(const char *p)
{
    struct text t = {.arena = &arena};
    while (*p == '"') {
        size_t n = strcspn(++p, "\"");
        text_put(&t, p, n);
        p += n + 1;
        p += strspn(p, " \n");
    }
    return text_string(&t);
}

/* Is the line the evaluation's (NULL: anyone's), and made with the format? */
static bool made_with(const char *line, const char *evaluation, const char *format)
{
    const char *message = strstr(line, ": ");
    const char *name = evaluation ? strstr(line, evaluation) : line;
    if (!message || !name || name > message)
        return false;
    message += 2;
    for (const char *p = format; *p;) {
        const size_t n = strcspn(p, "%");
        const char *part = arena_string(&arena, p, n), *found = strstr(message, part);
        if (!found || (p == format && found != message))
            return false;
        message = found + n;
        p += n + (p[n] ? 2 : 0); /* %d or %s */
    }
    return true;
}

static int count_rules(const char *file, const char *evaluation)
{
    size_t size;
    int rules = 0;
    const char *source = file_read(&arena, file, SIZE_MAX, &size);
    assert_non_null(source);
    for (const char *p = source; (p = strstr(p, "check_that("));) {
        p += strlen("check_that(");
        if (p[strspn(p, " \n")] != 'c') /* its definition */
            continue;
        const char *format = literal(strchr(p, '"'));
        bool broken = false;
        char *lines = arena_string(&arena, said.s, said.n);
        for (char *line = strtok(lines, "\n"); line && !broken; line = strtok(NULL, "\n"))
            broken = made_with(line, evaluation, format);
        if (!broken)
            fail_msg("%s: no test breaks the rule: %s", file, format);
        rules++;
    }
    return rules;
}

static void every_rule_is_broken(void **state)
{
    (void)state;
    glob_t found;
    int rules = count_rules("cgtpgen/schedule/check.c", NULL);
    assert_int_equal(glob("cgtpgen/schedule/*/*.c", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *name = found.gl_pathv[i] + strlen("cgtpgen/schedule/");
        rules += count_rules(found.gl_pathv[i], arena_string(&arena, name, strcspn(name, "/")));
    }
    globfree(&found);
    assert_true(rules >= 36);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_path_once),
        cmocka_unit_test(outputs_written_once),
        cmocka_unit_test(weights_written_once),
        cmocka_unit_test(areas_named_once),
        cmocka_unit_test(rows_have_an_owner),
        cmocka_unit_test(scratch_of_loops),
        cmocka_unit_test(work_of_the_convolution),
        cmocka_unit_test(memory_of_the_convolution),
        cmocka_unit_test(lanes_of_the_convolution),
        cmocka_unit_test(rules_of_the_convolution),
        cmocka_unit_test(rules_of_staged_weights),
        cmocka_unit_test(rules_of_staged_channels),
        cmocka_unit_test(rules_of_staged_parts),
        cmocka_unit_test(rules_of_pipelines),
        cmocka_unit_test(rows_by_gemm),
        cmocka_unit_test(sums_by_gemm),
        cmocka_unit_test(times_of_gemm),
        cmocka_unit_test(rules_of_nodal_matrices),
        cmocka_unit_test(rules_of_matrices_in_lanes),
        cmocka_unit_test(rules_of_paired_items),
        cmocka_unit_test(every_rule_is_broken), /* last */
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, teardown);
}
