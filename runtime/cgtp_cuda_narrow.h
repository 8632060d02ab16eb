/* SPDX-License-Identifier: MIT */
/* cgtp_cuda_narrow.h - the operations of a GPU on numbers of 16 bits, to the bit as in cgtp_types.h. tests/simt holds
 * the same interface for the CPU.
 *
 * Not in an anonymous namespace, as the types are not: so templates that stand before find these functions, too.
 */
#ifndef CGTP_CUDA_NARROW_H
#define CGTP_CUDA_NARROW_H

#include "cgtp_cuda.h"
#include "cgtp_types.h"

/* Two neighbours of any type, at a multiple of their size. */
template <typename T> struct alignas(2 * sizeof(T)) cgtp_pair {
    T low, high;
};
template <typename T> CGTP_DEVICE cgtp_pair<T> cgtp_read_pair(const T *p)
{
    return *(const cgtp_pair<T> *)p;
}
template <typename T> CGTP_DEVICE void cgtp_write_pair(T *p, cgtp_pair<T> pair)
{
    *(cgtp_pair<T> *)p = pair;
}

CGTP_DEVICE float cgtp_widen(cgtp_bfloat16 x)
{
    return cgtp_bfloat16_to_float(x);
}
CGTP_DEVICE float cgtp_widen(cgtp_float16 x)
{
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
    return wide;
}

/* Rounded to nearest even. */
CGTP_DEVICE void cgtp_round(cgtp_bfloat16 *to, float x)
{
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(to->bits) : "f"(x));
}
CGTP_DEVICE void cgtp_round(cgtp_float16 *to, float x)
{
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to->bits) : "f"(x));
}

/* Two of them in 4 bytes, the first in the lower half. The first argument only says of which type. bfloat16 in assembly:
 * the compiler does shifts that it knows, and what is made of them, again at each use, to keep fewer registers. */
CGTP_DEVICE void cgtp_widen_pair(cgtp_bfloat16, float *r, unsigned pair)
{
    asm("shl.b32 %0, %2, 16;\n\tand.b32 %1, %2, 0xffff0000;" : "=&f"(r[0]), "=f"(r[1]) : "r"(pair));
}
CGTP_DEVICE void cgtp_widen_pair(cgtp_float16, float *r, unsigned pair)
{
    asm("{ .reg .f16 a, b; mov.b32 {a, b}, %2; cvt.f32.f16 %0, a; cvt.f32.f16 %1, b; }"
        : "=f"(r[0]), "=f"(r[1])
        : "r"(pair));
}
CGTP_DEVICE unsigned cgtp_round_pair(cgtp_bfloat16, float low, float high)
{
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}
CGTP_DEVICE unsigned cgtp_round_pair(cgtp_float16, float low, float high)
{
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

/* n = 1 or 4 numbers of 16 bits that nothing writes while the kernel runs, so that loads need not wait for stores. */
template <int n, typename T> CGTP_DEVICE void cgtp_read_given(float *r, const T *p)
{
    if constexpr (n == 4) {
        const uint2 pairs = __ldg((const uint2 *)p);
        cgtp_widen_pair(T(), r, pairs.x), cgtp_widen_pair(T(), r + 2, pairs.y);
    } else
        r[0] = cgtp_widen(T{__ldg((const unsigned short *)p)});
}

/* n = 1, 2 or 4 numbers that are rounded, written once and not read soon. */
template <int n, typename T> CGTP_DEVICE void cgtp_store_stream(T *p, const float *r)
{
    if constexpr (n % 2 == 0) {
        CGTP_UNROLL
        for (int i = 0; i < n; i += 2)
            __stcs((unsigned *)(p + i), cgtp_round_pair(T(), r[i], r[i + 1]));
    } else {
        T rounded;
        cgtp_round(&rounded, r[0]);
        __stcs((unsigned short *)p, rounded.bits);
    }
}

/* Two numbers of a word of 4 bytes, of which only the first `count` are read. */
template <typename T> CGTP_DEVICE void cgtp_copy_word(T *shared, const T *global, int count)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(cgtp_address_of(shared)), "l"(global), "r"(2 * count)
                 : "memory");
}

#endif
