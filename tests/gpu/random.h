/* random.h - reproducible numbers that are a function of their place, the same on host and device. */
#ifndef TEST_GPU_RANDOM_H
#define TEST_GPU_RANDOM_H

#include <stdint.h>

#ifdef __CUDACC__
#define RANDOM_FUNCTION static __host__ __device__ inline
#else
#define RANDOM_FUNCTION static inline
#endif

/* The finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). */
RANDOM_FUNCTION uint64_t random_bits(uint64_t seed, uint64_t place)
{
    uint64_t h = seed + (place + 1) * UINT64_C(0x9e3779b97f4a7c15);
    h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
    return h ^ (h >> 31);
}

/* Uniform in [-1, 1): a multiple of 2^-23, so that float holds it exactly. */
RANDOM_FUNCTION double random_at(uint64_t seed, uint64_t place)
{
    return (double)((int32_t)(random_bits(seed, place) >> 40) - (1 << 23)) / (1 << 23);
}

#endif
