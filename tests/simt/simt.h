/* simt.h - runs generated GPU kernels on the CPU, thread by thread, and reports what a GPU would forgive only
 * sometimes.
 *
 * For test drivers, in C or C++. A driver allocates device memory here, copies inputs in, calls the generated
 * product through its C ABI, copies results out and asks for findings. Kernels are compiled with
 * -fsanitize=thread, but linked with this instead of that sanitizer's runtime, so that every load and store
 * of theirs passes through simt_memory.cc:
 *
 *     c++ -std=c++17 -O1 -fsanitize=thread -Itests/simt -Iruntime -x c++ -c NAME_forward.cu
 *     c++ NAME_forward.o NAME.o driver.o cgtp.o simt.o simt_memory.o simt_async.o
 *
 * (tests/simt/build.sh has all options.) What is checked: bounds of shared and device memory, reads of bytes
 * never written, races between threads (by happens-before, not by luck of the interleaving), bytes used while
 * an asynchronous copy still owns them, lanes that diverge at a warp operation, waits that nobody ends. Which block and lane runs when depends on the seed only.
 */
#ifndef SIMT_H
#define SIMT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum simt_kind {
    SIMT_OUT_OF_BOUNDS, /* outside of every array, or of the block's shared memory */
    SIMT_UNINITIALISED, /* a read of bytes that nobody wrote */
    SIMT_RACE,          /* two threads, at least one writing, nothing that orders them */
    SIMT_IN_FLIGHT,     /* bytes that an asynchronous operation has not finished with */
    SIMT_UNFINISHED,    /* an asynchronous operation, or a launch, that the thread never waited for */
    SIMT_DIVERGENCE,    /* the lanes of a warp are not all at the same operation */
    SIMT_DEADLOCK,      /* every thread waits */
    SIMT_MISALIGNED,    /* a wide access at an odd place */
    SIMT_HOST_ACCESS,   /* a launcher touches device memory, or a kernel the host's */
    SIMT_KINDS
};

struct simt_finding {
    enum simt_kind kind;
    char kernel[64]; /* empty: on the host */
    int64_t block;   /* -1: none in particular */
    int thread;      /* in the block */
    char array[64];  /* name of the allocation, "shared", or empty */
    int64_t offset;  /* bytes from its beginning */
    int64_t times;   /* how often the same was seen at the same instruction */
    char text[512];  /* one line of English that says all of this */
};

const char *simt_kind_name(enum simt_kind);

/* Device memory: aligned to 16 bytes and no more, every byte 0xff (NaN) and not initialised. Aborts when
 * there is no more (1 GiB). The memory of a freed array is not used again until all are freed, so that its
 * use is found. */
void *simt_alloc(const char *name, size_t bytes);
void simt_free(void *);

/* Host to device: marks the bytes as initialised. Device to host: a byte that nobody wrote is a finding. */
void simt_copy_in(void *device, const void *host, size_t bytes);
void simt_copy_out(void *host, const void *device, size_t bytes);
/* Back to NaN and not initialised: an output before the next launch. */
void simt_spoil(void *device, size_t bytes);

/* Order of blocks, warps and lanes; also the number of blocks at a time (1 to 4) unless simt_resident(n > 0)
 * fixes it. */
void simt_seed(uint64_t);
void simt_resident(int blocks);
/* What cgtp_multiprocessors() says. 2 at first. */
void simt_multiprocessors(int);

/* Findings since the start or simt_forget(). A program that ends with some has them printed and exits
 * with 97. With SIMT_STOP in the environment it ends so at the first. */
int simt_findings(void);
const struct simt_finding *simt_finding_at(int);
void simt_print(FILE *, const char *prefix);
void simt_forget(void);

/* Loads and stores of kernels seen so far. */
uint64_t simt_accesses(void);

#ifdef __cplusplus
}
#endif

#endif
