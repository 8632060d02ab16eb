/* device_cuda.cu - see device.h and tests/memory.h. */
#include "device.h"
#include "cgtp_types.h"
#include "random.h"

extern "C" {
#include "memory.h"
}

typedef float real;
#include "cgtp_cuda.h"
#include "cgtp_mma.h"
#include "fragments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void must(cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return;
    fflush(stdout);
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    abort();
}

/* ---- products of matrices ---- */

template <typename T> static int multiplies_wrong(void)
{
    enum { A = 0, B = 128, C = 192, D = 320, ALL = 448 };
    T here[ALL] = {}, *there;
    fragments_fill(here + A, here + B, here + C);
    must(cudaMalloc(&there, sizeof here), "allocation");
    must(cudaMemcpy(there, here, sizeof here, cudaMemcpyHostToDevice), "copy to the device");
    fragments_kernel<T><<<1, CGTP_LANES>>>(there + A, there + B, there + C, there + D);
    must(cudaMemcpy(here, there, sizeof here, cudaMemcpyDeviceToHost), "copy from the device");
    must(cudaFree(there), "free");
    return fragments_wrong(here + A, here + B, here + C, here + D);
}

int device_multiplies_wrong(void)
{
    return multiplies_wrong<float>() + multiplies_wrong<double>();
}

/* ---- memory ---- */

void *memory_new(size_t bytes)
{
    void *p;
    must(cudaMalloc(&p, bytes + 1), "allocation");
    return p;
}

void memory_free(void *p)
{
    must(cudaFree(p), "free");
}

void memory_write(void *to, const void *from_host, size_t bytes)
{
    if (bytes)
        must(cudaMemcpy(to, from_host, bytes, cudaMemcpyHostToDevice), "copy to the device");
}

void memory_read(void *to_host, const void *from, size_t bytes)
{
    if (bytes)
        must(cudaMemcpy(to_host, from, bytes, cudaMemcpyDeviceToHost), "copy from the device");
}

/* ---- the device ---- */

bool device_open(struct device_info *info)
{
    cudaDeviceProp p;
    cudaError_t error = cudaGetDeviceProperties(&p, 0);
    memset(info, 0, sizeof *info);
    if (error != cudaSuccess) {
        fprintf(stderr, "no GPU: %s\n", cudaGetErrorString(error));
        return false;
    }
    must(cudaSetDevice(0), "device");
    must(cudaDriverGetVersion(&info->driver), "driver version");
    must(cudaRuntimeGetVersion(&info->runtime), "runtime version");
    snprintf(info->name, sizeof info->name, "%s", p.name);
    info->major = p.major;
    info->minor = p.minor;
    info->multiprocessors = p.multiProcessorCount;
    info->l2 = (size_t)p.l2CacheSize;
    info->memory = p.totalGlobalMem;
    return true;
}

size_t device_free_memory(void)
{
    size_t free_bytes, total;
    must(cudaMemGetInfo(&free_bytes, &total), "memory");
    return free_bytes;
}

void *device_stream_new(void)
{
    cudaStream_t stream;
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    return stream;
}

void device_stream_free(void *stream)
{
    must(cudaStreamDestroy((cudaStream_t)stream), "stream");
}

bool device_wait(void *stream)
{
    cudaError_t error = cudaStreamSynchronize((cudaStream_t)stream);
    if (error != cudaSuccess)
        fprintf(stderr, "launch: %s\n", cudaGetErrorString(error));
    return error == cudaSuccess;
}

bool device_done_within(void *stream, double seconds)
{
    timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (;;) {
        cudaError_t error = cudaStreamQuery((cudaStream_t)stream);
        if (error != cudaErrorNotReady)
            return error == cudaSuccess;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec - start.tv_sec + 1e-9 * (now.tv_nsec - start.tv_nsec) > seconds)
            return false;
    }
}

/* ---- filling and flushing ---- */

enum { THREADS = 256 };

static unsigned blocks_for(int64_t n)
{
    int64_t blocks = (n + THREADS - 1) / THREADS;
    return (unsigned)(blocks < 1 << 16 ? blocks : 1 << 16);
}

static __device__ void set(double *to, double x)
{
    *to = x;
}
static __device__ void set(float *to, double x)
{
    *to = (float)x;
}
static __device__ void set(cgtp_bfloat16 *to, double x)
{
    *to = cgtp_double_to_bfloat16(x);
}
static __device__ void set(cgtp_float16 *to, double x)
{
    *to = cgtp_double_to_float16(x);
}

template <typename T> static __global__ void fill(T *to, uint64_t seed, int64_t n)
{
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < n; i += gridDim.x * (int64_t)THREADS)
        set(to + i, random_at(seed, (uint64_t)i));
}

void device_fill(void *to, cgtp_type type, uint64_t seed, int64_t n, void *stream)
{
    const cudaStream_t s = (cudaStream_t)stream;
    if (n && type == CGTP_FLOAT64)
        fill<<<blocks_for(n), THREADS, 0, s>>>((double *)to, seed, n);
    else if (n && type == CGTP_BFLOAT16)
        fill<<<blocks_for(n), THREADS, 0, s>>>((cgtp_bfloat16 *)to, seed, n);
    else if (n && type == CGTP_FLOAT16)
        fill<<<blocks_for(n), THREADS, 0, s>>>((cgtp_float16 *)to, seed, n);
    else if (n)
        fill<<<blocks_for(n), THREADS, 0, s>>>((float *)to, seed, n);
    must(cudaGetLastError(), "fill");
}

void device_set(void *to, int byte, size_t bytes, void *stream)
{
    must(cudaMemsetAsync(to, byte, bytes, (cudaStream_t)stream), "set");
}

static __global__ void hash(const unsigned *from, int64_t n, unsigned long long *sum)
{
    unsigned long long own = 0;
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < n; i += gridDim.x * (int64_t)THREADS)
        own ^= random_bits(from[i], (uint64_t)i);
    atomicXor(sum, own);
}

uint64_t device_hash(const void *from, size_t bytes)
{
    unsigned long long *sum, result;
    int64_t n = (int64_t)(bytes / 4);
    sum = (unsigned long long *)memory_new(sizeof *sum);
    must(cudaMemset(sum, 0, sizeof *sum), "set");
    if (n)
        hash<<<blocks_for(n), THREADS>>>((const unsigned *)from, n, sum);
    must(cudaGetLastError(), "hash");
    memory_read(&result, sum, sizeof result);
    memory_free(sum);
    return result;
}

/* Writes only if the sum is a value that the buffer, all zeros, does not have. */
static __global__ void read_all(const uint4 *from, int64_t n, unsigned *never)
{
    unsigned sum = 0;
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < n; i += gridDim.x * (int64_t)THREADS) {
        uint4 v = from[i];
        sum |= v.x | v.y | v.z | v.w;
    }
    if (sum)
        *never = sum;
}

void device_flush(void *stream)
{
    static uint4 *buffer; /* one for the life of the program */
    static size_t bytes;
    if (!buffer) {
        int l2 = 0;
        must(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, 0), "L2 size");
        bytes = 4 * (size_t)l2 + ((size_t)64 << 20);
        buffer = (uint4 *)memory_new(bytes + sizeof(uint4));
        must(cudaMemset(buffer, 0, bytes + sizeof(uint4)), "set");
        must(cudaDeviceSynchronize(), "set");
    }
    int64_t n = (int64_t)(bytes / sizeof(uint4));
    read_all<<<2048, THREADS, 0, (cudaStream_t)stream>>>(buffer, n, (unsigned *)(buffer + n));
    must(cudaGetLastError(), "flush");
}

/* ---- events and captured launches ---- */

void *device_event_new(void)
{
    cudaEvent_t event;
    must(cudaEventCreate(&event), "event");
    return event;
}

void device_event_free(void *event)
{
    must(cudaEventDestroy((cudaEvent_t)event), "event");
}

void device_event_record(void *event, void *stream)
{
    must(cudaEventRecord((cudaEvent_t)event, (cudaStream_t)stream), "event");
}

double device_event_ms(void *from, void *to)
{
    float ms;
    must(cudaEventSynchronize((cudaEvent_t)to), "event");
    must(cudaEventElapsedTime(&ms, (cudaEvent_t)from, (cudaEvent_t)to), "event");
    return ms;
}

bool device_capture_begin(void *stream)
{
    return cudaStreamBeginCapture((cudaStream_t)stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess;
}

void *device_capture_end(void *stream)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaError_t error = cudaStreamEndCapture((cudaStream_t)stream, &graph);
    if (error == cudaSuccess) {
        error = cudaGraphInstantiate(&exec, graph, 0);
        cudaGraphDestroy(graph);
    }
    if (error == cudaSuccess)
        return exec;
    fprintf(stderr, "capture: %s\n", cudaGetErrorString(error));
    cudaGetLastError();
    return NULL;
}

void device_replay(void *graph, void *stream)
{
    must(cudaGraphLaunch((cudaGraphExec_t)graph, (cudaStream_t)stream), "replay");
}

void device_capture_free(void *graph)
{
    must(cudaGraphExecDestroy((cudaGraphExec_t)graph), "graph");
}

/* ---- a kernel in the way ---- */

/* What host and device both see. */
struct spin {
    volatile int stop;
    int running;
};

static spin *spin_state;
static cudaStream_t spin_stream;

/* Gives up by itself after some 30 s, so that a failing test ends. */
static __global__ void spin_until_told(spin *s)
{
    extern __shared__ char all_of_it[];
    if (threadIdx.x == 0) {
        all_of_it[0] = 0;
        atomicAdd_system(&s->running, 1);
        long long start = clock64();
        while (!s->stop && clock64() - start < 50000000000ll)
            ;
    }
    __syncthreads(); /* the others keep their registers until then */
}

bool device_spin_start(int leave)
{
    int shared = 0, count = 0;
    must(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0), "attribute");
    must(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0), "attribute");
    if (!spin_stream) {
        must(cudaHostAlloc((void **)&spin_state, sizeof *spin_state, cudaHostAllocMapped), "host memory");
        must(cudaStreamCreateWithFlags(&spin_stream, cudaStreamNonBlocking), "stream");
        must(cudaFuncSetAttribute(spin_until_told, cudaFuncAttributeMaxDynamicSharedMemorySize, shared),
             "spin");
    }
    /* A block takes all the shared memory of its multiprocessor, so each has one of its own. */
    spin_state->stop = 0;
    spin_state->running = 0;
    int blocks = count > leave ? count - leave : 1;
    spin_until_told<<<blocks, 1024, shared, spin_stream>>>(spin_state);
    must(cudaGetLastError(), "spin");
    timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        if (*(volatile int *)&spin_state->running == blocks)
            return true;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - start.tv_sec < 5);
    return false;
}

void device_spin_stop(void)
{
    spin_state->stop = 1;
    must(cudaStreamSynchronize(spin_stream), "spin");
}
