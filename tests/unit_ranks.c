/* unit_ranks.c - runtime/cgtp_ranks.c, what ranks need that have some nodes of a graph each: it is split into
 * interior and other receivers, sliced into parts that have each edge once, in both widths of node index;
 * rows that go between ranks are gathered and added in their order. */
#include "cgtp_ranks.h"
#include "cgtp_types.h"
#include "unit_graphs.h"

/* Every node has its new number once, interior ones first, each kind in its order. */
static void a_split_puts_interior_receivers_first(void **state)
{
    (void)state;
    static const int sizes[][3] = {{0, 0, 0},    {0, 5, 3},  {1, 1, 1},     {31, 12, 7},
                                   {60, 40, 30}, {33, 9, 9}, {200, 40, 39}, {200, 40, 1}};
    for (size_t c = 0; c < sizeof sizes / sizeof *sizes; c++) {
        struct graphs s;
        int32_t number[NODES_MAX];
        int64_t number64[NODES_MAX], interior = -1, interior64 = -1;
        make(&s, sizes[c][0], sizes[c][1], sizes[c][2]);
        for (int e = 0; e + 1 < s.g.items; e++) { /* in any order */
            const int other = e + random_below((int)s.g.items - e), r = s.receiver[e];
            s.receiver[e] = s.receiver[other], s.receiver[other] = r;
        }
        widen(&s);
        assert_int_equal(cgtp_graph_split(&s.g, number, &interior), CGTP_OK);
        assert_int_equal(cgtp_graph64_split(&s.g64, number64, &interior64), CGTP_OK);
        int next[2] = {0, 0}, found[NODES_MAX] = {0};
        for (int e = 0; e < s.g.items; e++)
            found[s.receiver[e]] |= s.sender[e] >= s.g.receivers;
        for (int r = 0; r < s.g.receivers; r++)
            next[1] += !found[r];
        assert_int_equal(interior, next[1]);
        assert_int_equal(interior64, next[1]);
        for (int r = 0; r < s.g.receivers; r++) {
            assert_int_equal(number[r], next[found[r]]);
            assert_int_equal(number64[r], next[found[r]]);
            next[found[r]]++;
        }
    }
}

static void what_cannot_be_split_is_refused(void **state)
{
    (void)state;
    struct graphs s;
    int32_t number[NODES_MAX];
    int64_t number64[NODES_MAX], interior = 7;
    make(&s, 50, 11, 12);
    assert_int_equal(cgtp_graph_split(&s.g, number, &interior), CGTP_BAD_SIZE);
    assert_int_equal(cgtp_graph64_split(&s.g64, number64, &interior), CGTP_BAD_SIZE);
    make(&s, 50, 12, 11);
    s.sender[20] = 12;
    widen(&s);
    assert_int_equal(cgtp_graph_split(&s.g, number, &interior), CGTP_BAD_GRAPH);
    assert_int_equal(cgtp_graph64_split(&s.g64, number64, &interior), CGTP_BAD_GRAPH);
    make(&s, 50, 12, 11);
    assert_int_equal(cgtp_graph_split(&s.g, NULL, &interior), CGTP_NULL_POINTER);
    assert_int_equal(cgtp_graph64_split(&s.g64, number64, NULL), CGTP_NULL_POINTER);
    assert_int_equal(cgtp_graph_split(NULL, number, &interior), CGTP_NULL_POINTER);
    assert_int_equal(cgtp_graph64_split(NULL, number64, &interior), CGTP_NULL_POINTER);
    assert_int_equal(interior, 7);
}

/* What a slice needs room for. */
struct sliced {
    int32_t receiver[EDGES_MAX], by_sender[EDGES_MAX];
    int64_t receiver64[EDGES_MAX], by_sender64[EDGES_MAX], row[2][NODES_MAX + 1], row64[2][NODES_MAX + 1];
    cgtp_graph part;
    cgtp_graph64 part64;
    cgtp_status status, status64;
};

static struct sliced *slice(const struct graphs *s, int first, int last, int senders)
{
    static struct sliced t;
    memset(&t, 0, sizeof t);
    t.status =
        cgtp_graph_slice(&s->g, first, last, senders, &t.part, t.receiver, t.row[0], t.by_sender, t.row[1]);
    t.status64 = cgtp_graph64_slice(&s->g64, first, last, senders, &t.part64, t.receiver64, t.row64[0],
                                    t.by_sender64, t.row64[1]);
    return &t;
}

static void slices_have_each_edge_once(void **state)
{
    (void)state;
    static const int cuts[] = {0, 0, 3, 4, 9, 11, 11};
    struct graphs s;
    int32_t order[EDGES_MAX] = {0};
    int edges = 0;
    make(&s, 150, 14, 11);
    index_both(&s);
    s.g.order = order;
    for (size_t c = 0; c + 1 < sizeof cuts / sizeof *cuts; c++) {
        const struct sliced *t = slice(&s, cuts[c], cuts[c + 1], 14);
        assert_int_equal(t->status, CGTP_OK);
        assert_int_equal(t->status64, CGTP_OK);
        assert_int_equal(t->part.receivers, cuts[c + 1] - cuts[c]);
        assert_int_equal(t->part.senders, 14);
        assert_int_equal(t->part64.items, t->part.items);
        assert_ptr_equal(t->part.order, order + edges);
        assert_null(t->part64.order);
        assert_int_equal(cgtp_graph64_check(&t->part64, 1), CGTP_OK);
        cgtp_graph listed = t->part;
        listed.order = NULL;
        assert_int_equal(cgtp_graph_check(&listed, 1), CGTP_OK);
        for (int e = 0; e < t->part.items; e++, edges++) {
            assert_int_equal(t->part.sender[e], s.sender[edges]);
            assert_int_equal(t->part64.sender[e], s.sender[edges]);
            assert_int_equal(t->part.receiver[e] + cuts[c], s.receiver[edges]);
            assert_int_equal(t->part64.receiver[e] + cuts[c], s.receiver[edges]);
        }
    }
    assert_int_equal(edges, 150);
}

static void a_wrong_slice_is_refused(void **state)
{
    (void)state;
    static const struct {
        int first, last, senders;
        cgtp_status status;
    } wrong[] = {{-1, 4, 12, CGTP_BAD_SIZE}, {5, 4, 12, CGTP_BAD_SIZE}, {0, 12, 12, CGTP_BAD_SIZE},
                 {0, 4, 13, CGTP_BAD_SIZE},  {0, 4, -1, CGTP_BAD_SIZE}, {0, 11, 11, CGTP_BAD_GRAPH},
                 {0, 11, 12, CGTP_OK}};
    struct graphs s;
    make(&s, 150, 12, 11);
    s.sender[70] = 11;
    widen(&s);
    const struct sliced *t = slice(&s, 0, 4, 12);
    assert_int_equal(t->status, CGTP_NOT_INDEXED);
    assert_int_equal(t->status64, CGTP_NOT_INDEXED);
    index_both(&s);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        t = slice(&s, wrong[i].first, wrong[i].last, wrong[i].senders);
        assert_int_equal(t->status, wrong[i].status);
        assert_int_equal(t->status64, wrong[i].status);
        assert_int_equal(t->part.items, wrong[i].status ? 0 : 150);
    }
    struct sliced u;
    assert_int_equal(cgtp_graph_slice(&s.g, 0, 11, 12, &u.part, NULL, u.row[0], u.by_sender, u.row[1]),
                     CGTP_NULL_POINTER);
    assert_int_equal(cgtp_graph_slice(&s.g, 0, 11, 12, NULL, u.receiver, u.row[0], u.by_sender, u.row[1]),
                     CGTP_NULL_POINTER);
    assert_int_equal(
        cgtp_graph64_slice(&s.g64, 0, 11, 12, &u.part64, u.receiver64, NULL, u.by_sender64, u.row64[1]),
        CGTP_NULL_POINTER);
    assert_int_equal(cgtp_graph64_slice(NULL, 0, 0, 0, &u.part64, NULL, u.row64[0], NULL, u.row64[1]),
                     CGTP_NULL_POINTER);
    s.receiver_row[11] = 151;
    assert_int_equal(slice(&s, 0, 11, 12)->status, CGTP_BAD_GRAPH);
}

enum { ROWS = 5, ELEMENTS = 3, ENTRIES = 7 };

/* Rows of floats, or of doubles that floats do not have. */
static void rows_are_gathered_and_added_in_order(void **state)
{
    (void)state;
    static const int32_t row[ENTRIES] = {0, 1, 1, 1, 3, 4, 4}, place[ENTRIES] = {6, 2, 0, 1, 5, 3, 4};
    for (int size = 4; size <= 8; size += 4)
        for (int placed = 0; placed < 2; placed++) {
            _Alignas(16) float a4[ROWS * ELEMENTS], b4[ENTRIES * ELEMENTS];
            _Alignas(16) double a8[ROWS * ELEMENTS], b8[ENTRIES * ELEMENTS], sum[ROWS * ELEMENTS];
            const cgtp_rows rows = {ENTRIES, ELEMENTS, size == 8 ? CGTP_FLOAT64 : CGTP_FLOAT32, row, placed ? place : NULL};
            for (int i = 0; i < ROWS * ELEMENTS; i++) {
                a8[i] = 1e3 + 1.0 / (3 + i);
                a4[i] = (float)a8[i];
            }
            assert_int_equal(
                cgtp_rows_gather(&rows, size == 8 ? (void *)a8 : a4, size == 8 ? (void *)b8 : b4), CGTP_OK);
            for (int i = 0; i < ENTRIES * ELEMENTS; i++) {
                const int at = (placed ? place[i / ELEMENTS] : i / ELEMENTS) * ELEMENTS + i % ELEMENTS;
                const int of = row[i / ELEMENTS] * ELEMENTS + i % ELEMENTS;
                assert_true(size == 8 ? b8[at] == a8[of] : b4[at] == a4[of]);
            }
            for (int i = 0; i < ENTRIES * ELEMENTS; i++) {
                b8[i] = 1.0 / (1 + i) / (i % 2 ? 1e3 : 1e-3);
                b4[i] = (float)b8[i];
            }
            for (int i = 0; i < ROWS * ELEMENTS; i++)
                sum[i] = size == 8 ? a8[i] : a4[i];
            for (int i = 0; i < ENTRIES * ELEMENTS; i++) { /* those of a row in the order of the list */
                const int at = (placed ? place[i / ELEMENTS] : i / ELEMENTS) * ELEMENTS + i % ELEMENTS;
                double *to = &sum[row[i / ELEMENTS] * ELEMENTS + i % ELEMENTS];
                *to = size == 8 ? *to + b8[at] : (double)((float)*to + b4[at]);
            }
            assert_int_equal(cgtp_rows_add(&rows, size == 8 ? (void *)b8 : b4, size == 8 ? (void *)a8 : a4),
                             CGTP_OK);
            for (int i = 0; i < ROWS * ELEMENTS; i++)
                assert_true(size == 8 ? a8[i] == sum[i] : a4[i] == (float)sum[i]);
        }
}

/* Rows of 16 bits: entries of a row that follow each other are added in float32, and rounded once. */
static void rows_of_16_bits(void **state)
{
    (void)state;
    static const int32_t row[4] = {0, 0, 0, 1};
    static const cgtp_type types[] = {CGTP_BFLOAT16, CGTP_FLOAT16};
    for (int t = 0; t < 2; t++) {
        _Alignas(16) uint16_t a[32], b[32], found[32];
        const cgtp_rows rows = {4, 2, types[t], row, NULL};
        const double unit = types[t] == CGTP_BFLOAT16 ? 0x1p-7 : 0x1p-10; /* the last place of numbers from 1 on */
        for (int i = 0; i < 8; i++) {
            cgtp_put_number(a, types[t], i, i < 4 ? 1 : -1);
            cgtp_put_number(b, types[t], i, unit / 2 - (i == 5 ? unit / 8 : 0));
        }
        assert_int_equal(cgtp_rows_add(&rows, b, a), CGTP_OK);
        assert_true(cgtp_get_number(a, types[t], 0) == 1 + 2 * unit); /* three halves: to even */
        assert_true(cgtp_get_number(a, types[t], 1) == 1 + unit);     /* less than that */
        assert_true(cgtp_get_number(a, types[t], 2) == 1);            /* a half: to even */
        assert_true(cgtp_get_number(a, types[t], 4) == -1);           /* no row of the list */
        assert_int_equal(cgtp_rows_gather(&rows, a, found), CGTP_OK);
        for (int i = 0; i < 8; i++)
            assert_int_equal(found[i], a[row[i / 2] * 2 + i % 2]);
    }
}

static void wrong_rows_are_refused(void **state)
{
    (void)state;
    static const int32_t row[2] = {0, 1};
    _Alignas(16) float a[8] = {1, 2, 3, 4}, b[8] = {5};
    const cgtp_rows right = {2, 2, CGTP_FLOAT32, row, NULL};
    const struct {
        int64_t count, elements;
        cgtp_type type;
        const int32_t *row;
        const void *from, *to;
        cgtp_status status;
    } call[] = {{2, 2, CGTP_FLOAT32, row, a, b, CGTP_OK},
                {-1, 2, CGTP_FLOAT32, row, a, b, CGTP_BAD_SIZE},
                {2, -1, CGTP_FLOAT32, row, a, b, CGTP_BAD_SIZE},
                {2, 2, (cgtp_type)4, row, a, b, CGTP_BAD_SIZE},
                {2, INT64_MAX / 4, CGTP_FLOAT64, row, a, b, CGTP_BAD_SIZE},
                {2, 2, CGTP_FLOAT32, NULL, a, b, CGTP_NULL_POINTER},
                {2, 2, CGTP_FLOAT32, row, NULL, b, CGTP_NULL_POINTER},
                {2, 2, CGTP_FLOAT32, row, a, NULL, CGTP_NULL_POINTER},
                {2, 2, CGTP_FLOAT32, row, a + 1, b, CGTP_MISALIGNED},
                {2, 2, CGTP_FLOAT32, row, a, b + 2, CGTP_MISALIGNED},
                {0, 2, CGTP_FLOAT32, NULL, NULL, NULL, CGTP_OK},
                {2, 0, CGTP_FLOAT64, NULL, NULL, NULL, CGTP_OK}};
    for (size_t i = 0; i < sizeof call / sizeof *call; i++) {
        const cgtp_rows rows = {call[i].count, call[i].elements, call[i].type, call[i].row, NULL};
        assert_int_equal(cgtp_rows_add(&rows, call[i].to, (void *)call[i].from), call[i].status);
        assert_int_equal(cgtp_rows_gather(&rows, call[i].from, (void *)call[i].to), call[i].status);
    }
    assert_int_equal(cgtp_rows_gather(NULL, a, b), CGTP_NULL_POINTER);
    assert_int_equal(cgtp_rows_add(NULL, a, b), CGTP_NULL_POINTER);
    assert_true(a[0] == 6 && b[0] == 6 && b[3] == 4); /* touched once, by the right ones */
    assert_int_equal(cgtp_rows_gather(&right, a, b), CGTP_OK);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_split_puts_interior_receivers_first),
        cmocka_unit_test(what_cannot_be_split_is_refused),
        cmocka_unit_test(slices_have_each_edge_once),
        cmocka_unit_test(a_wrong_slice_is_refused),
        cmocka_unit_test(rows_are_gathered_and_added_in_order),
        cmocka_unit_test(rows_of_16_bits),
        cmocka_unit_test(wrong_rows_are_refused),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
