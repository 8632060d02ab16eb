/* staged_path.h - staged items: what the files that write passes share.
 */
#ifndef CGTPGEN_STAGED_PATH_H
#define CGTPGEN_STAGED_PATH_H

#include "schedule/staged/staged_emit.h"

/* A path while its part of a pass is written. */
struct staged_path {
    struct staged_writer *c;
    const struct staged_part *part;
    const struct staged_piece *piece;
    const struct path *path;
    const struct variant *v;
    int d, m;     /* components and channels of z */
    int rows;     /* of weights, of each channel of x */
    int channels; /* of x, of a lane */
};

struct staged_path staged_path_of(struct staged_writer *, const struct staged_part *, int piece);

/* The path's function: of T, or of what comes from P; of all of it, where weights do not connect channels. */
struct device_path staged_path_function(const struct staged_path *, bool tensor);
void staged_path_comment(const struct staged_path *);

/* v channels of an operand with d components each, from channel `channel` (a C expression) of the block on,
 * into an array or from there. */
void staged_load(const struct staged_writer *, int v, int d, const char *registers, const char *row,
                 const struct operand_block *, const char *channel);
void staged_store(const struct staged_writer *, int v, int d, const char *row, const struct operand_block *,
                  const char *channel, const char *registers);

/* "own.out.t0p3 + 48": the path's vector, from a channel on. The piece's weights in a row or part of one. */
const char *staged_tensor_from(const struct staged_path *, int t, int channel);
/* The same of the lane's channel, and that of y where there are several. */
const char *staged_tensor_at(const struct staged_path *, int t);
const char *staged_weights_in(const struct staged_path *, const char *row);

/* "u", from the piece's first channel on; "(u * 3 + v)": the row of weights or T of the lane's channel of x,
 * and of that of y where this has several. */
const char *staged_row_number(const struct staged_path *, int from);

/* The weight of the lane's channel of x and one of y in a row, where there is but one. */
const char *staged_weight(const struct staged_path *, const char *row);

/* "x_s0", or of channel k of several of a lane "x_s0 + k * 3". */
const char *staged_own_channel(const struct staged_path *, const char *name, int components);

/* A row, or a place in it, of two alike segments: those of the second one are so much further on than those
 * of the first. */
const char *staged_either(const struct staged_writer *, const char *row, int64_t first, int64_t second);
const char *staged_row_of(const struct staged_writer *, const char *row, const struct operand *,
                          const struct path *);

/* "K1_2 * ": what weights and their gradients are multiplied with; "": nothing. */
const char *staged_factor(const struct staged_path *);

/* The lane's channels of all inputs of slot x. */
void staged_load_x(struct staged_writer *, const struct staged_pass *);

/* Begins the loop over channels of y, where the path takes them one by one: one of each input, and zeros to
 * sum gradients of it; and ends it: what has been summed is added to the lane's sums. */
void staged_open_ys(const struct staged_path *, bool sums);
void staged_close_ys(const struct staged_path *, bool sums);

/* Arrays of T or P; T of the lane's channel. */
void staged_declare(const struct staged_path *, const char *kind, int n, bool zero);
void staged_make_tensors(const struct staged_path *);

/* The lane's channels of the outputs of a slot that a pass makes: from zero on, or what parts or items before
 * have made; and when they are complete. */
void staged_begin_outputs(struct staged_writer *, const struct staged_pass *, enum slot, int components,
                          const char *channel);
void staged_end_outputs(struct staged_writer *, const struct staged_pass *, enum slot, int components,
                        const char *channel);

/* "const int u = lane + 32;", of pass number `i` of several alike "lane + 32 + i * 32"; begins what only
 * lanes with channels do. And ends it. */
void staged_open_channels(struct staged_writer *, const struct staged_pass *, const char *name);
void staged_close_channels(struct staged_writer *, const struct staged_pass *);

/* The pass by rows. */
void staged_row(struct staged_writer *, const struct staged_part *, const struct staged_pass *);

#endif
