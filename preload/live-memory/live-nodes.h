/* SPDX-License-Identifier: Apache-2.0 */
/* Autograd's nodes: which ones run, and where each was created. */
#ifndef MT_LIVE_NODES_H
#define MT_LIVE_NODES_H

#include "trace-format/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_LIVE_MOST_RUNNING 64u /* nested nodes of a thread */
#define MT_LIVE_THREADS 1024u

struct mt_live_running {
    uint64_t node[MT_LIVE_MOST_RUNNING], name[MT_LIVE_MOST_RUNNING];
    uint32_t depth;
};

struct mt_live_nodes {
    struct mt_live_running *running; /* by thread */
    struct mt_live_node *known;      /* a cache by a hash of the address */
    unsigned next_way;
};

/* Return 0 or -ENOMEM. Clear it in both cases. */
int mt_live_nodes_start(struct mt_live_nodes *nodes);
void mt_live_nodes_clear(struct mt_live_nodes *nodes);

/* Add a node, replacing one that was at its address, or another one. */
void mt_live_nodes_make(struct mt_live_nodes *nodes, const struct mt_event *event);

/* Return the stack where the innermost running node was created, 0 if unknown; its address and
 * name, 0 if there is none. */
uint32_t mt_live_nodes_line(struct mt_live_nodes *nodes, uint32_t thread, uint64_t *node,
                            uint64_t *name);

void mt_live_nodes_begin(struct mt_live_nodes *nodes, const struct mt_event *event);
void mt_live_nodes_end(struct mt_live_nodes *nodes, const struct mt_event *event);
void mt_live_nodes_forget_running(struct mt_live_nodes *nodes, uint32_t thread);

/* See mt_live_find_node. */
bool mt_live_nodes_find(struct mt_live_nodes *nodes, uint64_t address, uint32_t *stack);

static inline size_t mt_live_hash(uint64_t number)
{
    return (size_t)((number * 0x9e3779b97f4a7c15u) >> 32);
}

#endif
