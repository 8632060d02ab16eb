/* simt_async.cc - copies to shared memory that land late.
 *
 * Everything happens as late as a GPU may do it: a copy takes its source and fills its destination when a
 * thread waits for it, and not a moment before. Until then its destination holds NaN and may not be touched.
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

void lane_ends(Lane *l)
{
    size_t copies = l->open.size();
    for (const auto &g : l->groups)
        copies += g.size();
    if (copies)
        report(SIMT_UNFINISHED, l->groups.empty() || l->groups[0].empty() ? NULL : l->groups[0][0].to, NULL,
               "the thread ends before its %zu copies to shared memory", copies);
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
