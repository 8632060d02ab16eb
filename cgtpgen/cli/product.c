/* product.c - see product.h. */
#include "cli/product.h"

#include "schedule/schedule.h"
#include "util/hash.h"

#include <ctype.h>
#include <string.h>

/* What a product has for itself in a program and in its folder: a name, symbols, files. */
struct claims {
    struct arena *arena;
    int n, capacity;
    struct claim {
        const char *message, *name;
        const struct product *by;
        bool is_file; /* or the beginning of files' names: capitals do not make it another */
    } * claim;
};

static void add_claim(struct claims *all, const char *message, const char *name, const struct product *by,
                      bool is_file)
{
    all->claim = arena_grow(all->arena, all->claim, all->n, &all->capacity, sizeof *all->claim);
    all->claim[all->n++] = (struct claim){message, name, by, is_file};
}

static void add_claims_of(struct claims *all, const struct product *p)
{
    const char **symbol;
    int symbols = emit_symbols(all->arena, p->schedules->plan, &symbol);
    add_claim(all, "the name '%s' is that of %s too", p->schedules->plan->problem->spec->name, p, true);
    for (int i = 0; i < symbols; i++)
        add_claim(all, "it defines %s, and so does %s", symbol[i], p, false);
    for (int i = 0; i < p->files; i++)
        add_claim(all, "it generates %s, and so does %s", p->output[i].path, p, true);
}

bool product_collision(const struct product *product, int products, struct diag *diag)
{
    struct arena *a = diag->arena;
    struct claims all = {.arena = a};
    for (int i = 0; i < products; i++)
        add_claims_of(&all, &product[i]);
    const char **name = NEW_ARRAY(a, const char *, all.n);
    for (int i = 0; i < all.n; i++) { /* the same name in another role is no collision */
        char *s = arena_printf(a, "%s %s", all.claim[i].message, all.claim[i].name);
        name[i] = s;
        for (s += all.claim[i].is_file ? strlen(all.claim[i].message) : strlen(s); *s; s++)
            *s = (char)tolower((unsigned char)*s);
    }
    int first, later = hash_repeated(a, name, all.n, &first);
    if (later < 0)
        return false;
    const struct claim *c = &all.claim[later], *other = &all.claim[first];
    diag->file = c->by->shown;
    if (strcmp(c->name, other->name) != 0)
        diag_report(diag, DIAG_COLLISION, (struct pos){0},
                    "%s differs from %s, of %s, by capitals only: some systems would have them as one file",
                    c->name, other->name, other->by->shown);
    else
        diag_report(diag, DIAG_COLLISION, (struct pos){0}, c->message, c->name, other->by->shown);
    return true;
}
