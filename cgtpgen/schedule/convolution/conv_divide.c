/* conv_divide.c - the pipelined convolution: divides paths into sets within limits. */
#include "schedule/convolution/conv_plan.h"

#include <limits.h>
#include <string.h>

/* Those that are computed together follow each other. */
static int by_operands(const struct convolution *g, int a, int b)
{
    const struct path *path = g->demand->plan->problem->path, *q = &path[a], *r = &path[b];
    return q->y != r->y                 ? (q->y > r->y) - (q->y < r->y)
           : q->x != r->x               ? (q->x > r->x) - (q->x < r->x)
           : g->first[a] != g->first[b] ? g->first[a] - g->first[b]
                                        : a - b;
}

/* Insertion sort: sets are short and there is no qsort with a context in C11. */
static void sort_paths(struct path_set *s, const struct convolution *g)
{
    for (int i = 1; i < s->paths; i++)
        for (int j = i; j > 0 && by_operands(g, s->path[j - 1], s->path[j]) > 0; j--) {
            int t = s->path[j];
            s->path[j] = s->path[j - 1];
            s->path[j - 1] = t;
        }
}

/* The paths of a pass that are in one set: those into one segment of z, those that are computed together. */
struct into_z {
    int paths, *path; /* ascending */
};

static int unit_of(const struct convolution *g, int path)
{
    return g->demand->plan->problem->path[g->first[path]].z;
}

static struct into_z *find_into_z(struct arena *a, const struct problem *p, const struct convolution *g)
{
    const struct demand *pass = g->demand;
    struct into_z *into = NEW_ARRAY(a, struct into_z, p->z.n);
    int *path = NEW_ARRAY(a, int, p->paths), used = 0;
    for (int i = 0; i < p->paths; i++)
        into[unit_of(g, i)].paths += pass->variant_of[i] >= 0;
    for (int z = 0; z < p->z.n; z++) {
        into[z].path = &path[used];
        used += into[z].paths;
        into[z].paths = 0;
    }
    for (int i = 0; i < p->paths; i++)
        if (pass->variant_of[i] >= 0)
            into[unit_of(g, i)].path[into[unit_of(g, i)].paths++] = i;
    return into;
}

/* Adds a path and all others into its segment of z, which are computed together; or those like it that are
 * joined. */
static void add_paths(struct path_set *s, const struct problem *p, const struct into_z *into, int number)
{
    for (int i = 0; i < s->paths && into->paths > 1; i++)
        if (p->path[s->path[i]].z == p->path[number].z)
            return;
    memcpy(s->path + s->paths, into->path, (size_t)into->paths * sizeof *s->path);
    s->paths += into->paths;
}

/* Takes out those last added, unless nothing would be left; of joined ones all. */
static bool drop_paths(const struct convolution *g, struct path_set *s, const struct problem *p)
{
    int left = s->paths;
    bool follows = true;
    while (left > 0 && follows) {
        int z = unit_of(g, s->path[left - 1]);
        follows = g->joined && g->alike[p->path[s->path[left - 1]].x].follows;
        while (left > 0 && unit_of(g, s->path[left - 1]) == z)
            left--;
    }
    if (left > 0)
        s->paths = left;
    return left > 0;
}

/* Paths in sets so divided. Whatever limits are, from `low` to below `high`, the same sets fit. */
struct divided {
    bool keeps_z, apart, mixes;
    int channels, low[LIMITS], high[LIMITS];
    int sets;
    struct path_set *set;
};

/* What a set is divided off with: limits, and memory for one that is tried. */
struct division {
    struct convolution *g;
    const struct problem *problem;
    const struct into_z *into;
    const int *limit; /* [LIMITS] */
    struct divided *so;
    bool *taken; /* [paths] */
    int *left;   /* [paths] */
    struct conv_seen seen;
    struct path_set other;
};

/* Where a receiver's rows are in shared memory, rings of two stages are to fit beside them, of three where
 * lanes have several channels. */
static bool fits(struct division *d, const struct path_set *s)
{
    struct divided *so = d->so;
    const int memory = so->keeps_z ? s->memory + (so->channels > 1 ? s->stage_bytes : 0) : 0;
    const double work = cost_instructions(&s->work);
    const int has[LIMITS] = {s->held, s->paths, (int)work + ((int)work < work), memory};
    for (int i = 0; i < LIMITS; i++)
        if (has[i] > d->limit[i]) {
            so->high[i] = so->high[i] < has[i] ? so->high[i] : has[i];
            return false;
        }
    for (int i = 0; i < LIMITS; i++)
        so->low[i] = so->low[i] > has[i] ? so->low[i] : has[i];
    return true;
}

static bool fits_measured(struct division *d, struct path_set *s)
{
    conv_choose_lanes(d->g, s, d->so->channels);
    conv_measure(d->g, &d->seen, s);
    return fits(d, s);
}

/* Of paths that do not fit together, which are in the order in which they were added, as many of the first as
 * fit, or those that always stay. */
static void keep_most(struct division *d, struct path_set *s)
{
    int places = 0, least = 0; /* of d->left: how many paths may stay, the most first */
    while (drop_paths(d->g, s, d->problem))
        d->left[places++] = s->paths;
    for (int most = places - 1; least < most;) {
        const int middle = (least + most) / 2;
        s->paths = d->left[middle];
        if (fits_measured(d, s))
            most = middle;
        else
            least = middle + 1;
    }
    s->paths = places ? d->left[least] : s->paths;
    fits_measured(d, s);
}

/* Adds the paths that read a segment of x and are not taken, if then the set still fits; or, to a set that is
 * empty, as many as fit. */
static void add_segment(struct division *d, struct path_set *s, const struct path_group *of_x)
{
    const struct problem *p = d->problem;
    struct path_set larger = d->other;
    larger.paths = s->paths;
    memcpy(larger.path, s->path, (size_t)s->paths * sizeof *s->path);
    for (int i = 0; i < of_x->paths; i++) {
        int number = of_x->path[i];
        bool together =
            s->paths == 0 ||
            ((d->g->mixes || p->path[number].mul_x == s->mul) &&
             (d->g->joined || d->g->apart || conv_moves_alike(d->g, p->path[s->path[0]].x, of_x->x)));
        for (; number >= 0 && !d->taken[number] && together; number = d->g->joined ? d->g->like[number] : -1)
            add_paths(&larger, p, &d->into[unit_of(d->g, number)], number);
    }
    if (larger.paths == s->paths)
        return;
    if (!fits_measured(d, &larger)) {
        if (s->paths)
            return;
        keep_most(d, &larger);
    }
    d->other = *s;
    *s = larger;
    for (int i = 0; i < s->paths; i++)
        d->taken[s->path[i]] = true;
}

static struct path_set empty_set(struct arena *a, const struct problem *p)
{
    return (struct path_set){.path = NEW_ARRAY(a, int, p->paths),
                             .x = NEW_ARRAY(a, int, p->x.n),
                             .z = NEW_ARRAY(a, int, p->z.n),
                             .part = NEW_ARRAY(a, int, p->x.n)};
}

/* Copies the set's lists, which then take no more room than they need. */
static void settle(struct arena *a, struct path_set *s)
{
    s->path = arena_copy(a, s->path, (size_t)s->paths * sizeof *s->path);
    s->x = arena_copy(a, s->x, (size_t)s->xs * sizeof *s->x);
    s->z = arena_copy(a, s->z, (size_t)s->zs * sizeof *s->z);
    s->part = arena_copy(a, s->part, (size_t)s->parts * sizeof *s->part);
}

struct path_set *conv_copy_sets(struct arena *a, const struct convolution *g)
{
    struct path_set *set = arena_copy(a, g->set, (size_t)g->sets * sizeof *g->set);
    for (int i = 0; i < g->sets; i++)
        settle(a, &set[i]);
    return set;
}

/* The ways to divide some paths that were tried. */
struct conv_ways {
    struct arena *arena;
    int tried, capacity;
    struct divided **way;
};

/* Divides the paths into sets within limits. */
static void divide(struct arena *a, struct convolution *g, struct divided *so, const int *limit)
{
    const struct plan *plan = g->demand->plan;
    const struct problem *p = plan->problem;
    struct division d = {
        .g = g,
        .problem = p,
        .into = find_into_z(a, p, g),
        .limit = limit,
        .so = so,
        .taken = NEW_ARRAY(a, bool, p->paths),
        .left = NEW_ARRAY(a, int, p->paths + 1),
        .seen = {0, NEW_ARRAY(a, int, p->x.n), NEW_ARRAY(a, int, p->y.n), NEW_ARRAY(a, int, p->z.n)},
        .other = empty_set(a, p)};
    struct path_set set = empty_set(a, p);
    int capacity = 0;
    for (int i = 0; i < p->paths; i++)
        d.taken[i] = g->demand->variant_of[i] < 0;
    g->set = NULL;
    for (g->sets = 0;; g->sets++) {
        set.paths = 0;
        /* whole segments of x first, so that the gradient of an x row is summed in one place; then single
         * paths */
        for (int x = 0; x < plan->groups; x++)
            if (g->apart || !g->alike[plan->group[x].x].follows)
                add_segment(&d, &set, &plan->group[x]);
        if (set.paths == 0)
            break;
        g->set = arena_grow(a, g->set, g->sets, &capacity, sizeof *g->set);
        g->set[g->sets] = set;
        if (!g->joined)
            sort_paths(&g->set[g->sets], g);
        conv_find_zs(&g->set[g->sets], p, &d.seen);
        settle(a, &g->set[g->sets]);
    }
    if (g->apart)
        conv_link_alike(a, g);
    else
        conv_add_alike(a, g);
}

/* Would limits divide paths as they were? */
static bool divides_so(const struct divided *so, const struct convolution *g, int channels, const int *limit)
{
    bool same = so->keeps_z == g->keeps_z && so->apart == g->apart && so->mixes == g->mixes &&
                so->channels == channels;
    for (int i = 0; i < LIMITS && same; i++)
        same = so->low[i] <= limit[i] && limit[i] < so->high[i];
    return same;
}

/* Divides the paths, and keeps the way. */
static const struct divided *divided_by(struct arena *scratch, struct conv_ways *w, struct convolution *g,
                                        int channels, const int *limit)
{
    struct divided *so = NEW(w->arena, struct divided);
    *so = (struct divided){.keeps_z = g->keeps_z, .apart = g->apart, .mixes = g->mixes, .channels = channels};
    for (int i = 0; i < LIMITS; i++)
        so->high[i] = INT_MAX;
    divide(scratch, g, so, limit);
    so->sets = g->sets;
    so->set = conv_copy_sets(w->arena, g);
    arena_empty(scratch);
    w->way = arena_grow(w->arena, w->way, w->tried, &w->capacity, sizeof *w->way);
    w->way[w->tried++] = so;
    return so;
}

struct conv_ways *conv_find_ways(const struct convolution *g)
{
    struct answers *known = g->demand->plan->answers;
    answers_word(known, ASKED_SETS | g->joined << 1 | g->shared << 2);
    struct conv_ways *ways = answers_find(known);
    if (!ways) {
        ways = NEW(known->arena, struct conv_ways);
        ways->arena = known->arena;
        answers_add(known, ways);
    }
    return ways;
}

void conv_divide(struct arena *scratch, struct conv_ways *w, struct convolution *g, int channels,
                 const int *limit)
{
    const struct divided *so = NULL;
    conv_take_codes(g, channels);
    for (int i = 0; i < w->tried && !so; i++)
        so = divides_so(w->way[i], g, channels, limit) ? w->way[i] : NULL;
    so = so ? so : divided_by(scratch, w, g, channels, limit);
    g->sets = so->sets;
    g->set = so->set;
}
