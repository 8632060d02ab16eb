/* SPDX-License-Identifier: MIT */
/* cgtp_tune_device.h - what cgtp_tune.c needs of a device beside its memory. C11 and C++. */
#ifndef CGTP_TUNE_DEVICE_H
#define CGTP_TUNE_DEVICE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the device is called. */
void cgtp_tune_device_name(char *name, size_t size);

/* Waits for what was launched. Why it failed, or NULL. */
const char *cgtp_tune_wait(void);

/* Empties the caches, by reading. */
void cgtp_tune_flush(void);

/* What is launched between the two is timed, in milliseconds. The second waits. */
void cgtp_tune_begin(void);
double cgtp_tune_end(void);

#ifdef __cplusplus
}
#endif

#endif
