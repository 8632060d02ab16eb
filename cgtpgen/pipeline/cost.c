/* cost.c - see cost.h. */
#include "pipeline/cost.h"
#include "pipeline/edges.h"

#include <string.h>

enum {
    WARPS_ENOUGH = 8, /* that hide what each waits for */
    CHUNK = 16        /* bytes that a lane copies at most at a time */
};

double cost_overlap(double instructions, double moved)
{
    const double longer = instructions > moved ? instructions : moved;
    return longer + 0.4 * (instructions + moved - longer);
}

/* ---- edges ---- */

/* A copy takes so many instructions, with their addresses. */
double cost_copies(double bytes, int piece)
{
    return 6.8 * bytes / piece;
}

/* Shorter by way of shared memory where lanes' rows are four chunks of 16 bytes. */
double cost_sum(int64_t bytes)
{
    return bytes == 4 * CHUNK ? 48 : 69;
}

/* Fitted to the loops that ptxas makes (rms 5 %): the loop itself, products, forms, weights, sums over lanes,
 * copies; several edges at once; rows that are kept; and numbers that are widened, which a quarter of the
 * others' rate is for, and added. */
double cost_instructions(const struct work *w)
{
    enum { OF_EDGE = 87, SIDE_BY_SIDE = 40 };
    const double product = 1.07, form = 1.87, weight = 1.4, kept = 0.3, carried = 3, widened = 7;
    return OF_EDGE + product * w->arithmetic + form * w->forms + weight * w->weights + w->sums + w->copies +
           (w->abreast > 1 ? SIDE_BY_SIDE : 0) + kept * w->kept + (int)(carried * w->carried) +
           (int)(widened * w->widened);
}

/* Fitted, with CGTP_RECEIVER_WORK, to when the warps of each path set end, of the benchmark's layers and
 * graphs on an H200 (rms 7 % in float32, 10 % in float64): what every edge waits, and what it moves. */
double cost_share(const struct work *w, int words)
{
    const double waits = 50, moves = 0.0125;
    return ((int)cost_instructions(w) + waits * words * words) / w->abreast + moves * words * (int)w->bytes;
}

/* From what short tiles add to the times of forward kernels. */
double cost_hand_over(int bytes)
{
    return 0.8 * bytes;
}

/* What copies of an edge's rows move, and how. */
static void count_place(struct work *w, const struct pipeline *p, const struct place *q)
{
    if (q->how == HOW_ASYNC && !q->table)
        w->copies += cost_copies((double)q->operand->dim * q->size * w->abreast / p->worker.lanes, CHUNK);
    if (q->operand && q->operand->slot == SLOT_Y)
        w->bytes += (double)q->operand->dim * operand_size(q->operand);
    for (int i = 0; i < q->fields && q->alias < 0; i++) {
        const struct field *f = &q->field[i];
        const struct spread *s = f->spread < 0 ? NULL : &p->spread[f->spread];
        const double elements = (double)f->runs * f->lane;
        if (s && q->how == HOW_ASYNC)
            w->copies += cost_copies(elements * q->size, q->piece);
        if (s && f->operand->slot == SLOT_X)
            w->bytes += elements / s->channels * s->mul / s->blocks * operand_size(f->operand);
    }
}

/* Of what a call is given: weights; what it reads where that is kept. */
static void count_argument(struct work *w, const struct pipeline *p, const struct call *c,
                           const struct argument *a)
{
    const struct argument *from = a;
    while (from->of == ARGUMENT_CALL)
        from = &from->call->argument[0];
    const struct place *q = from->of == ARGUMENT_PLACE ? &p->place[from->number] : NULL;
    const struct spread *s = &p->spread[c->spread];
    if (q && q->operand && q->operand->slot == SLOT_W) {
        w->weights++;
        w->bytes += (double)s->mul / s->blocks * operand_size(q->operand);
    }
    if (q && q->who == WHO_KEPT)
        w->kept += (double)s->channels * a->apart;
}

static void count_call(struct work *w, const struct pipeline *p, const struct step *step)
{
    const struct call *c = step->call;
    if (c->code) {
        w->arithmetic += (double)code_instructions(c->code->channel) * p->spread[c->spread].channels;
        w->forms += c->forms;
        for (int i = 0; i < c->arguments; i++)
            count_argument(w, p, c, &c->argument[i]);
    }
    if (strcmp(c->function, "cgtp_carry") == 0) {
        const struct local *sum = &p->local[c->argument[0].number];
        *(sum->type ? &w->widened : &w->carried) += (double)sum->elements / step->every;
    }
}

struct work cost_work(const struct pipeline *p)
{
    struct work w = {.abreast = p->items};
    for (int i = 0; i < p->places; i++) {
        const struct place *q = &p->place[i];
        count_place(&w, p, q);
        if (q->operand && q->operand->output && q->operand->slot == SLOT_Y)
            w.sums += cost_sum(q->operand->dim * p->size);
    }
    for (int i = 0; i < p->steps; i++)
        if (p->step[i].kind == STEP_CALL)
            count_call(&w, p, &p->step[i]);
    return w;
}

/* ---- items of which a lane has one ---- */

/* A warp does the work of as many items as it has lanes. */
double cost_items(const struct pipeline *p, const struct operations *op)
{
    const double per_item = 20, per_multiply = 1.4, per_sum = 4, per_element = 3;
    double bytes = 0, elements = 0, sums = 0;
    for (int i = 0; i < p->places; i++) {
        const struct place *q = &p->place[i];
        double n = 0; /* of a version of each run, of all versions of a turn */
        for (int k = 0; k < q->fields; k++)
            n += q->field[k].length;
        elements += q->clock != LOOP_LAUNCH ? n : 0;
        bytes += q->clock != LOOP_LAUNCH ? q->size * n : 0;
        sums += q->clock == LOOP_LAUNCH && q->summed ? n : 0;
    }
    const double work =
        per_item + (per_multiply * (op->fma + op->mul + op->add) + per_sum * sums + per_element * elements) /
                       p->worker.lanes;
    /* too few issue too little, and have too little under way: on an H200 items of 16 + 5 and of 15 channels
     * by 7, 4 and 2 warps took 1.2, 1.5 to 2 and 1.9 times as long, beside the batch's, as by their bytes */
    const int warps = p->worker.warps * p->worker.teams;
    const double few = warps < WARPS_ENOUGH ? (double)WARPS_ENOUGH / warps : 1;
    return cost_overlap(work * few, (1 + few) / 2 * bytes / COST_BYTES_AN_INSTRUCTION);
}
