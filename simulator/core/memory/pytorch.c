/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clear blocks that PyTorch's allocator uses again. PyTorch keeps freed blocks and makes tensors of
 * them without a call of CUDA. On a card a kernel then fills the tensor. Here it would keep
 * contents that were copied to the block's last owner: a program that counts the elements that are
 * not zero would find the bits of an old 1.0. So this file listens where the allocator reports each
 * block to PyTorch's profiler.
 */
#include <dlfcn.h>

#include "../base/base.h"
#include "../values/known.h"
#include "../values/values.h"
#include "written.h"

#define REPORT _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE

typedef void report_function(void *block, int64_t change, size_t allocated, size_t reserved,
                             uint16_t device);
SIM_API report_function REPORT;

enum { TYPE_MASK = 0xff, TYPE_CUDA = 1 };

/* Find the next function. Python loads PyTorch's libraries where RTLD_NEXT does not find them, but
 * a handle does. */
static report_function *find_next(void)
{
    static _Atomic(report_function *) next;
    report_function *found = atomic_load_explicit(&next, memory_order_relaxed);
    void *library;
    if (found || !(library = dlopen("libc10.so", RTLD_NOLOAD | RTLD_LAZY)))
        return found;
    found = (report_function *)(uintptr_t)dlsym(
        library, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
    atomic_store_explicit(&next, found, memory_order_relaxed);
    return found;
}

static void take_block(void *block, size_t size)
{
    sim_start_values();
    sim_clear_written(block, size);
    sim_know(block, SIM_FRESH);
}

void REPORT(void *block, int64_t change, size_t allocated, size_t reserved, uint16_t device)
{
    report_function *next = find_next();
    if (change > 0 && (device & TYPE_MASK) == TYPE_CUDA)
        take_block(block, (size_t)change);
    if (next)
        next(block, change, allocated, reserved, device);
}
