/* lint.c - see lint.h: irreps, arguments and outputs that no path or term takes part in. */
#include "form/lint.h"
#include "util/hash.h"

#include <stdlib.h>
#include <string.h>

enum { TYPES = 2 * (L_MAX + 1) };

/* What the paths of the product do, and what those that could be would. */
struct linter {
    struct arena *arena;
    const struct problem *problem;
    struct diag *diag;
    const struct path *weighted, *unweighted; /* one of each that contributes; NULL: none does */
    bool *used[SLOT_COUNT];                   /* of each segment of x, y, z: by a path that contributes */
    bool *meant[SLOT_COUNT];                  /* and does the spec say that it is unused? */
    bool made[TYPES];                         /* irreps that the product of x and y has */
    bool useful[2][TYPES]; /* irreps that make one of z with something of the other input, x or y */
};

static int type_of(struct irrep ir)
{
    return 2 * ir.l + (ir.parity > 0);
}

static struct irrep irrep_of(int type)
{
    return (struct irrep){type / 2, type % 2 ? 1 : -1};
}

static struct irrep other_parity(struct irrep ir)
{
    return (struct irrep){ir.l, -ir.parity};
}

static void note_types(const struct irreps *irreps, bool there[TYPES])
{
    for (int i = 0; i < irreps->n; i++)
        if (irreps->segment[i].mul)
            there[type_of(irreps->segment[i].ir)] = true;
}

/* Of the irreps that the spec writes, by type: at most TYPES^3 steps, however long the sums are. */
static void find_types(struct linter *l)
{
    const struct spec *spec = l->problem->spec;
    bool x[TYPES] = {false}, y[TYPES] = {false}, z[TYPES] = {false};
    note_types(&spec->x, x);
    note_types(&spec->y, y);
    for (int i = 0; i < spec->z.n; i++) /* in a filter multiplicities mean nothing */
        z[type_of(spec->z.segment[i].ir)] = true;
    for (int a = 0; a < TYPES; a++)
        for (int b = 0; b < TYPES; b++)
            for (int c = 0; c < TYPES; c++) {
                if (!irrep_in_product(irrep_of(c), irrep_of(a), irrep_of(b)))
                    continue;
                l->made[c] |= x[a] && y[b];
                l->useful[0][a] |= y[b] && z[c];
                l->useful[1][b] |= x[a] && z[c];
            }
}

static void find_paths(struct linter *l)
{
    const struct problem *p = l->problem;
    l->used[SLOT_X] = NEW_ARRAY(l->arena, bool, p->x.n + 1);
    l->used[SLOT_Y] = NEW_ARRAY(l->arena, bool, p->y.n + 1);
    l->used[SLOT_G] = NEW_ARRAY(l->arena, bool, p->z.n + 1);
    for (int i = 0; i < p->paths; i++) {
        const struct path *path = &p->path[i];
        if (!path->coefficient.sign || !path->mul_x || !path->mul_y || !path->mul_z)
            continue;
        *(path->weighted ? &l->weighted : &l->unweighted) = path;
        l->used[SLOT_X][path->x] = l->used[SLOT_Y][path->y] = l->used[SLOT_G][path->z] = true;
    }
}

static const char *segment_of(struct linter *l, enum slot slot, int segment)
{
    const struct segment *s = &slot_irreps(l->problem, slot)->segment[segment];
    return arena_printf(l->arena, "%s, segment %d of %s", segment_text(l->arena, s->mul, s->ir), segment,
                        slot_name[slot]);
}

/* What the spec says to be unused: errors where it is not so. */
static void find_unused(struct linter *l, enum slot slot)
{
    const int segments = slot_irreps(l->problem, slot)->n;
    const struct spec_unused *unused = &l->problem->spec->unused[slot];
    bool *meant = l->meant[slot] = NEW_ARRAY(l->arena, bool, segments + 1);
    for (int i = 0; i < unused->n; i++) {
        const struct spec_segment *s = &unused->segment[i];
        if (s->number >= segments)
            diag_report(l->diag, DIAG_NO_SEGMENT, s->pos, "there is no segment %d in %s, which has %d",
                        s->number, slot_name[slot], segments);
        else if (l->used[slot][s->number])
            diag_report(l->diag, DIAG_USELESS_KEY, s->pos, "a path %s %s",
                        slot == SLOT_G ? "writes" : "reads", segment_of(l, slot, s->number));
        else if (meant[s->number])
            diag_report(l->diag, DIAG_LISTED_TWICE, s->pos, "segment %d is listed twice", s->number);
        else
            meant[s->number] = true;
    }
}

/* Segments are looked for from the start of the text, so only as many as can be shown. */
static struct pos place_of(struct linter *l, enum slot slot, int segment)
{
    bool shown = l->diag->messages < 2 * DIAG_SHOWN;
    return spec_segment_pos(l->problem->spec, l->diag, slot, shown ? segment : -1);
}

/* Segments of x and y that no path reads. elementwise and full have segments of their own. */
static void check_inputs(struct linter *l, enum slot slot)
{
    const struct spec *spec = l->problem->spec;
    const struct irreps *irreps = slot_irreps(l->problem, slot);
    bool as_written = spec->sugar != SUGAR_ELEMENTWISE && spec->sugar != SUGAR_FULL;
    for (int i = 0; i < irreps->n; i++) {
        const struct segment *s = &irreps->segment[i];
        struct irrep other = other_parity(s->ir);
        if (l->used[slot][i] || l->meant[slot][i] || !s->mul)
            continue;
        diag_report(l->diag, DIAG_DEAD_INPUT, place_of(l, slot, as_written ? i : -1), "no path reads %s",
                    segment_of(l, slot, i));
        if (as_written && spec->has_z && spec->sugar != SUGAR_NONE && l->useful[slot][type_of(other)])
            diag_suggest(l->diag, segment_text(l->arena, s->mul, other));
    }
}

/* Segments of z that no path writes. */
static void check_segments_of_z(struct linter *l)
{
    const struct spec *spec = l->problem->spec;
    for (int i = 0; i < spec->z.n; i++)
        if (!l->used[SLOT_G][i] && !l->meant[SLOT_G][i] && spec->z.segment[i].mul)
            diag_report(l->diag, DIAG_DEAD_OUTPUT, place_of(l, SLOT_G, i),
                        "no path writes %s: it is always zero", segment_of(l, SLOT_G, i));
}

/* Segments of a filter whose multiplicity means nothing, and is that of no segment of x: written for another.
 */
static void check_multiplicities(struct linter *l)
{
    const struct spec *spec = l->problem->spec;
    for (int i = 0; i < spec->z.n; i++) {
        const struct segment *s = &spec->z.segment[i];
        bool known = s->mul == 1;
        int nearest = 0;
        for (int k = 0; k < spec->x.n; k++) {
            known |= spec->x.segment[k].mul == s->mul;
            if (!k || abs(spec->x.segment[k].mul - s->mul) < abs(nearest - s->mul))
                nearest = spec->x.segment[k].mul;
        }
        if (known || !spec->x.n)
            continue;
        diag_report(l->diag, DIAG_FILTER_MULTIPLICITY, place_of(l, SLOT_G, i),
                    "z is a filter: of %s it takes %s alone, and no segment of x has %d channels",
                    segment_text(l->arena, s->mul, s->ir), irrep_text(l->arena, s->ir), s->mul);
        diag_suggest(l->diag, segment_text(l->arena, nearest, s->ir));
    }
}

/* Irreps that a filter lets pass and that are not there. */
static void check_filter(struct linter *l)
{
    const struct spec *spec = l->problem->spec;
    bool seen[TYPES] = {false};
    for (int i = 0; i < l->problem->z.n; i++)
        seen[type_of(l->problem->z.segment[i].ir)] = true;
    for (int i = 0; i < spec->z.n; i++) {
        struct irrep ir = spec->z.segment[i].ir, other = other_parity(ir);
        if (seen[type_of(ir)])
            continue;
        seen[type_of(ir)] = true;
        diag_report(l->diag, DIAG_DEAD_FILTER, place_of(l, SLOT_G, i),
                    "nothing passes %s in the filter z: no product of x and y has it",
                    irrep_text(l->arena, ir));
        if (l->made[type_of(other)] && !seen[type_of(other)])
            diag_suggest(l->diag, irrep_text(l->arena, other));
    }
}

static bool is_same(const struct spec_instruction *a, const struct spec_instruction *b)
{
    return a->x == b->x && a->y == b->y && a->z == b->z && a->mode == b->mode && a->weighted == b->weighted &&
           rat_compare(a->path_weight, b->path_weight) == 0;
}

/* Instructions that are there already: with weights of their own they say nothing that one would not, without
 * they count twice. */
static void check_instructions(struct linter *l)
{
    const struct spec *spec = l->problem->spec;
    struct hash seen = {.arena = l->arena};
    for (int i = 0; i < spec->instructions; i++) {
        const struct spec_instruction *p = &spec->instruction[i];
        const int key[] = {p->x, p->y, p->z, (int)p->mode};
        const uint32_t hash = hash_bytes(surd_hash(surd_make(1, p->path_weight)), key, sizeof key);
        int first = hash_first(&seen, hash);
        while (first >= 0 && !is_same(p, &spec->instruction[first]))
            first = hash_next(&seen, first);
        if (first >= 0) {
            diag_report(l->diag, DIAG_REPEATED_INSTRUCTION, p->pos, "this is instruction %d once more",
                        first);
            diag_note(l->diag, spec->instruction[first].pos, "it is here");
        }
        hash_add(&seen, hash);
    }
}

/* Does a path that contributes take part in the output? */
static bool is_computed(const struct linter *l, const struct kernel_form *k, const struct form_output *out)
{
    for (int t = 0; t < out->terms; t++)
        if ((l->weighted && form_term_applies(k, &out->term[t], l->weighted)) ||
            (l->unweighted && form_term_applies(k, &out->term[t], l->unweighted)))
            return true;
    return false;
}

static bool is_in_terms(const struct spec_kernel *k, const char *argument)
{
    for (int o = 0; o < k->outputs; o++)
        for (int t = 0; t < k->output[o].terms; t++)
            for (int i = 0; i < 3; i++)
                if (strcmp(k->output[o].term[t].argument[i], argument) == 0)
                    return true;
    return false;
}

static void check_kernel(struct linter *l, const struct spec_kernel *k, const struct kernel_form *form)
{
    for (int i = 0; i < k->arguments; i++)
        if (!is_in_terms(k, k->argument[i].name))
            diag_report(l->diag, DIAG_DEAD_ARGUMENT, k->argument[i].pos,
                        "no term of kernel %s takes its argument '%s'", k->name, k->argument[i].name);
    for (int o = 0; o < form->outputs; o++)
        if (!is_computed(l, form, &form->output[o]))
            diag_report(l->diag, DIAG_DEAD_OUTPUT, k->outputs ? k->output[o].pos : k->pos,
                        "output '%s' of kernel %s is always zero: no path takes part in its terms",
                        form->output[o].name, k->name);
}

void lint(const struct problem *problem, const struct form *form, struct diag *diag)
{
    struct linter l = {.arena = diag->arena, .problem = problem, .diag = diag};
    const struct spec *spec = problem->spec;
    find_types(&l);
    find_paths(&l);
    find_unused(&l, SLOT_X);
    find_unused(&l, SLOT_Y);
    find_unused(&l, SLOT_G);
    if (spec->index_pos[SLOT_W].line > 0 && !problem->weight_numel)
        diag_report(diag, DIAG_DEAD_INDEX, spec->index_pos[SLOT_W],
                    "w has an index, but no path of this product has weights");
    check_instructions(&l);
    bool filter = spec->sugar != SUGAR_NONE && spec->sugar != SUGAR_FULLY_CONNECTED;
    if (filter)
        check_filter(&l);
    if (filter && spec->sugar != SUGAR_FULL) /* whose products have channels of their own */
        check_multiplicities(&l);
    if (!l.weighted && !l.unweighted) { /* segments and outputs follow from it */
        diag_report(diag, DIAG_EMPTY_PRODUCT, spec->instructions_pos,
                    "no path contributes to this product: all its outputs are zero");
    } else {
        check_inputs(&l, SLOT_X);
        check_inputs(&l, SLOT_Y);
        if (!filter)
            check_segments_of_z(&l);
        for (int i = 0; i < form->kernels; i++)
            check_kernel(&l, &spec->kernel[i], &form->kernel[i]);
    }
    diag_sort(diag);
}
