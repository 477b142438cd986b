/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that a graph's nodes allocate and free. */
#include <errno.h>
#include <stdlib.h>

#include "../memory/pool.h"
#include "core/memory/range.h"
#include "graph.h"

static int free_memory(const struct sim_range *range);

int sim_graph_memory_create(int device, size_t size, struct sim_graph_memory **out)
{
    struct sim_range range = {.size = size,
                              .kind = SIM_DEVICE,
                              .place = SIM_IN_GRAPH,
                              .device = device,
                              .release = free_memory};
    struct sim_pool *pool = sim_pool_of_graphs(device);
    int error = 0;
    if (!pool || !size || size > SIZE_MAX / 2)
        return pool && size ? -ENOMEM : -EINVAL;
    struct sim_graph_memory *memory = calloc(1, sizeof(*memory));
    if (!memory)
        return -ENOMEM;
    *memory = (struct sim_graph_memory){.references = 1, .device = device};
    memory->size = (size + 511) & ~(size_t)511;
    range.inside = memory;
    sim_range_lock();
    memory->block = sim_heap_take(sim_pool_heap(pool), memory->size, &range.start);
    error = memory->block ? sim_range_add(range) : -ENOMEM;
    if (error && memory->block)
        sim_heap_give(sim_pool_heap(pool), memory->block);
    sim_range_unlock();
    memory->address = (void *)range.start;
    if (error)
        free(memory);
    else
        *out = memory;
    return error;
}

/* Free it if nothing refers to it and it is not in use. Needs the range lock. */
static void drop_if_over(struct sim_graph_memory *memory)
{
    if (memory->references || memory->live)
        return;
    sim_range_remove(sim_range_at((uintptr_t)memory->address));
    sim_heap_give(sim_pool_heap(sim_pool_made_for_graphs(memory->device)), memory->block);
    free(memory);
}

void sim_graph_memory_release(struct sim_graph_memory *memory)
{
    sim_range_lock();
    memory->references--;
    drop_if_over(memory);
    sim_range_unlock();
}

struct sim_graph_memory *sim_graph_memory_at(void *address)
{
    struct sim_graph_memory *memory = NULL;
    sim_range_lock();
    struct sim_range *range = sim_range_at((uintptr_t)address);
    if (range && range->place == SIM_IN_GRAPH && range->start == (uintptr_t)address) {
        memory = range->inside;
        memory->references++;
    }
    sim_range_unlock();
    return memory;
}

int sim_graph_memory_begin(struct sim_graph_memory *memory)
{
    struct sim_pool *pool = sim_pool_of_graphs(memory->device);
    sim_range_lock();
    int error = memory->live ? -EINVAL : sim_pool_count(pool, memory->size);
    if (!error)
        memory->live = true;
    sim_range_unlock();
    return error;
}

/* End a memory's life. Needs the range lock. */
static int end(struct sim_graph_memory *memory, struct sim_pool *pool)
{
    if (!memory->live)
        return -EINVAL;
    memory->live = false;
    sim_pool_uncount(pool, memory->size);
    return 0;
}

int sim_graph_memory_end(struct sim_graph_memory *memory)
{
    struct sim_pool *pool = sim_pool_of_graphs(memory->device);
    sim_range_lock();
    int error = end(memory, pool);
    sim_range_unlock();
    return error;
}

/* Free a graph's memory as cudaFree does. Needs the range lock. */
static int free_memory(const struct sim_range *range)
{
    struct sim_graph_memory *memory = range->inside;
    int error = end(memory, sim_pool_made_for_graphs(memory->device));
    if (!error)
        drop_if_over(memory);
    return error;
}
