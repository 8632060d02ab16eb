/* order.cu - the order that a launch makes of edges (runtime/cgtp_order.h) through the shim: what the host's
 * cgtp_graph_sort and cgtp_graph_index make of the same list, element for element, in both widths of node
 * index, with no access beyond the workspace. Prints TAP.
 */
typedef float real;
#include "cgtp_cuda.h"
#include "simt.h"

#include "cgtp_order.h"

#include <string.h>
#include <vector>

static uint64_t random_state = 1;
static int64_t random_below(int64_t n)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)((random_state >> 33) * UINT64_C(2654435761) % (uint64_t)n);
}

static cgtp_status sort_graph(cgtp_graph *g, int32_t *s, int32_t *r, int32_t *order, int64_t *row)
{
    return cgtp_graph_sort(g, s, r, order, row);
}
static cgtp_status sort_graph(cgtp_graph64 *g, int64_t *s, int64_t *r, int64_t *order, int64_t *row)
{
    return cgtp_graph64_sort(g, s, r, order, row);
}
static cgtp_status index_graph(cgtp_graph *g, int64_t *row, int32_t *by, int64_t *sender_row)
{
    return cgtp_graph_index(g, row, by, sender_row);
}
static cgtp_status index_graph(cgtp_graph64 *g, int64_t *row, int64_t *by, int64_t *sender_row)
{
    return cgtp_graph64_index(g, row, by, sender_row);
}

template <typename T> static bool same(const T *device, const std::vector<T> &host)
{
    std::vector<T> found(host.size() + 1);
    simt_copy_out(found.data(), device, host.size() * sizeof(T));
    return memcmp(found.data(), host.data(), host.size() * sizeof(T)) == 0;
}

/* shuffle: edges in any order; otherwise as they are, by receiver. */
template <typename Index, typename Graph>
static bool orders(int64_t items, int64_t senders, int64_t receivers, bool by_sender, bool shuffle)
{
    std::vector<Index> sender(items), receiver(items), sorted(items), ends(items), order(items), by(items);
    std::vector<int64_t> row(receivers + 1), sender_row(senders + 1);
    for (int64_t e = 0; e < items; e++) {
        sender[e] = (Index)random_below(senders);
        receiver[e] = (Index)(shuffle ? random_below(receivers) : e * receivers / items);
    }
    Graph host = {};
    host.items = items, host.senders = senders, host.receivers = receivers;
    host.sender = sender.data(), host.receiver = receiver.data();
    cgtp_graph_arrays<Index> g(host);
    if (sort_graph(&host, sorted.data(), ends.data(), order.data(), row.data()) ||
        index_graph(&host, row.data(), by.data(), sender_row.data()))
        return false;
    Index *const device_sender = (Index *)simt_alloc("sender", items * sizeof(Index));
    Index *const device_receiver = (Index *)simt_alloc("receiver", items * sizeof(Index));
    simt_copy_in(device_sender, sender.data(), items * sizeof(Index));
    simt_copy_in(device_receiver, receiver.data(), items * sizeof(Index));
    g.sender = device_sender, g.receiver = device_receiver;
    cgtp_workspace sizes(NULL);
    const cgtp_ordering<Index> none(sizes, host, true, by_sender);
    (void)none;
    void *const memory = simt_alloc("workspace", sizes.bytes());
    cgtp_workspace space(memory);
    const cgtp_ordering<Index> o(space, host, true, by_sender);
    bool right = space.bytes() == sizes.bytes() && cgtp_order_edges(g, o, NULL) == CGTP_OK;
    right = right && same(g.sender, sorted) && same(g.receiver, ends) && same(g.order, order) &&
            same(g.receiver_row, row);
    if (by_sender)
        right = right && same(g.by_sender, by) && same(g.sender_row, sender_row);
    else
        right = right && !g.by_sender && !g.sender_row;
    simt_free(memory);
    simt_free(device_sender);
    simt_free(device_receiver);
    return right;
}

/* Numbers of edges around a warp's and a block's, and of a node around a crowd's; of nodes up to more than a
 * block has threads. */
template <typename Index, typename Graph> static void check_width(int number)
{
    static const int64_t items[] = {
        1, 31, 32, 33, 255, CGTP_SORT_CROWD - 1, CGTP_SORT_CROWD, CGTP_SORT_CROWD + 1, 6221};
    static const int64_t nodes[] = {1, 2, 3, 1000, 1024, 1025, 70000, (1 << 20) + 1};
    int different = 0, shapes = 0;
    for (int64_t n : items)
        for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
            if (nodes[i] > 1025 && n != 33 && n <= CGTP_SORT_CROWD)
                continue;
            shapes++;
            different += !orders<Index, Graph>(n, nodes[i], nodes[(i + 3) % 8] % 2000 + 1, n % 2, true) ||
                         !orders<Index, Graph>(n, 7, nodes[i], true, i % 2);
        }
    /* crowds whose numbers are more than are marked at a time, beside each other and alone */
    different += !orders<Index, Graph>(3 * CGTP_SORT_MARKS + 5, 10, 50, true, true);
    different += !orders<Index, Graph>(2 * CGTP_SORT_MARKS + 1, 3, 1, true, true);
    printf("%s %d - %zu-bit indices: ordered as on the host, %d shapes (%d differ)\n",
           different ? "not ok" : "ok", number, 8 * sizeof(Index), shapes, different);
}

int main(void)
{
    check_width<int32_t, cgtp_graph>(1);
    check_width<int64_t, cgtp_graph64>(2);
    cgtp_workspace space(NULL);
    cgtp_graph many = {};
    many.items = (int64_t)INT32_MAX + 1, many.senders = many.receivers = 1;
    const cgtp_ordering<int32_t> none(space, many, true, true);
    (void)none;
    printf("%s 3 - more edges than numbers are refused\n",
           space.bytes() == CGTP_NO_WORKSPACE ? "ok" : "not ok");
    printf("%s 4 - no access beyond an array, no race\n", simt_findings() ? "not ok" : "ok");
    simt_print(stdout, "# ");
    printf("1..4\n");
    return 0;
}
