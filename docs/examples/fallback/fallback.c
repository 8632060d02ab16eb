/* fallback.c - one program for machines with a GPU and without: the product in C and, built with LAYER_GPU, in CUDA
 * too, under two names. Which one runs is decided when the program does.
 */
#include "layer_cpu.h"
#ifdef LAYER_GPU
#include "layer_gpu.h"

#include <cuda_runtime_api.h>
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where a product's arrays are: how to have them there, and bring numbers there and back. */
struct memory {
    void *(*get)(size_t bytes); /* NULL where there is none left */
    int (*copy)(void *to, const void *from, size_t bytes);
    void (*give)(void *);
};

static void *get_host(size_t bytes)
{
    return aligned_alloc(64, (bytes + 64) / 64 * 64); /* arrays begin at multiples of 16 bytes */
}

static int copy_host(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return 0;
}

static const struct memory host = {get_host, copy_host, free};

#ifdef LAYER_GPU
static void *get_device(size_t bytes)
{
    void *array = NULL;
    return cudaMalloc(&array, bytes + 1) == cudaSuccess ? array : NULL;
}

static int copy_device(void *to, const void *from, size_t bytes)
{
    return cudaMemcpy(to, from, bytes, cudaMemcpyDefault) != cudaSuccess; /* waits for kernels before it */
}

static void give_device(void *array)
{
    cudaFree(array);
}

static const struct memory device = {get_device, copy_device, give_device};
#endif

/* The product for this machine, and the memory that its arrays belong in. */
static const cgtp_product *choose(const struct memory **memory)
{
#ifdef LAYER_GPU
    int devices = 0;
    if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0) {
        *memory = &device;
        return &layer_gpu_product;
    }
#endif
    *memory = &host;
    return &layer_cpu_product;
}

int main(void)
{
    enum { ITEMS = 1000, ARRAYS = 4 };
    const struct memory *memory;
    const cgtp_product *product = choose(&memory);
    const cgtp_kernel *forward = &product->kernel[0]; /* as layer.yaml lists them */
    const cgtp_graph batch = {.items = ITEMS};
    void *array[ARRAYS]; /* x, y, w, z */
    float *numbers[ARRAYS];
    for (int s = 0; s < ARRAYS; s++) {
        size_t n = (size_t)(ITEMS * product->dim[s]);
        array[s] = memory->get(n * sizeof(float));
        numbers[s] = calloc(n, sizeof(float));
        if (!array[s] || !numbers[s])
            return 1;
        for (size_t i = 0; i < n; i++)
            numbers[s][i] = (float)(i % 7) - 3;
        if (memory->copy(array[s], numbers[s], n * sizeof(float)))
            return 1;
    }
    size_t bytes = forward->workspace(&batch);
    void *workspace = memory->get(bytes);
    if (!workspace)
        return 1;
    cgtp_status status =
        forward->run(&batch, (const void *const[]){array[0], array[1], array[2]}, &array[3], NULL, workspace, bytes, NULL);
    size_t n = (size_t)(ITEMS * product->dim[CGTP_Z]);
    if (status || memory->copy(numbers[CGTP_Z], array[CGTP_Z], n * sizeof(float)))
        return 1;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)numbers[CGTP_Z][i] * numbers[CGTP_Z][i];
    printf("%s (%s): sum of z^2 = %.6g\n", product->name, product->backend, sum);
    for (int s = 0; s < ARRAYS; s++) {
        memory->give(array[s]);
        free(numbers[s]);
    }
    memory->give(workspace);
    return 0;
}
