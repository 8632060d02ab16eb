/* SPDX-License-Identifier: MIT */
/* cgtp_types.h - numbers of 16 bits to and from float and double, and arrays of them. C11 and C++.
 *
 * To fewer bits numbers are rounded to nearest, ties to even: once, from float as from double. What is too large
 * becomes an infinity, what is too small a subnormal number or zero, by the same rule; a NaN becomes the one with all
 * bits set but the sign (0x7fff). All of that is what a GPU's conversions do, bit for bit. To more bits nothing is lost.
 */
#ifndef CGTP_TYPES_H
#define CGTP_TYPES_H

#include "cgtp.h"

#include <string.h>

#ifdef __CUDACC__
#define CGTP_ANYWHERE __host__ __device__ static inline
#else
#define CGTP_ANYWHERE static inline
#endif

CGTP_ANYWHERE uint32_t cgtp_bits_of_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

CGTP_ANYWHERE float cgtp_float_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The float next to x that has an odd mantissa, where x is none: rounded from there on, results are x's. */
CGTP_ANYWHERE float cgtp_double_to_odd(double x)
{
    const float near = (float)x;
    const uint32_t bits = cgtp_bits_of_float(near);
    if ((double)near == x || x != x || bits & 1)
        return near;
    /* the other neighbour: away from zero, if `near` is nearer to it than x; an infinity's is the largest float */
    const int away = (x < 0 ? -x : x) > (double)(near < 0 ? -near : near);
    return cgtp_float_of_bits(away ? bits + 1 : bits - 1);
}

CGTP_ANYWHERE float cgtp_bfloat16_to_float(cgtp_bfloat16 x)
{
    return cgtp_float_of_bits((uint32_t)x.bits << 16);
}

CGTP_ANYWHERE cgtp_bfloat16 cgtp_float_to_bfloat16(float x)
{
    const uint32_t bits = cgtp_bits_of_float(x);
    const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    const cgtp_bfloat16 result = {(uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : rounded)};
    return result;
}

CGTP_ANYWHERE float cgtp_float16_to_float(cgtp_float16 x)
{
    const uint32_t sign = (uint32_t)(x.bits & 0x8000u) << 16, rest = x.bits & 0x7fffu;
    if (rest >= 0x7c00u) /* infinities and NaNs */
        return cgtp_float_of_bits(rest > 0x7c00u ? 0x7fffffffu : sign | 0x7f800000u);
    if (rest >= 0x400u)
        return cgtp_float_of_bits(sign | ((rest << 13) + 0x38000000u));
    const float small = (float)rest * 0x1p-24f; /* exact */
    return sign ? -small : small;
}

CGTP_ANYWHERE cgtp_float16 cgtp_float_to_float16(float x)
{
    const uint32_t bits = cgtp_bits_of_float(x), sign = bits >> 16 & 0x8000u, rest = bits & 0x7fffffffu;
    uint32_t rounded;
    if (rest > 0x7f800000u) { /* a NaN, without its sign */
        const cgtp_float16 nan = {0x7fffu};
        return nan;
    }
    if (rest >= 0x47800000u) /* 65536 and more; below, rounding up carries into the exponent and makes infinity */
        rounded = 0x7c00u;
    else if (rest >= 0x38800000u) /* normal numbers */
        rounded = (rest - 0x38000000u + 0xfffu + (rest >> 13 & 1u)) >> 13;
    else /* multiples of 2^-24: where 0.5 is added, these are the last bit of a float */
        rounded = cgtp_bits_of_float(cgtp_float_of_bits(rest) + 0.5f) - 0x3f000000u;
    const cgtp_float16 result = {(uint16_t)(sign | rounded)};
    return result;
}

CGTP_ANYWHERE cgtp_bfloat16 cgtp_double_to_bfloat16(double x)
{
    return cgtp_float_to_bfloat16(cgtp_double_to_odd(x));
}

CGTP_ANYWHERE cgtp_float16 cgtp_double_to_float16(double x)
{
    return cgtp_float_to_float16(cgtp_double_to_odd(x));
}

/* ---- arrays of any type, for generic callers ---- */

static inline double cgtp_get_number(const void *array, cgtp_type type, int64_t i)
{
    switch (type) {
    case CGTP_FLOAT32:
        return (double)((const float *)array)[i];
    case CGTP_BFLOAT16:
        return (double)cgtp_bfloat16_to_float(((const cgtp_bfloat16 *)array)[i]);
    case CGTP_FLOAT16:
        return (double)cgtp_float16_to_float(((const cgtp_float16 *)array)[i]);
    default:
        return ((const double *)array)[i];
    }
}

static inline void cgtp_put_number(void *array, cgtp_type type, int64_t i, double x)
{
    switch (type) {
    case CGTP_FLOAT32:
        ((float *)array)[i] = (float)x;
        break;
    case CGTP_BFLOAT16:
        ((cgtp_bfloat16 *)array)[i] = cgtp_double_to_bfloat16(x);
        break;
    case CGTP_FLOAT16:
        ((cgtp_float16 *)array)[i] = cgtp_double_to_float16(x);
        break;
    default:
        ((double *)array)[i] = x;
    }
}

/* How far a number of about this size is from what it is rounded to, at most. */
static inline double cgtp_rounding(cgtp_type type, double size)
{
    switch (type) {
    case CGTP_FLOAT32:
        return size * 0x1p-24 + 0x1p-150;
    case CGTP_BFLOAT16:
        return size * 0x1p-8 + 0x1p-134;
    case CGTP_FLOAT16:
        return size * 0x1p-11 + 0x1p-25;
    default:
        return size * 0x1p-53;
    }
}

/* ---- arrays: elements begin .. end-1 ---- */

#define CGTP_CONVERSION(name, from_type, to_type, converted)                                                 \
    static inline void name(int64_t begin, int64_t end, const from_type *from, to_type *to)                  \
    {                                                                                                        \
        for (int64_t i = begin; i < end; i++)                                                                \
            to[i] = converted(from[i]);                                                                      \
    }

CGTP_CONVERSION(cgtp_bfloat16_to_float32, cgtp_bfloat16, float, cgtp_bfloat16_to_float)
CGTP_CONVERSION(cgtp_bfloat16_to_float64, cgtp_bfloat16, double, (double)cgtp_bfloat16_to_float)
CGTP_CONVERSION(cgtp_float16_to_float32, cgtp_float16, float, cgtp_float16_to_float)
CGTP_CONVERSION(cgtp_float16_to_float64, cgtp_float16, double, (double)cgtp_float16_to_float)
CGTP_CONVERSION(cgtp_float32_to_bfloat16, float, cgtp_bfloat16, cgtp_float_to_bfloat16)
CGTP_CONVERSION(cgtp_float64_to_bfloat16, double, cgtp_bfloat16, cgtp_double_to_bfloat16)
CGTP_CONVERSION(cgtp_float32_to_float16, float, cgtp_float16, cgtp_float_to_float16)
CGTP_CONVERSION(cgtp_float64_to_float16, double, cgtp_float16, cgtp_double_to_float16)
CGTP_CONVERSION(cgtp_float32_to_float64, float, double, (double))
CGTP_CONVERSION(cgtp_float64_to_float32, double, float, (float))

#undef CGTP_CONVERSION

#endif
