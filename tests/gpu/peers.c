/* peers.c - see peers.h. */
#include "peers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 32 };

#define ATOMS "carbon dhfr covid"
#define HARMONICS_1 "1x0e+1x1o"
#define HARMONICS_2 HARMONICS_1 "+1x2e"
#define HARMONICS_3 HARMONICS_2 "+1x3o"
#define HARMONICS_4 HARMONICS_3 "+1x4e"
#define HARMONICS_5 HARMONICS_4 "+1x5o"
#define ALLEGRO_1 "64x0e+64x0o+64x1e+64x1o"
#define ALLEGRO_2 ALLEGRO_1 "+64x2e+64x2o"
#define ALLEGRO_3 ALLEGRO_2 "+64x3e+64x3o"
#define DIFFDOCK "10x1o+10x1e+48x0e+48x0o"

static const struct problem problems[] = {
    {"mace-large", "128x0e+128x1o+128x2e", HARMONICS_3, 2176, 9088, ATOMS},
    {"mace-medium", "128x0e+128x1o", HARMONICS_3, 1024, 3328, ""},
    {"SevenNet_l3i5-main-layers", "128x0e+64x1e+32x2e+32x3e", "1x0e+1x1e+1x2e+1x3e", 1760, 7776, ATOMS},
    {"nequip-lips", "32x0o+32x0e+32x1o+32x1e+32x2o+32x2e", HARMONICS_2, 960, 3264, "carbon"},
    {"nequip-revmd17-aspirin", "64x0o+64x0e+64x1o+64x1e", HARMONICS_1, 640, 1408, ""},
    {"nequip-revmd17-toluene", "64x0o+64x0e+64x1o+64x1e+64x2o+64x2e", HARMONICS_2, 1920, 6528, ""},
    {"nequip-revmd17-benzene", "64x0o+64x0e+64x1o+64x1e+64x2o+64x2e+64x3o+64x3e", HARMONICS_3, 4352, 19968,
     ATOMS},
    {"nequip-water", "32x0o+32x0e+32x1o+32x1e", HARMONICS_1, 320, 704, ""},
    {"table5-lmax1", "32x0e+32x0o+32x1e+32x1o", HARMONICS_1, 320, 704, "table5"},
    {"table5-lmax2", "32x0e+32x0o+32x1e+32x2e+32x1o+32x2o", HARMONICS_2, 960, 3264, "table5"},
    {"table5-lmax3", "32x0e+32x0o+32x1e+32x2e+32x3e+32x1o+32x2o+32x3o", HARMONICS_3, 2176, 9984, "table5"},
    {"table5-lmax4", "32x0e+32x0o+32x1e+32x2e+32x3e+32x4e+32x1o+32x2o+32x3o+32x4o", HARMONICS_4, 4160, 24000,
     "table5"},
    {"table5-lmax5", "32x0e+32x0o+32x1e+32x2e+32x3e+32x4e+32x5e+32x1o+32x2o+32x3o+32x4o+32x5o", HARMONICS_5,
     7104, 49344, "table5"},
    {"DiffDock-L=1", DIFFDOCK, HARMONICS_1, 6928, 156, "table5"},
    {"DiffDock-L=2", DIFFDOCK, HARMONICS_2, 7128, 156, ""},
    {"allegro-lmax1", ALLEGRO_1, ALLEGRO_1, 1280, 512, "dhfr"},
    {"allegro-lmax2", ALLEGRO_2, ALLEGRO_2, 3840, 1152, "dhfr"},
    {"allegro-lmax3", ALLEGRO_3, ALLEGRO_3, 8704, 2048, "dhfr"},
    {"tetris-poly-1", HARMONICS_3, HARMONICS_3, 648, 368, ""},
    {"tetris-poly-2", "64x0e+24x1e+24x1o+16x2e+16x2o", "1x0e+1x1o+1x2e", 664, 7, ""},
    {"e3tools-conv", "64x0e+16x1o", HARMONICS_1, 7680, 128, ""},
    {"e3tools-transformer", "64x0e+16x1o", HARMONICS_1, 6400, 112, ""},
    {"uvw-64", "64x0e+64x1o", HARMONICS_1, 16384, 256, ""},
    {"uvw-128", "128x0e+128x1o", HARMONICS_1, 65536, 512, ""},
};

const struct problem *problem_of(const cgtp_product *p)
{
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        const struct problem *q = &problems[i];
        if (!strcmp(q->x, p->irreps[CGTP_X]) && !strcmp(q->y, p->irreps[CGTP_Y]) &&
            q->weights == p->dim[CGTP_W] && q->outputs == p->dim[CGTP_Z])
            return q;
    }
    return NULL;
}

/* Fields between tabs, which may be empty; returns how many. */
static int split(char *line, char **field)
{
    int n = 0;
    line[strcspn(line, "\r\n")] = 0;
    for (char *p = line; p && n < COLUMNS;) {
        field[n++] = p;
        p = strchr(p, '\t');
        if (p)
            *p++ = 0;
    }
    return n;
}

/* The columns that a row is found by, in this order at the front of every line. */
enum { OP, PROBLEM, PLACE, TYPE, KERNEL, FLOOR, LIBRARIES };
static const char *const front[LIBRARIES] = {"op",    "problem",   "graph_or_batch",
                                             "dtype", "direction", "floor_ms"};

static void read_row(struct peer *p, char **head, char **f, int fields)
{
    *p = (struct peer){.floor = strtod(f[FLOOR], NULL)};
    snprintf(p->op, sizeof p->op, "%s", f[OP]);
    snprintf(p->problem, sizeof p->problem, "%s", f[PROBLEM]);
    snprintf(p->place, sizeof p->place, "%s", f[PLACE]);
    snprintf(p->type, sizeof p->type, "%s", f[TYPE]);
    snprintf(p->kernel, sizeof p->kernel, "%s", f[KERNEL]);
    for (int i = LIBRARIES; i < fields; i++) {
        const double ms = strtod(f[i], NULL);
        if (*f[i] && (!*p->name || ms < p->ms)) {
            p->ms = ms;
            snprintf(p->name, sizeof p->name, "%.*s", (int)strlen(head[i]) - (int)strlen("_ms"), head[i]);
        }
    }
}

static bool head_is_right(char **head, int columns)
{
    bool right = columns > LIBRARIES;
    for (int i = 0; i < columns && right; i++) {
        const size_t n = strlen(head[i]);
        right = i < LIBRARIES ? !strcmp(head[i], front[i]) : n > 3 && !strcmp(head[i] + n - 3, "_ms");
    }
    return right;
}

int peers_read(const char *path, struct peer *peer)
{
    FILE *file = fopen(path, "r");
    char names[1024], line[1024], *head[COLUMNS], *f[COLUMNS];
    if (!file) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return -1;
    }
    const int columns = fgets(names, sizeof names, file) ? split(names, head) : 0;
    bool right = head_is_right(head, columns);
    int n = 0;
    while (right && fgets(line, sizeof line, file)) {
        const int fields = split(line, f);
        right = fields == columns && n < PEERS;
        if (right)
            read_row(&peer[n++], head, f, fields);
    }
    fclose(file);
    if (!right)
        fprintf(stderr, "%s: line %d: other columns than the table should have, or too many rows\n", path,
                n + 1);
    return right ? n : -1;
}

const struct peer *peer_of(const struct peer *peer, int peers, struct peer_key key)
{
    for (int i = 0; i < peers; i++) {
        const struct peer *p = &peer[i];
        if (!strcmp(p->op, key.op) && !strcmp(p->problem, key.problem) && !strcmp(p->place, key.place) &&
            !strcmp(p->type, key.type) && !strcmp(p->kernel, key.kernel))
            return p;
    }
    return NULL;
}
