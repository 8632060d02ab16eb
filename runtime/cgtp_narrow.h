/* SPDX-License-Identifier: MIT */
/* cgtp_narrow.h - numbers of 16 bits in memory: what they are widened to and rounded from is `real`, a float. Included
 * after cgtp_cuda.h. In no namespace: see cgtp_cuda_narrow.h.
 */
#ifndef CGTP_NARROW_H
#define CGTP_NARROW_H

#include "cgtp_cuda_narrow.h"
#include "cgtp_vector.h"

/* Rounded. */
template <typename T> CGTP_DEVICE void cgtp_leave(T *global, real value)
{
    cgtp_round(global, value);
}

/* n numbers of 16 bits, two or four at a time; the address is a multiple of n of them, of no fewer, or of 8 bytes. */
template <int n, int = n, typename T> CGTP_DEVICE void cgtp_load(real *r, const T *p)
{
    CGTP_UNROLL
    for (int i = 0; i + 4 <= n && n % 4 == 0; i += 4) {
        const cgtp_pair<unsigned> pairs = cgtp_read_pair((const unsigned *)(p + i));
        cgtp_widen_pair(T(), r + i, pairs.low), cgtp_widen_pair(T(), r + i + 2, pairs.high);
    }
    CGTP_UNROLL
    for (int i = 0; i + 2 <= n && n % 4 == 2; i += 2)
        cgtp_widen_pair(T(), r + i, *(const unsigned *)(p + i));
    CGTP_UNROLL
    for (int i = 0; i < n && n % 2; i++)
        r[i] = cgtp_widen(p[i]);
}

/* The same back, rounded. */
template <int n, int = n, typename T> CGTP_DEVICE void cgtp_store(T *p, const real *r)
{
    CGTP_UNROLL
    for (int i = 0; i + 4 <= n && n % 4 == 0; i += 4)
        cgtp_write_pair((unsigned *)(p + i), cgtp_pair<unsigned>{cgtp_round_pair(T(), r[i], r[i + 1]),
                                                                 cgtp_round_pair(T(), r[i + 2], r[i + 3])});
    CGTP_UNROLL
    for (int i = 0; i + 2 <= n && n % 4 == 2; i += 2)
        *(unsigned *)(p + i) = cgtp_round_pair(T(), r[i], r[i + 1]);
    CGTP_UNROLL
    for (int i = 0; i < n && n % 2; i++)
        cgtp_round(p + i, r[i]);
}

/* To and from shared memory, as in cgtp_item.h: done, not started. */
template <typename T> CGTP_DEVICE void cgtp_bring16(real *shared, const T *global, cgtp_policy)
{
    real r[CGTP_WIDE];
    cgtp_read_given<CGTP_WIDE>(r, global);
    cgtp_store<CGTP_WIDE>(shared, r);
}
template <typename T> CGTP_DEVICE void cgtp_bring(real *shared, const T *global)
{
    real r[1];
    cgtp_read_given<1>(r, global);
    *shared = r[0];
}

template <typename T> CGTP_DEVICE void cgtp_leave16(T *global, const real *shared)
{
    real r[CGTP_WIDE];
    cgtp_load<CGTP_WIDE>(r, shared);
    cgtp_store_stream<CGTP_WIDE>(global, r);
}

/* Weights in 16 bits, of the lane's v channels: what the function of a path is given as an array. */
template <int v> struct cgtp_incoming {
    real value[v];

    template <typename T> CGTP_MEMBER explicit cgtp_incoming(const T *from)
    {
        cgtp_load<v>(value, from);
    }
    CGTP_MEMBER operator const real *() const
    {
        return value;
    }
};

#endif
