/* carbon.c - see carbon.h. */
#include "carbon.h"

#include <math.h>
#include <stdlib.h>

static const double lattice_constant = 3.567, cutoff = 6.0; /* Angstrom */

enum { BASIS = 8 };

/* Atoms of the conventional cell, in quarters of the lattice constant. */
static const int basis[BASIS][3] = {
    {0, 0, 0}, {1, 1, 1}, {0, 2, 2}, {1, 3, 3}, {2, 0, 2}, {3, 1, 3}, {2, 2, 0}, {3, 3, 1},
};

/* Position of an atom in quarters of the lattice constant. */
static void position(int cells, int64_t atom, int q[3])
{
    int64_t cell = atom / BASIS;
    const int *b = basis[atom % BASIS];
    q[0] = 4 * (int)(cell / cells / cells) + b[0];
    q[1] = 4 * (int)(cell / cells % cells) + b[1];
    q[2] = 4 * (int)(cell % cells) + b[2];
}

/* The vector between the nearest images of two atoms; whether they are neighbours. */
static int neighbours(int cells, int64_t from, int64_t to, double vector[3])
{
    int a[3], b[3], period = 4 * cells;
    double square = 0;
    position(cells, from, a);
    position(cells, to, b);
    for (int i = 0; i < 3; i++) {
        int d = b[i] - a[i];
        d = 2 * d > period ? d - period : 2 * d < -period ? d + period : d;
        vector[i] = d * lattice_constant / 4;
        square += vector[i] * vector[i];
    }
    return from != to && square < cutoff * cutoff;
}

int carbon_build(struct carbon *c, int cells, int64_t max_edges)
{
    int64_t nodes = (int64_t)BASIS * cells * cells * cells, edges = 0;
    double vector[3];
    *c = (struct carbon){0};
    for (int fill = 0; fill < 2; fill++) { /* count, then fill */
        edges = 0;
        for (int64_t to = 0; to < nodes && edges < max_edges; to++)
            for (int64_t from = 0; from < nodes && edges < max_edges; from++) {
                if (!neighbours(cells, to, from, vector))
                    continue;
                if (fill) {
                    c->sender[edges] = (int32_t)from;
                    c->receiver[edges] = (int32_t)to;
                    for (int i = 0; i < 3; i++)
                        c->vector[edges][i] = vector[i];
                }
                edges++;
            }
        if (fill)
            break;
        size_t n = (size_t)edges + 1, rows = (size_t)nodes + 1;
        c->sender = malloc(n * sizeof *c->sender);
        c->receiver = malloc(n * sizeof *c->receiver);
        c->by_sender = malloc(n * sizeof *c->by_sender);
        c->vector = malloc(n * sizeof *c->vector);
        c->receiver_row = malloc(rows * sizeof *c->receiver_row);
        c->sender_row = malloc(rows * sizeof *c->sender_row);
        if (!c->sender || !c->receiver || !c->by_sender || !c->vector || !c->receiver_row || !c->sender_row) {
            carbon_free(c);
            return 0;
        }
    }
    c->graph = (cgtp_graph){
        .items = edges, .senders = nodes, .receivers = nodes, .sender = c->sender, .receiver = c->receiver};
    return cgtp_graph_index(&c->graph, c->receiver_row, c->by_sender, c->sender_row) == CGTP_OK;
}

void carbon_free(struct carbon *c)
{
    free(c->sender);
    free(c->receiver);
    free(c->by_sender);
    free(c->vector);
    free(c->receiver_row);
    free(c->sender_row);
    *c = (struct carbon){0};
}

void carbon_harmonics(const struct carbon *c, int64_t e, float out[CARBON_HARMONICS])
{
    const double *v = c->vector[e], r = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    const double x = v[0] / r, y = v[1] / r, z = v[2] / r, s = x * x + z * z;
    const double l2_0 = sqrt(15) * x * z, l2_4 = sqrt(15) / 2 * (z * z - x * x);
    const double all[CARBON_HARMONICS] = {
        1,
        sqrt(3) * x,
        sqrt(3) * y,
        sqrt(3) * z,
        l2_0,
        sqrt(15) * x * y,
        sqrt(5) * (y * y - s / 2),
        sqrt(15) * y * z,
        l2_4,
        sqrt(42) / 6 * (l2_0 * z + l2_4 * x),
        sqrt(7) * l2_0 * y,
        sqrt(168) / 8 * (4 * y * y - s) * x,
        sqrt(7) / 2 * y * (2 * y * y - 3 * s),
        sqrt(168) / 8 * z * (4 * y * y - s),
        sqrt(7) * l2_4 * y,
        sqrt(42) / 6 * (l2_4 * z - l2_0 * x),
    };
    for (int i = 0; i < CARBON_HARMONICS; i++)
        out[i] = (float)all[i];
}
