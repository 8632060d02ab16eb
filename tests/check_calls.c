/* check_calls.c - wrong calls: every kernel refuses them with the right status, and writes nothing. */
#include "check.h"

#include "memory.h"

#include <stdlib.h>
#include <string.h>

enum { ARRAYS = 32 };

/* A call that would be right, whose parts are then spoilt one at a time. */
struct call {
    struct check *check;
    const cgtp_kernel *kernel;
    struct driver_graph graph;
    const void *input[ARRAYS];
    void *output[ARRAYS];
    int64_t stride[2 * ARRAYS]; /* of the inputs, then the outputs */
    size_t bytes[ARRAYS]; /* of the outputs */
    void *workspace;
    size_t workspace_bytes;
};

static size_t bytes_of(const struct call *call, const struct ref_graph *g, cgtp_slot slot, int64_t stride)
{
    const cgtp_product *p = call->check->product;
    return (size_t)(driver_rows(p, g, slot) * stride) * cgtp_type_size(p->type[slot]);
}

static void *zeros(size_t bytes)
{
    void *p = memory_new(bytes + 64), *image = calloc(bytes + 64, 1);
    if (!image)
        abort();
    memory_write(p, image, bytes + 64);
    free(image);
    return p;
}

static void call_make(struct call *call, struct check *c, const cgtp_kernel *k, const struct ref_graph *g)
{
    *call = (struct call){.check = c, .kernel = k};
    driver_graph_make(&call->graph, c->product, g);
    for (int i = 0; i < k->inputs; i++) {
        call->stride[i] = driver_stride(c->product, g, k->input[i].slot, i);
        call->input[i] = zeros(bytes_of(call, g, k->input[i].slot, call->stride[i]));
    }
    for (int o = 0; o < k->outputs; o++) {
        const int64_t stride = driver_stride(c->product, g, k->output[o].slot, k->inputs + o);
        call->stride[k->inputs + o] = stride;
        call->bytes[o] = bytes_of(call, g, k->output[o].slot, stride);
        call->output[o] = zeros(call->bytes[o]);
    }
    call->workspace_bytes = k->workspace(call->graph.graph);
    call->workspace = zeros(call->workspace_bytes);
}

static void call_free(struct call *call)
{
    for (int i = 0; i < call->kernel->inputs; i++)
        memory_free((void *)call->input[i]);
    for (int o = 0; o < call->kernel->outputs; o++)
        memory_free(call->output[o]);
    memory_free(call->workspace);
    driver_graph_free(&call->graph);
}

/* Makes the call; outputs start as 0xff and, where it is refused, must stay so. */
static void expect(struct call *call, const void *graph, cgtp_status expected, const char *what,
                   const char *name)
{
    void *keep[ARRAYS]; /* the call's own outputs, where a pointer was spoilt */
    unsigned char *image[ARRAYS];
    const cgtp_kernel *k = call->kernel;
    for (int o = 0; o < k->outputs; o++) {
        keep[o] = call->output[o];
        image[o] = malloc(call->bytes[o] + 64);
        if (!image[o])
            abort();
        memset(image[o], 0xff, call->bytes[o]);
        if (keep[o] && (uintptr_t)keep[o] % 16 == 0)
            memory_write(keep[o], image[o], call->bytes[o]);
    }
    cgtp_status status =
        k->run(graph, call->input, call->output, call->stride, call->workspace, call->workspace_bytes, NULL);
    call->check->compared++;
    if (status != expected)
        check_failure(call->check, "%s: %s %s: %s, expected: %s", k->name, what, name,
                      cgtp_status_text(status), cgtp_status_text(expected));
    for (int o = 0; o < k->outputs; o++) {
        bool written = false;
        if (keep[o] && (uintptr_t)keep[o] % 16 == 0)
            memory_read(image[o], keep[o], call->bytes[o]);
        for (size_t i = 0; i < call->bytes[o]; i++)
            written |= image[o][i] != 0xff;
        if (written && expected != CGTP_OK)
            check_failure(call->check, "%s: %s %s: %s was written", k->name, what, name, k->output[o].name);
        free(image[o]);
    }
}

static void spoil_pointers(struct call *call)
{
    const cgtp_kernel *k = call->kernel;
    for (int i = 0; i < k->inputs + k->outputs; i++) {
        const bool in = i < k->inputs;
        const char *name = in ? k->input[i].name : k->output[i - k->inputs].name;
        const cgtp_slot slot = in ? k->input[i].slot : k->output[i - k->inputs].slot;
        const void **place = in ? &call->input[i] : (const void **)(void *)&call->output[i - k->inputs];
        const void *keep = *place;
        *place = (const char *)keep + cgtp_type_size(call->check->product->type[slot]);
        expect(call, call->graph.graph, CGTP_MISALIGNED, "misaligned", name);
        *place = NULL;
        if (call->check->product->dim[slot])
            expect(call, call->graph.graph, CGTP_NULL_POINTER, "null", name);
        *place = keep;
    }
    if (call->workspace_bytes == 0)
        return;
    char *keep = call->workspace;
    call->workspace = NULL;
    expect(call, call->graph.graph, CGTP_WORKSPACE, "null", "workspace");
    call->workspace = keep + 4;
    expect(call, call->graph.graph, CGTP_MISALIGNED, "misaligned", "workspace");
    call->workspace = keep;
    call->workspace_bytes = 0;
    expect(call, call->graph.graph, CGTP_WORKSPACE, "no bytes of", "workspace");
    call->workspace_bytes = k->workspace(call->graph.graph);
}

/* Strides that are no strides of rows. */
static void spoil_strides(struct call *call)
{
    const cgtp_kernel *k = call->kernel;
    const cgtp_product *p = call->check->product;
    for (int i = 0; i < k->inputs + k->outputs; i++) {
        const cgtp_slot slot = i < k->inputs ? k->input[i].slot : k->output[i - k->inputs].slot;
        const char *name = i < k->inputs ? k->input[i].name : k->output[i - k->inputs].name;
        const int64_t keep = call->stride[i], dim = p->dim[slot];
        if (!p->strided[slot] || dim == 0)
            continue;
        call->stride[i] = 0; /* as long as a row is */
        expect(call, call->graph.graph, CGTP_OK, "no stride of", name);
        call->stride[i] = -dim;
        expect(call, call->graph.graph, CGTP_BAD_SIZE, "a negative stride of", name);
        call->stride[i] = INT64_MAX / 2;
        expect(call, call->graph.graph, CGTP_BAD_SIZE, "too large a stride of", name);
        call->stride[i] = dim - 1;
        if (dim > 1)
            expect(call, call->graph.graph, CGTP_BAD_SIZE, "too small a stride of", name);
        call->stride[i] = dim + 1;
        if (dim % 2 == 0)
            expect(call, call->graph.graph, CGTP_MISALIGNED, "an odd stride of", name);
        call->stride[i] = keep;
    }
}

/* Does an array of the kernel, with elements, use the index? */
static bool uses(const struct call *call, cgtp_index index)
{
    const cgtp_product *p = call->check->product;
    const cgtp_kernel *k = call->kernel;
    bool used = false;
    for (int i = 0; i < k->inputs; i++)
        used |= p->index[k->input[i].slot] == index && p->dim[k->input[i].slot];
    for (int o = 0; o < k->outputs; o++)
        used |= p->index[k->output[o].slot] == index && p->dim[k->output[o].slot];
    return used;
}

static void spoil_sizes(struct call *call)
{
    const bool wide = call->check->product->index_size == 8, graph = call->check->product->graph;
    static const char *const name[3] = {"items", "senders", "receivers"};
    static const cgtp_index index[3] = {CGTP_ITEM, CGTP_SENDER, CGTP_RECEIVER};
    expect(call, NULL, CGTP_NULL_POINTER, "null", "graph");
    for (int i = 0; i < (graph ? 3 : 1); i++) {
        cgtp_graph narrow = call->graph.narrow;
        cgtp_graph64 spoilt = call->graph.wide;
        int64_t *n32[3] = {&narrow.items, &narrow.senders, &narrow.receivers};
        int64_t *n64[3] = {&spoilt.items, &spoilt.senders, &spoilt.receivers};
        const void *passed = wide ? (void *)&spoilt : (void *)&narrow;
        *n32[i] = *n64[i] = -1;
        expect(call, passed, CGTP_BAD_SIZE, "a negative number of", name[i]);
        *n32[i] = *n64[i] = INT64_MAX / 2 + 1; /* of as little as a number of 16 bits each */
        if (uses(call, index[i]))
            expect(call, passed, CGTP_BAD_SIZE, "too many", name[i]);
    }
    for (int i = 1; i < 3 && graph; i++) {
        cgtp_graph narrow = call->graph.narrow;
        cgtp_graph64 spoilt = call->graph.wide;
        const void *passed = wide ? (void *)&spoilt : (void *)&narrow;
        if (i == 1)
            narrow.sender = NULL, spoilt.sender = NULL;
        else
            narrow.receiver = NULL, spoilt.receiver = NULL;
        if (uses(call, index[i]))
            expect(call, passed, CGTP_NULL_POINTER, "null list of", name[i]);
    }
}

/* Graphs of which kernels read row pointers, without any: sorted ones, on a GPU also those that the caller has
 * ordered. */
static void spoil_index(struct call *call)
{
    const cgtp_product *p = call->check->product;
    cgtp_graph narrow = call->graph.narrow;
    cgtp_graph64 wide = call->graph.wide;
    narrow.receiver_row = narrow.sender_row = wide.receiver_row = wide.sender_row = NULL;
    narrow.by_sender = NULL;
    wide.by_sender = NULL;
    narrow.order = narrow.sender;
    wide.order = wide.sender;
    const bool reads = p->sorted || (strcmp(p->backend, "cuda") == 0 && !strstr(p->name, "atomic"));
    for (int o = 0; o < call->kernel->outputs && reads; o++)
        if (p->index[call->kernel->output[o].slot] == CGTP_RECEIVER) {
            expect(call, p->index_size == 8 ? (void *)&wide : (void *)&narrow, CGTP_NOT_INDEXED, "no",
                   "row pointers");
            return;
        }
}

/* What the workspace's function says of the graph and what the call does agree: a workspace for numbers that the call
 * takes, where it finds nothing wrong but that all arrays are NULL, and none for those that it refuses. */
static void agree(struct call *call, const void *graph, const char *what, int64_t number)
{
    static const void *const no_input[ARRAYS] = {NULL};
    static void *const no_output[ARRAYS] = {NULL};
    const cgtp_kernel *k = call->kernel;
    const size_t bytes = k->workspace(graph);
    call->check->compared++;
    if (bytes == CGTP_NO_WORKSPACE)
        expect(call, graph, CGTP_BAD_SIZE, "no workspace for a number of", what);
    else if (bytes > PTRDIFF_MAX)
        check_failure(call->check, "%s: %lld %s: a workspace of %zu bytes", k->name, (long long)number, what, bytes);
    else if (k->run(graph, no_input, no_output, NULL, NULL, 0, NULL) == CGTP_BAD_SIZE)
        check_failure(call->check, "%s: %lld %s: a workspace of %zu bytes, but the call is refused", k->name,
                      (long long)number, what, bytes);
}

/* Numbers of rows, with edges and without. */
static void check_workspace(struct call *call)
{
    static const char *const name[3] = {"items", "senders", "receivers"};
    const int64_t number[] = {-1,           INT64_MIN,     INT64_MAX,      INT64_MAX / 2, INT64_MAX / 2 + 1, INT64_MAX / 64,
                              INT32_MAX, (int64_t)INT32_MAX + 1, 0};
    const cgtp_product *p = call->check->product;
    if (call->kernel->workspace(NULL) != CGTP_NO_WORKSPACE)
        check_failure(call->check, "%s: a workspace for no graph", call->kernel->name);
    for (int i = 0; i < (p->graph ? 3 : 1); i++)
        for (size_t s = 0; s < 2 * sizeof number / sizeof *number; s++) {
            cgtp_graph narrow = call->graph.narrow;
            cgtp_graph64 wide = call->graph.wide;
            int64_t *n32[3] = {&narrow.items, &narrow.senders, &narrow.receivers};
            int64_t *n64[3] = {&wide.items, &wide.senders, &wide.receivers};
            if (s % 2)
                narrow.items = wide.items = 0;
            *n32[i] = *n64[i] = number[s / 2];
            agree(call, p->index_size == 8 ? (void *)&wide : (void *)&narrow, name[i], number[s / 2]);
        }
    cgtp_graph narrow = call->graph.narrow;
    narrow.items = (int64_t)INT32_MAX + 1;
    if (p->graph && p->sorted && p->index_size == 4)
        expect(call, &narrow, CGTP_BAD_SIZE, "more than int32 numbers of", "edges");
}

/* Without items nothing is needed but arrays that have rows, and sums over items are zero. */
static void call_nothing(struct check *c, const cgtp_kernel *k, int64_t nodes)
{
    const bool wide = c->product->index_size == 8;
    const struct ref_graph none = {.senders = nodes, .receivers = nodes};
    cgtp_graph narrow = {.senders = nodes, .receivers = nodes};
    cgtp_graph64 graph64 = {.senders = nodes, .receivers = nodes};
    const void *in[ARRAYS], *graph = wide ? (void *)&graph64 : (void *)&narrow;
    void *out[ARRAYS];
    struct call call = {.check = c};
    for (int i = 0; i < k->inputs; i++) {
        const size_t bytes = bytes_of(&call, &none, k->input[i].slot, c->product->dim[k->input[i].slot]);
        in[i] = bytes ? zeros(bytes) : NULL;
    }
    for (int o = 0; o < k->outputs; o++) {
        const size_t bytes = bytes_of(&call, &none, k->output[o].slot, c->product->dim[k->output[o].slot]);
        unsigned char *image = calloc(bytes + 1, 1);
        if (!image)
            abort();
        out[o] = bytes ? memory_new(bytes) : NULL;
        memset(image, 0xff, bytes);
        if (bytes)
            memory_write(out[o], image, bytes);
        free(image);
    }
    const size_t needed = k->workspace(graph);
    cgtp_status status = k->run(graph, in, out, NULL, NULL, 0, NULL);
    c->compared++;
    if (needed || status != CGTP_OK)
        check_failure(c, "%s: nothing, %lld nodes: %zu bytes, %s", k->name, (long long)nodes, needed,
                      cgtp_status_text(status));
    for (int i = 0; i < k->inputs; i++)
        memory_free((void *)in[i]);
    for (int o = 0; o < k->outputs; o++) {
        const size_t bytes = bytes_of(&call, &none, k->output[o].slot, c->product->dim[k->output[o].slot]);
        unsigned char *image = calloc(bytes + 1, 1), wrong = 0;
        if (!image)
            abort();
        if (bytes)
            memory_read(image, out[o], bytes);
        for (size_t i = 0; i < bytes; i++)
            wrong |= image[i];
        if (wrong)
            check_failure(c, "%s: nothing, %lld nodes: %s is not zero", k->name, (long long)nodes,
                          k->output[o].name);
        free(image);
        memory_free(out[o]);
    }
}

void check_calls(struct check *c)
{
    struct ref_graph some = check_graph(c, 3, 2, 2), none = check_graph(c, 0, 2, 2);
    for (int i = 0; i < c->product->kernels; i++) {
        const cgtp_kernel *k = &c->product->kernel[i];
        struct call call;
        call_make(&call, c, k, &some);
        expect(&call, call.graph.graph, CGTP_OK, "a right", "call");
        spoil_sizes(&call);
        check_workspace(&call);
        spoil_index(&call);
        spoil_pointers(&call);
        spoil_strides(&call);
        call_free(&call);

        call_make(&call, c, k, &none); /* arrays without elements may be NULL */
        for (int a = 0; a < k->inputs; a++)
            if (c->product->index[k->input[a].slot] == CGTP_ITEM) {
                memory_free((void *)call.input[a]);
                call.input[a] = NULL;
            }
        for (int o = 0; o < k->outputs; o++)
            if (c->product->index[k->output[o].slot] == CGTP_ITEM) {
                memory_free(call.output[o]);
                call.output[o] = NULL;
            }
        expect(&call, call.graph.graph, CGTP_OK, "no items and null", "arrays");
        call_free(&call);

        call_nothing(c, k, 0);
        call_nothing(c, k, c->product->graph ? 2 : 0);
    }
    check_graph_free(&some);
    check_graph_free(&none);
}
