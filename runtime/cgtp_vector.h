/* SPDX-License-Identifier: MIT */
/* cgtp_vector.h - sums over the lanes of a warp, vectors of consecutive elements, loops at compile time: what
 * all evaluations on a GPU share, made of the operations of cgtp_cuda.h (included before this).
 *
 * `real` is the type of the product's numbers. It differs between files, so everything that depends on it is
 * in an anonymous namespace, here and in the other headers of generated kernels.
 */
#ifndef CGTP_VECTOR_H
#define CGTP_VECTOR_H

/* Of cgtp_cuda.h and the headers that stand on it: generated files say which version they are made for. */
#define CGTP_DEVICE_ABI 25

namespace
{

enum { CGTP_WIDE = 16 / (int)sizeof(real) }; /* elements of the 16 bytes that a lane moves at a time */
template <typename T> CGTP_BOTH constexpr int cgtp_wide(void)
{
    return 16 / (int)sizeof(T);
}

/* The elements of the widest pieces of n, of which all begin at multiples of `aligned` and pieces of themselves. */
CGTP_BOTH constexpr int cgtp_piece(int n, int aligned)
{
    int piece = aligned;
    while (n % piece)
        piece /= 2;
    return piece;
}

/* ---- loops at compile time ---- */

template <int i> struct cgtp_number {
    static constexpr int value = i;
};

/* Calls body(cgtp_number<i>()) for i = 0 .. n - 1. */
template <int n, int i = 0, typename Body> CGTP_DEVICE void cgtp_each(Body body)
{
    if constexpr (i < n) {
        body(cgtp_number<i>());
        cgtp_each<n, i + 1>(body);
    }
}

/* ---- lanes ---- */

/* A value that is the same in all lanes, in a register of the warp instead of one per lane. All lanes call. */
template <typename T> CGTP_DEVICE T cgtp_uniform(T value)
{
    return cgtp_shuffle(value, 0);
}

/* The lane, in a register for as long as it is used: ptxas may otherwise read it again for each edge, which
 * takes long. All lanes call. */
CGTP_DEVICE int cgtp_pinned_lane(void)
{
    const int lane = cgtp_reload_lane();
    return (int)((unsigned)cgtp_shuffle(lane, lane) % CGTP_LANES);
}

/* ---- a number in memory: those of 16 bits are rounded (cgtp_narrow.h) ---- */

CGTP_DEVICE void cgtp_leave(real *global, real value)
{
    *global = value;
}

enum cgtp_how { CGTP_STORE, CGTP_ADD }; /* CGTP_ADD: atomically */
template <cgtp_how how, typename T> CGTP_DEVICE void cgtp_deliver(T *global, real value)
{
    if constexpr (how == CGTP_ADD)
        cgtp_add(global, value);
    else
        cgtp_leave(global, value);
}

/* ---- sums over lanes ---- */

/* Sums of n (1, 2, 4, 8, 16 or 32) values over groups of neighbouring lanes, or all: afterwards value[0] of a group's
 * lane i < n is the sum of value[cgtp_sums_index<n>()]. The order of additions is fixed. */
template <int n, int lanes, int half, int bit> CGTP_DEVICE void cgtp_sums_step(real *value)
{
    if constexpr (half > 0) {
        const bool upper = cgtp_lane() >> bit & 1;
        CGTP_UNROLL
        for (int i = 0; i < half; i++) {
            const real keep = upper ? value[i + half] : value[i], send = upper ? value[i] : value[i + half];
            value[i] = keep + cgtp_shuffle_xor(send, 1 << bit);
        }
        cgtp_sums_step<n, lanes, half / 2, bit + 1>(value);
    } else {
        CGTP_UNROLL
        for (int mask = n; mask < lanes; mask *= 2)
            value[0] += cgtp_shuffle_xor(value[0], mask);
    }
}
template <int n, int lanes = CGTP_LANES> CGTP_DEVICE void cgtp_sums(real *value)
{
    cgtp_sums_step<n, lanes, n / 2, 0>(value);
}
template <int n> CGTP_DEVICE int cgtp_sums_index(void)
{
    int index = 0;
    CGTP_UNROLL
    for (int bit = 0; 1 << bit < n; bit++)
        index |= (cgtp_lane() >> bit & 1) * (n >> (bit + 1));
    return index;
}

/* Elements of the array that sums over lanes of n values need: whole warps, then a power of two. */
CGTP_BOTH constexpr int cgtp_sums_length(int n)
{
    const int rest = n % CGTP_LANES;
    int power = rest ? 1 : 0;
    while (power < rest)
        power *= 2;
    return n - rest + power;
}

/* Sums n values over the lanes and stores them at `to`, or adds them there. `value` has cgtp_sums_length(n)
 * elements and is used up. All lanes call. */
template <int n, cgtp_how how, typename T> CGTP_DEVICE void cgtp_reduce_lanes(T *to, real *value)
{
    constexpr int here = n < CGTP_LANES ? n : CGTP_LANES, width = cgtp_sums_length(here);
    CGTP_UNROLL
    for (int i = here; i < width; i++)
        value[i] = 0;
    cgtp_sums<width>(value);
    const int index = cgtp_sums_index<width>();
    if (cgtp_lane() < width && (here == width || index < here))
        cgtp_deliver<how>(to + index, value[0]);
    if constexpr (n > CGTP_LANES)
        cgtp_reduce_lanes<n - CGTP_LANES, how>(to + CGTP_LANES, value + CGTP_LANES);
}

/* ---- vectors of consecutive elements ---- */

/* The widest piece that n elements are whole multiples of. */
template <bool four, bool two> struct cgtp_vector {
    typedef real type;
};
template <bool two> struct cgtp_vector<true, two> {
    typedef float4 type;
};
template <> struct cgtp_vector<false, true> {
    typedef float2 type;
};
template <int n> using cgtp_widest = typename cgtp_vector<n % CGTP_WIDE == 0, n % 2 == 0 && sizeof(real) == 4>::type;

/* r[0 .. n-1] from / to memory in such pieces; the address is a multiple of n elements, or `align`, or 16 bytes. */
template <int n, int align = n> CGTP_DEVICE void cgtp_load(real *r, const real *p)
{
    constexpr int wide = (int)(sizeof(cgtp_widest<align>) / sizeof(real)), whole = n / align * align;
    CGTP_UNROLL
    for (int i = 0; i < whole; i += wide) {
        const cgtp_widest<align> v = *(const cgtp_widest<align> *)(p + i);
        CGTP_UNROLL
        for (int j = 0; j < wide; j++)
            r[i + j] = ((const real *)&v)[j];
    }
    CGTP_UNROLL
    for (int i = whole; i < n; i++)
        r[i] = p[i];
}
template <int n> CGTP_DEVICE void cgtp_load_row(real *r, const real *p)
{
    cgtp_load<n, CGTP_WIDE>(r, p);
}

template <int n, int align = n> CGTP_DEVICE void cgtp_store(real *p, const real *r)
{
    constexpr int wide = (int)(sizeof(cgtp_widest<align>) / sizeof(real)), whole = n / align * align;
    CGTP_UNROLL
    for (int i = 0; i < whole; i += wide) {
        cgtp_widest<align> v;
        CGTP_UNROLL
        for (int j = 0; j < wide; j++)
            ((real *)&v)[j] = r[i + j];
        *(cgtp_widest<align> *)(p + i) = v;
    }
    CGTP_UNROLL
    for (int i = whole; i < n; i++)
        p[i] = r[i];
}

/* v neighbouring channels of d components, which are `step` elements apart: r[u * d + i] from / to p[i * step + u]. */
template <int v, int d, int align = v, typename T>
CGTP_DEVICE void cgtp_load_components(real *r, const T *p, int64_t step)
{
    CGTP_UNROLL
    for (int i = 0; i < d; i++) {
        real component[v];
        cgtp_load<v, align>(component, p + i * step);
        CGTP_UNROLL
        for (int u = 0; u < v; u++)
            r[u * d + i] = component[u];
    }
}
template <int v, int d, int align = v, typename T>
CGTP_DEVICE void cgtp_store_components(T *p, int64_t step, const real *r)
{
    CGTP_UNROLL
    for (int i = 0; i < d; i++) {
        real component[v];
        CGTP_UNROLL
        for (int u = 0; u < v; u++)
            component[u] = r[u * d + i];
        cgtp_store<v, align>(p + i * step, component);
    }
}

/* What is given as an array to functions: structs derived from it load it. */
template <int n> struct cgtp_values {
    real value[n];

    CGTP_MEMBER operator const real *() const
    {
        return value;
    }
};

/* ---- sums over lanes by way of shared memory ---- */

/* As cgtp_reduce_lanes above, of as many values as four chunks of 16 bytes have, in half of its instructions. First they go
 * to `room`, memory of the warp: a lane has a row of five chunks there, so that neighbouring lanes meet no bank twice. */
template <int n> CGTP_DEVICE void cgtp_spread_sums(real *room, const real *value)
{
    cgtp_store<n>(room + cgtp_lane() * (n + CGTP_WIDE), value);
}

/* Then, when all lanes have done that, eight lanes add up those of a chunk. */
template <int n, cgtp_how how, typename T> CGTP_DEVICE void cgtp_join_sums(T *to, const real *room)
{
    constexpr int group = 8, row = n + CGTP_WIDE;
    static_assert(n == CGTP_LANES / group * CGTP_WIDE, "a group of lanes for each chunk");
    const int lane = cgtp_lane(), member = lane % group, chunk = lane / group;
    real sum[CGTP_WIDE];
    const real *const at = room + member * row + chunk * CGTP_WIDE;
    cgtp_load<CGTP_WIDE>(sum, at);
    CGTP_UNROLL
    for (int i = group; i < CGTP_LANES; i += group) {
        real more[CGTP_WIDE];
        cgtp_load<CGTP_WIDE>(more, at + i * row);
        CGTP_UNROLL
        for (int j = 0; j < CGTP_WIDE; j++)
            sum[j] += more[j];
    }
    cgtp_sums<CGTP_WIDE, group>(sum);
    const int index = chunk * CGTP_WIDE + cgtp_sums_index<CGTP_WIDE>();
    if (member < CGTP_WIDE)
        cgtp_deliver<how>(to + index, sum[0]);
}

} // namespace

#endif
