/* simt_findings.cc - the list of findings: what is wrong, where, by which thread; printed when the program
 * ends.
 */
#include "simt_internal.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace simt
{

enum { EXIT_FINDINGS = 97, FINDINGS_KEPT = 200 };

struct Found {
    simt_finding finding;
    const void *where;
};

static std::vector<Found> found;
static bool stop_at_first; /* finding */

const char *simt_names[SIMT_KINDS] = {
    "out of bounds", "uninitialised read", "race",       "copy under way", "never waited for",
    "divergence",    "deadlock",           "misaligned", "wrong side",
};

[[noreturn]] static void print_and_exit(void)
{
    fflush(NULL);
    simt_print(stderr, "simt: ");
    _exit(EXIT_FINDINGS);
}

static int thread_number(const Lane *l)
{
    return l->warp->number * LANES + l->number;
}

void report(simt_kind kind, const void *p, const void *where, const char *format, ...)
{
    std::string kernel = launch ? launch->kernel : "";
    for (Found &f : found)
        if (f.finding.kind == kind && f.where == where && kernel == f.finding.kernel) {
            f.finding.times++;
            return;
        }
    if (found.size() >= FINDINGS_KEPT)
        return;
    Found f = {};
    f.where = where;
    f.finding.kind = kind;
    f.finding.times = 1;
    f.finding.block = current ? current->warp->block->number : -1;
    f.finding.thread = current ? thread_number(current) : -1;
    snprintf(f.finding.kernel, sizeof f.finding.kernel, "%s", kernel.c_str());

    name_place(&f.finding, p);

    char detail[160], place[96] = "", thread[64] = "", code[90] = "";
    va_list list;
    va_start(list, format);
    vsnprintf(detail, sizeof detail, format, list);
    va_end(list);
    if (f.finding.array[0])
        snprintf(place, sizeof place, ": %s + %lld", f.finding.array, (long long)f.finding.offset);
    else if (p)
        snprintf(place, sizeof place, ": %p", p);
    if (current)
        snprintf(thread, sizeof thread, ": block %lld thread %d", (long long)f.finding.block,
                 f.finding.thread);
    Dl_info info;
    if (where && dladdr(where, &info) && info.dli_fbase) {
        const char *slash = strrchr(info.dli_fname, '/');
        snprintf(code, sizeof code, " (code %.60s+0x%zx)", slash ? slash + 1 : info.dli_fname,
                 (size_t)((uintptr_t)where - (uintptr_t)info.dli_fbase));
    }
    snprintf(f.finding.text, sizeof f.finding.text, "%s: %s%s%s: %s%s", simt_names[kind],
             kernel.empty() ? "host" : kernel.c_str(), thread, place, detail, code);
    found.push_back(f);
    if (stop_at_first)
        print_and_exit();
}

std::string describe_thread(unsigned warp, unsigned lane)
{
    char text[96];
    if (!current)
        return "another thread";
    const Block *own = current->warp->block;
    for (const Warp *w : own->warps)
        if (w->slot == warp) {
            if (lane == MANY)
                snprintf(text, sizeof text, "several lanes of warp %d", w->number);
            else
                snprintf(text, sizeof text, "thread %u", (unsigned)w->number * LANES + lane);
            return text;
        }
    return "a thread of another block";
}

const char *operation_name(int operation)
{
    static const char *const name[] = {
        "",          "cgtp_sync_warp", "a barrier", "cgtp_shuffle",    "cgtp_shuffle_xor",
        "cgtp_vote", "cgtp_signal",    "cgtp_wait", "cgtp_sync_group", "cgtp_mma",
    };
    return name[operation];
}

/* What every thread waits for, one line a warp. */
void report_deadlock(const std::vector<Block *> &blocks, int64_t waiting)
{
    std::string text;
    for (const Block *b : blocks)
        for (const Warp *w : b->warps) {
            char line[120];
            if (w->done == UINT32_MAX || text.size() > 400)
                continue;
            snprintf(line, sizeof line, "; block %lld warp %d at %s", (long long)b->number, w->number,
                     w->flag ? "a flag" : operation_name(w->operation));
            text += line;
        }
    char rest[80] = "";
    if (waiting)
        snprintf(rest, sizeof rest, ", and %lld blocks have not started", (long long)waiting);
    report(SIMT_DEADLOCK, NULL, NULL, "all wait%s%s", rest, text.c_str());
}

static void print_at_exit(void)
{
    if (!found.empty())
        print_and_exit();
}

void findings_begin(void)
{
    stop_at_first = getenv("SIMT_STOP") != NULL;
    atexit(print_at_exit);
}

} // namespace simt

using namespace simt;

/* ---- the driver's side ---- */

const char *simt_kind_name(simt_kind kind)
{
    return simt_names[kind];
}

int simt_findings(void)
{
    return (int)found.size();
}

const simt_finding *simt_finding_at(int i)
{
    return &found[(size_t)i].finding;
}

void simt_print(FILE *file, const char *prefix)
{
    for (const Found &f : found) {
        fprintf(file, "%s%s", prefix, f.finding.text);
        if (f.finding.times > 1)
            fprintf(file, ", %lld times", (long long)f.finding.times);
        fputc('\n', file);
    }
}

void simt_forget(void)
{
    found.clear();
}
