/* product.c - see product.h. */
#include "cli/product.h"

#include "schedule/schedule.h"
#include "util/arena.h"
#include "util/hash.h"

#include <ctype.h>
#include <string.h>

const char *product_path(struct arena *a, const char *folder, const char *name)
{
    return file_join(a, folder && strcmp(folder, "-") ? folder : NULL, name);
}

void product_learn(struct arena *a, const struct backend *b, struct product *p)
{
    const struct plan *plan = p->schedules->plan;
    p->name = plan->problem->spec->name;
    p->symbols = emit_symbols(a, plan, &p->symbol);
    p->names = emit_names(a, b, plan, &p->possible);
}

static const char *copied(struct arena *a, const char *s)
{
    return arena_string(a, s, strlen(s));
}

static const char **all_copied(struct arena *a, int n, const char *const *s)
{
    const char **copy = NEW_ARRAY(a, const char *, n + 1);
    for (int i = 0; i < n; i++)
        copy[i] = copied(a, s[i]);
    return copy;
}

static struct product copy_of(struct arena *a, const struct product *p)
{
    struct product copy = *p;
    copy.schedules = NULL;
    copy.text = NULL;
    copy.told = (struct text){.arena = a};
    text_put(&copy.told, text_string(&p->told), p->told.n);
    if (p->name) {
        copy.name = copied(a, p->name);
        copy.symbol = all_copied(a, p->symbols, p->symbol);
        copy.possible = all_copied(a, p->names, p->possible);
    }
    copy.output = NEW_ARRAY(a, struct file_content, p->files + 1);
    for (int i = 0; i < p->files; i++)
        copy.output[i] =
            (struct file_content){copied(a, p->output[i].path),
                                  arena_string(a, p->output[i].text, p->output[i].size), p->output[i].size};
    return copy;
}

void product_settle(struct arena *a, struct arena_mark mark, struct product *p)
{
    struct arena *scratch = arena_scratch(a);
    const struct product kept = copy_of(scratch, p);
    arena_release(a, mark);
    *p = copy_of(a, &kept);
    arena_empty(scratch);
}

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
    add_claim(all, "the name '%s' is that of %s too", p->name, p, true);
    for (int i = 0; i < p->symbols; i++)
        add_claim(all, "it defines %s, and so does %s", p->symbol[i], p, false);
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
