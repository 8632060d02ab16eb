/* machine.h - where a rank computes: arrays, loops over elements, streams. The CPU; or with RANKS_CUDA a GPU, of a source
 * that is compiled as CUDA.
 */
#ifndef MACHINE_H
#define MACHINE_H

#include "part.h"

#include <cstring>
#include <memory>
#include <new>

#ifdef RANKS_CUDA
#include "cgtp_device.h"
#include <cuda_runtime.h>
#define ON_BOTH __host__ __device__

inline void expect(cudaError_t error, const char *what)
{
    if (error != cudaSuccess)
        throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}
#else
#define ON_BOTH
#endif

/* Memory of the current device. */
struct memory_free {
    void operator()(void *memory) const
    {
#ifdef RANKS_CUDA
        cudaFree(memory);
#else
        ::operator delete(memory, std::align_val_t(64));
#endif
    }
};

template <class T> struct array {
    std::unique_ptr<T, memory_free> memory;
    size_t size = 0;

    array() = default;
    explicit array(size_t n) : size(n)
    {
        void *bytes = nullptr;
#ifdef RANKS_CUDA
        expect(cudaMalloc(&bytes, n * sizeof(T) + 16), "memory");
#else
        bytes = ::operator new(n * sizeof(T) + 16, std::align_val_t(64));
#endif
        memory.reset((T *)bytes);
    }
    explicit array(const std::vector<T> &host) : array(host.size())
    {
#ifdef RANKS_CUDA
        expect(cudaMemcpy(memory.get(), host.data(), size * sizeof(T), cudaMemcpyHostToDevice), "copy");
#else
        std::copy(host.begin(), host.end(), memory.get());
#endif
    }
    operator T *() const
    {
        return memory.get();
    }
    std::vector<T> host() const
    {
        std::vector<T> copy(size);
#ifdef RANKS_CUDA
        expect(cudaMemcpy(copy.data(), memory.get(), size * sizeof(T), cudaMemcpyDeviceToHost), "copy");
#else
        std::copy(memory.get(), memory.get() + size, copy.begin());
#endif
        return copy;
    }
};

/* f(i) for i = 0 .. n - 1, and waits. */
#ifdef RANKS_CUDA
template <class F> __global__ void each_kernel(int64_t n, F f)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
        f(i);
}
template <class F> void each(int64_t n, F f)
{
    each_kernel<<<2048, 256>>>(n, f);
    expect(cudaGetLastError(), "launch");
    expect(cudaDeviceSynchronize(), "run");
}
#else
template <class F> void each(int64_t n, F f)
{
    for (int64_t i = 0; i < n; i++)
        f(i);
}
#endif

/* Work in order: on the CPU everything is done when a function returns. An urgent stream's blocks go before others. */
struct stream {
#ifdef RANKS_CUDA
    cudaStream_t own = nullptr;
    cudaEvent_t event = nullptr;

    explicit stream(bool urgent)
    {
        int least, most;
        expect(cudaDeviceGetStreamPriorityRange(&least, &most), "priorities");
        expect(cudaStreamCreateWithPriority(&own, cudaStreamNonBlocking, urgent ? most : least), "stream");
        expect(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "event");
    }
    ~stream()
    {
        cudaEventDestroy(event);
        cudaStreamDestroy(own);
    }
    operator cgtp_stream() const
    {
        return own;
    }
    void after(const stream &other) /* what follows here waits for what is there by now */
    {
        expect(cudaEventRecord(other.event, other.own), "record");
        expect(cudaStreamWaitEvent(own, other.event, 0), "wait");
    }
    void wait() const
    {
        expect(cudaStreamSynchronize(own), "run");
    }
#else
    explicit stream(bool)
    {
    }
    operator cgtp_stream() const
    {
        return nullptr;
    }
    void after(const stream &)
    {
    }
    void wait() const
    {
    }
#endif
    stream(const stream &) = delete;
};

inline void use_device(int number)
{
#ifdef RANKS_CUDA
    expect(cudaSetDevice(number), "device");
#else
    (void)number;
#endif
}

inline int devices()
{
    int count = 1;
#ifdef RANKS_CUDA
    expect(cudaGetDeviceCount(&count), "devices");
#endif
    return count;
}

inline void gather_rows(const cgtp_rows &rows, const void *from, void *buffer, const stream &s)
{
#ifdef RANKS_CUDA
    expect(cgtp_device_rows_gather(&rows, from, buffer, s), "gather");
#else
    (void)s;
    expect(cgtp_rows_gather(&rows, from, buffer), "gather");
#endif
}

inline void add_rows(const cgtp_rows &rows, const void *buffer, void *to, const stream &s)
{
#ifdef RANKS_CUDA
    expect(cgtp_device_rows_add(&rows, buffer, to, s), "add");
#else
    (void)s;
    expect(cgtp_rows_add(&rows, buffer, to), "add");
#endif
}

#endif
