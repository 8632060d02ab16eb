/* route.c - see route.h. */
#include "schedule/route.h"

#include <assert.h>

const struct route_facts route_facts[ROUTE_KINDS] = {
    [ROUTE_ITEM] = {"row of the item", .deterministic = true},
    [ROUTE_OWNED_ROW] = {"row of one owner", .deterministic = true, .invariant = true, .keeps = true,
                         .sums = true},
    [ROUTE_FIXED_UP] = {"row with a fix-up", .deterministic = true, .keeps = true, .sums = true,
                        .area = "partial"},
    [ROUTE_EDGE_BUFFER] = {"edge buffer and gather", .deterministic = true, .invariant = true, .keeps = true,
                           .sums = true, .finished = true, .area = "edges"},
    [ROUTE_PARTS] = {"partial rows and their sum", .deterministic = true, .keeps = true, .sums = true,
                     .finished = true, .area = "parts"},
    [ROUTE_GROUP_SUM] = {"sum over a group of warps", .deterministic = true, .sums = true},
    [ROUTE_ATOMIC] = {"atomic additions", .sums = true, .cleared = true},
};

bool route_choose(const struct spec *spec, enum index_kind index, int n, const enum route_kind *offered,
                  struct route *route)
{
    for (int i = 0; i < n; i++) {
        const struct route_facts *f = &route_facts[offered[i]];
        const bool summed = f->sums && index != INDEX_ITEM;
        const bool compensated = spec->compensated && summed, wide = spec->sum != spec->compute && summed;
        bool of_node = index == INDEX_SENDER || index == INDEX_RECEIVER;
        if ((spec->reduction != REDUCTION_ATOMIC && !f->deterministic) ||
            (spec->reduction == REDUCTION_INVARIANT && of_node && !f->invariant) ||
            ((compensated || wide) && !f->keeps))
            continue;
        *route = (struct route){offered[i], compensated, wide};
        return true;
    }
    return false;
}

struct route route_owned(const struct spec *spec, enum index_kind index)
{
    static const enum route_kind of[INDEX_COUNT] = {
        [INDEX_ITEM] = ROUTE_ITEM,
        [INDEX_SENDER] = ROUTE_OWNED_ROW,
        [INDEX_RECEIVER] = ROUTE_OWNED_ROW,
        [INDEX_SHARED] = ROUTE_PARTS,
    };
    struct route route;
    bool serves = route_choose(spec, index, 1, &of[index], &route);
    assert(serves);
    (void)serves;
    return route;
}

bool route_keeps(const struct route *route)
{
    return route->compensated || route->wide;
}
