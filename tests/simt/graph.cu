/* graph.cu - the device's check of a graph (runtime/cgtp_graph_kernels.h) through the shim: it finds what the host's
 * does, in both widths of node index, and never reads beyond an array, whatever is in it. Rows that go between devices
 * have the host's bits. Prints TAP.
 */
typedef float real;
#include "cgtp_cuda.h"
#include "simt.h"

/* The shim takes this one access on trust. */
__attribute__((no_sanitize_thread)) static void atomicMin(unsigned long long *at, unsigned long long value)
{
    *at = value < *at ? value : *at;
}

#include "cgtp_graph_kernels.h"
#include "cgtp_types.h"

#include <stdlib.h>
#include <string.h>
#include <vector>

enum array { SENDER, RECEIVER, RECEIVER_ROW, BY_SENDER, SENDER_ROW, ARRAYS };
enum { ITEMS = 700, SENDERS = 9, RECEIVERS = 11 };

static uint32_t random_state;
static int random_below(int n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (int)((random_state >> 8) % (uint32_t)n);
}

template <typename Index> struct host_graph {
    std::vector<Index> sender, receiver, by_sender;
    std::vector<int64_t> receiver_row, sender_row;
};

static cgtp_status index_graph(cgtp_graph *g, host_graph<int32_t> &h)
{
    return cgtp_graph_index(g, h.receiver_row.data(), h.by_sender.data(), h.sender_row.data());
}
static cgtp_status index_graph(cgtp_graph64 *g, host_graph<int64_t> &h)
{
    return cgtp_graph64_index(g, h.receiver_row.data(), h.by_sender.data(), h.sender_row.data());
}
static cgtp_status find_fault(const cgtp_graph *g, int sorted, cgtp_fault *fault)
{
    return cgtp_graph_find_fault(g, sorted, fault);
}
static cgtp_status find_fault(const cgtp_graph64 *g, int sorted, cgtp_fault *fault)
{
    return cgtp_graph64_find_fault(g, sorted, fault);
}

template <typename T> static T *to_device(const char *name, const std::vector<T> &host)
{
    T *device = (T *)simt_alloc(name, host.size() * sizeof(T));
    simt_copy_in(device, host.data(), host.size() * sizeof(T));
    return device;
}

/* What the device finds; the value is the host's. */
template <typename Index> static uint64_t check_on_device(const host_graph<Index> &h, int sorted)
{
    const cgtp_graph_view view = {ITEMS,
                                  SENDERS,
                                  RECEIVERS,
                                  to_device("sender", h.sender),
                                  to_device("receiver", h.receiver),
                                  to_device("by_sender", h.by_sender),
                                  NULL,
                                  to_device("receiver_row", h.receiver_row),
                                  to_device("sender_row", h.sender_row),
                                  sizeof(Index) == 8};
    const std::vector<unsigned long long> none = {CGTP_FAULT_NONE};
    unsigned long long *first = to_device("first", none), found = 0;
    cgtp_launch(cgtp_check_kernel, 2, CGTP_CHECK_THREADS, 0, NULL, view, sorted, first);
    simt_copy_out(&found, first, sizeof found);
    simt_free((void *)view.sender);
    simt_free((void *)view.receiver);
    simt_free((void *)view.by_sender);
    simt_free((void *)view.receiver_row);
    simt_free((void *)view.sender_row);
    simt_free(first);
    return found;
}

/* Of a graph with one number changed: are both of one opinion? Counts the faults by array. */
template <typename Index, typename Graph>
static bool agree(const Graph &g, const host_graph<Index> &h, int sorted, int told[ARRAYS])
{
    static const char *const name[ARRAYS] = {"sender", "receiver", "receiver_row", "by_sender", "sender_row"};
    cgtp_fault host, device;
    int bytes;
    const cgtp_status status = find_fault(&g, sorted, &host);
    const uint64_t first = check_on_device(h, sorted);
    const cgtp_graph_view view = {ITEMS,
                                  SENDERS,
                                  RECEIVERS,
                                  h.sender.data(),
                                  h.receiver.data(),
                                  h.by_sender.data(),
                                  NULL,
                                  h.receiver_row.data(),
                                  h.sender_row.data(),
                                  sizeof(Index) == 8};
    cgtp_fault_place(&view, first, &device, &bytes);
    for (int a = 0; a < ARRAYS && host.array; a++)
        told[a] += !strcmp(host.array, name[a]);
    if (!host.array || !device.array)
        return host.array == device.array && status == CGTP_OK;
    return !strcmp(host.array, device.array) && !strcmp(host.words, device.words) && host.at == device.at;
}

template <typename Index, typename Graph> static void check_width(int number)
{
    static const int64_t step[] = {-1, 1, 2, -2, 1000000, -1000000};
    host_graph<Index> h = {std::vector<Index>(ITEMS), std::vector<Index>(ITEMS), std::vector<Index>(ITEMS),
                           std::vector<int64_t>(RECEIVERS + 1), std::vector<int64_t>(SENDERS + 1)};
    int told[ARRAYS] = {0}, different = 0;
    for (int e = 0; e < ITEMS; e++) {
        h.sender[e] = (Index)random_below(SENDERS - 1);
        h.receiver[e] = (Index)(e * (RECEIVERS - 1) / ITEMS);
    }
    Graph g = {};
    g.items = ITEMS, g.senders = SENDERS, g.receivers = RECEIVERS;
    g.sender = h.sender.data(), g.receiver = h.receiver.data();
    bool right = index_graph(&g, h) == CGTP_OK && agree(g, h, 1, told) && agree(g, h, 0, told);
    for (int i = 0; i < 60; i++) {
        const int array = i % ARRAYS;
        std::vector<Index> *index = array == SENDER ? &h.sender : array == RECEIVER ? &h.receiver : &h.by_sender;
        std::vector<int64_t> *row = array == RECEIVER_ROW ? &h.receiver_row : &h.sender_row;
        const bool is_row = array == RECEIVER_ROW || array == SENDER_ROW;
        const int at = random_below((int)(is_row ? row->size() : index->size()));
        const int64_t before = is_row ? (*row)[at] : (*index)[at], now = before + step[random_below(6)];
        is_row ? (void)((*row)[at] = now) : (void)((*index)[at] = (Index)now);
        for (int sorted = 0; sorted < 2; sorted++)
            different += !agree(g, h, sorted, told);
        is_row ? (void)((*row)[at] = before) : (void)((*index)[at] = (Index)before);
    }
    for (int a = 0; a < ARRAYS; a++)
        right = right && told[a] > 0;
    right = right && different == 0;
    printf("%s %d - %zu-bit indices: host and device find the same faults (%d differ)\n", right ? "ok" : "not ok",
           number, 8 * sizeof(Index), different);
}

/* Rows of an array gathered into a buffer, and those of a buffer added, on both sides. */
template <typename scalar> static bool rows_are_the_hosts(cgtp_type type, int elements, bool placed)
{
    enum { ROWS = 37, ENTRIES = 90 };
    const size_t row_bytes = elements * sizeof(scalar);
    std::vector<int32_t> row(ENTRIES), place(ENTRIES);
    alignas(16) static scalar array[2][ROWS * 12], buffer[2][ENTRIES * 12];
    for (int i = 0; i < ENTRIES; i++)
        row[i] = i * ROWS / ENTRIES, place[i] = i * 7 % ENTRIES;
    for (int i = 0; i < ROWS * elements; i++)
        cgtp_put_number(array[0], type, i, 1.0 / (1 + random_below(1000)));
    for (int i = 0; i < ENTRIES * elements; i++)
        cgtp_put_number(buffer[0], type, i, random_below(1000) / 7.0);
    memcpy(array[1], array[0], sizeof array[0]);
    memcpy(buffer[1], buffer[0], sizeof buffer[0]);
    int32_t *const device_row = to_device("row", row), *const device_place = to_device("place", place);
    void *const device_array = simt_alloc("array", ROWS * row_bytes);
    void *const device_buffer = simt_alloc("buffer", ENTRIES * row_bytes);
    simt_copy_in(device_array, array[1], ROWS * row_bytes);
    simt_copy_in(device_buffer, buffer[1], ENTRIES * row_bytes);
    const cgtp_rows host = {ENTRIES, elements, type, row.data(), placed ? place.data() : NULL};
    const cgtp_rows device = {ENTRIES, elements, type, device_row, placed ? device_place : NULL};
    bool right = cgtp_rows_add(&host, buffer[0], array[0]) == CGTP_OK;
    right &= cgtp_exchange_rows<true>(&device, device_array, device_buffer, NULL) == CGTP_OK;
    simt_copy_out(array[1], device_array, ROWS * row_bytes);
    right &= !memcmp(array[0], array[1], ROWS * row_bytes) && cgtp_rows_gather(&host, array[0], buffer[0]) == CGTP_OK;
    right &= cgtp_exchange_rows<false>(&device, device_array, device_buffer, NULL) == CGTP_OK;
    simt_copy_out(buffer[1], device_buffer, ENTRIES * row_bytes);
    right &= !memcmp(buffer[0], buffer[1], ENTRIES * row_bytes);
    simt_free(device_row);
    simt_free(device_place);
    simt_free(device_array);
    simt_free(device_buffer);
    return right;
}

int main(void)
{
    check_width<int32_t, cgtp_graph>(1);
    check_width<int64_t, cgtp_graph64>(2);
    bool rows = true;
    for (int elements = 1; elements <= 12; elements += elements == 1 ? 2 : 9) /* 1, 3, 12 */
        for (int placed = 0; placed < 2; placed++)
            rows = rows_are_the_hosts<float>(CGTP_FLOAT32, elements, placed) &&
                   rows_are_the_hosts<double>(CGTP_FLOAT64, elements, placed) &&
                   rows_are_the_hosts<cgtp_bfloat16>(CGTP_BFLOAT16, elements, placed) &&
                   rows_are_the_hosts<cgtp_float16>(CGTP_FLOAT16, elements, placed) && rows;
    printf("%s 3 - rows between devices: gathered and added as on the host\n", rows ? "ok" : "not ok");
    printf("%s 4 - no access beyond an array, no race\n", simt_findings() ? "not ok" : "ok");
    simt_print(stdout, "# ");
    printf("1..4\n");
    return 0;
}
