/* tiled.c - tiled items' row in the table of a GPU: see tiled.h. */
#include "schedule/evaluations.h"
#include "schedule/program.h"
#include "schedule/tiled/tiled.h"

const struct evaluation tiled_evaluation = {
    .name = "tiled",
    .words = "tiled items",
    .header = "cgtp_tiled.h",
    .refuses = tiled_refuses,
    .refuses_path = tiled_refuses_path,
    .plan = tiled_plan,
    .check = program_check,
    .areas = program_areas,
    .device = program_device,
    .launch = program_launch,
    .report = program_report,
};
