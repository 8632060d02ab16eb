/* words.c - see words.h. */
#include "spec/words.h"

const char *const slot_name[SLOT_COUNT] = {"x", "y", "w", "z"};
const char slot_letters[SLOT_COUNT + 1] = "xywg";
const char *const index_name[INDEX_COUNT] = {"item", "sender", "receiver", "shared"};
const char *const layout_name[LAYOUT_COUNT] = {"mul_ir", "ir_mul"};
const char *const row_stride_name[ROW_STRIDES] = {"dense", "strided"};
const char *const irrep_normalization_name[IRREP_NORMALIZATIONS] = {"component", "norm", "none"};
const char *const path_normalization_name[PATH_NORMALIZATIONS] = {"element", "path", "none"};
const char *const edges_name[2] = {"any", "sorted"};
const char *const reduction_name[REDUCTION_COUNT] = {"atomic", "deterministic", "invariant"};
const char *const accumulate_name[2] = {"plain", "compensated"};
const char *const index_type_name[2] = {"int32", "int64"};
