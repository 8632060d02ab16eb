/* cgtp_gpu.h - what generated GPU kernels share, made of the operations of cgtp_cuda.h (included before
 * this).
 *
 * `real` is the type of the product's numbers.
 */
#ifndef CGTP_GPU_H
#define CGTP_GPU_H

/* ---- sums over lanes ---- */

/* Sum over the lanes, in every lane, in a fixed order. */
CGTP_DEVICE real cgtp_sum_lanes(real value)
{
    CGTP_UNROLL
    for (int mask = CGTP_LANES / 2; mask; mask /= 2)
        value += cgtp_shuffle_xor(value, mask);
    return value;
}

/* Sums of n (1, 2, 4, 8, 16 or 32) values over the lanes: afterwards value[0] of lane i < n is the sum of
 * value[cgtp_sums_index<n>()]. The order of additions is fixed. */
template <int n, int half, int bit> CGTP_DEVICE void cgtp_sums_step(real *value)
{
    if constexpr (half > 0) {
        const bool upper = cgtp_lane() >> bit & 1;
        CGTP_UNROLL
        for (int i = 0; i < half; i++) {
            const real keep = upper ? value[i + half] : value[i], send = upper ? value[i] : value[i + half];
            value[i] = keep + cgtp_shuffle_xor(send, 1 << bit);
        }
        cgtp_sums_step<n, half / 2, bit + 1>(value);
    } else {
        CGTP_UNROLL
        for (int mask = n; mask < CGTP_LANES; mask *= 2)
            value[0] += cgtp_shuffle_xor(value[0], mask);
    }
}
template <int n> CGTP_DEVICE void cgtp_sums(real *value)
{
    cgtp_sums_step<n, n / 2, 0>(value);
}
template <int n> CGTP_DEVICE int cgtp_sums_index(void)
{
    int index = 0;
    CGTP_UNROLL
    for (int bit = 0; 1 << bit < n; bit++)
        index |= (cgtp_lane() >> bit & 1) * (n >> (bit + 1));
    return index;
}

/* Vectors of `dim` numbers, one from each warp of a team and item: sums over the team, in its order. Item i's
 * go to to + i * stride, or are added there. All lanes of the team share the work. */
template <int dim, int team, bool add>
CGTP_DEVICE void cgtp_sum_team(real *to, int64_t stride, const real *from, int items)
{
    constexpr int wide = 16 / (int)sizeof(real);
    if constexpr (add && team == 1 && dim % wide == 0) {
        for (int at = cgtp_lane() * wide; at < items * dim; at += CGTP_LANES * wide)
            cgtp_add16(to + at / dim * stride + at % dim, from + at);
        return;
    }
    for (int at = cgtp_warp() % team * CGTP_LANES + cgtp_lane(); at < items * dim; at += team * CGTP_LANES) {
        const int i = at / dim, j = at % dim;
        real sum = from[i * team * dim + j];
        CGTP_UNROLL
        for (int member = 1; member < team; member++)
            sum += from[(i * team + member) * dim + j];
        if constexpr (add)
            cgtp_add(to + i * stride + j, sum);
        else
            to[i * stride + j] = sum;
    }
}

/* ---- vectors of consecutive elements ---- */

/* r[0 .. n-1] from / to memory in the widest pieces that n allows; the address is a multiple of n elements or
 * 16 bytes. */
template <int n> CGTP_DEVICE void cgtp_load(real *r, const real *p)
{
    constexpr int wide = 16 / (int)sizeof(real);
    if constexpr (n % wide == 0) {
        CGTP_UNROLL
        for (int i = 0; i < n; i += wide) {
            float4 v = *(const float4 *)(p + i);
            const real *q = (const real *)&v;
            CGTP_UNROLL
            for (int j = 0; j < wide; j++)
                r[i + j] = q[j];
        }
    } else if constexpr (n % 2 == 0 && sizeof(real) == 4) {
        CGTP_UNROLL
        for (int i = 0; i < n; i += 2) {
            float2 v = *(const float2 *)(p + i);
            r[i] = v.x;
            r[i + 1] = v.y;
        }
    } else {
        CGTP_UNROLL
        for (int i = 0; i < n; i++)
            r[i] = p[i];
    }
}

/* The same for an address that is a multiple of 16 bytes, whatever n is. */
template <int n> CGTP_DEVICE void cgtp_load_row(real *r, const real *p)
{
    constexpr int wide = 16 / (int)sizeof(real), whole = n / wide * wide;
    if constexpr (whole > 0)
        cgtp_load<whole>(r, p);
    CGTP_UNROLL
    for (int i = whole; i < n; i++)
        r[i] = p[i];
}

template <int n> CGTP_DEVICE void cgtp_store(real *p, const real *r)
{
    constexpr int wide = 16 / (int)sizeof(real);
    if constexpr (n % wide == 0) {
        CGTP_UNROLL
        for (int i = 0; i < n; i += wide) {
            float4 v;
            real *q = (real *)&v;
            CGTP_UNROLL
            for (int j = 0; j < wide; j++)
                q[j] = r[i + j];
            *(float4 *)(p + i) = v;
        }
    } else if constexpr (n % 2 == 0 && sizeof(real) == 4) {
        CGTP_UNROLL
        for (int i = 0; i < n; i += 2)
            *(float2 *)(p + i) = make_float2((float)r[i], (float)r[i + 1]);
    } else {
        CGTP_UNROLL
        for (int i = 0; i < n; i++)
            p[i] = r[i];
    }
}

/* ---- division of work ---- */

/* Items from first(part) to first(part + 1) belong to part `part` of `parts`. */
CGTP_BOTH int64_t cgtp_part(int64_t n, int64_t part, int64_t parts)
{
    return n / parts * part + (n % parts < part ? n % parts : part);
}

/* The part that item i belongs to. */
CGTP_BOTH int64_t cgtp_part_of(int64_t n, int64_t i, int64_t parts)
{
    const int64_t q = n / parts, m = n % parts;
    return i < (q + 1) * m ? i / (q + 1) : m + (i - (q + 1) * m) / q;
}

/* How the blocks of a launch are divided among the segments of a kernel. Blocks with numbers m, m +
 * multiprocessors, .. run on one multiprocessor (as blocks are handed out in turn); they get neighbouring
 * places, so that a multiprocessor holds the code of one segment. Segment s owns places first[s] .. first[s +
 * 1] - 1. */
template <int segments> struct cgtp_division {
    int multiprocessors, per_multiprocessor;
    int first[segments + 1];
    int ranges[segments]; /* of edges */
};

/* The segment of the block with number `block`, and its number among the blocks of that segment, ascending in
 * `block`. */
template <int segments> CGTP_DEVICE int cgtp_place(const cgtp_division<segments> &d, int block, int &index)
{
    const int column = block % d.multiprocessors, wave = block / d.multiprocessors;
    const int place = column * d.per_multiprocessor + wave;
    int segment = 0;
    CGTP_UNROLL
    for (int s = 1; s < segments; s++)
        segment += place >= d.first[s];
    index = block;
    if constexpr (segments > 1) {
        const int from = d.first[segment], to = d.first[segment + 1], per = d.per_multiprocessor;
        /* columns whose place in wave v lies in [from, to), over the waves before, then columns before in
         * this wave */
        index = 0;
        for (int v = 0; v < wave; v++)
            index += (to - v + per - 1) / per - (from - v + per - 1) / per;
        index += column - (from - wave + per - 1) / per;
    }
    return segment;
}

/* sum += 16 bytes of each of the rows listed, in their order: row r begins at rows + r * length. */
template <typename Index>
CGTP_DEVICE void cgtp_gather(real *sum, const real *rows, int64_t length, const Index *list, int64_t begin,
                             int64_t end)
{
    constexpr int wide = 16 / (int)sizeof(real);
    _Pragma("unroll 8") for (int64_t i = begin; i < end; i++)
    {
        real row[wide];
        cgtp_read16_stream(row, rows + list[i] * length);
        CGTP_UNROLL
        for (int j = 0; j < wide; j++)
            sum[j] += row[j];
    }
}

/* A piece of work of a convolution: edges first .. first + count - 1, receivers node .. node_end - 1 as far
 * as these edges reach. Where receivers have many edges (nodes == 0), a warp has one piece, its range of the
 * edge list, and may share the receivers at its ends with its neighbours; ranges are dealt out from the last
 * on, as those a warp waits for must belong to blocks that started before its own. Where they have few,
 * pieces are `nodes` whole receivers, dealt out in turn, so that the rows of senders that are in use at a
 * time are near each other (and stay in L2). */
template <int nodes> struct cgtp_work {
    int range; /* of the warp among the ranges of edges; otherwise the piece's number */
    int64_t first, node, node_end;
    int count;

    CGTP_MEMBER cgtp_work(int own) : range(own), first(-1), node(0), node_end(0), count(0)
    {
    }

    /* Makes the piece the next one of its warp, one of `ranges`; false when there is none. */
    template <typename Graph> CGTP_MEMBER bool next(const Graph &graph, int ranges)
    {
        if constexpr (nodes == 0) {
            if (first >= 0)
                return false;
            range = ranges - 1 - range;
            first = cgtp_part(graph.items, range, ranges);
            count = (int)(cgtp_part(graph.items, range + 1, ranges) - first);
            node = range ? graph.receiver[first] : 0;
            node_end = graph.receivers;
        } else {
            if (first >= 0)
                range += ranges;
            node = range * (int64_t)nodes;
            if (node >= graph.receivers)
                return false;
            node_end = node + nodes < graph.receivers ? node + nodes : graph.receivers;
            first = graph.receiver_row[node];
            count = (int)(graph.receiver_row[node_end] - first);
        }
        return true;
    }
};

/* Receivers a piece for a graph: 0 from a mean of 16 edges on. */
enum { CGTP_FEW_NODES = 2 };
static inline int cgtp_piece_nodes(int64_t items, int64_t receivers)
{
    return receivers == 0 || items / receivers >= 16 ? 0 : CGTP_FEW_NODES;
}

/* Row pointer `row` relative to edge `first`, as an int: what is beyond the range of int is beyond every
 * range. */
CGTP_DEVICE int cgtp_row_end(const int64_t *rows, int64_t row, int64_t last_row, int64_t first)
{
    const int64_t end = rows[row < last_row ? row : last_row] - first;
    return end > 0x7fffffff ? 0x7fffffff : (int)end;
}

/* ---- the general evaluation: a warp does the work of an item, its lanes share the channels ---- */

/* Warps of a launch, whatever the device: partial sums over all items are one a warp, so their order is
 * fixed. */
enum { CGTP_GENERAL_WARPS = 1024, CGTP_GENERAL_BLOCK = 128 };

CGTP_DEVICE int cgtp_general_warp(void)
{
    return cgtp_block() * (CGTP_GENERAL_BLOCK / CGTP_LANES) + cgtp_warp();
}

/* Where a kernel adds up an output with compensation: sums and their rounding errors (Neumaier's summation).
 * It stands for a pointer: (p + n)[i] += value. */
struct cgtp_compensated {
    real *sum, *error;
    struct element {
        real *sum, *error;
        CGTP_MEMBER void operator+=(real term) const
        {
            const real s = *sum, total = s + term;
            const bool larger = (s < 0 ? -s : s) >= (term < 0 ? -term : term);
            *error += larger ? (s - total) + term : (term - total) + s;
            *sum = total;
        }
        CGTP_MEMBER void operator=(real value) const
        {
            *sum = value;
            *error = 0;
        }
    };
    CGTP_MEMBER cgtp_compensated operator+(int64_t n) const
    {
        return {sum + n, error + n};
    }
    CGTP_MEMBER element operator[](int64_t i) const
    {
        return {sum + i, error + i};
    }
};

/* Zeros in a row of n elements. */
template <typename Row> CGTP_DEVICE void cgtp_zero_row(Row row, int64_t n)
{
    for (int64_t i = cgtp_lane(); i < n; i += CGTP_LANES)
        row[i] = 0;
    cgtp_sync_warp();
}

/* The row is complete: adds the errors to the sums. */
CGTP_DEVICE void cgtp_finish_row(real *, int64_t)
{
}
CGTP_DEVICE void cgtp_finish_row(cgtp_compensated row, int64_t n)
{
    cgtp_sync_warp();
    for (int64_t i = cgtp_lane(); i < n; i += CGTP_LANES)
        row.sum[i] += row.error[i];
}

/* Products with a block of weights W: n rows (channel b), m columns (channel c), ld elements a row, d
 * components. z[c,k] += sum_b t[b,k] W[b,c]; lanes share c and k */
template <typename Row>
CGTP_DEVICE_CALL void cgtp_weights_z(int d, int n, int m, int64_t ld, const real *w, const real *t, Row z)
{
    for (int at = cgtp_lane(); at < m * d; at += CGTP_LANES) {
        const int c = at / d, k = at % d;
        real sum = 0;
        for (int b = 0; b < n; b++)
            sum += t[b * d + k] * w[b * ld + c];
        z[at] += sum;
    }
    cgtp_sync_warp();
}

/* p[b,k] = sum_c W[b,c] g[c,k]; lanes share b and k */
CGTP_DEVICE_CALL void cgtp_weights_p(int d, int n, int m, int64_t ld, const real *w, const real *g, real *p)
{
    for (int at = cgtp_lane(); at < n * d; at += CGTP_LANES) {
        const int b = at / d, k = at % d;
        real sum = 0;
        for (int c = 0; c < m; c++)
            sum += w[b * ld + c] * g[c * d + k];
        p[at] = sum;
    }
    cgtp_sync_warp();
}

/* gW[b,c] += sum_k t[b,k] g[c,k]; lanes share c */
template <typename Row>
CGTP_DEVICE_CALL void cgtp_weights_w(int d, int n, int m, int64_t ld, const real *t, const real *g, Row gw)
{
    for (int b = 0; b < n; b++)
        for (int c = cgtp_lane(); c < m; c += CGTP_LANES) {
            real sum = 0;
            for (int k = 0; k < d; k++)
                sum += t[b * d + k] * g[c * d + k];
            gw[b * ld + c] += sum;
        }
    cgtp_sync_warp();
}

/* Contraction without weights: z[k] += sum_b t[b,k], and back: p[b,k] = g[k] */
template <typename Row> CGTP_DEVICE_CALL void cgtp_ones_z(int d, int n, const real *t, Row z)
{
    for (int k = cgtp_lane(); k < d; k += CGTP_LANES) {
        real sum = 0;
        for (int b = 0; b < n; b++)
            sum += t[b * d + k];
        z[k] += sum;
    }
    cgtp_sync_warp();
}

CGTP_DEVICE_CALL void cgtp_ones_p(int d, int n, const real *g, real *p)
{
    for (int at = cgtp_lane(); at < n * d; at += CGTP_LANES)
        p[at] = g[at % d];
    cgtp_sync_warp();
}

/* ---- on the host ---- */

/* Warps of a launch that cgtp_divide divides: of the blocks that fill the device, or, on a small one, of
 * `least` blocks in as many waves as they need. */
static inline int64_t cgtp_slots(int per_multiprocessor, int warps, int least)
{
    const int multiprocessors = cgtp_multiprocessors();
    const int waves = (least + multiprocessors - 1) / multiprocessors;
    return (int64_t)multiprocessors * (waves > per_multiprocessor ? waves : per_multiprocessor) * warps;
}

/* Divides the blocks that fill the device among segments in proportion to their work; each gets at least what
 * its groups of channels need, and no more ranges than there are edges. */
template <int segments>
static inline cgtp_division<segments> cgtp_divide(int multiprocessors, int per_multiprocessor, int warps,
                                                  int64_t items, const int *work, const int *groups)
{
    cgtp_division<segments> d = {multiprocessors, per_multiprocessor, {0}, {0}};
    const int blocks = multiprocessors * per_multiprocessor;
    int count[segments], least[segments], given = 0;
    double total = 0;
    for (int s = 0; s < segments; s++)
        total += (double)work[s] * groups[s];
    for (int s = 0; s < segments; s++) {
        least[s] = (groups[s] + warps - 1) / warps;
        count[s] = (int)(blocks * ((double)work[s] * groups[s] / total));
        count[s] = count[s] < least[s] ? least[s] : count[s];
        given += count[s];
    }
    while (given > blocks) { /* from the one with least, while it can give */
        int best = -1;
        for (int s = 0; s < segments; s++)
            if (count[s] > least[s] && (best < 0 || (double)work[s] * groups[s] / count[s] <
                                                        (double)work[best] * groups[best] / count[best]))
                best = s;
        if (best < 0)
            break;
        count[best]--;
        given--;
    }
    if (given > blocks) /* a device too small for one block a segment: more waves */
        d.per_multiprocessor = (given + multiprocessors - 1) / multiprocessors;
    while (given < multiprocessors * d.per_multiprocessor) { /* to the segment with most work a block */
        int best = 0;
        for (int s = 1; s < segments; s++)
            if ((double)work[s] * groups[s] / count[s] > (double)work[best] * groups[best] / count[best])
                best = s;
        count[best]++;
        given++;
    }
    for (int s = 0; s < segments; s++) {
        d.first[s + 1] = d.first[s] + count[s];
        const int64_t ranges = (int64_t)count[s] * warps / groups[s];
        d.ranges[s] = (int)(ranges < items ? ranges : items);
    }
    return d;
}

/* Blocks of a launch so divided: every place is reached. */
template <int segments> static inline int64_t cgtp_division_blocks(const cgtp_division<segments> &d)
{
    return (int64_t)d.multiprocessors * d.per_multiprocessor;
}

/* The host side of argument checks: as in cgtp_c.h. */
static inline cgtp_status cgtp_check_array(const void *array, int64_t rows, int64_t dim)
{
    if (rows < 0 || (dim > 0 && rows > PTRDIFF_MAX / (int64_t)sizeof(real) / dim))
        return CGTP_BAD_SIZE;
    if (!array)
        return rows && dim ? CGTP_NULL_POINTER : CGTP_OK;
    return (uintptr_t)array % 16 ? CGTP_MISALIGNED : CGTP_OK;
}

/* Fills n arrays with zeros in one launch. They begin at multiples of 16 bytes; bytes are a multiple of 4. */
enum { CGTP_CLEAR_BLOCK = 256, CGTP_CLEAR_PIECES = 4 }; /* threads; 16 bytes a thread, where blocks suffice */
template <int n> struct cgtp_areas {
    void *at[n];
    size_t bytes[n];
};

template <int n> CGTP_KERNEL(CGTP_CLEAR_BLOCK, 4) cgtp_clear_kernel(const cgtp_areas<n> areas)
{
    const int64_t first = cgtp_block() * (int64_t)CGTP_CLEAR_BLOCK + cgtp_thread();
    cgtp_launch_next();
    CGTP_UNROLL
    for (int a = 0; a < n; a++) {
        const int64_t pieces = (int64_t)(areas.bytes[a] / 16);
        for (int64_t i = first; i < pieces; i += (int64_t)cgtp_blocks() * CGTP_CLEAR_BLOCK)
            ((float4 *)areas.at[a])[i] = make_float4(0, 0, 0, 0);
        if (first < (int64_t)(areas.bytes[a] % 16 / 4))
            ((unsigned *)areas.at[a])[pieces * 4 + first] = 0;
    }
}

template <int n> static inline cgtp_status cgtp_clear(const cgtp_areas<n> &areas, cgtp_stream stream)
{
    size_t most = 0;
    for (int a = 0; a < n; a++)
        most = areas.bytes[a] > most ? areas.bytes[a] : most;
    const int64_t each = CGTP_CLEAR_BLOCK * CGTP_CLEAR_PIECES * 16, fit = cgtp_multiprocessors() * (int64_t)8;
    const int64_t blocks = (int64_t)(most / (size_t)each) + 1;
    return most == 0 ? CGTP_OK
                     : cgtp_launch(cgtp_clear_kernel<n>, blocks < fit ? blocks : fit, CGTP_CLEAR_BLOCK, 0,
                                   stream, areas);
}

/* Bytes of an area of the workspace: whole cache lines. */
static inline size_t cgtp_round_up(size_t bytes)
{
    return (bytes + 127) / 128 * 128;
}

#endif
