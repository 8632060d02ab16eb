/* gemm_parts.c - items by GEMM: which parts of the weights warps of the kernel of sums have (see
 * gemm_plan.h). */
#include "schedule/gemm/gemm_plan.h"

enum {
    SUM_WARPS_MOST = 16, /* of a block of sums */
    SUM_FIT = 8,         /* such blocks on a multiprocessor, at most */
    STAGES = 2,
    INSTRUCTION = 16,     /* bytes */
    SCHEDULERS = 4,       /* of a multiprocessor */
    BLOCK_RESERVED = 1024 /* bytes of shared memory that a block takes beside its own */
};

/* The parts, of so many blocks of columns in float32; twice: and of 32 channels of B, or of u<vw
 * 48. */
static void find_sums(struct arena *a, struct gemm *g, bool twice, int limit)
{
    const struct demand *d = g->sums;
    g->sum_count = g->parts = 0;
    g->sum = NEW_ARRAY(a, struct gemm_sum, d->plan->problem->paths + 1);
    for (int i = 0; i < d->plan->problem->paths; i++) {
        const struct path_plan *e = &d->plan->path[i];
        if (d->variant_of[i] < 0)
            continue;
        struct gemm_sum *q = &g->sum[g->sum_count++];
        const int blocks = gemm_round_up(path_channels_g(e), GEMM_BLOCK);
        const int most = limit * 4 / kernel_size(d->kernel) / gemm_variant(d, i)->ws;
        const int rows = gemm_round_up(path_channels_b(e), GEMM_ITEMS);
        *q = (struct gemm_sum){
            .path = i, .chunks = gemm_round_up(blocks, most > 1 ? most : 1), .first = g->parts};
        q->rows = twice && rows % 2 == 0 ? 2 : twice && rows == 3 && e->below ? 3 : 1;
        q->tiles = gemm_round_up(blocks, q->chunks);
        q->chunks = gemm_round_up(blocks, q->tiles);
        q->parts = rows / q->rows * path_channels_a(e) * q->chunks;
        g->parts += q->parts;
    }
}

/* Instructions of all paths' loops over items. */
static double sum_code(const struct gemm *g)
{
    const struct demand *d = g->sums;
    double code = 0;
    for (int i = 0; i < g->sum_count; i++) {
        const struct gemm_sum *q = &g->sum[i];
        code += q->rows * gemm_tensor_work(d, q->path) + gemm_sum_products(d, q->path) * q->tiles *
                                                             d->plan->path[q->path].matrix->columns *
                                                             (8.0 + 3 * q->rows);
    }
    return code;
}

/* Registers of a thread, with any part. */
static int sum_words(const struct gemm *g)
{
    int words = 0;
    for (int i = 0; i < g->sum_count; i++) {
        const struct variant *v = gemm_variant(g->sums, g->sum[i].path);
        const int left = 8 * v->ts * g->sums->plan->path[g->sum[i].path].matrix->columns;
        const int sums =
            8 * g->sum[i].rows * g->sum[i].tiles * v->ws; /* and of few terms; or of twice the size */
        words = left + sums > words ? left + sums : words;
    }
    return words;
}

/* The most that a scheduler of a multiprocessor has of a block, whose warps have the parts from number `turn`
 * on. */
static double most_of(const struct gemm *g, int turn)
{
    double each[SCHEDULERS] = {0}, most = 0;
    for (int i = 0; i < g->sum_count; i++)
        for (int k = 0; k < g->sum[i].parts; k++)
            each[(g->sum[i].first + k + g->warps - turn) % g->warps % SCHEDULERS] +=
                gemm_sum_work(g->sums, &g->sum[i]) / g->sum[i].parts;
    for (int i = 0; i < SCHEDULERS; i++)
        most = each[i] > most ? each[i] : most;
    return most;
}

/* Which part a block's first warp has, so that no scheduler has much more than others. */
static void choose_turn(struct gemm *g)
{
    g->turn = 0;
    for (int turn = 1; turn < g->warps && g->sets == 1; turn++)
        if (most_of(g, turn) < most_of(g, g->turn))
            g->turn = turn;
}

/* Halves parts that take much longer than others, for which all warps of a block wait at each tile. */
static void even_out(struct gemm *g)
{
    const double much = 1.25;
    double work = 0;
    for (int i = 0; i < g->sum_count; i++)
        work += gemm_sum_work(g->sums, &g->sum[i]);
    const double each = work / (g->parts ? g->parts : 1);
    g->parts = 0;
    for (int i = 0; i < g->sum_count; i++) {
        struct gemm_sum *q = &g->sum[i];
        q->first = g->parts;
        if (q->tiles % 2 == 0 && gemm_sum_work(g->sums, q) > much * each * q->parts) {
            q->tiles /= 2;
            q->chunks *= 2;
            q->parts *= 2;
        }
        g->parts += q->parts;
    }
}

/* May the blocks be on a multiprocessor together? */
static bool sums_fit(struct arena *a, struct gemm *g)
{
    const int words = sum_words(g) + 6 * kernel_size(g->sums->kernel);
    gemm_layout_sums(a, g);
    return g->fit * (g->sum_block.bytes + BLOCK_RESERVED) <= g->device->shared_bytes + BLOCK_RESERVED &&
           (g->fit == 1 ||
            device_registers(g->device, gemm_round_up(g->warps * g->fit, SCHEDULERS) * SCHEDULERS) >= words);
}

/* The time of 16 items on a multiprocessor: a warp issues one in eight turns, all of them 2.5; for each tile
 * it copies and waits; blocks of a set read the same rows. */
static double sum_time(const struct gemm *g)
{
    const double alone = 8, together = 2.5, of_tile = 150, bytes_per_turn = 16;
    const double warps = g->fit * g->warps, issued = warps < together * alone ? warps / alone : together;
    double work = g->sets * g->warps * of_tile * GEMM_ITEMS / g->sum_items * (g->sum_stages > 1 ? 1 : 4);
    for (int i = 0; i < g->sum_count; i++)
        work += gemm_sum_work(g->sums, &g->sum[i]);
    const double all = work / issued * g->sets * g->warps / (g->parts ? g->parts : 1);
    const double memory = gemm_sum_bytes(g) * GEMM_ITEMS / bytes_per_turn;
    return all > memory ? all + 0.4 * memory : memory + 0.4 * all;
}

/* Numbers parts so that no block has some of two paths: it then reads the rows of one. */
static void part_paths(struct gemm *g)
{
    g->parts = 0;
    for (int i = 0; i < g->sum_count; i++) {
        g->sum[i].first = gemm_round_up(g->parts, SUM_WARPS_MOST) * SUM_WARPS_MOST;
        g->parts = g->sum[i].first + g->sum[i].parts;
    }
}

/* Blocks that have as many warps as there are parts, or together have them, and as many on a multiprocessor:
 * what takes the least time. apart: each set has parts of one path. */
static bool choose_blocks(struct arena *a, struct gemm *g, bool apart)
{
    if (apart)
        part_paths(g);
    const int warps = g->parts < 1 ? 1 : g->parts;
    struct gemm best = {0};
    g->sets = gemm_round_up(warps, SUM_WARPS_MOST);
    g->warps = apart ? SUM_WARPS_MOST : gemm_round_up(warps, g->sets);
    gemm_find_sum_windows(a, g);
    for (g->sum_stages = STAGES; g->sum_stages >= 1; g->sum_stages--)
        for (g->fit = SUM_FIT; g->fit >= 1; g->fit--)
            for (g->sum_items = 2 * GEMM_ITEMS; g->sum_items >= GEMM_ITEMS; g->sum_items -= GEMM_ITEMS)
                if (sums_fit(a, g) && (!best.fit || sum_time(g) < sum_time(&best)))
                    best = *g;
    *g = best.fit ? best : *g;
    return best.fit > 0 && sums_fit(a, g);
}

/* Parts of how many blocks of columns: of few, more warps have room on a multiprocessor. */
bool gemm_choose_sums(struct arena *a, struct gemm *g, bool twice)
{
    static const int limit[] = {8};
    struct gemm best = {0};
    for (int l = 0; l < (int)(sizeof limit / sizeof *limit); l++) {
        find_sums(a, g, twice && gemm_has_parts(g->sums), limit[l]);
        if (sum_code(g) * INSTRUCTION > g->device->loop_bytes)
            find_sums(a, g, false, limit[l]);
        else
            even_out(g);
        if ((choose_blocks(a, g, false) || choose_blocks(a, g, true)) &&
            (!best.fit || sum_time(g) < sum_time(&best)))
            best = *g;
    }
    *g = best.fit ? best : *g;
    choose_turn(g);
    g->time = 1 + (int)(sum_time(g) * g->fit * g->sum_items / GEMM_ITEMS);
    return best.fit > 0 && sums_fit(a, g);
}
