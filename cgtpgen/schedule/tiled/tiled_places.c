/* tiled_places.c - tiled items: where rows of a tile are, and how they come and go. */
#include "schedule/tiled/tiled.h"

enum { RING, ROWS, LEAVING, OUT, SUMS, WEIGHTS };
static const struct group groups[] = {
    [RING] = {"ring", "What a tile reads for a part of the stream.", .type = "stage", .alias = "at"},
    [ROWS] = {"rows", "What a tile reads besides.", .type = "rows", .alias = "rows"},
    [LEAVING] = {"leaving", "What becomes of a part of the stream."},
    [OUT] = {"out", "What becomes of the tile's other rows."},
    [SUMS] = {"sums", "Sums over the warp's items."},
    [WEIGHTS] = {"weights", "Weights that all items share."}};

int tiled_operands(const struct tiled *g)
{
    return g->demand->kernel->form->inputs + g->demand->outputs;
}

const struct operand *tiled_operand(const struct tiled *g, int i)
{
    const int inputs = g->demand->kernel->form->inputs;
    if (i >= inputs)
        return demand_operand(g->demand, i - inputs);
    return demand_reads(g->demand, i) ? kernel_input(g->demand->kernel, i) : NULL;
}

/* The fields of a row of the stream: each piece, where components are apart one of each. */
static void add_pieces(const struct tiled *g, int place, const struct operand *q, int lane)
{
    for (int i = 0; i < g->parts; i++)
        for (int k = 0; k < g->part[i].pieces; k++) {
            const struct tiled_part *part = &g->part[i];
            const struct operand_block *b = &q->block[part->segment];
            const int channels = part->channels / part->pieces;
            const bool apart = part->pieces > 1 && block_is_apart(b);
            for (int c = 0; c < (apart ? b->components : 1); c++)
                build_field(g->pipeline, place,
                            (struct field){.version = part->first + k,
                                           .runs = TILED_LANES,
                                           .length = channels * (apart ? 1 : b->components),
                                           .base = b->offset + k * channels * b->channel + c * b->component,
                                           .at = c * channels,
                                           .wide = lane,
                                           .lane = lane});
        }
}

static void add_place(struct tiled *g, int i, const struct operand *q, int alias)
{
    const bool input = i < g->demand->kernel->form->inputs, row = tiled_is_row(q),
               streams = tiled_streams(g, q);
    const int size = kernel_size(g->demand->kernel), lane = streams && g->wide ? 16 / size : 1;
    struct place p = {.name = q->symbol, .operand = q, .alias = alias, .size = size, .rate = 1, .stages = 1};
    p.scope = row || !input ? SCOPE_TEAM : SCOPE_BLOCK;
    p.how = !input ? HOW_CODE : row ? HOW_ASYNC : HOW_LOAD;
    p.clock = row ? g->tile : LOOP_LAUNCH;
    p.who = row ? WHO_RUN : input ? WHO_ANY : WHO_KEPT;
    p.summed = !row && !input;
    p.keep = streams; /* lines that parts share are read by each of them */
    p.group = !row ? (input ? WEIGHTS : SUMS) : input ? (streams ? RING : ROWS) : streams ? LEAVING : OUT;
    if (streams) {
        p.rate = g->pieces;
        p.stages = input || alias >= 0 ? g->stages : 1;
    } else if (row && input) {
        p.stages = g->stages > 1 ? 2 : 1;
    }
    if (alias >= 0)
        p.group = RING;
    g->place[i] = build_place(g->pipeline, p);
    if (streams)
        add_pieces(g, g->place[i], q, lane);
    else if (q->dim)
        build_field(
            g->pipeline, g->place[i],
            (struct field){
                .version = -1, .runs = row ? TILED_LANES : 1, .length = (int)q->dim, .wide = 1, .lane = 1});
}

void tiled_places(struct tiled *g, int stages, int warps, bool in_place)
{
    int next = 0;
    g->pipeline = build_pipeline(g->arena, (struct worker){TILED_LANES, 1, warps}, TILED_LANES);
    g->tile = build_loop(g->pipeline, (struct loop){.name = "tile"});
    g->stages = stages;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        build_group(g->pipeline, groups[i]);
    for (int i = 0; i < tiled_operands(g); i++) {
        const struct operand *q = tiled_operand(g, i), *other;
        int alias = -1;
        while (in_place && q && q->output && tiled_streams(g, q) && alias < 0 &&
               (other = tiled_operand(g, next), !other || !other->output)) {
            if (other && tiled_streams(g, other))
                alias = g->place[next];
            next++;
        }
        g->place[i] = -1;
        if (q)
            add_place(g, i, q, alias);
    }
    pipeline_layout(g->pipeline);
}

/* ---- on their way ---- */

static bool is_input(const struct tiled *g, int i, bool stream)
{
    const struct operand *q = tiled_operand(g, i);
    return q && !q->output && q->dim && tiled_is_row(q) && tiled_streams(g, q) == stream;
}

void tiled_copy(struct tiled *g, bool stream, int index, int skew)
{
    for (int i = 0; i < tiled_operands(g); i++)
        if (is_input(g, i, stream))
            build_copy(g->pipeline, g->place[i], index, skew);
}

void tiled_store(struct tiled *g, bool stream, int index)
{
    for (int i = 0; i < tiled_operands(g); i++) {
        const struct operand *q = tiled_operand(g, i);
        if (q && q->output && q->dim && tiled_is_row(q) && tiled_streams(g, q) == stream)
            build_store(g->pipeline, g->place[i], index, 0);
    }
}

void tiled_enter(struct tiled *g, const struct tiled_part *part, int piece)
{
    build_block(g->pipeline, part->first + piece);
}

void tiled_leave(struct tiled *g, const struct tiled_part *part, int piece)
{
    const int ahead = part->first + piece + g->stages, next = ahead / g->pieces;
    tiled_store(g, true, part->first + piece);
    tiled_copy(g, true, ahead % g->pieces, next);
    if (g->stages > 1 && ahead % g->pieces == 0) /* the next tile's first */
        tiled_copy(g, false, 0, next);
    build_end(g->pipeline);
}
