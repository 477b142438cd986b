/* SPDX-License-Identifier: Apache-2.0 */
#include "pages.h"
#include "chunks.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { UNKNOWN, READABLE, NONE };
#define PAGES_AT_ONCE 512u
#define IN_MEMORY (UINT64_C(3) << 62) /* or swapped */

static struct {
    int state, fd;
} pagemap; /* only the child has this memory */

/* Read the kernel's table of a process's own pages. */
static bool read_table(uint64_t page, unsigned n, unsigned char *used)
{
    uint64_t entry[PAGES_AT_ONCE];
    if (pagemap.state == UNKNOWN) {
        pagemap.fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
        pagemap.state = pagemap.fd < 0 ? NONE : READABLE;
    }
    ssize_t bytes = (ssize_t)(n * sizeof *entry);
    if (pagemap.state == NONE ||
        pread(pagemap.fd, entry, (size_t)bytes, (off_t)(page / MT_PAGE * sizeof *entry)) != bytes)
        return false;
    for (unsigned i = 0; i < n; i++)
        used[i] = (entry[i] & IN_MEMORY) != 0;
    return true;
}

/* Note for each page of a region, from an address on, whether it may have a value: not 0. */
static void find_used(const struct mt_region *region, uint64_t page, unsigned n,
                      unsigned char used[static PAGES_AT_ONCE])
{
    bool is_known = false;
    if (region->sort == MT_REGION_SHARED)
        is_known = !mincore((void *)(uintptr_t)page, (size_t)n * MT_PAGE, used);
    else if (region->sort != MT_REGION_VARIABLES && region->sort != MT_REGION_CUDA)
        is_known = read_table(page, n, used);
    if (!is_known)
        memset(used, 1, n);
}

static void each(const struct mt_regions *regions, uint32_t i, struct mt_memory_range part,
                 void *context, void (*call)(void *, uint32_t, uint64_t, uint64_t))
{
    unsigned char used[PAGES_AT_ONCE];
    const uint64_t at_once = (uint64_t)PAGES_AT_ONCE * MT_PAGE;
    for (uint64_t begin = part.begin & ~(uint64_t)(MT_PAGE - 1); begin < part.end;
         begin += at_once) {
        uint64_t end = begin + at_once < part.end ? begin + at_once : part.end;
        unsigned n = (unsigned)((end - begin + MT_PAGE - 1) / MT_PAGE);
        find_used(&regions->region[i], begin, n, used);
        for (unsigned k = 0; k < n; k++) {
            uint64_t from = begin + (uint64_t)k * MT_PAGE, until = from + MT_PAGE;
            if (used[k])
                call(context, i, from > part.begin ? from : part.begin,
                     until < part.end ? until : part.end);
        }
    }
}

void mt_pages_each(const struct mt_regions *regions, uint32_t i, void *context,
                   void (*call)(void *context, uint32_t region, uint64_t begin, uint64_t end))
{
    const struct mt_region *region = &regions->region[i];
    struct mt_memory_range arena = {0, 0};
    if (region->sort == MT_REGION_VARIABLES)
        arena = mt_chunks_arena_in(region);
    uint64_t until = !arena.begin                  ? region->end
                     : arena.begin > region->begin ? arena.begin
                                                   : region->begin;
    each(regions, i, (struct mt_memory_range){region->begin, until}, context, call);
    if (arena.begin)
        each(regions, i, (struct mt_memory_range){arena.end & ~UINT64_C(7), region->end}, context,
             call);
}
