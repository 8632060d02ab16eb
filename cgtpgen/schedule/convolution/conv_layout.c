/* conv_layout.c - where everything of a pipelined convolution is: a stage, a warp's and a block's shared
 * memory, a lane's elements of slot z; see plan_cuda.h.
 */
#include "schedule/convolution/conv_plan.h"

#include "schedule/source.h"

enum {
    STAGE_ALIGN = 128, /* copies are fastest to multiples of it */
    SLICE_ALIGN = 16,  /* of what a lane copies at a time */
    TILE_BYTES = 176   /* struct cgtp_tile of the runtime */
};

const char *conv_field(struct arena *a, const char *name, enum slot slot, int number)
{
    return slot == SLOT_Y ? name : arena_printf(a, slot == SLOT_W ? "%sp%d" : "%ss%d", name, number);
}

static int part_of(const struct path_set *s, int mul)
{
    int i = 0;
    while (s->part[i] != mul)
        i++;
    return i;
}

static bool weighted_after(const struct path_set *s, const struct path *p, const struct path *q)
{
    const int part = part_of(s, p->mul_x) - part_of(s, q->mul_x);
    return part ? part > 0 : p->weight_offset > q->weight_offset;
}

int conv_weighted(struct arena *a, const struct problem *p, const struct path_set *s, int **sorted)
{
    int *path = *sorted = NEW_ARRAY(a, int, s->paths + 1), n = 0;
    for (int i = 0; i < s->paths; i++) {
        int j = n;
        if (!p->path[s->path[i]].weighted)
            continue;
        for (; j > 0 && weighted_after(s, &p->path[path[j - 1]], &p->path[s->path[i]]); j--)
            path[j] = path[j - 1];
        path[j] = s->path[i];
        n++;
    }
    return n;
}

/* The channels of a warp in a block of an operand. */
static int slice(const struct path_set *s, const struct operand_block *b)
{
    return LANES * conv_channels(s, b->channels) * b->components;
}

static void add_input(struct arena *a, const struct convolution *g, const struct operand *in,
                      struct path_set *s)
{
    const struct problem *p = g->demand->plan->problem;
    static const char *const by[SLOT_COUNT] = {[SLOT_X] = ", by irreps segment", [SLOT_W] = ", by path"};
    const char *owner = arena_printf(a, "%s%s", in->name, by[in->slot] ? by[in->slot] : "");
    const char *type = source_held(g->demand->plan, in);
    int size = operand_size(in), *path = NULL, n = 0;
    if (in->slot == SLOT_Y)
        layout_add(a, &s->stage, in->symbol, type, size, SLICE_ALIGN, conv_y_room(in, s), NULL);
    if (in->slot == SLOT_X)
        n = s->xs;
    if (in->slot == SLOT_W)
        n = conv_weighted(a, p, s, &path);
    for (int i = 0; i < n; i++) {
        int number = in->slot == SLOT_X ? s->x[i] : path[i];
        layout_add(a, &s->stage, conv_field(a, in->symbol, in->slot, number), type, size, SLICE_ALIGN,
                   slice(s, &in->block[number]), owner);
    }
}

/* Each edge's row of those side by side begins at a multiple of 16 bytes. */
int conv_y_room(const struct operand *y, const struct path_set *s)
{
    const int dim = (int)y->dim, wide = SLICE_ALIGN / operand_size(y);
    return s->lanes == LANES ? dim : conv_abreast(s) * ((dim + wide - 1) / wide * wide);
}

/* A number for each edge. */
static void add_number(struct arena *a, struct path_set *s, const char *name)
{
    layout_add(a, &s->stage, name, "int64_t", 8, 8, s->lanes == LANES ? 0 : conv_abreast(s), NULL);
}

void conv_layout_stage(struct arena *a, const struct convolution *g, struct path_set *s)
{
    const struct plan *plan = g->demand->plan;
    const struct kernel_plan *k = g->demand->kernel;
    int size = kernel_size(k);
    s->stage = (struct layout){.note = "What a warp brings in for an edge: its channels' slices of rows.",
                               .align = SLICE_ALIGN};
    s->lane = (struct layout){.align = 1};
    for (int i = 0; i < k->form->inputs; i++)
        if (demand_reads(g->demand, i))
            add_input(a, g, kernel_input(k, i), s);
    if (g->b_outputs && !g->edge_buffer)
        add_number(a, s, "sender");
    if (g->orders && (g->a_outputs || g->w_outputs))
        add_number(a, s, "item");
    layout_pad(a, &s->stage, STAGE_ALIGN);
    for (int i = 0; i < s->zs; i++) {
        const struct path *p = &plan->problem->path[s->z[i]];
        layout_add(a, &s->lane, arena_printf(a, "s%d", p->z), "real", size, size,
                   conv_channels(s, p->mul_x) * (2 * p->l3 + 1), NULL);
    }
}

int conv_summed_ys(const struct convolution *g, const struct path_set *s, int *begin)
{
    bool some = g->parts > 1;
    *begin = some ? s->y_begin : 0;
    return some ? s->y_end - s->y_begin : (int)g->demand->plan->problem->dim[SLOT_Y];
}

int conv_sums_bytes(const struct convolution *g, const struct path_set *s)
{
    enum {
        CHUNK = 16,
        CHUNKS = 4
    }; /* of bytes; of a lane's row, and one that keeps lanes off each other's banks */
    int begin, bytes = conv_summed_ys(g, s, &begin) * kernel_size(g->demand->kernel);
    return g->a_outputs && s->lanes == LANES && bytes == CHUNKS * CHUNK ? LANES * (CHUNKS + 1) * CHUNK : 0;
}

int conv_kept_bytes(const struct convolution *g, const struct path_set *s)
{
    return g->keeps_z ? LANES * s->lane.bytes * demand_inputs_of(g->demand, SLOT_G) : 0;
}

/* A warp's memory. */
static void lay_out_warp(struct arena *a, const struct convolution *g, struct path_set *s)
{
    int size = kernel_size(g->demand->kernel);
    s->edge = (struct layout){.align = SLICE_ALIGN};
    s->staging = (struct layout){.align = SLICE_ALIGN, .alternatives = true};
    s->warp = (struct layout){.note = "The shared memory of a warp.", .align = SLICE_ALIGN};
    layout_nest(a, &s->warp, "ring", &s->stage, g->stages, NULL);
    for (int o = 0; o < g->demand->outputs; o++) {
        const struct operand *f = demand_operand(g->demand, o);
        const char *owner = arena_printf(a, "%s, by irreps segment", f->name);
        for (int i = 0; i < s->xs && f->slot == SLOT_X; i++)
            layout_add(a, &s->edge, conv_field(a, f->symbol, SLOT_X, s->x[i]), "real", size, SLICE_ALIGN,
                       slice(s, &f->block[s->x[i]]), owner);
    }
    if (g->g_outputs) {
        layout_add(a, &s->staging, "rows", "real", size, SLICE_ALIGN, g->buffer_bytes / size, NULL);
        layout_repeat(&s->staging, g->buffers);
    }
    if (s->edge.bytes)
        layout_nest(a, &s->staging, "edge", &s->edge, 0, NULL);
    if (conv_sums_bytes(g, s))
        layout_add(a, &s->staging, "sums", "real", size, SLICE_ALIGN, conv_sums_bytes(g, s) / size,
                   "outputs of slot y, a row for each lane");
    if (s->staging.bytes)
        layout_nest(a, &s->warp, "staging", &s->staging, 0, "rows on their way to memory");
    for (int i = 0; g->keeps_z && i < g->demand->kernel->form->inputs; i++)
        if (demand_reads(g->demand, i) && kernel_input(g->demand->kernel, i)->slot == SLOT_G)
            layout_add(a, &s->warp, kernel_input(g->demand->kernel, i)->symbol, "real", size, SLICE_ALIGN,
                       LANES * s->lane.bytes / size, "the receiver's row");
    layout_add(a, &s->warp, "tile", "cgtp_tile", TILE_BYTES, 8, 0, NULL);
    layout_pad(a, &s->warp, STAGE_ALIGN);
}

/* What a warp group's warps hand each other: of each output, the sums of twice as many items as they add up
 * at a time. */
static void lay_out_reduce(struct arena *a, const struct convolution *g, struct path_set *s)
{
    int size = kernel_size(g->demand->kernel);
    s->reduce =
        (struct layout){.note = "Sums of a warp group's warps: [item in turn][channel block][component].",
                        .align = SLICE_ALIGN};
    if (g->orders)
        layout_add(a, &s->reduce, "item", "int64_t", 8, 8, 2 * REDUCE_ITEMS, NULL);
    for (int o = 0; o < g->demand->outputs; o++) {
        const struct operand *f = demand_operand(g->demand, o);
        if (f->slot != SLOT_Y)
            continue;
        layout_add(a, &s->reduce, f->symbol, "real", size, size, (int)f->dim, NULL);
        layout_repeat(&s->reduce, s->channel_blocks);
        layout_repeat(&s->reduce, 2 * REDUCE_ITEMS);
    }
}

void conv_layout_block(struct arena *a, struct convolution *g)
{
    bool several = g->sets > 1;
    struct path_set *first = &g->set[0];
    g->warp = NEW(a, struct layout);
    g->reduce = NEW(a, struct layout);
    g->block = NEW(a, struct layout);
    *g->warp = (struct layout){
        .note = "A warp's memory, whichever path set it has.", .align = SLICE_ALIGN, .alternatives = true};
    *g->reduce = (struct layout){.note = "The warp groups' sums, whichever path set the block has.",
                                 .align = SLICE_ALIGN,
                                 .alternatives = true};
    *g->block = (struct layout){.note = "The shared memory of a block.", .align = SLICE_ALIGN};
    g->one_reduce = true;
    for (int i = 0; i < g->sets; i++) {
        struct path_set *s = &g->set[i];
        const char *name = arena_printf(a, "set%d", i);
        if (s->like != i)
            continue;
        lay_out_warp(a, g, s);
        layout_nest(a, g->warp, name, &s->warp, 0, NULL);
        if (!g->reduces)
            continue;
        lay_out_reduce(a, g, s);
        g->one_reduce &= s->channel_blocks == first->channel_blocks;
        layout_nest(a, g->reduce, name, &s->reduce, g->warps / s->channel_blocks, NULL);
    }
    layout_nest(a, g->block, "warp", several ? g->warp : &first->warp, g->warps, NULL);
    if (!g->reduces)
        return;
    layout_nest(a, g->block, "reduce", g->one_reduce ? &first->reduce : g->reduce,
                g->one_reduce ? g->warps / first->channel_blocks : 0, NULL);
    layout_add(a, g->block, "broadcast", "int", 4, 4, g->warps, NULL); /* at most a slot per warp */
}

void conv_layout_name(struct arena *a, const struct schedule *schedule, int label)
{
    struct convolution *g = schedule->own;
    g->name = arena_printf(a, "%s_%s", schedule->demand->kernel->form->name, schedule->name);
    g->label = label;
    for (int i = 0; i < g->sets; i++) {
        struct path_set *s = &g->set[i];
        s->stage.name = arena_printf(a, "stage_%d", label + i);
        s->warp.name = arena_printf(a, "warp_%d", label + i);
        s->reduce.name = arena_printf(a, "reduce_%d", g->one_reduce ? label : label + i);
    }
    g->warp->name = arena_printf(a, "%s_warp", g->name);
    g->reduce->name = arena_printf(a, "%s_reduce", g->name);
    g->block->name = arena_printf(a, "%s_block", g->name);
}
