/* SPDX-License-Identifier: Apache-2.0 */
/* A CUDA driver (with BELOW) and a library that takes its place, as those that share a GPU do: what
 * it is queried for, it looks up in the driver below at the first call. */
#include <stddef.h>
#include <stdint.h>

unsigned cuMemAlloc_v2(uint64_t *address, size_t size);
unsigned cuMemFree_v2(uint64_t address);

#ifdef BELOW

unsigned cuMemAlloc_v2(uint64_t *address, size_t size)
{
    static uint64_t next = 0x500000000000;
    *address = next;
    next += (size + 511) & ~(uint64_t)511;
    return 0;
}

unsigned cuMemFree_v2(uint64_t address)
{
    return address ? 0 : 1;
}

#else
#include <dlfcn.h>

extern int calls_of_layer;
int calls_of_layer;

static void *below(const char *symbol)
{
    return dlsym(dlopen("libdriver-below.so", RTLD_NOW), symbol);
}

unsigned cuMemAlloc_v2(uint64_t *address, size_t size)
{
    static unsigned (*real)(uint64_t *, size_t);
    if (!real)
        *(void **)&real = below("cuMemAlloc_v2");
    calls_of_layer++;
    return real(address, size);
}

unsigned cuMemFree_v2(uint64_t address)
{
    static unsigned (*real)(uint64_t);
    if (!real)
        *(void **)&real = below("cuMemFree_v2");
    return real(address);
}

#endif
