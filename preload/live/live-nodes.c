/* SPDX-License-Identifier: Apache-2.0 */
/* Where autograd's nodes were made. */
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

void mt_live_make_node(struct mt_live *live, const struct mt_event *event, uint32_t stack)
{
    uint64_t address = event->NODE_NEW.node;
    struct mt_live_node *node = mt_live_node_of(live, address);
    if (!node)
        node = &live->nodes[first_way(address) + live->next_way++ % MT_LIVE_WAYS];
    *node = (struct mt_live_node){.address = address, .stack = stack};
}

bool mt_live_find_node(struct mt_live *live, uint64_t address, uint32_t *stack)
{
    struct mt_live_node *node = mt_live_node_of(live, address);
    if (!node || node->is_told)
        return false;
    node->is_told = true;
    *stack = node->stack;
    return true;
}
