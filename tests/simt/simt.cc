/* simt.cc - threads as fibers on one thread of the CPU, gathered in warps and blocks; launches.
 *
 * A lane runs until it comes to an operation of its warp, then the next lane of the warp runs; the last to
 * arrive carries the operation out for all. Several blocks are there at a time. Between operations of a warp
 * a seed decides who is next.
 */
#include "simt_internal.h"

#include <algorithm>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if !defined __x86_64__ && !defined SIMT_UCONTEXT
#define SIMT_UCONTEXT
#endif
#ifdef SIMT_UCONTEXT
#include <setjmp.h>
#include <ucontext.h>
#endif

namespace simt
{

enum { SLOTS = 4096 };

static uint64_t seed, generator;
static int resident, multiprocessors = 2;
static tick latest = 1; /* the newest tick of all launches so far */
static tick settled; /* what had ended when the last launch began that may still run */

static unsigned char *stacks;
static size_t stacks_count;
static std::vector<Space> spaces; /* shared memory by resident block */
static void *scheduler;           /* its stack pointer while a fiber runs */
static void (*kernel_call)(const void *);
static bool given_up;

static uint64_t draw(void) /* splitmix64 */
{
    uint64_t z = generator += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* ---- switching stacks ---- */

#ifndef SIMT_UCONTEXT
/* Saves what a function call must keep, stores the stack pointer at *from, goes on at `to`. */
extern "C" void simt_switch(void **from, void *to);
__asm__(".text\n"
        ".type simt_switch, @function\n"
        "simt_switch:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    ret\n"
        ".size simt_switch, .-simt_switch\n");

static void *fiber(unsigned char *stack, void (*entry)(void))
{
    /* As after a call: the stack pointer is 8 past a multiple of 16 at the entry. */
    void **top = (void **)(stack + STACK - 64);
    *--top = NULL;
    *--top = (void *)entry;
    top -= 6;
    memset(top, 0, 6 * sizeof *top);
    return top;
}
#else
/* Where a fiber stands. ucontext.h starts it; from then on it goes by _setjmp, which unlike swapcontext calls no
 * system. */
struct Place {
    bool started;
    ucontext_t start;
    jmp_buf at;
};

extern "C" void simt_switch(void **from, void *to)
{
    Place own, *next = (Place *)to;
    own.started = true;
    *from = &own;
    if (_setjmp(own.at))
        return;
    if (next->started)
        _longjmp(next->at, 1);
    setcontext(&next->start);
}

static void *fiber(unsigned char *stack, void (*entry)(void))
{
    Place *place = (Place *)(stack + STACK - sizeof(Place) - 64);
    place->started = false;
    getcontext(&place->start);
    place->start.uc_stack.ss_sp = stack;
    place->start.uc_stack.ss_size = (size_t)((unsigned char *)place - stack);
    place->start.uc_link = NULL;
    makecontext(&place->start, entry, 0);
    return place;
}
#endif

/* Before a switch to it. */
static void run_lane(Lane *l)
{
    current = l;
    stack_base = (uintptr_t)l->stack;
}

static void to_scheduler(void)
{
    Lane *own = current;
    simt_switch(&own->stack_pointer, scheduler);
}

[[noreturn]] void abandon(void)
{
    given_up = true;
    for (;;)
        to_scheduler();
}

/* The next lane of the warp that can run, or NULL. */
static Lane *next_lane(Warp *w, int after)
{
    if (w->ready)
        for (int i = 1; i <= LANES; i++) {
            int n = (after + i * w->order) % LANES;
            if (w->ready >> n & 1)
                return &w->lane[n];
        }
    return NULL;
}

/* The current lane can't go on: another one of its warp does, or the scheduler. */
static void pass_on(void)
{
    Lane *own = current, *next = next_lane(own->warp, own->number);
    if (!next) {
        to_scheduler();
        return;
    }
    run_lane(next);
    simt_switch(&own->stack_pointer, next->stack_pointer);
}

void release(Clock *into)
{
    Warp *w = current->warp;
    into->join(w->known);
    if (into->full.size() < launch->slots)
        into->full.resize(launch->slots, launch->base);
    into->full[w->slot] = std::max(into->full[w->slot], w->synced);
    into->add(w->slot * LANES + (uint32_t)current->number, w->now++);
}

/* What one lane has done all lanes know. */
static void sync_clocks(Warp *w)
{
    w->synced = w->now++;
}

/* Waits at a barrier of `group`: of the block, or of its warps group.first to group.first + group.warps - 1. */
struct Group {
    int first, warps;
    bool waits(const Warp *w) const
    {
        return w->at_barrier == warps && (warps == WHOLE_BLOCK || w->number / warps * warps == first);
    }
};

static void leave_barrier(Block *b, Group group)
{
    Clock all;
    all.full.resize(launch->slots, launch->base);
    for (Warp *w : b->warps)
        if (group.waits(w)) {
            all.join(w->known);
            all.full[w->slot] = std::max(all.full[w->slot], w->synced);
        }
    for (Warp *w : b->warps)
        if (group.waits(w)) {
            w->known = all;
            w->at_barrier = 0;
            w->ready = ~w->done;
        }
}

static void leave_block_barrier(Block *b)
{
    leave_barrier(b, {0, WHOLE_BLOCK});
    b->waiting = 0;
}

/* All lanes of the warp come here before one leaves. `finish` runs once, when the last has come, and may make
 * the whole warp wait by returning false. */
template <typename F> static void meet(int operation, const void *where, F finish)
{
    Lane *l = current;
    Warp *w = l->warp;
    if (w->done || (w->arrived && w->operation != operation)) {
        report(SIMT_DIVERGENCE, NULL, where, "at %s while other lanes of the warp %s%s",
               operation_name(operation), w->done ? "have ended" : "are at ",
               w->done ? "" : operation_name(w->operation));
        abandon();
    }
    w->operation = operation;
    w->arrived |= 1u << l->number;
    w->ready &= ~(1u << l->number);
    if (w->arrived != UINT32_MAX) {
        pass_on();
        return;
    }
    w->arrived = 0;
    if (finish()) {
        w->ready = UINT32_MAX;
        if (draw() % 4 == 0)
            to_scheduler();
    } else {
        to_scheduler();
    }
}

static bool poll(Warp *w)
{
    if (w->flag && *w->flag) {
        sync_clocks(w);
        w->known.join(launch->flags[w->flag]);
        w->flag = NULL;
        w->ready = UINT32_MAX;
    }
    return w->ready;
}

/* ---- launches ---- */

static void lane_main(void)
{
    kernel_call((const void *)launch->arguments);
    Lane *l = current;
    Warp *w = l->warp;
    Block *b = w->block;
    lane_ends(l);
    if (w->arrived) {
        report(SIMT_DIVERGENCE, NULL, NULL, "ends while other lanes of the warp are at %s",
               operation_name(w->operation));
        abandon();
    }
    w->ready &= ~(1u << l->number);
    w->done |= 1u << l->number;
    if (w->done == UINT32_MAX) {
        b->live--;
        if (b->waiting && b->waiting == b->live)
            leave_block_barrier(b);
    }
    pass_on();
    abort();
}

/* `started` blocks have come before. */
static void start_block(Block *b, int64_t number, size_t started)
{
    size_t red = (b->space.bytes - SHARED_LIMIT) / 2 / 128 * 128;
    b->number = number;
    b->live = (int)(launch->threads / LANES);
    b->waiting = 0;
    b->multiprocessor = (int)(seed ? draw() % 8 : (uint64_t)number % 8);
    b->shared = (unsigned char *)b->space.base + red;
    space_reset(&b->space, red, launch->shared, true);
    memset(b->shared, 0xff, launch->shared);

    for (int i = 0; i < b->live; i++) {
        Warp *w = b->warps[(size_t)i];
        w->block = b;
        w->number = i;
        w->slot = launch->reuse ? w->place : (unsigned)(started * b->warps.size() + (size_t)i);
        w->ready = UINT32_MAX;
        w->arrived = w->done = 0;
        w->order = (int)(seed ? draw() % 16 * 2 + 1 : 1);
        w->known = Clock();
        w->start = w->now = std::max(w->now, launch->base) + 1;
        w->synced = w->start - 1;
        w->flag = NULL;
        w->at_barrier = 0;
        for (int n = 0; n < LANES; n++) {
            Lane *l = &w->lane[n];
            l->warp = w;
            l->number = n;
            l->stack = stacks + ((size_t)w->place * LANES + (size_t)n) * STACK;
            l->stack_pointer = fiber(l->stack, lane_main);
            l->copies.clear();
            l->groups.clear();
            l->waited = l->beside = false;
            w->turn[n] = 0;
        }
    }
}

static void schedule(std::vector<Block *> &blocks, const std::vector<int64_t> &order)
{
    std::vector<Warp *> warps;
    size_t next = 0;
    for (Block *b : blocks) {
        start_block(b, order[next], next);
        next++;
        warps.insert(warps.end(), b->warps.begin(), b->warps.end());
    }
    for (;;) {
        size_t start = seed ? draw() % warps.size() : 0;
        Warp *w = NULL;
        bool alive = false;
        for (size_t i = 0; i < warps.size() && !w; i++) {
            Warp *candidate = warps[(start + i) % warps.size()];
            alive |= candidate->done != UINT32_MAX;
            if (candidate->ready || poll(candidate))
                w = candidate;
        }
        if (!w && !alive)
            return;
        if (!w) {
            report_deadlock(blocks, (int64_t)(order.size() - next));
            given_up = true;
            return;
        }
        Lane *l = next_lane(w, seed ? (int)(draw() % LANES) : LANES - 1);
        run_lane(l);
        simt_switch(&scheduler, l->stack_pointer);
        current = NULL;
        stack_base = UINTPTR_MAX;
        if (given_up)
            return;
        Block *b = w->block;
        if (b->live == 0 && next < order.size()) {
            start_block(b, order[next], next);
            next++;
        }
    }
}

static std::string kernel_name(const char *text)
{
    int depth = 0;
    const char *end = text;
    for (; *end && (*end != ',' || depth); end++)
        depth += *end == '<' || *end == '(' ? 1 : *end == '>' || *end == ')' ? -1 : 0;
    return std::string(text, std::min<size_t>((size_t)(end - text), 63)); /* as findings keep it */
}

} // namespace simt

using namespace simt;

int simt_run(const char *call_text, void (*call)(const void *), const void *arguments, size_t arguments_bytes,
             int64_t blocks, int threads, size_t shared, bool early)
{
    if (blocks <= 0)
        return 0;
    if (blocks > INT32_MAX || threads <= 0 || threads > 1024 || threads % LANES || shared > SHARED_LIMIT)
        return 1;
    Launch own = {};
    generator = seed;
    size_t at_a_time = (size_t)std::min<int64_t>(blocks, resident > 0 ? resident : (int)(1 + draw() % 4));
    size_t warps_per_block = (size_t)threads / LANES;
    own.kernel = kernel_name(call_text);
    own.blocks = blocks;
    own.threads = (unsigned)threads;
    own.shared = shared;
    own.early = early;
    own.arguments = (uintptr_t)arguments;
    own.arguments_bytes = arguments_bytes;
    own.base = latest;
    own.settled = settled;
    own.reuse = (size_t)blocks * warps_per_block > SLOTS;
    own.slots = (unsigned)((own.reuse ? at_a_time : (size_t)blocks) * warps_per_block);
    launch = &own;
    kernel_call = call;
    given_up = false;

    if (stacks_count < at_a_time * (size_t)threads) {
        if (stacks)
            munmap(stacks, stacks_count * STACK);
        stacks_count = at_a_time * (size_t)threads;
        stacks = (unsigned char *)mmap(NULL, stacks_count * STACK, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (stacks == MAP_FAILED) {
            perror("simt: stacks");
            abort();
        }
    }
    while (spaces.size() < at_a_time) {
        spaces.push_back(Space());
        space_reserve(&spaces.back(), SHARED_LIMIT + 2 * SHARED_LIMIT, true);
    }

    std::vector<Block> block(at_a_time);
    std::vector<Block *> present;
    std::vector<std::unique_ptr<Warp>> warps;
    for (size_t i = 0; i < at_a_time; i++) {
        block[i].space = spaces[i];
        for (size_t j = 0; j < warps_per_block; j++) {
            warps.push_back(std::make_unique<Warp>());
            warps.back()->now = own.base;
            warps.back()->place = (unsigned)(i * warps_per_block + j);
            block[i].warps.push_back(warps.back().get());
        }
        present.push_back(&block[i]);
    }
    std::vector<int64_t> order((size_t)blocks);
    for (size_t i = 0; i < order.size(); i++)
        order[i] = (int64_t)i;
    for (size_t i = order.size(); seed && i > 1; i--)
        std::swap(order[i - 1], order[draw() % i]);

    schedule(present, order);
    for (const Block &b : block)
        space_reset(&b.space, (size_t)(b.shared - (unsigned char *)b.space.base), shared, false);
    current = NULL;
    stack_base = UINTPTR_MAX;
    for (const auto &w : warps)
        latest = std::max(latest, w->now);
    settled = own.beside ? own.settled : own.base;
    launch = NULL;
    return given_up;
}

void simt_seed(uint64_t s) { seed = s; }

void simt_resident(int blocks) { resident = blocks; }

void simt_multiprocessors(int n) { multiprocessors = n; }

int simt_get_multiprocessors(void) { return multiprocessors; }

simt_index simt_thread_index(void) { return {(unsigned)(current->warp->number * LANES + current->number)}; }

simt_index simt_block_index(void) { return {(unsigned)current->warp->block->number}; }

simt_index simt_block_dim(void) { return {launch->threads}; }

simt_index simt_grid_dim(void) { return {(unsigned)launch->blocks}; }

unsigned char *simt_shared(void) { return current->warp->block->shared; }

void simt_set_first(long long value) { current->warp->block->first = value; }

long long simt_first(void) { return current->warp->block->first; }

int simt_multiprocessor(void) { return current->warp->block->multiprocessor; }

void simt_launch_wait(void) { current->waited = true; }
void simt_launch_beside(void) { current->beside = launch->beside = true; }

void simt_sync_warp(void)
{
    Warp *w = current->warp;
    meet(SIMT_SYNC_WARP, __builtin_return_address(0), [w] {
        sync_clocks(w);
        return true;
    });
}

void simt_sync_block(void)
{
    Warp *w = current->warp;
    meet(SIMT_SYNC_BLOCK, __builtin_return_address(0), [w] {
        sync_clocks(w);
        w->at_barrier = WHOLE_BLOCK;
        if (++w->block->waiting == w->block->live)
            leave_block_barrier(w->block);
        return w->ready != 0;
    });
}

void simt_sync_group(int warps)
{
    Warp *w = current->warp;
    meet(SIMT_SYNC_GROUP, __builtin_return_address(0), [w, warps] {
        const Group group = {w->number / warps * warps, warps};
        int waiting = 0;
        sync_clocks(w);
        w->at_barrier = warps;
        for (const Warp *other : w->block->warps)
            waiting += group.waits(other);
        if (waiting == warps)
            leave_barrier(w->block, group);
        return w->ready != 0;
    });
}

uint64_t simt_exchange(simt_operation operation, uint64_t value, int from)
{
    Lane *l = current;
    Warp *w = l->warp;
    int turn = w->turn[l->number] ^= 1;
    w->value[turn][l->number] = value;
    meet(operation, __builtin_return_address(0), [] { return true; });
    return w->value[turn][from & (LANES - 1)];
}

/* What tensor cores take of a float: TF32; and of a sum: what fits, the rest cut off. */
static double taken(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits &= ~0x1fffu;
    memcpy(&value, &bits, sizeof bits);
    return value;
}
static double taken(double value)
{
    return value;
}
static void put(float *to, double sum)
{
    const float nearest = (float)sum;
    uint32_t bits;
    memcpy(&bits, &nearest, sizeof bits);
    bits -= fabs(nearest) > fabs(sum); /* the next one to zero */
    memcpy(to, &bits, sizeof bits);
}
static void put(double *to, double sum)
{
    *to = sum;
}

/* Element (row, column) of a is number 2 * (column / 4) + row / 8 of lane 4 * (row % 8) + column % 4; of b, number
 * row / 4 of lane 4 * column + row % 4; of d, number 2 * (row / 8) + column % 2 of lane 4 * (row % 8) + column / 2. */
template <typename T> static void multiply(T *d, const T *a, const T *b)
{
    Lane *l = current;
    Warp *w = l->warp;
    int turn = w->turn[l->number] ^= 1;
    auto &all = w->fragment[turn];
    for (int i = 0; i < 6; i++)
        all[l->number][i] = taken(i < 4 ? a[i] : b[i - 4]);
    meet(SIMT_MULTIPLY, __builtin_return_address(0), [] { return true; });
    const double(*const row)[6] = &all[l->number / 4 * 4], (*const column)[6] = &all[l->number % 4 * 8];
    double sum[4] = {d[0], d[1], d[2], d[3]};
    for (int k = 0; k < 8; k++)
        for (int i = 0; i < 4; i++)
            sum[i] += row[k % 4][k / 4 * 2 + i / 2] * column[i % 2 * 4 + k % 4][4 + k / 4];
    for (int i = 0; i < 4; i++)
        put(&d[i], sum[i]);
}

void simt_multiply(float *d, const float *a, const float *b)
{
    multiply(d, a, b);
}

void simt_multiply(double *d, const double *a, const double *b)
{
    multiply(d, a, b);
}

unsigned simt_vote(bool condition)
{
    Lane *l = current;
    Warp *w = l->warp;
    int turn = w->turn[l->number] ^= 1;
    w->value[turn][l->number] = condition;
    meet(SIMT_VOTE, __builtin_return_address(0), [] { return true; });
    unsigned bits = 0;
    for (int i = 0; i < LANES; i++)
        bits |= (unsigned)w->value[turn][i] << i;
    return bits;
}

void simt_signal(unsigned *flag)
{
    Lane *l = current;
    Warp *w = l->warp;
    /* One lane of the warp writes; the shim lets that be the last to come. */
    meet(SIMT_SIGNAL, __builtin_return_address(0), [=] {
        sync_clocks(w);
        check(flag, sizeof *flag, FLAG, NULL);
        release(&launch->flags[flag]);
        *flag = 1;
        return true;
    });
}

void simt_wait(const unsigned *flag)
{
    Warp *w = current->warp;
    meet(SIMT_WAIT, __builtin_return_address(0), [=] {
        check(flag, sizeof *flag, FLAG, NULL);
        w->flag = flag;
        return poll(w);
    });
}
