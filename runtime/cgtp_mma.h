/* SPDX-License-Identifier: MIT */
/* cgtp_mma.h - products of matrices by a warp, on tensor cores, and what else only their kernels need. Included
 * after cgtp_cuda.h; tests/simt holds the same for the CPU.
 */
#ifndef CGTP_MMA_H
#define CGTP_MMA_H

namespace
{

/* Instead of cgtp_launch_wait, where a kernel touches nothing that the kernels before it on the stream write, from the last one on that
 * has waited, and writes nothing that they read: it runs beside them. Each thread waits before it ends, so that whoever
 * waits for this kernel has waited for those. */
CGTP_DEVICE void cgtp_launch_beside(void)
{
}

/* The number, of which the compiler knows nothing: what is made of it is made anew; a loop of so many turns stays one. */
CGTP_DEVICE float cgtp_opaque(float value)
{
    asm volatile("" : "+f"(value));
    return value;
}
CGTP_DEVICE double cgtp_opaque(double value)
{
    asm volatile("" : "+d"(value));
    return value;
}
CGTP_DEVICE int cgtp_opaque(int value)
{
    asm volatile("" : "+r"(value));
    return value;
}

/* The TF32 number next to the value, ties away from zero: what tensor cores take of a float, its sign, exponent and 10 bits.
 * Infinity stays; some NaNs become zero. Two instructions, where the conversion is four on sm_90. */
CGTP_DEVICE float cgtp_tf32(float value)
{
    return __uint_as_float((__float_as_uint(value) + 0x1000) & 0xffffe000);
}

/* d += a b, where a is 16 by 8, b 8 by 8 and d 16 by 8; of floats of a and b what TF32 has counts. Lane 4 r + c has a[0] of
 * row r, column c, a[1] of row r + 8, and a[2], a[3] four columns on; b[0] of row c, column r, and b[1] four rows on;
 * d[0], d[1] of row r, columns 2 c and 2 c + 1, and d[2], d[3] of row r + 8. All lanes call. */
CGTP_DEVICE void cgtp_mma(float (&d)[4], const float (&a)[4], const float (&b)[2])
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
          "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
}
CGTP_DEVICE void cgtp_mma(double (&d)[4], const double (&a)[4], const double (&b)[2])
{
#if __CUDA_ARCH__ >= 900 /* twice as fast there */
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
    CGTP_UNROLL
    for (int part = 0; part < 4; part++) /* rows of d, columns of a */
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(d[part % 2 * 2]), "+d"(d[part % 2 * 2 + 1])
            : "d"(a[part]), "d"(b[part / 2]));
#endif
}

} // namespace

#endif
