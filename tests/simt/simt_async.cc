/* simt_async.cc - copies that land late, barriers in shared memory, bulk operations.
 *
 * Everything happens as late as a GPU may do it: a copy takes its source and fills its destination when a
 * thread waits for it, and not a moment before. Until then its destination holds NaN and may not be touched,
 * nor may the source of a bulk store be written.
 */
#include "simt_internal.h"

#include <string.h>

namespace simt
{

static void set_flags(const void *p, size_t bytes, unsigned set, unsigned clear)
{
    each_word(space_of(p), p, bytes, [=](Word &w) { w.flags = (uint8_t)((w.flags & ~clear) | set); });
}

/* Whether [p, p + bytes) is shared memory of the block (or device memory), all valid; reports what is not. */
static bool in_space(const void *p, size_t bytes, bool shared, size_t align, const void *where)
{
    Space *s = space_of(p);
    if (!s || s->shared != shared) {
        report(SIMT_OUT_OF_BOUNDS, p, where, "%s memory expected", shared ? "shared" : "device");
        return false;
    }
    if ((uintptr_t)p % align || bytes % align) {
        report(SIMT_MISALIGNED, p, where, "not a multiple of %zu (%zu bytes)", align, bytes);
        return false;
    }
    bool valid = true;
    each_word(s, p, bytes, [&](Word &w) { valid &= w.valid == 15; });
    if (!valid)
        report(SIMT_OUT_OF_BOUNDS, p, where, "%zu bytes reach outside of the array", bytes);
    return valid;
}

/* The destination is the copy's from now on. */
static void take(unsigned char *p, size_t bytes, const void *where)
{
    check(p, bytes, WRITE, where);
    set_flags(p, bytes, IN_FLIGHT, 0);
    mark_initialised(p, bytes, false);
    memset(p, 0xff, bytes);
}

static void land(const Copy &c, unsigned warp, unsigned lane, tick when)
{
    memcpy(c.to, c.from, c.bytes);
    set_flags(c.to, c.bytes, 0, IN_FLIGHT);
    mark_initialised(c.to, c.bytes, true);
    stamp(c.to, c.bytes, warp, lane, when);
}

static Barrier *find_barrier(const void *p, const void *where)
{
    auto &all = current->warp->block->barriers;
    auto b = all.find(p);
    if (b == all.end()) {
        report(SIMT_BARRIER, p, where, "no barrier was initialised here");
        abandon();
    }
    return b->second.get();
}

static void complete_phase(Barrier *b)
{
    if (b->pending > 0 || b->bytes != 0)
        return;
    b->last = std::make_shared<Clock>(b->gathering);
    b->gathering = Clock();
    b->pending = b->count;
    b->phase++;
}

/* Whether the barrier that the lane waits for has completed the phase; lands loads that only this still
 * needs. */
bool barrier_through(Lane *l)
{
    Barrier *b = l->waits;
    if ((b->phase & 1) == l->parity && b->pending == 0 && !b->loads.empty()) {
        Lane *before = current;
        current = l;
        for (const Barrier::Load &load : b->loads) {
            land(load.copy, load.warp, load.lane, load.when);
            b->gathering.join(*load.issued);
            b->bytes -= (int64_t)load.copy.bytes;
        }
        b->loads.clear();
        current = before;
        complete_phase(b);
    }
    if ((b->phase & 1) == l->parity)
        return false;
    if (b->last)
        l->seen.push_back(b->last);
    return true;
}

void lane_ends(Lane *l)
{
    size_t copies = l->open.size(), bulk = 0;
    for (const auto &g : l->groups)
        copies += g.size();
    if (copies)
        report(SIMT_UNFINISHED, l->groups.empty() || l->groups[0].empty() ? NULL : l->groups[0][0].to, NULL,
               "the thread ends before its %zu copies to shared memory", copies);
    for (const auto &g : l->bulk_groups)
        for (const Bulk &b : g)
            bulk += !b.read;
    bulk += l->bulk_open.size();
    if (bulk)
        report(SIMT_UNFINISHED, NULL, NULL,
               "the thread ends before %zu bulk operations have read shared memory", bulk);
    l->bulk_open.clear();
    simt_bulk_wait(0, false);
}

void block_ends(Block *b)
{
    for (const auto &entry : b->barriers)
        if (!entry.second->loads.empty())
            report(SIMT_UNFINISHED, entry.second->loads[0].copy.to, NULL,
                   "the block ends before a bulk load to here");
}

} // namespace simt

using namespace simt;

/* ---- copies to shared memory ---- */

void simt_copy(void *to, const void *from, size_t bytes)
{
    const void *where = __builtin_return_address(0);
    if (!in_space(to, bytes, true, bytes, where) || !in_space(from, bytes, false, bytes, where))
        return;
    check(from, bytes, READ, where);
    take((unsigned char *)to, bytes, where);
    current->open.push_back({(unsigned char *)to, (const unsigned char *)from, bytes});
}

void simt_copies_commit(void)
{
    current->groups.push_back(std::move(current->open));
    current->open.clear();
}

void simt_copies_wait(int pending)
{
    Lane *l = current;
    for (; l->groups.size() > (size_t)pending; l->groups.pop_front())
        for (const Copy &c : l->groups.front())
            land(c, l->warp->slot, (unsigned)l->number, l->warp->now);
}

/* ---- barriers ---- */

void simt_barrier_init(void *p, unsigned arrivals)
{
    const void *where = __builtin_return_address(0);
    if (!in_space(p, 8, true, 8, where))
        abandon();
    Block *block = current->warp->block;
    if (block->barriers.count(p)) {
        report(SIMT_BARRIER, p, where, "initialised twice");
        return;
    }
    check(p, 8, WRITE, where);
    set_flags(p, 8, IS_BARRIER, 0);
    auto b = std::make_unique<Barrier>();
    *b = {};
    b->at = (const unsigned char *)p;
    b->count = b->pending = arrivals;
    b->initialiser = current->warp->number * LANES + current->number;
    block->barriers[p] = std::move(b);
}

/* Whoever uses a barrier comes after its initialisation, which a read of it stands for. */
static Barrier *use_barrier(void *p, const void *where)
{
    Barrier *b = find_barrier(p, where);
    const Word *w = NULL;
    each_word(space_of(p), p, 4, [&](Word &word) { w = &word; });
    if (!known(current->warp, current, w->warp, w->lane, w->written))
        report(SIMT_RACE, p, where, "a barrier is used, and initialised by %s, in no order",
               describe_thread(w->warp, w->lane).c_str());
    return b;
}

void simt_barrier_arrive(void *p, unsigned bytes)
{
    const void *where = __builtin_return_address(0);
    Barrier *b = use_barrier(p, where);
    if (b->pending == 0) {
        report(SIMT_BARRIER, p, where, "more arrivals in one phase than the barrier's count");
        abandon();
    }
    release(&b->gathering);
    b->bytes += bytes;
    b->pending--;
    if (b->loads.empty())
        complete_phase(b);
}

void simt_barrier_wait(void *p, unsigned parity)
{
    current->waits = use_barrier(p, __builtin_return_address(0));
    current->parity = parity & 1;
    if (!barrier_through(current))
        block_lane();
}

unsigned simt_count(unsigned *p)
{
    const void *where = __builtin_return_address(0);
    if (!in_space(p, 4, true, 4, where))
        abandon();
    check(p, 4, ATOMIC_ADD, where);
    Clock &clock = current->warp->block->counters[p];
    if (!clock.full.empty())
        current->seen.push_back(std::make_shared<Clock>(clock));
    release(&clock);
    return (*p)++;
}

/* ---- bulk operations ---- */

void simt_fence_async(void)
{
    Lane *l = current;
    l->fenced = l->warp->now++;
    for (auto &entry : l->warp->block->barriers)
        if (entry.second->initialiser == l->warp->number * LANES + l->number)
            entry.second->fenced = true;
}

void simt_bulk_load(void *to, const void *from, unsigned bytes, void *barrier)
{
    const void *where = __builtin_return_address(0);
    Barrier *b = use_barrier(barrier, where);
    if (!b->fenced)
        report(SIMT_NOT_FENCED, barrier, where,
               "a bulk load on a barrier that was initialised without a fence");
    if (!bytes || !in_space(to, bytes, true, 16, where) || !in_space(from, bytes, false, 16, where))
        return;
    Warp *w = current->warp;
    check(from, bytes, READ, where);
    take((unsigned char *)to, bytes, where);
    auto issued = std::make_shared<Clock>();
    tick when = w->now;
    release(issued.get());
    b->loads.push_back({{(unsigned char *)to, (const unsigned char *)from, bytes},
                        issued,
                        w->slot,
                        (uint32_t)current->number,
                        when});
}

/* Every writer must have fenced after it wrote, or this thread after it learnt of that. */
static bool fenced(const void *p, size_t bytes)
{
    Lane *me = current;
    Warp *own = me->warp;
    bool all = true;
    each_word(space_of(p), p, bytes, [&](Word &word) {
        if (word.written <= launch->base || me->fenced > own->synced)
            return;
        for (Warp *w : own->block->warps)
            if (w->slot == word.warp && word.lane < LANES && w->lane[word.lane].fenced < word.written)
                all = false;
    });
    return all;
}

void simt_bulk_store(void *to, const void *from, unsigned bytes, int scalar)
{
    const void *where = __builtin_return_address(0);
    if (!bytes || !in_space(to, bytes, false, 16, where) || !in_space(from, bytes, true, 16, where))
        return;
    check(from, bytes, READ, where);
    if (!fenced(from, bytes))
        report(SIMT_NOT_FENCED, from, where, "stored in bulk, but the thread that wrote it did not fence");
    check(to, bytes, scalar ? ATOMIC_ADD : WRITE, where);
    set_flags(from, bytes, BEING_READ, 0);
    if (!scalar) {
        set_flags(to, bytes, IN_FLIGHT, 0);
        memset(to, 0xff, bytes);
    }
    current->bulk_open.push_back(
        {(unsigned char *)to, (const unsigned char *)from, bytes, scalar, {}, false});
}

void simt_bulk_commit(void)
{
    current->bulk_groups.push_back(std::move(current->bulk_open));
    current->bulk_open.clear();
}

template <typename T> static void add(unsigned char *to, const unsigned char *from, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof(T); i++)
        ((T *)to)[i] += ((const T *)from)[i];
}

void simt_bulk_wait(int pending, bool only_read)
{
    Lane *l = current;
    for (size_t g = 0; g + (size_t)pending < l->bulk_groups.size(); g++)
        for (Bulk &b : l->bulk_groups[g])
            if (!b.read) {
                b.data.assign(b.from, b.from + b.bytes);
                set_flags(b.from, b.bytes, 0, BEING_READ);
                b.read = true;
            }
    if (only_read)
        return;
    for (; l->bulk_groups.size() > (size_t)pending; l->bulk_groups.pop_front())
        for (const Bulk &b : l->bulk_groups.front())
            if (b.scalar == 4) {
                add<float>(b.to, b.data.data(), b.bytes);
            } else if (b.scalar == 8) {
                add<double>(b.to, b.data.data(), b.bytes);
            } else {
                memcpy(b.to, b.data.data(), b.bytes);
                set_flags(b.to, b.bytes, 0, IN_FLIGHT);
            }
}
