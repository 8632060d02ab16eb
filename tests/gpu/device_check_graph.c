/* device_check_graph.c - graphs prepared on the device (runtime/cgtp_graph.cu): equal to what the host makes
 * of the same list, and refused where the host refuses them, in both widths of index; rows that go between
 * devices, gathered and added as on the host.
 */
#include "device_check.h"

#ifdef GPU_HOST

void check_graphs(void)
{
    tap_skip("no device", "graphs prepared on the device");
}

#else

#include "cgtp_device.h"
#include "cgtp_types.h"
#include "device.h"
#include "memory.h"
#include "random.h"

#include <stdlib.h>
#include <string.h>

/* The arrays of a graph by number, those of the list first. */
enum array { SENDER, RECEIVER, RECEIVER_ROW, BY_SENDER, SENDER_ROW, ARRAYS };

/* A graph on the host or on the device; memory[] are its arrays, index_size bytes an element except for rows.
 */
struct graph {
    int size; /* of an index: 4 or 8 */
    int64_t items, senders, receivers;
    void *memory[ARRAYS];
};

static int64_t count_of(const struct graph *g, enum array a)
{
    return a == RECEIVER_ROW ? g->receivers + 1 : a == SENDER_ROW ? g->senders + 1 : g->items;
}

static size_t bytes_of(const struct graph *g, enum array a)
{
    return (size_t)count_of(g, a) * (a == RECEIVER_ROW || a == SENDER_ROW ? 8 : (size_t)g->size);
}

static int64_t get(const struct graph *g, enum array a, int64_t i)
{
    if (bytes_of(g, a) == 4 * (size_t)count_of(g, a))
        return ((const int32_t *)g->memory[a])[i];
    return ((const int64_t *)g->memory[a])[i];
}

static void put(struct graph *g, enum array a, int64_t i, int64_t value)
{
    if (bytes_of(g, a) == 4 * (size_t)count_of(g, a))
        ((int32_t *)g->memory[a])[i] = (int32_t)value;
    else
        ((int64_t *)g->memory[a])[i] = value;
}

static struct graph new_graph(int size, int64_t items, int64_t senders, int64_t receivers,
                              void *(*allocate)(size_t))
{
    struct graph g = {.size = size, .items = items, .senders = senders, .receivers = receivers};
    for (enum array a = 0; a < ARRAYS; a++)
        g.memory[a] = allocate(bytes_of(&g, a) + 16);
    return g;
}

static void free_graph(struct graph *g, void (*release)(void *))
{
    for (enum array a = 0; a < ARRAYS; a++)
        release(g->memory[a]);
}

static void *host_new(size_t bytes)
{
    void *p = calloc(bytes, 1);
    if (!p)
        abort();
    return p;
}

static cgtp_graph narrow(const struct graph *g)
{
    return (cgtp_graph){.items = g->items,
                        .senders = g->senders,
                        .receivers = g->receivers,
                        .sender = g->memory[SENDER],
                        .receiver = g->memory[RECEIVER],
                        .receiver_row = g->memory[RECEIVER_ROW],
                        .by_sender = g->memory[BY_SENDER],
                        .sender_row = g->memory[SENDER_ROW]};
}

static cgtp_graph64 wide(const struct graph *g)
{
    return (cgtp_graph64){.items = g->items,
                        .senders = g->senders,
                        .receivers = g->receivers,
                        .sender = g->memory[SENDER],
                        .receiver = g->memory[RECEIVER],
                        .receiver_row = g->memory[RECEIVER_ROW],
                        .by_sender = g->memory[BY_SENDER],
                        .sender_row = g->memory[SENDER_ROW]};
}

static cgtp_status host_index(struct graph *g)
{
    cgtp_graph n = narrow(g);
    cgtp_graph64 w = wide(g);
    return g->size == 4
               ? cgtp_graph_index(&n, g->memory[RECEIVER_ROW], g->memory[BY_SENDER], g->memory[SENDER_ROW])
               : cgtp_graph64_index(&w, g->memory[RECEIVER_ROW], g->memory[BY_SENDER], g->memory[SENDER_ROW]);
}

static cgtp_status host_check(const struct graph *g, int sorted)
{
    cgtp_graph n = narrow(g);
    cgtp_graph64 w = wide(g);
    return g->size == 4 ? cgtp_graph_check(&n, sorted) : cgtp_graph64_check(&w, sorted);
}

static size_t workspace_of(const struct graph *g)
{
    return g->size == 4 ? cgtp_device_graph_workspace(g->items, g->senders, g->receivers)
                        : cgtp_device_graph64_workspace(g->items, g->senders, g->receivers);
}

static cgtp_status device_index(struct graph *g, void *workspace, size_t bytes, void *stream)
{
    cgtp_graph n = narrow(g);
    cgtp_graph64 w = wide(g);
    return g->size == 4 ? cgtp_device_graph_index(&n, g->memory[RECEIVER_ROW], g->memory[BY_SENDER],
                                                  g->memory[SENDER_ROW], workspace, bytes, stream)
                        : cgtp_device_graph64_index(&w, g->memory[RECEIVER_ROW], g->memory[BY_SENDER],
                                                    g->memory[SENDER_ROW], workspace, bytes, stream);
}

static cgtp_status check_on_device(const struct graph *g, int sorted, uint64_t *word, void *stream)
{
    cgtp_graph n = narrow(g);
    cgtp_graph64 w = wide(g);
    cgtp_status status = g->size == 4 ? cgtp_device_graph_check(&n, sorted, word, stream)
                                      : cgtp_device_graph64_check(&w, sorted, word, stream);
    return status ? status : cgtp_device_status_read(word, stream);
}

/* Sorts the list in `from` into `to`; order is an array as long as the list. */
static cgtp_status device_sort(const struct graph *from, struct graph *to, void *order, void *workspace,
                               size_t bytes, void *stream)
{
    return from->size == 4 ? cgtp_device_graph_sort(from->items, from->receivers, from->memory[SENDER],
                                                    from->memory[RECEIVER], to->memory[SENDER],
                                                    to->memory[RECEIVER], order, workspace, bytes, stream)
                           : cgtp_device_graph64_sort(from->items, from->receivers, from->memory[SENDER],
                                                      from->memory[RECEIVER], to->memory[SENDER],
                                                      to->memory[RECEIVER], order, workspace, bytes, stream);
}

static void upload(const struct graph *from, struct graph *to)
{
    for (enum array a = 0; a < ARRAYS; a++)
        memory_write(to->memory[a], from->memory[a], bytes_of(from, a));
}

/* Is an array of the device what the host has? */
static bool same(const struct graph *host, enum array a, const void *device, const char *what)
{
    size_t bytes = bytes_of(host, a);
    unsigned char *now = host_new(bytes + 1);
    memory_read(now, device, bytes);
    bool same = memcmp(now, host->memory[a], bytes) == 0;
    if (!same)
        note("%s differs: %d-byte indices, %lld edges, %lld senders, %lld receivers", what, host->size,
             (long long)host->items, (long long)host->senders, (long long)host->receivers);
    free(now);
    return same;
}

/* A stable counting sort of host's list by receiver; order gets the numbers that the edges had. */
static struct graph sorted_list(const struct graph *g, struct graph *order)
{
    struct graph s = new_graph(g->size, g->items, g->senders, g->receivers, host_new);
    int64_t *start = host_new((size_t)(g->receivers + 2) * sizeof *start);
    for (int64_t e = 0; e < g->items; e++)
        start[get(g, RECEIVER, e) + 1]++;
    for (int64_t r = 0; r < g->receivers; r++)
        start[r + 1] += start[r];
    for (int64_t e = 0; e < g->items; e++) {
        int64_t to = start[get(g, RECEIVER, e)]++;
        put(&s, SENDER, to, get(g, SENDER, e));
        put(&s, RECEIVER, to, get(g, RECEIVER, e));
        put(order, SENDER, to, e);
    }
    free(start);
    return s;
}

/* Sort and index of a random list, started one after the other on a stream or captured and replayed. */
static bool prepare(int size, int64_t items, int64_t senders, int64_t receivers, bool captured)
{
    struct graph list = new_graph(size, items, senders, receivers, host_new);
    struct graph order = new_graph(size, items, senders, receivers, host_new);
    struct graph raw = new_graph(size, items, senders, receivers, memory_new);
    struct graph ready = new_graph(size, items, senders, receivers, memory_new);
    for (int64_t e = 0; e < items; e++) { /* a third ends at few nodes */
        uint64_t h = random_bits((uint64_t)size, (uint64_t)e);
        put(&list, SENDER, e, (int64_t)((h >> 32) % (uint64_t)senders));
        put(&list, RECEIVER, e,
            (int64_t)((h & 0xffffff) % (uint64_t)(h >> 24 & 1 && receivers > 3 ? 3 : receivers)));
    }
    struct graph sorted = sorted_list(&list, &order);
    size_t bytes = workspace_of(&raw);
    void *workspace = memory_new(bytes), *device_order = memory_new(bytes_of(&list, SENDER) + 16);
    void *stream = device_stream_new(), *replay = NULL;
    upload(&list, &raw);
    for (enum array a = 0; a < ARRAYS; a++)
        device_set(ready.memory[a], 0xff, bytes_of(&ready, a), stream);
    device_wait(stream);

    bool good = !captured || device_capture_begin(stream);
    cgtp_status status = device_sort(&raw, &ready, device_order, workspace, bytes, stream);
    status = status ? status : device_index(&ready, workspace, bytes, stream);
    if (captured) {
        replay = device_capture_end(stream);
        good &= replay != NULL;
        if (replay)
            device_replay(replay, stream);
    }
    good = device_wait(stream) && good && host_index(&sorted) == CGTP_OK;
    if (status)
        note("%s", cgtp_status_text(status));
    good = good && !status && same(&order, SENDER, device_order, "order") &&
           same(&sorted, SENDER, ready.memory[SENDER], "sender") &&
           same(&sorted, RECEIVER, ready.memory[RECEIVER], "receiver") &&
           same(&sorted, RECEIVER_ROW, ready.memory[RECEIVER_ROW], "receiver_row") &&
           same(&sorted, BY_SENDER, ready.memory[BY_SENDER], "by_sender") &&
           same(&sorted, SENDER_ROW, ready.memory[SENDER_ROW], "sender_row");
    uint64_t *word = memory_new(sizeof *word);
    good = good && check_on_device(&ready, 1, word, stream) == CGTP_OK &&
           check_on_device(&ready, 0, word, stream) == CGTP_OK;

    memory_free(word);
    if (replay)
        device_capture_free(replay);
    device_stream_free(stream);
    memory_free(workspace);
    memory_free(device_order);
    free_graph(&list, free);
    free_graph(&order, free);
    free_graph(&sorted, free);
    free_graph(&raw, memory_free);
    free_graph(&ready, memory_free);
    return good;
}

/* One number of a good graph is changed, at random, to one near it or far off: device and host must agree, in
 * both orders. Returns how many changed graphs were bad. */
static int spoil(int size, int changes, bool *agree)
{
    const int64_t items = 300, senders = 9, receivers = 11;
    struct graph list = new_graph(size, items, senders, receivers, host_new);
    struct graph order = new_graph(size, items, senders, receivers, host_new);
    struct graph device = new_graph(size, items, senders, receivers, memory_new);
    uint64_t *word = memory_new(sizeof *word);
    int bad = 0;
    for (int64_t e = 0; e < items; e++) {
        put(&list, SENDER, e, (int64_t)(random_bits(3, (uint64_t)e) % (uint64_t)(senders - 1)));
        put(&list, RECEIVER, e, (int64_t)(random_bits(4, (uint64_t)e) % (uint64_t)(receivers - 1)));
    }
    struct graph good = sorted_list(&list, &order);
    *agree = host_index(&good) == CGTP_OK;
    for (int i = 0; i < changes; i++) {
        static const int64_t step[] = {-1, 1, 2, -2, 1000000, -1000000};
        uint64_t h = random_bits(5, (uint64_t)i);
        enum array a = (enum array)(h % ARRAYS);
        int64_t at = (int64_t)((h >> 8) % (uint64_t)count_of(&good, a)), before = get(&good, a, at);
        put(&good, a, at, before + step[(h >> 40) % 6]);
        upload(&good, &device);
        for (int sorted = 0; sorted < 2; sorted++) {
            cgtp_status host = host_check(&good, sorted),
                        found = check_on_device(&device, sorted, word, NULL);
            bad += host != CGTP_OK;
            if (host != found) {
                note("array %d, element %lld changed by %lld, sorted %d: device says %s; host: %s", (int)a,
                     (long long)at, (long long)(get(&good, a, at) - before), sorted, cgtp_status_text(found),
                     cgtp_status_text(host));
                *agree = false;
            }
        }
        put(&good, a, at, before);
    }
    memory_free(word);
    free_graph(&list, free);
    free_graph(&order, free);
    free_graph(&good, free);
    free_graph(&device, memory_free);
    return bad;
}

static bool expect(cgtp_status found, cgtp_status expected, const char *what)
{
    if (found != expected)
        note("%s: %s; expected: %s", what, cgtp_status_text(found), cgtp_status_text(expected));
    return found == expected;
}

static bool wrong_calls(int size)
{
    struct graph g = new_graph(size, 100, 5, 6, memory_new);
    size_t bytes = workspace_of(&g);
    char *workspace = memory_new(bytes + 16);
    uint64_t *word = memory_new(sizeof *word);
    bool good = bytes > 0;
    good &= expect(device_index(&g, NULL, bytes, NULL), CGTP_WORKSPACE, "no workspace");
    good &= expect(device_index(&g, workspace, bytes - 1, NULL), CGTP_WORKSPACE, "a small workspace");
    good &= expect(device_index(&g, workspace + 16, bytes, NULL), CGTP_MISALIGNED, "a misaligned workspace");
    good &= expect(device_sort(&g, &g, NULL, workspace, bytes, NULL), CGTP_NULL_POINTER, "no order");
    good &= expect(check_on_device(&g, 1, NULL, NULL), CGTP_NULL_POINTER, "no status word");
    good &= expect(cgtp_device_status_read(NULL, NULL), CGTP_NULL_POINTER, "reading no status word");
    for (enum array a = 0; a < ARRAYS; a++) {
        struct graph spoilt = g;
        spoilt.memory[a] = NULL;
        good &= expect(device_index(&spoilt, workspace, bytes, NULL), CGTP_NULL_POINTER, "an array missing");
        good &= expect(check_on_device(&spoilt, 1, word, NULL),
                       a == SENDER || a == RECEIVER ? CGTP_NULL_POINTER : CGTP_NOT_INDEXED,
                       "an array missing in a check");
    }
    struct graph negative = g;
    negative.items = -1;
    good &=
        expect(device_index(&negative, workspace, bytes, NULL), CGTP_BAD_SIZE, "a negative number of edges");
    good &= expect(check_on_device(&negative, 1, word, NULL), CGTP_BAD_SIZE,
                   "a negative number of edges in a check");
    negative = g;
    negative.receivers = -1;
    good &=
        expect(device_index(&negative, workspace, bytes, NULL), CGTP_BAD_SIZE, "a negative number of nodes");
    if (size == 4) {
        negative = g;
        negative.items = (int64_t)INT32_MAX + 1;
        good &= expect(device_index(&negative, workspace, bytes, NULL), CGTP_BAD_SIZE, "too many edges");
    }
    memory_free(workspace);
    memory_free(word);
    free_graph(&g, memory_free);
    return good && device_wait(NULL);
}

/* Memory of the host at a multiple of 16 bytes, with numbers of no pattern. */
static void *random_rows(cgtp_type type, int64_t elements, uint64_t seed)
{
    const int size = (int)cgtp_type_size(type);
    void *rows = aligned_alloc(64, ((size_t)elements * (size_t)size + 64) / 64 * 64);
    for (int64_t i = 0; rows && i < elements; i++) {
        const double value = (double)(int64_t)random_bits(seed, (uint64_t)i) * 0x1p-60;
        cgtp_put_number(rows, type, i, value);
    }
    return rows ? rows : host_new(0);
}

static void *uploaded(const void *from, size_t bytes)
{
    void *to = memory_new(bytes);
    memory_write(to, from, bytes);
    return to;
}

static bool same_rows(const void *host, const void *device, size_t bytes)
{
    void *now = host_new(bytes + 1);
    memory_read(now, device, bytes);
    const bool same = memcmp(now, host, bytes) == 0;
    free(now);
    return same;
}

/* Entries of some rows, of which the first has most, added and gathered. */
static bool rows_as_on_host(cgtp_type type, int64_t elements, int64_t entries, bool placed)
{
    const int size = (int)cgtp_type_size(type);
    const int64_t count = entries / 2 + 1;
    int32_t *row = host_new((size_t)entries * 4 + 4), *place = host_new((size_t)entries * 4 + 4);
    for (int64_t i = 0; i < entries; i++) {
        row[i] = (int32_t)(i < entries / 3 ? 0 : i * count / entries);
        place[i] = (int32_t)(entries - 1 - i);
    }
    void *array = random_rows(type, count * elements, 21), *buffer = random_rows(type, entries * elements, 22);
    const size_t array_bytes = (size_t)(count * elements * size), buffer_bytes = (size_t)(entries * elements * size);
    void *memory[4] = {uploaded(array, array_bytes), uploaded(buffer, buffer_bytes), uploaded(row, (size_t)entries * 4),
                       uploaded(place, (size_t)entries * 4)};
    const cgtp_rows host = {entries, elements, type, row, placed ? place : NULL};
    const cgtp_rows device = {entries, elements, type, memory[2], placed ? memory[3] : NULL};
    bool good = cgtp_rows_add(&host, buffer, array) == CGTP_OK &&
                cgtp_device_rows_add(&device, memory[1], memory[0], NULL) == CGTP_OK && device_wait(NULL) &&
                same_rows(array, memory[0], array_bytes);
    good = good && cgtp_rows_gather(&host, array, buffer) == CGTP_OK &&
           cgtp_device_rows_gather(&device, memory[0], memory[1], NULL) == CGTP_OK && device_wait(NULL) &&
           same_rows(buffer, memory[1], buffer_bytes);
    if (!good)
        note("rows of %lld elements of %d bytes, %lld entries: not as on the host", (long long)elements, size,
             (long long)entries);
    for (int i = 0; i < 4; i++)
        memory_free(memory[i]);
    free(row);
    free(place);
    free(array);
    free(buffer);
    return good;
}

static void check_rows(void)
{
    static const int64_t elements[] = {1, 3, 4, 130, 1152}, entries[] = {0, 1, 33, 5000};
    bool good = true;
    for (int type = CGTP_FLOAT32; type <= CGTP_FLOAT16; type++)
        for (int e = 0; e < 5; e++)
            for (int n = 0; n < 4; n++)
                good = rows_as_on_host((cgtp_type)type, elements[e], entries[n], n % 2) &&
                       rows_as_on_host((cgtp_type)type, elements[e], entries[n], n % 2 == 0) && good;
    tap(good, "rows between devices: gathered and added as on the host");
}

void check_graphs(void)
{
    static const int64_t shape[][3] = {{0, 1, 1},
                                       {0, 7, 5},
                                       {1, 1, 1},
                                       {1, 9, 4},
                                       {31, 5, 40},
                                       {32, 1, 50},
                                       {33, 70, 1},
                                       {1000, 33, 31},
                                       {5000, 256, 257},
                                       {4096, 65536, 65537},
                                       {300000, 1000, 70000},
                                       {2000000, 100000, 90000}};
    const int shapes = (int)(sizeof shape / sizeof *shape);
    for (int size = 4; size <= 8; size += 4) {
        bool good = true, captured = true, agree;
        for (int i = 0; i < shapes; i++) {
            good &= prepare(size, shape[i][0], shape[i][1], shape[i][2], false);
            captured &= prepare(size, shape[i][0], shape[i][1], shape[i][2], true);
        }
        tap(good, "graphs, %d-byte indices: sorted and indexed as on the host, %d shapes", size, shapes);
        tap(captured, "graphs, %d-byte indices: the same, captured and replayed", size);
        int bad = spoil(size, 400, &agree);
        tap(agree && bad > 200, "graphs, %d-byte indices: checked as on the host, 400 changes, bad %d times",
            size, bad);
        tap(wrong_calls(size), "graphs, %d-byte indices: wrong calls", size);
    }
    check_rows();
}

#endif
