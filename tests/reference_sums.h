/* reference_sums.h - the sums of reference.c, included there once for each thing that is summed.
 *
 *     NUMBER         the type in which it is summed
 *     NAMED(name)    the name of a function or type here
 *     TAKEN(number)  what of a number counts: all of it, or whether it is zero
 *     ENTRY(entry)   the same of a struct ref_entry
 *
 * There is no guard: it is meant to be included more than once.
 */

/* A sum, and that of the absolute values of its terms: of one sign, so that double keeps at least 12 digits of it. */
struct NAMED(sum) {
    NUMBER value;
    double size;
};

static inline struct NAMED(sum) NAMED(product)(double a, double b)
{
    const NUMBER value = TAKEN(a) * TAKEN(b);
    return (struct NAMED(sum)){value, fabs((double)value)};
}

static inline void NAMED(add)(struct NAMED(sum) *to, NUMBER factor, struct NAMED(sum) term)
{
    to->value += factor * term.value;
    to->size += fabs((double)factor) * term.size;
}

/* Adds the derivative of a path's Q by `target` to row `out`, for one pair of channels, the other rows given.
 */
static void NAMED(add_pair)(const struct ref_path *p, int target, const struct tie *t,
                            const double *const *row, struct NAMED(sum) *out)
{
    const struct ref_w3j *c = p->cg;
    const int d1 = 2 * c->l1 + 1, d2 = 2 * c->l2 + 1, d3 = 2 * c->l3 + 1;
    const double *x = moved(row[REF_X], t->u * d1), *y = moved(row[REF_Y], t->v * d2);
    const double *g = moved(row[REF_G], t->first * d3), *w = p->weighted ? moved(row[REF_W], t->w) : NULL;
    const double coefficient = fabs((double)TAKEN(p->coefficient));
    struct NAMED(sum) sum[2 * REF_L_MAX + 1];
    for (int k = 0; k < d3; k++)
        sum[k] = (struct NAMED(sum)){0, 0};
    if (target == REF_G || target == REF_W) { /* sum[k] = C x y */
        for (int e = 0; e < c->n; e++) {
            const struct ref_entry *n = &c->entry[e];
            NAMED(add)(&sum[n->k], ENTRY(n), NAMED(product)(x[n->i], y[n->j]));
        }
    } else { /* sum[k] = w g */
        for (int64_t q = 0; q < t->count; q++)
            for (int k = 0; k < d3; k++)
                NAMED(add)(&sum[k], 1, NAMED(product)(w ? w[q] : 1, g[q * d3 + k]));
    }
    for (int k = 0; k < d3; k++) {
        sum[k].value *= TAKEN(p->coefficient);
        sum[k].size *= coefficient;
    }
    if (target == REF_G) {
        out += t->first * d3;
        for (int64_t q = 0; q < t->count; q++)
            for (int k = 0; k < d3; k++)
                NAMED(add)(&out[q * d3 + k], w ? TAKEN(w[q]) : 1, sum[k]);
    } else if (target == REF_W) {
        out += t->w;
        for (int64_t q = 0; q < t->count; q++)
            for (int k = 0; k < d3; k++)
                NAMED(add)(&out[q], TAKEN(g[q * d3 + k]), sum[k]);
    } else if (target == REF_X) {
        out += t->u * d1;
        for (int e = 0; e < c->n; e++) {
            const struct ref_entry *n = &c->entry[e];
            NAMED(add)(&out[n->i], ENTRY(n) * TAKEN(y[n->j]), sum[n->k]);
        }
    } else {
        out += t->v * d2;
        for (int e = 0; e < c->n; e++) {
            const struct ref_entry *n = &c->entry[e];
            NAMED(add)(&out[n->j], ENTRY(n) * TAKEN(x[n->i]), sum[n->k]);
        }
    }
}

/* The same for all channels of a path: which pairs there are and what they connect is the mode's meaning. */
static void NAMED(add_path)(const struct ref_path *p, int mul_x, int mul_y, int mul_z, int target,
                            const double *const *row, struct NAMED(sum) *out)
{
    const struct ref_mode *mode = p->meaning;
    int64_t pair = 0;
    for (int u = 0; u < mul_x; u++) {
        int from = mode->pairs == REF_ALL_PAIRS ? 0 : mode->pairs == REF_UPPER_PAIRS ? u + 1 : u;
        int to = mode->pairs == REF_EQUAL_PAIRS ? u + 1 : mul_y;
        for (int v = from; v < to; v++, pair++) {
            struct tie t = {u, v, 0, 1, pair};
            if (mode->to == REF_ALL_CHANNELS) {
                t.count = mul_z; /* unweighted uuw has one channel */
                t.w = pair * mul_z;
            } else {
                t.first = mode->to == REF_CHANNEL_U ? u : mode->to == REF_CHANNEL_V ? v : pair;
            }
            NAMED(add_pair)(p, target, &t, row, out);
        }
    }
}

/* Adds one term of an output for one item: row[s], what the term has of slot s; out, the output's row. */
static void NAMED(add_term)(const struct ref_problem *p, int target, bool weighted_only, int only,
                            const double *const *row, struct NAMED(sum) *out)
{
    for (int i = only >= 0 ? only : 0; i < (only >= 0 ? only + 1 : p->paths); i++) {
        const struct ref_path *q = &p->path[i];
        const struct ref_segment *x = &p->irreps[REF_X].segment[q->x], *y = &p->irreps[REF_Y].segment[q->y],
                                 *z = &p->irreps[REF_G].segment[q->z];
        const int64_t offset[REF_SLOTS] = {x->offset, y->offset, q->weight_offset, z->offset};
        const double *segment[REF_SLOTS];
        if (weighted_only && !q->weighted)
            continue;
        for (int s = 0; s < REF_SLOTS; s++)
            segment[s] = moved(row[s], offset[s]);
        NAMED(add_path)(q, x->mul, y->mul, z->mul, target, segment, out + offset[target]);
    }
}

/* One output of a kernel. */
static void NAMED(evaluate)(const struct ref_problem *p, const struct ref_graph *g,
                            const struct ref_kernel *kernel, int output, const double *const *input, int only,
                            long double *value, long double *magnitude)
{
    const struct ref_output *o = &kernel->output[output];
    const int64_t n = ref_rows(p, g, o->slot) * p->dim[o->slot];
    struct NAMED(sum) *sum = allocate((size_t)n, sizeof *sum);
    for (int64_t item = 0; item < g->items; item++)
        for (int t = 0; t < o->terms; t++) {
            const struct ref_term *term = &o->term[t];
            bool weighted_only = o->slot == REF_W || kernel->argument[term->argument[REF_W]].tangent;
            const double *row[REF_SLOTS] = {NULL};
            for (int s = 0; s < REF_SLOTS; s++)
                if (s != o->slot && input[term->argument[s]])
                    row[s] = input[term->argument[s]] + row_of(p, g, s, item) * p->dim[s];
            NAMED(add_term)
            (p, o->slot, weighted_only, only, row, sum + row_of(p, g, o->slot, item) * p->dim[o->slot]);
        }
    for (int64_t i = 0; i < n && value; i++)
        value[i] = sum[i].value;
    for (int64_t i = 0; i < n && magnitude; i++)
        magnitude[i] = sum[i].size;
    free(sum);
}

#undef NUMBER
#undef NAMED
#undef TAKEN
#undef ENTRY
