/* device.h - the machines that kernels are planned for: one row of device_table each.
 *
 * The command line (--arch), the spec (tune) and the planners read this table and have no list of their own,
 * so that a new architecture is a new row.
 */
#ifndef CGTPGEN_DEVICE_H
#define CGTPGEN_DEVICE_H

#include "spec/precision.h"
#include "util/arena.h"

#include <stdbool.h>

/* What a spec's `tune` can choose instead of the planner. */
enum knob {
    KNOB_CHANNELS,
    KNOB_STAGES,
    KNOB_WARPS,
    KNOB_PATHS,
    KNOB_PASSES,
    KNOB_PHASES,
    KNOB_PARTS,
    KNOB_CODE,
    KNOB_SHARE,
    KNOB_TABLE,
    KNOB_TOGETHER,
    KNOB_KEEP,
    KNOB_EVALUATION,
    KNOB_COUNT
};

extern const char *const knob_name[KNOB_COUNT];

/* A knob that a device takes: least, least + step, .., most; of step DOUBLES, least, twice that, .., most; of
 * step 0, a word: the name of an evaluation. */
enum { DOUBLES = -1 };
struct knob_range {
    enum knob knob;
    int least, most, step;
};

/* A number of warps per multiprocessor that is of use, and how fast instructions are then issued, in units of
 * the rate at 8 warps. */
struct occupancy {
    int warps;
    double issue;
};

/* A product of the architecture and its rates, for reports: nothing is planned by them. */
struct machine {
    const char *name; /* NULL: none */
    int multiprocessors, mhz;
    double bytes; /* of its memory, a second */
};

/* What only some architectures can do; bits of device.features. */
enum {
    FEATURE_BULK_COPY = 1,     /* copies of any length by one thread, counted by barriers in shared memory */
    FEATURE_EARLY_LAUNCH = 2,  /* a kernel's blocks begin while the kernel before still runs */
    FEATURE_VECTOR_ATOMICS = 4 /* atomic additions of 16 bytes to global memory */
};

struct device {
    const char *name;    /* in --arch and tune */
    const char *backend; /* the backend that plans for it, by its name */
    int lanes;           /* threads that issue together; 1: no such thing */
    int registers;       /* of a multiprocessor, 32 bits each */
    int registers_most;  /* of a thread */
    int registers_spare; /* that ptxas takes beyond what it takes of the same text on sm_90 */
    int shared_bytes; /* most that a block can have. Blocks of a multiprocessor together have 1 KiB more, and
                         each takes 1 KiB more than it asks for */
    int code_bytes; /* of a loop whose instructions are not waited for; beyond, they come from L2 each time */
    int loop_bytes; /* of a loop that a multiprocessor executes at full rate: what its nearer caches hold */
    unsigned features;
    int fma[PRECISION_ARITHMETIC]; /* multiply-adds per clock and multiprocessor */
    struct machine machine;
    int occupancies; /* most warps first */
    const struct occupancy *occupancy;
    int knobs;
    const struct knob_range *knob;
};

extern const struct device device_table[];
extern const int device_count;

/* Its machine's multiply-adds a second; 0 where there is none. */
double device_fma_rate(const struct device *, enum precision);

/* The device of this name, or NULL. */
const struct device *device_named(const char *name);

/* The names of all devices, in the table's order. */
const char **device_names(struct arena *);

/* Is the value in the range? */
bool knob_allows(const struct knob_range *, long long value);

/* Registers that a thread can have with this many warps on a multiprocessor. */
int device_registers(const struct device *, int warps);

#endif
