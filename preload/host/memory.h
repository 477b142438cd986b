/* SPDX-License-Identifier: Apache-2.0 */
/* Memory straight from the kernel, because hooks run inside the host's allocators. */
#ifndef MT_PRELOAD_MEMORY_H
#define MT_PRELOAD_MEMORY_H

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

/* Return zeroed pages, committed when touched, or NULL. Keeps errno. Free them with mt_unmap. */
static inline void *mt_map(size_t size)
{
    int saved = errno;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    errno = saved;
    return memory == MAP_FAILED ? NULL : memory;
}

static inline void mt_unmap(void *memory, size_t size)
{
    if (memory)
        munmap(memory, size);
}

#endif
