/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is requested of PyTorch's allocator of page-locked memory: it rounds up before it calls
 * CUDA, and reports nothing. The allocator is an object with virtual functions, of which we replace
 * `allocate`, in a copy of their table. Other tensors cost nothing.
 */
#include "preload/hooks/hooks.h"
#include "preload/host/safe-read.h"
#include "real.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

MT_PINNED_HOOKS(MT_REAL_OF_ONE_RELEASE)

#define TYPE_CUDA 1  /* c10::DeviceType */
#define BEFORE 2     /* words of a table that precede its functions: offset, type */
#define FUNCTIONS 60 /* more than HostAllocator has in any release: what follows is not called */
#define ALLOCATE 2   /* after two destructors, in all releases */

/* c10::DataPtr allocate(size_t): the result has a destructor. */
typedef void *allocate_function(void *result, void *allocator, size_t size);

struct table {
    uint64_t before[BEFORE];
    allocate_function *functions[FUNCTIONS], *real;
};

static struct table *table_of(void *functions)
{
    return (struct table *)((char *)functions - offsetof(struct table, functions));
}

static void forget(const int *unused)
{
    (void)unused;
    mt_pinned_request = 0;
}

/* It throws where there is no memory. */
static void *allocate(void *result, void *allocator, size_t size)
{
    __attribute__((cleanup(forget), unused)) const int request = 0;
    mt_pinned_request = size;
    table_of(*(void **)allocator)->real(result, allocator, size);
    return result;
}

static void watch(void *allocator)
{
    void *functions;
    struct table *copy = malloc(sizeof *copy);
    if (!copy || !allocator || mt_safe_read(allocator, &functions, sizeof functions) ||
        mt_safe_read(table_of(functions), copy, offsetof(struct table, real)) ||
        copy->functions[ALLOCATE] == allocate ||
        mt_safe_write(allocator, &functions, sizeof functions)) {
        free(copy);
        return;
    }
    copy->real = copy->functions[ALLOCATE];
    copy->functions[ALLOCATE] = allocate;
    *(void *_Atomic *)allocator = copy->functions;
}

void mt_hook_set_host_allocator(int8_t device_type, void *allocator, uint8_t priority)
{
    if (device_type == TYPE_CUDA)
        watch(allocator);
    real_set_host_allocator()(device_type, allocator, priority);
}

void *mt_hook_host_allocator(void)
{
    void *allocator = real_host_allocator()();
    watch(allocator);
    return allocator;
}
