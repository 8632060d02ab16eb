/* unit_runtime.c - runtime/cgtp.c: graphs are sorted as by insertion, indexed as a direct search says, and
 * checked for all that kernels rely on, in both widths of node index. */
#include "unit_graphs.h"

static void index_agrees_with_a_direct_search(void **state)
{
    (void)state;
    static const int sizes[][3] = {{0, 0, 0},    {0, 5, 3},  {1, 1, 1},    {31, 4, 7},
                                   {32, 40, 40}, {33, 1, 9}, {200, 9, 40}, {200, 40, 1}};
    for (size_t c = 0; c < sizeof sizes / sizeof *sizes; c++) {
        struct graphs s;
        make(&s, sizes[c][0], sizes[c][1], sizes[c][2]);
        index_both(&s);
        for (int r = 0; r <= s.g.receivers; r++) {
            int before = 0;
            for (int e = 0; e < s.g.items; e++)
                before += s.receiver[e] < r;
            assert_int_equal(s.receiver_row[r], before);
            assert_int_equal(s.receiver_row64[r], before);
        }
        int n = 0;
        for (int node = 0; node < s.g.senders; node++) {
            assert_int_equal(s.sender_row[node], n);
            assert_int_equal(s.sender_row64[node], n);
            for (int e = 0; e < s.g.items; e++)
                if (s.sender[e] == node) {
                    assert_int_equal(s.by_sender[n], e);
                    assert_int_equal(s.by_sender64[n], e);
                    n++;
                }
        }
        assert_int_equal(s.sender_row[s.g.senders], n);
        assert_int_equal(n, s.g.items);
        assert_ptr_equal(s.g.receiver_row, s.receiver_row);
        assert_ptr_equal(s.g64.by_sender, s.by_sender64);
        assert_check(&s, 1, CGTP_OK);
        assert_check(&s, 0, CGTP_OK);
    }
}

/* Any edges in any order, sorted: what was sorted before by insertion, with all edges of a receiver as they
 * stood. */
static void sorting_is_stable_insertion(void **state)
{
    (void)state;
    static const int sizes[][3] = {{0, 0, 0}, {0, 5, 3}, {1, 1, 1}, {31, 4, 7}, {200, 9, 40}, {200, 40, 1}};
    for (size_t c = 0; c < sizeof sizes / sizeof *sizes; c++) {
        struct graphs s;
        int32_t sender[EDGES_MAX], receiver[EDGES_MAX], order[EDGES_MAX], wanted[EDGES_MAX];
        int64_t sender64[EDGES_MAX], receiver64[EDGES_MAX], order64[EDGES_MAX];
        make(&s, sizes[c][0], sizes[c][1], sizes[c][2]);
        for (int e = 0; e < s.g.items; e++)
            s.receiver[e] = random_below(sizes[c][2]);
        widen(&s);
        for (int e = 0; e < s.g.items; e++) {
            int i = e;
            for (; i > 0 && s.receiver[wanted[i - 1]] > s.receiver[e]; i--)
                wanted[i] = wanted[i - 1];
            wanted[i] = e;
        }
        s.g.by_sender = s.by_sender;
        s.g64.sender_row = s.sender_row64;
        assert_int_equal(cgtp_graph_sort(&s.g, sender, receiver, order, s.receiver_row), CGTP_OK);
        assert_int_equal(cgtp_graph64_sort(&s.g64, sender64, receiver64, order64, s.receiver_row64), CGTP_OK);
        for (int i = 0; i < s.g.items; i++) {
            assert_int_equal(order[i], wanted[i]);
            assert_int_equal(order64[i], wanted[i]);
            assert_int_equal(sender[i], s.sender[wanted[i]]);
            assert_int_equal(sender64[i], s.sender[wanted[i]]);
            assert_int_equal(receiver[i], s.receiver[wanted[i]]);
            assert_int_equal(receiver64[i], s.receiver[wanted[i]]);
        }
        assert_ptr_equal(s.g.sender, sender);
        assert_ptr_equal(s.g64.receiver, receiver64);
        assert_null(s.g.by_sender); /* an index of the list before */
        assert_null(s.g64.sender_row);
        index_both(&s);
        assert_check(&s, 1, CGTP_OK);
    }
}

static void what_cannot_be_sorted_is_left_alone(void **state)
{
    (void)state;
    struct graphs s;
    int32_t a[3][EDGES_MAX];
    int64_t a64[3][EDGES_MAX], row[NODES_MAX + 1];
    for (int which = 0; which < 4; which++) {
        make(&s, 50, 12, 11);
        (which < 2 ? s.sender : s.receiver)[17] = which % 2 ? -1 : which ? 11 : 12;
        widen(&s);
        assert_int_equal(cgtp_graph_sort(&s.g, a[0], a[1], a[2], row), CGTP_BAD_GRAPH);
        assert_int_equal(cgtp_graph64_sort(&s.g64, a64[0], a64[1], a64[2], row), CGTP_BAD_GRAPH);
        assert_ptr_equal(s.g.sender, s.sender);
        assert_ptr_equal(s.g64.receiver, s.receiver64);
    }
    make(&s, 50, 12, 11);
    for (int which = 0; which < 4; which++) {
        int32_t *to[3] = {which == 0 ? NULL : a[0], which == 1 ? NULL : a[1], which == 2 ? NULL : a[2]};
        assert_int_equal(cgtp_graph_sort(&s.g, to[0], to[1], to[2], which == 3 ? NULL : row), CGTP_NULL_POINTER);
    }
    s.g.items = (int64_t)INT32_MAX + 1; /* of numbers that order cannot hold */
    assert_int_equal(cgtp_graph_sort(&s.g, a[0], a[1], a[2], row), CGTP_BAD_SIZE);
    s.g.items = -1;
    assert_int_equal(cgtp_graph_sort(&s.g, a[0], a[1], a[2], row), CGTP_BAD_SIZE);
    assert_int_equal(cgtp_graph_sort(NULL, a[0], a[1], a[2], row), CGTP_NULL_POINTER);
    assert_int_equal(cgtp_graph64_sort(NULL, a64[0], a64[1], a64[2], row), CGTP_NULL_POINTER);

    cgtp_graph none = {.senders = 5, .receivers = 3};
    assert_int_equal(cgtp_graph_sort(&none, NULL, NULL, NULL, NULL), CGTP_OK);
    cgtp_graph64 nothing = {0};
    assert_int_equal(cgtp_graph64_sort(&nothing, NULL, NULL, NULL, row), CGTP_OK);
    assert_int_equal(row[0], 0);
}

static void a_bad_edge_list_is_refused(void **state)
{
    (void)state;
    static const struct {
        int edge, sender, receiver; /* what replaces the edge; receivers of make() ascend */
        cgtp_status sorted, any;
    } bad[] = {
        {7, -1, -2, CGTP_BAD_GRAPH, CGTP_BAD_GRAPH}, /* -2: left as it is */
        {7, 12, -2, CGTP_BAD_GRAPH, CGTP_BAD_GRAPH}, {0, 0, -1, CGTP_BAD_GRAPH, CGTP_BAD_GRAPH},
        {49, 0, 11, CGTP_BAD_GRAPH, CGTP_BAD_GRAPH}, {49, 0, 0, CGTP_BAD_GRAPH, CGTP_OK},
        {0, 0, 10, CGTP_BAD_GRAPH, CGTP_OK},
    };
    for (size_t c = 0; c < sizeof bad / sizeof *bad; c++) {
        struct graphs s;
        make(&s, 50, 12, 11);
        s.sender[bad[c].edge] = bad[c].sender;
        if (bad[c].receiver != -2)
            s.receiver[bad[c].edge] = bad[c].receiver;
        widen(&s);
        assert_int_equal(cgtp_graph_index(&s.g, s.receiver_row, s.by_sender, s.sender_row), bad[c].sorted);
        assert_int_equal(cgtp_graph64_index(&s.g64, s.receiver_row, s.by_sender64, s.sender_row),
                         bad[c].sorted);
        assert_null(s.g.receiver_row);
        assert_null(s.g64.sender_row);
        assert_check(&s, 0, bad[c].any);
    }
}

static void every_damage_to_the_index_is_found(void **state)
{
    (void)state;
    struct graphs s;
    make(&s, 60, 12, 11);
    index_both(&s);
    for (int i = 0; i < 60; i++)
        for (int change = -60; change <= 60; change++)
            if (change) {
                s.by_sender[i] += change;
                s.by_sender64[i] += change;
                assert_check(&s, 1, CGTP_BAD_GRAPH);
                s.by_sender[i] -= change;
                s.by_sender64[i] -= change;
            }
    for (int i = 0; i + 1 < 60; i++) { /* two entries swapped: still a permutation */
        int32_t a = s.by_sender[i], b = s.by_sender[i + 1];
        s.by_sender[i] = b, s.by_sender[i + 1] = a;
        s.by_sender64[i] = b, s.by_sender64[i + 1] = a;
        assert_check(&s, 1, CGTP_BAD_GRAPH);
        s.by_sender[i] = a, s.by_sender[i + 1] = b;
        s.by_sender64[i] = a, s.by_sender64[i + 1] = b;
    }
    int64_t *rows[2] = {s.receiver_row, s.sender_row}, *rows64[2] = {s.receiver_row64, s.sender_row64};
    int counts[2] = {11, 12};
    for (int which = 0; which < 2; which++)
        for (int r = 0; r <= counts[which]; r++)
            for (int change = -61; change <= 61; change++)
                if (change) {
                    rows[which][r] += change;
                    rows64[which][r] += change;
                    assert_check(&s, 1, CGTP_BAD_GRAPH);
                    rows[which][r] -= change;
                    rows64[which][r] -= change;
                }
    assert_check(&s, 1, CGTP_OK);
}

/* Edges 0>0 2>0 1>1 2>1 0>3, of senders 0 .. 2 and receivers 0 .. 3. */
static void small(struct graphs *s)
{
    static const int ends[5][2] = {{0, 0}, {2, 0}, {1, 1}, {2, 1}, {0, 3}};
    make(s, 5, 3, 4);
    for (int e = 0; e < 5; e++)
        s->sender[e] = ends[e][0], s->receiver[e] = ends[e][1];
    widen(s);
    index_both(s);
}

static void assert_fault(struct graphs *s, int sorted, const char *text)
{
    cgtp_fault fault[2];
    const cgtp_status status = *text ? CGTP_BAD_GRAPH : CGTP_OK;
    assert_int_equal(cgtp_graph_find_fault(&s->g, sorted, &fault[0]), status);
    assert_int_equal(cgtp_graph64_find_fault(&s->g64, sorted, &fault[1]), status);
    for (int wide = 0; wide < 2; wide++) {
        char found[120];
        assert_int_equal(cgtp_fault_text(&fault[wide], found, sizeof found), strlen(text));
        assert_string_equal(found, text);
    }
}

static void a_fault_is_told_with_its_place(void **state)
{
    (void)state;
    enum array { SENDER, RECEIVER, RECEIVER_ROW, BY_SENDER, SENDER_ROW, ORDER };
    static const struct {
        enum array array;
        int at, value;
        const char *sorted, *any; /* what is told where edges are sorted, and where they may be in any order */
    } damage[] = {
#define NO_SENDER ": it is the number of no sender"
#define NO_RECEIVER ": it is the number of no receiver"
        {SENDER, 3, 3, "sender[3] is 3" NO_SENDER, "sender[3] is 3" NO_SENDER},
        {SENDER, 0, -1, "sender[0] is -1" NO_SENDER, "sender[0] is -1" NO_SENDER},
        {RECEIVER, 4, 4, "receiver[4] is 4" NO_RECEIVER, "receiver[4] is 4" NO_RECEIVER},
        {RECEIVER, 1, -7, "receiver[1] is -7" NO_RECEIVER, "receiver[1] is -7" NO_RECEIVER},
        {RECEIVER, 1, 2, "receiver[2] is 1: it is below the one before, but edges must ascend by receiver", ""},
        {ORDER, 2, 5, "order[2] is 5: it is the number of no row", "order[2] is 5: it is the number of no row"},
        {ORDER, 0, -1, "order[0] is -1: it is the number of no row", "order[0] is -1: it is the number of no row"},
        {RECEIVER_ROW, 0, 1, "receiver_row[0] is 1: it is not the number of edges to the receivers before", ""},
        {RECEIVER_ROW, 2, 5, "receiver_row[2] is 5: it is not the number of edges to the receivers before", ""},
        {RECEIVER_ROW, 4, 4, "receiver_row[4] is 4: it is not the number of edges to the receivers before", ""},
        {RECEIVER_ROW, 3, -9, "receiver_row[3] is -9: it is not the number of edges to the receivers before", ""},
        {BY_SENDER, 2, 5, "by_sender[2] is 5: it is the number of no edge", ""},
        {BY_SENDER, 4, -1, "by_sender[4] is -1: it is the number of no edge", ""},
        {BY_SENDER, 1, 0, "by_sender[1] is 0: it does not come after the one before, by sender and number", ""},
        {SENDER_ROW, 1, 3, "sender_row[1] is 3: it is not the number of edges from the senders before", ""},
        {SENDER_ROW, 3, 6, "sender_row[3] is 6: it is not the number of edges from the senders before", ""},
        {SENDER, 2, 0, "by_sender[2] is 2: it does not come after the one before, by sender and number", ""},
    };
    struct graphs s;
    small(&s);
    assert_fault(&s, 1, "");
    assert_fault(&s, 0, "");
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        small(&s);
        int32_t order[] = {4, 2, 0, 1, 3}, *narrow[] = {s.sender, s.receiver, NULL, s.by_sender, NULL, order};
        int64_t order64[] = {4, 2, 0, 1, 3}, *row[] = {NULL, NULL, s.receiver_row, NULL, s.sender_row, NULL};
        int64_t *wide[] = {s.sender64, s.receiver64, s.receiver_row64, s.by_sender64, s.sender_row64, order64};
        s.g.order = order;
        s.g64.order = order64;
        assert_fault(&s, 1, "");
        assert_fault(&s, 0, "");
        if (narrow[damage[i].array])
            narrow[damage[i].array][damage[i].at] = damage[i].value;
        else
            row[damage[i].array][damage[i].at] = damage[i].value;
        wide[damage[i].array][damage[i].at] = damage[i].value;
        assert_fault(&s, 1, damage[i].sorted);
        assert_fault(&s, 0, damage[i].any);
    }
    cgtp_fault fault;
    assert_int_equal(cgtp_graph_find_fault(NULL, 1, &fault), CGTP_NULL_POINTER);
    assert_int_equal(cgtp_graph64_find_fault(NULL, 1, &fault), CGTP_NULL_POINTER);
    assert_null(fault.array);
}

/* Outputs of sorting that are its inputs, each of them. */
static void a_graph_is_not_sorted_into_itself(void **state)
{
    (void)state;
    int32_t sender[3] = {2, 0, 1}, receiver[3] = {1, 0, 1}, to[3][3] = {{0}};
    int64_t row[3], sender64[3] = {2, 0, 1}, receiver64[3] = {1, 0, 1}, to64[3][3] = {{0}};
    for (int made = 0; made < 3; made++)
        for (int own = 0; own < 2; own++) {
            cgtp_graph g = {.items = 3, .senders = 3, .receivers = 2, .sender = sender, .receiver = receiver};
            cgtp_graph64 g64 = {.items = 3, .senders = 3, .receivers = 2, .sender = sender64, .receiver = receiver64};
            int32_t *out[3] = {to[0], to[1], to[2]};
            int64_t *out64[3] = {to64[0], to64[1], to64[2]};
            out[made] = own ? receiver : sender;
            out64[made] = own ? receiver64 : sender64;
            assert_int_equal(cgtp_graph_sort(&g, out[0], out[1], out[2], row), CGTP_BAD_GRAPH);
            assert_int_equal(cgtp_graph64_sort(&g64, out64[0], out64[1], out64[2], row), CGTP_BAD_GRAPH);
            assert_ptr_equal(g.sender, sender);
            assert_ptr_equal(g64.receiver, receiver64);
        }
    const int32_t before[2][3] = {{2, 0, 1}, {1, 0, 1}};
    assert_memory_equal(sender, before[0], sizeof sender);
    assert_memory_equal(receiver, before[1], sizeof receiver);
}

static void pointers_and_sizes_are_checked(void **state)
{
    (void)state;
    struct graphs s;
    assert_int_equal(cgtp_graph_check(NULL, 1), CGTP_NULL_POINTER);
    assert_int_equal(cgtp_graph64_check(NULL, 0), CGTP_NULL_POINTER);
    assert_int_equal(cgtp_graph_index(NULL, NULL, NULL, NULL), CGTP_NULL_POINTER);
    assert_int_equal(cgtp_graph64_index(NULL, NULL, NULL, NULL), CGTP_NULL_POINTER);

    make(&s, 20, 5, 6);
    assert_check(&s, 1, CGTP_NOT_INDEXED);
    assert_check(&s, 0, CGTP_OK);
    assert_int_equal(cgtp_graph_index(&s.g, NULL, s.by_sender, s.sender_row), CGTP_NULL_POINTER);
    assert_int_equal(cgtp_graph_index(&s.g, s.receiver_row, NULL, s.sender_row), CGTP_NULL_POINTER);
    assert_int_equal(cgtp_graph_index(&s.g, s.receiver_row, s.by_sender, NULL), CGTP_NULL_POINTER);
    s.g.sender = NULL;
    s.g64.receiver = NULL;
    assert_check(&s, 0, CGTP_NULL_POINTER);

    for (int which = 0; which < 3; which++)
        for (int huge = 0; huge < 2; huge++) {
            make(&s, 20, 5, 6);
            int64_t *size[3] = {&s.g.items, &s.g.senders, &s.g.receivers};
            int64_t *size64[3] = {&s.g64.items, &s.g64.senders, &s.g64.receivers};
            *size[which] = *size64[which] = huge ? INT64_MAX : -1;
            assert_check(&s, 0, CGTP_BAD_SIZE);
            assert_check(&s, 1, CGTP_BAD_SIZE);
        }
    /* Edge numbers of a sorted graph must fit its index type; an unsorted list needs none. */
    make(&s, 0, 5, 6);
    s.g.items = (int64_t)INT32_MAX + 1;
    s.g.sender = NULL;
    assert_int_equal(cgtp_graph_check(&s.g, 1), CGTP_BAD_SIZE);
    assert_int_equal(cgtp_graph_check(&s.g, 0), CGTP_NULL_POINTER);

    make(&s, 0, 5, 6); /* no edge: no array needed */
    assert_check(&s, 1, CGTP_OK);
    const cgtp_graph none = {0};
    const cgtp_graph64 none64 = {0};
    for (int sorted = 0; sorted < 2; sorted++) {
        assert_int_equal(cgtp_graph_check(&none, sorted), CGTP_OK);
        assert_int_equal(cgtp_graph64_check(&none64, sorted), CGTP_OK);
    }
    s.g.sender = s.g.receiver = NULL;
    assert_int_equal(cgtp_graph_index(&s.g, s.receiver_row, NULL, s.sender_row), CGTP_OK);
    assert_int_equal(cgtp_graph_check(&s.g, 1), CGTP_OK);
}

static void every_status_has_a_text_of_its_own(void **state)
{
    (void)state;
    for (int a = 0; a <= CGTP_STATUS_COUNT; a++) {
        assert_non_null(cgtp_status_text((cgtp_status)a));
        for (int b = 0; b < a; b++)
            assert_string_not_equal(cgtp_status_text((cgtp_status)a), cgtp_status_text((cgtp_status)b));
    }
    assert_string_equal(cgtp_status_text((cgtp_status)-1), cgtp_status_text(CGTP_STATUS_COUNT));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(index_agrees_with_a_direct_search),
        cmocka_unit_test(sorting_is_stable_insertion),
        cmocka_unit_test(what_cannot_be_sorted_is_left_alone),
        cmocka_unit_test(a_bad_edge_list_is_refused),
        cmocka_unit_test(every_damage_to_the_index_is_found),
        cmocka_unit_test(a_fault_is_told_with_its_place),
        cmocka_unit_test(a_graph_is_not_sorted_into_itself),
        cmocka_unit_test(pointers_and_sizes_are_checked),
        cmocka_unit_test(every_status_has_a_text_of_its_own),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
