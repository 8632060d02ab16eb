/* registers.c - see registers.h. */
#include "schedule/registers.h"

static int operands(const struct demand *d)
{
    return d->kernel->form->inputs + d->kernel->form->outputs;
}

/* Does the demand read or compute the operand? */
static bool takes_part(const struct demand *d, int operand)
{
    int output = operand - d->kernel->form->inputs;
    bool computed = false;
    for (int o = 0; o < d->outputs; o++)
        computed |= d->output[o] == output;
    return output < 0 ? demand_reads(d, operand) : computed;
}

static int elements(const struct registers *r, const struct operand *o, int block)
{
    return o->block[block].components * (o->slot == SLOT_Y ? (int)o->block[block].channels : r->channels);
}

struct registers *registers_begin(struct arena *a, const struct demand *d, int channels)
{
    static const enum slot rows[] = {SLOT_X, SLOT_Y, SLOT_G};
    struct registers *r = NEW(a, struct registers);
    r->live.arena = a;
    r->demand = d;
    r->channels = channels;
    r->words = kernel_size(d->kernel) / 4;
    r->first = NEW_ARRAY(a, int *, operands(d) + 1);
    for (int i = 0; i < operands(d); i++)
        r->first[i] = NEW_ARRAY(a, int, d->kernel->operand[i].blocks + 1);
    for (int s = 0; s < 3; s++)
        for (int output = 0; output < 2; output++)
            registers_renew(r, (struct register_rows){rows[s], output, -1});
    return r;
}

/* The next of the rows' parts, operand *o, block *b: begins with *o = 0, *b = -1. */
static bool next_part(const struct registers *r, struct register_rows rows, int *o, int *b)
{
    for (; *o < operands(r->demand); ++*o, *b = -1) {
        const struct operand *at = &r->demand->kernel->operand[*o];
        if (at->slot != rows.slot || at->output != rows.output || !takes_part(r->demand, *o))
            continue;
        if (rows.segment >= 0 && *b < 0) {
            *b = rows.segment;
            return true;
        }
        if (rows.segment < 0 && ++*b < at->blocks)
            return true;
    }
    return false;
}

void registers_renew(struct registers *r, struct register_rows rows)
{
    for (int o = 0, b = -1; next_part(r, rows, &o, &b);)
        r->first[o][b] = live_values(&r->live, elements(r, &r->demand->kernel->operand[o], b), r->words);
}

void registers_since(struct registers *r, struct register_rows rows, int step)
{
    for (int o = 0, b = -1; next_part(r, rows, &o, &b);)
        live_since(&r->live, r->first[o][b], elements(r, &r->demand->kernel->operand[o], b), step);
}

void registers_until(struct registers *r, struct register_rows rows)
{
    for (int o = 0, b = -1; next_part(r, rows, &o, &b);)
        live_until(&r->live, r->first[o][b], elements(r, &r->demand->kernel->operand[o], b));
}

static struct live_place place_of(const struct registers *r, const struct path *q, int number)
{
    const struct operand *o = &r->demand->kernel->operand[number];
    int block = (int)(operand_block_of(o, q) - o->block);
    return (struct live_place){r->first[number][block], o->slot == SLOT_Y ? 0 : o->block[block].components};
}

void registers_path(struct registers *r, const int *number, const struct code *c)
{
    const struct path *path = r->demand->plan->problem->path;
    const struct recipe *recipe = c->recipe;
    int inputs = r->demand->kernel->form->inputs, channels = r->channels;
    struct live_place *place =
        NEW_ARRAY(r->live.arena, struct live_place, recipe->inputs + recipe->outputs + 1);
    for (int i = 0; i < recipe->inputs; i++)
        place[i] = recipe->input[i].role == ROLE_W
                       ? (struct live_place){-1, channels > 1}
                       : place_of(r, &path[number[recipe->input[i].copy]], recipe->input[i].source);
    for (int o = 0; o < recipe->outputs; o++)
        place[recipe->inputs + o] =
            recipe->output[o].role == ROLE_W
                ? (struct live_place){live_values(&r->live, channels, r->words), 1}
                : place_of(r, &path[number[recipe->output[o].copy]], inputs + recipe->output[o].source);
    live_code(&r->live, c, channels, r->words, place);
    r->live.step++;
    for (int o = 0; o < recipe->outputs; o++)
        if (recipe->output[o].role == ROLE_W)
            live_until(&r->live, place[recipe->inputs + o].first, channels);
}
