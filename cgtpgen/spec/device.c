/* device.c - see device.h. */
#include "spec/device.h"

#include <string.h>

#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))
#define KIB(n) ((n) << 10)

const char *const knob_name[KNOB_COUNT] = {
    [KNOB_CHANNELS] = "channels",     [KNOB_STAGES] = "stages",     [KNOB_WARPS] = "warps",
    [KNOB_PATHS] = "paths",           [KNOB_PASSES] = "passes",     [KNOB_PHASES] = "phases",
    [KNOB_PARTS] = "parts",           [KNOB_CODE] = "code",         [KNOB_SHARE] = "share",
    [KNOB_TABLE] = "table",           [KNOB_TOGETHER] = "together", [KNOB_KEEP] = "keep",
    [KNOB_EVALUATION] = "evaluation",
};

/* What docs/spec.md says of them. */
static const struct knob_range cuda_knobs[] = {
    {KNOB_CHANNELS, 1, 4, DOUBLES}, {KNOB_STAGES, 2, 8, 1},     {KNOB_WARPS, 8, 16, 4},
    {KNOB_PATHS, 1, 1 << 16, 1},    {KNOB_PASSES, 1, 2, 1},     {KNOB_PHASES, 1, 64, 1},
    {KNOB_PARTS, 1, 64, 1},         {KNOB_CODE, 1, 1 << 10, 1}, {KNOB_SHARE, 1, 3, 1},
    {KNOB_TABLE, 1, 2, 1},          {KNOB_TOGETHER, 1, 2, 1},   {KNOB_KEEP, 1, 2, 1},
    {KNOB_EVALUATION, 0, 0, 0},
};

/* Measured on an H200, and taken for all, as is code_bytes. */
static const struct occupancy cuda_occupancy[] = {{16, 1.16}, {12, 1.16}, {8, 1.0}};

#define CUDA_OF_ALL                                                                                          \
    .backend = "cuda", .lanes = 32, .registers = 1 << 16, .registers_most = 255, .code_bytes = KIB(128),     \
    .loop_bytes = KIB(24), .occupancies = LENGTH(cuda_occupancy), .occupancy = cuda_occupancy,               \
    .knobs = LENGTH(cuda_knobs), .knob = cuda_knobs
#define SINCE_HOPPER (FEATURE_BULK_COPY | FEATURE_EARLY_LAUNCH | FEATURE_VECTOR_ATOMICS)
/* Fitted to ptxas 13.0 and the published kernels: with 8 double backward of SevenNet's spills. */
#define SPARE 16

/* Sources: the CUDA C++ programming guide's tables of compute capabilities (shared memory, registers) and of
 * arithmetic throughput (multiply-adds), PTX ISA (features); the makers' data sheets (machines). */
const struct device device_table[] = {
    {"sm_80", .shared_bytes = KIB(163), .fma = {64, 32}, .machine = {"A100 SXM", 108, 1410, 2.039e12},
     CUDA_OF_ALL},
    {"sm_86", .shared_bytes = KIB(99), .fma = {128, 2}, .machine = {"A40", 84, 1740, 0.696e12},
     .registers_spare = SPARE, CUDA_OF_ALL},
    {"sm_89", .shared_bytes = KIB(99), .fma = {128, 2}, .machine = {"L40S", 142, 2520, 0.864e12},
     .registers_spare = SPARE, CUDA_OF_ALL},
    {"sm_90", .shared_bytes = KIB(227), .fma = {128, 64}, .machine = {"H200 SXM", 132, 1980, 4.8e12},
     .features = SINCE_HOPPER, CUDA_OF_ALL},
    {"sm_100", .shared_bytes = KIB(227), .fma = {128, 64}, .machine = {"B200", 148, 1965, 8e12},
     .features = SINCE_HOPPER, CUDA_OF_ALL},
    {"sm_120", .shared_bytes = KIB(99), .fma = {128, 2}, .machine = {"RTX PRO 6000", 188, 2617, 1.792e12},
     .features = SINCE_HOPPER, CUDA_OF_ALL},
    {"c", .backend = "c", .lanes = 1},
};
const int device_count = LENGTH(device_table);

double device_fma_rate(const struct device *d, enum precision p)
{
    return 1e6 * d->machine.mhz * d->machine.multiprocessors * d->fma[p];
}

const struct device *device_named(const char *name)
{
    for (int i = 0; i < device_count; i++)
        if (strcmp(device_table[i].name, name) == 0)
            return &device_table[i];
    return NULL;
}

const char **device_names(struct arena *a)
{
    const char **names = NEW_ARRAY(a, const char *, device_count);
    for (int i = 0; i < device_count; i++)
        names[i] = device_table[i].name;
    return names;
}

bool knob_allows(const struct knob_range *range, long long value)
{
    bool stands = range->step && value >= range->least && value <= range->most;
    if (range->step != DOUBLES)
        return stands && (value - range->least) % range->step == 0;
    for (; stands && value > range->least; value /= 2)
        stands = value % 2 == 0;
    return stands;
}

int device_registers(const struct device *d, int warps)
{
    enum { GRANULE = 8 }; /* registers are given out to threads in eights */
    int share = d->registers / (warps * d->lanes) / GRANULE * GRANULE;
    return share < d->registers_most ? share : d->registers_most;
}
