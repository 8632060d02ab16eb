/* simt_device.h - the operations behind tests/simt/cgtp_cuda.h, independent of the type of numbers. */
#ifndef SIMT_DEVICE_H
#define SIMT_DEVICE_H

#include <stddef.h>
#include <stdint.h>

struct simt_index {
    unsigned x;
};

/* Operations at which the lanes of a warp meet. */
enum simt_operation {
    SIMT_SYNC_WARP = 1,
    SIMT_SYNC_BLOCK,
    SIMT_SHUFFLE,
    SIMT_SHUFFLE_XOR,
    SIMT_VOTE,
    SIMT_SIGNAL,
    SIMT_WAIT,
    SIMT_SYNC_GROUP,
    SIMT_MULTIPLY
};

simt_index simt_thread_index(void), simt_block_index(void), simt_block_dim(void), simt_grid_dim(void);
unsigned char *simt_shared(void);

/* All lanes of the warp meet and then see what was written before. */
void simt_sync_warp(void);
void simt_sync_block(void);
/* The warps group * warps .. of the block, as many as it says, group = own / warps. */
void simt_sync_group(int warps);
/* All lanes give a value and get that of a lane; nothing is said about memory. */
unsigned simt_vote(bool condition);
uint64_t simt_exchange(enum simt_operation, uint64_t value, int from);

/* d += a b of 16 by 8 by 8, in the lanes' fragments that PTX has for mma.m16n8k8 (tf32) and, twice by two, for
 * mma.m8n8k4 (f64). */
void simt_multiply(float *d, const float *a, const float *b);
void simt_multiply(double *d, const double *a, const double *b);

/* An access of `bytes` at a multiple of `align`; and the copy itself, which needs no further check. */
void simt_read(void *to, const void *from, size_t bytes, size_t align);
void simt_write(void *to, const void *from, size_t bytes, size_t align);
/* *to = *from of `bytes`, both aligned to that. */
void simt_assign(void *to, const void *from, size_t bytes);
void simt_atomic_add(float *, float);
void simt_atomic_add(double *, double);
unsigned simt_atomic_add(unsigned *, unsigned);

/* A number that a block keeps for its threads. */
void simt_set_first(long long);
long long simt_first(void);
/* Any number: blocks run on multiprocessors in no particular order. */
int simt_multiprocessor(void);

void simt_signal(unsigned *);
void simt_wait(const unsigned *);

void simt_copy(void *shared, const void *global, size_t bytes);
void simt_copies_commit(void);
void simt_copies_wait(int pending);

/* Of a launch that is `early`: memory may be used from here on. */
void simt_launch_wait(void);
/* From here on memory that launches which may still run do not write; the thread waits before it ends. */
void simt_launch_beside(void);

/* 0, or 1 when the launch was refused or given up. `call` runs the kernel with `arguments`. */
int simt_run(const char *call_text, void (*call)(const void *), const void *arguments, size_t arguments_bytes,
             int64_t blocks, int threads, size_t shared, bool early);
int simt_get_multiprocessors(void);

#endif
