/* spec.c - the keys of a spec: the YAML tree becomes struct spec. See docs/spec.md for what they mean.
 *
 * Everything wrong is reported, in file order; kernels are read by kernels.c.
 */
#include "spec/spec.h"
#include "spec/field.h"
#include "spec/kernels.h"
#include "spec/mend.h"
#include "spec/names.h"
#include "spec/segments.h"
#include "spec/tune.h"

#include <limits.h>
#include <string.h>

enum key {
    KEY_CGTP,
    KEY_NAME,
    KEY_DESCRIPTION,
    KEY_IRREPS,
    KEY_INSTRUCTIONS,
    KEY_ORDER,
    KEY_NORMALIZATION,
    KEY_VARIANCE,
    KEY_UNUSED,
    KEY_INDEX,
    KEY_EDGES,
    KEY_REDUCTION,
    KEY_ACCUMULATE,
    KEY_INDEX_TYPE,
    KEY_PRECISION,
    KEY_LAYOUT,
    KEY_ROWS,
    KEY_KERNELS,
    KEY_TUNE,
    KEYS
};

static const char *const key_name[KEYS] = {
    "cgtp",      "name",   "description", "irreps",  "instructions", "order",      "normalization",
    "variance",  "unused", "index",       "edges",   "reduction",    "accumulate", "index_type",
    "precision", "layout", "rows",        "kernels", "tune",
};

static const char *const sugar_name[] = {"channelwise", "fully_connected", "elementwise", "full"};
enum { SUGARS = sizeof sugar_name / sizeof *sugar_name };

static void read_version(struct reader *r, const struct node *node)
{
    int64_t version;
    if (!field_integer(r, node, "the schema version, 1", INT64_MIN, INT64_MAX, &version))
        return;
    if (version != 1)
        diag_report(r->diag, DIAG_VERSION, node->pos, "schema version %lld is unknown; this version reads 1",
                    (long long)version);
}

static void read_description(struct reader *r, const struct node *node, struct spec *spec)
{
    if (node->kind != NODE_SCALAR || (!node->quoted && !*node->text)) {
        field_expected(r, node, "a text");
        return;
    }
    size_t n = strlen(node->text);
    while (n > 0 && node->text[n - 1] == '\n') /* a block scalar ends with one */
        n--;
    spec->description = arena_string(r->arena, node->text, n);
}

static void read_irreps(struct reader *r, const struct node *node, struct irreps *irreps, struct pos *pos)
{
    struct irreps_error error;
    *pos = node->pos;
    if (node->kind != NODE_SCALAR || (!node->quoted && !*node->text))
        field_expected(r, node, "irreps such as 128x0e+64x1o (\"\" for none)");
    else if (!irreps_parse(r->arena, node->text, irreps, &error))
        diag_report(r->diag, error.too_large ? DIAG_LIMIT : DIAG_IRREPS_SYNTAX,
                    node_pos_at(r->diag, node, error.at, error.width), "%s", error.message);
}

static void read_all_irreps(struct reader *r, const struct entry *entry, struct spec *spec)
{
    static const char *const keys[] = {"x", "y", "z"};
    static const enum slot slot[] = {SLOT_X, SLOT_Y, SLOT_G};
    const struct entry *found[3];
    if (!field_mapping(r, entry->value, "a mapping {x: ..., y: ..., z: ...}", keys, 3, found))
        return;
    for (int i = 0; i < 2; i++)
        if (!found[i])
            diag_report(r->diag, DIAG_MISSING_KEY, entry->key->pos, "the irreps of %s are missing", keys[i]);
    for (int i = 0; i < 3; i++)
        spec->irreps_node[slot[i]] = found[i] ? found[i]->value : NULL;
    if (found[0])
        read_irreps(r, found[0]->value, &spec->x, &spec->x_pos);
    if (found[1])
        read_irreps(r, found[1]->value, &spec->y, &spec->y_pos);
    spec->has_z = found[2] != NULL;
    if (found[2])
        read_irreps(r, found[2]->value, &spec->z, &spec->z_pos);
}

/* [i_x, i_y, i_z, mode, weighted, path_weight] */
static void read_instruction(struct reader *r, const struct node *node, struct spec_instruction *out)
{
    static const char *const form =
        "[i_x, i_y, i_z, mode, weighted, path_weight] (the last two may be left out)";
    static const char *const what[] = {"the number of a segment of x", "the number of a segment of y",
                                       "the number of a segment of z"};
    struct rat one = rat_make(r->arena, 1, 1);
    *out = (struct spec_instruction){.weighted = true, .path_weight = one, .pos = node->pos};
    if (!field_list(r, node, form))
        return;
    if (node->n < 4 || node->n > 6) {
        diag_report(r->diag, DIAG_INSTRUCTION_SYNTAX, node->n > 6 ? node->child[6]->pos : node->pos,
                    "expected %s, found %d element%s", form, node->n, node->n == 1 ? "" : "s");
        return;
    }
    struct pos pos[6];
    int64_t segment[3] = {0};
    for (int i = 0; i < 6; i++)
        pos[i] = i < node->n ? node->child[i]->pos : node->pos;
    for (int i = 0; i < 3; i++)
        field_integer(r, node->child[i], what[i], 0, INT_MAX, &segment[i]);
    out->x = (int)segment[0];
    out->y = (int)segment[1];
    out->z = (int)segment[2];
    const char *modes[MODE_COUNT];
    for (int i = 0; i < MODE_COUNT; i++)
        modes[i] = mode_table[i].name;
    out->mode = (enum mode)field_word(r, node->child[3], modes, MODE_COUNT, MODE_UVW);
    if (node->n > 4)
        field_boolean(r, node->child[4], &out->weighted);
    if (node->n > 5)
        field_number(r, node->child[5], "a path weight such as 0.5", &out->path_weight);
    out->x_pos = pos[0];
    out->y_pos = pos[1];
    out->z_pos = pos[2];
    out->mode_pos = pos[3];
    out->weighted_pos = pos[4];
    out->path_weight_pos = pos[5];
}

/* Python writes an instruction as (0, 0, 0, "uvu", True), of which YAML makes scalars up to "True)": says how
 * it is written here. One error is enough for a whole list of them. */
static bool refuse_tuples(struct reader *r, const struct node *list)
{
    enum { SHOWN = 60 };
    int first = 0, last;
    while (first < list->n && !field_begins_with(list->child[first], '('))
        first++;
    if (first == list->n)
        return false;
    for (last = first; last < list->n && !field_ends_with(list->child[last], ')'); last++)
        if (list->child[last]->kind != NODE_SCALAR)
            break;
    last -= last == list->n || list->child[last]->kind != NODE_SCALAR;
    const struct node *tuple = node_join(r->arena, r->diag, list, first, last);
    const char *inside = tuple->text + 1;
    struct text meant = {.arena = r->arena};
    for (size_t n; inside[n = strcspn(inside, "TF\n)")] && inside[n] != '\n' && inside[n] != ')';
         inside += n + 1) {
        text_put(&meant, inside, n);
        text_put(&meant, inside[n] == 'T' ? "t" : "f", 1);
    }
    text_put(&meant, inside, strcspn(inside, "\n)"));
    bool cut = meant.n > SHOWN; /* its bracket is not closed */
    diag_report(r->diag, DIAG_INSTRUCTION_SYNTAX, tuple->pos,
                "an instruction stands in square brackets, with true and false in small letters: [%.*s%s]",
                cut ? SHOWN : (int)meant.n, text_string(&meant), cut ? "..." : "");
    return true;
}

static void read_instructions(struct reader *r, const struct node *node, struct spec *spec)
{
    spec->instructions_pos = spec->sugar_pos = node->pos;
    if (node->kind == NODE_LIST && refuse_tuples(r, node))
        return;
    if (node->kind == NODE_LIST) {
        spec->instruction = NEW_ARRAY(r->arena, struct spec_instruction, node->n + 1);
        for (int i = 0; i < node->n; i++)
            read_instruction(r, node->child[i], &spec->instruction[spec->instructions++]);
        return;
    }
    const char *what = arena_printf(r->arena, "a list of instructions, or %s",
                                    field_alternatives(r->arena, sugar_name, SUGARS));
    if (node->kind != NODE_SCALAR || (!node->quoted && !*node->text)) {
        field_expected(r, node, what);
        return;
    }
    for (int i = 0; i < SUGARS; i++)
        if (strcmp(node->text, sugar_name[i]) == 0)
            spec->sugar = (enum sugar)(SUGAR_CHANNELWISE + i);
    if (spec->sugar == SUGAR_NONE)
        field_unknown_word(r, node, what, sugar_name, SUGARS);
}

static void read_normalization(struct reader *r, const struct node *node, struct spec *spec)
{
    static const char *const keys[] = {"irrep", "path"};
    const struct entry *found[2];
    if (!field_mapping(r, node, "a mapping {irrep: component, path: element}", keys, 2, found))
        return;
    if (found[0])
        spec->irrep_normalization = (enum irrep_normalization)field_word(
            r, found[0]->value, irrep_normalization_name, IRREP_NORMALIZATIONS, IRREP_COMPONENT);
    if (found[1])
        spec->path_normalization = (enum path_normalization)field_word(
            r, found[1]->value, path_normalization_name, PATH_NORMALIZATIONS, PATH_ELEMENT);
}

/* False when it is wrong, so that nothing is concluded from it. */
static bool read_index(struct reader *r, const struct node *node, struct spec *spec)
{
    int errors = r->diag->errors;
    const struct entry *found[SLOT_COUNT];
    if (!field_mapping(r, node, "a mapping {x: item, y: item, w: item, z: item}", slot_name, SLOT_COUNT,
                       found))
        return false;
    for (int s = 0; s < SLOT_COUNT; s++)
        if (found[s]) {
            spec->index[s] =
                (enum index_kind)field_word(r, found[s]->value, index_name, INDEX_COUNT, INDEX_ITEM);
            spec->index_pos[s] = found[s]->value->pos;
        }
    return r->diag->errors == errors && node->kind == NODE_MAPPING;
}

/* What the word for all arrays says of arithmetic. */
static enum precision arithmetic_of(enum precision storage)
{
    return storage == PRECISION_FLOAT64 ? PRECISION_FLOAT64 : PRECISION_FLOAT32;
}

static void set_precision(struct spec *spec, enum precision storage)
{
    for (int s = 0; s < SLOT_COUNT; s++)
        spec->storage[s] = storage;
    spec->compute = spec->sum = arithmetic_of(storage);
}

/* One word for everything, or one each for the arrays of an operand, for arithmetic and for sums. */
static void read_precision(struct reader *r, const struct node *node, struct spec *spec)
{
    enum { COMPUTE = SLOT_COUNT, SUM, ENTRIES };
    static const char *const keys[ENTRIES] = {"x", "y", "w", "z", "compute", "sum"};
    const char *words[PRECISION_COUNT];
    const struct entry *found[ENTRIES];
    spec->precision_pos = node->pos;
    for (int i = 0; i < PRECISION_COUNT; i++)
        words[i] = precision_table[i].name;
    if (node->kind != NODE_MAPPING) {
        set_precision(spec, (enum precision)field_word(r, node, words, PRECISION_COUNT, PRECISION_FLOAT32));
        return;
    }
    field_mapping(r, node, "", keys, ENTRIES, found);
    for (int s = 0; s < SLOT_COUNT; s++) {
        if (found[s])
            spec->storage[s] =
                (enum precision)field_word(r, found[s]->value, words, PRECISION_COUNT, PRECISION_FLOAT32);
        if (spec->storage[s] == PRECISION_FLOAT64)
            spec->compute = PRECISION_FLOAT64;
    }
    if (found[COMPUTE])
        spec->compute = (enum precision)field_word(r, found[COMPUTE]->value, words, PRECISION_ARITHMETIC,
                                                   PRECISION_FLOAT32);
    spec->sum = spec->compute;
    if (found[SUM])
        spec->sum =
            (enum precision)field_word(r, found[SUM]->value, words, PRECISION_ARITHMETIC, (int)spec->sum);
    if (precision_table[spec->sum].bytes < precision_table[spec->compute].bytes)
        diag_report(r->diag, DIAG_PRECISION, found[SUM]->value->pos,
                    "sums in float32 would lose what is computed in float64");
}

const char *spec_precision(struct arena *a, const struct spec *s)
{
    bool word = s->compute == arithmetic_of(s->storage[0]) && s->sum == s->compute;
    struct text t = {.arena = a};
    for (int i = 0; i < SLOT_COUNT; i++) {
        word &= s->storage[i] == s->storage[0];
        text_printf(&t, "%s%s: %s", i ? ", " : "{", slot_name[i], precision_table[s->storage[i]].name);
    }
    text_printf(&t, ", compute: %s, sum: %s}", precision_table[s->compute].name,
                precision_table[s->sum].name);
    return word ? precision_table[s->storage[0]].name : text_string(&t);
}

/* One word for all rows, or one for those of each operand. */
static void read_layout(struct reader *r, const struct node *node, struct spec *spec)
{
    static const char *const keys[] = {"x", "y", "z"};
    static const enum slot slot[] = {SLOT_X, SLOT_Y, SLOT_G};
    const struct entry *found[3];
    if (node->kind == NODE_SCALAR) {
        int layout = field_word(r, node, layout_name, LAYOUT_COUNT, LAYOUT_MUL_IR);
        for (int i = 0; i < 3; i++)
            spec->layout[slot[i]] = (enum row_layout)layout;
        return;
    }
    if (!field_mapping(r, node, "mul_ir, ir_mul or a mapping {x: ir_mul, y: mul_ir, z: ir_mul}", keys, 3,
                       found))
        return;
    for (int i = 0; i < 3; i++)
        if (found[i])
            spec->layout[slot[i]] =
                (enum row_layout)field_word(r, found[i]->value, layout_name, LAYOUT_COUNT, LAYOUT_MUL_IR);
}

/* One word for all arrays that have more than one row, or one for those of each operand. */
static void read_rows(struct reader *r, const struct node *node, struct spec *spec)
{
    const struct entry *found[SLOT_COUNT];
    if (node->kind == NODE_SCALAR) {
        const int rows = field_word(r, node, row_stride_name, ROW_STRIDES, ROWS_DENSE);
        for (int s = 0; s < SLOT_COUNT; s++)
            spec->rows[s] = (enum row_stride)rows;
        return;
    }
    if (!field_mapping(r, node, "dense, strided or a mapping {x: strided, y: dense, w: dense, z: strided}",
                       slot_name, SLOT_COUNT, found))
        return;
    for (int s = 0; s < SLOT_COUNT; s++)
        if (found[s]) {
            spec->rows_pos[s] = found[s]->value->pos;
            spec->rows[s] =
                (enum row_stride)field_word(r, found[s]->value, row_stride_name, ROW_STRIDES, ROWS_DENSE);
        }
}

/* Strides of arrays of one row say nothing. */
static void check_rows(struct reader *r, const struct spec *spec)
{
    for (int s = 0; s < SLOT_COUNT; s++)
        if (spec->rows[s] == ROWS_STRIDED && spec->rows_pos[s].line && spec->index[s] == INDEX_SHARED)
            diag_report(r->diag, DIAG_USELESS_KEY, spec->rows_pos[s],
                        "arrays of %s have one row, since its index is 'shared': no stride", slot_name[s]);
}

/* A key whose value is one of two words: is it the second? */
static bool read_choice(struct reader *r, const struct entry *entry, const char *const words[2],
                        bool fallback)
{
    return entry ? field_word(r, entry->value, words, 2, fallback) == 1 : fallback;
}

struct pos spec_segment_pos(const struct spec *spec, const struct diag *diag, enum slot slot, int segment)
{
    const struct node *node = spec->irreps_node[slot];
    const char *s = node ? node->text : "";
    for (int i = 0; i < segment && s; i++) /* terms have a plus sign between them and none inside */
        s = (s = strchr(s, '+')) ? s + 1 : NULL;
    if (!node || !s || segment < 0)
        return slot == SLOT_X ? spec->x_pos : slot == SLOT_Y ? spec->y_pos : spec->z_pos;
    s += strspn(s, " \t\r\n");
    size_t width = strcspn(s, "+");
    while (width > 0 && strchr(" \t\r\n", s[width - 1]))
        width--;
    return node_pos_at(diag, node, (int)(s - node->text), (int)width);
}

bool spec_is_graph(const struct spec *spec)
{
    for (int s = 0; s < SLOT_COUNT; s++)
        if (spec->index[s] == INDEX_SENDER || spec->index[s] == INDEX_RECEIVER)
            return true;
    return false;
}

bool spec_orders(const struct spec *spec)
{
    return spec_is_graph(spec) && !spec->sorted;
}

bool spec_has_e3nn_layout(const struct spec *s)
{
    return s->layout[SLOT_X] == LAYOUT_MUL_IR && s->layout[SLOT_Y] == LAYOUT_MUL_IR &&
           s->layout[SLOT_G] == LAYOUT_MUL_IR;
}

bool spec_is_strided(const struct spec *s, enum slot slot)
{
    return s->rows[slot] == ROWS_STRIDED && s->index[slot] != INDEX_SHARED;
}

bool spec_has_strides(const struct spec *s)
{
    bool any = false;
    for (int slot = 0; slot < SLOT_COUNT; slot++)
        any |= spec_is_strided(s, (enum slot)slot);
    return any;
}

const char *spec_rows(struct arena *a, const struct spec *s)
{
    struct text t = {.arena = a};
    for (int i = 0; i < SLOT_COUNT; i++)
        text_printf(&t, "%s%s %s", i ? ", " : "", slot_name[i],
                    row_stride_name[spec_is_strided(s, (enum slot)i)]);
    return text_string(&t);
}

/* What the form of the instructions needs, and what it leaves no use for. */
static void check_instruction_keys(struct reader *r, const struct entry *const found[KEYS],
                                   const struct spec *spec)
{
    const struct entry *instructions = found[KEY_INSTRUCTIONS], *irreps = found[KEY_IRREPS];
    bool listed = instructions && instructions->value->kind == NODE_LIST;
    if (irreps && irreps->value->kind == NODE_MAPPING && !spec->has_z &&
        (listed || spec->sugar == SUGAR_FULLY_CONNECTED)) {
        diag_report(r->diag, DIAG_MISSING_KEY, irreps->key->pos, "the irreps of z are missing");
        diag_note(r->diag, instructions->value->pos, "%s needs them",
                  listed ? "a list of instructions" : "fully_connected");
    }
    if (found[KEY_ORDER] && (listed || spec->sugar > SUGAR_CHANNELWISE)) {
        diag_report(r->diag, DIAG_USELESS_KEY, found[KEY_ORDER]->key->pos,
                    "order is for channelwise instructions");
        diag_note(r->diag, instructions->value->pos, "the instructions are %s",
                  listed ? "a list, which has its own order" : sugar_name[spec->sugar - SUGAR_CHANNELWISE]);
    }
}

/* Keys of graphs, where there is none. */
static void check_graph_keys(struct reader *r, const struct entry *const found[KEYS], const struct spec *spec)
{
    static const enum key graph_keys[] = {KEY_EDGES, KEY_REDUCTION, KEY_INDEX_TYPE, KEY_ACCUMULATE};
    bool graph = spec_is_graph(spec), shared = false;
    for (int s = 0; s < SLOT_COUNT; s++)
        shared |= spec->index[s] == INDEX_SHARED; /* summed over all items: a reduction in a batch too */
    for (int i = 0; i < 4 && !graph; i++) {
        const struct entry *entry = found[graph_keys[i]];
        if (!entry || (graph_keys[i] == KEY_ACCUMULATE && shared))
            continue;
        bool sums = graph_keys[i] == KEY_ACCUMULATE;
        diag_report(r->diag, DIAG_USELESS_KEY, entry->key->pos,
                    "%s is for %s, but no index is sender%s receiver%s", key_name[graph_keys[i]],
                    sums ? "sums over items" : "graphs", sums ? "," : " or", sums ? " or shared" : "");
        if (found[KEY_INDEX])
            diag_note(r->diag, found[KEY_INDEX]->key->pos, "the index is given here");
    }
}

/* Two ways to keep what sums lose. */
static void check_sums(struct reader *r, const struct entry *const found[KEYS], const struct spec *spec)
{
    if (!spec->compensated || spec->sum == spec->compute)
        return;
    diag_report(r->diag, DIAG_PRECISION, found[KEY_ACCUMULATE]->value->pos,
                "sums in a wider type are not compensated");
    diag_note(r->diag, found[KEY_PRECISION]->value->pos, "the type of sums is given here");
}

static const char *const order_name[2] = {"input", "output"};

static void read_name(struct reader *r, const struct node *node, struct spec *spec)
{
    if (!field_name(r, node, "the name of a product"))
        return;
    spec->name = spec->written_name = node->text;
    const char *problem = name_product_problem(spec->name);
    if (problem)
        diag_report(r->diag, DIAG_BAD_NAME, node->pos, "%s cannot be the name of a product: %s",
                    node_shown(r->arena, node), problem);
}

static void read_root(struct reader *r, const struct node *root, struct spec *spec)
{
    static const enum key required[] = {KEY_CGTP, KEY_NAME, KEY_IRREPS, KEY_INSTRUCTIONS};
    const struct entry *found[KEYS];
    if (!field_mapping(r, root, "a mapping that begins with 'cgtp: 1'", key_name, KEYS, found))
        return;
    for (int i = 0; i < 4; i++)
        if (!found[required[i]])
            diag_report(r->diag, DIAG_MISSING_KEY, root->pos, "the key '%s' is missing",
                        key_name[required[i]]);
    if (found[KEY_CGTP])
        read_version(r, found[KEY_CGTP]->value);
    if (found[KEY_NAME])
        read_name(r, found[KEY_NAME]->value, spec);
    if (found[KEY_DESCRIPTION])
        read_description(r, found[KEY_DESCRIPTION]->value, spec);
    if (found[KEY_IRREPS])
        read_all_irreps(r, found[KEY_IRREPS], spec);
    if (found[KEY_INSTRUCTIONS])
        read_instructions(r, found[KEY_INSTRUCTIONS]->value, spec);
    spec->order_output = read_choice(r, found[KEY_ORDER], order_name, true);
    if (found[KEY_NORMALIZATION])
        read_normalization(r, found[KEY_NORMALIZATION]->value, spec);
    if (found[KEY_VARIANCE])
        segments_read_variance(r, found[KEY_VARIANCE]->value, spec);
    if (found[KEY_UNUSED])
        segments_read_unused(r, found[KEY_UNUSED]->value, spec);
    bool index_known = !found[KEY_INDEX] || read_index(r, found[KEY_INDEX]->value, spec);
    spec->sorted = read_choice(r, found[KEY_EDGES], edges_name, true);
    spec->reduction = REDUCTION_DETERMINISTIC;
    if (found[KEY_REDUCTION])
        spec->reduction = (enum reduction)field_word(r, found[KEY_REDUCTION]->value, reduction_name,
                                                     REDUCTION_COUNT, REDUCTION_DETERMINISTIC);
    spec->compensated = read_choice(r, found[KEY_ACCUMULATE], accumulate_name, false);
    spec->index64 = read_choice(r, found[KEY_INDEX_TYPE], index_type_name, false);
    if (found[KEY_PRECISION])
        read_precision(r, found[KEY_PRECISION]->value, spec);
    if (found[KEY_LAYOUT])
        read_layout(r, found[KEY_LAYOUT]->value, spec);
    if (found[KEY_ROWS])
        read_rows(r, found[KEY_ROWS]->value, spec);
    kernels_read(r, found[KEY_KERNELS] ? found[KEY_KERNELS]->value : NULL, spec);
    if (found[KEY_TUNE])
        tune_read(r, found[KEY_TUNE]->value, spec);
    check_instruction_keys(r, found, spec);
    check_sums(r, found, spec);
    if (index_known)
        check_rows(r, spec);
    if (index_known)
        check_graph_keys(r, found, spec);
}

struct spec *spec_read(struct arena *arena, struct diag *diag)
{
    struct reader r = {arena, diag};
    struct spec *spec = NEW(arena, struct spec);
    int errors = diag->errors;
    spec->description = "";
    struct node *root = node_read(arena, diag);
    if (root) {
        mend_tree(arena, diag, root, key_name[KEY_DESCRIPTION]);
        read_root(&r, root, spec);
    }
    diag_sort(diag);
    return diag->errors == errors ? spec : NULL;
}
