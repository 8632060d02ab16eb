/* staged_parts.c - staged items: into which parts an item's weights are cut, and the passes of each. */
#include "schedule/path.h"
#include "schedule/staged/staged_plan.h"

#include <stdlib.h>

enum {
    ROWS_TOGETHER =
        16,        /* channels of x between which a path's weights are cut, or fewer where they must be */
    LOAD_WORK = 2, /* instructions of a turn of a loop beside its multiply-adds, and of a path */
    PATH_WORK = 30
};

/* ---- parts ---- */

/* How many of `rows` channels of x, with `length` weights each, go where there is room for so many elements;
 * 0: none, and there never is where no part has more than `most`. wide: elements of 16 bytes. */
static int rows_that_fit(int wide, int rows, int length, int64_t room, int64_t most)
{
    int unit = ROWS_TOGETHER;
    if ((int64_t)rows * length <= room)
        return rows;
    while (unit > wide && (int64_t)unit * length > most)
        unit /= 2;
    return (int)(room / length / unit * unit);
}

/* Parts of at most `most` elements, in the order of the paths; counts them where there is no list of parts.
 * fill: a part takes what it can of a path, even where the next could take all of it. 0: a path has rows too
 * long. */
static int cut(const struct staged *g, int64_t most, bool fill, struct staged_part *part,
               struct staged_piece *piece)
{
    const struct problem *p = g->demand->plan->problem;
    const int wide = 16 / kernel_size(g->demand->kernel);
    const int64_t fresh = most - wide + 1; /* that a part has at least for a path that it begins with */
    int64_t base = 0;
    int parts = 0, pieces = 0;
    bool begun = false;
    for (int i = 0; i < p->paths; i++) {
        const struct path *q = &p->path[i];
        for (int from = 0; g->passes[i] && from < q->mul_x;) {
            const int length = staged_row_length(q); /* of a channel of x */
            const int64_t start = q->weight_offset + (int64_t)from * length;
            if (!begun)
                base = start / wide * wide;
            int rows = rows_that_fit(wide, q->mul_x - from, length, most - (start - base), fresh);
            if (begun && !fill && from == 0 && rows < q->mul_x && q->weight_numel <= fresh)
                rows = 0;
            if (rows <= 0 && !begun)
                return 0;
            if (rows > 0 && part) {
                if (!begun)
                    part[parts] = (struct staged_part){
                        .base = base, .from = (int)(start - base), .piece = piece + pieces};
                piece[pieces++] = (struct staged_piece){i, from, from + rows, {-1, -1}};
                part[parts].pieces++;
                part[parts].to = (int)(start - base) + rows * length;
            }
            from += rows > 0 ? rows : 0;
            begun = rows > 0;
            parts += rows <= 0;
        }
    }
    return parts + begun;
}

static bool cut_to(struct arena *a, struct staged *g, int64_t most, bool fill)
{
    const int parts = cut(g, most, fill, NULL, NULL);
    if (parts == 0)
        return false;
    struct staged_piece *piece =
        NEW_ARRAY(a, struct staged_piece, parts + g->demand->plan->problem->paths + 1);
    g->parts = parts;
    g->part = NEW_ARRAY(a, struct staged_part, parts);
    cut(g, most, fill, g->part, piece);
    return true;
}

/* The fewest elements of parts of which there are at most so many. */
static int64_t shortest(const struct staged *g, int parts, bool fill)
{
    int64_t too_few = 0, most = g->demand->plan->problem->weight_numel;
    while (most - too_few > 1) {
        const int64_t middle = too_few + (most - too_few) / 2;
        const int n = cut(g, middle, fill, NULL, NULL);
        if (n > 0 && n <= parts)
            most = middle;
        else
            too_few = middle;
    }
    return most;
}

bool staged_cut(struct arena *a, struct staged *g, int parts)
{
    const int64_t whole = shortest(g, parts, false), filled = shortest(g, parts, true);
    return filled < whole ? cut_to(a, g, filled, true) : cut_to(a, g, whole, false);
}

void staged_whole(struct arena *a, struct staged *g)
{
    const struct problem *p = g->demand->plan->problem;
    g->whole = (struct staged_part){.to = (int)p->weight_numel,
                                    .piece = NEW_ARRAY(a, struct staged_piece, p->paths + 1)};
    for (int i = 0; i < p->paths; i++)
        if (staged_variant(g, i))
            g->whole.piece[g->whole.pieces++] = (struct staged_piece){i, 0, p->path[i].mul_x, {-1, -1}};
    g->parts = 1;
    g->part = &g->whole;
}

/* ---- passes ---- */

int staged_together(const struct demand *d, const struct path *p)
{
    int most = 16 / kernel_size(d->kernel);
    for (int i = 0; i < d->kernel->form->inputs + d->kernel->form->outputs; i++) {
        const struct operand *o = &d->kernel->operand[i];
        const struct operand_block *b = operand_block_of(o, p);
        bool stands = o->slot == SLOT_W || o->slot == SLOT_G;
        while (stands && (most > b->alignment || (block_is_apart(b) && b->component % most)))
            most /= 2;
    }
    while (p->mul_z % most)
        most /= 2;
    return most;
}

int staged_segment(const struct path *p, enum staged_by by)
{
    return by == BY_ROWS ? p->x : p->z;
}

/* Instructions of a piece for the rows of weights of a lane, and for its columns. */
static int row_work(const struct staged *g, const struct path *p, int channels)
{
    const struct demand *d = g->demand;
    const struct variant *v = staged_variant(g, p->number);
    const struct path_code code = g->code[p->number];
    int products = v->ps, work = PATH_WORK;
    for (int w = 0; w < v->ws; w++)
        products += v->w[w].parts;
    if (!staged_connects(p))
        work +=
            (2 * p->l3 + 1) * (demand_inputs_of(d, SLOT_G) + demand_outputs_of(d, SLOT_G)); /* by 8 bytes */
    if (products)
        work += p->mul_z * (products * (2 * p->l3 + 1) + LOAD_WORK);
    for (int i = 0; i < 2; i++) {
        const struct code *c = i ? code.tensor : code.product;
        work += c ? channels * code_instructions(c->channel) + code_instructions(c->item) : 0;
    }
    return work * staged_rows(p);
}

static int column_work(const struct staged *g, const struct staged_piece *q, const struct path *p)
{
    return staged_variant(g, p->number)->zs * (q->to - q->from) * staged_rows(p) * (2 * p->l3 + LOAD_WORK);
}

int staged_row_channels(const struct staged *g, const struct path *p)
{
    const struct kernel_plan *k = g->demand->kernel;
    bool two = g->wide && p->mode == MODE_UVU && kernel_size(k) == 4 && p->mul_x % 2 == 0;
    for (int i = 0; i < k->form->inputs + k->form->outputs; i++) {
        const struct operand *o = &k->operand[i];
        const struct operand_block *b = operand_block_of(o, p);
        if (o->slot == SLOT_X || o->slot == SLOT_G)
            two &= b->alignment % 2 == 0 && (!block_is_apart(b) || b->component % 2 == 0);
    }
    return two ? 2 : 1;
}

/* What a segment has of a part. */
struct share {
    const struct staged_part *of; /* the part that the other fields are of */
    int first, last;              /* pieces */
    int from, to;                 /* channels */
    int each, work, more; /* channels of a lane; instructions, and those of one more channel of a lane */
};

/* Adds a piece to what its segment has of the part. Returns whether it is the first. */
static bool add_piece(const struct staged *g, struct share *s, const struct staged_part *part, int number,
                      enum staged_by by)
{
    struct staged_piece *q = &part->piece[number];
    const struct path *p = &g->demand->plan->problem->path[q->path];
    const int from = by == BY_ROWS ? q->from : 0, to = by == BY_ROWS ? q->to : p->mul_z;
    const int each = by == BY_ROWS ? staged_row_channels(g, p) : staged_together(g->demand, p);
    const bool first = s->of != part;
    if (first)
        *s = (struct share){part, number, number, from, to, each, 0, 0};
    else
        part->piece[s->last].next[by] = number;
    s->last = number;
    s->from = from < s->from ? from : s->from;
    s->to = to > s->to ? to : s->to;
    s->each = each < s->each ? each : s->each;
    s->work += by == BY_ROWS ? row_work(g, p, 1) : column_work(g, q, p);
    s->more += by == BY_ROWS ? row_work(g, p, 2) - row_work(g, p, 1) : 0;
    return first;
}

/* Passes by rows, or by columns, of a part. share: [segments]. */
static void find_passes(struct arena *a, const struct staged *g, struct staged_part *part,
                        struct share *share, enum staged_by by)
{
    const struct problem *p = g->demand->plan->problem;
    int *order = NEW_ARRAY(a, int, part->pieces + 1), segments = 0, capacity = 0;
    part->passes[by] = 0;
    for (int i = 0; i < part->pieces; i++) {
        const struct path *path = &p->path[part->piece[i].path];
        const int segment = staged_segment(path, by);
        if (by == BY_COLUMNS && !staged_connects(path))
            continue;
        if (add_piece(g, &share[segment], part, i, by))
            order[segments++] = segment;
    }
    for (int k = 0; k < segments; k++) {
        struct share *s = &share[order[k]];
        while (s->each > 1 &&
               s->to - s->from <= STAGED_LANES * s->each / 2) /* no wider than the lanes need */
            s->each /= 2;
        if (by == BY_ROWS &&
            (s->to - s->from - 1) / STAGED_LANES % 2 == 0) /* as many passes, or more than half */
            s->each = 1;
        for (int at = s->from; at < s->to && s->work; at += STAGED_LANES * s->each) {
            const int rest = (s->to - at) / s->each;
            part->pass[by] =
                arena_grow(a, part->pass[by], part->passes[by], &capacity, sizeof(struct staged_pass));
            part->pass[by][part->passes[by]++] =
                (struct staged_pass){.segment = order[k],
                                     .first = at,
                                     .lanes = rest < STAGED_LANES ? rest : STAGED_LANES,
                                     .channels = s->each,
                                     .piece = s->first,
                                     .work = s->work + (s->each > 1 ? s->more : 0)};
        }
    }
}

/* Passes that are one warp's. */
struct bundle {
    int number, work, warp; /* the order in which it was met; instructions of all */
};

/* The longest first; those of equal length in their order. */
static int compare_work(const void *left, const void *right)
{
    const struct bundle *const *a = left, *const *b = right;
    return (*a)->work != (*b)->work ? ((*a)->work < (*b)->work ? 1 : -1)
                                    : ((*a)->number > (*b)->number) - ((*a)->number < (*b)->number);
}

static int root_of(int *parent, int x)
{
    while (parent[x] != x)
        x = parent[x] = parent[parent[x]];
    return x;
}

/* For each segment of x: one of those whose paths make the same segments of z by rows; -1: there is no other.
 */
static int *tie_segments(struct arena *a, const struct staged *g)
{
    const struct problem *p = g->demand->plan->problem;
    int *parent = NEW_ARRAY(a, int, p->x.n + 1), *size = NEW_ARRAY(a, int, p->x.n + 1);
    int *writer = NEW_ARRAY(a, int, p->z.n + 1); /* of a segment of z: a segment of x, and 1 */
    for (int x = 0; x < p->x.n; x++)
        parent[x] = x;
    for (int i = 0; i < p->paths && demand_outputs_of(g->demand, SLOT_G); i++) {
        const struct path *q = &p->path[i];
        if (!g->passes[i] || staged_connects(q))
            continue;
        if (writer[q->z])
            parent[root_of(parent, q->x)] = root_of(parent, writer[q->z] - 1);
        writer[q->z] = q->x + 1;
    }
    for (int x = 0; x < p->x.n; x++)
        size[root_of(parent, x)]++;
    int *tie = NEW_ARRAY(a, int, p->x.n + 1);
    for (int x = 0; x < p->x.n; x++)
        tie[x] = size[root_of(parent, x)] > 1 ? root_of(parent, x) : -1;
    return tie;
}

/* Deals passes out to the warps of a team, the longest first, each to the one with least to do. Those of tied
 * segments go to one warp. tie: [segments]; NULL: none are. */
static void deal(struct arena *a, int n, struct staged_pass *pass, int warps, int segments, const int *tie)
{
    struct bundle *bundle = NEW_ARRAY(a, struct bundle, n + 1),
                  **order = NEW_ARRAY(a, struct bundle *, n + 1);
    int *busy = NEW_ARRAY(a, int, warps), *of = NEW_ARRAY(a, int, n + 1),
        *met = NEW_ARRAY(a, int, segments + 1);
    int bundles = 0;
    for (int i = 0; i < n; i++) {
        const int root = tie ? tie[pass[i].segment] : -1;
        pass[i].tied = root >= 0;
        of[i] = root >= 0 && met[root] ? met[root] - 1 : bundles++;
        if (root >= 0)
            met[root] = of[i] + 1;
        bundle[of[i]].number = of[i];
        bundle[of[i]].work += pass[i].work;
        order[of[i]] = &bundle[of[i]];
    }
    qsort(order, (size_t)bundles, sizeof(struct bundle *), compare_work);
    for (int i = 0; i < bundles; i++) {
        int warp = 0;
        for (int k = 1; k < warps; k++)
            warp = busy[k] < busy[warp] ? k : warp;
        order[i]->warp = warp;
        busy[warp] += order[i]->work;
    }
    for (int i = 0; i < n; i++)
        pass[i].warp = bundle[of[i]].warp;
}

/* Are two paths by rows the same but for where their channels are? */
static bool paths_alike(const struct staged *g, int first, int second)
{
    const struct kernel_plan *k = g->demand->kernel;
    const struct path *a = &g->demand->plan->problem->path[first],
                      *b = &g->demand->plan->problem->path[second];
    bool alike = !staged_connects(a) && !staged_connects(b) && a->mode == MODE_UVU && b->mode == MODE_UVU &&
                 a->y == b->y && a->weighted == b->weighted && g->matrix[first] == g->matrix[second] &&
                 g->code[first].product == g->code[second].product && g->added[first] == g->added[second] &&
                 g->factor[first].sign == g->factor[second].sign &&
                 (!g->factor[first].sign || surd_equal(g->factor[first], g->factor[second]));
    for (int i = 0; i < k->form->inputs + k->form->outputs && alike; i++) {
        const struct operand *q = &k->operand[i];
        const struct operand_block *c = operand_block_of(q, a), *d = operand_block_of(q, b);
        alike = c->channel == d->channel && c->component == d->component;
    }
    return alike;
}

bool staged_alike(const struct staged *g, const struct staged_part *part, const struct staged_pass *first,
                  const struct staged_pass *second, int *path)
{
    if (first->tied || second->tied || first->channels > 1 || second->channels > 1 || first->first ||
        second->first)
        return false;
    int a = first->piece, b = second->piece;
    for (; a >= 0 && b >= 0; a = part->piece[a].next[BY_ROWS], b = part->piece[b].next[BY_ROWS]) {
        if (!paths_alike(g, part->piece[a].path, part->piece[b].path))
            return false;
        if (path)
            path[part->piece[a].path] = part->piece[b].path;
    }
    return a < 0 && b < 0;
}

static void passes_of(struct arena *a, const struct staged *g, struct staged_part *part, const int *tie,
                      struct share *const *share)
{
    const int segments = g->demand->plan->problem->x.n;
    for (enum staged_by by = BY_COLUMNS; by < BY_COUNT; by++) {
        if (by == BY_ROWS || demand_outputs_of(g->demand, SLOT_G))
            find_passes(a, g, part, share[by], by);
        deal(a, part->passes[by], part->pass[by], g->warps, segments, by == BY_ROWS ? tie : NULL);
    }
}

void staged_passes(struct arena *a, struct staged *g)
{
    const struct problem *p = g->demand->plan->problem;
    struct share *const share[BY_COUNT] = {NEW_ARRAY(a, struct share, p->z.n + 1),
                                           NEW_ARRAY(a, struct share, p->x.n + 1)};
    const int *tie = tie_segments(a, g);
    passes_of(a, g, &g->whole, tie, share);
    for (int i = 0; i < g->parts && staged_in_parts(g); i++)
        passes_of(a, g, &g->part[i], tie, share);
}
