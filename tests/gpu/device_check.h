/* device_check.h - what only a device can show: see device_check.c. */
#ifndef TEST_GPU_DEVICE_CHECK_H
#define TEST_GPU_DEVICE_CHECK_H

#include "sample.h"
#include "table.h"

/* One line of TAP; what is a sentence after the dash. Counts failures. */
void tap(bool good, const char *format, ...);
void tap_skip(const char *reason, const char *format, ...);
/* A comment. */
void note(const char *format, ...);

/* Is the sample of the launch's outputs right? Notes what is not. `about`: when it was looked at. */
bool outputs_right(const struct model *, const struct launch *, const char *about);

/* Offsets past 2^31 elements, of one product. */
void check_large(const struct table_entry *);
/* Graphs prepared on the device against cgtp_graph_index and cgtp_graph_check. */
void check_graphs(void);

#endif
