/* emitter.c - see emitter.h. */
#include "emit/emitter.h"
#include "emit/emit.h"
#include "emit/report.h"
#include "emit/torch.h"
#include "emit/unity.h"

static void header(struct text *out, const struct emission *e, const struct kernel_schedule *kernel)
{
    (void)kernel;
    emit_header(out, e->schedules->plan);
}

static void descriptor(struct text *out, const struct emission *e, const struct kernel_schedule *kernel)
{
    (void)kernel;
    emit_descriptor(out, e->schedules, e->backend->name);
}

static void kernel_source(struct text *out, const struct emission *e, const struct kernel_schedule *kernel)
{
    e->backend->kernel(out, e->schedules, kernel);
}

static void selftest(struct text *out, const struct emission *e, const struct kernel_schedule *kernel)
{
    (void)kernel;
    emit_selftest(out, e->schedules->plan);
}

static void cpp_header(struct text *out, const struct emission *e, const struct kernel_schedule *kernel)
{
    (void)kernel;
    emit_cpp(out, e->schedules->plan);
}

static void unity(struct text *out, const struct emission *e, const struct kernel_schedule *kernel)
{
    (void)kernel;
    emit_unity(out, e->backend, e->schedules);
}

static void report(struct text *out, const struct emission *e, const struct kernel_schedule *kernel)
{
    (void)kernel;
    emit_report(out, e);
}

static void torch_operators(struct text *out, const struct emission *e, const struct kernel_schedule *kernel)
{
    (void)kernel;
    emit_torch_operators(out, e);
}

static void torch_module(struct text *out, const struct emission *e, const struct kernel_schedule *kernel)
{
    (void)kernel;
    emit_torch_module(out, e->schedules->plan);
}

static void torch_project(struct text *out, const struct emission *e, const struct kernel_schedule *kernel)
{
    (void)e;
    (void)kernel;
    emit_torch_project(out);
}

static void torch_setup(struct text *out, const struct emission *e, const struct kernel_schedule *kernel)
{
    (void)e;
    (void)kernel;
    emit_torch_setup(out);
}

const struct emitter emitter_table[] = {
    {"header", NULL, true, false, false, ".h", header},
    {"hpp", NULL, false, false, false, ".hpp", cpp_header},
    {"source", NULL, true, false, false, ".c", descriptor},
    {"source", NULL, true, false, false, NULL, kernel_source},
    {"unity", "c", false, false, false, ".unity.c", unity},
    {"selftest", NULL, false, false, false, "_selftest.c", selftest},
    {"torch", NULL, false, false, false, "_torch.cpp", torch_operators},
    {"torch", NULL, false, false, false, ".py", torch_module},
    {"torch", NULL, false, false, true, "pyproject.toml", torch_project},
    {"torch", NULL, false, false, true, "setup.py", torch_setup},
    {"report", NULL, false, true, false, ".html", report},
};
const int emitter_count = sizeof emitter_table / sizeof *emitter_table;

/* The name of a row's file; f: the kernel where it has one for each. */
static const char *file_name(struct arena *a, const struct emitter *e, const struct backend *b,
                             const struct plan *plan, const struct kernel_form *f)
{
    const char *name = plan->problem->spec->name;
    return e->of_folder ? e->suffix
           : e->suffix  ? arena_printf(a, "%s%s", name, e->suffix)
                        : arena_printf(a, "%s_%s%s", name, f->name, b->suffix);
}

int emit_names(struct arena *a, const struct backend *b, const struct plan *plan, const char *const **names)
{
    const char **list = NEW_ARRAY(a, const char *, emitter_count + plan->kernels);
    int n = 0;
    for (int i = 0; i < emitter_count; i++)
        for (int k = 0; k < (emitter_table[i].suffix ? 1 : plan->kernels); k++)
            list[n++] = file_name(a, &emitter_table[i], b, plan, plan->kernel[k].form);
    *names = list;
    return n;
}

int emit_files(struct arena *a, const struct emission *from, unsigned rows, struct output_file **files)
{
    const struct schedules *all = from->schedules;
    struct output_file *file = NEW_ARRAY(a, struct output_file, emitter_count + all->plan->kernels);
    int n = 0;
    for (int i = 0; i < emitter_count; i++) {
        const struct emitter *e = &emitter_table[i];
        int count = e->of_folder && !from->of_folder ? 0 : e->suffix ? 1 : all->plan->kernels;
        for (int k = 0; k < count && (rows & 1u << i); k++) {
            struct text out = {.arena = a};
            e->emit(&out, from, e->suffix ? NULL : &all->kernel[k]);
            const char *path = file_name(a, e, from->backend, all->plan, all->plan->kernel[k].form);
            file[n++] = (struct output_file){path, text_string(&out), out.n, e->suffix ? -1 : k};
        }
    }
    *files = file;
    return n;
}
