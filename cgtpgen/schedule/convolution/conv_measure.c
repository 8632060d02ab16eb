/* conv_measure.c - the pipelined convolution: how lanes share the channels of a path set, and what an edge
 * takes: registers, memory, instructions, time.
 */
#include "schedule/convolution/conv_plan.h"

enum {
    FORM_REGISTERS = 24, /* forms of each operand A beyond the first; of all where several paths use them */
    FORM_REGISTERS_DOUBLE = 8, /* the same in float64, where they are made again rather than held */
    Y_REGISTERS = 96,          /* of rows of y; where these take more, only what the paths need is held */
    OWN_REGISTERS = 44,        /* addresses, counters, temporaries; fitted to what ptxas reports */
    SIDE_BY_SIDE = 40          /* instructions that it takes to have several edges at once */
};

/* The numbers of channels of a set's paths. */
static void find_parts(struct path_set *s, const struct problem *p)
{
    s->parts = s->mul = 0;
    for (int i = 0, k; i < s->paths; i++) {
        const int mul = p->path[s->path[i]].mul_x;
        for (k = 0; k < s->parts && s->part[k] != mul;)
            k++;
        if (k == s->parts)
            s->part[s->parts++] = mul;
        s->mul = s->mul > mul ? s->mul : mul;
    }
}

/* Its segments of z, by the number of their channels. */
void conv_find_zs(struct path_set *s, const struct problem *p, struct conv_seen *seen)
{
    s->zs = 0;
    seen->now++;
    for (int k = 0; k < s->parts; k++)
        for (int i = 0; i < s->paths; i++) {
            const struct path *q = &p->path[s->path[i]];
            if (q->mul_x != s->part[k])
                continue;
            if (seen->z[q->z] != seen->now)
                s->z[s->zs++] = s->path[i];
            seen->z[q->z] = seen->now;
        }
}

/* Shared memory of a warp at least: rows of the receiver that are kept there, of z components, two stages, of
 * so many bytes that are brought in, rows on their way out, sums of outputs of slot y. */
static int memory_of(const struct convolution *g, struct path_set *s, int bytes_in, int z)
{
    enum { STAGE_MORE = 144 }; /* a sender's number, an item's, whole lines */
    const struct demand *d = g->demand;
    int size = kernel_size(d->kernel), y = (int)d->plan->problem->dim[SLOT_Y];
    int kept = g->keeps_z ? LANES * z * size * demand_inputs_of(d, SLOT_G) : 0;
    int sums = 2 * REDUCE_ITEMS * (y * size + 8) * demand_outputs_of(d, SLOT_Y);
    int rows = s->x_bytes > 2 * s->longest ? s->x_bytes : 2 * s->longest;
    s->stage_bytes = bytes_in + STAGE_MORE;
    return kept + 2 * s->stage_bytes + rows + sums + TILE_ROOM;
}

/* Lanes that an edge needs, of so many channels each, where a warp has several side by side; LANES: it has
 * one. Sums that carry errors along count edges one by one. */
static int lanes_of(const struct convolution *g, int mul, int channels)
{
    enum { LEAST = 4 };
    const int most = (mul + channels - 1) / channels;
    int lanes = LEAST;
    if (g->carries || mul % LANES == 0)
        return LANES;
    while (lanes < most && lanes < LANES)
        lanes *= 2;
    return lanes;
}

/* How lanes share the set's channels, of which one may have so many. Of multiples of 32 channels each has as
 * many; otherwise what leaves the fewest lanes idle, where what an edge takes besides its channels is half a
 * channel's. */
void conv_choose_lanes_alike(const struct convolution *g, struct path_set *s, int channels)
{
    double best = 0;
    if (s->mul % LANES == 0)
        while (s->mul % (LANES * channels))
            channels /= 2;
    for (int v = s->mul % LANES ? 1 : channels; v <= channels; v++) {
        const int lanes = lanes_of(g, s->mul, v), blocks = (s->mul + lanes * v - 1) / (lanes * v);
        const double time = blocks * lanes * (v + 0.5);
        if (best > 0 && time > best)
            continue;
        best = time;
        s->lanes = lanes;
        s->channel_blocks = blocks;
    }
    s->channels = conv_channels(s, s->mul);
}

/* The same of different numbers of channels: what takes the fewest instructions, where an edge takes so many
 * more than its paths. */
static void choose_lanes_mixed(const struct convolution *g, struct path_set *s, int channels)
{
    enum { OF_EDGE = 120, LEAST = 4 };
    const struct path *path = g->demand->plan->problem->path;
    double best = 0;
    for (int lanes = LANES; lanes >= (g->carries ? LANES : LEAST); lanes /= 2) {
        struct path_set q = {.lanes = lanes,
                             .channel_blocks = (s->mul + lanes * channels - 1) / (lanes * channels)};
        double work = OF_EDGE;
        if (lanes < LANES && q.channel_blocks > 1)
            break;
        for (int i = 0; i < s->paths; i++)
            if (g->first[s->path[i]] == s->path[i])
                work += (code_instructions(g->code[s->path[i]]->channel) *
                             conv_channels(&q, path[s->path[i]].mul_x) +
                         code_instructions(g->code[s->path[i]]->item)) *
                        conv_calls(&path[s->path[i]]);
        work *= lanes * q.channel_blocks;
        if (best > 0 && work >= best)
            continue;
        best = work;
        s->lanes = lanes;
        s->channel_blocks = q.channel_blocks;
    }
    s->channels = conv_channels(s, s->mul);
}

void conv_choose_lanes(const struct convolution *g, struct path_set *s, int channels)
{
    find_parts(s, g->demand->plan->problem);
    if (s->parts > 1)
        choose_lanes_mixed(g, s, channels);
    else
        conv_choose_lanes_alike(g, s, channels);
}

/* Bytes that a copy into a stage moves. */
static int copy_bytes(const struct convolution *g, enum slot slot)
{
    enum { CHUNK = 16 };
    const int size = kernel_size(g->demand->kernel), bytes = g->aligned[slot] * size;
    return bytes < CHUNK ? bytes : CHUNK;
}

/* What copies bring into a stage: bytes, instructions; and what an edge moves. */
struct moved {
    int in, bytes;
    double copies;
};

/* Of a set with so many elements of x in a lane. */
static struct moved moved_by(const struct convolution *g, const struct path_set *s, int x)
{
    enum { CHUNK = 16 };
    const struct demand *d = g->demand;
    const struct problem *p = d->plan->problem;
    const int y = (int)p->dim[SLOT_Y] * conv_abreast(s);
    int w = 0, channels = 0; /* weights of a lane, of an edge; */
    int64_t rows = 0;        /* of x of an edge */
    for (int i = 0; i < s->paths; i++) {
        const struct path *q = &p->path[s->path[i]];
        w += conv_channels(s, q->mul_x) * conv_calls(q);
        channels += q->mul_x * conv_calls(q);
    }
    for (int i = 0; i < s->xs; i++)
        rows += p->x.segment[s->x[i]].mul * (2 * p->x.segment[s->x[i]].ir.l + 1);
    const int w_in = w * demand_bytes_of(d, SLOT_W, false), x_in = x * demand_bytes_of(d, SLOT_X, false);
    const int y_in = y * demand_bytes_of(d, SLOT_Y, false), y_out = y * demand_bytes_of(d, SLOT_Y, true);
    const double of_w =
        channels * (double)(demand_bytes_of(d, SLOT_W, false) + demand_bytes_of(d, SLOT_W, true));
    const double of_x = (double)rows * (demand_bytes_of(d, SLOT_X, false) + demand_bytes_of(d, SLOT_X, true));
    return (struct moved){.in = LANES * (w_in + x_in) + y_in,
                          .bytes =
                              (int)((of_w + of_x) / s->channel_blocks) + (y_in + y_out) / conv_abreast(s),
                          .copies = (double)w_in / copy_bytes(g, SLOT_W) +
                                    (double)x_in / copy_bytes(g, SLOT_X) + (double)y_in / CHUNK / LANES};
}

/* Registers of a thread, and the other figures, for a set with its paths and channels set. */
void conv_measure(const struct convolution *g, struct conv_seen *seen, struct path_set *s)
{
    const struct demand *pass = g->demand;
    const struct problem *p = pass->plan->problem;
    int size = kernel_size(pass->kernel), words = size / 4, v = s->channels, y_used = 0;
    int x = 0, z = 0, longest = 0; /* elements of a lane */
    double arithmetic = 0, form_terms = 0;
    int rows = 0, most_rows = 0; /* of a code of several paths, which holds what flows back to them */
    bool together = false;
    int weights = 0; /* of a channel */
    conv_find_zs(s, p, seen);
    s->xs = 0;
    for (int i = 0; i < s->paths; i++) {
        const struct path *q = &p->path[s->path[i]];
        const struct matrix *m = g->matrix[s->path[i]];
        if (seen->x[q->x] != seen->now) {
            s->x[s->xs++] = q->x;
            x += conv_channels(s, q->mul_x) * (2 * q->l1 + 1);
        }
        seen->x[q->x] = seen->now;
        y_used += seen->y[q->y] == seen->now ? 0 : q->mul_y * (2 * q->l2 + 1);
        seen->y[q->y] = seen->now;
        const bool alone = conv_together(g, s->path[i]) == 1;
        if (g->first[s->path[i]] == s->path[i])
            arithmetic +=
                code_instructions(g->code[s->path[i]]->channel) * conv_channels(s, q->mul_x) * conv_calls(q);
        bool again = g->joined && i > 0 && g->matrix[s->path[i - 1]] == m; /* the same forms */
        together |= !alone;
        if (g->first[s->path[i]] == s->path[i])
            rows = 0;
        rows += 2 * q->l3 + 1;
        most_rows = rows > most_rows && !alone ? rows : most_rows;
        form_terms += again || !alone ? 0 : (m->form_terms - m->forms) * conv_calls(q);
        weights += conv_calls(q);
    }
    for (int i = 0; i < s->zs; i++) {
        int elements = conv_channels(s, p->path[s->z[i]].mul_x) * (2 * p->path[s->z[i]].l3 + 1);
        z += elements;
        longest = longest > elements ? longest : elements;
    }
    int y = (int)p->dim[SLOT_Y];
    int xs_in = demand_inputs_of(pass, SLOT_X), xs_out = demand_outputs_of(pass, SLOT_X);
    int ys_in = demand_inputs_of(pass, SLOT_Y), ys_out = demand_outputs_of(pass, SLOT_Y);
    int zs_out = demand_outputs_of(pass, SLOT_G), zs_in = demand_inputs_of(pass, SLOT_G);
    int zs = (g->wide ? 3 : g->carries ? 2 : 1) * zs_out + (g->keeps_z ? 0 : zs_in);
    int z_held = z * zs + (g->keeps_z ? longest * zs_in : 0);
    const bool of_two = together && ys_in > 1; /* where there is one, larger sets leave fewer warps: slower */
    bool y_some = of_two || words * y * (ys_in + ys_out) > Y_REGISTERS;
    int y_held = y_some ? y_used : y;
    s->g_length = z * zs_out;
    s->longest = g->device->lanes * longest * size;
    s->x_bytes = g->device->lanes * x * xs_out * size;
    s->held =
        words * (z_held + x * (xs_in + xs_out) + y_held * (ys_in + ys_out)) + OWN_REGISTERS +
        (ys_in > 1 && !g->keeps_z ? (words > 1 ? FORM_REGISTERS_DOUBLE : FORM_REGISTERS) * (ys_in - 1) : 0) +
        (g->joined ? FORM_REGISTERS * words : 0) +
        (of_two && (xs_out || ys_out) ? v * words * most_rows : 0) +
        (g->carries && zs_out ? CARRY_REGISTERS * words * (v - 1) : 0);
    int ws_in = demand_inputs_of(pass, SLOT_W), ws_out = demand_outputs_of(pass, SLOT_W);
    const int abreast = conv_abreast(s);
    const struct moved moved = moved_by(g, s, x);
    s->bytes = moved.bytes;
    /* fitted to the loops that ptxas makes (rms 5 %): the loop itself, products, forms, weights, the sums
     * over lanes, copies of 512 bytes */
    s->work = (int)(87 + 1.07 * arithmetic + 1.87 * form_terms * ys_in + 1.4 * weights * (ws_in + ws_out) +
                    (y * size == 64 ? 48.0 : 69.0) * ys_out + 6.8 * moved.copies +
                    (abreast > 1 ? SIDE_BY_SIDE : 0) + (g->keeps_z ? 0.3 * z * zs_in : 0) +
                    (g->wide      ? WIDEN_WORK * z * zs_out / CARRY_EDGES
                     : g->carries ? 3 * z * zs_out / CARRY_EDGES
                                  : 0));
    /* fitted, with CGTP_RECEIVER_WORK, to when the warps of each path set end, of the benchmark's layers and
     * graphs on an H200 (rms 7 % in float32, 10 % in float64): what every edge waits, and what it moves */
    s->share = (int)((s->work + 50 * words * words) / (double)abreast + 0.0125 * words * s->bytes);
    /* from what short tiles add to the times of forward kernels */
    s->hand_over = (int)(0.8 * size * g->device->lanes * s->g_length);
    s->memory = memory_of(g, s, moved.in, z);
}
