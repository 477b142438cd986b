/* SPDX-License-Identifier: Apache-2.0 */
/* Autograd's nodes: which ones run, and where each was created. */
#include "live-parts.h"

static size_t first_way(uint64_t address)
{
    return mt_live_hash(address) % (MT_LIVE_NODES / MT_LIVE_WAYS) * MT_LIVE_WAYS;
}

struct mt_live_node *mt_live_node_of(struct mt_live *live, uint64_t address)
{
    struct mt_live_node *node = &live->nodes[first_way(address)];
    for (unsigned i = 0; i < MT_LIVE_WAYS; i++)
        if (node[i].address == address)
            return &node[i];
    return NULL;
}

static struct mt_live_running *running_on(struct mt_live *live, uint32_t thread)
{
    return &live->running[thread % MT_LIVE_THREADS];
}

uint32_t mt_live_running_line(struct mt_live *live, uint32_t thread, uint64_t *node, uint64_t *name)
{
    const struct mt_live_running *running = running_on(live, thread);
    if (!running->depth || running->depth > MT_LIVE_MOST_RUNNING)
        return 0;
    *node = running->node[running->depth - 1];
    *name = running->name[running->depth - 1];
    const struct mt_live_node *made = mt_live_node_of(live, *node);
    return made ? made->stack : 0;
}

/* Return the stack of a new node: if a running node creates it, that one's, as in the tracker
 * (analyzer/classify/tracker.c). */
static uint32_t line_of_new(struct mt_live *live, const struct mt_event *event)
{
    uint64_t node, name;
    return event->stack ? event->stack : mt_live_running_line(live, event->thread, &node, &name);
}

void mt_live_make_node(struct mt_live *live, const struct mt_event *event)
{
    uint64_t address = event->NODE_NEW.node;
    uint32_t stack = line_of_new(live, event);
    struct mt_live_node *node = mt_live_node_of(live, address);
    if (!node)
        node = &live->nodes[first_way(address) + live->next_way++ % MT_LIVE_WAYS];
    *node = (struct mt_live_node){.address = address, .stack = stack};
}

bool mt_live_find_node(struct mt_live *live, uint64_t address, uint32_t *stack)
{
    struct mt_live_node *node = mt_live_node_of(live, address);
    if (!node || node->is_written)
        return false;
    node->is_written = true;
    *stack = node->stack;
    return true;
}

void mt_live_begin_node(struct mt_live *live, const struct mt_event *event)
{
    struct mt_live_running *running = running_on(live, event->thread);
    if (running->depth++ >= MT_LIVE_MOST_RUNNING)
        return;
    running->node[running->depth - 1] = event->NODE_BEGIN.node;
    running->name[running->depth - 1] = event->NODE_BEGIN.name;
}

void mt_live_end_node(struct mt_live *live, const struct mt_event *event)
{
    struct mt_live_running *running = running_on(live, event->thread);
    if (running->depth)
        running->depth--;
}

void mt_live_forget_running(struct mt_live *live, uint32_t thread)
{
    running_on(live, thread)->depth = 0;
}
