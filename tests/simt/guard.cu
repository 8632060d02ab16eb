/* guard.cu - the kernels by which bindings answer for lists of edges on a device (runtime/cgtp_guard_kernels.h) through the
 * shim: what they copy, compare and make NaN, for lists of both widths, with no access beyond an array. Prints TAP.
 */
typedef float real;
#include "cgtp_cuda.h"
#include "simt.h"

/* The shim takes this one access on trust. */
__attribute__((no_sanitize_thread)) static void atomicMin(unsigned long long *at, unsigned long long value)
{
    *at = value < *at ? value : *at;
}

#include "cgtp_guard_kernels.h"

#include <stdio.h>
#include <string.h>
#include <vector>

enum { ITEMS = 3000, SENDERS = 9, RECEIVERS = 11 };
static const uint64_t NONE = CGTP_FAULT_NONE;

template <typename T> static T *to_device(const char *name, const std::vector<T> &host)
{
    T *device = (T *)simt_alloc(name, host.size() * sizeof(T));
    simt_copy_in(device, host.data(), host.size() * sizeof(T));
    return device;
}

template <typename T> static std::vector<T> to_host(const T *device, size_t n)
{
    std::vector<T> host(n);
    simt_copy_out(host.data(), device, n * sizeof(T));
    return host;
}

static int tests;
static void ok(bool right, const char *what)
{
    printf("%sok %d - %s\n", right ? "" : "not ", ++tests, what);
}

/* A list [2, ITEMS] of senders and receivers, as frameworks have it. */
template <typename From> struct edges {
    std::vector<From> rows;
    From *device;
    cgtp_edge_list list;

    edges() : rows(2 * ITEMS)
    {
        for (int e = 0; e < ITEMS; e++) {
            rows[e] = (From)(e * 7 % SENDERS);
            rows[ITEMS + e] = (From)(e * RECEIVERS / ITEMS);
        }
        device = NULL;
    }
    cgtp_edge_list &put(void)
    {
        if (device)
            simt_free(device);
        device = to_device("list", rows);
        list = {ITEMS, SENDERS, RECEIVERS, device, device + ITEMS, 1, 1, sizeof(From)};
        return list;
    }
};

/* The fault of a copy, and whether it has the list's numbers, with 0 for those of no node. */
template <typename From, typename To> static uint64_t copied(edges<From> &e, int ascending, bool &right)
{
    std::vector<To> empty(ITEMS, (To)-9);
    To *const sender = to_device("sender", empty), *const receiver = to_device("receiver", empty);
    const std::vector<unsigned long long> none = {CGTP_FAULT_NONE};
    unsigned long long *const fault = to_device("fault", none);
    cgtp_launch(cgtp_guard_copy_kernel, 3, CGTP_GUARD_THREADS, 0, NULL, e.put(), ascending, (void *)sender, (void *)receiver,
                (int)sizeof(To), fault);
    const std::vector<To> s = to_host(sender, ITEMS), r = to_host(receiver, ITEMS);
    for (int i = 0; i < ITEMS; i++) {
        const From from = e.rows[i], to = e.rows[ITEMS + i];
        right &= s[i] == (from >= 0 && from < SENDERS ? (To)from : 0) && r[i] == (to >= 0 && to < RECEIVERS ? (To)to : 0);
    }
    const uint64_t found = to_host(fault, 1)[0];
    simt_free(sender), simt_free(receiver), simt_free(fault);
    return found;
}

static uint64_t fault_at(uint64_t kind, uint64_t at)
{
    return kind << CGTP_FAULT_SHIFT | at;
}

template <typename From, typename To> static void check_copy(const char *name)
{
    edges<From> e;
    bool right = true, faults = copied<From, To>(e, 1, right) == NONE;
    e.rows[ITEMS + 2000] = RECEIVERS;
    faults &= copied<From, To>(e, 0, right) == fault_at(CGTP_FAULT_RECEIVER, 2000);
    e.rows[2500] = (From)-1;
    faults &= copied<From, To>(e, 0, right) == fault_at(CGTP_FAULT_SENDER, 2500);
    if (sizeof(From) == 8) /* not in range with the lower bits alone */
        e.rows[17] = (From)((uint64_t)1 << 40);
    else
        e.rows[17] = SENDERS;
    faults &= copied<From, To>(e, 0, right) == fault_at(CGTP_FAULT_SENDER, 17);
    edges<From> falls;
    falls.rows[ITEMS + 1500] = 0;
    faults &= copied<From, To>(falls, 0, right) == NONE &&
              copied<From, To>(falls, 1, right) == fault_at(CGTP_FAULT_ORDER, 1500);
    char text[100];
    snprintf(text, sizeof text, "%s: copies have the list's numbers, and 0 for those of no node", name);
    ok(right, text);
    snprintf(text, sizeof text, "%s: the first fault of a list, senders' before receivers'", name);
    ok(faults, text);
}

template <typename From> static void check_compare(const char *name)
{
    edges<From> e;
    const std::vector<From> before = e.rows;
    const std::vector<unsigned long long> none = {CGTP_FAULT_NONE};
    From *const copy = to_device("copy", before);
    unsigned long long *const fault = to_device("fault", none);
    bool right = true;
    for (int at = -1; at < 2 * ITEMS; at += 599) {
        e.rows = before;
        if (at >= 0)
            e.rows[at] += 1;
        simt_copy_in(fault, none.data(), sizeof none[0]);
        cgtp_launch(cgtp_guard_compare_kernel, 2, CGTP_GUARD_THREADS, 0, NULL, e.put(), (const void *)copy,
                    (const void *)(copy + ITEMS), fault);
        right &= to_host(fault, 1)[0] == (at < 0 ? NONE : fault_at(CGTP_FAULT_STALE, 0));
    }
    char text[100];
    snprintf(text, sizeof text, "%s: a list is compared with its copy, to its ends", name);
    ok(right, text);
    simt_free(copy), simt_free(fault);
}

static void check_outputs(void)
{
    const std::vector<float> numbers(1001, 1.5f);
    const std::vector<double> wide(300, -2);
    const std::vector<uint16_t> half(77, 0x3c00);
    const std::vector<unsigned long long> none = {CGTP_FAULT_NONE}, stale = {fault_at(CGTP_FAULT_STALE, 0)};
    for (int bad = 0; bad < 2; bad++) {
        float *const a = to_device("a", numbers);
        double *const b = to_device("b", wide);
        uint16_t *const c = to_device("c", half);
        unsigned long long *const fault = to_device("fault", bad ? stale : none);
        uint64_t *const seen = (uint64_t *)to_device("seen", none);
        const cgtp_guard_list list = {{{a, 4 * numbers.size()}, {b, 8 * wide.size()}, {c, 2 * half.size()}}};
        cgtp_launch(cgtp_guard_outputs_kernel, 2, CGTP_GUARD_THREADS, 0, NULL, fault, list, 3, (volatile uint64_t *)seen);
        bool right = to_host(seen, 1)[0] == (bad ? stale : none)[0];
        for (const float x : to_host(a, numbers.size()))
            right &= bad ? x != x : x == 1.5f;
        for (const double x : to_host(b, wide.size()))
            right &= bad ? x != x : x == -2;
        for (const uint16_t x : to_host(c, half.size()))
            right &= bad ? x == 0xffff : x == 0x3c00;
        ok(right, bad ? "outputs are NaN where there is a fault, which the host sees" : "and else as they were");
        simt_free(a), simt_free(b), simt_free(c), simt_free(fault), simt_free(seen);
    }
}

/* What bindings ask of each call on a CPU. */
static void check_host(void)
{
    std::vector<int32_t> sender = {2, 0, 1}, receiver = {0, 0, 1}, by_sender(3);
    std::vector<int64_t> receiver_row(3), sender_row(4);
    cgtp_graph g = {};
    g.items = 3, g.senders = 3, g.receivers = 2, g.sender = sender.data(), g.receiver = receiver.data();
    bool right = cgtp_graph_index(&g, receiver_row.data(), by_sender.data(), sender_row.data()) == CGTP_OK;
    right &= cgtp_guard::fault_of(g, true).empty() && cgtp_guard::fault_of(g, false).empty();
    const cgtp_graph nothing = {};
    right &= cgtp_guard::fault_of(nothing, false).empty();
    ok(right, "a right graph has no fault");
    sender[1] = 3;
    right = cgtp_guard::fault_of(g, false) == "sender[1] is 3: it is the number of no sender";
    sender[1] = 0, receiver_row[1] = -7;
    right &= cgtp_guard::fault_of(g, true) == "receiver_row[1] is -7: it is not the number of edges to the receivers before";
    receiver_row[1] = 2, by_sender[2] = 3;
    right &= cgtp_guard::fault_of(g, true) == "by_sender[2] is 3: it is the number of no edge";
    ok(right, "a wrong one is named by its array, place and number");
    uint64_t seen = fault_at(CGTP_FAULT_SENDER, 12);
    right = cgtp_guard::seen_words(&seen).find("a sender at edge 12") != std::string::npos;
    ok(right && cgtp_guard::seen_words(&seen).empty() && cgtp_guard::seen_words(NULL).empty(), "a fault is told once");
}

int main(void)
{
    check_host();
    check_copy<int32_t, int32_t>("int32 to int32");
    check_copy<int64_t, int32_t>("int64 to int32");
    check_copy<int64_t, int64_t>("int64 to int64");
    check_compare<int32_t>("int32");
    check_compare<int64_t>("int64");
    check_outputs();
    ok(!simt_findings(), "no access beyond an array, no race");
    simt_print(stdout, "# ");
    printf("1..%d\n", tests);
    return 0;
}
