/* docs_fragment.h - what fragments of the documentation take as given: the names around a call. */
#include "cgtp_device.h"
#include "mace_large.h"

#ifdef __cplusplus
#include <vector>
#endif
#include <stdio.h>
#include <stdlib.h>

extern int64_t edges, atoms;
extern int32_t *sender, *receiver, *by_sender;
extern int64_t *receiver_row, *sender_row;
extern cgtp_graph graph;
extern cgtp_status status;
extern float *x, *y, *w, *z, *gx, *gy, *gw, *gz;
extern void *workspace;
extern size_t bytes;
extern cgtp_stream stream;
