/* tiled_path.h - tiled items: a path while its part of a group is written: its operands, the registers that
 * they stand in, and where they are in the lane's rows.
 */
#ifndef CGTPGEN_TILED_PATH_H
#define CGTPGEN_TILED_PATH_H

#include "schedule/tiled/tiled_emit.h"

/* A path while its part of a group is written. */
struct tiled_path {
    struct tiled_writer *c;
    const struct tiled_group *group;
    const struct path_plan *e;
    const struct path *path;
    const struct variant *v;
    int d; /* components of z */
};

/* Path `number`, of the group. */
struct tiled_path tiled_path_of(struct tiled_writer *c, const struct tiled_group *group, int number);

/* Operands of the demand: inputs of the kernel, and its outputs. */
int tiled_operands(const struct tiled_writer *c);

/* One of them; NULL: an input that is not read. */
const struct operand *tiled_operand_at(const struct tiled_writer *c, int i);

/* The number among them of a kernel's output. */
int tiled_operand_of(const struct tiled_writer *c, int output);

/* In which the path has it. */
enum role tiled_role_of(const struct tiled_path *q, const struct operand *operand);

/* "x_p3": registers of a path */
const char *tiled_registers(const struct tiled_path *q, const char *name);

/* The same from channel j of those that are worked on together. */
const char *tiled_of_channel(const struct tiled_path *q, const char *name, int components);

/* Is the channel of A in a loop of its own? */
bool tiled_has_own_a(const struct tiled_path *q);

/* Turns of its loop over channels of B. */
int tiled_turns_b(const struct tiled_path *q);

/* Does a turn have all channels of z of a path that it leads to? */
bool tiled_has_one_turn(const struct tiled_group *group, const struct path *p);

/* Do the rows of weights of its channels follow each other, where a turn has whole rows? */
bool tiled_is_block(const struct tiled_path *q);

/* Elements that an address is a multiple of, where it moves on by so many channels. */
int tiled_alignment(const struct tiled_path *q, const struct operand *operand, const struct operand_block *b,
                    enum role role, int channels);

/* Loads or stores some channels of an operand: registers `name`, from channel `variable` on where that is
 * any. */
void tiled_move(const struct tiled_path *q, const struct operand *operand, int channels, const char *name,
                const char *variable, bool load);

/* Declares registers for some channels of an operand, with what is there: zeros, where nobody has added to
 * them. */
void tiled_begin(const struct tiled_path *q, const struct operand *operand, int channels, const char *name,
                 const char *variable);

/* Where the path's weights begin, in a row, that the channels in the loops have. */
const char *tiled_weights_at(const struct tiled_path *q, const char *row, const struct operand *operand);

/* The same for channel j of those that are worked on together. */
const char *tiled_weights_of_channel(const struct tiled_path *q, const struct operand *operand);

/* Its block of the path, as it stands in shared memory. */
struct operand_block tiled_block_of(const struct tiled_path *q, const struct operand *operand);

#endif
