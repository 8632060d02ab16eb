/* simt_internal.h - what the parts of the shim share: threads, clocks, shadow memory.
 *
 * Order in time. A warp has a clock of ticks: an access carries the tick at which it happened,
 * cgtp_sync_warp() starts a new one, and so does everything by which a single lane publishes its work (an
 * flag that is set). What a warp knows of the others is one tick a warp, up to which it has seen
 * everything of all lanes ("full"), plus single lanes that are seen further. An access is ordered after an
 * earlier one when its thread knows the tick of that.
 */
#ifndef SIMT_INTERNAL_H
#define SIMT_INTERNAL_H

#include "simt.h"
#include "simt_device.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace simt
{

typedef uint32_t tick;

/* A stack is longer than a power of two by a page and a line: what fibers have at the same depth would else fall on the
 * same few lines of the caches, which takes a fifth of the time more. */
enum { LANES = 32, MANY = 0xff, SHARED_LIMIT = 227 * 1024, STACK = 256 * 1024 + 4096 + 64 };

struct Clock {
    std::vector<tick> full;                         /* by warp; shorter: nothing known of the rest */
    std::vector<std::pair<uint32_t, tick>> further; /* thread (warp * LANES + lane), tick */

    bool knows(unsigned warp, unsigned lane, tick t) const;
    void join(const Clock &);
    void add(uint32_t thread, tick t);
};

struct Copy { /* global to shared */
    unsigned char *to;
    const unsigned char *from;
    size_t bytes;
};

struct Warp;
struct Block;

struct Lane {
    void *stack_pointer; /* of the fiber while it does not run */
    unsigned char *stack;
    Warp *warp;
    int number;
    std::vector<Copy> copies;   /* not yet waited for, the oldest first */
    std::vector<size_t> groups; /* how many of them each group has; the rest is in none yet */
    bool waited;                /* has called cgtp_launch_wait */
    bool beside;                /* cgtp_launch_beside */
};

/* Lanes are in one of the masks ready, arrived, done; those of a warp that waits for other warps or
 * a flag in none. */
struct Warp {
    Block *block;
    int number;     /* in the block */
    unsigned place; /* among the resident warps */
    unsigned slot;  /* its number in clocks */
    Lane lane[LANES];
    uint32_t ready, arrived, done;
    int operation; /* at which lanes have arrived */
    uint64_t value[2][LANES];
    double fragment[2][LANES][6]; /* of a and b: what tensor cores multiply */
    int turn[LANES];              /* which of the two this lane uses next */
    int order;                    /* lanes run in the order first, first + order, ... */
    Clock known;
    tick now, synced, start;
    const unsigned *flag; /* waits for it */
    int at_barrier;       /* waits for the other warps of its group, of so many; 0: does not */
};

/* Shadow of 4 bytes. Masks have a bit a byte. */
struct Word {
    tick written;
    uint32_t read; /* bit j: reader j of the word has read since then */
    uint16_t warp; /* that wrote */
    uint8_t lane;
    uint8_t flags;
    uint8_t valid, initialised, mask; /* inside of an allocation; written at all; written at `written` */
};
enum { IN_FLIGHT = 1, ATOMIC = 2 };

struct Reader {
    tick when;
    uint16_t warp;
    uint8_t lane, mask;
};

struct Space {
    uintptr_t base;
    size_t bytes;
    Word *word;
    Reader *
        reader; /* of shared memory one a warp of the block, all words of one side by side; else two a word */
    bool shared;
    Reader &reader_of(uintptr_t i, unsigned j) const
    {
        return reader[shared ? j * (bytes / 4) + i : 2 * i + j];
    }
};

enum { WHOLE_BLOCK = -1 };

struct Block {
    int64_t number;
    std::vector<Warp *> warps;
    int live, waiting; /* warps that have not ended; that are at a barrier of the block */
    long long first;   /* what its first thread said */
    int multiprocessor;
    Space space;           /* its shared memory, with red zones around */
    unsigned char *shared; /* first byte that the kernel owns */
};

enum access { READ, WRITE, ATOMIC_ADD, FLAG };

/* What runs now; NULL on the host. */
extern Lane *current;
extern uintptr_t stack_base; /* of the fiber that runs */

struct Launch {
    std::string kernel;
    int64_t blocks;
    unsigned threads;
    size_t shared;
    bool early; /* may have begun while the launch before still runs */
    uintptr_t arguments;
    size_t arguments_bytes;
    tick base;      /* everything up to this happened before the launch */
    tick settled;   /* before the launch before had begun, or those that this one may run beside */
    bool beside;    /* its threads do not wait at once */
    unsigned slots; /* warps in clocks: all, or, if those are too many, */
    bool reuse; /* the resident ones: then a later block in the place of an earlier one may seem to know it */
    std::map<const void *, Clock> flags;
};
extern Launch *launch;

/* ---- simt_memory.cc ---- */
void check(const void *p, size_t bytes, access kind, const void *where);
bool known(const Warp *, const Lane *, unsigned warp, unsigned lane, tick t);
Space *space_of(const void *p);
/* Calls f(word) for the words of [p, p + bytes). */
template <typename F> void each_word(Space *s, const void *p, size_t bytes, F f)
{
    uintptr_t from = (uintptr_t)p - s->base, to = from + bytes;
    for (uintptr_t i = from / 4; i * 4 < to; i++)
        f(s->word[i]);
}
void mark_initialised(void *p, size_t bytes, bool initialised);
void space_reserve(Space *, size_t bytes, bool shared);
void space_reset(const Space *, size_t offset, size_t bytes, bool valid);
/* Which array p is in, if any, for a finding. */
void name_place(simt_finding *, const void *p);

/* ---- simt_findings.cc ---- */
void findings_begin(void);
void report(simt_kind kind, const void *p, const void *where, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
std::string describe_thread(unsigned warp, unsigned lane);
const char *operation_name(int operation);
void report_deadlock(const std::vector<Block *> &blocks, int64_t waiting);

/* ---- simt.cc ---- */
[[noreturn]] void abandon(void); /* ends the launch from inside of a thread */
void release(Clock *into);       /* the current lane publishes its work */

/* ---- simt_async.cc ---- */
void lane_ends(Lane *);

} // namespace simt

#endif
