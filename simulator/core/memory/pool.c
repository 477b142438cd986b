/* SPDX-License-Identifier: Apache-2.0 */
#include "pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../device/device.h"
#include "range.h"

static const uint64_t piece = (uint64_t)32 << 20;
enum { UNIT = 512 };

struct sim_pool {
    struct sim_pool *next; /* list of all pools */
    int device;
    bool builtin, destroyed, keeps; /* keeps: only trimming makes it shrink */
    unsigned live;                  /* allocations */
    struct sim_heap heap;
    uint64_t threshold, limit;
    uint64_t reserved, reserved_high;   /* bytes */
    uint64_t allocated;                 /* bytes of allocations, in units of 512 */
    uint64_t requested, requested_high; /* as programs requested: "used" */
    int reuse[3];
    unsigned char access[SIM_DEVICES_MAX];
};

/* An allocation: sim_range.inside. */
struct pooled {
    struct sim_pool *pool;
    struct sim_block *block;
};

static struct sim_pool *pools;
static struct sim_pool *own[SIM_DEVICES_MAX], *current[SIM_DEVICES_MAX], *graphs[SIM_DEVICES_MAX];
/* How many pools hold more than their threshold and shrink at the next wait. */
static _Atomic int unsettled;

/* --- counting: with the range lock held --------------------------------------------------- */

static uint64_t up(uint64_t size, uint64_t unit)
{
    return (size + unit - 1) / unit * unit;
}

static void shrink(struct sim_pool *pool, uint64_t keep)
{
    uint64_t wanted = pool->allocated > keep ? pool->allocated : keep;
    if (wanted >= pool->reserved || up(wanted, piece) >= pool->reserved)
        return;
    wanted = up(wanted, piece);
    sim_free_bytes(sim_device(pool->device), pool->reserved - wanted);
    pool->reserved = wanted;
}

void sim_pools_empty(int device)
{
    for (struct sim_pool *pool = pools; pool; pool = pool->next)
        if (pool->device == device)
            shrink(pool, 0);
}

void sim_pools_make_room(int device)
{
    sim_range_lock();
    sim_pools_empty(device);
    sim_range_unlock();
}

int sim_allocate_emptying(struct sim_device *device, uint64_t bytes)
{
    int error = sim_allocate_bytes(device, bytes);
    if (!error)
        return 0;
    sim_pools_empty(device->primary.device);
    return sim_allocate_bytes(device, bytes);
}

static int grow(struct sim_pool *pool, uint64_t least)
{
    struct sim_device *device = sim_device(pool->device);
    uint64_t more = up(least - pool->reserved, piece);
    if (sim_allocate_bytes(device, more)) {
        sim_pools_empty(pool->device); /* this one too */
        more = up(least - pool->reserved, piece);
        if (sim_allocate_bytes(device, more)) {
            more = up(least - pool->reserved, SIM_PAGE); /* no whole piece is left */
            if (sim_allocate_bytes(device, more))
                return -ENOMEM;
        }
    }
    pool->reserved += more;
    if (pool->reserved > pool->reserved_high)
        pool->reserved_high = pool->reserved;
    return 0;
}

int sim_pool_count(struct sim_pool *pool, uint64_t size)
{
    uint64_t allocated = pool->allocated + up(size, UNIT);
    if (pool->limit && allocated > pool->limit)
        return -ENOMEM;
    if (allocated > pool->reserved && grow(pool, allocated))
        return -ENOMEM;
    pool->allocated = allocated;
    pool->requested += size;
    if (pool->requested > pool->requested_high)
        pool->requested_high = pool->requested;
    return 0;
}

void sim_pool_uncount(struct sim_pool *pool, uint64_t size)
{
    pool->allocated -= up(size, UNIT);
    pool->requested -= size;
    if (!pool->keeps && pool->reserved > pool->threshold)
        atomic_store(&unsettled, 1);
}

struct sim_heap *sim_pool_heap(struct sim_pool *pool)
{
    return &pool->heap;
}

void sim_pools_settle(void)
{
    if (!atomic_load_explicit(&unsettled, memory_order_relaxed))
        return;
    sim_range_lock();
    atomic_store(&unsettled, 0);
    for (struct sim_pool *pool = pools; pool; pool = pool->next)
        if (!pool->keeps)
            shrink(pool, pool->threshold);
    sim_range_unlock();
}

/* --- pools ------------------------------------------------------------------------------- */

static struct sim_pool *make(int device, uint64_t limit)
{
    struct sim_pool *pool = calloc(1, sizeof(*pool));
    if (!pool)
        return NULL;
    pool->device = device;
    pool->limit = limit;
    pool->access[device] = 3;
    for (int i = 0; i < 3; i++)
        pool->reuse[i] = 1;
    pool->next = pools;
    pools = pool;
    return pool;
}

static struct sim_pool *builtin(struct sim_pool **slot, int device, bool keeps)
{
    if (!sim_device(device))
        return NULL;
    sim_range_lock();
    if (!*slot && (*slot = make(device, 0))) {
        (*slot)->builtin = true;
        (*slot)->keeps = keeps;
    }
    sim_range_unlock();
    return *slot;
}

struct sim_pool *sim_pool_default(int device)
{
    return builtin(&own[device < 0 ? 0 : device % SIM_DEVICES_MAX], device, false);
}

struct sim_pool *sim_pool_of_graphs(int device)
{
    return builtin(&graphs[device < 0 ? 0 : device % SIM_DEVICES_MAX], device, true);
}

struct sim_pool *sim_pool_made_for_graphs(int device)
{
    return graphs[device];
}

struct sim_pool *sim_pool_current(int device)
{
    if (!sim_device(device))
        return NULL;
    return current[device] ? current[device] : sim_pool_default(device);
}

int sim_pool_set_current(int device, struct sim_pool *pool)
{
    if (!sim_device(device))
        return -ENODEV;
    if (!pool || pool->device != device)
        return -EINVAL;
    current[device] = pool;
    return 0;
}

int sim_pool_create(int device, uint64_t limit, struct sim_pool **out)
{
    if (!sim_device(device))
        return -EINVAL;
    sim_range_lock();
    *out = make(device, limit);
    sim_range_unlock();
    return *out ? 0 : -ENOMEM;
}

/* Free a pool that the program has destroyed, once all its allocations are freed. Needs the range
 * lock. */
static void drop_if_over(struct sim_pool *pool)
{
    struct sim_pool **link = &pools;
    if (!pool->destroyed || pool->live)
        return;
    shrink(pool, 0);
    while (*link != pool)
        link = &(*link)->next;
    *link = pool->next;
    free(pool);
}

int sim_pool_destroy(struct sim_pool *pool)
{
    if (!pool || pool->builtin)
        return -EINVAL;
    sim_range_lock();
    if (current[pool->device] == pool)
        current[pool->device] = NULL;
    pool->destroyed = true;
    drop_if_over(pool);
    sim_range_unlock();
    return 0;
}

int sim_pool_device(const struct sim_pool *pool)
{
    return pool->device;
}

void sim_pool_trim(struct sim_pool *pool, uint64_t keep)
{
    sim_range_lock();
    shrink(pool, keep);
    sim_range_unlock();
}

/* --- allocations ------------------------------------------------------------------------- */

/* Allocate with the range lock held. */
static int allocate(struct sim_pool *pool, struct sim_range *range)
{
    struct pooled *pooled = calloc(1, sizeof(*pooled));
    int error = pooled ? 0 : -ENOMEM;
    if (error)
        return error;
    pooled->pool = pool;
    error = sim_pool_count(pool, range->size);
    if (error) {
        free(pooled);
        return error;
    }
    range->inside = pooled;
    pooled->block = sim_heap_take(&pool->heap, up(range->size, UNIT), &range->start);
    error = pooled->block ? sim_range_add(*range) : -ENOMEM;
    if (!error) {
        pool->live++;
        return 0;
    }
    if (pooled->block)
        sim_heap_give(&pool->heap, pooled->block);
    sim_pool_uncount(pool, range->size);
    free(pooled);
    return error;
}

int sim_pool_allocate(struct sim_pool *pool, size_t size, void **out)
{
    struct sim_range range = {.size = size, .kind = SIM_DEVICE, .place = SIM_IN_POOL};
    if (!pool || !size)
        return -EINVAL;
    if (size > SIZE_MAX / 2)
        return -ENOMEM;
    range.device = pool->device;
    int error = sim_primary_up(pool->device);
    if (error)
        return error;
    sim_range_lock();
    error = allocate(pool, &range);
    sim_range_unlock();
    if (!error)
        *out = (void *)range.start;
    return error;
}

void sim_pool_take_back(const struct sim_range *range)
{
    struct pooled *pooled = range->inside;
    struct sim_pool *pool = pooled->pool;
    sim_heap_give(&pool->heap, pooled->block);
    sim_pool_uncount(pool, range->size);
    free(pooled);
    pool->live--;
    drop_if_over(pool);
}

/* --- attributes -------------------------------------------------------------------------- */

int sim_pool_get(const struct sim_pool *pool, int attribute, void *value)
{
    const uint64_t numbers[] = {[SIM_POOL_THRESHOLD] = pool->threshold,
                                [SIM_POOL_RESERVED] = pool->reserved,
                                [SIM_POOL_RESERVED_HIGH] = pool->reserved_high,
                                [SIM_POOL_USED] = pool->requested,
                                [SIM_POOL_USED_HIGH] = pool->requested_high};
    if (attribute >= SIM_POOL_REUSE_FIRST && attribute <= SIM_POOL_REUSE_LAST)
        memcpy(value, &pool->reuse[attribute - SIM_POOL_REUSE_FIRST], sizeof(pool->reuse[0]));
    else if (attribute >= SIM_POOL_THRESHOLD && attribute <= SIM_POOL_USED_HIGH)
        memcpy(value, &numbers[attribute], sizeof(numbers[0]));
    else
        return -EINVAL;
    return 0;
}

int sim_pool_set(struct sim_pool *pool, int attribute, const void *value)
{
    uint64_t number = 0;
    if (attribute >= SIM_POOL_REUSE_FIRST && attribute <= SIM_POOL_REUSE_LAST) {
        memcpy(&pool->reuse[attribute - SIM_POOL_REUSE_FIRST], value, sizeof(pool->reuse[0]));
        return 0;
    }
    memcpy(&number, value, sizeof(number));
    if (attribute == SIM_POOL_THRESHOLD) {
        pool->threshold = number;
        atomic_store(&unsettled, 1);
        return 0;
    }
    if (number)
        return -EINVAL; /* high-water marks can only be reset */
    if (attribute == SIM_POOL_RESERVED_HIGH)
        pool->reserved_high = pool->reserved;
    else if (attribute == SIM_POOL_USED_HIGH)
        pool->requested_high = pool->requested;
    else
        return -EINVAL;
    return 0;
}

int sim_pool_set_access(struct sim_pool *pool, int device, unsigned access)
{
    if (!sim_device(device))
        return -ENODEV;
    if (device == pool->device && access != 3)
        return -EINVAL;
    pool->access[device] = (unsigned char)access;
    return 0;
}

int sim_pool_get_access(const struct sim_pool *pool, int device, unsigned *access)
{
    if (!sim_device(device))
        return -ENODEV;
    *access = pool->access[device];
    return 0;
}
