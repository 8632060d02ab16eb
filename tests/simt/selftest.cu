/* selftest.cu - the shim on small kernels in the style of generated ones: the right ones give right numbers
 * and no findings, whatever the order of execution; each wrong one, the same but for one mistake, is
 * reported.
 *
 *     selftest        prints TAP
 *     selftest speed  counts and times accesses
 *     selftest exit   ends with a finding, so with 97
 */
typedef float real;
#include "cgtp_cuda.h"
#include "cgtp_convolution.h"
#include "cgtp_item.h"
#include "cgtp_sets.h"
#include "cgtp_launch.h"
#include "simt.h"
#include "../fragments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <time.h>
#include <vector>

enum bug {
    NONE,
    NO_SYNC_WARP,       /* ring: a lane's copy has landed, but the others' may not have */
    REUSED_EARLY,       /* ring: refilled while lanes may still read */
    TAIL_NOT_WAITED,    /* ring: the last stages, when no more copies follow */
    NEVER_WAITED,       /* ring: copies beyond the last edge */
    MISALIGNED_COPY,    /* ring */
    NO_WAIT,            /* chain: the sum of the block before is read too soon */
    NO_SIGNAL,          /* chain */
    LATER_BLOCK,        /* chain: waits for the block after */
    PLAIN_WRITE,        /* chain: all blocks write one counter */
    NO_SYNC_GROUP_4,    /* transpose */
    SHARED_BOUNDS,      /* transpose */
    NOT_WRITTEN,        /* transpose: a part of shared memory */
    DIVERGENT,          /* transpose: half a warp at another operation */
    LANE_LEFT,          /* transpose: lanes that return before the warp's end */
    GLOBAL_BOUNDS,      /* transpose: one element past the end */
    GLOBAL_NOT_WRITTEN, /* transpose: an output element */
    WILD,               /* transpose: a pointer to the host */
    BETWEEN_BLOCKS,     /* transpose: blocks write the same row */
    MISALIGNED_LOAD,    /* transpose */
    NO_SYNC_GROUP,      /* groups */
    TOO_LARGE_GROUP,    /* groups: warps that take another number of turns */
    NO_LAUNCH_WAIT,     /* groups: begins early, and writes at once */
    BESIDE_READS,       /* beside: what the launch before may not have written yet */
    BESIDE_WRITES,      /* beside: what the launch before may still read */
    BESIDE_ENDS,        /* beside: without waiting for the launch before */
    COPIED_BOUNDS,      /* blocks: copies past the end */
    MOVED_NOT_WRITTEN,  /* blocks: moves what nobody wrote */
    FILLED_BOUNDS,      /* blocks: fills past the end */
    STREAMED_BOUNDS,    /* streams: from past the end */
    STREAMED_EMPTY,     /* streams: what nobody wrote */
};

/* ---- ring: each warp sums rows of 128 numbers through a private ring of asynchronous copies ---- */

/* Items from part_of(n, i, parts) to part_of(n, i + 1, parts) belong to part i. */
static int part_of(int n, int part, int parts)
{
    return n / parts * part + (n % parts < part ? n % parts : part);
}

enum { RING = 3, ROW = 128, ROW_BYTES = ROW * 4 };

template <int bug> CGTP_KERNEL(64, 4) ring_kernel(const real *rows, const int *list, int n, real *sum)
{
    CGTP_SHARED(shared);
    const int lane = cgtp_lane(), warps = 2;
    const int warp = cgtp_block() * warps + cgtp_warp(), all = cgtp_blocks() * warps;
    unsigned char *const ring = shared + cgtp_warp() * RING * ROW_BYTES;
    const int first = part_of(n, warp, all), last = part_of(n, warp + 1, all);
    const cgtp_policy stream = cgtp_policy_stream();
    int loaded = first, index = 0;
    real z[4] = {0, 0, 0, 0};
    auto load = [&](int stage) {
        if (loaded < (bug == NEVER_WAITED ? n : last)) {
            if ((loaded - first) % CGTP_LANES == 0)
                index = loaded + lane < n ? list[loaded + lane] : 0;
            const int row = cgtp_shuffle(index, (loaded - first) % CGTP_LANES);
            cgtp_copy<16>(ring + stage * ROW_BYTES + lane * 16 + (bug == MISALIGNED_COPY ? 4 : 0),
                        rows + (int64_t)row * ROW + lane * 4, stream);
            loaded++;
        }
        if (bug != TAIL_NOT_WAITED || loaded < last)
            cgtp_copies_commit();
    };
    for (int i = 0; i < RING - 1; i++)
        load(i);
    int stage = 0;
    for (int i = first; i < last; i++) {
        cgtp_copies_wait<RING - 2>();
        if (bug != NO_SYNC_WARP)
            cgtp_sync_warp();
        if (bug == REUSED_EARLY)
            load(stage == 0 ? RING - 1 : stage - 1);
        /* lanes take the numbers of their neighbour, so that they depend on its copy */
        real x[4];
        cgtp_load<4>(x, (const real *)(ring + stage * ROW_BYTES) + (lane ^ 1) * 4);
        for (int j = 0; j < 4; j++)
            z[j] += x[j];
        if (bug == REUSED_EARLY) {
            cgtp_copies_wait<0>();
            cgtp_copy<16>(ring + stage * ROW_BYTES + lane * 16, rows + lane * 4, stream);
            cgtp_copies_commit();
            cgtp_copies_wait<0>();
        } else {
            load((stage + RING - 1) % RING);
        }
        stage = (stage + 1) % RING;
    }
    for (int j = 0; j < 4; j++)
        cgtp_add(sum + (lane ^ 1) * 4 + j, z[j]);
    if (bug != NEVER_WAITED)
        cgtp_copies_wait<0>();
}

/* ---- chain: blocks in the order of their tickets add their number to what the one before has ---- */

template <int bug>
CGTP_KERNEL(32, 8)
chain_kernel(unsigned *counter, unsigned *flag, real *partial, real *last)
{
    unsigned number = 0;
    if (cgtp_thread() == 0)
        number = cgtp_ticket(counter);
    const int ticket = (int)cgtp_of_first_thread(number), lane = cgtp_lane();
    real before = 0;
    if (bug == PLAIN_WRITE && lane == 0)
        *last = (real)ticket;
    if (bug == LATER_BLOCK) {
        if (ticket + 1 < cgtp_blocks())
            cgtp_wait(flag + ticket + 1);
    } else if (ticket > 0) {
        if (bug != NO_WAIT)
            cgtp_wait(flag + ticket - 1);
        before = cgtp_read_other(partial + (ticket - 1) * CGTP_LANES + lane);
    }
    partial[ticket * CGTP_LANES + lane] = before + (real)(ticket + lane);
    if (ticket == cgtp_blocks() - 1 && lane == 0)
        *last = (real)ticket;
    if (bug != NO_SIGNAL)
        cgtp_signal(flag + ticket);
}

/* ---- transpose: a block transposes a 32 by 32 tile in shared memory ---- */

enum { TILE = 32, PITCH = 33 };

template <int bug>
CGTP_KERNEL(128, 4)
transpose_kernel(const real *from, real *to, int tiles, const real *host)
{
    CGTP_SHARED(shared);
    real *const tile = (real *)shared;
    const int lane = cgtp_lane(), warp = cgtp_warp(), block = bug == BETWEEN_BLOCKS ? 0 : cgtp_block();
    from += (int64_t)block * TILE * TILE;
    to += (int64_t)block * TILE * TILE;
    for (int i = warp; i < TILE; i += 4)
        if (bug != NOT_WRITTEN || i != 7)
            tile[i * PITCH + lane + (bug == SHARED_BOUNDS && i == TILE - 1 ? 3 : 0)] = from[i * TILE + lane];
    if (bug == LANE_LEFT && warp == 2 && lane == 5)
        return;
    if (bug == DIVERGENT && warp == 1 && lane < 16)
        cgtp_sync_warp();
    if (bug != NO_SYNC_GROUP_4)
        cgtp_sync_group<4>();
    for (int i = warp; i < TILE; i += 4)
        if (bug != GLOBAL_NOT_WRITTEN || i != 9)
            to[i * TILE + lane] = tile[lane * PITCH + i];
    if (bug == GLOBAL_BOUNDS && block == tiles - 1 && cgtp_thread() == 1)
        to[0] = from[TILE * TILE];
    if (bug == WILD && cgtp_thread() == 40)
        to[0] = *host;
    if (bug == MISALIGNED_LOAD && lane == 0 && warp == 0) {
        real x[2];
        cgtp_load<2>(x, from + 1);
        to[0] = x[0];
    }
}

/* ---- groups: pairs of warps add up what both have, turn by turn; each pair has its own number of turns
 * ---- */

template <int bug> CGTP_KERNEL(128, 1) group_kernel(real *to)
{
    CGTP_SHARED(shared);
    const int lane = cgtp_lane(), group = cgtp_warp() / 2;
    if (bug != NO_LAUNCH_WAIT)
        cgtp_launch_wait();
    real *const shared_sums = (real *)shared + group * 4 * CGTP_LANES; /* [turn % 2][warp][lane] */
    for (int turn = 0; turn < 3 + group; turn++) {
        shared_sums[(turn % 2 * 2 + cgtp_warp() % 2) * CGTP_LANES + lane] = (real)(turn + cgtp_warp() * lane);
        if (bug == TOO_LARGE_GROUP)
            cgtp_sync_group<4>();
        else if (bug != NO_SYNC_GROUP)
            cgtp_sync_group<2>();
        auto row = [&](int i) { return to + (group * 4 + turn + i) * CGTP_LANES; };
        cgtp_reduce_across_warps<CGTP_LANES, 2, CGTP_STORE, CGTP_LANES>(row, shared_sums + turn % 2 * 2 * CGTP_LANES, 1);
    }
}

/* ---- beside: a launch that runs beside the one before, on other arrays ---- */

template <int bug> CGTP_KERNEL(32, 1) beside_kernel(real *to, const real *from, bool first)
{
    if (first)
        cgtp_launch_wait();
    else
        cgtp_launch_beside();
    to[cgtp_lane()] = from[cgtp_lane()];
    if (!first && bug != BESIDE_ENDS)
        cgtp_launch_wait();
}

/* ---- blocks: what newer compilers call where structs are copied and filled ---- */

extern "C" {
void *__tsan_memcpy(void *, const void *, size_t);
void *__tsan_memmove(void *, const void *, size_t);
void *__tsan_memset(void *, int, size_t);
}

template <int bug> CGTP_KERNEL(32, 1) blocks_kernel(real *to, const real *from, const real *empty)
{
    if (cgtp_lane())
        return;
    __tsan_memcpy(to, from, (bug == COPIED_BOUNDS ? 33 : 32) * sizeof *to);
    __tsan_memmove(to + 1, bug == MOVED_NOT_WRITTEN ? empty : to, 15 * sizeof *to);
    __tsan_memset(to + 16, 0, (bug == FILLED_BOUNDS ? 17 : 8) * sizeof *to);
}

template <int bug> CGTP_KERNEL(32, 1) streams_kernel(real *to, const real *from, const real *empty)
{
    const int at = cgtp_lane() * 2;
    cgtp_store_stream<2>(to + at, (bug == STREAMED_EMPTY ? empty : from) + at + (bug == STREAMED_BOUNDS));
}

/* ---- running them ---- */

/* Device array that lives as long as this. */
template <typename T> struct device_array {
    T *p;
    size_t n;
    device_array(const char *name, size_t count) : p((T *)simt_alloc(name, count * sizeof(T))), n(count)
    {
    }
    device_array(const char *name, const std::vector<T> &v) : device_array(name, v.size())
    {
        simt_copy_in(p, v.data(), n * sizeof(T));
    }
    ~device_array()
    {
        simt_free(p);
    }
    std::vector<T> get() const
    {
        std::vector<T> v(n);
        simt_copy_out(v.data(), p, n * sizeof(T));
        return v;
    }
};

template <typename T> static void clear(const device_array<T> &a)
{
    cgtp_clear(cgtp_areas<1>{{{a.p, a.n * sizeof(T)}}}, NULL);
}

static std::vector<real> numbers(size_t n) /* small integers: sums are exact in any order */
{
    std::vector<real> v(n);
    for (size_t i = 0; i < n; i++)
        v[i] = (real)(i * 7 % 23) - 11;
    return v;
}

template <int bug> static bool ring(void)
{
    enum { ROWS = 40 };
    std::vector<real> rows = numbers(ROWS * ROW), expected(ROW);
    std::vector<int> list(150);
    for (size_t i = 0; i < list.size(); i++) {
        list[i] = (int)(i * i % ROWS);
        for (int j = 0; j < ROW; j++)
            expected[(size_t)j] += rows[(size_t)list[i] * ROW + (size_t)j];
    }
    device_array<real> x("rows", rows), sum("sum", ROW);
    device_array<int> l("list", list);
    clear(sum);
    cgtp_status status = cgtp_launch(ring_kernel<bug>, 5, 64, (size_t)2 * RING * ROW_BYTES, NULL, x.p, l.p,
                                     (int)list.size(), sum.p);
    return status == CGTP_OK && sum.get() == expected;
}

template <int bug> static bool chain(void)
{
    enum { BLOCKS = 9 };
    device_array<unsigned> counter("counter", 1), flag("flag", BLOCKS);
    device_array<real> partial("partial", BLOCKS * 32), last("last", 1);
    clear(counter);
    clear(flag);
    if (cgtp_launch(chain_kernel<bug>, BLOCKS, 32, 0, NULL, counter.p, flag.p, partial.p, last.p) != CGTP_OK)
        return false;
    std::vector<real> p = partial.get();
    bool right = last.get()[0] == BLOCKS - 1;
    for (int b = 0, sum = 0; b < BLOCKS; b++) {
        sum += b;
        for (int lane = 0; lane < 32; lane++)
            right &= p[(size_t)(b * 32 + lane)] == (real)(sum + (b + 1) * lane);
    }
    return right;
}

template <int bug> static bool transpose(void)
{
    enum { TILES = 3 };
    std::vector<real> in = numbers(TILES * TILE * TILE), expected(in.size());
    for (size_t i = 0; i < in.size(); i++)
        expected[i / 1024 * 1024 + i % 32 * 32 + i / 32 % 32] = in[i];
    device_array<real> from("from", in), to("to", in.size());
    real *host = new real(1);
    size_t shared = ((TILE - 1) * PITCH + TILE) * sizeof(real);
    cgtp_status status = cgtp_launch(transpose_kernel<bug>, TILES, 128, shared, NULL, (const real *)from.p,
                                     to.p, (int)TILES, (const real *)host);
    delete host;
    return status == CGTP_OK && to.get() == expected;
}

template <int bug> static bool groups(void)
{
    device_array<real> to("to", 8 * 32);
    clear(to);
    if (cgtp_launch_early(group_kernel<bug>, 1, 128, 8 * 32 * sizeof(real), NULL, to.p) != CGTP_OK)
        return false;
    std::vector<real> t = to.get();
    bool right = true;
    for (int i = 0; i < 8 * 32; i++) {
        int group = i / 128, turn = i / 32 % 4;
        right &= t[(size_t)i] == (turn < 3 + group ? (real)(2 * turn + (4 * group + 1) * (i % 32)) : 0);
    }
    return right;
}

/* Rows are cleared, and what is between them is not. */
static bool clears_rows(void)
{
    enum { ROWS = 300, STRIDE = 12 };
    const std::vector<real> before = numbers(ROWS * STRIDE);
    bool right = true;
    for (size_t n = 8; n <= STRIDE; n++) { /* of 32 bytes, and of others */
        device_array<real> a("a", before);
        const cgtp_areas<1, true> areas = {{{a.p, n * sizeof(real), ROWS, STRIDE * sizeof(real)}}};
        right &= cgtp_clear(areas, NULL) == CGTP_OK;
        std::vector<real> x = a.get();
        for (size_t i = 0; i < ROWS * STRIDE; i++)
            right &= x[i] == (i % STRIDE < n ? 0 : before[i]);
    }
    return right;
}

template <int bug> static bool beside(void)
{
    device_array<real> a("a", numbers(32)), b("b", numbers(32)), to_a("to_a", 32), to_b("to_b", 32);
    clear(to_a);
    if (cgtp_launch_early(beside_kernel<bug>, 1, 32, 0, NULL, to_a.p, a.p, true) != CGTP_OK ||
        cgtp_launch_early(beside_kernel<bug>, 1, 32, 0, NULL, bug == BESIDE_WRITES ? a.p : to_b.p,
                          bug == BESIDE_READS ? to_a.p : b.p, false) != CGTP_OK)
        return false;
    return bug == BESIDE_WRITES || (to_a.get() == numbers(32) && to_b.get() == numbers(32));
}

template <int bug> static bool blocks(void)
{
    device_array<real> from("from", numbers(32)), empty("empty", 32), to("to", 32);
    if (cgtp_launch(blocks_kernel<bug>, 1, 32, 0, NULL, to.p, (const real *)from.p, (const real *)empty.p) != CGTP_OK)
        return false;
    const std::vector<real> before = numbers(32), found = to.get();
    bool right = true;
    for (size_t i = 0; i < 32; i++)
        right &= found[i] == (i >= 16 && i < 24 ? 0 : before[i > 0 && i < 16 ? i - 1 : i]);
    return right;
}

template <int bug> static bool streams(void)
{
    device_array<real> from("from", numbers(64)), empty("empty", 64), to("to", 64);
    return cgtp_launch(streams_kernel<bug>, 1, 32, 0, NULL, to.p, (const real *)from.p, (const real *)empty.p) == CGTP_OK &&
           to.get() == numbers(64);
}

/* Arrays of all sizes are cleared to their ends, and no further. */
static bool clears(void)
{
    device_array<real> a("a", numbers(4000)), b("b", numbers(9)), c("c", numbers(3));
    const cgtp_areas<3> areas = {{{a.p, 3999 * sizeof(real)}, {b.p, 7 * sizeof(real)}, {c.p, 0}}};
    if (cgtp_clear(areas, NULL) != CGTP_OK)
        return false;
    std::vector<real> x = a.get(), y = b.get();
    bool right = c.get() == numbers(3) && x[3999] == numbers(4000)[3999] && y[7] == numbers(9)[7];
    for (size_t i = 0; i < 3999; i++)
        right &= x[i] == 0 && (i >= 7 || y[i] == 0);
    return right;
}

CGTP_KERNEL(32, 1) lanes_kernel(int *out, real *sums, double *atomic)
{
    const int lane = cgtp_lane();
    out[lane] = cgtp_shuffle(lane * lane, 31 - lane);
    out[32 + lane] = (int)cgtp_shuffle((long long)lane << 40 >> 38, 5);
    sums[lane] = cgtp_sum_lanes((real)lane);
    real v[16];
    for (int i = 0; i < 16; i++)
        v[i] = (real)(i * 100 + lane);
    cgtp_sums<16>(v);
    if (lane < 16)
        sums[32 + cgtp_sums_index<16>()] = v[0];
    simt_atomic_add(atomic, 0.5);
}

template <typename T> static bool multiplies(void)
{
    std::vector<T> a(128), b(64), c(128);
    fragments_fill(a.data(), b.data(), c.data());
    device_array<T> from_a("a", a), from_b("b", b), from_c("c", c), to("d", 128);
    cgtp_launch(fragments_kernel<T>, 1, 32, 0, NULL, (const T *)from_a.p, (const T *)from_b.p, (const T *)from_c.p, to.p);
    return fragments_wrong(a.data(), b.data(), c.data(), to.get().data()) == 0;
}

/* Of a float tensor cores take what TF32 has, and to a sum they add no part of its last place. */
CGTP_KERNEL(32, 1) rounds_kernel(float *out)
{
    const float one[4] = {1, 0, 0, 0}, odd[2] = {1 + 0x1p-11f, 0}, small[2] = {0x1.8p-24f, 0};
    float a[4] = {1, 1, 0, 0}, sum[4] = {0, 0, 0, 0}, more[4] = {1, 1, 1, 1};
    if (cgtp_lane() % 4)
        a[0] = a[1] = 0;
    cgtp_mma(sum, a, odd);
    cgtp_mma(more, a, small);
    out[cgtp_lane()] = sum[0];
    out[32 + cgtp_lane()] = more[0];
    out[64 + cgtp_lane()] = cgtp_tf32(one[0] + 0x1p-11f);
}

static bool rounds(void)
{
    device_array<float> to("to", 96);
    cgtp_launch(rounds_kernel, 1, 32, 0, NULL, to.p);
    bool right = true;
    const std::vector<float> found = to.get();
    for (size_t i = 0; i < 96; i++)
        right &= found[i] == (i < 64 ? 1 : 1 + 0x1p-10f);
    return right;
}

static bool lanes(void)
{
    device_array<int> out("out", 64);
    device_array<real> sums("sums", 48);
    device_array<double> atomic("atomic", std::vector<double>(1, 1.0));
    if (cgtp_launch(lanes_kernel, 1, 32, 0, NULL, out.p, sums.p, atomic.p) != CGTP_OK)
        return false;
    std::vector<int> o = out.get();
    std::vector<real> s = sums.get();
    bool right = atomic.get()[0] == 17;
    for (int i = 0; i < 32; i++)
        right &= o[(size_t)i] == (31 - i) * (31 - i) && o[(size_t)i + 32] == 20 && s[(size_t)i] == 496;
    for (int i = 0; i < 16; i++)
        right &= s[(size_t)i + 32] == (real)(i * 3200 + 496);
    return right;
}

/* ---- slots: every block of a divided launch has a slot of its own ---- */

enum { SETS = 4, SLOTS = 200 };

template <int nodes> CGTP_KERNEL(32, 1) slots_kernel(const cgtp_partition<SETS> partition, unsigned *counters, int *taken)
{
    int index;
    const int set = cgtp_block_slot<nodes>(partition, counters, 0, index);
    if (cgtp_lane() == 0)
        taken[set * SLOTS + index] = 1;
}

/* Has each block of the launch a slot of its own, and each slot a block? */
static bool every_slot(const cgtp_partition<SETS> &d)
{
    bool right = true;
    device_array<int> taken("taken", std::vector<int>(SETS * SLOTS, 0));
    device_array<unsigned> counters("counters", (size_t)cgtp_counters(SETS, 0, d.multiprocessors));
    clear(counters);
    if (cgtp_launch(d.teams ? slots_kernel<CGTP_TEAMS> : slots_kernel<0>, cgtp_partition_blocks(d), 32, 0, NULL, d,
                    counters.p, taken.p) != CGTP_OK)
        return false;
    std::vector<int> t = taken.get();
    for (int s = 0; s < SETS; s++)
        for (int i = 0; i < SLOTS; i++)
            right &= t[(size_t)(s * SLOTS + i)] == (i < d.first[s + 1] - d.first[s]);
    return right;
}

/* On devices that have more multiprocessors than there are path sets, fewer, or fewer blocks than path sets. */
static bool slots(void)
{
    const cgtp_set_cost cost[SETS] = {{1, 0, 1, false}, {7, 0, 1, false}, {2, 0, 2, false}, {3, 0, 1, true}};
    bool right = true;
    for (int multiprocessors : {1, 2, 3, 4, 5, 66})
        for (int per = 1; per <= 3; per++)
            right &= every_slot(cgtp_make_partition<SETS>(multiprocessors, per, 4, 1000, 0, cost));
    return right;
}

/* Teams: as many warps as fit, for each receiver and channel block of each path set; smaller ones where the work is less, and
 * none where there are too few warps or receivers have too many edges. */
static bool teams(void)
{
    const cgtp_set_cost cost[SETS] = {{10, 0, 1, false}, {70, 0, 1, false}, {20, 0, 3, false}, {30, 0, 1, true}};
    bool right = true, some = false;
    for (int receivers : {1, 7, 20, 33, 60, 100}) {
        auto d = cgtp_make_partition<SETS>(66, 2, 4, 100 * receivers, receivers, cost);
        cgtp_make_teams(d, 4, false, 100 * receivers, receivers, cost);
        right &= d.teams == (receivers <= 60);
        for (int s = 0; s < SETS && d.teams; s++) {
            const int teams = (d.first[s + 1] - d.first[s]) * 4 / d.team[s];
            right &= teams >= receivers * cost[s].channel_blocks && teams < receivers * cost[s].channel_blocks + 4;
            right &= d.team[s] <= d.team[1];
            some |= d.team[s] < d.team[1];
        }
        right &= !d.teams || (d.first[SETS] <= 132 && every_slot(d));
    }
    auto d = cgtp_make_partition<SETS>(66, 2, 4, 2000, 1, cost);
    cgtp_make_teams(d, 4, false, 2000, 1, cost);
    return right && some && !d.teams;
}

/* Whole pairs of multiprocessors go to loops, whose path sets share them: of 33 pairs 11 and 22, which are 11
 * multiprocessors for each of two sets, and 14 or 15 for each of three. */
static bool shares_loops(void)
{
    const cgtp_set_cost cost[] = {{200, 0, 1, false}, {200, 0, 1, true}, {266, 0, 1, false}, {266, 0, 1, true},
                                  {268, 0, 1, true}};
    const auto d = cgtp_make_partition<5>(66, 1, 4, 100000, 0, cost);
    bool right = d.first[1] == 11 && d.first[2] == 22 && d.first[5] == 66;
    for (int s = 2; s < 5; s++)
        right &= d.first[s + 1] - d.first[s] >= 14 && d.first[s + 1] - d.first[s] <= 15;
    return right;
}

/* Path sets share blocks by the time of an edge and, where receivers have few edges, by what each of these
 * takes in every set. */
static bool shares(void)
{
    const cgtp_set_cost cost[SETS] = {{100, 0, 1, false}, {700, 0, 1, false}, {200, 0, 1, false}, {300, 0, 1, false}};
    const auto edges = cgtp_make_partition<SETS>(66, 2, 4, 100000, 0, cost);
    const auto receivers = cgtp_make_partition<SETS>(66, 2, 4, 100000, 100000000, cost);
    const int first = edges.first[1], second = edges.first[2] - first;
    bool right = first >= 8 && first <= 12 && second >= 66 && second <= 76;
    for (int s = 0; s < SETS; s++) {
        const int blocks = receivers.first[s + 1] - receivers.first[s];
        right &= blocks >= 30 && blocks <= 36;
    }
    return right && shares_loops();
}

/* ---- tiles: each edge of each channel block is in one tile that one warp takes, whoever helps ---- */

enum { TILE_ITEMS = 600, TILE_BLOCKS = 8 };

template <bool waits, int own_set>
CGTP_DEVICE void take_tiles(const cgtp_partition<SETS> &partition, unsigned *counters, int *taken, int own,
                            int channel_block, cgtp_tile *tile)
{
    cgtp_graph graph = {};
    graph.items = TILE_ITEMS;
    const cgtp_tile_scheduler<0, 0, waits> tiles(partition, own_set, tile, counters, channel_block);
    for (int t = tiles.start(graph, own, NULL); t >= 0; t = tiles.next(graph, NULL)) {
        const int64_t first = tiles.first_edge(t), end = tiles.first_edge(t + 1);
        for (int64_t i = first + cgtp_lane(); i < end; i += CGTP_LANES)
            cgtp_ticket((unsigned *)taken + (own_set * TILE_BLOCKS + channel_block) * TILE_ITEMS + i);
        cgtp_sync_warp();
    }
}

template <bool waits, int blocks>
CGTP_KERNEL(128, 1) tiles_kernel(const cgtp_partition<SETS> partition, unsigned *counters, int *taken)
{
    CGTP_SHARED(shared);
    cgtp_tile *const tile = (cgtp_tile *)shared + cgtp_warp();
    int order;
    int set = cgtp_block_slot<0>(partition, counters, 3 + blocks, order);
    const int warp = order * 4 + cgtp_warp();
    bool helps = false;
    do {
        if (set == 0)
            take_tiles<waits, 0>(partition, counters, taken, helps ? -1 : warp, 0, tile);
        else if (set == 1)
            take_tiles<waits, 1>(partition, counters, taken, helps ? -1 : warp, 0, tile);
        else if (set == 2)
            take_tiles<waits, 2>(partition, counters, taken, helps ? -1 : warp / blocks, warp % blocks, tile);
        else
            take_tiles<waits, 3>(partition, counters, taken, helps ? -1 : warp, 0, tile);
        helps = true;
        set = cgtp_set_to_help<0>(partition, counters, 0);
    } while (set >= 0);
}

/* blocks: channel blocks of one of the sets, more or fewer than a block has warps. */
template <bool waits, int blocks> static bool tiles_of(int multiprocessors)
{
    const cgtp_set_cost cost[SETS] = {{1, 0, 1, false}, {7, 0, 1, false}, {2, 0, blocks, false}, {3, 0, 1, true}};
    const auto d = cgtp_make_partition<SETS>(multiprocessors, 2, 4, TILE_ITEMS, 0, cost);
    device_array<int> taken("taken", std::vector<int>(SETS * TILE_BLOCKS * TILE_ITEMS, 0));
    device_array<unsigned> counters("counters", (size_t)cgtp_counters(SETS, 3 + blocks, multiprocessors));
    clear(counters);
    if (cgtp_launch(tiles_kernel<waits, blocks>, cgtp_partition_blocks(d), 128, 4 * sizeof(cgtp_tile), NULL, d,
                    counters.p, taken.p) != CGTP_OK)
        return false;
    bool right = d.rounds[1] > 0 && d.rounds[3] > 0 && (d.rounds[2] > 0) == (blocks <= 4);
    std::vector<int> t = taken.get();
    for (int s = 0; s < SETS; s++)
        for (int b = 0; b < cost[s].channel_blocks; b++)
            for (int i = 0; i < TILE_ITEMS; i++)
                right &= t[(size_t)((s * TILE_BLOCKS + b) * TILE_ITEMS + i)] == 1;
    return right;
}

static bool tiles(void)
{
    bool right = true;
    for (int multiprocessors : {1, 2, 5}) {
        right &= tiles_of<false, 2>(multiprocessors) && tiles_of<true, 2>(multiprocessors);
        right &= tiles_of<false, 8>(multiprocessors) && tiles_of<true, 8>(multiprocessors);
    }
    return right;
}

/* ---- receivers without edges: those that tiles visit are the others; all warps have equal parts of them ---- */

enum { LONE_RECEIVERS = 900, LONE_WARPS = 4 };

/* Edges that end at each receiver; runs of receivers that have none: before, between and after them. */
static int lone_degree(int r)
{
    return r == 300 ? 333 : r == 301 || r == 640 ? 100 : r >= 670 && r < 680 && r % 3 != 1 ? 24 : 0;
}

template <int nodes>
CGTP_KERNEL(32 * LONE_WARPS, 1) lone_kernel(const cgtp_graph graph, const cgtp_partition<1> partition,
                                            unsigned *counters, unsigned *visits, unsigned *cleared, unsigned *parts)
{
    CGTP_SHARED(shared);
    cgtp_tile *const tile = (cgtp_tile *)shared + cgtp_warp();
    const cgtp_lone_receivers lone(graph, LONE_WARPS);
    const int warp = cgtp_block_order<nodes>(counters) * LONE_WARPS + cgtp_warp();
    lone.each([&](int64_t r) {
        if (cgtp_lane() == 0)
            cgtp_ticket(cleared + r), cgtp_ticket(parts + warp);
    });
    const cgtp_tile_scheduler<nodes, 0, false> tiles(partition, 0, tile, counters, 0);
    for (int t = tiles.start(graph, warp, NULL); t >= 0; t = tiles.next(graph, NULL)) {
        cgtp_tile_prologue prologue = tiles.begin(graph, t);
        const int64_t first = prologue.first;
        const int count = prologue.count;
        tiles.resolve(graph, prologue);
        int64_t node = prologue.node;
        tiles.commit(prologue, t);
        for (int done = 0; done < count; node++) {
            const int full = tiles.reach(graph, node, first, done);
            for (; done < full && done < count; done++)
                if (cgtp_lane() == 0 && graph.receiver[first + done] == node)
                    cgtp_ticket(visits + first + done);
        }
    }
}

template <int nodes> static bool lone_of(int multiprocessors)
{
    static const cgtp_set_cost cost[] = {{100, 0, 1, false}};
    std::vector<int32_t> receiver;
    std::vector<int64_t> row(1, 0);
    for (int r = 0; r < LONE_RECEIVERS; r++) {
        receiver.insert(receiver.end(), (size_t)lone_degree(r), r);
        row.push_back((int64_t)receiver.size());
    }
    device_array<int32_t> receivers("receiver", receiver);
    device_array<int64_t> rows("receiver_row", row);
    cgtp_graph graph = {};
    graph.items = (int64_t)receiver.size();
    graph.receivers = LONE_RECEIVERS;
    graph.receiver = receivers.p;
    graph.receiver_row = rows.p;
    const auto d = cgtp_make_partition<1>(multiprocessors, 1, LONE_WARPS, graph.items, graph.receivers, cost);
    const unsigned warps = (unsigned)(cgtp_partition_blocks(d) * LONE_WARPS);
    device_array<unsigned> counters("counters", (size_t)cgtp_counters(1, 1, multiprocessors));
    device_array<unsigned> visits("visits", receiver.size()), cleared("cleared", LONE_RECEIVERS), parts("parts", warps);
    clear(counters), clear(visits), clear(cleared), clear(parts);
    if (cgtp_launch(lone_kernel<nodes>, cgtp_partition_blocks(d), 32 * LONE_WARPS, LONE_WARPS * sizeof(cgtp_tile), NULL,
                    graph, d, counters.p, visits.p, cleared.p, parts.p) != CGTP_OK)
        return false;
    bool right = true;
    unsigned most = 0, runs = 0;
    const std::vector<unsigned> lone = cleared.get();
    for (unsigned visited : visits.get())
        right &= visited == 1;
    for (unsigned part : parts.get())
        most = part > most ? part : most;
    for (int r = 0, run = 0; r < LONE_RECEIVERS; r++) {
        right &= lone[(size_t)r] == (lone_degree(r) == 0);
        run = lone_degree(r) ? 0 : run + 1;
        runs += run % (int)warps == 1; /* of each run a warp has one of so many, rounded up */
    }
    return right && most <= runs;
}

static bool lone_receivers(void)
{
    bool right = true;
    for (int multiprocessors : {1, 3, 9})
        right &= lone_of<0>(multiprocessors) && lone_of<2>(multiprocessors);
    return right;
}

static bool host_reads(void)
{
    device_array<real> x("x", numbers(4));
    return x.p[2] == 3; /* compiled like a launcher: seen */
}

static bool freed(void)
{
    device_array<real> y("to", 1024);
    real *gone;
    {
        device_array<real> x("gone", numbers(1024));
        gone = x.p;
    }
    return cgtp_launch(transpose_kernel<NONE>, 1, 128, PITCH * TILE * 4, NULL, (const real *)gone, y.p, 1,
                       (const real *)NULL) == CGTP_OK;
}

enum { SEEDS = 12 };
static int line;

static void result(bool ok, const char *name, const char *detail)
{
    printf("%sok %d - %s%s%s\n", ok ? "" : "not ", ++line, name, *detail ? ": " : "", detail);
    if (!ok)
        simt_print(stdout, "# ");
    simt_forget();
}

/* Right numbers and no findings for every seed. */
static void right(const char *name, bool (*run)(void))
{
    bool fine = true;
    for (uint64_t seed = 0; seed < SEEDS && fine; seed++) {
        simt_seed(seed);
        fine = run() && simt_findings() == 0;
    }
    result(fine, name, "right in every order");
}

/* The mistake is found with every seed, for what it is (bits of kinds) and in the array where it is. */
static void wrong(const char *name, bool (*run)(void), int kinds, const char *array = NULL)
{
    int seen = 0;
    std::string detail;
    bool ok = true;
    for (uint64_t seed = 0; seed < SEEDS && ok; seed++) {
        simt_seed(seed);
        run();
        seen = 0;
        for (int i = 0; i < simt_findings(); i++) {
            const simt_finding *f = simt_finding_at(i);
            if (kinds >> f->kind & 1 && (!array || strcmp(f->array, array) == 0)) {
                detail = f->text;
                seen++;
            }
        }
        ok = seen > 0;
        if (ok)
            simt_forget();
        else
            detail = "not reported with seed " + std::to_string(seed);
    }
    result(ok, name, detail.c_str());
}

CGTP_KERNEL(128, 1) speed_kernel(const real *from, real *to, int rounds)
{
    CGTP_SHARED(shared);
    real *const s = (real *)shared;
    for (int i = 0; i < rounds; i++) {
        s[cgtp_thread()] = from[cgtp_thread()];
        cgtp_sync_warp();
        real sum = 0;
        for (int j = 0; j < 32; j++)
            sum += s[(cgtp_thread() & ~31) + j];
        cgtp_sync_warp();
        to[cgtp_thread()] = sum;
    }
}

static int speed(void)
{
    device_array<real> from("from", numbers(128)), to("to", 128);
    clock_t start = clock();
    cgtp_launch(speed_kernel, 1, 128, 512, NULL, (const real *)from.p, to.p, 2000);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    double accesses = (double)simt_accesses();
    printf("%.0f accesses, %.1f million a second\n", accesses, accesses / seconds * 1e-6);
    return simt_findings();
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "speed") == 0)
        return speed();
    if (argc > 1 && strcmp(argv[1], "exit") == 0)
        return transpose<GLOBAL_BOUNDS>();
    right("ring of asynchronous copies", ring<NONE>);
    right("chain of blocks by tickets and flags", chain<NONE>);
    right("transposition in shared memory", transpose<NONE>);
    right("shuffles, sums over lanes, atomic sums", lanes);
    right("products of matrices of TF32", multiplies<float>);
    right("products of matrices of doubles", multiplies<double>);
    right("products of matrices: what is cut off", rounds);
    right("groups of warps", groups<NONE>);
    right("launches beside one another", beside<NONE>);
    right("memory copied, moved and filled", blocks<NONE>);
    right("rows streamed", streams<NONE>);
    right("arrays cleared", clears);
    right("rows cleared", clears_rows);
    right("slots of blocks", slots);
    right("teams of small graphs", teams);
    right("shares of path sets", shares);
    right("tiles, long and short", tiles);
    right("receivers without edges", lone_receivers);
    simt_resident(1);
    right("chain of blocks, one at a time", chain<NONE>);
    right("tiles, long and short, one block at a time", tiles);
    simt_resident(0);

    wrong("ring: no cgtp_sync_warp", ring<NO_SYNC_WARP>, 1 << SIMT_IN_FLIGHT, "shared");
    wrong("ring: stage reused too early", ring<REUSED_EARLY>, 1 << SIMT_RACE, "shared");
    wrong("ring: tail of the copies not waited for", ring<TAIL_NOT_WAITED>, 1 << SIMT_IN_FLIGHT, "shared");
    wrong("ring: copies never waited for", ring<NEVER_WAITED>, 1 << SIMT_UNFINISHED, "shared");
    wrong("ring: misaligned copy", ring<MISALIGNED_COPY>, 1 << SIMT_MISALIGNED, "shared");
    simt_resident(4);
    wrong("chain: no wait for the flag", chain<NO_WAIT>, 1 << SIMT_RACE, "partial");
    simt_resident(0);
    wrong("chain: flag never set", chain<NO_SIGNAL>, 1 << SIMT_DEADLOCK, "");
    simt_resident(2);
    wrong("chain: waits for a block that starts later", chain<LATER_BLOCK>, 1 << SIMT_DEADLOCK, "");
    simt_resident(0);
    wrong("chain: racing write", chain<PLAIN_WRITE>, 1 << SIMT_RACE, "last");
    wrong("transpose: no cgtp_sync_group", transpose<NO_SYNC_GROUP_4>, 1 << SIMT_RACE, "shared");
    wrong("transpose: outside of shared memory", transpose<SHARED_BOUNDS>, 1 << SIMT_OUT_OF_BOUNDS, "shared");
    wrong("transpose: shared memory not written", transpose<NOT_WRITTEN>, 1 << SIMT_UNINITIALISED, "shared");
    wrong("transpose: divergent warp", transpose<DIVERGENT>, 1 << SIMT_DIVERGENCE, "");
    wrong("transpose: lane left early", transpose<LANE_LEFT>, 1 << SIMT_DIVERGENCE, "");
    wrong("transpose: outside of an array", transpose<GLOBAL_BOUNDS>, 1 << SIMT_OUT_OF_BOUNDS, "from");
    wrong("transpose: output not written", transpose<GLOBAL_NOT_WRITTEN>, 1 << SIMT_UNINITIALISED, "to");
    wrong("transpose: pointer to host memory", transpose<WILD>, 1 << SIMT_OUT_OF_BOUNDS, "");
    wrong("transpose: blocks write the same", transpose<BETWEEN_BLOCKS>, 1 << SIMT_RACE, "to");
    wrong("transpose: misaligned load", transpose<MISALIGNED_LOAD>, 1 << SIMT_MISALIGNED, "from");
    wrong("groups: no cgtp_sync_group", groups<NO_SYNC_GROUP>, 1 << SIMT_RACE, "shared");
    wrong("groups: of warps with different turns", groups<TOO_LARGE_GROUP>, 1 << SIMT_DEADLOCK, "");
    wrong("groups: no cgtp_launch_wait", groups<NO_LAUNCH_WAIT>, 1 << SIMT_RACE, "to");
    wrong("beside: reads what is being written", beside<BESIDE_READS>, 1 << SIMT_RACE, "to_a");
    wrong("beside: writes what is being read", beside<BESIDE_WRITES>, 1 << SIMT_RACE, "a");
    wrong("beside: ends without waiting", beside<BESIDE_ENDS>, 1 << SIMT_UNFINISHED, "");
    wrong("memory copied from outside of an array", blocks<COPIED_BOUNDS>, 1 << SIMT_OUT_OF_BOUNDS, "from");
    wrong("memory moved that nobody wrote", blocks<MOVED_NOT_WRITTEN>, 1 << SIMT_UNINITIALISED, "empty");
    wrong("memory filled past an array", blocks<FILLED_BOUNDS>, 1 << SIMT_OUT_OF_BOUNDS, "to");
    wrong("a row streamed from outside of an array", streams<STREAMED_BOUNDS>, 1 << SIMT_OUT_OF_BOUNDS, "from");
    wrong("a row streamed that nobody wrote", streams<STREAMED_EMPTY>, 1 << SIMT_UNINITIALISED, "empty");
    wrong("host reads device memory", host_reads, 1 << SIMT_HOST_ACCESS, "x");
    wrong("freed array read", freed, 1 << SIMT_OUT_OF_BOUNDS, "freed gone");
    printf("1..%d\n", line);
    return 0;
}
