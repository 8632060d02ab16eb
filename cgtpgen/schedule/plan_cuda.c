/* plan_cuda.c - see plan_cuda.h. */
#include "schedule/plan_cuda.h"

#include <string.h>

enum {
    REGISTERS = 65536,   /* of a multiprocessor */
    FORM_REGISTERS = 24, /* forms of each operand A beyond the first */
    ADDED_PARTS = 4,     /* from so many parts on atomics are faster than a buffer and a second kernel */
    TILE_BYTES = 256,    /* struct cgtp_tile of the runtime and the padding of a warp's memory to 128 bytes */
    BUFFER_BYTES = 4096, /* most of a buffer through which rows of z leave */
    OWN_REGISTERS = 44   /* addresses, counters, temporaries; fitted to what ptxas reports */
};

/* What a thread may use at this many warps a multiprocessor, the choices that are useful; and how fast
 * instructions are issued, in units of that at 8 warps (measured on an H200). */
static const struct {
    int warps, registers;
    double issue;
} occupancy[] = {{16, 128, 1.22}, {12, 168, 1.22}, {8, 255, 1.0}};

/* Planner knobs: names, ranges, defaults (0: chosen by the planner). */
static const struct knob {
    const char *name;
    int least, most;
} knobs[] = {
    {"channels", 1, 2}, /* V */
    {"stages", 2, 8},
    {"warps", 8, 16},      /* a multiprocessor, a multiple of 4; decides the registers of a thread */
    {"paths", 1, 1 << 16}, /* most paths in a segment */
    {"passes", 1, 2}, /* 1: all outputs of a kernel in one; 2: one for each index that outputs sum over */
};
enum { KNOB_CHANNELS, KNOB_STAGES, KNOB_WARPS, KNOB_PATHS, KNOB_PASSES, KNOBS };

struct choice {
    int knob[KNOBS]; /* 0: free */
};

static int knob_number(const char *name)
{
    int k = 0;
    while (k < KNOBS && strcmp(knobs[k].name, name) != 0)
        k++;
    return k;
}

void plan_cuda_check(const struct spec *s, struct diag *diag)
{
    const char *names[KNOBS];
    for (int k = 0; k < KNOBS; k++)
        names[k] = knobs[k].name;
    for (int i = 0; i < s->knobs; i++) {
        const struct spec_knob *q = &s->knob[i];
        int k = knob_number(q->name);
        if (strcmp(q->arch, "c") == 0) {
            diag_error(diag, q->pos, "the C backend has no knob '%s', nor any other", q->name);
        } else if (k == KNOBS) {
            const char *near = diag_nearest(q->name, names, KNOBS);
            diag_error(diag, q->pos, "unknown knob '%s'%s%s%s", q->name, near ? "; did you mean '" : "",
                       near ? near : "",
                       near ? "'?" : "; there are channels, stages, warps, paths and passes");
        } else if (q->value < knobs[k].least || q->value > knobs[k].most) {
            diag_error(diag, q->pos, "%s is %lld; expected %d to %d", q->name, (long long)q->value,
                       knobs[k].least, knobs[k].most);
        } else if (k == KNOB_WARPS && q->value % 4) {
            diag_error(diag, q->pos, "warps is %lld; expected 8, 12 or 16", (long long)q->value);
        }
    }
}

static struct choice read_knobs(const struct spec *s, const char *arch)
{
    struct choice c = {{0}};
    for (int i = 0; i < s->knobs; i++)
        if (strcmp(s->knob[i].arch, arch) == 0)
            c.knob[knob_number(s->knob[i].name)] = (int)s->knob[i].value;
    return c;
}

static int element_size(const struct plan *plan)
{
    return plan->problem->spec->precision == PRECISION_FLOAT64 ? 8 : 4;
}

/* Shared memory that the blocks of a multiprocessor can have together; a block can have all but one KiB of it
 * less. */
static int shared_bytes(const char *arch)
{
    static const struct {
        const char *arch;
        int kib;
    } known[] = {{"sm_80", 163}, {"sm_86", 99},   {"sm_89", 99},
                 {"sm_90", 227}, {"sm_100", 227}, {"sm_120", 99}};
    int kib = 99;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].arch, arch) == 0)
            kib = known[i].kib;
    return kib << 10;
}

/* ---- what can the convolution compute? ---- */

/* Why it computes no pass of the product; NULL: it may. */
static const char *why_general(const struct plan *plan)
{
    const struct problem *p = plan->problem;
    const struct spec *s = p->spec;
    int wide = 16 / element_size(plan);
    if (s->index[SLOT_X] != INDEX_SENDER || s->index[SLOT_Y] != INDEX_ITEM ||
        s->index[SLOT_G] != INDEX_RECEIVER)
        return "not a convolution (x sender, y item, z receiver)";
    if (!s->sorted)
        return "edges in any order";
    if (s->compensated)
        return "compensated sums";
    if (p->weight_numel && s->index[SLOT_W] != INDEX_ITEM)
        return "weights not of the edge";
    if (p->dim[SLOT_X] % wide || p->dim[SLOT_W] % wide || p->dim[SLOT_G] % wide)
        return "rows that are no multiple of 16 bytes";
    return NULL;
}

/* Why it cannot compute a path; NULL: it can. */
static const char *why_path_general(const struct plan *plan, const struct path *q)
{
    const struct problem *p = plan->problem;
    int wide = 16 / element_size(plan);
    if (q->mode != MODE_UVU || q->mul_y != 1)
        return "not uvu with one channel of y";
    if (q->mul_x % LANES)
        return "channels that are no multiple of 32";
    if (p->x.segment[q->x].offset % wide || p->z.segment[q->z].offset % wide ||
        (q->weighted && q->weight_offset % wide))
        return "operands that begin at no multiple of 16 bytes";
    return NULL;
}

/* Divides the paths of a pass between the convolution and the rest. Returns the reasons by path: NULL where
 * the convolution computes it. */
static const char **divide_paths(struct arena *a, const struct plan *plan, const struct pass *pass,
                                 bool *convolved, bool *rest)
{
    const struct problem *p = plan->problem;
    const char **reason = NEW_ARRAY(a, const char *, p->paths + 1);
    for (int i = 0; i < p->paths; i++) {
        reason[i] = pass->variant_of[i] < 0 ? "without effect" : why_path_general(plan, &p->path[i]);
        convolved[i] = !reason[i];
        rest[i] = reason[i] != NULL;
    }
    return reason;
}

bool gpu_leaves_weights(const struct form_output *o, const struct pass *convolution, const struct path *q)
{
    return q->weighted && q->weight_numel && (o->terms == 0 || convolution->variant_of[q->number] < 0);
}

/* Does the convolution leave something of the pass: a path with an effect, or elements of w to be written? */
static bool leaves(const struct problem *p, const struct kernel_form *k, const struct pass *pass,
                   const struct pass *convolution)
{
    for (int i = 0; i < p->paths; i++) {
        if (pass->variant_of[i] >= 0 && convolution->variant_of[i] < 0)
            return true;
        for (int o = 0; o < pass->outputs; o++)
            if (k->output[pass->output[o]].slot == SLOT_W &&
                gpu_leaves_weights(&k->output[pass->output[o]], convolution, &p->path[i]))
                return true;
    }
    return false;
}

/* ---- segments ---- */

static int slot_count(const struct kernel_form *k, const struct pass *pass, enum slot s, bool outputs)
{
    int n = 0;
    for (int i = 0; i < k->inputs && !outputs; i++)
        n += k->input[i].slot == s && (pass->raw[i] || pass->vector[i]);
    for (int o = 0; o < pass->outputs && outputs; o++)
        n += k->output[pass->output[o]].slot == s;
    return n;
}

static void find_zs(struct gpu_segment *s, const struct problem *p)
{
    s->zs = 0;
    for (int i = 0; i < s->paths; i++) {
        int at = 0;
        while (at < s->zs && p->path[s->z[at]].z != p->path[s->path[i]].z)
            at++;
        if (at == s->zs)
            s->z[s->zs++] = s->path[i];
    }
}

/* Registers of a thread, and the other figures, for a segment with its paths and channels set. */
static void measure(const struct plan *plan, const struct kernel_form *k, const struct gpu_pass *g,
                    struct gpu_segment *s)
{
    const struct problem *p = plan->problem;
    const struct pass *pass = g->pass;
    int size = element_size(plan), words = size / 4, v = s->channels, x = 0, z = 0, longest = 0;
    double arithmetic = 0, form_terms = 0;
    s->xs = 0;
    for (int i = 0; i < s->paths; i++) {
        const struct path *q = &p->path[s->path[i]];
        const struct matrix *m = g->matrix[s->path[i]];
        const struct variant *a = &pass->variant[pass->variant_of[s->path[i]]];
        int at = 0;
        while (at < s->xs && s->x[at] != q->x)
            at++;
        if (at == s->xs) {
            s->x[s->xs++] = q->x;
            x += 2 * q->l1 + 1;
        }
        arithmetic +=
            recipe_cost(a->product, m->entries, m->rows, m->columns, m->form_terms).instructions * v;
        form_terms += m->form_terms - m->forms;
    }
    find_zs(s, p);
    for (int i = 0; i < s->zs; i++) {
        int components = 2 * p->path[s->z[i]].l3 + 1;
        z += components;
        longest = longest > components ? longest : components;
    }
    int y = (int)p->dim[SLOT_Y];
    int xs_in = slot_count(k, pass, SLOT_X, false), xs_out = slot_count(k, pass, SLOT_X, true);
    int ys_in = slot_count(k, pass, SLOT_Y, false), ys_out = slot_count(k, pass, SLOT_Y, true);
    int zs_out = slot_count(k, pass, SLOT_G, true), zs = slot_count(k, pass, SLOT_G, false) + zs_out;
    s->groups = s->mul / (LANES * v);
    s->g_length = v * z * zs_out;
    s->longest = LANES * v * longest * size;
    s->x_bytes = LANES * v * x * xs_out * size;
    s->registers = words * (v * (z * zs + x * (xs_in + xs_out)) + y * (ys_in + ys_out)) + OWN_REGISTERS +
                   (ys_in > 1 ? FORM_REGISTERS * words * (ys_in - 1) : 0);
    int ws_in = slot_count(k, pass, SLOT_W, false), ws_out = slot_count(k, pass, SLOT_W, true);
    int bytes_in = size * (LANES * v * (s->paths * ws_in + x * xs_in) + y * ys_in);
    s->bytes = bytes_in + size * (LANES * v * (s->paths * ws_out + x * xs_out) + y * ys_out);
    /* fitted to the loops that ptxas makes (rms 2.4 %): the loop itself, products, forms, weights, the sums
     * over lanes, copies of 512 bytes */
    s->work = (int)(87 + 0.95 * arithmetic + 2.8 * form_terms * ys_in + 1.4 * s->paths * (ws_in + ws_out) +
                    69.0 * ys_out + 6.8 * bytes_in / 512);
}

static int by_operands(const void *a, const void *b, const struct problem *p)
{
    const struct path *q = &p->path[*(const int *)a], *r = &p->path[*(const int *)b];
    return q->y != r->y   ? (q->y > r->y) - (q->y < r->y)
           : q->x != r->x ? (q->x > r->x) - (q->x < r->x)
                          : q->number - r->number;
}

/* Insertion sort: segments are short and there is no qsort with a context in C11. */
static void sort_paths(struct gpu_segment *s, const struct problem *p)
{
    for (int i = 1; i < s->paths; i++)
        for (int j = i; j > 0 && by_operands(&s->path[j - 1], &s->path[j], p) > 0; j--) {
            int t = s->path[j];
            s->path[j] = s->path[j - 1];
            s->path[j - 1] = t;
        }
}

/* Has the path's segment of z other paths of the pass? */
static bool shares_z(const struct problem *p, const struct pass *pass, int number)
{
    for (int i = 0; i < p->paths; i++)
        if (i != number && pass->variant_of[i] >= 0 && p->path[i].z == p->path[number].z)
            return true;
    return false;
}

/* Adds a path and all others into its segment of z, which are computed together. */
static void add_paths(struct gpu_segment *s, const struct problem *p, const bool *taken, bool shared,
                      int number)
{
    s->mul = p->path[number].mul_x;
    if (!shared) {
        s->path[s->paths++] = number;
        return;
    }
    for (int i = 0; i < s->paths; i++)
        if (p->path[s->path[i]].z == p->path[number].z)
            return;
    for (int i = 0; i < p->paths; i++)
        if (!taken[i] && p->path[i].z == p->path[number].z)
            s->path[s->paths++] = i;
}

/* Takes out those last added, unless nothing would be left. */
static bool drop_paths(struct gpu_segment *s, const struct problem *p)
{
    int z = p->path[s->path[s->paths - 1]].z;
    if (p->path[s->path[0]].z == z)
        return false;
    while (p->path[s->path[s->paths - 1]].z == z)
        s->paths--;
    return true;
}

/* Divides the paths into segments of at most `limit` registers. */
static void divide(struct arena *a, const struct plan *plan, const struct kernel_form *k, struct gpu_pass *g,
                   int channels, int limit, int most_paths)
{
    const struct problem *p = plan->problem;
    bool *taken = NEW_ARRAY(a, bool, p->paths + 1);
    bool *shared = NEW_ARRAY(a, bool, p->paths + 1);
    for (int i = 0; i < p->paths; i++) {
        taken[i] = g->pass->variant_of[i] < 0;
        shared[i] = shares_z(p, g->pass, i);
    }
    g->segment = NEW_ARRAY(a, struct gpu_segment, p->paths + 1);
    g->segments = 0;
    for (;;) {
        struct gpu_segment s = {.path = NEW_ARRAY(a, int, p->paths + 1), .x = NEW_ARRAY(a, int, p->x.n + 1)};
        /* whole segments of x first, so that the gradient of an x row is summed in one place; then single
         * paths */
        for (int x = 0; x < p->x.n; x++) {
            struct gpu_segment larger = s;
            larger.path = NEW_ARRAY(a, int, p->paths + 1);
            memcpy(larger.path, s.path, (size_t)s.paths * sizeof *s.path);
            for (int i = 0; i < p->paths; i++)
                if (!taken[i] && p->path[i].x == x && (s.paths == 0 || p->path[i].mul_x == s.mul))
                    add_paths(&larger, p, taken, shared[i], i);
            if (larger.paths == s.paths)
                continue;
            larger.channels = larger.mul % (LANES * channels) ? 1 : channels;
            larger.x = NEW_ARRAY(a, int, p->x.n + 1);
            larger.z = NEW_ARRAY(a, int, p->z.n + 1);
            measure(plan, k, g, &larger);
            bool fits = larger.registers <= limit && larger.paths <= most_paths;
            if (!fits && s.paths)
                continue;
            while (!fits && drop_paths(&larger, p)) {
                measure(plan, k, g, &larger);
                fits = larger.registers <= limit && larger.paths <= most_paths;
            }
            s = larger;
            for (int i = 0; i < s.paths; i++)
                taken[s.path[i]] = true;
        }
        if (s.paths == 0)
            break;
        sort_paths(&s, p);
        find_zs(&s, p);
        g->segment[g->segments++] = s;
    }
}

static int most_registers(const struct gpu_pass *g)
{
    int most = 0;
    for (int i = 0; i < g->segments; i++)
        most = most > g->segment[i].registers ? most : g->segment[i].registers;
    return most;
}

/* Time of an edge in instructions of a warp at 8 warps a multiprocessor; fitted to measurements of the layers
 * of MACE and of NequIP on an H200, whose order it gives. Instructions and memory overlap in part. */
static double time_of(const struct gpu_pass *g, int point)
{
    const double bytes_an_instruction = 6, slices = 1.15, each_segment = 0.02;
    double instructions = 0, bytes = 0;
    for (int i = 0; i < g->segments; i++) {
        const struct gpu_segment *s = &g->segment[i];
        /* short slices of rows use sectors and pages of memory less well */
        bool short_slices = s->groups > 1 && s->channels == 1;
        instructions += (double)s->work * s->groups / occupancy[point].issue;
        bytes += (double)s->bytes * s->groups * (short_slices ? slices : 1);
    }
    bytes /= bytes_an_instruction;
    double longer = instructions > bytes ? instructions : bytes, shorter = instructions + bytes - longer;
    double time = (longer + 0.4 * shorter) * (1 + each_segment * (g->segments - 1));
    return most_registers(g) > occupancy[point].registers ? 2 * time : time; /* it spills */
}

/* Chooses V, segments and occupancy. Two channels a lane halve the work for forms and sums over lanes; more
 * warps hide latency; fewer segments read x less often. */
static int choose(struct arena *a, const struct plan *plan, const struct kernel_form *k, struct gpu_pass *g,
                  const struct choice *c)
{
    int points = (int)(sizeof occupancy / sizeof *occupancy), best = points - 1, best_v = 1;
    double least = 0;
    bool pairs = false;
    for (int i = 0; i < plan->problem->paths; i++)
        pairs |= g->pass->variant_of[i] >= 0 && plan->problem->path[i].mul_x % (2 * LANES) == 0;
    int most_paths = c->knob[KNOB_PATHS] ? c->knob[KNOB_PATHS] : plan->problem->paths;
    for (int o = 0; o < points; o++)
        for (int v = 1; v <= 2; v++) {
            if (c->knob[KNOB_CHANNELS] && c->knob[KNOB_CHANNELS] != v)
                continue;
            if (v == 2 && !c->knob[KNOB_CHANNELS] && !pairs) /* the same again */
                continue;
            if (c->knob[KNOB_WARPS] && occupancy[o].warps != c->knob[KNOB_WARPS])
                continue;
            divide(a, plan, k, g, v, occupancy[o].registers, most_paths);
            double work = time_of(g, o);
            if (least == 0 || work < least) {
                least = work;
                best = o;
                best_v = v;
                g->spills = most_registers(g) > occupancy[o].registers;
            }
        }
    g->cost = least;
    divide(a, plan, k, g, c->knob[KNOB_CHANNELS] ? c->knob[KNOB_CHANNELS] : best_v, occupancy[best].registers,
           most_paths);
    return best;
}

/* Shared memory of a block, and where everything is; without g->team, each warp has a part of its own of an A
 * output. */
static void lay_out_block(struct arena *a, const struct plan *plan, const struct kernel_form *k,
                          struct gpu_pass *g, const struct choice *c, int shared)
{
    const struct problem *p = plan->problem;
    int stage = 0, longest = 0, all = 0, x_out = 0;
    bool several = false;
    g->parts = g->edge_row = g->a_length = 0;
    for (int i = 0; i < g->segments; i++) {
        g->team &= g->warps % g->segment[i].groups == 0;
        several |= g->segment[i].groups > 1;
    }
    for (int i = 0; i < g->segments; i++) {
        struct gpu_segment *s = &g->segment[i];
        conv_layout_stage(a, plan, k, g, s);
        stage = stage > s->stage.bytes ? stage : s->stage.bytes;
        longest = longest > s->longest ? longest : s->longest;
        x_out = x_out > s->x_bytes ? x_out : s->x_bytes;
        all = all > s->g_length ? all : s->g_length;
        s->part_at = g->parts;
        g->parts += g->team ? 1 : s->groups;
        s->edge_at = g->edge_row;
        for (int x = 0; x < s->xs; x++)
            g->edge_row += s->mul * (2 * p->x.segment[s->x[x]].ir.l + 1);
    }
    g->part_buffer = g->a_outputs && g->parts > 1 && (p->spec->deterministic || g->parts < ADDED_PARTS);
    for (int o = 0; o < g->pass->outputs; o++)
        if (k->output[g->pass->output[o]].slot == SLOT_Y)
            g->a_length += (int)p->dim[SLOT_Y];
    g->exchange = g->team && (several || (g->parts > 1 && !g->part_buffer));
    int exchange = g->exchange ? 2 * TEAM_ITEMS * g->a_length * element_size(plan) : 0;
    int leave = g->g_outputs && 2 * longest > x_out ? 2 * longest : x_out;
    int room = shared / g->blocks - 1024 - g->warps * (leave + TILE_BYTES + exchange);
    g->stages = c->knob[KNOB_STAGES] ? c->knob[KNOB_STAGES] : 4;
    while (g->stages > 2 && g->stages * stage * g->warps > room)
        g->stages--;
    while (g->blocks > 1 && g->stages * stage * g->warps > room) {
        g->blocks--;
        room = shared / g->blocks - 1024 - g->warps * (leave + TILE_BYTES + exchange);
    }
    /* what is left goes to the flush, up to some KiB: rows leave several paths at a time */
    all *= LANES * element_size(plan);
    if (g->g_outputs) {
        int spare = leave / 2 + (room / g->warps - g->stages * stage) / 2;
        spare = spare < BUFFER_BYTES ? spare : BUFFER_BYTES;
        g->buffer_bytes = all < spare ? all : spare > longest ? spare / 128 * 128 : longest;
        bool once = g->buffer_bytes >= all && slot_count(k, g->pass, SLOT_G, true) == 1;
        g->buffers = once ? 1 : 2;
    }
    conv_layout_block(a, plan, k, g);
}

static void plan_convolution(struct arena *a, struct plan *plan, const struct kernel_form *k,
                             struct gpu_pass *g, const struct choice *c, int shared)
{
    const struct problem *p = plan->problem;
    g->matrix = NEW_ARRAY(a, const struct matrix *, p->paths + 1);
    for (int i = 0; i < p->paths; i++)
        if (g->pass->variant_of[i] >= 0)
            g->matrix[i] = shares_z(p, g->pass, i) ? plan->path[i].matrix
                                                   : matrix_scaled(&plan->matrices, &p->path[i], SLOT_Y);
    g->g_outputs = slot_count(k, g->pass, SLOT_G, true) > 0;
    g->a_outputs = slot_count(k, g->pass, SLOT_Y, true) > 0;
    g->b_outputs = slot_count(k, g->pass, SLOT_X, true) > 0;
    g->w_outputs = slot_count(k, g->pass, SLOT_W, true) > 0;
    g->edge_buffer = g->b_outputs && p->spec->deterministic;
    int point = choose(a, plan, k, g, c);
    g->warps = 4;
    g->blocks = occupancy[point].warps / g->warps;
    g->team = g->a_outputs;
    lay_out_block(a, plan, k, g, c, shared);
    if (g->block->bytes > shared && g->exchange) { /* without an exchange, then */
        g->blocks = occupancy[point].warps / g->warps;
        g->team = false;
        lay_out_block(a, plan, k, g, c, shared);
    }
}

/* ---- the whole ---- */

static void plan_general(const struct plan *plan, struct gpu_pass *g)
{
    for (int i = 0; i < plan->problem->paths; i++) {
        if (g->pass->variant_of[i] < 0)
            continue;
        const struct variant *v = &g->pass->variant[g->pass->variant_of[i]];
        const struct path_plan *e = &plan->path[i];
        int64_t need = (int64_t)(v->ts + v->ps) * e->matrix->columns *
                       (e->b == SLOT_X ? e->path->mul_x : e->path->mul_y);
        g->scratch = g->scratch > need ? g->scratch : need;
    }
}

/* Plans a pass: the convolution of what it can compute, then the general evaluation of what that leaves; or
 * the latter alone, where the convolution has fewer than half of the flops and would only read everything
 * once more. */
static void plan_pass_cuda(struct arena *a, struct plan *plan, const struct choice *c, int shared,
                           struct gpu_kernel *k, const struct pass *pass)
{
    const struct kernel_form *form = k->kernel->form;
    int paths = plan->problem->paths;
    bool *convolved = NEW_ARRAY(a, bool, paths + 1), *rest = NEW_ARRAY(a, bool, paths + 1);
    struct gpu_pass convolution = {.evaluation = GPU_CONVOLUTION};
    struct gpu_pass general = {.evaluation = GPU_GENERAL, .pass = pass, .reason = why_general(plan)};
    if (!general.reason) {
        general.path_reason = divide_paths(a, plan, pass, convolved, rest);
        struct pass *own = NEW(a, struct pass);
        *own = plan_pass(a, plan, form, pass->owner, pass->outputs, pass->output, convolved);
        convolution.pass = own;
        if (own->flops == 0)
            general.reason = "no path for the convolution";
        else if (2 * own->flops < pass->flops)
            general.reason = "paths for the convolution have fewer than half of the flops";
        else
            plan_convolution(a, plan, form, &convolution, c, shared);
        if (!general.reason && convolution.block->bytes > shared)
            general.reason = "a stage larger than shared memory";
    }
    if (!general.reason) {
        k->pass[k->passes++] = convolution;
        if (!leaves(plan->problem, form, pass, convolution.pass))
            return;
        struct pass *left = NEW(a, struct pass);
        *left = plan_pass(a, plan, form, pass->owner, pass->outputs, pass->output, rest);
        general.pass = left;
        general.before = convolution.pass;
    }
    plan_general(plan, &general);
    k->pass[k->passes++] = general;
}

/* All outputs of a kernel in one convolution, where registers hold operands and outputs of slot z together:
 * every row is read once. What the convolutions of the plan's passes leave stays with general passes of their
 * own. */
static void plan_together(struct arena *a, struct plan *plan, struct gpu_kernel *k, const struct choice *c,
                          int shared)
{
    const struct kernel_form *form = k->kernel->form;
    bool *convolved = NEW_ARRAY(a, bool, plan->problem->paths + 1);
    double apart = 0;
    for (int p = 0; p < k->passes; p++) {
        const struct gpu_pass *g = &k->pass[p];
        if (g->evaluation == GPU_GENERAL && !g->before)
            return;
        for (int i = 0; i < plan->problem->paths && g->evaluation == GPU_CONVOLUTION; i++)
            convolved[i] |= g->pass->variant_of[i] >= 0;
        apart += g->cost;
    }
    int *outputs = NEW_ARRAY(a, int, form->outputs + 1);
    for (int o = 0; o < form->outputs; o++)
        outputs[o] = o;
    struct pass *pass = NEW(a, struct pass);
    *pass = plan_pass(a, plan, form, INDEX_RECEIVER, form->outputs, outputs, convolved);
    struct gpu_pass together = {.pass = pass, .evaluation = GPU_CONVOLUTION};
    plan_convolution(a, plan, form, &together, c, shared);
    bool pays = c->knob[KNOB_PASSES] ? c->knob[KNOB_PASSES] == 1 : !together.spills && together.cost <= apart;
    if (!pays || together.block->bytes > shared)
        return;
    int passes = 1;
    for (int p = 0; p < k->passes; p++)
        if (k->pass[p].evaluation == GPU_GENERAL) {
            k->pass[p].before = pass;
            k->pass[passes++] = k->pass[p];
        }
    k->pass[0] = together;
    k->passes = passes;
}

/* backward_convolution, backward_general; a second one of its kind: backward_general_2. */
static void name_passes(struct arena *a, struct gpu_kernel *k)
{
    static const char *const word[] = {[GPU_CONVOLUTION] = "convolution", [GPU_GENERAL] = "general"};
    int count[] = {0, 0}, sets = 0;
    for (int p = 0; p < k->passes; p++) {
        struct gpu_pass *g = &k->pass[p];
        g->name = arena_printf(a, "%s_%s", k->kernel->form->name, word[g->evaluation]);
        if (count[g->evaluation]++)
            g->name = arena_printf(a, "%s_%d", g->name, count[g->evaluation]);
        conv_layout_name(a, g, g->name, sets);
        sets += g->segments;
    }
}

struct gpu_plan *plan_cuda(struct arena *a, struct plan *plan, const char *arch)
{
    struct choice c = read_knobs(plan->problem->spec, arch);
    struct gpu_plan *gpu = NEW(a, struct gpu_plan);
    gpu->plan = plan;
    gpu->arch = arch;
    gpu->kernel = NEW_ARRAY(a, struct gpu_kernel, plan->kernels + 1);
    for (int i = 0; i < plan->kernels; i++) {
        struct gpu_kernel *k = &gpu->kernel[i];
        k->kernel = &plan->kernel[i];
        k->pass = NEW_ARRAY(a, struct gpu_pass, 2 * k->kernel->passes + 1);
        for (int p = 0; p < k->kernel->passes; p++)
            plan_pass_cuda(a, plan, &c, shared_bytes(arch), k, &k->kernel->pass[p]);
        if (k->kernel->passes > 1)
            plan_together(a, plan, k, &c, shared_bytes(arch));
        name_passes(a, k);
        for (int p = 0; p < k->passes && !gpu->fault; p++)
            if (k->pass[p].evaluation == GPU_CONVOLUTION)
                gpu->fault = layout_check(a, k->pass[p].block);
    }
    return gpu;
}
