/* SPDX-License-Identifier: MIT */
/* cgtp_cuda.h - the operations of a GPU that generated kernels use, and all that differs between
 * architectures.
 *
 * Generated .cu files name these operations and contain neither inline assembly nor launch syntax. They
 * define `real` (float or double) before including this. NVIDIA sm_80 and up. tests/simt holds the same
 * interface for the CPU.
 *
 * Lanes of a warp work in lock step only at the operations that say so; shared memory written by one lane and
 * read by another needs cgtp_sync_warp() between.
 */
#ifndef CGTP_CUDA_H
#define CGTP_CUDA_H

#if defined __CUDA_ARCH__ && __CUDA_ARCH__ < 800
#error "generated kernels need compute capability 8.0 or later: compile with -arch=sm_80 or higher"
#endif

#include "cgtp.h"

#include <cuda_runtime.h>

/* `real` differs between files: everything that depends on it is each file's own. */
namespace
{

/* Lanes of a warp, and the mask of all of them. */
enum { CGTP_LANES = 32 };
#define CGTP_ALL_LANES 0xffffffffu

/* Kernel and device function qualifiers. CGTP_KERNEL(threads, blocks): threads per block, blocks that must
 * fit on a multiprocessor (bounds the registers). */
#define CGTP_KERNEL(threads, blocks) static __global__ void __launch_bounds__(threads, blocks)
#define CGTP_DEVICE static __device__ __forceinline__
#define CGTP_MEMBER __device__ __forceinline__
#define CGTP_BOTH static __host__ __device__ __forceinline__
#define CGTP_DEVICE_CALL static __device__ __noinline__

/* A table of constants: it takes no memory where all its indices are known when it is compiled. */
#define CGTP_TABLE static __device__ const

/* The dynamic shared memory of a block, under a name. */
#define CGTP_SHARED(name) extern __shared__ __align__(128) unsigned char name[]

/* Loops: unroll fully, by n turns, or not at all. */
#define CGTP_PRAGMA(text) _Pragma(#text)
#define CGTP_UNROLL CGTP_PRAGMA(unroll)
#define CGTP_UNROLL_BY(n) CGTP_PRAGMA(unroll n)
#define CGTP_LOOP CGTP_UNROLL_BY(1)

CGTP_DEVICE int cgtp_lane(void)
{
    return (int)(threadIdx.x % CGTP_LANES);
}
/* The lane, read again: what follows from it is computed where it is used, as the compiler does not know that
 * it is the same lane as elsewhere, instead of kept in registers. */
CGTP_DEVICE int cgtp_reload_lane(void)
{
    int lane;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    __builtin_assume(lane >= 0 && lane < CGTP_LANES);
    return lane;
}
CGTP_DEVICE int cgtp_warp(void)
{
    return (int)(threadIdx.x / CGTP_LANES);
}

/* All lanes of the warp arrive; memory written before is seen by the others after. */
CGTP_DEVICE void cgtp_sync_warp(void)
{
    __syncwarp();
}

/* All threads of the block arrive. */
CGTP_DEVICE void cgtp_sync_block(void)
{
    __syncthreads();
}

/* A warp group: the block's warps whose number divided by `warps` is the same. All its lanes arrive; memory
 * written before is seen by the others after. At most 15 groups per block; no
 * group waits while another of the same first number, but of more or fewer warps, does: they would meet at one barrier. */
template <int warps> CGTP_DEVICE void cgtp_sync_group(void)
{
    if constexpr (warps == 1)
        __syncwarp();
    else
        asm volatile("barrier.cta.sync %0, %1;" ::"r"(1 + cgtp_warp() / warps), "n"(warps * CGTP_LANES)
                     : "memory");
}

/* The value of lane `from`; of lane (own ^ mask). All lanes take part. */
template <typename T> CGTP_DEVICE T cgtp_shuffle(T value, int from)
{
    return __shfl_sync(CGTP_ALL_LANES, value, from);
}
CGTP_DEVICE real cgtp_shuffle_xor(real value, int mask)
{
    return __shfl_xor_sync(CGTP_ALL_LANES, value, mask);
}

/* A bit for each lane whose condition holds. All lanes take part. */
CGTP_DEVICE unsigned cgtp_vote(bool condition)
{
    return __ballot_sync(CGTP_ALL_LANES, condition);
}

/* ---- asynchronous copies, global to shared memory, ordered by groups of the calling thread ---- */

/* How long a line should stay in L2, and whether all of it comes there with a part, as others of the warp need the rest. */
struct cgtp_policy {
    unsigned long long bits;
    bool lines;
};

/* What createpolicy.fractional.L2 makes, of evict_first and evict_last with fraction 1, from sm_80 to sm_120: numbers that
 * ptxas knows it puts where copies need them by two instructions; those of createpolicy it makes anew or moves for each. */
CGTP_DEVICE cgtp_policy cgtp_policy_stream(void) /* read or written once: first to go */
{
    return {0x12F0000000000000ull, true};
}
CGTP_DEVICE cgtp_policy cgtp_policy_parts(void) /* the same, of lines of which others need the rest at other times */
{
    return {cgtp_policy_stream().bits, false};
}
CGTP_DEVICE cgtp_policy cgtp_policy_keep(void) /* used again soon: last to go */
{
    return {0x14F0000000000000ull, true};
}

/* An address in shared memory. */
typedef unsigned cgtp_address;
CGTP_DEVICE cgtp_address cgtp_address_of(const void *shared)
{
    return (unsigned)__cvta_generic_to_shared(shared);
}
CGTP_DEVICE unsigned char *cgtp_pointer(cgtp_address address)
{
    return (unsigned char *)__cvta_shared_to_generic(address);
}

/* The same address in shared memory, hidden from the compiler: see cgtp_opaque_global. */
CGTP_DEVICE unsigned char *cgtp_opaque_shared(unsigned char *shared)
{
    cgtp_address at = cgtp_address_of(shared);
    asm volatile("" : "+r"(at));
    return cgtp_pointer(at);
}

/* The same address in shared memory, of which ptxas does not know that lanes have a part of it alike: where it does, and adds
 * that part in copies that have a policy, ptxas 13.0 encodes what the device calls an illegal instruction. All lanes call. */
CGTP_DEVICE unsigned char *cgtp_pinned_shared(unsigned char *shared)
{
    return cgtp_pointer((cgtp_address)cgtp_shuffle((int)cgtp_address_of(shared), cgtp_lane()));
}

/* The same address in global memory, hidden from the compiler: it adds offsets to it in loads, stores and
 * copies, instead of computing each address from what this one was made of. It is still told that the memory is global. */
template <typename T> CGTP_DEVICE T *cgtp_opaque_global(T *global)
{
    size_t at = __cvta_generic_to_global(global);
    asm("" : "+l"(at));
    return (T *)__cvta_global_to_generic(at);
}

/* 16, 8 or 4 bytes, both addresses multiples of as many. The copy lands at some time before cgtp_copies_wait says so. */
template <int bytes> CGTP_DEVICE void cgtp_copy(void *shared, const void *global, cgtp_policy policy)
{
    const cgtp_address to = cgtp_address_of(shared);
    if (bytes == 16 && policy.lines)
        asm volatile("cp.async.cg.shared.global.L2::cache_hint.L2::128B [%0], [%1], %2, %3;" ::"r"(to), "l"(global), "n"(bytes),
                     "l"(policy.bits) : "memory");
    else if (bytes == 16)
        asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], %2, %3;" ::"r"(to), "l"(global), "n"(bytes),
                     "l"(policy.bits) : "memory");
    else if (policy.lines)
        asm volatile("cp.async.ca.shared.global.L2::cache_hint.L2::128B [%0], [%1], %2, %3;" ::"r"(to), "l"(global), "n"(bytes),
                     "l"(policy.bits) : "memory");
    else
        asm volatile("cp.async.ca.shared.global.L2::cache_hint [%0], [%1], %2, %3;" ::"r"(to), "l"(global), "n"(bytes),
                     "l"(policy.bits) : "memory");
}

/* Closes the group of this thread's copies so far. */
CGTP_DEVICE void cgtp_copies_commit(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits until at most `pending` of this thread's latest groups are under way; for other lanes': cgtp_sync_warp() after. */
template <int pending> CGTP_DEVICE void cgtp_copies_wait(void)
{
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

/* One element. */
CGTP_DEVICE void cgtp_copy_element(real *shared, const real *global)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(cgtp_address_of(shared)), "l"(global),
                 "n"((int)sizeof(real))
                 : "memory");
}

/* ---- vectors of consecutive elements ---- */

/* Written once, not read soon: stores past the caches where that is possible. n = 1, 2 or 4 elements. */
template <int n> CGTP_DEVICE void cgtp_store_stream(real *p, const real *r)
{
    if constexpr (n == 4 && sizeof(real) == 4)
        __stcs((float4 *)p, make_float4((float)r[0], (float)r[1], (float)r[2], (float)r[3]));
    else if constexpr (n == 2 && sizeof(real) == 4)
        __stcs((float2 *)p, make_float2((float)r[0], (float)r[1]));
    else if constexpr (n == 2)
        __stcs((double2 *)p, make_double2((double)r[0], (double)r[1]));
    else
        CGTP_UNROLL
    for (int i = 0; i < n; i++)
        __stcs(p + i, r[i]);
}

/* n elements that are read once: 16 bytes, or any number one by one. */
template <int n> CGTP_DEVICE void cgtp_read_stream(real *r, const real *p)
{
    float4 v [[maybe_unused]];
    if constexpr (n * sizeof(real) == 16) {
        v = __ldcs((const float4 *)p);
        p = (const real *)&v;
    }
    CGTP_UNROLL
    for (int i = 0; i < n; i++)
        r[i] = p[i];
}

/* 16, 8, 4 or 2 bytes from shared to global memory, at multiples of as many. */
template <int bytes, typename T> CGTP_DEVICE void cgtp_put(T *global, const T *shared)
{
    if constexpr (bytes == 16)
        __stcs((float4 *)global, *(const float4 *)shared);
    else if constexpr (bytes == 8)
        __stcs((float2 *)global, *(const float2 *)shared);
    else if constexpr (bytes == 4)
        __stcs((float *)global, *(const float *)shared);
    else
        __stcs((unsigned short *)global, *(const unsigned short *)shared);
}

/* Adds the 16 bytes of reals at `shared` to those at `global`, each element atomically. */
CGTP_DEVICE void cgtp_add16(float *global, const float *shared)
{
#if __CUDA_ARCH__ >= 900
    const float4 v = *(const float4 *)shared;
    asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(global), "f"(v.x), "f"(v.y), "f"(v.z),
                 "f"(v.w)
                 : "memory");
#else
    CGTP_UNROLL
    for (int i = 0; i < 4; i++)
        atomicAdd(global + i, shared[i]);
#endif
}

CGTP_DEVICE void cgtp_add16(double *global, const double *shared)
{
    atomicAdd(global, shared[0]);
    atomicAdd(global + 1, shared[1]);
}

CGTP_DEVICE void cgtp_add(real *global, real value)
{
    atomicAdd(global, value);
}

/* ---- between blocks ---- */

/* The number of calls before, of all threads that share the counter. */
CGTP_DEVICE unsigned cgtp_ticket(unsigned *counter)
{
    return atomicAdd(counter, 1u);
}

/* How many there were so far: others may come at any time. */
CGTP_DEVICE unsigned cgtp_tickets(unsigned *counter)
{
    return *(volatile unsigned *)counter;
}

/* The first thread's value, in all threads of the block; all call. */
CGTP_DEVICE long long cgtp_of_first_thread(long long value)
{
    __shared__ long long first;
    __syncthreads();
    if (threadIdx.x == 0)
        first = value;
    __syncthreads();
    return first;
}

/* The multiprocessor that the block runs on: a hint, for slots near each other. */
CGTP_DEVICE int cgtp_multiprocessor(void)
{
    unsigned number;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
    return (int)number;
}

CGTP_DEVICE int cgtp_block(void)
{
    return (int)blockIdx.x;
}
CGTP_DEVICE int cgtp_thread(void)
{
    return (int)threadIdx.x;
}
CGTP_DEVICE int cgtp_blocks(void)
{
    return (int)gridDim.x;
}

/* Sets a flag: everything that the warp wrote before is seen by whoever sees it set. All lanes arrive. */
CGTP_DEVICE void cgtp_signal(unsigned *flag)
{
    __syncwarp();
    if (cgtp_lane() == 0)
        asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(1) : "memory");
}

/* Waits for flags of warps that are sure to go on, of blocks that started before: each lane for one; NULL: for none.
 * All lanes arrive, and see what those warps wrote before. */
CGTP_DEVICE void cgtp_wait(const unsigned *flag)
{
    unsigned set = 1;
    do {
        asm volatile("{\n\t"
                     ".reg .pred one;\n\t"
                     "setp.ne.u64 one, %1, 0;\n\t"
                     "@one ld.acquire.gpu.global.u32 %0, [%1];\n\t"
                     "}"
                     : "+r"(set)
                     : "l"(flag)
                     : "memory");
    } while (!__all_sync(CGTP_ALL_LANES, set));
}

/* A read that does not trust this multiprocessor's own cache: for what other blocks wrote in this launch. */
CGTP_DEVICE real cgtp_read_other(const real *p)
{
    return __ldcg(p);
}

/* ---- launches that overlap (sm_90) ---- */

/* Lets a kernel that cgtp_launch_early started begin, once all blocks have called or ended. */
CGTP_DEVICE void cgtp_launch_next(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* The kernel launched before on the stream has ended, and what it wrote is seen. */
CGTP_DEVICE void cgtp_launch_wait(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* ---- launches, on the host ---- */

/* What CUDA says, as a status. */
static inline cgtp_status cgtp_status_of(cudaError_t error)
{
    switch (error) {
    case cudaSuccess:
        return CGTP_OK;
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
        return CGTP_NO_DEVICE;
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorInvalidKernelImage:
    case cudaErrorUnsupportedPtxVersion:
        return CGTP_NO_CODE;
    default:
        return CGTP_LAUNCH_FAILED;
    }
}

template <typename... Parameters, typename... Arguments>
static inline cgtp_status cgtp_launch_as(bool early, void (*kernel)(Parameters...), int64_t blocks,
                                         int threads, size_t shared, cgtp_stream stream,
                                         Arguments... arguments)
{
    if (blocks <= 0)
        return CGTP_OK;
    cudaError_t error = cudaSuccess;
    if (shared > 48 * 1024 - 128) /* unasked a kernel has 48 KiB, with cgtp_of_first_thread's number, aligned */
        error = cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     (int)shared);
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)blocks);
    config.blockDim = dim3((unsigned)threads);
    config.dynamicSmemBytes = shared;
    config.stream = (cudaStream_t)stream;
    cudaLaunchAttribute overlap = {};
    cudaFuncAttributes compiled = {};
    /* code for an older architecture does not wait, on whatever device it runs */
    if (early && error == cudaSuccess)
        error = cudaFuncGetAttributes(&compiled, (const void *)kernel);
    if (compiled.ptxVersion >= 90) {
        overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        overlap.val.programmaticStreamSerializationAllowed = 1;
        config.attrs = &overlap;
        config.numAttrs = 1;
    }
    if (error == cudaSuccess)
        error = cudaLaunchKernelEx(&config, kernel, (Parameters)arguments...);
    return cgtp_status_of(error);
}

/* Starts a kernel with `shared` bytes of dynamic shared memory. */
template <typename... Parameters, typename... Arguments>
static inline cgtp_status cgtp_launch(void (*kernel)(Parameters...), int64_t blocks, int threads,
                                      size_t shared, cgtp_stream stream, Arguments... arguments)
{
    return cgtp_launch_as(false, kernel, blocks, threads, shared, stream, arguments...);
}

/* The same for a kernel that begins with cgtp_launch_wait(): it may start before the launch before it on the stream has ended. */
template <typename... Parameters, typename... Arguments>
static inline cgtp_status cgtp_launch_early(void (*kernel)(Parameters...), int64_t blocks, int threads,
                                            size_t shared, cgtp_stream stream, Arguments... arguments)
{
    return cgtp_launch_as(true, kernel, blocks, threads, shared, stream, arguments...);
}

/* Multiprocessors of the current device. */
static inline int cgtp_multiprocessors(void)
{
    int device = 0, count = 1;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
    return count;
}

} // namespace

#endif
