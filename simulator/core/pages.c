/* SPDX-License-Identifier: Apache-2.0 */
#include "pages.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

static void *map(void *at, size_t size, bool usable)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED : 0);
    void *address = mmap(at, size, usable ? PROT_READ | PROT_WRITE : PROT_NONE, flags, -1, 0);

    if (address == MAP_FAILED)
        return NULL;
    /* One byte written must not commit 2 MiB, nor a byte read. */
    madvise(address, size, MADV_NOHUGEPAGE);
    /* A core dump of a 141 GB device helps nobody. */
    madvise(address, size, MADV_DONTDUMP);
    return address;
}

void *sim_pages_map(size_t size, size_t alignment, bool usable)
{
    uintptr_t start, aligned;
    void *whole;

    if (size > SIZE_MAX - alignment)
        return NULL;
    whole = map(NULL, size + alignment, usable);
    if (!whole)
        return NULL;
    start = (uintptr_t)whole;
    aligned = (start + alignment - 1) & ~(uintptr_t)(alignment - 1);
    if (aligned > start)
        munmap(whole, aligned - start);
    munmap((void *)(aligned + size), start + alignment - aligned);
    return (void *)aligned;
}

void sim_pages_unmap(void *address, size_t size)
{
    munmap(address, size);
}

int sim_pages_renew(void *address, size_t size, bool usable)
{
    return map(address, size, usable) ? 0 : -ENOMEM;
}

int sim_pages_protect(void *address, size_t size, bool usable)
{
    return mprotect(address, size, usable ? PROT_READ | PROT_WRITE : PROT_NONE) ? -ENOMEM : 0;
}
