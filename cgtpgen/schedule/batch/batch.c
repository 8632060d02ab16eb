/* batch.c - the pipelined batch's row in the table of a GPU: see batch_plan.h. */
#include "schedule/batch/batch_plan.h"
#include "schedule/evaluations.h"
#include "schedule/program.h"
#include "schedule/report.h"

static int stage_bytes(const struct place *q)
{
    int bytes = 0;
    for (int i = 0; i < q->fields; i++)
        bytes += q->field[i].runs * q->field[i].length * q->field[i].size;
    return bytes;
}

static void report(struct report *r, const struct schedule *s)
{
    const struct batch *g = s->own;
    const int most = device_registers(g->device, g->blocks * g->warps);
    report_ring(r, "stages", g->stages, "warp", "turn");
    report_number(r, "warps_per_block", g->warps);
    report_number(r, "blocks_per_multiprocessor", g->blocks);
    report_part(r, "shared_bytes_per_block", s->pipeline->of_block.bytes, g->device->shared_bytes);
    report_number(r, "registers_most", most);
    report_part(r, "values_alive", s->pipeline->registers.alive, most);
    report_part(r, "registers_least", s->pipeline->registers.least, most);
    report_part(r, "registers", s->pipeline->registers.taken, most);
    report_number(r, "channels_per_lane", g->channels);
    report_channels(r, "channel_blocks", g->channel_blocks, BATCH_LANES * g->channels, "turn");
    report_flag(r, "x_by_set", g->x_by_set);
    report_number(r, "phases", g->phases);
    report_number(r, "instructions_per_item", g->work);
    for (int i = 0; i < g->sets; i++) {
        const struct batch_set *q = &g->set[i];
        struct report *record = report_record(r, "path_sets", "path set");
        report_list(record, "paths", q->paths, q->path);
        report_number(record, "channels", g->part[q->part].mul);
        report_number(record, "stage_bytes", stage_bytes(&s->pipeline->place[q->in]));
        report_share(record, "instructions_per_channel_block", q->work);
    }
    report_layout(r, "shared_memory", &s->pipeline->of_block);
}

const struct evaluation batch_evaluation = {
    .name = "batch",
    .words = "pipelined batch",
    .header = "cgtp_batch.h",
    .access.stored = 1u << SLOT_X | 1u << SLOT_W | 1u << SLOT_G,
    .access.read = 1u << SLOT_Y,
    .refuses = batch_refuses,
    .refuses_path = batch_refuses_path,
    .plan = batch_plan,
    .check = program_check,
    .areas = program_areas,
    .reads_graph = program_reads_graph,
    .device = program_device,
    .launch = program_launch,
    .report = report,
};
