/* types.cu - the device's conversions of numbers of 16 bits are those of cgtp_types.h, bit for bit: of all numbers of 16
 * bits to float, of all floats back, one by one and in pairs, and of doubles. Prints TAP.
 */
#include "cgtp_types.h"
typedef float real;
#include "cgtp_cuda.h"
#include "cgtp_narrow.h"
#include "cgtp_launch.h"
#include "cgtp_convert.h"

#include <stdio.h>

namespace
{

enum { THREADS = 256, BLOCKS = 4096 };

/* Floats are compared by their bits. */
__device__ unsigned bits_of(float x)
{
    return __float_as_uint(x);
}

template <typename T> __device__ T soft(float x);
template <> __device__ cgtp_bfloat16 soft(float x)
{
    return cgtp_float_to_bfloat16(x);
}
template <> __device__ cgtp_float16 soft(float x)
{
    return cgtp_float_to_float16(x);
}
__device__ float soft_wide(cgtp_bfloat16 x)
{
    return cgtp_bfloat16_to_float(x);
}
__device__ float soft_wide(cgtp_float16 x)
{
    return cgtp_float16_to_float(x);
}

template <typename T> __global__ void compare_narrow(unsigned long long *wrong)
{
    const unsigned i = blockIdx.x * THREADS + threadIdx.x;
    if (i > 0xffff)
        return;
    const T x = {(unsigned short)i};
    float pair[2];
    cgtp_widen_pair(T(), pair, i << 16 | (i ^ 0x1234));
    const T other = {(unsigned short)(i ^ 0x1234)};
    const bool same = bits_of(cgtp_widen(x)) == bits_of(soft_wide(x)) && bits_of(pair[1]) == bits_of(soft_wide(x)) &&
                      bits_of(pair[0]) == bits_of(soft_wide(other));
    if (!same)
        atomicAdd(wrong, 1ull);
}

template <typename T> __global__ void compare_wide(unsigned long long *wrong)
{
    for (unsigned long long i = blockIdx.x * (unsigned long long)THREADS + threadIdx.x; i <= 0xffffffffull;
         i += (unsigned long long)THREADS * BLOCKS) {
        const float x = __uint_as_float((unsigned)i), y = __uint_as_float((unsigned)(i * 2654435761u));
        T one;
        cgtp_round(&one, x);
        const unsigned pair = cgtp_round_pair(T(), x, y);
        if (one.bits != soft<T>(x).bits || pair != ((unsigned)soft<T>(y).bits << 16 | soft<T>(x).bits))
            atomicAdd(wrong, 1ull);
    }
}

/* A double is a float and something less than half of its last place. */
template <typename T> __global__ void compare_double(unsigned long long *wrong, const double *x,
                                                     const T *expected, int n)
{
    const int i = (int)(blockIdx.x * THREADS + threadIdx.x);
    if (i < n && cgtp_converted<T>(x[i]).bits != expected[i].bits)
        atomicAdd(wrong, 1ull);
}

int number = 0, failed = 0;

void report(unsigned long long *wrong, const char *what, const char *type)
{
    const cudaError_t error = cudaDeviceSynchronize();
    const bool good = error == cudaSuccess && *wrong == 0;
    printf("%sok %d - %s: %s, %llu wrong%s%s\n", good ? "" : "not ", ++number, type, what, *wrong,
           error ? ", " : "", error ? cudaGetErrorString(error) : "");
    failed += !good;
    *wrong = 0;
}

template <typename T> void compare_all(unsigned long long *wrong, const char *type, T (*of_double)(double))
{
    enum { N = 1 << 20 };
    double *x;
    T *expected;
    compare_narrow<T><<<256, THREADS>>>(wrong);
    report(wrong, "all numbers of 16 bits to float", type);
    compare_wide<T><<<BLOCKS, THREADS>>>(wrong);
    report(wrong, "all floats, alone and in pairs", type);
    cudaMallocManaged(&x, N * sizeof *x);
    cudaMallocManaged(&expected, N * sizeof *expected);
    uint64_t seed = 1;
    for (int i = 0; i < N; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        x[i] = (double)cgtp_float_of_bits((uint32_t)(seed >> 32)) * (1 + (double)(seed & 0xffff) * 0x1p-45);
        expected[i] = of_double(x[i]);
    }
    compare_double<T><<<N / THREADS, THREADS>>>(wrong, x, expected, N);
    report(wrong, "doubles", type);
    cudaFree(x);
    cudaFree(expected);
}

} // namespace

int main()
{
    unsigned long long *wrong;
    if (cudaMallocManaged(&wrong, sizeof *wrong) != cudaSuccess)
        return 2;
    *wrong = 0;
    compare_all<cgtp_bfloat16>(wrong, "bfloat16", cgtp_double_to_bfloat16);
    compare_all<cgtp_float16>(wrong, "float16", cgtp_double_to_float16);
    printf("1..%d\n", number);
    return failed > 0;
}
