/* emit_cuda_edge.c - the pipelined convolution, one edge: how its rows come into a stage, the work of its
 * paths, and where its outputs go.
 */
#include "emit/emit_cuda_conv.h"

int cuda_size(const struct cuda_writer *w)
{
    return precision_table[w->spec->precision].bytes;
}

bool conv_reads(const struct cuda_writer *w, int input)
{
    return w->pass->pass->raw[input] || w->pass->pass->vector[input];
}

int cuda_components_x(const struct cuda_writer *w, int x)
{
    return 2 * w->problem->x.segment[x].ir.l + 1;
}

static const char *print(struct cuda_writer *w, const char *format, const char *name, int n)
{
    return arena_printf(w->arena, format, name, n);
}

static const struct stage_piece *piece_of(const struct gpu_segment *s, int input, int number)
{
    for (int i = 0; i < s->pieces; i++)
        if (s->piece[i].input == input && s->piece[i].number == number)
            return &s->piece[i];
    return NULL;
}

const char *conv_staged(const struct conv *c, int input, int number)
{
    return arena_printf(c->w->arena, "(const real *)(at + %d)", piece_of(c->s, input, number)->at);
}

/* ---- rows of slots X and G ---- */

const char *conv_row(const struct conv *c, const char *name, int d)
{
    return c->s->groups > 1 ? print(c->w, "%s_row%d", name, d) : print(c->w, "%s_row", name, d);
}

void conv_rows(struct conv *c, const char *indent, const char *type, const char *name, const char *row,
               enum slot slot)
{
    struct cuda_writer *w = c->w;
    const struct gpu_segment *s = c->s;
    int n = slot == SLOT_X ? s->xs : s->zs, per = 16 / cuda_size(w), lanes = LANES * s->channels, last = -1;
    for (;;) { /* lengths in ascending order */
        int d = 0;
        for (int i = 0; i < n; i++) {
            int other = slot == SLOT_X ? cuda_components_x(w, s->x[i]) : 2 * w->problem->path[s->z[i]].l3 + 1;
            if (other > last && (d == 0 || other < d))
                d = other;
        }
        if (d == 0 || (last > 0 && s->groups == 1))
            return;
        text_printf(w->out, "%s%s *const %s = cgtp_base(%s", indent, type, conv_row(c, name, d), row);
        if (s->groups > 1)
            text_printf(w->out, " + group * %d", lanes * d);
        text_printf(w->out, " + lane * %d);\n", per);
        last = d;
    }
}

/* ---- loading a stage ---- */

/* Copies n pieces of 16 bytes; `from` points to the lane's of the first 32, `policy` names the cache policy.
 */
static void emit_copies(struct cuda_writer *w, int at, int n, const char *from, const char *policy)
{
    int per = 16 / cuda_size(w);
    for (int k = 0; k * LANES < n; k++) {
        text_printf(w->out, "        ");
        if (n - k * LANES < LANES)
            text_printf(w->out, "if (lane < %d)\n            ", n - k * LANES);
        text_printf(w->out, "cgtp_copy16(to + %d, %s, %s);\n", at + k * LANES * 16,
                    cuda_plus(w, from, k * LANES * per), policy);
    }
}

/* The distance between paths' weights that most copies have, if each copies those of `together` paths. */
static int64_t usual_distance(const int64_t *offset, int n, int together)
{
    int64_t best = 0;
    int most = 0;
    for (int i = 0; i + 1 < n; i += together) {
        int same = 0;
        for (int j = 0; j + 1 < n; j += together)
            same += offset[j + 1] - offset[j] == offset[i + 1] - offset[i];
        if (same > most) {
            most = same;
            best = offset[i + 1] - offset[i];
        }
    }
    return best;
}

/* Slices of weights: q pieces of 16 bytes from each path, those of several paths in a copy. */
static void emit_weight_copies(struct conv *c, int input)
{
    struct cuda_writer *w = c->w;
    const struct gpu_segment *s = c->s;
    const char *name = w->form->input[input].name;
    int per = 16 / cuda_size(w), q = LANES * s->channels / per, n = 0, first = -1;
    int64_t *offset = NEW_ARRAY(w->arena, int64_t, s->paths + 1);
    for (int i = 0; i < s->pieces; i++) {
        if (s->piece[i].input != input)
            continue;
        first = first < 0 ? s->piece[i].at : first;
        offset[n++] = w->problem->path[s->piece[i].number].weight_offset;
    }
    int together = LANES / q; /* paths a copy of all lanes covers */
    int64_t distance = together > 1 ? usual_distance(offset, n, together) : 0;
    text_printf(w->out,
                "        const real *const %s_row = cgtp_base(l.%s + (first + next) * %lld + group * %d",
                name, name, (long long)w->problem->dim[SLOT_W], LANES * s->channels);
    if (together > 1)
        text_printf(w->out, " + lane / %d * %lld + lane %% %d * %d);\n", q, (long long)distance, q, per);
    else
        text_printf(w->out, " + lane * %d);\n", per);
    for (int i = 0; i < n; i += together) {
        int here = n - i < together ? n - i : together;
        struct text from = {.arena = w->arena};
        bool even = true;
        for (int j = 2; j < here; j++)
            even &= offset[i + j] - offset[i + j - 1] == offset[i + 1] - offset[i];
        text_printf(&from, "%s_row + %lld", name, (long long)offset[i]);
        if (here > 1 && even && offset[i + 1] - offset[i] != distance) {
            text_printf(&from, " + lane / %d * %lld", q, (long long)(offset[i + 1] - offset[i] - distance));
        } else if (here > 1 && !even) {
            text_printf(&from, " + (lane < %d ? 0", q);
            for (int j = 1; j + 1 < here; j++)
                text_printf(&from, " : lane < %d ? %lld", (j + 1) * q,
                            (long long)(offset[i + j] - offset[i] - j * distance));
            text_printf(&from, " : %lld)",
                        (long long)(offset[i + here - 1] - offset[i] - (here - 1) * distance));
        }
        text_printf(w->out, "        ");
        if (here * q < LANES)
            text_printf(w->out, "if (lane < %d)\n            ", here * q);
        text_printf(w->out, "cgtp_copy16(to + %d, %s, stream);\n", first + i * q * 16, from.s);
    }
}

void conv_load(struct conv *c)
{
    struct cuda_writer *w = c->w;
    const struct gpu_segment *s = c->s;
    int size = cuda_size(w), per = 16 / size;
    text_printf(w->out,
                "    /* Starts the copies of edge number `next` of the range into a stage of the ring. */\n"
                "    auto load = [&](int next, cgtp_address stage, int lane) {\n"
                "        if (next %% CGTP_LANES == 0) {\n"
                "            senders = next_senders;\n"
                "            const int ahead = next + CGTP_LANES + lane;\n"
                "            next_senders = ahead < count ? graph.sender[first + ahead] : 0;\n"
                "        }\n"
                "        const auto from = cgtp_shuffle(senders, next %% CGTP_LANES);\n"
                "        unsigned char *const to = cgtp_hide(cgtp_pointer(stage) + lane * 16);\n");
    for (int i = 0; i < w->form->inputs; i++) {
        const struct form_argument *in = &w->form->input[i];
        long long dim = (long long)w->problem->dim[in->slot];
        if (!conv_reads(w, i) || in->slot == SLOT_G)
            continue;
        const char *row = arena_printf(w->arena, "%s_row", in->name);
        if (in->slot == SLOT_W) {
            emit_weight_copies(c, i);
        } else if (in->slot == SLOT_X) {
            conv_rows(c, "        ", "const real", in->name,
                      arena_printf(w->arena, "l.%s + from * (int64_t)%lld", in->name, dim), SLOT_X);
            for (int x = 0; x < s->xs; x++) {
                const struct stage_piece *p = piece_of(s, i, s->x[x]);
                const struct segment *q = &w->problem->x.segment[s->x[x]];
                emit_copies(w, p->at, p->bytes / 16,
                            cuda_plus(w, conv_row(c, in->name, 2 * q->ir.l + 1), q->offset), "keep");
            }
        } else {
            const struct stage_piece *p = piece_of(s, i, 0);
            bool wide = dim * size % 16 == 0;
            text_printf(w->out, "        const real *const %s = l.%s + (first + next) * %lld + lane * %d;\n",
                        row, in->name, dim, wide ? per : 1);
            if (wide) {
                emit_copies(w, p->at, p->bytes / 16, row, "stream");
            } else {
                for (int k = 0; k * LANES < dim; k++) {
                    text_printf(w->out, "        ");
                    if (dim - k * LANES < LANES)
                        text_printf(w->out, "if (lane < %lld)\n            ", dim - k * LANES);
                    text_printf(w->out, "cgtp_copy_element((real *)(to + %d - lane * %d), %s);\n",
                                p->at + k * LANES * size, 16 - size, cuda_plus(w, row, k * LANES));
                }
            }
        }
    }
    if (w->pass->b_outputs && !w->pass->edge_buffer)
        text_printf(w->out, "        if (lane == 0)\n            *(int64_t *)(to + %d) = from;\n",
                    s->sender_at);
    text_printf(w->out, "    };\n");
}

/* ---- one edge ---- */

/* Power of two that holds n sums, at most a warp's. */
static int sums_width(int n)
{
    int width = 1;
    while (width < n && width < LANES)
        width *= 2;
    return width;
}

/* Do several warps or teams add to an A output of an item, atomically? */
static bool adds_up(const struct cuda_writer *w)
{
    return w->pass->parts > 1 && !w->pass->part_buffer;
}

bool conv_in_team(const struct conv *c)
{
    return c->w->pass->exchange;
}

/* Where the sums of item `item` (an expression) for an A output go, and the distance of the next item's. */
static const char *sums_row(struct conv *c, const char *output, const char *item, long long *stride)
{
    struct cuda_writer *w = c->w;
    long long dim = (long long)w->problem->dim[SLOT_Y];
    const struct gpu_pass *g = w->pass;
    *stride = g->part_buffer ? g->parts * dim : dim;
    if (!g->part_buffer)
        return arena_printf(w->arena, "l.%s + %s * %lld", output, item, dim);
    return arena_printf(w->arena, "l.%s_parts + (%s * %d + %d%s) * %lld", output, item, g->parts,
                        c->s->part_at, g->team ? "" : " + group", dim);
}

/* One output in the exchange of a team: two times TEAM_ITEMS items, of each warp dim_y elements. */
static long long exchange_length(const struct conv *c)
{
    return 2LL * TEAM_ITEMS * c->s->groups * (long long)c->w->problem->dim[SLOT_Y];
}

void conv_add_up(struct conv *c)
{
    struct cuda_writer *w = c->w;
    long long at = 0;
    text_printf(
        w->out,
        "    /* Sums the gradients of `items` edges from number `begin` of the range on over the team. */\n"
        "    auto add_up = [&](int begin, int items) {\n        cgtp_sync_team<%d>();\n",
        c->s->groups);
    for (int o = 0; o < w->pass->pass->outputs; o++) {
        const struct form_output *f = &w->form->output[w->pass->pass->output[o]];
        if (f->slot != SLOT_Y)
            continue;
        long long dim = (long long)w->problem->dim[SLOT_Y], stride;
        const char *to = sums_row(c, f->name, "(first + begin)", &stride);
        text_printf(
            w->out, "        cgtp_sum_team<%lld, %d, %s>(%s, %lld,\n            exchange + %s, items);\n",
            dim, c->s->groups, adds_up(w) ? "true" : "false", to, stride,
            cuda_plus(w, arena_printf(w->arena, "begin %% %d * %lld", 2 * TEAM_ITEMS, c->s->groups * dim),
                      at));
        at += exchange_length(c);
    }
    text_printf(w->out, "    };\n");
}

static void emit_edge_outputs(struct conv *c)
{
    long long exchange_at = 0;
    struct cuda_writer *w = c->w;
    struct text *out = w->out;
    const struct gpu_segment *s = c->s;
    int lanes = LANES * s->channels, per = 16 / cuda_size(w);
    for (int o = 0; o < w->pass->pass->outputs; o++) {
        const struct form_output *f = &w->form->output[w->pass->pass->output[o]];
        if (f->slot != SLOT_Y)
            continue;
        long long dim = (long long)w->problem->dim[SLOT_Y];
        long long stride;
        const char *row = conv_in_team(c)
                              ? arena_printf(w->arena, "exchange + (done %% %d * %d + group) * %lld",
                                             2 * TEAM_ITEMS, s->groups, dim)
                              : sums_row(c, f->name, "edge", &stride);
        if (conv_in_team(c)) {
            row = cuda_plus(w, row, exchange_at);
            exchange_at += exchange_length(c);
        }
        for (int k = 0; k < dim; k += LANES) {
            int n = dim - k < LANES ? (int)(dim - k) : LANES, width = sums_width(n);
            for (int i = n; i < width; i++)
                text_printf(out, "            %s[%d] = 0;\n", f->name, k + i);
            text_printf(out, "            cgtp_sums<%d>(%s);\n", width, cuda_plus(w, f->name, k));
            const char *at =
                arena_printf(w->arena, "%s + cgtp_sums_index<%d>()", cuda_plus(w, row, k), width);
            text_printf(out, "            if (lane < %d && cgtp_sums_index<%d>() < %d)\n                ",
                        width, width, n);
            text_printf(out, adds_up(w) && !conv_in_team(c) ? "cgtp_add(%s, %s[%d]);\n" : "*(%s) = %s[%d];\n",
                        at, f->name, k);
        }
    }
    if (w->pass->a_outputs && conv_in_team(c))
        text_printf(out, "            if (done %% %d == %d)\n                add_up(done - %d, %d);\n",
                    TEAM_ITEMS, TEAM_ITEMS - 1, TEAM_ITEMS - 1, TEAM_ITEMS);
    if (!w->pass->b_outputs)
        return;
    int at = 0;
    for (int o = 0; o < w->pass->pass->outputs; o++) {
        const struct form_output *f = &w->form->output[w->pass->pass->output[o]];
        for (int x = 0; x < s->xs && f->slot == SLOT_X; x++) {
            int n = s->channels * cuda_components_x(w, s->x[x]);
            text_printf(out, "            cgtp_store<%d>((real *)(leave + %d) + lane * %d, %s%d);\n", n, at,
                        n, f->name, s->x[x]);
            at += LANES * n * cuda_size(w);
        }
    }
    text_printf(out, "            cgtp_sync_warp();\n");
    at = 0;
    for (int o = 0; o < w->pass->pass->outputs; o++) {
        const struct form_output *f = &w->form->output[w->pass->pass->output[o]];
        if (f->slot != SLOT_X)
            continue;
        const char *row =
            w->pass->edge_buffer
                ? arena_printf(w->arena, "l.%s_edges + edge * (int64_t)%d", f->name, w->pass->edge_row)
                : arena_printf(w->arena, "l.%s + *(const int64_t *)(at + %d) * %lld", f->name, s->sender_at,
                               (long long)w->problem->dim[SLOT_X]);
        conv_rows(c, "            ", "real", f->name, row, SLOT_X);
        int edge_at = s->edge_at;
        for (int x = 0; x < s->xs; x++) {
            int d = cuda_components_x(w, s->x[x]), pieces = lanes * d / per;
            int64_t offset = w->pass->edge_buffer ? edge_at : w->problem->x.segment[s->x[x]].offset;
            for (int k = 0; k * LANES < pieces; k++) {
                text_printf(out, "            ");
                if (pieces - k * LANES < LANES)
                    text_printf(out, "if (lane < %d)\n                ", pieces - k * LANES);
                const char *to = cuda_plus(w, conv_row(c, f->name, d), offset + k * LANES * per);
                if (w->pass->edge_buffer)
                    text_printf(out, "cgtp_put16(%s, leave + %d + lane * 16);\n", to, at + k * LANES * 16);
                else
                    text_printf(out, "cgtp_add16(%s, (const real *)(leave + %d) + lane * %d);\n", to,
                                at + k * LANES * 16, per);
            }
            at += pieces * 16;
            edge_at += s->mul * d;
        }
    }
}

void conv_edges(struct conv *c)
{
    struct cuda_writer *w = c->w;
    struct text *out = w->out;
    const struct gpu_segment *s = c->s;
    int lanes = LANES * s->channels;
    long long dim_y = (long long)w->problem->dim[SLOT_Y];
    text_printf(out,
                "        CGTP_LOOP\n        for (; done < end; done++) {\n"
                "            cgtp_copies_wait<STAGES - 2>();\n            cgtp_sync_warp();\n"
                "            if (done + STAGES - 1 < count) /* into the stage that the edge before had */\n"
                "                load(done + STAGES - 1, stage, lane);\n            "
                "cgtp_copies_commit();\n"
                "            stage = cgtp_stage_after<STAGES, STAGE>(stage, ring);\n"
                "            const unsigned char *const at = cgtp_pointer(stage);\n");
    if (w->pass->a_outputs || w->pass->w_outputs || w->pass->edge_buffer)
        text_printf(out, "            const int64_t edge = first + done;\n");
    for (int i = 0; i < w->form->inputs; i++) {
        const struct form_argument *in = &w->form->input[i];
        if (!conv_reads(w, i))
            continue;
        if (in->slot == SLOT_Y)
            text_printf(out, "            real %s[%lld];\n            cgtp_load_row<%lld>(%s, %s);\n",
                        in->name, dim_y, dim_y, in->name, conv_staged(c, i, 0));
        for (int x = 0; x < s->xs && in->slot == SLOT_X; x++) {
            int n = s->channels * cuda_components_x(w, s->x[x]);
            text_printf(out, "            real %s%d[%d];\n            cgtp_load<%d>(%s%d, %s + lane * %d);\n",
                        in->name, s->x[x], n, n, in->name, s->x[x], conv_staged(c, i, s->x[x]), n);
        }
    }
    for (int o = 0; o < w->pass->pass->outputs; o++) {
        const struct form_output *f = &w->form->output[w->pass->pass->output[o]];
        if (f->slot == SLOT_Y)
            text_printf(out, "            real %s[%d] = {0};\n", f->name,
                        ((int)dim_y / LANES) * LANES +
                            ((int)dim_y % LANES ? sums_width((int)dim_y % LANES) : 0));
        for (int x = 0; x < s->xs && f->slot == SLOT_X; x++)
            text_printf(out, "            real %s%d[%d] = {0};\n", f->name, s->x[x],
                        s->channels * cuda_components_x(w, s->x[x]));
        if (f->slot == SLOT_W)
            text_printf(out,
                        "            real *const %s_row = l.%s + edge * %lld + group * %d + lane * %d;\n",
                        f->name, f->name, (long long)w->problem->dim[SLOT_W], lanes, s->channels);
    }
    for (int i = 0; i < s->paths; i++) {
        c->path = &w->problem->path[s->path[i]];
        conv_path(c);
    }
    emit_edge_outputs(c);
    text_printf(out, "        }\n");
}

/* After the last edge: the sums that no full exchange has taken. */
void conv_end_edges(struct conv *c)
{
    if (conv_in_team(c))
        text_printf(c->w->out, "    if (done %% %d)\n        add_up(done - done %% %d, done %% %d);\n",
                    TEAM_ITEMS, TEAM_ITEMS, TEAM_ITEMS);
}
