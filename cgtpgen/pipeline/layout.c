/* layout.c - where the places of a pipeline are in shared memory: pitches of runs, structs of groups, and
 * what they add up to.
 */
#include "pipeline/share.h"

enum {
    LINE = 128, /* copies are fastest to multiples of it */
    CHUNK = 16  /* what a thread copies at a time */
};

/* From a run to the next. Where each lane reads from a run of its own, it is an odd number of the pieces that
 * a lane reads at a time: so many lanes as have room in all banks then meet in none. */
static int pitch_of(const struct place *q)
{
    int length = 0, lane = 1, runs = 1;
    for (int i = 0; i < q->fields; i++) {
        const struct field *f = &q->field[i];
        const int end = f->at + f->length + (f->apart ? (f->runs - 1) * f->apart : 0);
        length = length > end ? length : end;
        lane = lane > f->lane ? lane : f->lane;
        runs = runs > f->runs ? runs : f->runs;
    }
    return q->who == WHO_RUN && runs > 1 ? ((length + lane - 1) / lane | 1) * lane : length;
}

/* Members of a struct for a place: one, of runs and, where the struct is not a version, of versions; or one
 * for each of its fields that have names. */
static void add_place(struct arena *a, struct layout *l, const struct group *g, const struct place *q)
{
    const struct field *f = q->field;
    const char *type = q->type ? q->type : "real";
    struct layout *own = l;
    if (q->fields && f->name) {
        if (g->instead) {
            own = NEW(a, struct layout);
            *own = (struct layout){.align = CHUNK};
        }
        for (int i = 0; i < q->fields; i++)
            layout_add(a, own, f[i].name, f[i].type ? f[i].type : type, f[i].type ? f[i].size : q->size,
                       CHUNK, f[i].runs * f[i].length, f[i].note ? f[i].note : q->note);
        if (g->instead)
            layout_nest(a, l, q->name, own, 0, NULL);
        return;
    }
    const int n = q->fields && f->apart ? f->apart : q->pitch;
    const bool numbers = q->type && !q->operand; /* which need no whole chunk; one no array */
    layout_add(a, l, q->name, type, q->size, numbers && n * q->size < CHUNK ? q->size : CHUNK,
               numbers && n == 1 ? 0 : n, q->note);
    if (q->fields && (f->runs > 1 || f->apart))
        layout_repeat(l, f->runs);
    if (!g->alias && q->stages > 1)
        layout_repeat(l, q->stages);
}

static void lay_out_group(struct pipeline *p, int group)
{
    struct group *g = &p->group[group];
    g->layout = (struct layout){.note = g->note, .align = CHUNK, .alternatives = g->instead};
    for (int i = 0; i < p->places; i++)
        if (p->place[i].group == group && p->place[i].alias < 0 && p->place[i].how != HOW_STANDS)
            add_place(p->arena, &g->layout, g, &p->place[i]);
    layout_pad(p->arena, &g->layout, g->lines ? LINE : CHUNK);
}

/* The structs of a scope's groups, one behind the other; with as many of each as it has stages. */
static void add_groups(struct pipeline *p, struct layout *l, enum scope scope)
{
    for (int i = 0; i < p->groups; i++) {
        const struct group *g = &p->group[i];
        int first = 0;
        while (first < p->places && (p->place[first].group != i || p->place[first].how == HOW_STANDS))
            first++;
        if (first == p->places || p->place[first].scope != scope)
            continue;
        for (int k = 0; k < p->places && !g->name; k++)
            if (p->place[k].group == i && p->place[k].how != HOW_STANDS)
                add_place(p->arena, l, g, &p->place[k]);
        if (g->name)
            layout_nest(p->arena, l, g->name, &g->layout, g->alias ? p->place[first].stages : 0,
                        g->instead ? g->note : NULL);
    }
}

void pipeline_layout(struct pipeline *p)
{
    for (int i = 0; i < p->places; i++)
        p->place[i].pitch = pitch_of(&p->place[p->place[i].alias < 0 ? i : p->place[i].alias]);
    for (int i = 0; i < p->groups; i++)
        lay_out_group(p, i);
    p->of_warp = (struct layout){.note = "The shared memory of a warp.", .align = CHUNK};
    add_groups(p, &p->of_warp, SCOPE_WARP);
    if (p->walk.room)
        layout_add(p->arena, &p->of_warp, "tile", "cgtp_tile", p->walk.room, 8, 0, NULL);
    layout_pad(p->arena, &p->of_warp, LINE);
    const char *team = p->worker.warps == 1 ? "warp" : "team";
    p->of_team =
        (struct layout){.note = arena_printf(p->arena, "The shared memory of a %s.", team), .align = LINE};
    add_groups(p, &p->of_team, SCOPE_TEAM);
    layout_pad(p->arena, &p->of_team, LINE);
    p->of_block = (struct layout){.note = "The shared memory of a block.", .align = LINE};
    layout_nest(p->arena, &p->of_block, team, &p->of_team, p->worker.teams, NULL);
    add_groups(p, &p->of_block, SCOPE_BLOCK);
    layout_pad(p->arena, &p->of_block, LINE);
    share_forget(p);
}

int pipeline_teams(const struct pipeline *p, int bytes)
{
    const int shared = p->of_block.bytes - p->worker.teams * p->of_team.bytes;
    return bytes < shared ? 0 : (bytes - shared) / (p->of_team.bytes ? p->of_team.bytes : 1);
}
