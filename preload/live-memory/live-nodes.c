/* SPDX-License-Identifier: Apache-2.0 */
#include "live-nodes.h"

#include <errno.h>
#include <stdlib.h>

#define NODES 65536u /* kept, */
#define WAYS 4u      /* in so many places by each hash */

struct mt_live_node {
    uint64_t address;
    uint32_t stack;  /* where it was created */
    bool is_written; /* a light recording has it */
};

int mt_live_nodes_start(struct mt_live_nodes *nodes)
{
    nodes->running = calloc(MT_LIVE_THREADS, sizeof *nodes->running);
    nodes->known = calloc(NODES, sizeof *nodes->known);
    return nodes->running && nodes->known ? 0 : -ENOMEM;
}

void mt_live_nodes_clear(struct mt_live_nodes *nodes)
{
    free(nodes->running);
    free(nodes->known);
}

static size_t first_way(uint64_t address)
{
    return mt_live_hash(address) % (NODES / WAYS) * WAYS;
}

static struct mt_live_node *node_of(struct mt_live_nodes *nodes, uint64_t address)
{
    struct mt_live_node *node = &nodes->known[first_way(address)];
    for (unsigned i = 0; i < WAYS; i++)
        if (node[i].address == address)
            return &node[i];
    return NULL;
}

static struct mt_live_running *running_on(struct mt_live_nodes *nodes, uint32_t thread)
{
    return &nodes->running[thread % MT_LIVE_THREADS];
}

uint32_t mt_live_nodes_line(struct mt_live_nodes *nodes, uint32_t thread, uint64_t *node,
                            uint64_t *name)
{
    const struct mt_live_running *running = running_on(nodes, thread);
    if (!running->depth || running->depth > MT_LIVE_MOST_RUNNING)
        return 0;
    *node = running->node[running->depth - 1];
    *name = running->name[running->depth - 1];
    const struct mt_live_node *made = node_of(nodes, *node);
    return made ? made->stack : 0;
}

/* Return the stack of a new node: if a running node creates it, that one's, as in the tracker
 * (analyzer/classify/tracker.c). */
static uint32_t line_of_new(struct mt_live_nodes *nodes, const struct mt_event *event)
{
    uint64_t node, name;
    return event->stack ? event->stack : mt_live_nodes_line(nodes, event->thread, &node, &name);
}

void mt_live_nodes_make(struct mt_live_nodes *nodes, const struct mt_event *event)
{
    uint64_t address = event->NODE_NEW.node;
    uint32_t stack = line_of_new(nodes, event);
    struct mt_live_node *node = node_of(nodes, address);
    if (!node)
        node = &nodes->known[first_way(address) + nodes->next_way++ % WAYS];
    *node = (struct mt_live_node){.address = address, .stack = stack};
}

bool mt_live_nodes_find(struct mt_live_nodes *nodes, uint64_t address, uint32_t *stack)
{
    struct mt_live_node *node = node_of(nodes, address);
    if (!node || node->is_written)
        return false;
    node->is_written = true;
    *stack = node->stack;
    return true;
}

void mt_live_nodes_begin(struct mt_live_nodes *nodes, const struct mt_event *event)
{
    struct mt_live_running *running = running_on(nodes, event->thread);
    if (running->depth++ >= MT_LIVE_MOST_RUNNING)
        return;
    running->node[running->depth - 1] = event->NODE_BEGIN.node;
    running->name[running->depth - 1] = event->NODE_BEGIN.name;
}

void mt_live_nodes_end(struct mt_live_nodes *nodes, const struct mt_event *event)
{
    struct mt_live_running *running = running_on(nodes, event->thread);
    if (running->depth)
        running->depth--;
}

void mt_live_nodes_forget_running(struct mt_live_nodes *nodes, uint32_t thread)
{
    running_on(nodes, thread)->depth = 0;
}
