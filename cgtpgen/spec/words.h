/* words.h - what a spec chooses by a word: one table each, read by the spec's reader and by all that print.
 */
#ifndef CGTPGEN_WORDS_H
#define CGTPGEN_WORDS_H

/* The operands of Q(x, y, w, g): the output z and its cotangent share slot G. */
enum slot { SLOT_X, SLOT_Y, SLOT_W, SLOT_G, SLOT_COUNT };

extern const char *const slot_name[SLOT_COUNT]; /* x y w z: as arrays are called */
extern const char slot_letters[SLOT_COUNT + 1]; /* xywg: as arguments of Q are called */

/* Which row of an array an item reads or adds to. */
enum index_kind { INDEX_ITEM, INDEX_SENDER, INDEX_RECEIVER, INDEX_SHARED, INDEX_COUNT };

extern const char *const index_name[INDEX_COUNT]; /* item sender receiver shared */

/* How a segment of a row of x, y or z is stored, channels u and components i: e3nn's order (u, i), or (i, u).
 */
enum row_layout { LAYOUT_MUL_IR, LAYOUT_IR_MUL, LAYOUT_COUNT };

extern const char *const layout_name[LAYOUT_COUNT]; /* mul_ir ir_mul */

/* How far a row of an array is from the next: as long as it is; or as far as the caller says. */
enum row_stride { ROWS_DENSE, ROWS_STRIDED, ROW_STRIDES };

extern const char *const row_stride_name[ROW_STRIDES]; /* dense strided */

enum irrep_normalization { IRREP_COMPONENT, IRREP_NORM, IRREP_NONE, IRREP_NORMALIZATIONS };
enum path_normalization { PATH_ELEMENT, PATH_PATH, PATH_NONE, PATH_NORMALIZATIONS };

extern const char *const irrep_normalization_name[IRREP_NORMALIZATIONS];
extern const char *const path_normalization_name[PATH_NORMALIZATIONS];

/* How rows of nodes are summed: in any order; in one that the graph decides; in one that the node's edges
 * decide. */
enum reduction { REDUCTION_ATOMIC, REDUCTION_DETERMINISTIC, REDUCTION_INVARIANT, REDUCTION_COUNT };

extern const char *const reduction_name[REDUCTION_COUNT]; /* atomic deterministic invariant */

/* The keys with two words; [0] where the field of struct spec is false. */
extern const char *const edges_name[2];      /* any sorted */
extern const char *const accumulate_name[2]; /* plain compensated */
extern const char *const index_type_name[2]; /* int32 int64 */

#endif
