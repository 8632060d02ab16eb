/* tune.c - see tune.h.
 *
 * The source of an alternative is that of the kernel, whose functions macros give other names; what calls
 * them by position, and the knobs, are in a struct at its end. The program has tables of these and those of
 * the self-test.
 */
#include "emit/tune.h"
#include "emit/emit.h"
#include "schedule/alternatives.h"
#include "util/hash.h"

#include <string.h>

const char *emit_tune_file(struct arena *a, const struct backend *b, const struct plan *plan,
                           const struct kernel_form *f, int number)
{
    return arena_printf(a, "%s_%s.tune%d%s", plan->problem->spec->name, f->name, number, b->suffix);
}

/* The struct of an alternative; a kernel's name begins with a letter, and its number ends it. */
static const char *symbol(struct arena *a, const struct kernel_form *f, int number)
{
    return arena_printf(a, "cgtp_tune_%s_%d", f->name, number);
}

/* ---- knobs as text ---- */

static void add_knob(struct text *t, const struct spec_knob *k)
{
    text_printf(t, "%s%s", t->n ? ", " : "", spec_knob_text(t->arena, k));
}

/* "stages: 3, warps: 8": those of the alternative (NULL: none), after those that the spec has for the kernel
 * alone and this one has not. */
static const char *knobs_of_kernel(struct arena *a, const struct spec *s, const struct device *d, int kernel,
                                   const struct alternative *q)
{
    struct text t = {.arena = a};
    for (int i = 0; i < s->knobs; i++) {
        bool replaced = s->knob[i].device != d || s->knob[i].kernel != kernel;
        for (int k = 0; q && k < q->knobs; k++)
            replaced |= q->knob[k].knob == s->knob[i].knob;
        if (!replaced)
            add_knob(&t, &s->knob[i]);
    }
    for (int k = 0; q && k < q->knobs; k++)
        add_knob(&t, &q->knob[k]);
    return text_string(&t);
}

static const char *knobs_of_alternative(struct arena *a, const struct alternative *q)
{
    struct text t = {.arena = a};
    for (int k = 0; k < q->knobs; k++)
        add_knob(&t, &q->knob[k]);
    return text_string(&t);
}

/* A device's knobs, as lines of YAML in a string of C; of all kernels: kernel -1. */
static void knob_lines(struct text *out, const struct spec *s, const struct device *d)
{
    for (int i = 0; i < s->knobs; i++)
        if (s->knob[i].device == d && s->knob[i].kernel < 0)
            text_printf(out, "\n        \"    %s\\n\"", spec_knob_text(out->arena, &s->knob[i]));
}

static void other_devices(struct text *out, const struct spec *s, const struct device *but)
{
    for (int d = 0; d < device_count; d++) {
        bool tuned = false;
        for (int i = 0; i < s->knobs; i++)
            tuned |= s->knob[i].device == &device_table[d];
        if (!tuned || &device_table[d] == but)
            continue;
        text_printf(out, "\n        \"  %s:\\n\"", device_table[d].name);
        knob_lines(out, s, &device_table[d]);
        for (int k = 0; k < s->kernels; k++) {
            const char *own = knobs_of_kernel(out->arena, s, &device_table[d], k, NULL);
            if (*own)
                text_printf(out, "\n        \"    %s: {%s}\\n\"", s->kernel[k].name, own);
        }
    }
}

/* A hash of a kernel's source but for its banner, which changes with the spec. */
static const char *hash_of(struct arena *a, const char *source)
{
    const char *from = strstr(source, "*/");
    return arena_printf(a, "%08x", hash_bytes(0, from, strlen(from)));
}

/* ---- files ---- */

void emit_tune_alternative(struct text *out, const struct emission *e, const struct kernel_schedule *kernel)
{
    struct arena *a = out->arena;
    const struct plan *plan = e->schedules->plan;
    const struct spec *s = plan->problem->spec;
    const struct kernel_form *f = kernel->kernel->form;
    const int k = (int)(kernel->kernel - plan->kernel);
    const struct alternative *q = &e->alternatives[k]->alternative[e->alternative - 1];
    const char *name = symbol(a, f, e->alternative), *knobs = knobs_of_alternative(a, q);
    struct text source = {.arena = a};
    e->backend->kernel(&source, e->schedules, kernel);
    emit_banner(out, plan,
                arena_printf(a, "alternative %d of kernel %s, %s", e->alternative, f->name, knobs));
    text_printf(out,
                "#define %s_%s %s_run\n#define %s_%s_workspace %s_workspace\n"
                "#define %s_%s_workspace_least %s_least\n#include \"cgtp_tune.h\"\n\n",
                s->name, f->name, name, s->name, f->name, name, s->name, f->name, name);
    text_put(out, text_string(&source), source.n);
    text_printf(out, "\n");
    emit_wrappers(out, plan, kernel->kernel, k, false);
    text_printf(out,
                "extern \"C\" {\nextern const cgtp_tune_alternative %s;\n}\n"
                "const cgtp_tune_alternative %s = {\n    \"%s\",\n    \"%s\",\n"
                "    \"%s\", workspace_%d, run_%d,\n};\n",
                name, name, knobs, knobs_of_kernel(a, s, e->schedules->target.device, k, q),
                hash_of(a, text_string(&source)), k, k);
}

/* "24 of 31 alternatives, those that cost least; 2 more would spill, 5 cost more than twice as much" */
static const char *dropped(struct arena *a, const struct alternatives *all)
{
    struct text t = {.arena = a};
    text_printf(&t, "%d of %d alternatives", all->n, all->n + all->beyond);
    if (all->beyond)
        text_printf(&t, ", those that cost least");
    if (all->spilled)
        text_printf(&t, "; %d more would spill", all->spilled);
    if (all->dear)
        text_printf(&t, "; %d more cost more than twice as much", all->dear);
    return text_string(&t);
}

/* The list of a kernel's alternatives; their declaration. */
static void alternatives(struct text *out, const struct emission *e, int k, const char *head,
                         const char *before, const char *end)
{
    const struct alternatives *all = e->alternatives[k];
    struct emit_list list = emit_list_open(out, head);
    for (int i = 0; i < all->n; i++)
        emit_list_add(&list,
                      arena_printf(out->arena, "%s%s", before,
                                   symbol(out->arena, e->schedules->plan->kernel[k].form, i + 1)),
                      i + 1 < all->n ? "," : end);
}

static void tune_kernel(struct text *out, const struct emission *e, int k)
{
    struct arena *a = out->arena;
    const struct plan *plan = e->schedules->plan;
    const struct alternatives *all = e->alternatives[k];
    struct text source = {.arena = a};
    e->backend->kernel(&source, e->schedules, &e->schedules->kernel[k]);
    text_printf(out, "    {\"%s\", \"%s\",\n     \"%s\",\n     %d, %s},\n",
                knobs_of_kernel(a, plan->problem->spec, e->schedules->target.device, k, NULL),
                hash_of(a, text_string(&source)), dropped(a, all), all->n,
                all->n ? arena_printf(a, "alternatives_%d", k) : "NULL");
}

void emit_tune_program(struct text *out, const struct emission *e)
{
    struct arena *a = out->arena;
    const struct plan *plan = e->schedules->plan;
    const struct spec *s = plan->problem->spec;
    const struct device *d = e->schedules->target.device;
    emit_banner(out, plan, "a program that times other plans of the kernels");
    text_printf(out, "#include \"%s.h\"\n#include \"cgtp_tune.h\"\n\n", s->name);
    emit_selftest_tables(out, plan);
    for (int k = 0; k < plan->kernels; k++) {
        if (!e->alternatives[k]->n)
            continue;
        alternatives(out, e, k, "extern const cgtp_tune_alternative ", "", ";\n");
        alternatives(out, e, k,
                     arena_printf(a, "static const cgtp_tune_alternative *const alternatives_%d[] = {", k),
                     "&", "};\n\n");
    }
    text_printf(out, "/* Of each kernel: its own knobs, its source; alternatives. */\n"
                     "static const cgtp_tune_kernel tuned[] = {\n");
    for (int k = 0; k < plan->kernels; k++)
        tune_kernel(out, e, k);
    text_printf(
        out,
        "};\n\nint main(int argc, char **argv)\n{\n    static const cgtp_tune tune = {\n        &test, "
        "\"%s\", \"\"",
        d->name);
    knob_lines(out, s, d);
    text_printf(out, ", \"\"");
    other_devices(out, s, d);
    text_printf(out, ", tuned,\n    };\n    return cgtp_tune_run(&tune, argc, argv);\n}\n");
}

void emit_tune_makefile(struct text *out, const struct emission *e)
{
    const struct plan *plan = e->schedules->plan;
    const char *name = plan->problem->spec->name, *suffix = e->backend->suffix;
    emit_banner_python(out, plan, "makes the program that times other plans of the kernels");
    text_printf(out,
                "#\n#     make -f %s.tune.mk -j8 && ./%s.tune\n#\n"
                "# CGTPGEN_DATA: where the runtime is, if pkg-config does not know.\n\n"
                "NVCC ?= nvcc\nNVCCFLAGS ?= -std=c++17 -O3\n"
                "CGTPGEN_DATA ?= $(shell pkg-config --variable=datadir cgtpgen)\n"
                "HERE := $(dir $(lastword $(MAKEFILE_LIST)))\n"
                "FLAGS := -DCGTP_SELFTEST_CUDA -I$(HERE) -I$(CGTPGEN_DATA)\n\nSOURCES := %s.c %s.tune.c",
                name, name, name, name);
    for (int k = 0; k < plan->kernels; k++) {
        text_printf(out, " \\\n    %s_%s%s", name, plan->kernel[k].form->name, suffix);
        for (int i = 0; i < e->alternatives[k]->n; i++)
            text_printf(out, " \\\n    %s",
                        emit_tune_file(out->arena, e->backend, plan, plan->kernel[k].form, i + 1));
    }
    text_printf(
        out,
        "\nOBJECTS := $(SOURCES:%%=$(HERE)%%.o) $(addprefix $(HERE),cgtp.c.o cgtp_tune.c.o "
        "cgtp_tune.cu.o)\n\n"
        "$(HERE)%s.tune: $(OBJECTS)\n\t$(NVCC) -arch=%s -o $@ $^ -lm\n"
        "$(HERE)%%.cu.o: $(HERE)%%.cu\n\t$(NVCC) -arch=%s $(NVCCFLAGS) $(FLAGS) -c -o $@ $<\n"
        "$(HERE)%%.cu.o: $(CGTPGEN_DATA)/%%.cu\n\t$(NVCC) -arch=%s $(NVCCFLAGS) $(FLAGS) -c -o $@ $<\n"
        "$(HERE)%%.c.o: $(HERE)%%.c\n\t$(NVCC) -O2 $(FLAGS) -c -o $@ $<\n"
        "$(HERE)%%.c.o: $(CGTPGEN_DATA)/%%.c\n\t$(NVCC) -O2 $(FLAGS) -c -o $@ $<\n"
        "%%: %%.o # make's own rule, which would link a source from its object\n\n"
        ".PHONY: clean\nclean:\n\trm -f $(HERE)%s.tune $(OBJECTS)\n",
        name, e->schedules->target.device->name, e->schedules->target.device->name,
        e->schedules->target.device->name, name);
}
