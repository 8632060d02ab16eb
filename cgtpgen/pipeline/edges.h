/* edges.h - what the files share that print pipelines of edges: print_edges.c, print_rows.c, print_stores.c.
 */
#ifndef CGTPGEN_EDGES_H
#define CGTPGEN_EDGES_H

#include "pipeline/call.h"
#include "pipeline/pipeline.h"
#include "util/out.h"

struct edges {
    struct out *o;
    struct arena *a;
    const struct pipeline *p;
    const struct print_words *words;
    const char *item; /* the number of that which is worked on, where it has one name; NULL */
    bool rows;        /* calls find what they use of a place by one name */
};

/* "set_0_x", "set_0_of_64_w": a table of constants, which the runtime is given. */
const char *edges_table(const struct edges *, int spread, const char *table);

/* "", or "64": what names end in that are of rows of so many channels. */
const char *edges_suffix(const struct edges *, int spread);

/* The type of a row's elements; elements from a row to the next. */
const char *edges_type(const struct edges *, const struct operand *);
const char *edges_stride(const struct edges *, const struct operand *);

/* A step; returns the number of the last one that was printed with it. */
int edges_step(struct edges *, int i);

/* Where a field of a place is, of the version that is worked on. */
const char *edges_version(const struct edges *, const struct place *, int field);

/* An element for each of the edges side by side; the row of item `item` (an expression) that a worker's sums
 * of it go to; of sums that a team's warps have a version, and each warp's in it. */
const char *edges_of_item(const struct edges *, const char *name);
const char *edges_item_row(const struct edges *, const struct place *, const char *item);
const char *edges_of_team(const struct edges *, const struct place *, const char *version, const char *warp);

/* Functions by which stores are done that turns have and, for what is left, the tile's end; a store. */
void edges_stores(struct edges *);
void edges_store(struct edges *, const struct step *);

/* A copy, store or zeros of what is there for the launch: rows that all units share, a team's sums over its
 * units; is it one? */
bool edges_of_launch(struct edges *, const struct step *);

/* A field of a place's version, of struct `from`: "at.x_s0". */
const char *edges_field(const struct edges *, const struct place *, int field, const char *from);

/* Has the place fields of a spread? */
bool edges_has(const struct place *, int spread);

/* Has a team several edges side by side? */
static inline bool edges_abreast(const struct edges *c)
{
    return c->p->items > 1 && !c->rows;
}

/* Is it weights' gradients? */
static inline bool edges_is_gradient(const struct place *q)
{
    return q->table && q->operand && q->operand->output && q->operand->slot == SLOT_W;
}

/* Is it a place of the ring? Is there one that comes with the edge's sender? */
bool edges_is_brought(const struct place *);
bool edges_is_of_sender(const struct place *);
bool edges_need_senders(const struct pipeline *);

/* The place of an edge's number of its sender, of its item; NULL: none. */
const struct place *edges_number(const struct pipeline *, const char *name);

/* Where rows begin: those that registers hold for as long as the tile lasts; those of an output. */
void edges_rows(struct edges *);
void edges_rows_out(struct edges *, const struct place *);

/* The functions that start copies, and how they are passed. */
void edges_loads(struct edges *);
const char *edges_load_names(const struct edges *);

#endif
