/* SPDX-License-Identifier: MIT */
/* cgtp_selftest_memory.h - memory of a self-test program: the host's, and that which kernels work on. For the
 * same programs as cgtp_selftest_graph.h. What cannot be had ends the program.
 */
#ifndef CGTP_SELFTEST_MEMORY_H
#define CGTP_SELFTEST_MEMORY_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef CGTP_SELFTEST_CUDA
#include <cuda_runtime_api.h>
#endif

static _Noreturn void give_up(const char *why)
{
    printf("Bail out! %s\n", why);
    exit(2);
}

static void *host_new(int64_t n, size_t size)
{
    void *p = calloc((size_t)n + 1, size); /* one more: nothing is a valid pointer too */
    if (!p)
        give_up("out of memory");
    return p;
}

#ifdef CGTP_SELFTEST_CUDA
static void *device_new(size_t bytes)
{
    void *p;
    if (cudaMalloc(&p, bytes + 16) != cudaSuccess)
        give_up("out of memory on the device, or no device");
    return p;
}

static void device_free(void *p)
{
    cudaFree(p);
}

static void device_write(void *to, const void *from_host, size_t bytes)
{
    if (bytes && cudaMemcpy(to, from_host, bytes, cudaMemcpyHostToDevice) != cudaSuccess)
        give_up(cudaGetErrorString(cudaGetLastError()));
}

/* Waits for what was launched, so its errors come out here. */
static void device_read(void *to_host, const void *from, size_t bytes)
{
    if (bytes && cudaMemcpy(to_host, from, bytes, cudaMemcpyDeviceToHost) != cudaSuccess)
        give_up(cudaGetErrorString(cudaGetLastError()));
}
#else
static void *device_new(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes / 64 + 1) * 64);
    if (!p)
        give_up("out of memory");
    return p;
}

static void device_free(void *p)
{
    free(p);
}

static void device_write(void *to, const void *from_host, size_t bytes)
{
    if (bytes)
        memcpy(to, from_host, bytes);
}

static void device_read(void *to_host, const void *from, size_t bytes)
{
    device_write(to_host, from, bytes);
}
#endif

static void *device_copy(const void *from_host, size_t bytes)
{
    void *p = device_new(bytes);
    device_write(p, from_host, bytes);
    return p;
}

/* bytes of NaN in any type */
static void *device_nan(size_t bytes)
{
    void *image = host_new((int64_t)bytes, 1), *p;
    memset(image, 0xff, bytes);
    p = device_copy(image, bytes);
    free(image);
    return p;
}

#endif
