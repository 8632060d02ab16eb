/* SPDX-License-Identifier: MIT */
/* cgtp_tune.cu - see cgtp_tune_device.h: CUDA. */
#include "cgtp_tune_device.h"

#include <cuda_runtime.h>

#include <stdio.h>
#include <string.h>

enum { THREADS = 256, BLOCKS = 2048 };

static cudaEvent_t event[2];

void cgtp_tune_device_name(char *name, size_t size)
{
    cudaDeviceProp p;
    snprintf(name, size, "%s", cudaGetDeviceProperties(&p, 0) == cudaSuccess ? p.name : "no device");
}

const char *cgtp_tune_wait(void)
{
    cudaError_t status = cudaDeviceSynchronize();
    return status == cudaSuccess ? NULL : cudaGetErrorString(status);
}

/* Writes only if the buffer, all zeros, has another number. */
static __global__ void read_all(const uint4 *from, size_t n, unsigned *never)
{
    unsigned sum = 0;
    for (size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x; i < n; i += gridDim.x * (size_t)THREADS)
        sum |= from[i].x | from[i].y | from[i].z | from[i].w;
    if (sum)
        *never = sum;
}

void cgtp_tune_flush(void)
{
    static uint4 *buffer; /* one for the life of the program: several times what L2 holds */
    static size_t n;
    if (!buffer) {
        int l2 = 0;
        cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, 0);
        n = (4 * (size_t)l2 + ((size_t)64 << 20)) / sizeof *buffer;
        if (cudaMalloc(&buffer, (n + 1) * sizeof *buffer) != cudaSuccess ||
            cudaMemset(buffer, 0, (n + 1) * sizeof *buffer) != cudaSuccess)
            n = 0; /* its error is told by the next wait */
    }
    read_all<<<BLOCKS, THREADS>>>(buffer, n, (unsigned *)(buffer + n));
}

void cgtp_tune_begin(void)
{
    for (int i = 0; i < 2 && !event[i]; i++)
        cudaEventCreate(&event[i]);
    cudaEventRecord(event[0]);
}

double cgtp_tune_end(void)
{
    float ms = 0;
    cudaEventRecord(event[1]);
    cudaEventSynchronize(event[1]);
    cudaEventElapsedTime(&ms, event[0], event[1]);
    return ms;
}
