/* simt_memory.cc - device and shared memory with their shadow: bounds, initialisation, races.
 *
 * The __tsan_* functions at the end are what compilers call before each load and store under
 * -fsanitize=thread.
 */
#include "simt_internal.h"

#include <algorithm>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

namespace simt
{

enum : size_t { DEVICE_BYTES = (size_t)1 << 30, RED_ZONE = 4096 };

struct Array {
    std::string name;
    size_t bytes;
    bool live;
};

static Space device;
static size_t device_top;
static int device_live;
static std::map<uintptr_t, Array> arrays; /* by address */
static uint64_t accesses;

Lane *current;
uintptr_t stack_base = UINTPTR_MAX;
Launch *launch;

/* ---- clocks ---- */

bool Clock::knows(unsigned warp, unsigned lane, tick t) const
{
    if (warp < full.size() && full[warp] >= t)
        return true;
    if (lane != MANY)
        for (const auto &f : further)
            if (f.first == warp * LANES + lane && f.second >= t)
                return true;
    return false;
}

void Clock::add(uint32_t thread, tick t)
{
    for (auto &f : further)
        if (f.first == thread) {
            f.second = std::max(f.second, t);
            return;
        }
    further.push_back({thread, t});
}

void Clock::join(const Clock &other)
{
    if (full.size() < other.full.size())
        full.resize(other.full.size(), launch->base);
    for (size_t i = 0; i < other.full.size(); i++)
        full[i] = std::max(full[i], other.full[i]);
    for (const auto &f : other.further)
        add(f.first, f.second);
    auto covered = [this](const std::pair<uint32_t, tick> &f) {
        return f.first / LANES < full.size() && full[f.first / LANES] >= f.second;
    };
    further.erase(std::remove_if(further.begin(), further.end(), covered), further.end());
}

/* Whether the access of a lane (or MANY) of a resident warp at tick t comes before what lane l of warp w does
 * now. */
bool known(const Warp *w, const Lane *l, unsigned warp, unsigned lane, tick t)
{
    if (t <= launch->base)
        return true;
    if (warp == w->slot && t >= w->start) {
        if (t <= w->synced || lane == (unsigned)l->number)
            return true;
    } else if (w->known.knows(warp, lane, t)) {
        return true;
    }
    return false;
}

/* ---- spaces ---- */

static void *reserve(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        perror("simt: mmap");
        abort();
    }
    return p;
}

void space_reserve(Space *s, size_t bytes, bool shared)
{
    s->base = (uintptr_t)reserve(bytes);
    s->bytes = bytes;
    s->word = (Word *)reserve(bytes / 4 * sizeof(Word));
    s->reader = (Reader *)reserve(bytes / 4 * (shared ? LANES : 2) * sizeof(Reader));
    s->shared = shared;
}

/* Forgets everything about bytes [offset, offset + bytes), from a multiple of 4: they belong to no array, or
 * are all valid. What readers there were is no more looked at. */
void space_reset(const Space *s, size_t offset, size_t bytes, bool valid)
{
    Word none = {}, *word = s->word + offset / 4;
    none.valid = valid ? 15 : 0;
    std::fill(word, word + (bytes + 3) / 4, none);
    if (valid && bytes % 4)
        word[bytes / 4].valid = (uint8_t)(15 >> (4 - bytes % 4));
}

Space *space_of(const void *p)
{
    if (current && (uintptr_t)p - current->warp->block->space.base < current->warp->block->space.bytes)
        return &current->warp->block->space;
    return (uintptr_t)p - device.base < device.bytes ? &device : NULL;
}

/* Bits of the bytes of word `i` that [from, to) covers. */
static inline unsigned mask_of(uintptr_t i, uintptr_t from, uintptr_t to)
{
    unsigned mask = 15;
    if (from > i * 4)
        mask &= 15u << (from - i * 4);
    if (to < i * 4 + 4)
        mask &= 15u >> (i * 4 + 4 - to);
    return mask;
}

void mark_initialised(void *p, size_t bytes, bool initialised)
{
    Space *s = space_of(p);
    uintptr_t from = (uintptr_t)p - s->base, to = from + bytes;
    for (uintptr_t i = from / 4; i * 4 < to; i++) {
        unsigned mask = mask_of(i, from, to);
        if (initialised)
            s->word[i].initialised |= mask;
        else
            s->word[i].initialised &= ~mask;
    }
}

/* ---- names ---- */

void name_place(simt_finding *f, const void *p)
{
    Space *s = p ? space_of(p) : NULL;
    if (s && s->shared) {
        snprintf(f->array, sizeof f->array, "shared");
        f->offset = (const unsigned char *)p - current->warp->block->shared;
    } else if (s) {
        auto a = arrays.upper_bound((uintptr_t)p);
        if (a != arrays.begin()) {
            --a;
            snprintf(f->array, sizeof f->array, "%s%s", a->second.live ? "" : "freed ",
                     a->second.name.c_str());
            f->offset = (int64_t)((uintptr_t)p - a->first);
        }
    }
}

/* ---- accesses ---- */

/* Where a kernel may read besides arrays: the arguments of the launch, and constants of the program. Where the last
 * of these were. */
static struct {
    uintptr_t base;
    size_t bytes;
} segment;

static int in_segment(struct dl_phdr_info *info, size_t, void *data)
{
    const uintptr_t p = *(uintptr_t *)data;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const uintptr_t base = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && p - base < info->dlpi_phdr[i].p_memsz) {
            segment = {base, info->dlpi_phdr[i].p_memsz};
            return 1;
        }
    }
    return 0;
}

static void elsewhere(const void *p, size_t bytes, access kind, const void *where)
{
    uintptr_t a = (uintptr_t)p;
    if (a - launch->arguments < launch->arguments_bytes && kind == READ)
        return;
    if (kind == READ && (a - segment.base < segment.bytes || dl_iterate_phdr(in_segment, &a)))
        return;
    report(SIMT_OUT_OF_BOUNDS, p, where, "%zu bytes that are no array's are %s", bytes,
           kind == READ ? "read" : "written");
    abandon();
}

static const char *verb(access kind)
{
    return kind == READ ? "read" : kind == WRITE ? "written" : "changed atomically";
}

/* ---- what is wrong with a word ---- */

#define RARE __attribute__((noinline, cold))

static RARE bool outside(access kind, const void *p, const void *where)
{
    report(SIMT_OUT_OF_BOUNDS, p, where, "outside of the array, %s", verb(kind));
    return false;
}

static RARE bool not_there(const Word &w, access kind, const void *p, const void *where)
{
    if (w.flags & IN_FLIGHT)
        report(SIMT_IN_FLIGHT, p, where, "%s before the copy that fills it was waited for", verb(kind));
    else
        report(SIMT_UNINITIALISED, p, where, "%s, but nobody wrote it", verb(kind));
    return false;
}

static RARE bool race(access kind, const char *before, unsigned warp, unsigned lane, const void *p,
                      const void *where)
{
    report(SIMT_RACE, p, where, "%s, and %s by %s, in no order", verb(kind), before,
           describe_thread(warp, lane).c_str());
    return false;
}

/* ---- a word ---- */

/* Which of the two readers of a word of device memory a read is kept as: a free one, the same warp's, one
 * that is no more needed, or any. */
static inline unsigned reader_for(const Reader *reader, const Word &w, const Warp *warp, const Lane *me)
{
    for (unsigned j = 0; j < 2; j++)
        if (!(w.read >> j & 1) || reader[j].warp == warp->slot)
            return j;
    for (unsigned j = 0; j < 2; j++)
        if (known(warp, me, reader[j].warp, reader[j].lane, reader[j].when))
            return j;
    return warp->now % 2;
}

static inline void keep_reader(const Space *s, uintptr_t i, Word &w, unsigned mask, const Warp *warp,
                               const Lane *me)
{
    const unsigned j = s->shared ? (unsigned)warp->number : reader_for(&s->reader_of(i, 0), w, warp, me);
    Reader &r = s->reader_of(i, j);
    if (w.read >> j & 1 && r.when > warp->synced && r.warp == warp->slot && r.lane != me->number)
        r.lane = MANY, r.mask |= (uint8_t)mask;
    else
        r.lane = (uint8_t)me->number, r.mask = (uint8_t)mask;
    r.when = warp->now;
    r.warp = (uint16_t)warp->slot;
    w.read |= 1u << j;
}

template <access kind>
static inline bool check_word(const Space *s, uintptr_t i, unsigned mask, const Warp *warp, const Lane *me,
                              const void *p, const void *where)
{
    const bool atomic = kind == ATOMIC_ADD || kind == FLAG;
    Word &w = s->word[i];
    bool fine = true;
    if ((w.valid & mask) != mask)
        return outside(kind, p, where);
    if (w.flags & IN_FLIGHT || (kind != WRITE && (w.initialised & mask) != mask))
        fine = not_there(w, kind, p, where);
    if (w.written > launch->base && w.mask & mask && !(atomic && w.flags & ATOMIC) &&
        !known(warp, me, w.warp, w.lane, w.written))
        fine = race(kind, "written", w.warp, w.lane, p, where);
    const bool beside = launch->early && me->beside && !me->waited && !s->shared;
    if (beside && fine && w.written > launch->settled && w.written <= launch->base && (w.mask & mask)) {
        report(SIMT_RACE, p, where, "%s, and written by a launch that may still run", verb(kind));
        fine = false;
    }
    if (kind == READ) {
        keep_reader(s, i, w, mask, warp, me);
        return fine;
    }
    for (; w.read; w.read &= w.read - 1) {
        const Reader &r = s->reader_of(i, (unsigned)__builtin_ctz(w.read));
        if (r.when > launch->base && r.mask & mask && !known(warp, me, r.warp, r.lane, r.when) && fine)
            fine = race(kind, "read", r.warp, r.lane, p, where);
        if (beside && fine && r.when > launch->settled && r.when <= launch->base && (r.mask & mask)) {
            report(SIMT_RACE, p, where, "%s, and read by a launch that may still run", verb(kind));
            fine = false;
        }
    }
    w.written = warp->now;
    w.warp = (uint16_t)warp->slot;
    w.lane = (uint8_t)me->number;
    w.mask = (uint8_t)mask;
    w.initialised |= (uint8_t)mask;
    w.flags = (uint8_t)((w.flags & ~ATOMIC) | (atomic ? ATOMIC : 0));
    return fine;
}

/* A place that is not on the thread's own stack. */
template <access kind>
static __attribute__((noinline)) void check_place(const void *p, size_t bytes, const void *where)
{
    const Lane *const me = current;
    if (!me) {
        if ((uintptr_t)p - device.base < device.bytes)
            report(SIMT_HOST_ACCESS, p, where, "device memory touched by the host");
        return;
    }
    accesses++;
    const Warp *const warp = me->warp;
    const Space *s = &warp->block->space;
    uintptr_t from = (uintptr_t)p - s->base;
    if (from >= s->bytes) {
        s = &device;
        from = (uintptr_t)p - s->base;
        if (from >= s->bytes) {
            elsewhere(p, bytes, kind, where);
            return;
        }
        if (launch->early && !me->waited && !me->beside) {
            report(SIMT_RACE, p, where, "%s before cgtp_launch_wait", verb(kind));
            return;
        }
    }
    const uintptr_t to = from + bytes;
    const bool whole = (from | to) % 4 == 0;
    for (uintptr_t i = from / 4; i * 4 < to; i++)
        if (!check_word<kind>(s, i, whole ? 15 : mask_of(i, from, to), warp, me, p, where))
            return;
}

/* Most accesses are to the stack, those to tables of numbers to constants: this much of it stands in each of the functions below. */
template <access kind> static inline void check_here(const void *p, size_t bytes, const void *where)
{
    if ((uintptr_t)p - stack_base < STACK || (kind == READ && (uintptr_t)p - segment.base < segment.bytes))
        return;
    check_place<kind>(p, bytes, where);
}

void check(const void *p, size_t bytes, access kind, const void *where)
{
    static void (*const of_kind[])(const void *, size_t, const void *) = {
        check_here<READ>, check_here<WRITE>, check_here<ATOMIC_ADD>, check_here<FLAG>};
    of_kind[kind](p, bytes, where);
}

} // namespace simt

using namespace simt;

/* ---- the driver's side ---- */

void *simt_alloc(const char *name, size_t bytes)
{
    if (!device.bytes) {
        space_reserve(&device, DEVICE_BYTES, false);
        findings_begin();
    }
    /* 16 past a multiple of 256: nobody may count on more than 16. */
    size_t at = (device_top + RED_ZONE + 255) / 256 * 256 + 16;
    if (at + bytes + RED_ZONE > device.bytes) {
        fprintf(stderr, "simt: no device memory left for %zu bytes of %s\n", bytes, name);
        abort();
    }
    device_top = at + bytes;
    device_live++;
    arrays[device.base + at] = {name, bytes, true};
    space_reset(&device, at, bytes, true);
    return memset((void *)(device.base + at), 0xff, bytes);
}

void simt_free(void *p)
{
    if (!p)
        return;
    auto a = arrays.find((uintptr_t)p);
    if (a == arrays.end() || !a->second.live) {
        report(SIMT_OUT_OF_BOUNDS, p, __builtin_return_address(0), "freed, but not allocated");
        return;
    }
    a->second.live = false;
    space_reset(&device, a->first - device.base, a->second.bytes, false);
    if (--device_live == 0) {
        arrays.clear();
        device_top = 0;
    }
}

/* Whether [p, p + bytes) lies in one live array. */
static bool within(const void *p, size_t bytes, const void *where)
{
    auto a = arrays.upper_bound((uintptr_t)p);
    if (bytes == 0)
        return true;
    if (a != arrays.begin() && (--a)->second.live && (uintptr_t)p - a->first <= a->second.bytes &&
        bytes <= a->second.bytes - ((uintptr_t)p - a->first))
        return true;
    report(SIMT_OUT_OF_BOUNDS, p, where, "%zu bytes that are not all of one array, copied or cleared", bytes);
    return false;
}

void simt_copy_in(void *to, const void *from, size_t bytes)
{
    if (!within(to, bytes, __builtin_return_address(0)) || !bytes)
        return;
    memcpy(to, from, bytes);
    mark_initialised(to, bytes, true);
}

void simt_spoil(void *p, size_t bytes)
{
    if (!within(p, bytes, __builtin_return_address(0)) || !bytes)
        return;
    memset(p, 0xff, bytes);
    mark_initialised(p, bytes, false);
}

void simt_copy_out(void *to, const void *from, size_t bytes)
{
    if (!within(from, bytes, __builtin_return_address(0)) || !bytes)
        return;
    memcpy(to, from, bytes);
    uintptr_t begin = (uintptr_t)from - device.base, end = begin + bytes;
    for (uintptr_t i = begin / 4; i * 4 < end; i++) {
        unsigned mask = mask_of(i, begin, end);
        if ((device.word[i].initialised & mask) != mask) {
            report(SIMT_UNINITIALISED, (const void *)(device.base + i * 4), __builtin_return_address(0),
                   "copied to the host, but nobody wrote it");
            return;
        }
    }
}

uint64_t simt_accesses(void)
{
    return accesses;
}

/* ---- accesses of kernels that the compiler does not show: whole vectors and atomics ---- */

static void aligned(const void *p, size_t align, const void *where)
{
    if ((uintptr_t)p % align)
        report(SIMT_MISALIGNED, p, where, "not a multiple of %zu", align);
}

void simt_read(void *to, const void *from, size_t bytes, size_t align)
{
    aligned(from, align, __builtin_return_address(0));
    check_here<READ>(from, bytes, __builtin_return_address(0));
    memcpy(to, from, bytes);
}

void simt_write(void *to, const void *from, size_t bytes, size_t align)
{
    aligned(to, align, __builtin_return_address(0));
    check_here<WRITE>(to, bytes, __builtin_return_address(0));
    memcpy(to, from, bytes);
}

void simt_assign(void *to, const void *from, size_t bytes)
{
    unsigned char value[16];
    aligned(from, bytes, __builtin_return_address(0));
    aligned(to, bytes, __builtin_return_address(0));
    check_here<READ>(from, bytes, __builtin_return_address(0));
    memcpy(value, from, bytes);
    check_here<WRITE>(to, bytes, __builtin_return_address(0));
    memcpy(to, value, bytes);
}

template <typename T> static T atomic_add(T *p, T value, const void *where)
{
    aligned(p, sizeof *p, where);
    check_here<ATOMIC_ADD>(p, sizeof *p, where);
    T old = *p;
    *p = old + value;
    return old;
}

void simt_atomic_add(float *p, float value)
{
    atomic_add(p, value, __builtin_return_address(0));
}

void simt_atomic_add(double *p, double value)
{
    atomic_add(p, value, __builtin_return_address(0));
}

unsigned simt_atomic_add(unsigned *p, unsigned value)
{
    return atomic_add(p, value, __builtin_return_address(0));
}

/* ---- what compilers call ---- */

#define HOOK(name, bytes, kind)                                                                              \
    extern "C" void __tsan_##name(void *p)                                                                   \
    {                                                                                                        \
        check_here<kind>(p, bytes, __builtin_return_address(0));                                             \
    }
#define HOOKS(bytes)                                                                                         \
    HOOK(read##bytes, bytes, READ)                                                                           \
    HOOK(write##bytes, bytes, WRITE)                                                                         \
    HOOK(unaligned_read##bytes, bytes, READ)                                                                 \
    HOOK(unaligned_write##bytes, bytes, WRITE)                                                               \
    HOOK(volatile_read##bytes, bytes, READ)                                                                  \
    HOOK(volatile_write##bytes, bytes, WRITE)
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)

extern "C" {
void __tsan_read_range(void *p, size_t bytes)
{
    check_here<READ>(p, bytes, __builtin_return_address(0));
}
void __tsan_write_range(void *p, size_t bytes)
{
    check_here<WRITE>(p, bytes, __builtin_return_address(0));
}
/* What clang 15 and later call where a kernel's copies or fills of structs are memcpy, memmove or memset. */
void *__tsan_memcpy(void *to, const void *from, size_t bytes)
{
    check_here<READ>(from, bytes, __builtin_return_address(0));
    check_here<WRITE>(to, bytes, __builtin_return_address(0));
    return memcpy(to, from, bytes);
}
void *__tsan_memmove(void *to, const void *from, size_t bytes)
{
    check_here<READ>(from, bytes, __builtin_return_address(0));
    check_here<WRITE>(to, bytes, __builtin_return_address(0));
    return memmove(to, from, bytes);
}
void *__tsan_memset(void *to, int value, size_t bytes)
{
    check_here<WRITE>(to, bytes, __builtin_return_address(0));
    return memset(to, value, bytes);
}
void __tsan_vptr_update(void **, void *)
{
}
void __tsan_vptr_read(void **)
{
}
void __tsan_func_entry(void *)
{
}
void __tsan_func_exit(void)
{
}
void __tsan_init(void)
{
}
}
