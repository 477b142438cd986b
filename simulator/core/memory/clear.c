/* SPDX-License-Identifier: Apache-2.0 */
/* Take contents away. */
#include <string.h>
#include <sys/mman.h>

#include "content.h"

static const char zeros[SIM_HOST_PAGE];

void sim_clear_in_place(void *address, size_t size)
{
    char *to = address;
    while (size) {
        size_t part = sim_to_page_end(to, size);
        if (memcmp(to, zeros, part))
            memset(to, 0, part);
        to += part;
        size -= part;
    }
}

void sim_clear(void *address, size_t size)
{
    char *start = address, *end = start + size;
    char *first =
        (char *)(((uintptr_t)start + SIM_HOST_PAGE - 1) & ~(uintptr_t)(SIM_HOST_PAGE - 1));
    char *last = (char *)((uintptr_t)end & ~(uintptr_t)(SIM_HOST_PAGE - 1));
    if (size < 4 * SIM_HOST_PAGE || first >= last) {
        sim_clear_in_place(start, size);
        return;
    }
    sim_clear_in_place(start, (size_t)(first - start));
    /* Drop the pages of a shared file, or else our own. */
    if (madvise(first, (size_t)(last - first), MADV_REMOVE))
        madvise(first, (size_t)(last - first), MADV_DONTNEED);
    sim_clear_in_place(last, (size_t)(end - last));
}
