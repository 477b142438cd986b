/* SPDX-License-Identifier: Apache-2.0 */
/* The launch of a graph, and the memory of graphs. */
#include <errno.h>
#include <stdlib.h>

#include "../memory/pool.h"
#include "core/memory/range.h"
#include "graph.h"
#include "stream.h"

/* --- memory ------------------------------------------------------------------------------ */

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

static int graph_memory_begin(struct sim_graph_memory *memory)
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

static int graph_memory_end(struct sim_graph_memory *memory)
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

/* --- launches ---------------------------------------------------------------------------- */

static int fill(const struct sim_fill *fill)
{
    int error = 0;
    for (size_t row = 0; !error && row < fill->height; row++)
        error =
            sim_set((char *)fill->to + row * fill->pitch, fill->value, fill->element, fill->width);
    return error;
}

static int work(struct sim_node *node, const struct sim_graph *graph)
{
    static const struct sim_stream nowhere = {.id = 0};
    switch (node->work.type) {
    case SIM_NODE_COPY:
        return sim_copy_3d(&node->work.copy);
    case SIM_NODE_FILL:
        return fill(&node->work.fill);
    case SIM_NODE_HOST:
        node->work.host.function(node->work.host.data);
        return 0;
    case SIM_NODE_GRAPH:
        return sim_graph_launch(node->work.graph);
    case SIM_NODE_RECORD:
        sim_event_record(node->work.event, &nowhere);
        return 0;
    case SIM_NODE_ALLOCATE:
        if (node->work.memory->live && (graph->flags & SIM_GRAPH_AUTO_FREE))
            graph_memory_end(node->work.memory);
        return graph_memory_begin(node->work.memory);
    case SIM_NODE_FREE:
        return graph_memory_end(node->work.memory);
    default:
        return 0;
    }
}

/* Launch a graph. Nodes are mostly added after the nodes that they wait for: then one round does
 * all. */
int sim_graph_launch(struct sim_graph *graph)
{
    size_t done = 0;
    unsigned mark = ++graph->marks;
    int error = 0;
    while (!error && done < graph->count)
        for (size_t i = 0; !error && i < graph->count; i++) {
            struct sim_node *node = graph->nodes[i];
            bool ready = node->mark != mark;
            for (size_t j = 0; ready && j < node->count; j++)
                ready = node->before[j]->mark == mark;
            if (!ready)
                continue;
            node->mark = mark;
            done++;
            if (!node->disabled)
                error = work(node, graph);
        }
    return error;
}
