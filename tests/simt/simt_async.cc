/* simt_async.cc - copies to shared memory that land late.
 *
 * Everything happens as late as a GPU may do it: a copy takes its source and fills its destination when a
 * thread waits for it, and not a moment before. Until then its destination holds NaN and may not be touched.
 */
#include "simt_internal.h"

#include <algorithm>
#include <string.h>

namespace simt
{

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
    each_word(space_of(p), p, bytes, [](Word &w) {
        w.flags |= IN_FLIGHT;
        w.initialised = 0;
    });
    memset(p, 0xff, bytes);
}

static void land(const Copy &c, unsigned warp, unsigned lane, tick when)
{
    memcpy(c.to, c.from, c.bytes);
    each_word(space_of(c.to), c.to, c.bytes, [=](Word &w) {
        w.flags = (uint8_t)(w.flags & ~IN_FLIGHT);
        w.initialised = w.mask = 15;
        w.written = when;
        w.warp = (uint16_t)warp;
        w.lane = (uint8_t)lane;
    });
}

void lane_ends(Lane *l)
{
    if (!l->copies.empty())
        report(SIMT_UNFINISHED, l->copies[0].to, NULL, "the thread ends before its %zu copies to shared memory",
               l->copies.size());
    if (launch->early && l->beside && !l->waited)
        report(SIMT_UNFINISHED, NULL, NULL, "the thread ends without cgtp_launch_wait");
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
    current->copies.push_back({(unsigned char *)to, (const unsigned char *)from, bytes});
}

void simt_copies_commit(void)
{
    Lane *l = current;
    size_t grouped = 0;
    for (size_t n : l->groups)
        grouped += n;
    l->groups.push_back(l->copies.size() - grouped);
}

void simt_copies_wait(int pending)
{
    Lane *l = current;
    const size_t done = l->groups.size() - std::min(l->groups.size(), (size_t)pending);
    size_t landing = 0;
    for (size_t i = 0; i < done; i++)
        landing += l->groups[i];
    for (size_t i = 0; i < landing; i++)
        land(l->copies[i], l->warp->slot, (unsigned)l->number, l->warp->now);
    l->groups.erase(l->groups.begin(), l->groups.begin() + (ptrdiff_t)done);
    l->copies.erase(l->copies.begin(), l->copies.begin() + (ptrdiff_t)landing);
}
