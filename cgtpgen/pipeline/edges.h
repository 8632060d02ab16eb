/* edges.h - what the files share that print pipelines: of edges, print_edges.c, print_rows.c and
 * print_stores.c; and of items, print_cuda.c and print_items.c, which print what is theirs and all else as
 * with edges.
 */
#ifndef CGTPGEN_EDGES_H
#define CGTPGEN_EDGES_H

#include "pipeline/call.h"
#include "pipeline/pipeline.h"
#include "util/out.h"

struct printer {
    struct out *o;
    struct arena *a;
    const struct pipeline *p;
    const struct print_words *words;
    int at;           /* the step that is printed, or the last of those that are printed with it */
    int side;         /* items, or edges, that a warp has side by side */
    const char *item; /* the number of that which is worked on, where it has one name; NULL */
    bool rows;        /* calls find what they use of a place by one name */
    /* Of edges, print_edges.c: */
    const char *turn, *turns; /* variables: of the loop; how often it turns */
    const char *edge;         /* the number of the edge in its tile */
    /* Of items of which each lane has one, print_cuda.c: */
    int *advanced; /* [groups]: versions that have been brought in this turn */
    int *version;  /* [groups]: which of a turn has a name, where it is an array's; -1: none */
    bool filling;  /* before the first turn */
    /* Of items that warps take in turn, print_items.c: */
    int block;                 /* loop: over the channel blocks of an item; */
    const struct place *first; /* the first of its sets, of which there are `rate`; */
    int set;                   /* that which is worked on */
};

/* All steps: each by the printer's own function for its kind or, where that is NULL or there are none (own
 * NULL), as with edges. */
typedef void print_function(struct printer *, const struct step *);
void edges_steps(struct printer *, print_function *const own[STEP_KINDS]);

/* "set_0_x", "set_0_of_64_w": a table of constants, which the runtime is given. */
const char *edges_table(const struct printer *, int spread, const char *table);

/* "", or "64": what names end in that are of rows of so many channels. */
const char *edges_suffix(const struct printer *, int spread);

/* The type of a row's elements; elements from a row to the next. */
const char *edges_type(const struct printer *, const struct operand *);
const char *edges_stride(const struct printer *, const struct operand *);

/* A row of it, by its number. */
const char *edges_nth(const struct printer *, const struct operand *, const char *number);

/* Where the place's group is, "own.rows"; a field of the place, of the version that is worked on. */
const char *edges_group(const struct printer *, const struct place *);
const char *edges_version(const struct printer *, const struct place *, int field);

/* An element for each of the edges side by side; the row of item `item` (an expression) that a worker's sums
 * of it go to; of sums that a team's warps have a version, and each warp's in it. */
const char *edges_of_item(const struct printer *, const char *name);
const char *edges_item_row(const struct printer *, const struct place *, const char *item);
const char *edges_of_team(const struct printer *, const struct place *, const char *version,
                          const char *warp);

/* Functions by which stores are done that turns have and, for what is left, the tile's end; a store. */
void edges_stores(struct printer *);
void edges_store(struct printer *, const struct step *);

/* A copy, store or zeros of what is there for the launch: rows that all units share, a team's sums over its
 * units; is it one? */
bool edges_of_launch(struct printer *, const struct step *);

/* A field of a place's version, of struct `from`: "at.x_s0". */
const char *edges_field(const struct printer *, const struct place *, int field, const char *from);

/* ", at.x_s0, at.x_s1": that field and those after it of the same operand and spread; from NULL: of the
 * version that is worked on. The first of a spread and an operand (NULL: of any); -1: there is none. */
const char *edges_fields(const struct printer *, const struct place *, int field, const char *from);
int edges_first(const struct place *, const struct operand *, int spread);

/* Has a warp several of them side by side? Lanes of each. */
static inline bool edges_abreast(const struct printer *c)
{
    return c->side > 1;
}
static inline int edges_lanes(const struct printer *c)
{
    return c->p->worker.lanes / c->side;
}

/* Is it a place of the ring? Is there one that comes with the edge's sender? */
bool edges_is_brought(const struct place *);
bool edges_is_of_sender(const struct place *);
bool edges_need_senders(const struct pipeline *);

/* The place of an edge's number of its item; NULL: none. */
const struct place *edges_item(const struct pipeline *);

/* Where rows begin: those that registers hold for as long as the tile lasts; those of an output. */
void edges_rows(struct printer *);
void edges_rows_out(struct printer *, const struct place *);

/* The functions that start copies. */
void edges_loads(struct printer *);

#endif
