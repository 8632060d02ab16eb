/* build.c - see build.h. What steps touch is noted as they are added. */
#include "pipeline/build.h"
#include "pipeline/call.h"

#include <string.h>

struct pipeline *build_pipeline(struct arena *a, struct worker worker, int items)
{
    struct pipeline *p = NEW(a, struct pipeline);
    *p = (struct pipeline){.arena = a, .worker = worker, .items = items};
    build_loop(p, (struct loop){.name = "launch", .outer = -1});
    return p;
}

int build_loop(struct pipeline *p, struct loop l)
{
    *APPEND(p->arena, p->loop, p->loop_count, p->loop_capacity) = l;
    return p->loop_count - 1;
}

int build_group(struct pipeline *p, struct group g)
{
    *APPEND(p->arena, p->group, p->groups, p->group_capacity) = g;
    return p->groups - 1;
}

int build_place(struct pipeline *p, struct place q)
{
    q.rate = q.rate ? q.rate : 1;
    q.stages = q.stages ? q.stages : 1;
    q.size = q.size ? q.size : p->size;
    *APPEND(p->arena, p->place, p->places, p->place_capacity) = q;
    return p->places - 1;
}

void build_field(struct pipeline *p, int place, struct field f)
{
    struct place *q = &p->place[place];
    *APPEND(p->arena, q->field, q->fields, q->capacity) = f;
}

int build_shared(struct pipeline *p, const struct operand *o)
{
    if (!p->shared) {
        p->shared = build_group(p, (struct group){.name = "sums", .note = "Sums over the warp's items."});
        build_group(p, (struct group){.name = "weights", .note = "Weights that all items share."});
    }
    const int place = build_place(p, (struct place){.name = o->symbol,
                                                    .operand = o,
                                                    .scope = o->output ? SCOPE_TEAM : SCOPE_BLOCK,
                                                    .how = o->output ? HOW_CODE : HOW_LOAD,
                                                    .clock = LOOP_LAUNCH,
                                                    .alias = -1,
                                                    .group = o->output ? p->shared : p->shared + 1,
                                                    .who = o->output ? WHO_KEPT : WHO_ANY,
                                                    .summed = o->output});
    const struct field row = {
        .spread = -1, .version = -1, .runs = 1, .length = (int)o->dim, .wide = 1, .lane = 16 / p->size};
    if (o->dim)
        build_field(p, place, row);
    return place;
}

void build_set(struct pipeline *p, int paths, const int *path)
{
    *APPEND(p->arena, p->set, p->sets, p->set_capacity) = (struct path_list){.paths = paths, .path = path};
}

/* ---- steps ---- */

struct step *build_step(struct pipeline *p, enum step_kind kind)
{
    struct step *s = APPEND(p->arena, p->step, p->steps, p->step_capacity);
    *s = (struct step){.kind = kind};
    return s;
}

static void touch(struct pipeline *p, struct step *s, struct access a)
{
    for (int i = 0; i < s->accesses; i++)
        if (memcmp(&s->access[i], &a, sizeof a) == 0)
            return;
    const size_t size = (size_t)s->accesses * sizeof a;
    s->access = arena_resize(p->arena, s->access, size, size + sizeof a);
    s->access[s->accesses++] = a;
}

void build_begin(struct pipeline *p, int loop)
{
    p->loop[loop].outer = p->inside;
    p->inside = loop;
    build_step(p, STEP_LOOP)->loop = loop;
}

struct step *build_block(struct pipeline *p, int index)
{
    struct step *s = build_step(p, STEP_BLOCK);
    s->number = index;
    return s;
}

void build_end(struct pipeline *p)
{
    int open = p->steps, depth = 1;
    while (depth) {
        const enum step_kind k = p->step[--open].kind;
        depth += (k == STEP_END) - (k == STEP_LOOP || k == STEP_BLOCK);
    }
    const int loop = p->step[open].loop;
    if (loop != LOOP_LAUNCH)
        p->inside = p->loop[loop].outer;
    build_step(p, STEP_END)->loop = loop;
}

void build_copy(struct pipeline *p, int place, int index, int skew)
{
    struct step *s = build_step(p, STEP_COPY);
    s->skew = skew;
    touch(p, s, (struct access){place, index, TOUCH_WRITE, WHO_COPY});
}

void build_store(struct pipeline *p, int place, int index, int skew)
{
    struct step *s = build_step(p, STEP_STORE);
    s->skew = skew;
    touch(p, s,
          (struct access){place, index, TOUCH_READ,
                          p->place[place].summed && p->place[place].clock == LOOP_LAUNCH ? WHO_TEAMS
                                                                                         : WHO_COPY});
}

void build_every(struct pipeline *p, int turns)
{
    p->step[p->steps - 1].every = turns;
}

void build_reads(struct pipeline *p, int place)
{
    touch(p, &p->step[p->steps - 1], (struct access){place, -1, TOUCH_READ, WHO_ANY});
}

struct call *build_last(struct pipeline *p)
{
    return p->step[p->steps - 1].call;
}

void build_zero(struct pipeline *p, int place)
{
    struct step *s = build_step(p, STEP_ZERO);
    for (int i = 0; i < p->places; i++)
        if (p->place[i].group == p->place[place].group && p->place[i].alias < 0 &&
            p->place[i].how != HOW_STANDS)
            touch(p, s, (struct access){i, -1, TOUCH_WRITE, WHO_ANY});
}

int build_local(struct pipeline *p, struct local l)
{
    build_step(p, STEP_LOCAL)->number = p->locals;
    *APPEND(p->arena, p->local, p->locals, p->local_capacity) = l;
    return p->locals - 1;
}

/* ---- calls ---- */

/* What is passed through a conversion is touched as that is. */
static void touch_argument(struct pipeline *p, struct step *s, const struct argument *a, enum touch how)
{
    if (a->of == ARGUMENT_CALL)
        touch_argument(p, s, &a->call->argument[0], how);
    if (a->of == ARGUMENT_PLACE && p->place[a->number].how != HOW_STANDS)
        touch(p, s, (struct access){a->number, a->index, how, p->place[a->number].who});
}

static void add_call(struct pipeline *p, enum step_kind kind, struct call *c)
{
    struct step *s = build_step(p, kind);
    s->call = c;
    for (int i = 0; i < c->arguments; i++)
        touch_argument(p, s, &c->argument[i], c->argument[i].touch);
}

static struct call *make(struct pipeline *p, const char *function, int arguments,
                         const struct argument *argument)
{
    struct call *c = NEW(p->arena, struct call);
    *c = (struct call){.function = function, .arguments = arguments, .path = -1, .spread = -1};
    c->argument = arena_copy(p->arena, argument, (size_t)arguments * sizeof *argument);
    return c;
}

static struct call *make_call(struct pipeline *p, const char *function, const int *numbers, int arguments,
                              const struct argument *argument)
{
    struct call *c = make(p, function, arguments, argument);
    while (c->numbers < TEMPLATE_NUMBERS && numbers[c->numbers]) {
        c->number[c->numbers] = numbers[c->numbers];
        c->numbers++;
    }
    for (int i = 0; i < arguments; i++)
        c->argument[i].touch = function_touch(function, i);
    return c;
}

void build_call(struct pipeline *p, const char *function, const int *numbers, int arguments,
                const struct argument *argument)
{
    add_call(p, STEP_CALL, make_call(p, function, numbers, arguments, argument));
}

void build_hand_over(struct pipeline *p, int arguments, const struct argument *argument)
{
    add_call(p, STEP_HAND_OVER, make_call(p, "cgtp_hand_over", (int[]){0}, arguments, argument));
}

void build_code(struct pipeline *p, int path, const struct code *code, int arguments,
                const struct argument *argument)
{
    struct call *c = make(p, "code", arguments, argument);
    c->path = path;
    c->code = code;
    add_call(p, STEP_CALL, c);
}

struct argument build_at(int place, int index, struct address at)
{
    return (struct argument){.of = ARGUMENT_PLACE, .number = place, .index = index, .at = at};
}

struct argument build_in(int local, int64_t offset)
{
    return (struct argument){.of = ARGUMENT_LOCAL, .number = local, .at = {.offset = offset}};
}

struct argument build_named(const struct pipeline *p, const char *name)
{
    int i = p->locals - 1;
    while (strcmp(p->local[i].name, name) != 0)
        i--;
    return build_in(i, 0);
}

struct argument build_number(int n)
{
    return (struct argument){.of = ARGUMENT_NUMBER, .number = n};
}

struct argument build_variable(const char *name, int64_t by)
{
    struct argument q = build_number(0);
    build_term(&q.at, name, by);
    return q;
}

struct argument build_from(struct argument q, int64_t offset)
{
    q.at.offset += offset;
    return q;
}

struct argument build_through(struct pipeline *p, const char *function, const int *numbers, const char *type,
                              int arguments, const struct argument *argument)
{
    struct argument q = argument[0];
    q.of = ARGUMENT_CALL;
    q.at = (struct address){0};
    q.call = make_call(p, function, numbers, arguments, argument);
    q.call->type = type;
    return q;
}

int build_field_named(const struct pipeline *p, int place, const char *name)
{
    int i = 0;
    while (strcmp(p->place[place].field[i].name, name) != 0)
        i++;
    return i;
}

int build_sums_length(int n, int lanes)
{
    const int rest = n % lanes;
    int power = rest ? 1 : 0;
    while (power < rest)
        power *= 2;
    return n - rest + power;
}

void build_term(struct address *at, const char *variable, int64_t by)
{
    at->term[at->terms++] = (struct term){variable, by};
}

void build_launch(struct pipeline *p, bool ends)
{
    int sums = -1;
    for (int i = 0; i < p->places; i++) {
        const struct place *q = &p->place[i];
        if (q->clock != LOOP_LAUNCH || !q->fields)
            continue;
        if (ends && q->summed)
            build_store(p, i, 0, 0);
        else if (!ends && q->how == HOW_LOAD)
            build_copy(p, i, 0, 0);
        sums = q->summed ? i : sums;
    }
    if (!ends && sums >= 0)
        build_zero(p, sums);
}

struct field build_slice(const struct pipeline *p, const struct operand *o, int number, int spread)
{
    const struct operand_block *b = &o->block[number];
    const bool apart = block_is_apart(b);
    const int lane = p->spread[spread].channels * (apart ? 1 : b->components);
    return (struct field){.name = operand_part(p->arena, o, number),
                          .operand = o,
                          .spread = spread,
                          .version = -1,
                          .runs = apart ? b->components : 1,
                          .length = p->worker.lanes * lane,
                          .base = b->offset,
                          .wide = 1,
                          .lane = lane,
                          .apart = p->worker.lanes * lane};
}

void build_behind(struct pipeline *p, int place, struct field f)
{
    for (int i = 0; i < p->place[place].fields; i++)
        f.at += p->place[place].field[i].runs * p->place[place].field[i].length;
    build_field(p, place, f);
}
