/* cuda_runtime_api.h - what cgtp_selftest.c takes from CUDA's header of this name, on the shim of tests/simt: device
 * memory that the host must not touch but through these, and whose bounds are checked.
 */
#ifndef CUDA_RUNTIME_API_H
#define CUDA_RUNTIME_API_H

#include "simt.h"

enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
typedef enum { cudaSuccess } cudaError_t;

static inline cudaError_t cudaMalloc(void **p, size_t bytes)
{
    *p = simt_alloc("array", bytes);
    return cudaSuccess;
}

static inline cudaError_t cudaFree(void *p)
{
    simt_free(p);
    return cudaSuccess;
}

static inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    if (kind == cudaMemcpyHostToDevice)
        simt_copy_in(to, from, bytes);
    else
        simt_copy_out(to, from, bytes);
    return cudaSuccess;
}

static inline cudaError_t cudaGetLastError(void)
{
    return cudaSuccess;
}

static inline const char *cudaGetErrorString(cudaError_t error)
{
    (void)error;
    return "success";
}

#endif
