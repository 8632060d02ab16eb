/* unit_tables.c - the tables of devices, backends, emitters and reports: each row is complete and can be
 * chosen on the command line, each device can be tuned in a spec, and each knob takes exactly the values of
 * its range.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/options.h"
#include "cli/print.h"
#include "emit/backend.h"
#include "emit/emitter.h"
#include "schedule/check.h"
#include "schedule/cover.h"
#include "spec/spec.h"
#include "unit_source.h"

#include <stdio.h>
#include <string.h>

static struct arena arena;

static int teardown(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

#define HEAD "cgtp: 1\nname: t\nirreps: {x: 4x1o, y: 1x1o, z: 4x0e}\ninstructions: [[0, 0, 0, uvu]]\n"

/* The spec with these lines added; NULL where they are wrong. messages: what was said. */
static struct spec *read(const char *lines, const char **messages)
{
    const char *source = arena_printf(&arena, HEAD "%s", lines);
    struct diag diag = {.file = "t", .source = source, .source_size = strlen(source), .arena = &arena};
    struct spec *spec = spec_read(&arena, &diag);
    *messages = diag_text(&diag);
    return spec;
}

/* Is every figure that a planner reads there? */
static void rows(void **state)
{
    (void)state;
    for (int i = 0; i < device_count; i++) {
        const struct device *d = &device_table[i];
        assert_ptr_equal(device_named(d->name), d); /* no name twice */
        assert_ptr_equal(device_names(&arena)[i], d->name);
        assert_true(d->lanes >= 1);
        assert_int_equal(d->knobs > 0, d->occupancies > 0);
        if (!d->occupancies)
            continue;
        assert_true(d->shared_bytes >= 1 << 15 && d->shared_bytes % 1024 == 0);
        for (int p = 0; p < PRECISION_ARITHMETIC; p++)
            assert_true(d->fma[p] > 0);
        assert_true(d->fma[PRECISION_FLOAT32] >= d->fma[PRECISION_FLOAT64]);
        assert_non_null(d->machine.name);
        assert_true(d->machine.bytes > 5e11 && d->machine.bytes < 1e13);
        assert_true(device_fma_rate(d, PRECISION_FLOAT32) > 5e12);
        for (int o = 0; o < d->occupancies; o++) {
            const struct occupancy *q = &d->occupancy[o];
            int registers = device_registers(d, q->warps);
            assert_true(q->issue > 0);
            assert_true(registers * q->warps * d->lanes <= d->registers && registers <= d->registers_most);
            assert_true(o == 0 || registers > device_registers(d, d->occupancy[o - 1].warps));
        }
    }
    assert_null(device_named("sm_9"));
    assert_true(device_fma_rate(device_named("sm_90"), PRECISION_FLOAT32) == 128 * 132 * 1980e6);
    assert_true(device_fma_rate(device_named("c"), PRECISION_FLOAT32) == 0);
}

/* What launch bounds give a thread on all NVIDIA GPUs so far: 64 Ki registers in eights, at most 255. */
static void registers(void **state)
{
    static const int known[][2] = {{8, 255}, {12, 168}, {16, 128}, {24, 80}, {32, 64}};
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_int_equal(device_registers(device_named("sm_90"), known[i][0]), known[i][1]);
}

/* --arch takes each name, for the backend that the row names and for no other. */
static void arch(void **state)
{
    (void)state;
    for (int i = 0; i < device_count; i++) {
        const struct device *d = &device_table[i];
        int fit = 0;
        for (int b = 0; b < backend_count; b++) {
            const char *name = backend_table[b]->name;
            char *argv[] = {"cgtpgen", arena_printf(&arena, "--arch=%s", d->name),
                            arena_printf(&arena, "--backend=%s", name), "spec", NULL};
            struct text error = {.arena = &arena};
            struct options options;
            bool read = options_read(&arena, 4, argv, &options, &error);
            assert_int_equal(read, strcmp(name, d->backend) == 0);
            fit += read;
            if (read) {
                assert_ptr_equal(options.device, d);
                assert_ptr_equal(options.backend, backend_table[b]);
            }
        }
        assert_int_equal(fit, 1);
    }
}

/* Without --arch a backend plans for its own default; the first of them is the default backend. */
static void backends(void **state)
{
    (void)state;
    for (int b = -1; b < backend_count; b++) {
        const struct backend *backend = backend_table[b < 0 ? 0 : b];
        char *argv[] = {"cgtpgen", "spec", arena_printf(&arena, "--backend=%s", backend->name), NULL};
        struct text error = {.arena = &arena};
        struct options options;
        if (!options_read(&arena, b < 0 ? 2 : 3, argv, &options, &error))
            fail_msg("%s", text_string(&error));
        assert_ptr_equal(options.backend, backend);
        assert_string_equal(options.device->name, backend->device);
        assert_string_equal(options.device->backend, backend->name);
        assert_non_null(strstr(options_help, backend->name));
    }
}

/* --emit and --print take each word of their tables: the rows that have it and no others. --help lists them.
 */
static void words(void **state)
{
    (void)state;
    for (int i = 0; i < emitter_count + print_count; i++) {
        bool emit = i < emitter_count;
        const char *word = emit ? emitter_table[i].word : print_table[i - emitter_count].word;
        const char *backend = emit && emitter_table[i].backend ? emitter_table[i].backend : "cuda";
        char *argv[] = {"cgtpgen", "spec", arena_printf(&arena, "--backend=%s", backend),
                        arena_printf(&arena, "--%s=%s", emit ? "emit" : "print", word), NULL};
        struct text error = {.arena = &arena};
        struct options options;
        if (!options_read(&arena, 4, argv, &options, &error))
            fail_msg("%s", text_string(&error));
        for (int e = 0; e < emitter_count; e++)
            assert_int_equal(options.emit >> e & 1,
                             emit ? !strcmp(emitter_table[e].word, word) ||
                                        (emitter_table[i].runtime && !strcmp(emitter_table[e].word, "runtime"))
                                  : emitter_table[e].by_default);
        assert_int_equal(options.print, emit ? 0 : 1u << (i - emitter_count));
        assert_non_null(strstr(options_help, word));
    }
}

/* tune takes each device with each of its knobs, at each end of the range and not beyond, nor between steps.
 */
static void tune(void **state)
{
    (void)state;
    for (int i = 0; i < device_count; i++)
        for (int k = 0; k < device_table[i].knobs; k++) {
            const struct device *d = &device_table[i];
            const struct knob_range *q = &d->knob[k];
            if (!q->step) /* takes a word: see devices_emit */
                continue;
            const int second = q->step == DOUBLES ? 2 * q->least : q->least + q->step;
            const int between = q->step == DOUBLES ? second + 1 : second - 1;
            const int values[] = {q->least, q->most, second, q->least - 1, q->most + 1, between};
            for (int v = 0; v < 6; v++) {
                const char *said;
                bool good = v < 3 || (v == 5 && q->step == 1);
                struct spec *spec = read(
                    arena_printf(&arena, "tune: {%s: {%s: %d}}\n", d->name, knob_name[q->knob], values[v]),
                    &said);
                assert_int_equal(spec != NULL, good);
                assert_int_equal(knob_allows(q, values[v]), good);
                if (!good) {
                    assert_non_null(strstr(said, arena_printf(&arena, "%s is %d; expected %d",
                                                              knob_name[q->knob], values[v], q->least)));
                    continue;
                }
                assert_int_equal(spec->knobs, 1);
                assert_ptr_equal(spec->knob->device, d);
                assert_int_equal(spec->knob->knob, q->knob);
                assert_int_equal(spec->knob->value, values[v]);
            }
        }
}

/* A device without knobs takes the empty mapping and nothing else. */
static void untuned(void **state)
{
    (void)state;
    for (int i = 0; i < device_count; i++) {
        const char *said, *name = device_table[i].name;
        assert_non_null(read(arena_printf(&arena, "tune: {%s: {}}\n", name), &said));
        for (int k = 0; k < KNOB_COUNT && !device_table[i].knobs; k++)
            assert_null(read(arena_printf(&arena, "tune: {%s: {%s: 2}}\n", name, knob_name[k]), &said));
    }
}

#define GRAPH                                                                                                \
    "cgtp: 1\nname: t\nirreps: {x: 64x0e+64x1o, y: 1x0e+1x1o, z: 64x0e+64x1o}\ninstructions: channelwise\n"  \
    "index: {x: sender, y: item, w: item, z: receiver}\n"

/* Everything that is emitted for a device, the spec tuned as told; without alternatives, for these are many. */
static int emit(const struct device *d, const char *tune, bool alternatives, struct output_file **file)
{
    unsigned rows = 0;
    for (int i = 0; i < emitter_count; i++)
        rows |= !emitter_table[i].tunes || alternatives ? 1u << i : 0;
    const char *source = arena_printf(&arena, GRAPH "%s", tune);
    const struct backend *backend = backend_table[0];
    for (int b = 0; b < backend_count; b++)
        if (strcmp(backend_table[b]->name, d->backend) == 0)
            backend = backend_table[b];
    const struct target target = {.device = d, .evaluations = backend->evaluations};
    const struct schedules *all = schedules_build(&arena, unit_plan(&arena, source), &target);
    struct text wrong = {.arena = &arena};
    if (schedules_check(&arena, all, &wrong))
        fail_msg("%s %s: %s", d->name, tune, text_string(&wrong));
    return emit_files(&arena, &(struct emission){.backend = backend, .schedules = all, .of_folder = true},
                      rows, file);
}

/* Rows without a file of their own: an earlier row has it, too, or all products of a call together. */
static int repeated_files(void)
{
    int n = 0;
    for (int i = 0; i < emitter_count; i++, n += emitter_table[i - 1].of_call)
        for (int k = 0; k < i; k++)
            n += emitter_table[i].of_folder && emitter_table[k].of_folder &&
                 !strcmp(emitter_table[i].suffix, emitter_table[k].suffix);
    return n;
}

/* For each device all files are emitted, each under a name of its own, at either end of each knob's range
 * too. */
static void devices_emit(void **state)
{
    (void)state;
    for (int i = 0; i < device_count; i++) {
        const struct device *d = &device_table[i];
        for (int k = -1; k < 2 * d->knobs; k++) {
            const struct knob_range *q = k < 0 ? NULL : &d->knob[k / 2];
            struct spec_knob end = {d, -1, q ? q->knob : 0, q && k % 2 ? q->most : q ? q->least : 0, NULL, {0}};
            if (q && !q->step)
                end.word = k % 2 ? "general" : "convolution";
            const char *tune =
                q ? arena_printf(&arena, "tune: {%s: {%s}}\n", d->name, spec_knob_text(&arena, &end)) : "";
            struct output_file *file;
            int files = emit(d, tune, k < 0, &file), kernels = 3, alternatives = 0;
            for (int f = 0; f < files; f++) /* NAME_KERNEL.tuneN.cu */
                alternatives += strstr(file[f].name, ".tune") && !strstr(file[f].name, ".tune.");
            assert_int_equal(alternatives > 0, k < 0 && d->knobs > 0);
            assert_int_equal(files - alternatives, emitter_count - repeated_files() - (k < 0 ? 2 : 4) + kernels);
            for (int f = 0; f < files; f++) {
                assert_true(file[f].size == strlen(file[f].text) && file[f].size > 0);
                for (int other = 0; other < f; other++)
                    assert_string_not_equal(file[other].name, file[f].name);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),     cmocka_unit_test(registers),    cmocka_unit_test(arch),
        cmocka_unit_test(backends), cmocka_unit_test(words),        cmocka_unit_test(tune),
        cmocka_unit_test(untuned),  cmocka_unit_test(devices_emit),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, teardown);
}
