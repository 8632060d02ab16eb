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
        length = length > f->at + f->length ? length : f->at + f->length;
        lane = lane > f->lane ? lane : f->lane;
        runs = runs > f->runs ? runs : f->runs;
    }
    return q->who == WHO_RUN && runs > 1 ? ((length + lane - 1) / lane | 1) * lane : length;
}

static int runs_of(const struct place *q)
{
    return q->fields && q->field[0].runs > 1 ? q->field[0].runs : 0;
}

static void lay_out_group(struct pipeline *p, int group)
{
    struct group *g = &p->group[group];
    g->layout = (struct layout){.note = g->note, .align = CHUNK};
    for (int i = 0; i < p->places; i++) {
        const struct place *q = &p->place[i];
        if (q->group != group || q->alias >= 0)
            continue;
        layout_add(p->arena, &g->layout, q->name, "real", q->size, CHUNK, q->pitch, NULL);
        if (runs_of(q))
            layout_repeat(&g->layout, runs_of(q));
    }
    layout_pad(p->arena, &g->layout, CHUNK);
}

/* The structs of a scope's groups, one behind the other; with as many of each as it has stages. */
static void add_groups(struct pipeline *p, struct layout *l, bool block)
{
    for (int i = 0; i < p->groups; i++) {
        const struct group *g = &p->group[i];
        int first = 0;
        while (first < p->places && p->place[first].group != i)
            first++;
        if (first < p->places && (p->place[first].scope == SCOPE_BLOCK) == block)
            layout_nest(p->arena, l, g->name, &g->layout, g->alias ? p->place[first].stages : 0, NULL);
    }
    layout_pad(p->arena, l, LINE);
}

void pipeline_layout(struct pipeline *p)
{
    for (int i = 0; i < p->places; i++)
        p->place[i].pitch = pitch_of(&p->place[i]);
    for (int i = 0; i < p->places; i++) {
        const int alias = p->place[i].alias;
        if (alias >= 0)
            p->place[i].pitch = p->place[alias].pitch;
    }
    for (int i = 0; i < p->groups; i++)
        lay_out_group(p, i);
    const char *team = p->worker.warps == 1 ? "warp" : "team";
    p->of_team =
        (struct layout){.note = arena_printf(p->arena, "The shared memory of a %s.", team), .align = LINE};
    add_groups(p, &p->of_team, false);
    p->of_block = (struct layout){.note = "The shared memory of a block.", .align = LINE};
    layout_nest(p->arena, &p->of_block, team, &p->of_team, p->worker.teams, NULL);
    add_groups(p, &p->of_block, true);
    share_forget(p);
}

int pipeline_teams(const struct pipeline *p, int bytes)
{
    const int shared = p->of_block.bytes - p->worker.teams * p->of_team.bytes;
    return bytes < shared ? 0 : (bytes - shared) / (p->of_team.bytes ? p->of_team.bytes : 1);
}
