/* unit_check.c - the checker of plans: it has nothing to say of plans as they are made, and reports each
 * wrong one that is seeded here, by the rule that it breaks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "emit/backend.h"
#include "schedule/check.h"
#include "schedule/cover.h"

#include <string.h>

static struct arena arena;

static int teardown(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

/* Paths for two evaluations of a GPU: one of 32 channels, one that needs something else; weights of both. */
static const char mixed[] =
    "cgtp: 1\nname: t\nirreps: {x: 32x0e + 4x0e, y: 1x0e + 1x1o, z: 32x0e + 32x1o + 4x0e}\n"
    "instructions: [[0, 0, 0, uvu], [0, 1, 1, uvu], [1, 0, 2, uvu]]\n"
    "index: {x: sender, y: item, w: item, z: receiver}\nkernels: [forward, backward, double_backward]\n";

/* Schedules that a test may change; kernel: its number. */
static struct kernel_schedule *plan_for(const struct backend *backend, const char *source, int kernel,
                                        const struct schedules **all)
{
    struct diag diag = {
        .file = "t", .source = source, .source_size = strlen(source), .out = {.arena = &arena}};
    struct wigner *wigner = NEW(&arena, struct wigner);
    wigner->arena = &arena;
    struct spec *spec = spec_read(&arena, &diag);
    struct problem *problem = spec ? problem_build(&arena, wigner, spec, &diag) : NULL;
    struct form *form = problem ? form_build(&arena, problem, &diag) : NULL;
    if (!form)
        fail_msg("%s", text_string(&diag.out));
    const struct target target = {device_named(backend->device), backend->evaluations};
    *all = schedules_build(&arena, plan_build(&arena, problem, form), &target);
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
}

static void rows_have_an_owner(void **state)
{
    (void)state;
    const struct schedules *all;
    struct kernel_schedule *k = plan_for(&backend_c, mixed, 2, &all);
    struct demand *d = own_demand(&k->schedule[0]);
    d->outputs = k->kernel->form->outputs;
    d->output = NEW_ARRAY(&arena, int, d->outputs);
    for (int o = 0; o < d->outputs; o++)
        d->output[o] = o;
    expect(all, "outputs have several owners");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_path_once),      cmocka_unit_test(outputs_written_once),
        cmocka_unit_test(weights_written_once), cmocka_unit_test(areas_named_once),
        cmocka_unit_test(rows_have_an_owner),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, teardown);
}
