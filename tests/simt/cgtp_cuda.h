/* cgtp_cuda.h - runtime/cgtp_cuda.h for the CPU: the same names and signatures, carried out by the shim (see
 * simt.h).
 *
 * Found first by -Itests/simt. Whatever generated code may use is here; what is not, is not allowed there.
 */
#ifndef CGTP_CUDA_H
#define CGTP_CUDA_H

#include "cgtp.h"
#include "simt_device.h"

#include <string.h>
#include <type_traits>

enum { CGTP_LANES = 32 };
#define CGTP_ALL_LANES 0xffffffffu

#define CGTP_KERNEL(threads, blocks) static __attribute__((noinline)) void
#define CGTP_DEVICE static inline
#define CGTP_BOTH static inline
#define CGTP_MEMBER inline __attribute__((always_inline))
#define CGTP_DEVICE_CALL static __attribute__((noinline))
#define CGTP_SHARED(name) unsigned char *const name = simt_shared()

#define CGTP_PRAGMA(text)
#define CGTP_TABLE static const
#define CGTP_UNROLL
#define CGTP_UNROLL_BY(n)
#define CGTP_LOOP

#define threadIdx (simt_thread_index())
#define blockIdx (simt_block_index())
#define blockDim (simt_block_dim())
#define gridDim (simt_grid_dim())

CGTP_DEVICE int cgtp_lane(void) { return (int)(threadIdx.x % CGTP_LANES); }
CGTP_DEVICE int cgtp_reload_lane(void) { return cgtp_lane(); }
CGTP_DEVICE int cgtp_warp(void) { return (int)(threadIdx.x / CGTP_LANES); }

CGTP_DEVICE void cgtp_sync_warp(void) { simt_sync_warp(); }
CGTP_DEVICE void cgtp_sync_block(void) { simt_sync_block(); }
template <int warps> CGTP_DEVICE void cgtp_sync_group(void) { simt_sync_group(warps); }

CGTP_DEVICE int cgtp_shuffle(int value, int from)
{
    return (int)simt_exchange(SIMT_SHUFFLE, (uint64_t)value, from);
}
CGTP_DEVICE long cgtp_shuffle(long value, int from)
{
    return (long)simt_exchange(SIMT_SHUFFLE, (uint64_t)value, from);
}
CGTP_DEVICE long long cgtp_shuffle(long long value, int from)
{
    return (long long)simt_exchange(SIMT_SHUFFLE, (uint64_t)value, from);
}

CGTP_DEVICE real cgtp_shuffle_xor(real value, int mask)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    bits = simt_exchange(SIMT_SHUFFLE_XOR, bits, cgtp_lane() ^ mask);
    memcpy(&value, &bits, sizeof value);
    return value;
}

CGTP_DEVICE unsigned cgtp_vote(bool condition) { return simt_vote(condition); }

/* ---- asynchronous copies ---- */

struct cgtp_policy {
    unsigned long long bits;
};

typedef uintptr_t cgtp_address;
CGTP_DEVICE cgtp_address cgtp_address_of(const void *shared) { return (cgtp_address)shared; }
CGTP_DEVICE unsigned char *cgtp_pointer(cgtp_address address) { return (unsigned char *)address; }
CGTP_DEVICE unsigned char *cgtp_pinned_shared(unsigned char *shared) { return shared; }
CGTP_DEVICE unsigned char *cgtp_opaque_shared(unsigned char *shared) { return shared; }
template <typename T> CGTP_DEVICE T *cgtp_opaque_global(T *global) { return global; }
CGTP_DEVICE cgtp_policy cgtp_policy_stream(void) { return {0}; }
CGTP_DEVICE cgtp_policy cgtp_policy_parts(void) { return {0}; }
CGTP_DEVICE cgtp_policy cgtp_policy_keep(void) { return {0}; }

CGTP_DEVICE void cgtp_copy_element(real *shared, const real *global)
{
    simt_copy(shared, global, sizeof(real));
}
template <int bytes> CGTP_DEVICE void cgtp_copy(void *shared, const void *global, cgtp_policy)
{
    static_assert(bytes == 16 || bytes == 8 || bytes == 4, "what a copy moves");
    simt_copy(shared, global, bytes);
}
CGTP_DEVICE void cgtp_copies_commit(void) { simt_copies_commit(); }
template <int pending> CGTP_DEVICE void cgtp_copies_wait(void) { simt_copies_wait(pending); }

/* ---- vectors of consecutive elements ---- */

/* Vector types are read and written as one piece, at a multiple of their size. */
struct alignas(16) float4 {
    float x, y, z, w;
    float4() = default;
    float4(float a, float b, float c, float d) : x(a), y(b), z(c), w(d) {}
    float4(const float4 &other) { simt_read(this, &other, 16, 16); }
    float4 &operator=(const float4 &other) { return simt_assign(this, &other, 16), *this; }
};

struct alignas(8) float2 {
    float x, y;
    float2() = default;
    float2(float a, float b) : x(a), y(b) {}
    float2(const float2 &other) { simt_read(this, &other, 8, 8); }
    float2 &operator=(const float2 &other) { return simt_assign(this, &other, 8), *this; }
};

CGTP_DEVICE float4 make_float4(float x, float y, float z, float w) { return float4(x, y, z, w); }
CGTP_DEVICE float2 make_float2(float x, float y) { return float2(x, y); }
template <typename T> CGTP_DEVICE T __ldcs(const T *p) { return *p; }

template <int n> CGTP_DEVICE void cgtp_store_stream(real *p, const real *r)
{
    real values[n]; /* read here, where reads are seen: r may be in the device's memory */
    for (int i = 0; i < n; i++)
        values[i] = r[i];
    simt_write(p, values, sizeof values,
               n == 2 || n == 4 ? n * sizeof(real) > 16 ? 16 : n * sizeof(real) : sizeof(real));
}

template <int n> CGTP_DEVICE void cgtp_read_stream(real *r, const real *p)
{
    if (n * sizeof(real) == 16)
        simt_read(r, p, 16, 16);
    else
        for (int i = 0; i < n; i++)
            r[i] = p[i];
}

template <int size, typename T> CGTP_DEVICE void cgtp_put(T *global, const T *shared)
{
    unsigned char bytes[size];
    simt_read(bytes, shared, size, size);
    simt_write(global, bytes, size, size);
}

CGTP_DEVICE void cgtp_add(real *global, real value) { simt_atomic_add(global, value); }

CGTP_DEVICE void cgtp_add16(real *global, const real *shared)
{
    real values[16 / sizeof(real)];
    simt_read(values, shared, 16, 16);
    for (size_t i = 0; i < 16 / sizeof(real); i++)
        simt_atomic_add(global + i, values[i]);
}

/* ---- between blocks ---- */

CGTP_DEVICE unsigned cgtp_ticket(unsigned *counter) { return simt_atomic_add(counter, 1u); }
CGTP_DEVICE unsigned cgtp_tickets(unsigned *counter) { return simt_atomic_add(counter, 0u); }
CGTP_DEVICE long long cgtp_of_first_thread(long long value)
{
    simt_sync_block();
    if (threadIdx.x == 0)
        simt_set_first(value);
    simt_sync_block();
    return simt_first();
}
CGTP_DEVICE int cgtp_multiprocessor(void) { return simt_multiprocessor(); }

CGTP_DEVICE int cgtp_block(void) { return (int)blockIdx.x; }
CGTP_DEVICE int cgtp_thread(void) { return (int)threadIdx.x; }
CGTP_DEVICE int cgtp_blocks(void) { return (int)gridDim.x; }

CGTP_DEVICE void cgtp_signal(unsigned *flag) { simt_signal(flag); }
CGTP_DEVICE void cgtp_wait(const unsigned *flag) /* of one lane after the other */
{
    for (int i = 0; i < CGTP_LANES; i++) {
        const unsigned *const lanes = (const unsigned *)(uintptr_t)cgtp_shuffle((long long)(uintptr_t)flag, i);
        if (lanes)
            simt_wait(lanes);
    }
}

CGTP_DEVICE real cgtp_read_other(const real *p)
{
    real value;
    simt_read(&value, p, sizeof value, sizeof value);
    return value;
}

CGTP_DEVICE void cgtp_launch_next(void) {}
CGTP_DEVICE void cgtp_launch_wait(void) { simt_launch_wait(); }

/* ---- launches, on the host ---- */

/* Arguments of a launch. Files have different types of the same names: nothing here may be shared between
 * them. */
namespace
{
template <typename... Types> struct simt_arguments;

template <> struct simt_arguments<> {
    template <typename Kernel, typename... Before> void pass(Kernel kernel, const Before &...before) const
    {
        kernel(before...);
    }
};

template <typename First, typename... Rest> struct simt_arguments<First, Rest...> {
    First first;
    simt_arguments<Rest...> rest;
    template <typename... Arguments>
    simt_arguments(First f, Arguments... arguments) : first(f), rest((Arguments)arguments...)
    {
    }
    template <typename Kernel, typename... Before> void pass(Kernel kernel, const Before &...before) const
    {
        rest.pass(kernel, before..., first);
    }
};

template <typename... Parameters> struct simt_call {
    void (*kernel)(Parameters...);
    simt_arguments<std::remove_const_t<Parameters>...> arguments;
    static void run(const void *call)
    {
        const simt_call *c = (const simt_call *)call;
        c->arguments.pass(c->kernel);
    }
};
} // namespace

template <typename... Parameters, typename... Arguments>
static inline cgtp_status cgtp_launch_as(bool early, const char *text, void (*kernel)(Parameters...),
                                      int64_t blocks, int threads, size_t shared, cgtp_stream,
                                      Arguments... arguments)
{
    simt_call<Parameters...> call = {kernel, {(Parameters)arguments...}};
    return simt_run(text, call.run, &call, sizeof call, blocks, threads, shared, early) ? CGTP_LAUNCH_FAILED
                                                                                        : CGTP_OK;
}
#define cgtp_launch(...) cgtp_launch_as(false, #__VA_ARGS__, __VA_ARGS__)
#define cgtp_launch_early(...) cgtp_launch_as(true, #__VA_ARGS__, __VA_ARGS__)

static inline int cgtp_multiprocessors(void) { return simt_get_multiprocessors(); }

/* Here, before a header of the runtime asks for those beside it. */
#include "cgtp_cuda_narrow.h"
#include "cgtp_mma.h"

#endif
