/* driver.c - see driver.h. */
#include "driver.h"

#include "memory.h"

#include <stdlib.h>
#include <string.h>

enum { ARRAYS = 32, FENCE = 64 };

static void *host(size_t bytes)
{
    void *p = malloc(bytes + 1);
    if (!p)
        abort();
    return p;
}

int64_t driver_rows(const cgtp_product *p, const struct ref_graph *g, cgtp_slot slot)
{
    switch (p->index[slot]) {
    case CGTP_SENDER:
        return g->senders;
    case CGTP_RECEIVER:
        return g->receivers;
    case CGTP_SHARED:
        return 1;
    default:
        return g->items;
    }
}

/* ---- graphs ---- */

/* A copy of n elements, in the kernels' memory. */
static void *moved(struct driver_graph *d, int which, void *from, int64_t n, size_t size)
{
    d->memory[which] = memory_new((size_t)n * size);
    memory_write(d->memory[which], from, (size_t)n * size);
    free(from);
    return d->memory[which];
}

static void make_narrow(struct driver_graph *d, const struct ref_graph *g, int sorted)
{
    size_t n = (size_t)g->items;
    int32_t *sender = host(n * sizeof *sender), *receiver = host(n * sizeof *receiver),
            *by = host(n * sizeof *by);
    int64_t *receiver_row = host((size_t)(g->receivers + 1) * sizeof(int64_t)),
            *sender_row = host((size_t)(g->senders + 1) * sizeof(int64_t));
    for (int64_t e = 0; e < g->items; e++) {
        sender[e] = (int32_t)g->sender[e];
        receiver[e] = (int32_t)g->receiver[e];
    }
    d->narrow = (cgtp_graph){g->items, g->senders, g->receivers, sender, receiver, NULL, NULL, NULL};
    if (sorted && cgtp_graph_index(&d->narrow, receiver_row, by, sender_row) != CGTP_OK)
        abort();
    d->narrow.sender = moved(d, 0, sender, g->items, sizeof *sender);
    d->narrow.receiver = moved(d, 1, receiver, g->items, sizeof *receiver);
    if (!sorted) { /* then nothing may read these */
        free(receiver_row);
        free(by);
        free(sender_row);
        return;
    }
    d->narrow.receiver_row = moved(d, 2, receiver_row, g->receivers + 1, sizeof *receiver_row);
    d->narrow.by_sender = moved(d, 3, by, g->items, sizeof *by);
    d->narrow.sender_row = moved(d, 4, sender_row, g->senders + 1, sizeof *sender_row);
}

static void make_wide(struct driver_graph *d, const struct ref_graph *g, int sorted)
{
    size_t n = (size_t)g->items * sizeof(int64_t);
    int64_t *sender = host(n), *receiver = host(n), *by = host(n),
            *receiver_row = host((size_t)(g->receivers + 1) * sizeof(int64_t)),
            *sender_row = host((size_t)(g->senders + 1) * sizeof(int64_t));
    for (int64_t e = 0; e < g->items; e++) {
        sender[e] = g->sender[e];
        receiver[e] = g->receiver[e];
    }
    d->wide = (cgtp_graph64){g->items, g->senders, g->receivers, sender, receiver, NULL, NULL, NULL};
    if (sorted && cgtp_graph64_index(&d->wide, receiver_row, by, sender_row) != CGTP_OK)
        abort();
    d->wide.sender = moved(d, 0, sender, g->items, sizeof *sender);
    d->wide.receiver = moved(d, 1, receiver, g->items, sizeof *receiver);
    if (!sorted) {
        free(receiver_row);
        free(by);
        free(sender_row);
        return;
    }
    d->wide.receiver_row = moved(d, 2, receiver_row, g->receivers + 1, sizeof *receiver_row);
    d->wide.by_sender = moved(d, 3, by, g->items, sizeof *by);
    d->wide.sender_row = moved(d, 4, sender_row, g->senders + 1, sizeof *sender_row);
}

void driver_graph_make(struct driver_graph *d, const cgtp_product *p, const struct ref_graph *g)
{
    *d = (struct driver_graph){.graph = p->index_size == 8 ? (void *)&d->wide : (void *)&d->narrow};
    if (!p->graph) {
        d->narrow.items = d->wide.items = g->items;
        return;
    }
    if (p->index_size == 8)
        make_wide(d, g, p->sorted);
    else
        make_narrow(d, g, p->sorted);
}

void driver_graph_free(struct driver_graph *d)
{
    for (int i = 0; i < 5; i++)
        memory_free(d->memory[i]);
}

/* ---- fenced arrays ---- */

struct fenced {
    unsigned char *memory; /* fence, data, fence */
    unsigned char *image;  /* what it held before the launch */
    size_t bytes;          /* of the data */
};

static void fenced_new(struct fenced *f, size_t bytes)
{
    *f = (struct fenced){memory_new(bytes + 2 * FENCE), host(bytes + 2 * FENCE), bytes};
    memset(f->image, 0xff, bytes + 2 * FENCE); /* a NaN in every type */
}

static void fenced_write(struct fenced *f)
{
    memory_write(f->memory, f->image, f->bytes + 2 * FENCE);
}

/* Reads back into a new array; which part has changed? */
static unsigned char *fenced_read(const struct fenced *f, bool *fence, bool *data)
{
    unsigned char *now = host(f->bytes + 2 * FENCE);
    memory_read(now, f->memory, f->bytes + 2 * FENCE);
    *fence = memcmp(now, f->image, FENCE) != 0 ||
             memcmp(now + FENCE + f->bytes, f->image + FENCE + f->bytes, FENCE) != 0;
    *data = memcmp(now + FENCE, f->image + FENCE, f->bytes) != 0;
    return now;
}

static void fenced_free(struct fenced *f)
{
    memory_free(f->memory);
    free(f->image);
}

static void to_real(int size, unsigned char *to, const double *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (size == 8)
            memcpy(to + 8 * i, from + i, 8);
        else
            memcpy(to + 4 * i, &(float){(float)from[i]}, 4);
}

static void from_real(int size, double *to, const unsigned char *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float narrow;
        if (size == 8) {
            memcpy(to + i, from + 8 * i, 8);
        } else {
            memcpy(&narrow, from + 4 * i, 4);
            to[i] = narrow;
        }
    }
}

/* ---- layouts ---- */

/* The element of a row that is element e of the row in layout mul_ir, for each e; NULL: the same one. */
static int64_t *places_of(const cgtp_product *p, cgtp_slot slot)
{
    if (slot == CGTP_W || p->layout[slot] == CGTP_MUL_IR)
        return NULL;
    struct ref_problem *r = ref_problem_new(p->irreps[slot], "", "");
    const struct ref_irreps *irreps = &r->irreps[REF_X];
    int64_t *place = host((size_t)irreps->dim * sizeof *place);
    for (int s = 0; s < irreps->n; s++) {
        const struct ref_segment *g = &irreps->segment[s];
        const int d = 2 * g->l + 1;
        for (int u = 0; u < g->mul; u++)
            for (int i = 0; i < d; i++)
                place[g->offset + u * d + i] = g->offset + (int64_t)i * g->mul + u;
    }
    ref_problem_free(r);
    return place;
}

void driver_change_layout(const cgtp_product *p, cgtp_slot slot, bool back, double *to, const double *from,
                          int64_t n)
{
    int64_t *place = places_of(p, slot);
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = i % p->dim[slot], there = place ? i - at + place[at] : i;
        to[back ? i : there] = from[back ? there : i];
    }
    free(place);
}

static void note(struct driver_damage *d, bool damaged, const char *what, const char *name)
{
    if (damaged && !d->what)
        *d = (struct driver_damage){what, name};
}

cgtp_status driver_run(const cgtp_product *p, const cgtp_kernel *k, const struct ref_graph *g,
                       const struct driver_graph *d, const double *const *input, double *const *output,
                       struct driver_damage *damage)
{
    struct fenced in[ARRAYS], out[ARRAYS], workspace;
    const void *in_pointer[ARRAYS];
    void *out_pointer[ARRAYS];
    const int size = p->scalar_size;
    bool fence, data;
    if (k->inputs > ARRAYS || k->outputs > ARRAYS)
        abort();
    *damage = (struct driver_damage){NULL, NULL};
    for (int i = 0; i < k->inputs; i++) {
        int64_t n = driver_rows(p, g, k->input[i].slot) * p->dim[k->input[i].slot];
        fenced_new(&in[i], (size_t)n * (size_t)size);
        double *rows = host((size_t)n * sizeof *rows);
        driver_change_layout(p, k->input[i].slot, false, rows, input[i], n);
        to_real(size, in[i].image + FENCE, rows, n);
        free(rows);
        fenced_write(&in[i]);
        in_pointer[i] = in[i].memory + FENCE;
    }
    for (int o = 0; o < k->outputs; o++) {
        int64_t n = driver_rows(p, g, k->output[o].slot) * p->dim[k->output[o].slot];
        fenced_new(&out[o], (size_t)n * (size_t)size);
        fenced_write(&out[o]);
        out_pointer[o] = out[o].memory + FENCE;
    }
    fenced_new(&workspace, k->workspace(d->graph));
    fenced_write(&workspace);

    cgtp_status status =
        k->run(d->graph, in_pointer, out_pointer, workspace.memory + FENCE, workspace.bytes, NULL);

    for (int i = 0; i < k->inputs; i++) {
        free(fenced_read(&in[i], &fence, &data));
        note(damage, data, "input", k->input[i].name);
        note(damage, fence, "fence of", k->input[i].name);
        fenced_free(&in[i]);
    }
    for (int o = 0; o < k->outputs; o++) {
        unsigned char *now = fenced_read(&out[o], &fence, &data);
        note(damage, fence, "fence of", k->output[o].name);
        const int64_t n = (int64_t)(out[o].bytes / (size_t)size);
        double *rows = host((size_t)n * sizeof *rows);
        from_real(size, rows, now + FENCE, n);
        driver_change_layout(p, k->output[o].slot, true, output[o], rows, n);
        free(rows);
        free(now);
        fenced_free(&out[o]);
    }
    free(fenced_read(&workspace, &fence, &data));
    note(damage, fence, "fence of", "the workspace");
    fenced_free(&workspace);
    return status;
}
