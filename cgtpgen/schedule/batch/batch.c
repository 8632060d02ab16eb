/* batch.c - the pipelined batch's row in the table of a GPU: see batch_plan.h. */
#include "schedule/batch/batch_plan.h"
#include "schedule/evaluations.h"
#include "schedule/program.h"

const struct evaluation batch_evaluation = {
    .name = "batch",
    .words = "pipelined batch",
    .header = "cgtp_batch.h",
    .parts_header = "cgtp_item.h",
    .access.stored = 1u << SLOT_X | 1u << SLOT_W | 1u << SLOT_G,
    .access.read = 1u << SLOT_Y,
    .refuses = batch_refuses,
    .refuses_path = batch_refuses_path,
    .plan = batch_plan,
    .check = program_check,
    .areas = program_areas,
    .device = program_device,
    .launch = program_launch,
    .report = program_report,
};
