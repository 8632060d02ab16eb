/* tiled_places.c - tiled items: where rows of a tile are, and how they come and go. */
#include "schedule/tiled/tiled.h"

enum { RING, ROWS, LEAVING, OUT, GROUPS };
static const struct group groups[GROUPS] = {
    [RING] = {.name = "ring",
              .note = "What a tile reads for a part of the stream.",
              .type = "stage",
              .alias = "at"},
    [ROWS] = {.name = "rows", .note = "What a tile reads besides.", .type = "rows", .alias = "rows"},
    [LEAVING] = {.name = "leaving", .note = "What becomes of a part of the stream."},
    [OUT] = {.name = "out", .note = "What becomes of the tile's other rows."}};

/* A piece of a row of the stream: a field, or one for each component where they are apart. */
static void add_piece(const struct tiled *g, int place, const struct tiled_part *part, int piece)
{
    const struct place *q = &g->pipeline->place[place];
    const struct operand_block *b = &q->operand->block[part->segment];
    const int channels = part->channels / part->pieces, wide = g->wide ? 16 / q->size : 1;
    const bool apart = part->pieces > 1 && block_is_apart(b);
    for (int c = 0; c < (apart ? b->components : 1); c++)
        build_field(g->pipeline, place,
                    (struct field){.version = part->first + piece,
                                   .runs = TILED_LANES,
                                   .length = channels * (apart ? 1 : b->components),
                                   .base = b->offset + piece * channels * b->channel + c * b->component,
                                   .at = c * channels,
                                   .wide = wide,
                                   .lane = wide});
}

static int add_place(const struct tiled *g, const struct operand *q, int alias)
{
    const bool input = !q->output, streams = q->slot == g->stream, rings = streams && (input || alias >= 0);
    struct pipeline *p = g->pipeline;
    if (q->index != INDEX_ITEM)
        return build_shared(p, q);
    const int place =
        build_place(p, (struct place){.name = q->symbol,
                                      .operand = q,
                                      .scope = SCOPE_TEAM,
                                      .how = input ? HOW_ASYNC : HOW_CODE,
                                      .clock = g->tile,
                                      .rate = streams ? g->pieces : 1,
                                      .stages = rings                    ? g->stages
                                                : input && g->stages > 1 ? 2
                                                                         : 1,
                                      .alias = alias,
                                      .group = rings     ? RING
                                               : streams ? LEAVING
                                               : input   ? ROWS
                                                         : OUT,
                                      .who = WHO_RUN,
                                      .keep = streams}); /* lines that parts share are read by each */
    for (int i = 0; i < g->parts && streams; i++)
        for (int k = 0; k < g->part[i].pieces; k++)
            add_piece(g, place, &g->part[i], k);
    if (!streams && q->dim)
        build_field(
            p, place,
            (struct field){.version = -1, .runs = TILED_LANES, .length = (int)q->dim, .wide = 1, .lane = 1});
    return place;
}

void tiled_places(struct tiled *g, int stages, int warps, bool in_place)
{
    const int inputs = g->demand->kernel->form->inputs;
    int next = in_place ? 0 : inputs;
    g->pipeline = build_pipeline(g->arena, (struct worker){TILED_LANES, 1, warps, 1}, TILED_LANES);
    g->pipeline->size = kernel_size(g->demand->kernel);
    g->tile = build_loop(g->pipeline, (struct loop){.name = "tile"});
    g->stages = stages;
    for (int i = 0; i < GROUPS; i++)
        build_group(g->pipeline, groups[i]);
    for (int i = 0; i < demand_arrays(g->demand); i++) {
        const struct operand *q = demand_array(g->demand, i);
        int alias = -1;
        for (; q && q->output && q->slot == g->stream && alias < 0 && next < inputs; next++)
            if (g->place[next] >= 0 && demand_array(g->demand, next)->slot == g->stream)
                alias = g->place[next];
        g->place[i] = q ? add_place(g, q, alias) : -1;
    }
    pipeline_layout(g->pipeline);
}

/* Is the place a row of each item, of the stream (or of all else)? */
static bool is_row(const struct tiled *g, const struct place *q, bool stream)
{
    return q->clock == g->tile && q->fields && (q->operand->slot == g->stream) == stream;
}

void tiled_copy(const struct tiled *g, bool stream, int index, int skew)
{
    for (int i = 0; i < g->pipeline->places; i++)
        if (is_row(g, &g->pipeline->place[i], stream) && g->pipeline->place[i].how == HOW_ASYNC)
            build_copy(g->pipeline, i, index, skew);
}

void tiled_store(const struct tiled *g, bool stream, int index)
{
    for (int i = 0; i < g->pipeline->places; i++)
        if (is_row(g, &g->pipeline->place[i], stream) && g->pipeline->place[i].how == HOW_CODE)
            build_store(g->pipeline, i, index, 0);
}
