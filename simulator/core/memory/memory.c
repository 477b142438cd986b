/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "../base/pages.h"
#include "../device/device.h"
#include "memory.h"
#include "pool.h"
#include "range.h"

static size_t whole_pages(size_t size)
{
    return (size + SIM_PAGE - 1) & ~(SIM_PAGE - 1);
}

/* Round to the host's pages, as page-locked memory is. */
static size_t host_pages(size_t size)
{
    return (size + 4095) & ~(size_t)4095;
}

static int allocate_small(struct sim_range *range)
{
    struct sim_slab *slab;
    int error = sim_slab_take(range->device, range->size, &slab, &range->start);
    if (error)
        return error;
    range->place = SIM_IN_SLAB;
    range->inside = slab;
    error = sim_range_add(*range);
    if (error)
        sim_slab_give(slab, range->start, range->size);
    return error;
}

static int allocate_large(struct sim_range *range)
{
    struct sim_device *device = sim_device(range->device);
    size_t size = whole_pages(range->size);
    int error = sim_allocate_emptying(device, size);
    if (error)
        return error;
    range->start = (uintptr_t)sim_pages_in_turn(size, false);
    error = range->start ? sim_range_add(*range) : -ENOMEM;
    if (error) {
        if (range->start)
            sim_pages_unmap((void *)range->start, size);
        sim_free_bytes(device, size);
    }
    return error;
}

static int allocate_host(struct sim_range *range)
{
    size_t size = host_pages(range->size);
    range->start = (uintptr_t)sim_pages_map(size, 4096, true);
    if (!range->start)
        return -ENOMEM;
    int error = sim_range_add(*range);
    if (error)
        sim_pages_unmap((void *)range->start, size);
    return error;
}

int sim_allocate(enum sim_kind kind, int number, size_t size, unsigned flags, void **out)
{
    struct sim_range range = {.size = size, .kind = kind, .device = number, .flags = flags};
    int error;
    if (!size)
        return -EINVAL;
    if (size > SIZE_MAX / 2)
        return -ENOMEM;
    sim_range_lock();
    if (kind == SIM_HOST)
        error = allocate_host(&range);
    else if (size <= SIM_SMALL)
        error = allocate_small(&range);
    else
        error = allocate_large(&range);
    sim_range_unlock();
    if (!error)
        *out = (void *)range.start;
    return error;
}

static void give_back(const struct sim_range *range)
{
    size_t size = whole_pages(range->size);
    if (range->kind == SIM_HOST) {
        sim_pages_unmap((void *)range->start, host_pages(range->size));
    } else if (range->place == SIM_IN_SLAB) {
        sim_slab_give(range->inside, range->start, range->size);
    } else if (range->place == SIM_IN_POOL) {
        sim_pool_take_back(range);
    } else if (range->place == SIM_EXTERNAL) {
        sim_pages_unmap((void *)range->start, size);
    } else {
        if (range->file)
            close(range->file);
        sim_pages_unmap((void *)range->start, size);
        sim_free_bytes(sim_device(range->device), size);
    }
}

int sim_release(void *address, int kinds)
{
    int error = -EINVAL;
    sim_range_lock();
    struct sim_range *range = sim_range_at((uintptr_t)address);
    if (!range || range->start != (uintptr_t)address || !(range->kind & kinds)) {
        error = -EINVAL;
    } else if (range->release) {
        error = range->release(range);
    } else if (range->place != SIM_OPENED) {
        struct sim_range old = *range;
        sim_range_remove(range);
        give_back(&old);
        error = 0;
    }
    sim_range_unlock();
    return error;
}

int sim_register(void *address, size_t size, unsigned flags)
{
    struct sim_range range = {.start = (uintptr_t)address,
                              .size = size,
                              .kind = SIM_REGISTERED,
                              .device = sim_thread.device,
                              .flags = flags};
    if (!address || !size)
        return -EINVAL;
    sim_range_lock();
    int error = sim_range_add(range);
    sim_range_unlock();
    return error;
}

int sim_unregister(void *address)
{
    sim_range_lock();
    struct sim_range *range = sim_range_at((uintptr_t)address);
    bool found = range && range->start == (uintptr_t)address && range->kind == SIM_REGISTERED;
    if (found)
        sim_range_remove(range);
    sim_range_unlock();
    return found ? 0 : -EINVAL;
}

void sim_release_all(int device)
{
    struct sim_range *range;
    sim_range_lock();
    for (size_t i = 0; (range = sim_range_number(i));) {
        struct sim_range old = *range;
        if (old.device != device || !(old.kind & (SIM_DEVICE | SIM_MANAGED)) ||
            old.place == SIM_IN_GRAPH || old.place == SIM_OPENED) {
            i++;
            continue;
        }
        sim_range_remove(range);
        give_back(&old);
    }
    sim_pools_empty(device);
    sim_range_unlock();
}
