/* device.h - what the tests and benchmarks on a GPU need of it beside its memory (tests/memory.h).
 *
 * device_cuda.cu is the real one. device_host.c stands in for it where there is no GPU, so that the programs'
 * own logic can be run on the C backend; there streams do nothing and nothing can be captured. Functions
 * abort with the device's message on errors that are not the product's; the others say how they report.
 */
#ifndef TEST_GPU_DEVICE_H
#define TEST_GPU_DEVICE_H

#include "cgtp.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct device_info {
    char name[256];
    int driver, runtime; /* CUDA versions, 1000 major + 10 minor; 0: no GPU */
    int major, minor;    /* compute capability */
    int multiprocessors;
    size_t l2, memory; /* bytes */
};

/* False, with a line on stderr: no device. */
bool device_open(struct device_info *);
size_t device_free_memory(void);

/* Streams that do not wait for the default stream. */
void *device_stream_new(void);
void device_stream_free(void *stream);
/* Waits; false, with the device's message on stderr, if something failed before. */
bool device_wait(void *stream);
/* Waits for at most this long; true when all is done. */
bool device_done_within(void *stream, double seconds);

/* n numbers of the type become random_at(seed, 0 .. n-1). */
void device_fill(void *to, cgtp_type type, uint64_t seed, int64_t n, void *stream);
void device_set(void *to, int byte, size_t bytes, void *stream);
/* A number that depends on all 32-bit words and where they stand. Waits. bytes: a multiple of 4. */
uint64_t device_hash(const void *from, size_t bytes);
/* Reads (and does not write) a buffer several times as large as L2, so that nothing else stays there. */
void device_flush(void *stream);

/* Points in a stream, and the milliseconds between two of them (waits for the second). */
void *device_event_new(void);
void device_event_free(void *event);
void device_event_record(void *event, void *stream);
double device_event_ms(void *from, void *to);

/* Launches between begin and end become a graph instead of running; NULL where that failed. */
bool device_capture_begin(void *stream);
void *device_capture_end(void *stream);
void device_replay(void *graph, void *stream);
void device_capture_free(void *graph);

/* Elements of a product of matrices on tensor cores that are wrong, or not where PTX ISA has them. */
int device_multiplies_wrong(void);

/* Occupies all multiprocessors but `leave` with blocks that spin until told to stop; true once all of them
 * run. */
bool device_spin_start(int leave);
void device_spin_stop(void);

#ifdef __cplusplus
}
#endif

#endif
