/* cgtp_cuda_narrow.h - the interface of runtime/cgtp_cuda_narrow.h for the CPU. */
#ifndef CGTP_CUDA_NARROW_H
#define CGTP_CUDA_NARROW_H

#include "cgtp_cuda.h"
#include "cgtp_types.h"

template <typename T> struct cgtp_pair {
    T low, high;
};
template <typename T> CGTP_DEVICE cgtp_pair<T> cgtp_read_pair(const T *p)
{
    cgtp_pair<T> pair;
    simt_read(&pair, p, sizeof pair, sizeof pair);
    return pair;
}
template <typename T> CGTP_DEVICE void cgtp_write_pair(T *p, cgtp_pair<T> pair)
{
    simt_write(p, &pair, sizeof pair, sizeof pair);
}

CGTP_DEVICE float cgtp_widen(cgtp_bfloat16 x) { return cgtp_bfloat16_to_float(x); }
CGTP_DEVICE float cgtp_widen(cgtp_float16 x) { return cgtp_float16_to_float(x); }
CGTP_DEVICE void cgtp_round(cgtp_bfloat16 *to, float x) { to->bits = cgtp_float_to_bfloat16(x).bits; }
CGTP_DEVICE void cgtp_round(cgtp_float16 *to, float x) { to->bits = cgtp_float_to_float16(x).bits; }

template <typename T> CGTP_DEVICE T simt_of_bits(unsigned bits) { return T{(uint16_t)bits}; }
template <typename T> CGTP_DEVICE void cgtp_widen_pair(T, float *r, unsigned pair)
{
    r[0] = cgtp_widen(simt_of_bits<T>(pair & 0xffff));
    r[1] = cgtp_widen(simt_of_bits<T>(pair >> 16));
}
template <typename T> CGTP_DEVICE unsigned cgtp_round_pair(T, float low, float high)
{
    T a, b;
    cgtp_round(&a, low);
    cgtp_round(&b, high);
    return (unsigned)b.bits << 16 | a.bits;
}
template <int n, typename T> CGTP_DEVICE void cgtp_read_given(float *r, const T *p)
{
    T given[n];
    simt_read(given, p, sizeof given, sizeof given);
    for (int i = 0; i < n; i++)
        r[i] = cgtp_widen(given[i]);
}
template <int n, typename T> CGTP_DEVICE void cgtp_store_stream(T *p, const float *r)
{
    T rounded[n];
    for (int i = 0; i < n; i++)
        cgtp_round(&rounded[i], r[i]);
    simt_write(p, rounded, sizeof rounded, n % 2 ? sizeof(T) : 4);
}

template <typename T> CGTP_DEVICE void cgtp_copy_word(T *shared, const T *global, int count)
{
    simt_copy(shared, global, count * sizeof(T));
}

#endif
