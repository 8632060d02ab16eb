/* unit_spec.c - right specs are read as written, with their defaults and the place of everything later passes
 * report; wrong ones (the many in tests/bad are bad.t's) in any layout point at the right byte; running out
 * of memory is clean. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "spec/node.h"
#include "spec/spec.h"

#include <string.h>

static struct arena arena;

static int teardown(void **state)
{
    (void)state;
    arena_free(&arena);
    return 0;
}

static struct diag diag;

static struct spec *try_read(const char *source)
{
    diag = (struct diag){.file = "t", .source = source, .source_size = strlen(source), .arena = &arena};
    return spec_read(&arena, &diag);
}

static struct spec *read(const char *source)
{
    struct spec *spec = try_read(source);
    if (!spec)
        fail_msg("%s", diag_text(&diag));
    assert_int_equal(diag.errors, 0);
    assert_string_equal(diag_text(&diag), "");
    return spec;
}

/* The source's bytes from a position on begin with the text, and its width is the text's length. */
static void assert_place(struct pos pos, const char *text)
{
    const char *s = diag.source;
    for (int line = 1; line < pos.line; line++)
        s = strchr(s, '\n') + 1;
    assert_true(pos.line >= 1 && pos.column >= 1);
    if (strncmp(s + pos.column - 1, text, strlen(text)) != 0)
        fail_msg("at %d:%d stands \"%.10s\", not \"%s\"", pos.line, pos.column, s + pos.column - 1, text);
    assert_int_equal(pos.width, strlen(text));
}

static const char *printed(const struct irreps *irreps)
{
    struct text text = {.arena = &arena};
    irreps_print(&text, irreps);
    return text_string(&text);
}

static const char *rational(struct rat r)
{
    struct text text = {.arena = &arena};
    rat_print(&text, r);
    return text_string(&text);
}

static void defaults(void **state)
{
    (void)state;
    struct spec *s = read("cgtp: 1\nname: layer\nirreps: {x: 4x0e, y: 1x0e}\ninstructions: channelwise\n");
    assert_string_equal(s->name, "layer");
    assert_string_equal(s->description, "");
    assert_false(s->has_z);
    assert_int_equal(s->z.n, 0);
    assert_int_equal(s->sugar, SUGAR_CHANNELWISE);
    assert_place(s->sugar_pos, "channelwise");
    assert_true(s->order_output);
    assert_int_equal(s->instructions, 0);
    assert_int_equal(s->irrep_normalization, IRREP_COMPONENT);
    assert_int_equal(s->path_normalization, PATH_ELEMENT);
    for (int i = 0; i < 3; i++)
        assert_int_equal(s->variance[i].n, 0);
    for (int i = 0; i < SLOT_COUNT; i++)
        assert_int_equal(s->index[i], INDEX_ITEM);
    assert_true(s->sorted);
    assert_true(s->reduction);
    assert_false(s->compensated);
    assert_false(s->index64);
    assert_int_equal(s->compute, PRECISION_FLOAT32);
    assert_int_equal(s->kernels, 3);
    assert_string_equal(s->kernel[0].name, "forward");
    assert_string_equal(s->kernel[1].name, "backward");
    assert_ptr_equal(s->kernel[2].of, &known_table[KNOWN_DOUBLE_BACKWARD]);
    assert_false(s->kernel[2].subset);
    assert_int_equal(s->knobs, 0);
    assert_false(spec_is_graph(s));
}

static void everything(void **state)
{
    (void)state;
    struct spec *s =
        read("# every key\n"
             "cgtp: 1\n"
             "name: water_1\n"
             "description: |\n"
             "  Two lines\n"
             "  of text.\n"
             "irreps:\n"
             "  x: 32x0e + 32x1o\n"
             "  y: \"0e+1o\"\n"
             "  z:\n"
             "    32x0e\n"
             "    + 32x1o\n"
             "instructions:\n"
             "  - [0, 0, 0, uvu]\n"
             "  - [1, 1, 0, uvu<v, false]\n"
             "  - [1, 0, 1, 'u<vw', true, 0.25]\n"
             "normalization: {irrep: norm, path: none}\n"
             "variance: {x: [1, 0.5], z: [2, 1e-3]}\n"
             "unused: {y: [1], z: [1, 0]}\n"
             "index: {x: sender, z: receiver, w: shared}\n"
             "edges: any\n"
             "reduction: atomic\n"
             "accumulate: compensated\n"
             "index_type: int64\n"
             "precision: float64\n"
             "layout: {x: ir_mul, z: mul_ir}\n"
             "rows: strided\n"
             "kernels: [forward, {name: forces, of: backward, outputs: [gx, gy]}, double_backward_jvp]\n"
             "tune:\n"
             "  sm_90: {stages: 3, warps: 12, forces: {evaluation: staged}}\n"
             "  sm_80: {paths: 4}\n"
             "  c: {}\n");
    assert_string_equal(s->name, "water_1");
    assert_string_equal(s->description, "Two lines\nof text.");
    assert_string_equal(printed(&s->x), "32x0e+32x1o");
    assert_string_equal(printed(&s->y), "1x0e+1x1o");
    assert_string_equal(printed(&s->z), "32x0e+32x1o");
    assert_true(s->has_z);
    assert_place(s->x_pos, "32x0e + 32x1o");
    assert_place(s->y_pos, "\"0e+1o\"");
    assert_int_equal(s->sugar, SUGAR_NONE);
    assert_int_equal(s->instructions, 3);
    const struct spec_instruction *i = s->instruction;
    assert_int_equal(i[0].mode, MODE_UVU);
    assert_true(i[0].weighted);
    assert_string_equal(rational(i[0].path_weight), "1");
    assert_place(i[0].pos, "[0, 0, 0, uvu]");
    assert_place(i[0].weighted_pos, "[0, 0, 0, uvu]");
    assert_int_equal(i[1].x, 1);
    assert_int_equal(i[1].y, 1);
    assert_int_equal(i[1].z, 0);
    assert_int_equal(i[1].mode, MODE_UVULTV);
    assert_false(i[1].weighted);
    assert_place(i[1].mode_pos, "uvu<v");
    assert_place(i[1].weighted_pos, "false");
    assert_int_equal(i[2].mode, MODE_ULTVW);
    assert_string_equal(rational(i[2].path_weight), "1/4");
    assert_place(i[2].z_pos, "1");
    assert_place(i[2].path_weight_pos, "0.25");
    assert_int_equal(s->irrep_normalization, IRREP_NORM);
    assert_int_equal(s->path_normalization, PATH_NONE);
    assert_int_equal(s->variance[0].n, 2);
    assert_string_equal(rational(s->variance[0].value[1]), "1/2");
    assert_place(s->variance[0].pos, "[1, 0.5]");
    assert_int_equal(s->variance[1].n, 0);
    assert_string_equal(rational(s->variance[2].value[1]), "1/1000");
    assert_int_equal(s->unused[SLOT_X].n, 0);
    assert_int_equal(s->unused[SLOT_Y].n, 1);
    assert_int_equal(s->unused[SLOT_G].n, 2);
    assert_int_equal(s->unused[SLOT_G].segment[0].number, 1);
    assert_place(s->unused[SLOT_G].segment[1].pos, "0");
    assert_int_equal(s->index[SLOT_X], INDEX_SENDER);
    assert_int_equal(s->index[SLOT_Y], INDEX_ITEM);
    assert_int_equal(s->index[SLOT_W], INDEX_SHARED);
    assert_int_equal(s->index[SLOT_G], INDEX_RECEIVER);
    assert_int_equal(s->layout[SLOT_X], LAYOUT_IR_MUL);
    assert_int_equal(s->layout[SLOT_Y], LAYOUT_MUL_IR);
    assert_int_equal(s->layout[SLOT_G], LAYOUT_MUL_IR);
    assert_true(spec_is_strided(s, SLOT_Y) && spec_has_strides(s));
    assert_false(spec_is_strided(s, SLOT_W)); /* one row */
    assert_place(s->index_pos[SLOT_G], "receiver");
    assert_true(spec_is_graph(s));
    assert_false(s->sorted);
    assert_false(s->reduction);
    assert_true(s->compensated);
    assert_true(s->index64);
    assert_int_equal(s->storage[SLOT_W], PRECISION_FLOAT64);
    assert_int_equal(s->compute, PRECISION_FLOAT64);
    assert_int_equal(s->sum, PRECISION_FLOAT64);
    assert_int_equal(s->kernels, 3);
    assert_string_equal(s->kernel[1].name, "forces");
    assert_ptr_equal(s->kernel[1].of, &known_table[KNOWN_BACKWARD]);
    assert_place(s->kernel[1].of_pos, "backward");
    assert_true(s->kernel[1].subset);
    assert_int_equal(s->kernel[1].outputs, 2);
    assert_string_equal(s->kernel[1].output[1].name, "gy");
    assert_int_equal(s->kernel[1].output[1].terms, 0);
    assert_place(s->kernel[1].output[1].pos, "gy");
    assert_int_equal(s->knobs, 4);
    assert_ptr_equal(s->knob[1].device, device_named("sm_90"));
    assert_int_equal(s->knob[1].knob, KNOB_WARPS);
    assert_int_equal(s->knob[1].value, 12);
    assert_int_equal(s->knob[1].kernel, -1);
    assert_int_equal(s->knob[2].knob, KNOB_EVALUATION);
    assert_string_equal(s->knob[2].word, "staged");
    assert_int_equal(s->knob[2].kernel, 1);
    assert_ptr_equal(s->knob[3].device, device_named("sm_80"));
}

#define HEAD "cgtp: 1\nname: t\nirreps: {x: 4x1o, y: 1x1o, z: 4x0e}\ninstructions: [[0, 0, 0, uvu]]\n"

static void sugar_and_emptiness(void **state)
{
    (void)state;
    assert_int_equal(
        read("cgtp: 1\nname: t\nirreps: {x: 4x0e, y: 0e, z: 0e}\ninstructions: fully_connected\n")->sugar,
        SUGAR_FULLY_CONNECTED);
    assert_int_equal(read("cgtp: 1\nname: t\nirreps: {x: 4x0e, y: 0e}\ninstructions: elementwise\n")->sugar,
                     SUGAR_ELEMENTWISE);
    assert_int_equal(read("cgtp: 1\nname: t\nirreps: {x: 4x0e, y: 0e}\ninstructions: full\n")->sugar,
                     SUGAR_FULL);
    assert_false(read("cgtp: 1\nname: t\nirreps: {x: 4x0e, y: 0e}\norder: input\ninstructions: channelwise\n")
                     ->order_output);
    struct spec *s = read("cgtp: 1\nname: t\nirreps: {x: \"\", y: \"\", z: \"\"}\ninstructions: []\n");
    assert_int_equal(s->x.n, 0);
    assert_int_equal(s->instructions, 0);
    assert_true(s->has_z);
}

/* The types that are said of x, y, w, z, of arithmetic and of sums, and how they are said again. */
static void types(void **state)
{
    enum { F32 = PRECISION_FLOAT32, F64 = PRECISION_FLOAT64, B16 = PRECISION_BFLOAT16, F16 = PRECISION_FLOAT16 };
    static const struct {
        const char *said;
        int type[SLOT_COUNT + 2];
        const char *again;
    } row[] = {
        {"bfloat16", {B16, B16, B16, B16, F32, F32}, "bfloat16"},
        {"float16", {F16, F16, F16, F16, F32, F32}, "float16"},
        {"float64", {F64, F64, F64, F64, F64, F64}, "float64"},
        {"{}", {F32, F32, F32, F32, F32, F32}, "float32"},
        {"{x: bfloat16, y: bfloat16, w: bfloat16, z: bfloat16}", {B16, B16, B16, B16, F32, F32}, "bfloat16"},
        {"{w: float64}",
         {F32, F32, F64, F32, F64, F64},
         "{x: float32, y: float32, w: float64, z: float32, compute: float64, sum: float64}"},
        {"{x: float16, w: float64, compute: float32, sum: float64}",
         {F16, F32, F64, F32, F32, F64},
         "{x: float16, y: float32, w: float64, z: float32, compute: float32, sum: float64}"},
        {"{sum: float64}",
         {F32, F32, F32, F32, F32, F64},
         "{x: float32, y: float32, w: float32, z: float32, compute: float32, sum: float64}"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const struct spec *s = read(arena_printf(&arena, HEAD "precision: %s\n", row[i].said));
        for (int slot = 0; slot < SLOT_COUNT; slot++)
            assert_int_equal(s->storage[slot], row[i].type[slot]);
        assert_int_equal(s->compute, row[i].type[SLOT_COUNT]);
        assert_int_equal(s->sum, row[i].type[SLOT_COUNT + 1]);
        assert_string_equal(spec_precision(&arena, s), row[i].again);
    }
}

/* Without `reduction` it is deterministic, whatever the order of the edges. */
static void reductions(void **state)
{
    (void)state;
    static const char *const index = HEAD "index: {x: sender}\n";
    assert_int_equal(read(index)->reduction, REDUCTION_DETERMINISTIC);
    const struct spec *any = read(arena_printf(&arena, "%sedges: any\n", index));
    assert_true(any->reduction == REDUCTION_DETERMINISTIC && spec_orders(any));
    const struct spec *sorted = read(arena_printf(&arena, "%sedges: sorted\n", index));
    assert_true(sorted->reduction == REDUCTION_DETERMINISTIC && !spec_orders(sorted));
    const struct spec *atomic = read(arena_printf(&arena, "%sedges: any\nreduction: atomic\n", index));
    assert_int_equal(atomic->reduction, REDUCTION_ATOMIC);
    assert_true(spec_orders(atomic));
    const struct spec *invariant = read(arena_printf(&arena, "%sedges: any\nreduction: invariant\n", index));
    assert_true(invariant->reduction == REDUCTION_INVARIANT && spec_orders(invariant));
    assert_false(spec_orders(read(HEAD "index: {w: shared}\n")));
    assert_int_equal(read(arena_printf(&arena, "%sreduction: atomic\n", index))->reduction, REDUCTION_ATOMIC);
    assert_true(read(HEAD "index: {w: shared}\naccumulate: compensated\n")->compensated);
}

/* Terms as people write them: YAML takes [Q_x(by, w, gz)] apart at the commas. */
static void terms(void **state)
{
    (void)state;
    struct spec *s = read(HEAD "kernels:\n"
                               "  - name: f\n"
                               "    arguments: {by: d y, cw: d   w, q: y, hz: d g}\n"
                               "    outputs:\n"
                               "      d_x: [Q_x(by, w, gz), Q_x(y, cw, gz)]\n"
                               "      d_y: [ \"Q_y( x,w , gz )\" , Q_y(x,   # a comment (with parentheses)\n"
                               "               cw,\n"
                               "               gz)]\n"
                               "      d_w:\n"
                               "        - Q_w(x, y, gz)\n"
                               "        - 'Q_w(x,\n"
                               "           by, gz)'\n"
                               "      z: [Q_g(x,y,w)]\n"
                               "  - {name: g, outputs: {z: [Q_g (x, y, w)]}}\n");
    const struct spec_kernel *f = &s->kernel[0];
    assert_null(f->of);
    assert_int_equal(f->arguments, 4);
    assert_string_equal(f->argument[0].name, "by");
    assert_int_equal(f->argument[0].slot, SLOT_Y);
    assert_true(f->argument[0].tangent);
    assert_int_equal(f->argument[1].slot, SLOT_W);
    assert_true(f->argument[1].tangent);
    assert_int_equal(f->argument[2].slot, SLOT_Y);
    assert_false(f->argument[2].tangent);
    assert_int_equal(f->argument[3].slot, SLOT_G);
    assert_place(f->argument[2].pos, "q");
    assert_int_equal(f->outputs, 4);
    static const struct {
        int terms;
        enum slot target;
        const char *first[3], *last[3];
    } expected[4] = {
        {2, SLOT_X, {"by", "w", "gz"}, {"y", "cw", "gz"}},
        {2, SLOT_Y, {"x", "w", "gz"}, {"x", "cw", "gz"}},
        {2, SLOT_W, {"x", "y", "gz"}, {"x", "by", "gz"}},
        {1, SLOT_G, {"x", "y", "w"}, {"x", "y", "w"}},
    };
    for (int o = 0; o < 4; o++) {
        const struct spec_output *out = &f->output[o];
        assert_int_equal(out->terms, expected[o].terms);
        for (int i = 0; i < 3; i++) {
            const struct spec_term *first = &out->term[0], *last = &out->term[out->terms - 1];
            assert_int_equal(first->target, expected[o].target);
            assert_int_equal(last->target, expected[o].target);
            assert_string_equal(first->argument[i], expected[o].first[i]);
            assert_string_equal(last->argument[i], expected[o].last[i]);
            assert_place(first->argument_pos[i], expected[o].first[i]);
            assert_place(last->argument_pos[i], expected[o].last[i]);
        }
    }
    assert_place(f->output[0].pos, "d_x");
    assert_place(f->output[0].term[0].pos, "Q_x(by, w, gz)");
    assert_place(f->output[0].term[1].pos, "Q_x(y, cw, gz)");
    assert_int_equal(s->kernel[1].output[0].terms, 1);
}

/* The same text folded in every way YAML knows: the error is at the same letter. */
static void places_in_folded_text(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "4x0e+4x1q",
        "4x0e + 4x1q",
        "4x0e\n     + 4x1q",
        "\"4x0e+4x1q\"",
        "'4x0e + 4x1q'",
        "\"4x0e\n\n    +4x1q\"",
        ">\n    4x0e\n    + 4x1q\n",
        "|\n    4x0e\n    + 4x1q\n",
        ">-\n    4x0e +4x1q",
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char *source = arena_printf(
            &arena, "cgtp: 1\nname: t\ninstructions: channelwise\nirreps:\n  y: 0e\n  x: %s\n", forms[i]);
        assert_null(try_read(source));
        assert_int_equal(diag.errors, 1);
        assert_place(diag.message[0].pos, "q");
    }
    /* Escapes break the correspondence: the whole is shown. */
    assert_null(try_read("cgtp: 1\nname: t\ninstructions: full\nirreps: {y: 0e, x: \"4x\\x30e+1q\"}\n"));
    assert_place(diag.message[0].pos, "\"4x\\x30e+1q\"");
}

/* Errors come out in file order, whatever the order in which they are found. */
static void file_order(void **state)
{
    (void)state;
    assert_null(
        try_read("edges: any\nkernels: [foo, bar]\ninstructions: [[0]]\nirreps: {z: q, y: 1x1q, x: 1}\n"
                 "name: 1\nnmae: 2\nname: 3\ncgtp: 2\n"));
    assert_int_equal(diag.errors, 11);
    assert_int_equal(diag.messages, 11);
    const char *at = diag_text(&diag);
    for (int i = 0; i < diag.messages; i++) {
        struct pos pos = diag.message[i].pos, before = diag.message[i ? i - 1 : 0].pos;
        assert_true(pos.line > before.line || (pos.line == before.line && pos.column >= before.column));
        assert_non_null(at = strstr(at, arena_printf(&arena, "t:%d:%d: error: %s", pos.line, pos.column,
                                                     diag.message[i].text)));
        at++;
    }
}

/* With an arena of every size too small, allocation fails somewhere else; nothing of libyaml's may leak (ASan
 * tells). */
static void out_of_memory(void **state)
{
    (void)state;
    static const char source[] = HEAD "kernels: [forward, {name: f, outputs: {d_x: [Q_x(y, w, gz)]}}]\n"
                                      "variance: {x: [0.5]}\nfoo: 1\n";
    struct arena small = {0};
    volatile size_t limit = 0;
    volatile int failures = 0;
    for (;;) {
        if (setjmp(small.failure) == 0) {
            small.limit = limit + 1;
            struct diag d = {
                .file = "t", .source = source, .source_size = sizeof source - 1, .arena = &small};
            assert_null(spec_read(&small, &d));
            assert_int_equal(d.errors, 1);
            break;
        }
        failures++;
        arena_free(&small);
        limit += 64;
    }
    arena_free(&small);
    assert_true(failures > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(defaults, teardown),
        cmocka_unit_test_teardown(everything, teardown),
        cmocka_unit_test_teardown(sugar_and_emptiness, teardown),
        cmocka_unit_test_teardown(types, teardown),
        cmocka_unit_test_teardown(reductions, teardown),
        cmocka_unit_test_teardown(terms, teardown),
        cmocka_unit_test_teardown(places_in_folded_text, teardown),
        cmocka_unit_test_teardown(file_order, teardown),
        cmocka_unit_test_teardown(out_of_memory, teardown),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
