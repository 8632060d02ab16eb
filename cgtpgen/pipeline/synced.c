/* synced.c - see synced.h. What sync.c decides follows from the order in which loops turn, versions and
 * accesses, and from the scopes in which accesses meet. Which of these it asks for follows from all else
 * alone, so that pipelines that are alike and have the same answers have the same waits and barriers.
 */
#include "pipeline/synced.h"
#include "pipeline/share.h"

/* The answer to a question is a list, of those whose accesses meet in different scopes. */
struct remembered {
    struct decision decision;
    int pairs;
    struct share_pair *pair;
    struct remembered *next;
};

static void ask_step(struct answers *k, const struct step *s)
{
    const bool joins = s->kind == STEP_MEET || s->kind == STEP_BARRIER;
    ANSWERS_WORDS(k, (int)s->kind, s->loop, s->skew, s->every, s->below, s->kind == STEP_WAIT ? s->number : 0,
                  s->accesses, joins ? (int)s->scope : s->kind == STEP_BLOCK && s->note);
    for (int i = 0; i < s->accesses; i++) {
        const struct access *q = &s->access[i];
        ANSWERS_WORDS(k, q->place, q->index, (int)q->touch, (int)q->who);
    }
}

void synced_ask(struct answers *k, const struct pipeline *p, bool sound)
{
    answers_ask(k);
    ANSWERS_WORDS(k, sound, p->steps, p->loop_count, p->places, (int)scope_of(p, SCOPE_TEAM),
                  (int)scope_of(p, SCOPE_BLOCK));
    for (int i = 0; i < p->steps; i++)
        ask_step(k, &p->step[i]);
    for (int i = 0; i < p->loop_count; i++) {
        const struct loop *l = &p->loop[i];
        ANSWERS_WORDS(k, l->outer, l->counted, l->first, l->end, l->by);
    }
    for (int i = 0; i < p->places; i++) {
        const struct place *q = &p->place[i];
        ANSWERS_WORDS(k, share_leader(p, i), q->alias, q->how == HOW_ASYNC, q->clock, q->within, q->rate,
                      q->stages);
    }
}

const struct decision *synced_find(const struct pipeline *p, bool sound)
{
    if (!p->synced)
        return NULL;
    synced_ask(p->synced, p, sound);
    const struct remembered *k = answers_find(p->synced);
    while (k && !share_as(p, k->pairs, k->pair))
        k = k->next;
    return k ? &k->decision : NULL;
}

void synced_add(const struct pipeline *p, struct decision d)
{
    if (!p->synced)
        return;
    struct remembered *k = NEW(p->synced->arena, struct remembered), *first = answers_find(p->synced);
    *k = (struct remembered){.decision = d};
    k->pairs = share_pairs(p->synced->arena, p, &k->pair);
    if (!first) {
        answers_add(p->synced, k);
        return;
    }
    k->next = first->next;
    first->next = k;
}
