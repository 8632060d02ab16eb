/* judge.c - see judge.h. */
#include "cli/judge.h"

#include "emit/memory.h"

/* Kernels whose workspace is large beside their arguments, on a graph with as many edges per node as models
 * have. */
static void lint_memory(const struct schedules *all, struct diag *diag)
{
    struct arena *a = diag->arena;
    const double degree = 32, share = 0.25;
    const struct spec *spec = all->plan->problem->spec;
    const struct memory *memory = memory_build(a, all);
    for (int k = 0; k < all->plan->kernels; k++) {
        const double arguments = memory_arguments_per_item(&all->plan->kernel[k], degree);
        const double workspace = memory_per_item(memory[k].all, degree);
        const double reduction = memory_per_item(memory[k].by_reduction, degree);
        if (workspace <= share * arguments)
            continue;
        const char *due = reduction > 0 ? arena_printf(a, "; %.0f of them are due to reduction: %s",
                                                       reduction, reduction_name[spec->reduction])
                                        : "";
        diag_report(
            diag, DIAG_MEMORY, spec->kernel[k].pos,
            "the workspace of kernel %s takes %.0f bytes per %s beside %.0f of its arguments, with %.0f %ss "
            "per node%s",
            spec->kernel[k].name, workspace, memory_word(all, BY_ITEM), arguments, degree,
            memory_word(all, BY_ITEM), due);
    }
}

void judge_cost(const struct schedules *all, const struct output_file *file, int files,
                const enum diag_severity *severity, struct diag *diag)
{
    if (severity[DIAG_LARGE_CODE] != SEVERITY_IGNORED)
        emit_lint(all, file, files, diag);
    if (severity[DIAG_MEMORY] != SEVERITY_IGNORED)
        lint_memory(all, diag);
}
