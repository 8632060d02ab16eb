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
    } else
        for (int at = cgtp_warp() % team * CGTP_LANES + cgtp_lane(); at < items * dim;
             at += team * CGTP_LANES) {
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

/* How the blocks of a launch are divided among the segments of a kernel. Each block takes one place; segment
 * s owns places first[s] .. first[s + 1] - 1. A multiprocessor has neighbouring places, so that most hold the
 * code of one segment. */
template <int segments> struct cgtp_division {
    int multiprocessors, per_multiprocessor;
    int first[segments + 1];
    int warps[segments];                              /* of one group of channels */
    int ranges[segments];                             /* of edges, */
    int short_ranges[segments];                       /* of which the first are short */
    int64_t length[segments], short_length[segments]; /* edges of a range; at the end of the list, fewer */
    int64_t slot[segments]; /* the first of a segment's partial sums: one a range and group */
};

/* Counters of a launch, all zero at its start: of the blocks of each segment; of the ranges taken, for
 * `takers` in all; of the places taken on each multiprocessor. */
CGTP_BOTH int64_t cgtp_counters(int segments, int takers, int multiprocessors)
{
    return segments + takers + (segments > 1 ? multiprocessors : 0);
}

/* The segment of the block, and its number among the blocks of that segment in the order in which they
 * started. A block takes a place of the multiprocessor that it runs on, wherever there is one left: which
 * that is the hardware decides, and differs from launch to launch. All threads call. */
template <int segments>
CGTP_DEVICE int cgtp_place(const cgtp_division<segments> &d, unsigned *counters, int takers, int &index)
{
    int segment = 0;
    index = 0;
    if (cgtp_thread() == 0) {
        if constexpr (segments > 1) {
            int column = cgtp_multiprocessor() % d.multiprocessors;
            unsigned taken = cgtp_ticket(counters + segments + takers + column);
            while (taken >= (unsigned)d.per_multiprocessor) {
                column = column + 1 < d.multiprocessors ? column + 1 : 0;
                taken = cgtp_ticket(counters + segments + takers + column);
            }
            const int place = column * d.per_multiprocessor + (int)taken;
            CGTP_UNROLL
            for (int s = 1; s < segments; s++)
                segment += place >= d.first[s];
        }
        index = (int)cgtp_ticket(counters + segment);
    }
    const long long both = cgtp_of_first_thread((long long)segment << 32 | (unsigned)index);
    index = (int)(both & 0x7fffffff);
    return (int)(both >> 32);
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

/* A number that is the same in all lanes, in a way that tells the compiler: it has registers for such
 * numbers, one for a warp. All lanes call. */
template <typename T> CGTP_DEVICE T cgtp_uniform(T value)
{
    return cgtp_shuffle(value, 0);
}

/* The lane, kept in a register: otherwise ptxas may read it again for each edge, which takes long. All lanes
 * call. */
CGTP_DEVICE int cgtp_lane_kept(void)
{
    const int lane = cgtp_lane_anew();
    return (int)((unsigned)cgtp_shuffle(lane, lane) % CGTP_LANES);
}

/* What a warp uses of its piece of work once a receiver: receivers node .. node_end - 1. In shared memory, so
 * that it takes no registers. */
struct cgtp_piece {
    int64_t node, node_end;
    int range;     /* the piece's number */
    int continued; /* has its first receiver edges in the range before? */
    /* Of the CGTP_LANES receivers, aligned, that the current one is among: where their edges end, relative to
     * the piece's first; those before `node` mean nothing, what is beyond int is beyond every piece. */
    int end[CGTP_LANES];
};
static_assert(sizeof(cgtp_piece) <= 256, "kernels have 256 bytes a warp for it");

/* What is found out about a piece before its first edge: `count` edges from `first` on, receivers from `node`
 * on as far as these edges reach. It takes several loads, each of which needs what the one before brings:
 * what does not depend on them goes between (see the emitted code). */
struct cgtp_opening {
    int64_t first, node;
    int count;
    int64_t edge, at, row, end; /* the lane's own */
};

/* Pieces of work.
 *
 * Where receivers have many edges (nodes == 0), pieces are ranges of the edge list: first a long one for each
 * warp; then, maybe, short ones for those that have nothing to do, as some multiprocessors are slower than
 * others. Neighbouring ranges may share a receiver. They are taken from the list's end on: a warp waits only
 * for ranges after its own, which are of blocks that started before or, where there are short ones, were
 * taken before.
 *
 * Where they have few, pieces are `nodes` whole receivers, dealt out in turn, so that the rows of senders
 * that are in use at a time are near each other (and stay in L2).
 *
 * team: warps of the block that take pieces together; 0: each for itself. waits: do pieces wait for others?
 */
template <int nodes, int team, bool waits> struct cgtp_work {
    cgtp_piece *piece;            /* of this warp */
    int step;                     /* nodes > 0: from one piece of a warp to the next */
    int ranges;                   /* nodes == 0: how many there are, */
    int short_ranges;             /* of which the first are short, */
    int64_t length, short_length; /* and their edges */

    /* Of segment s. */
    template <int segments>
    CGTP_MEMBER cgtp_work(const cgtp_division<segments> &d, int s, cgtp_piece *piece_)
        : piece(piece_), step(d.warps[s]), ranges(d.ranges[s]), short_ranges(d.short_ranges[s]),
          length(d.length[s]), short_length(d.short_length[s])
    {
    }

    /* The first edge of range r. */
    CGTP_MEMBER int64_t begin(int64_t items, int r) const
    {
        const int long_before = r - short_ranges;
        const int64_t edge =
            long_before < 0 ? r * short_length : short_ranges * short_length + long_before * length;
        return edge < items ? edge : items;
    }

    /* Has range r edges of a receiver that an earlier range begins? */
    template <typename Graph> CGTP_MEMBER bool reaches(const Graph &graph, int64_t receiver, int r) const
    {
        return r < ranges && begin(graph.items, r) < graph.receiver_row[receiver + 1];
    }

    /* How many ranges were taken before, of those that are not dealt out. mail: a number in shared memory. */
    static CGTP_MEMBER int take(unsigned *taken, int *mail)
    {
        if constexpr (team > 1) {
            cgtp_sync_team<team>();
            if (cgtp_warp() % team == 0 && cgtp_lane() == 0)
                *mail = (int)cgtp_ticket(taken);
            cgtp_sync_team<team>();
            return cgtp_uniform(*mail);
        }
        cgtp_sync_warp();
        return cgtp_shuffle(cgtp_lane() == 0 ? (int)cgtp_ticket(taken) : 0, 0);
    }

    /* The number of a warp's first piece; negative: there is none. own: number of the warp, in the order of
     * starting. All lanes of the warp or team call this and what follows. */
    template <typename Graph>
    CGTP_MEMBER int start(const Graph &graph, int own, unsigned *taken, int *mail) const
    {
        if constexpr (nodes == 0)
            return ranges - 1 - (waits && short_ranges ? take(taken, mail) : cgtp_uniform(own));
        return checked(graph, cgtp_uniform(own));
    }

    /* Of the one after piece->range. */
    template <typename Graph> CGTP_MEMBER int next(const Graph &graph, unsigned *taken, int *mail) const
    {
        if constexpr (nodes == 0)
            return short_ranges ? (waits ? ranges : short_ranges) - 1 - take(taken, mail) : -1;
        const int r = cgtp_uniform(piece->range) + step;
        if constexpr (team > 1)
            cgtp_sync_team<team>();
        else
            cgtp_sync_warp();
        return checked(graph, r);
    }
    template <typename Graph> static CGTP_MEMBER int checked(const Graph &graph, int r)
    {
        return r * (int64_t)nodes < graph.receivers ? r : -1;
    }

    /* Piece r: its edges. */
    template <typename Graph> CGTP_MEMBER cgtp_opening open(const Graph &graph, int r) const
    {
        cgtp_opening o = {};
        if constexpr (nodes == 0) {
            o.first = begin(graph.items, r);
            o.count = (int)(begin(graph.items, r + 1) - o.first);
            /* lanes 0 to 15: where it begins; the others: where it ends */
            o.edge = o.first + (cgtp_lane() < 16 ? 0 : o.count);
            o.at = o.edge == 0 ? 0 : o.edge < graph.items ? (int64_t)graph.receiver[o.edge] : graph.receivers;
        } else {
            o.node = r * (int64_t)nodes;
            o.at = o.node + nodes < graph.receivers ? o.node + nodes : graph.receivers;
            o.end = ends(graph, o.node);
            const int64_t row = graph.receiver_row[cgtp_lane() < 16 ? o.node : o.at];
            o.first = cgtp_shuffle(row, 0);
            o.count = (int)(cgtp_shuffle(row, 16) - o.first);
        }
        return o;
    }

    /* Its receivers. */
    template <typename Graph> CGTP_MEMBER void find(const Graph &graph, cgtp_opening &o) const
    {
        if constexpr (nodes == 0) {
            o.node = cgtp_shuffle(o.at, 0);
            o.row = graph.receiver_row[o.at];
            o.end = ends(graph, o.node);
        }
    }

    /* Makes it the warp's piece. */
    CGTP_MEMBER void keep(const cgtp_opening &o, int r) const
    {
        int64_t node_end = o.at;
        int continued = 0;
        if constexpr (nodes == 0) {
            const int inside = o.row < o.edge;
            node_end = cgtp_shuffle(o.at, 16) + cgtp_shuffle(inside, 16);
            continued = cgtp_shuffle(inside, 0);
        }
        piece->end[cgtp_lane()] = relative(o.end, o.first);
        if (cgtp_lane() == 0)
            piece->node = o.node, piece->node_end = node_end, piece->range = r, piece->continued = continued;
        cgtp_sync_warp();
    }

    /* Where the edges of the lane's receiver end, of the CGTP_LANES that `node` is among. */
    template <typename Graph> static CGTP_MEMBER int64_t ends(const Graph &graph, int64_t node)
    {
        const int64_t row = node - (unsigned)node % CGTP_LANES + cgtp_lane() + 1;
        return graph.receiver_row[row < graph.receivers ? row : graph.receivers];
    }
    static CGTP_MEMBER int relative(int64_t end, int64_t first)
    {
        return end - first > 0x7fffffff ? 0x7fffffff : (int)(end - first);
    }

    /* Puts the ends for the receivers from `node` on, a multiple of CGTP_LANES, into the piece. */
    template <typename Graph> CGTP_MEMBER void go_on(const Graph &graph, int64_t node, int64_t first) const
    {
        const int64_t end = ends(graph, node);
        cgtp_sync_warp();
        piece->end[cgtp_lane()] = relative(end, first);
        cgtp_sync_warp();
    }
};

/* Receivers a piece for a graph: 0 from a mean of 16 edges on. */
enum { CGTP_FEW_NODES = 2 };
static inline int cgtp_piece_nodes(int64_t items, int64_t receivers)
{
    return receivers == 0 || items / receivers >= 16 ? 0 : CGTP_FEW_NODES;
}

/* The stage after one of a ring. An address that goes round, not a number: ptxas 13.0 encodes a copy wrongly
 * (an illegal instruction) where it can split its address into a lane's part and one that all lanes share. */
template <int stages, int bytes>
CGTP_DEVICE cgtp_address cgtp_stage_after(cgtp_address stage, unsigned char *ring)
{
    const cgtp_address first = cgtp_address_of(ring);
    return stage - first == (stages - 1) * bytes ? first : stage + bytes;
}

/* The end of the edges of `node`, relative to the piece's first. */
CGTP_DEVICE int cgtp_row_end(const cgtp_piece &piece, int64_t node)
{
    return piece.end[(unsigned)node % CGTP_LANES];
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

/* Partial sums of a launch that cgtp_divide divides: two for each warp of the blocks that fill the device,
 * or, on a small one, of `least` blocks in as many waves as they need. */
static inline int64_t cgtp_slots(int per_multiprocessor, int warps, int least)
{
    const int multiprocessors = cgtp_multiprocessors();
    const int waves = (least + multiprocessors - 1) / multiprocessors;
    return 2 * (int64_t)multiprocessors * (waves > per_multiprocessor ? waves : per_multiprocessor) * warps;
}

/* Edges a warp from which on there are short ranges besides. Where ranges wait for each other, what they
 * share has to be added up: that pays only for many edges, and where several segments make multiprocessors
 * differ. */
#ifndef CGTP_SHORT_FROM /* at least 2; tests have smaller graphs */
#define CGTP_SHORT_FROM 32
#endif
#ifndef CGTP_SHORT_WAITING_FROM
#define CGTP_SHORT_WAITING_FROM 128
#endif
#ifndef CGTP_SHORT_WAITING_SEGMENTS
#define CGTP_SHORT_WAITING_SEGMENTS 3
#endif

/* Neighbouring multiprocessors that share a cache for instructions. */
enum { CGTP_NEIGHBOURS = 2 };

/* Shares `units` among segments in proportion to their work, at least least[s] each; returns the work of a
 * unit where it is most. Gives more than there are where that takes it. */
template <int segments>
static inline double cgtp_share(int units, const double *work, const int *least, int *count)
{
    double total = 0, most = 0;
    int given = 0;
    for (int s = 0; s < segments; s++)
        total += work[s];
    for (int s = 0; s < segments; s++) {
        count[s] = (int)(units * (work[s] / total));
        count[s] = count[s] < least[s] ? least[s] : count[s];
        given += count[s];
    }
    for (; given < units; given++) { /* to the segment with most work a unit */
        int best = 0;
        for (int s = 1; s < segments; s++)
            if (work[s] / count[s] > work[best] / count[best])
                best = s;
        count[best]++;
    }
    for (; given > units; given--) { /* from the one with least, while it can give */
        int best = -1;
        for (int s = 0; s < segments; s++)
            if (count[s] > least[s] && (best < 0 || work[s] / count[s] < work[best] / count[best]))
                best = s;
        if (best < 0)
            break;
        count[best]--;
    }
    for (int s = 0; s < segments; s++)
        most = work[s] / count[s] > most ? work[s] / count[s] : most;
    return most;
}

/* Divides the blocks that fill the device among segments in proportion to their work; each gets at least what
 * its groups of channels need, and no more long ranges than there are edges. Whole pairs of multiprocessors,
 * or single ones, where there are enough: two segments' code slows both down. waits: see cgtp_work. */
template <int segments>
static inline cgtp_division<segments> cgtp_divide(int multiprocessors, int per_multiprocessor, int warps,
                                                  int64_t items, const int *work, const int *groups,
                                                  bool waits)
{
    cgtp_division<segments> d = {};
    const int unit[3] = {CGTP_NEIGHBOURS * per_multiprocessor, per_multiprocessor, 1};
    const double lost[3] = {1, 1.02, 1.2}; /* by code that shares caches */
    double all[segments], best = 0;
    int blocks[segments] = {};
    for (int s = 0; s < segments; s++)
        all[s] = (double)work[s] * groups[s];
    d.multiprocessors = multiprocessors;
    for (int u = 0; u < 3; u++) {
        int least[segments], count[segments], given = 0;
        const int units = multiprocessors * per_multiprocessor / unit[u];
        for (int s = 0; s < segments; s++)
            least[s] = ((groups[s] + warps - 1) / warps + unit[u] - 1) / unit[u];
        if (units * unit[u] != multiprocessors * per_multiprocessor)
            continue;
        double most = cgtp_share<segments>(units, all, least, count);
        for (int s = 0; s < segments; s++)
            given += count[s] * unit[u];
        if (given > multiprocessors * per_multiprocessor) {
            if (unit[u] > 1)
                continue;
            /* too small for one block a segment: more waves, all of whose blocks get a place */
            given = (given + multiprocessors - 1) / multiprocessors * multiprocessors;
            most = cgtp_share<segments>(given, all, least, count);
        }
        most *= lost[u] / unit[u];
        if (best > 0 && most >= best)
            continue;
        best = most;
        d.per_multiprocessor = given / multiprocessors;
        for (int s = 0; s < segments; s++)
            blocks[s] = count[s] * unit[u];
    }
    for (int s = 0; s < segments; s++) {
        d.first[s + 1] = d.first[s] + blocks[s];
        d.warps[s] = blocks[s] * warps / groups[s];
        const int64_t ranges = d.warps[s] < items ? d.warps[s] : items;
        const bool several = !waits || segments >= CGTP_SHORT_WAITING_SEGMENTS;
        const int64_t from = waits ? CGTP_SHORT_WAITING_FROM : CGTP_SHORT_FROM;
        d.short_ranges[s] = several && items >= ranges * from ? (int)ranges : 0;
        d.ranges[s] = (int)ranges + d.short_ranges[s];
        if (ranges) {
            const int64_t brief = d.short_ranges[s] ? items / 8 : 0;
            d.short_length[s] = (brief + ranges - 1) / ranges;
            d.length[s] = (items - d.short_ranges[s] * d.short_length[s] + ranges - 1) / ranges;
        }
        d.slot[s] = s ? d.slot[s - 1] + (int64_t)d.ranges[s - 1] * groups[s - 1] : 0;
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
