/* conv_measure.c - the pipelined convolution: how lanes share the channels of a path set, and what an edge
 * takes: registers, memory, instructions, time.
 */
#include "schedule/convolution/conv_plan.h"

enum {
    FORM_REGISTERS = 24, /* forms of each operand A beyond the first; of all where several paths use them */
    FORM_REGISTERS_DOUBLE = 8, /* the same in float64, where they are made again rather than held */
    Y_REGISTERS = 96,          /* of rows of y; where these take more, only what the paths need is held */
    ABREAST_REGISTERS = 12,    /* of edges side by side: whose turn it is, where each lane's rows are; */
    CHANNELS_REGISTERS = 12,   /* and of three channels and more, whose work ptxas mixes */
    OWN_REGISTERS = 44         /* addresses, counters, temporaries; fitted to what ptxas reports */
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

double conv_of_edge(const struct path_set *s, double instructions, double receiver)
{
    const double edges = 20; /* of a receiver */
    const int n = conv_abreast(s);
    return instructions * (1 + (n - 1) / edges) / n + receiver / edges;
}

/* Instructions of a receiver's elements in a lane: they are loaded, or are sums, which are added over the
 * edges side by side and leave. */
static double of_receiver(const struct convolution *g, const struct path_set *s, double elements)
{
    enum { OTHERS = 150, LOADS = 4, LEAVES = 6, JOINS = 2 };
    int joins = 0;
    for (int n = conv_abreast(s); n > 1; n /= 2)
        joins++;
    return OTHERS + kernel_size(g->demand->kernel) / 4 * elements *
                        (demand_outputs_of(g->demand, SLOT_G) * (LEAVES + JOINS * joins) +
                         demand_inputs_of(g->demand, SLOT_G) * LOADS);
}

/* Has the set's path number i a segment of z to itself among those before it? */
static bool is_first_into(const struct convolution *g, const struct path_set *s, int i)
{
    const struct path *path = g->demand->plan->problem->path;
    bool first = true;
    for (int k = 0; k < i && first && g->shares_z[s->path[i]]; k++)
        first = path[s->path[k]].z != path[s->path[i]].z;
    return first;
}

/* What the set takes for an edge with lanes so shared. */
static double time_with(const struct convolution *g, const struct path_set *s, struct path_set q)
{
    enum { OF_EDGE = 120 };
    const struct path *path = g->demand->plan->problem->path;
    double work = OF_EDGE, elements = 0;
    for (int i = 0; i < s->paths; i++) {
        const struct path *p = &path[s->path[i]];
        if (is_first_into(g, s, i))
            elements += conv_channels(&q, p->mul_x) * (2 * p->l3 + 1);
        if (g->first[s->path[i]] == s->path[i])
            work += (code_instructions(g->code[s->path[i]]->channel) * conv_channels(&q, p->mul_x) +
                     code_instructions(g->code[s->path[i]]->item)) *
                    conv_calls(p);
    }
    return conv_scattered(g, &q) * q.channel_blocks * conv_of_edge(&q, work, of_receiver(g, &q, elements));
}

/* How lanes share the set's channels, of which one may have so many. Of multiples of 32 channels each has as
 * many; otherwise what takes least. Of a set without paths what leaves the fewest lanes idle, where what an
 * edge takes besides its channels is half a channel's. */
void conv_choose_lanes_alike(const struct convolution *g, struct path_set *s, int channels)
{
    double best = 0;
    if (s->mul % LANES == 0)
        while (s->mul % (LANES * channels))
            channels /= 2;
    for (int v = s->mul % LANES ? 1 : channels; v <= channels; v++) {
        const int lanes = lanes_of(g, s->mul, v), blocks = (s->mul + lanes * v - 1) / (lanes * v);
        const struct path_set q = {.lanes = lanes, .channel_blocks = blocks};
        const double time = s->paths ? time_with(g, s, q) : blocks * lanes * (v + 0.5);
        if (best > 0 && time > best)
            continue;
        best = time;
        s->lanes = lanes;
        s->channel_blocks = blocks;
    }
    s->channels = conv_channels(s, s->mul);
}

static bool has_whole_warps(const struct path_set *s)
{
    bool whole = true;
    for (int i = 0; i < s->parts; i++)
        whole &= s->part[i] % LANES == 0;
    return whole;
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
        if (!has_whole_warps(s)) {
            const double time = time_with(g, s, q);
            if (best > 0 && time >= best)
                continue;
            best = time;
            s->lanes = lanes;
            s->channel_blocks = q.channel_blocks;
            continue;
        }
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

int conv_piece(const struct convolution *g, const struct path_set *s, const struct operand *o)
{
    const int bytes = g->aligned[o->slot] * operand_size(o);
    return o->slot == SLOT_Y || bytes >= CHUNK || conv_shifts(g, s, o) ? CHUNK : bytes;
}

/* Copies of the set's parts of rows that are read, of so many elements of a lane by slot. */
static double copies_of(const struct convolution *g, const struct path_set *s, const double *elements)
{
    double copies = 0;
    for (int i = 0; i < g->demand->kernel->form->inputs; i++) {
        const struct operand *o = kernel_input(g->demand->kernel, i);
        if (demand_reads(g->demand, i) && o->slot != SLOT_G)
            copies += cost_copies(elements[o->slot] * operand_size(o), conv_piece(g, s, o));
    }
    return copies;
}

/* Counts what an edge moves, of a set with so many elements of x in a lane. Returns bytes that copies bring
 * into a stage. */
static int count_moved(const struct convolution *g, struct path_set *s, int x)
{
    const struct demand *d = g->demand;
    const struct problem *p = d->plan->problem;
    const int abreast = conv_abreast(s), y = (int)p->dim[SLOT_Y] * abreast;
    int w = 0, channels = 0; /* weights of a lane, of an edge; */
    int64_t rows = 0;        /* of x of an edge */
    for (int i = 0; i < s->paths; i++) {
        const struct path *q = &p->path[s->path[i]];
        w += q->weighted ? conv_channels(s, q->mul_x) * conv_calls(q) : 0;
        channels += q->weighted ? q->mul_x * conv_calls(q) : 0;
    }
    for (int i = 0; i < s->xs; i++)
        rows += p->x.segment[s->x[i]].mul * (2 * p->x.segment[s->x[i]].ir.l + 1);
    const int w_in = w * demand_bytes_of(d, SLOT_W, false), x_in = x * demand_bytes_of(d, SLOT_X, false);
    const int y_in = y * demand_bytes_of(d, SLOT_Y, false), y_out = y * demand_bytes_of(d, SLOT_Y, true);
    s->work.bytes =
        (channels * (double)(demand_bytes_of(d, SLOT_W, false) + demand_bytes_of(d, SLOT_W, true)) +
         (double)rows * (demand_bytes_of(d, SLOT_X, false) + demand_bytes_of(d, SLOT_X, true))) /
            s->channel_blocks +
        (y_in + y_out) / abreast;
    s->work.copies =
        copies_of(g, s, (double[SLOT_COUNT]){[SLOT_W] = w, [SLOT_X] = x, [SLOT_Y] = (double)y / LANES});
    return LANES * (w_in + x_in) + y_in;
}

int conv_forms(const struct convolution *g, const struct path_set *s, const int *path)
{
    const struct matrix *m = g->matrix[*path];
    const bool again = g->joined && path > s->path && g->matrix[path[-1]] == m; /* the same */
    return again || conv_together(g, *path) > 1 ? 0 : m->form_terms - m->forms;
}

/* Registers of a thread, and the other figures, for a set with its paths and channels set. */
void conv_measure(const struct convolution *g, struct conv_seen *seen, struct path_set *s)
{
    const struct demand *pass = g->demand;
    const struct problem *p = pass->plan->problem;
    int size = kernel_size(pass->kernel), words = size / 4, v = s->channels, y_used = 0;
    const int ys_in = demand_inputs_of(pass, SLOT_Y), ys_out = demand_outputs_of(pass, SLOT_Y);
    const int ws_in = demand_inputs_of(pass, SLOT_W), ws_out = demand_outputs_of(pass, SLOT_W);
    int x = 0, z = 0, longest = 0; /* elements of a lane */
    s->work = (struct work){.abreast = conv_abreast(s)};
    int rows = 0, most_rows = 0; /* of a code of several paths, which holds what flows back to them */
    bool together = false;
    conv_find_zs(s, p, seen);
    s->xs = 0;
    for (int i = 0; i < s->paths; i++) {
        const struct path *q = &p->path[s->path[i]];
        if (seen->x[q->x] != seen->now) {
            s->x[s->xs++] = q->x;
            x += conv_channels(s, q->mul_x) * (2 * q->l1 + 1);
        }
        seen->x[q->x] = seen->now;
        y_used += seen->y[q->y] == seen->now ? 0 : q->mul_y * (2 * q->l2 + 1);
        seen->y[q->y] = seen->now;
        const bool alone = conv_together(g, s->path[i]) == 1;
        if (g->first[s->path[i]] == s->path[i])
            s->work.arithmetic +=
                code_instructions(g->code[s->path[i]]->channel) * conv_channels(s, q->mul_x) * conv_calls(q);
        s->work.forms += ys_in * conv_forms(g, s, &s->path[i]) * conv_calls(q);
        s->work.weights += q->weighted * (ws_in + ws_out) * conv_calls(q);
        together |= !alone;
        if (g->first[s->path[i]] == s->path[i])
            rows = 0;
        rows += 2 * q->l3 + 1;
        most_rows = rows > most_rows && !alone ? rows : most_rows;
    }
    for (int i = 0; i < s->zs; i++) {
        int elements = conv_channels(s, p->path[s->z[i]].mul_x) * (2 * p->path[s->z[i]].l3 + 1);
        z += elements;
        longest = longest > elements ? longest : elements;
    }
    int y = (int)p->dim[SLOT_Y];
    int xs_in = demand_inputs_of(pass, SLOT_X), xs_out = demand_outputs_of(pass, SLOT_X);
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
        (g->carries && zs_out ? CARRY_REGISTERS * words * (v - 1) : 0) +
        (s->lanes < LANES ? ABREAST_REGISTERS : 0) +
        (zs_out && v > 2 && !has_whole_warps(s) ? CHANNELS_REGISTERS : 0);
    s->receiver = has_whole_warps(s) ? 0 : of_receiver(g, s, z);
    s->work.sums = ys_out * cost_sum(y * size);
    s->work.kept = g->keeps_z ? z * zs_in : 0;
    *(g->wide ? &s->work.widened : &s->work.carried) = g->carries ? (double)z * zs_out / CARRY_EDGES : 0;
    s->memory = memory_of(g, s, count_moved(g, s, x), z);
}

/* Have some paths channels that do not fill warps? */
bool conv_is_uneven(const struct convolution *g)
{
    const struct problem *p = g->demand->plan->problem;
    bool uneven = false;
    for (int i = 0; i < p->paths; i++)
        uneven |= g->demand->variant_of[i] >= 0 && p->path[i].mul_x % LANES != 0;
    return uneven;
}

/* Do sets read and write parts of lines of rows of weights, of which others have the rest, at other times?
 * Then fewer are faster than by what they count: on an H200 of 24 backwards with fewer sets 17 took 0.60 to
 * 0.99 of the time (105 + 64, 38 and 19 channels 0.60 to 0.76), 7 up to 1.09; of 7 double backwards 5 took
 * 0.66 to 0.98, 2 up to 1.05, but with two sets instead of four 1.29. So do channel blocks that are warps of
 * several blocks, where rows are single numbers: 129 channels take 2.76 ms backward in five channel
 * blocks, 1.84 in two of two sets. */
int conv_torn(const struct convolution *g)
{
    const bool numbers = g->aligned[SLOT_W] * kernel_size(g->demand->kernel) < CHUNK;
    int parts = 0;
    for (int i = 0; i < g->sets; i++)
        parts += numbers && g->set[i].channel_blocks > CONV_WARPS ? g->set[i].channel_blocks : 1;
    return g->w_outputs && parts > 1 && conv_is_uneven(g) ? parts : 0;
}

/* How many times as long instructions take of loops that are longer than the cache next to the schedulers:
 * of half as long again 1.13, of twice as long 2. (On an H200; table 5's backward at lmax 5 with loops of up
 * to 24, 28, 32 and 36 KB takes 1.351, 1.333, 1.300 and 1.288 ms, where its instructions are 1, 0.98, 0.95
 * and 0.94 times as many; at lmax 4, of up to 24, 32 and 36 KB, 0.594, 0.580 and 0.586.) */
double conv_waits(const struct convolution *g)
{
    const double slope = 0.25, far = 0.5, slope_far = 1.5, most = 2.2;
    double work = 0, time = 0;
    for (int i = 0; i < g->sets; i++) {
        const double loop = (int)cost_instructions(&g->set[i].work),
                     over = loop * INSTRUCTION / g->device->loop_bytes - 1;
        const double factor = 1 + (over > 0 ? slope * over : 0) + (over > far ? slope_far * (over - far) : 0);
        work += loop;
        time += loop * (factor < most ? factor : most);
    }
    return work > 0 ? time / work : 1;
}
