/* SPDX-License-Identifier: MIT */
/* cgtp_selftest_dense.h - what a path adds to a row of an output, as a loop over channels and the entries of
 * its tensor. For the same programs as cgtp_selftest_graph.h.
 */
#ifndef CGTP_SELFTEST_DENSE_H
#define CGTP_SELFTEST_DENSE_H

#include "cgtp_selftest.h"

#include <math.h>
#include <stdbool.h>

enum { COMPONENTS = 2 * 11 + 1 };

/* A sum with the sum of the absolute values of its terms and their number. Terms with a factor zero are none. */
struct sum {
    long double value, magnitude;
    double terms;
};

static struct sum sum_of(double value)
{
    return (struct sum){value, fabs(value), value != 0};
}

/* *to += a b factor */
static void add(struct sum *to, struct sum a, double b, long double factor)
{
    to->value += a.value * b * factor;
    to->magnitude += a.magnitude * fabs(b) * fabsl(factor);
    to->terms += b != 0 ? a.terms : 0;
}

/* An item's rows: what is computed, and where the other three slots have theirs. */
struct rows {
    cgtp_slot target;
    struct sum *result;
    const double *input[CGTP_SLOTS]; /* NULL at the target, and at w where no path has weights */
};

/* What one pair of channels (u, v) is connected with: channels z .. z + n - 1 of z, by weights w .. w + n - 1. */
struct tie {
    int64_t u, v, z, n, w;
};

/* A channel of a segment: component i is element first + i * step of a row. */
struct channel {
    int64_t first, step;
};

static struct channel channel_of(const cgtp_selftest *t, cgtp_slot slot, const cgtp_selftest_segment *s,
                                 int components, int64_t channel)
{
    if (t->layout[slot] == CGTP_IR_MUL)
        return (struct channel){s->offset + channel, s->mul};
    return (struct channel){s->offset + channel * components, 1};
}

static int64_t component(struct channel c, int i)
{
    return c.first + i * c.step;
}

/* Adds to the result what the pair contributes to the derivative of Q by the target, at the other three rows. */
static void add_pair(const cgtp_selftest *test, const cgtp_selftest_path *p, const struct tie *t,
                     const struct rows *row)
{
    const cgtp_selftest_cg *c = p->cg;
    const int d3 = 2 * c->l3 + 1;
    const struct channel x = channel_of(test, CGTP_X, &p->x, 2 * c->l1 + 1, t->u);
    const struct channel y = channel_of(test, CGTP_Y, &p->y, 2 * c->l2 + 1, t->v);
    const double *const *in = row->input;
    const int64_t w = p->weight_offset + t->w;
    struct sum part[COMPONENTS];
    const bool from_z = row->target == CGTP_X || row->target == CGTP_Y;
    for (int k = 0; k < d3; k++)
        part[k] = (struct sum){0, 0, 0};
    for (int e = 0; e < c->entries && !from_z; e++) /* part[k] = a C x y */
        add(&part[c->entry[e].k], sum_of(in[CGTP_X][component(x, c->entry[e].i)]),
            in[CGTP_Y][component(y, c->entry[e].j)], (long double)p->coefficient * c->entry[e].value);
    for (int64_t q = 0; q < t->n; q++) {
        const struct channel z = channel_of(test, CGTP_Z, &p->z, d3, t->z + q);
        const double weight = p->weighted && row->target != CGTP_W ? in[CGTP_W][w + q] : 1;
        for (int k = 0; k < d3; k++)
            if (from_z) /* part[k] = sum of w z */
                add(&part[k], sum_of(weight), in[CGTP_Z][component(z, k)], 1);
            else if (row->target == CGTP_Z)
                add(&row->result[component(z, k)], part[k], weight, 1);
            else
                add(&row->result[w + q], part[k], in[CGTP_Z][component(z, k)], 1);
    }
    for (int e = 0; e < c->entries && from_z; e++) {
        const cgtp_selftest_entry *n = &c->entry[e];
        long double factor = (long double)p->coefficient * n->value;
        if (row->target == CGTP_X)
            add(&row->result[component(x, n->i)], part[n->k], in[CGTP_Y][component(y, n->j)], factor);
        else
            add(&row->result[component(y, n->j)], part[n->k], in[CGTP_X][component(x, n->i)], factor);
    }
}

/* Are all its weights zero, so that it has no terms? */
static bool is_off(const cgtp_selftest_path *p, const struct rows *row)
{
    if (!p->weighted || row->target == CGTP_W)
        return false;
    for (int64_t i = 0; i < p->weight_numel; i++)
        if (row->input[CGTP_W][p->weight_offset + i] != 0)
            return false;
    return true;
}

/* The same for all pairs of a path: which there are, and what they are tied to, is the mode. */
static void add_path(const cgtp_selftest *test, const cgtp_selftest_path *p, const struct rows *row)
{
    int64_t pair = 0;
    if (is_off(p, row))
        return;
    for (int64_t u = 0; u < p->x.mul; u++)
        for (int64_t v = 0; v < p->y.mul; v++) {
            struct tie t = {u, v, 0, 1, pair};
            switch (p->mode) {
            case CGTP_UVU:
                t.z = u;
                break;
            case CGTP_UVV:
                t.z = v;
                break;
            case CGTP_UVUV:
                t.z = pair;
                break;
            case CGTP_UVULTV:
                if (u >= v)
                    continue;
                t.z = pair;
                break;
            case CGTP_UUU:
                if (u != v)
                    continue;
                t.z = u;
                break;
            case CGTP_ULTVW:
            case CGTP_UUW:
            case CGTP_UVW:
                if (p->mode == CGTP_UUW ? u != v : p->mode == CGTP_ULTVW && u >= v)
                    continue;
                t.n = p->z.mul;
                t.w = pair * p->z.mul;
                break;
            }
            add_pair(test, p, &t, row);
            pair++;
        }
}

/* Adds to a row of an output what one item contributes. row: the kernel's inputs' rows of the item. */
static void add_item(const cgtp_selftest *t, const cgtp_selftest_kernel *k, const cgtp_selftest_output *o,
                     const double *const *row, struct sum *result)
{
    for (int i = 0; i < o->terms; i++) {
        const cgtp_selftest_term *term = &o->term[i];
        struct rows rows = {term->target, result, {NULL}};
        for (int s = 0; s < CGTP_SLOTS; s++)
            if (term->argument[s] >= 0)
                rows.input[s] = row[term->argument[s]];
        int w = term->argument[CGTP_W];
        bool weighted_only = term->target == CGTP_W || (w >= 0 && k->input[w].tangent);
        for (int p = 0; p < t->paths; p++)
            if (t->path[p].weighted || !weighted_only)
                add_path(t, &t->path[p], &rows);
    }
}

#endif
