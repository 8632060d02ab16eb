/* driver.c - see driver.h. */
#include "driver.h"

#include "cgtp_types.h"
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

static struct ref_problem *problem_of_descriptor(const cgtp_product *p)
{
    struct ref_problem *r = ref_problem_new(p->irreps[CGTP_X], p->irreps[CGTP_Y], p->irreps[CGTP_Z]);
    for (int i = 0; i < p->paths; i++)
        ref_add_path(r, p->path[i].x, p->path[i].y, p->path[i].z, p->path[i].mode, p->path[i].weighted, 1);
    for (int s = 0; s < REF_SLOTS; s++) /* both enumerations have the same order */
        r->index[s] = (int)p->index[s];
    ref_problem_finish(r);
    return r;
}

struct ref_problem *driver_problem(const cgtp_product *p, const char *folder)
{
    char path[512], name[128];
    if (!folder)
        return problem_of_descriptor(p);
    snprintf(name, sizeof name, "%s", p->name);
    for (;;) {
        snprintf(path, sizeof path, "%s/%s.problem", folder, name);
        FILE *file = fopen(path, "r");
        if (file) {
            struct ref_array array[64];
            int arrays;
            struct ref_problem *r = ref_problem_read(file, path, array, 64, &arrays);
            fclose(file);
            return r;
        }
        char *cut = strrchr(name, '_');
        if (!cut) {
            fprintf(stderr, "%s: no %s.problem in %s\n", p->name, p->name, folder);
            exit(2);
        }
        *cut = 0;
    }
}

int64_t driver_stride(const cgtp_product *p, const struct ref_graph *g, cgtp_slot slot, int i)
{
    const int64_t dim = p->dim[slot], wide = 16 / (int64_t)cgtp_type_size(p->type[slot]);
    const int64_t more = p->strided[slot] ? (g->items + i) % 3 : 0;
    return dim + more * (dim % wide ? dim & -dim : wide);
}

/* ---- graphs ---- */

/* A copy of n elements, in the kernels' memory. */
static void *moved(struct driver_graph *d, int which, const void *from, int64_t n, size_t size)
{
    d->memory[which] = memory_new((size_t)n * size);
    memory_write(d->memory[which], from, (size_t)n * size);
    return d->memory[which];
}

/* How a product takes a graph. */
enum form { ANY, SORTED, ORDERED }; /* with `order`: sorted, but for rows of items */

/* Of products with edges: any every other graph is ordered before. */
static enum form form_of(const cgtp_product *p, const struct ref_graph *g)
{
    return p->sorted ? SORTED : g->items % 2 ? ORDERED : ANY;
}

/* Arrays of a graph in host memory. */
struct lists {
    void *list[5]; /* sender, receiver, sorted both, order */
    void *by_sender;
    int64_t *receiver_row, *sender_row;
};

static struct lists lists_new(const struct ref_graph *g, size_t size)
{
    struct lists l = {.by_sender = host((size_t)g->items * size),
                      .receiver_row = host((size_t)(g->receivers + 1) * sizeof(int64_t)),
                      .sender_row = host((size_t)(g->senders + 1) * sizeof(int64_t))};
    for (int i = 0; i < 5; i++)
        l.list[i] = host((size_t)g->items * size);
    for (int64_t e = 0; e < g->items; e++)
        for (int side = 0; side < 2; side++) {
            const int64_t node = side ? g->receiver[e] : g->sender[e];
            if (size == 8)
                ((int64_t *)l.list[side])[e] = node;
            else
                ((int32_t *)l.list[side])[e] = (int32_t)node;
        }
    return l;
}

static void lists_free(struct lists *l)
{
    for (int i = 0; i < 5; i++)
        free(l->list[i]);
    free(l->by_sender);
    free(l->receiver_row);
    free(l->sender_row);
}

static void make_narrow(struct driver_graph *d, const struct ref_graph *g, enum form form)
{
    struct lists l = lists_new(g, 4);
    cgtp_graph *n = &d->narrow;
    *n = (cgtp_graph){.items = g->items,
                      .senders = g->senders,
                      .receivers = g->receivers,
                      .sender = l.list[0],
                      .receiver = l.list[1]};
    if (form == ORDERED && cgtp_graph_sort(n, l.list[2], l.list[3], l.list[4], l.receiver_row))
        abort();
    if (form != ANY && cgtp_graph_index(n, l.receiver_row, l.by_sender, l.sender_row))
        abort();
    n->sender = moved(d, 0, n->sender, g->items, 4);
    n->receiver = moved(d, 1, n->receiver, g->items, 4);
    if (form != ANY) { /* otherwise nothing may read these */
        n->receiver_row = moved(d, 2, l.receiver_row, g->receivers + 1, sizeof *l.receiver_row);
        n->by_sender = moved(d, 3, l.by_sender, g->items, 4);
        n->sender_row = moved(d, 4, l.sender_row, g->senders + 1, sizeof *l.sender_row);
    }
    if (form == ORDERED)
        n->order = moved(d, 5, l.list[4], g->items, 4);
    lists_free(&l);
}

static void make_wide(struct driver_graph *d, const struct ref_graph *g, enum form form)
{
    struct lists l = lists_new(g, 8);
    cgtp_graph64 *n = &d->wide;
    *n = (cgtp_graph64){.items = g->items,
                        .senders = g->senders,
                        .receivers = g->receivers,
                        .sender = l.list[0],
                        .receiver = l.list[1]};
    if (form == ORDERED && cgtp_graph64_sort(n, l.list[2], l.list[3], l.list[4], l.receiver_row))
        abort();
    if (form != ANY && cgtp_graph64_index(n, l.receiver_row, l.by_sender, l.sender_row))
        abort();
    n->sender = moved(d, 0, n->sender, g->items, 8);
    n->receiver = moved(d, 1, n->receiver, g->items, 8);
    if (form != ANY) {
        n->receiver_row = moved(d, 2, l.receiver_row, g->receivers + 1, sizeof *l.receiver_row);
        n->by_sender = moved(d, 3, l.by_sender, g->items, 8);
        n->sender_row = moved(d, 4, l.sender_row, g->senders + 1, sizeof *l.sender_row);
    }
    if (form == ORDERED)
        n->order = moved(d, 5, l.list[4], g->items, 8);
    lists_free(&l);
}

void driver_graph_make(struct driver_graph *d, const cgtp_product *p, const struct ref_graph *g)
{
    *d = (struct driver_graph){.graph = p->index_size == 8 ? (void *)&d->wide : (void *)&d->narrow};
    if (!p->graph) {
        d->narrow.items = d->wide.items = g->items;
        return;
    }
    if (p->index_size == 8)
        make_wide(d, g, form_of(p, g));
    else
        make_narrow(d, g, form_of(p, g));
}

void driver_graph_free(struct driver_graph *d)
{
    for (int i = 0; i < DRIVER_LISTS; i++)
        memory_free(d->memory[i]);
}

/* ---- fenced arrays ---- */

struct fenced {
    unsigned char *memory; /* fence, data, fence */
    unsigned char *image;  /* what it held before the launch */
    size_t bytes;          /* of the data */
    size_t row, stride;    /* bytes of a row, from a row to the next: what is between rows is fence, too; 0: one row */
};

static void fenced_new(struct fenced *f, size_t bytes)
{
    *f = (struct fenced){memory_new(bytes + 2 * FENCE), host(bytes + 2 * FENCE), bytes, 0, 0};
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
    for (size_t at = f->row; f->stride > f->row && at < f->bytes; at += f->stride)
        *fence |= memcmp(now + FENCE + at, f->image + FENCE + at, f->stride - f->row) != 0;
    return now;
}

static void fenced_free(struct fenced *f)
{
    memory_free(f->memory);
    free(f->image);
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

/* An array of the product's, `rows` rows: fenced. */
static void array_new(struct fenced *f, const cgtp_product *p, cgtp_slot slot, int64_t rows, int64_t stride)
{
    const size_t size = cgtp_type_size(p->type[slot]);
    fenced_new(f, (size_t)(rows * stride) * size);
    f->row = (size_t)p->dim[slot] * size;
    f->stride = (size_t)stride * size;
}

/* Element e of all rows. */
static int64_t place_in(const cgtp_product *p, cgtp_slot slot, int64_t stride, int64_t e)
{
    return e / p->dim[slot] * stride + e % p->dim[slot];
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
    int64_t stride[2 * ARRAYS];
    bool fence, data;
    if (k->inputs > ARRAYS || k->outputs > ARRAYS)
        abort();
    *damage = (struct driver_damage){NULL, NULL};
    for (int i = 0; i < k->inputs; i++) {
        const cgtp_slot slot = k->input[i].slot;
        const int64_t rows_of = driver_rows(p, g, slot), n = rows_of * p->dim[slot];
        const cgtp_type type = p->type[slot];
        stride[i] = driver_stride(p, g, slot, i);
        array_new(&in[i], p, slot, rows_of, stride[i]);
        double *rows = host((size_t)n * sizeof *rows);
        driver_change_layout(p, slot, false, rows, input[i], n);
        for (int64_t e = 0; e < n; e++)
            cgtp_put_number(in[i].image + FENCE, type, place_in(p, slot, stride[i], e), rows[e]);
        free(rows);
        fenced_write(&in[i]);
        in_pointer[i] = in[i].memory + FENCE;
    }
    for (int o = 0; o < k->outputs; o++) {
        const cgtp_slot slot = k->output[o].slot;
        stride[k->inputs + o] = driver_stride(p, g, slot, k->inputs + o);
        array_new(&out[o], p, slot, driver_rows(p, g, slot), stride[k->inputs + o]);
        fenced_write(&out[o]);
        out_pointer[o] = out[o].memory + FENCE;
    }
    fenced_new(&workspace, k->workspace(d->graph));
    fenced_write(&workspace);

    cgtp_status status =
        k->run(d->graph, in_pointer, out_pointer, stride, workspace.memory + FENCE, workspace.bytes, NULL);

    for (int i = 0; i < k->inputs; i++) {
        free(fenced_read(&in[i], &fence, &data));
        note(damage, data, "input", k->input[i].name);
        note(damage, fence, "fence of", k->input[i].name);
        fenced_free(&in[i]);
    }
    for (int o = 0; o < k->outputs; o++) {
        unsigned char *now = fenced_read(&out[o], &fence, &data);
        note(damage, fence, "fence of", k->output[o].name);
        const cgtp_slot slot = k->output[o].slot;
        const cgtp_type type = p->type[slot];
        const int64_t n = driver_rows(p, g, slot) * p->dim[slot];
        double *rows = host((size_t)n * sizeof *rows);
        for (int64_t e = 0; e < n; e++)
            rows[e] = cgtp_get_number(now + FENCE, type, place_in(p, slot, stride[k->inputs + o], e));
        driver_change_layout(p, slot, true, output[o], rows, n);
        free(rows);
        free(now);
        fenced_free(&out[o]);
    }
    free(fenced_read(&workspace, &fence, &data));
    note(damage, fence, "fence of", "the workspace");
    fenced_free(&workspace);
    return status;
}
