/* memory_simt.c - tests/memory.h with the shim's device memory.
 *
 * Bytes that are 0xff at both ends of what is written are taken for what the drivers put where nothing may be
 * read before it is written: fences, outputs, workspace. What the shim finds is printed when memory is freed,
 * after a launch, as TAP comments before the line of the check that it belongs to. Every launch runs in
 * another order.
 */
#include "memory.h"

#include "simt.h"

#include <string.h>

void *memory_new(size_t bytes)
{
    static uint64_t seed;
    simt_seed(++seed);
    return simt_alloc("array", bytes);
}

void memory_free(void *p)
{
    static int printed;
    simt_free(p);
    for (; printed < simt_findings(); printed++)
        printf("# simt: %s\n", simt_finding_at(printed)->text);
    fflush(stdout); /* what comes after a finding may never end */
}

void memory_write(void *to, const void *from_host, size_t bytes)
{
    const unsigned char *from = from_host;
    size_t begin = 0, end = bytes;
    while (begin < end && from[begin] == 0xff)
        begin++;
    while (end > begin && from[end - 1] == 0xff)
        end--;
    begin = begin / 16 * 16; /* numbers, too, may begin or end so */
    end = (end + 7) / 8 * 8;
    end = end < bytes ? end : bytes;
    simt_spoil(to, bytes);
    simt_copy_in((unsigned char *)to + begin, from + begin, end > begin ? end - begin : 0);
}

void memory_read(void *to_host, const void *from, size_t bytes)
{
    if (bytes)
        memcpy(to_host, from, bytes); /* drivers look at fences, too */
}
