/* SPDX-License-Identifier: Apache-2.0 */
#include "keep-nodes.h"

/* As in the tracker, which must see the same nodes. */
#define NESTING_LIMIT 4096u

struct mt_keep_node {
    uint64_t address, begin, end; /* numbers of events; end 0: it still runs */
    struct mt_candidate made;     /* its NODE_NEW event, with a reference of this node's own */
    uint32_t outer;               /* the outer node, or the next free one */
    uint32_t references;          /* candidates, inner nodes, and its thread while it runs */
    uint32_t waiting;             /* the next in the list to visit */
    bool is_kept;
};

struct mt_keep_thread {
    uint32_t innermost, depth;
};

int mt_kept_reach(struct mt_kept *kept, uint64_t number)
{
    size_t capacity = kept->capacity;
    int rc = mt_grow(&kept->bits, &capacity, number / 8 + 1, 1);
    capacity = kept->capacity;
    if (!rc)
        rc = mt_grow(&kept->totals, &capacity, number / 8 + 1, 1);
    if (!rc)
        kept->capacity = capacity;
    return rc;
}

void mt_kept_clear(struct mt_kept *kept)
{
    free(kept->bits);
    free(kept->totals);
    free(kept->before);
    *kept = (struct mt_kept){0};
}

static uint64_t count_bits(const struct mt_kept *kept, size_t from, size_t to)
{
    uint64_t n = 0;
    for (size_t i = from; i < to; i++)
        n += (unsigned)__builtin_popcount(kept->bits[i]);
    return n;
}

int mt_kept_count(struct mt_kept *kept)
{
    size_t parts = kept->capacity / MT_KEPT_PART + 1;
    kept->before = calloc(parts, sizeof *kept->before);
    if (!kept->before)
        return -ENOMEM;
    for (size_t i = 1; i < parts; i++)
        kept->before[i] =
            kept->before[i - 1] + count_bits(kept, (i - 1) * MT_KEPT_PART, i * MT_KEPT_PART);
    return 0;
}

uint64_t mt_kept_number(const struct mt_kept *kept, uint64_t number)
{
    size_t byte = number / 8, part = byte / MT_KEPT_PART;
    if (!number || byte >= kept->capacity)
        return number ? kept->n + 1 : 0;
    return 1 + kept->before[part] + count_bits(kept, part * MT_KEPT_PART, byte) +
           (unsigned)__builtin_popcount(kept->bits[byte] & ((1u << number % 8) - 1));
}

static void keep_number(struct mt_kept *kept, uint64_t number)
{
    kept->n += number && !mt_kept_has(kept->bits, number);
    if (number)
        kept->bits[number / 8] |= (unsigned char)(1 << number % 8);
}

void mt_keep_nodes_clear(struct mt_keep_nodes *nodes)
{
    free(nodes->node);
    mt_by_id_clear(&nodes->threads);
    free(nodes->made_at);
    mt_address_map_clear(&nodes->made);
    *nodes = (struct mt_keep_nodes){.kept = nodes->kept};
}

/* Drop a node, its outer node and the node that it was made in, along chains of any length. */
static void drop_node(struct mt_keep_nodes *nodes, uint32_t index)
{
    for (uint32_t waiting = 0;;) {
        while (index && !--nodes->node[index].references) {
            nodes->node[index].waiting = waiting;
            waiting = index;
            index = nodes->node[index].outer;
        }
        if (!waiting)
            return;
        struct mt_keep_node *gone = &nodes->node[waiting];
        uint32_t next = gone->waiting;
        index = gone->made.node;
        gone->outer = nodes->first_free;
        nodes->first_free = waiting;
        waiting = next;
    }
}

/* Keep a node: its begin, its end and its NODE_NEW event, and the same of the nodes around
 * these. */
static void keep_node(struct mt_keep_nodes *nodes, uint32_t index)
{
    for (uint32_t waiting = 0;;) {
        for (; index && !nodes->node[index].is_kept; index = nodes->node[index].outer) {
            struct mt_keep_node *node = &nodes->node[index];
            node->is_kept = true;
            keep_number(nodes->kept, node->begin);
            keep_number(nodes->kept, node->end);
            keep_number(nodes->kept, node->made.number);
            node->waiting = waiting;
            waiting = index;
        }
        if (!waiting)
            return;
        index = nodes->node[waiting].made.node;
        waiting = nodes->node[waiting].waiting;
    }
}

struct mt_candidate mt_candidate_take(struct mt_keep_nodes *nodes, uint64_t number)
{
    if (nodes->around)
        nodes->node[nodes->around].references++;
    return (struct mt_candidate){number, nodes->around};
}

void mt_candidate_drop(struct mt_keep_nodes *nodes, struct mt_candidate candidate)
{
    drop_node(nodes, candidate.node);
}

void mt_candidate_keep(struct mt_keep_nodes *nodes, struct mt_candidate candidate)
{
    keep_number(nodes->kept, candidate.number);
    keep_node(nodes, candidate.node);
    drop_node(nodes, candidate.node);
}

static struct mt_keep_thread *thread_of(struct mt_keep_nodes *nodes, uint32_t thread)
{
    return mt_by_id_reach(&nodes->threads, thread, MT_THREAD_LIMIT, sizeof(struct mt_keep_thread));
}

static int made(struct mt_keep_nodes *nodes, uint64_t address, uint64_t number)
{
    uint32_t at = mt_address_map_get(&nodes->made, address);
    struct mt_candidate candidate = mt_candidate_take(nodes, number);
    if (at) {
        mt_candidate_drop(nodes, nodes->made_at[at]);
        nodes->made_at[at] = candidate;
        return 0;
    }
    at = (uint32_t)(nodes->n_made ? nodes->n_made : 1);
    if (mt_grow(&nodes->made_at, &nodes->made_capacity, at + (size_t)1, sizeof *nodes->made_at) ||
        mt_address_map_put(&nodes->made, address, at))
        return -ENOMEM;
    nodes->n_made = at + (size_t)1;
    nodes->made_at[at] = candidate;
    return 0;
}

static int begin(struct mt_keep_nodes *nodes, struct mt_keep_thread *thread, uint64_t address,
                 uint64_t number)
{
    if (thread->depth == NESTING_LIMIT)
        return 0;
    uint32_t at = mt_address_map_get(&nodes->made, address);
    uint32_t index =
        MT_TAKE_PLACE(nodes->node, nodes->nodes_capacity, nodes->n_nodes, nodes->first_free, outer);
    if (!index)
        return -ENOMEM;
    struct mt_candidate from = at ? nodes->made_at[at] : (struct mt_candidate){0};
    if (from.node)
        nodes->node[from.node].references++;
    nodes->node[index] = (struct mt_keep_node){.address = address,
                                               .begin = number,
                                               .made = from,
                                               .outer = thread->innermost,
                                               .references = 1};
    if (thread->innermost)
        nodes->node[thread->innermost].references++;
    thread->innermost = index;
    thread->depth++;
    return 0;
}

/* Leave the thread's innermost node, by this event. */
static void leave(struct mt_keep_nodes *nodes, struct mt_keep_thread *thread, uint64_t number)
{
    uint32_t index = thread->innermost;
    struct mt_keep_node *node = &nodes->node[index];
    node->end = number;
    if (node->is_kept)
        keep_number(nodes->kept, number);
    thread->innermost = node->outer;
    thread->depth--;
    drop_node(nodes, index);
}

/* End a node, and nodes inside it whose ends are missing. */
static void end(struct mt_keep_nodes *nodes, struct mt_keep_thread *thread, uint64_t address,
                uint64_t number)
{
    uint32_t index = thread->innermost;
    while (index && nodes->node[index].address != address)
        index = nodes->node[index].outer;
    if (!index)
        return;
    uint32_t after = nodes->node[index].outer;
    while (thread->innermost != after)
        leave(nodes, thread, number);
}

/* Enter a node: its begin and end events are inside it. */
static void enter(struct mt_keep_nodes *nodes, uint32_t index)
{
    if (index)
        nodes->node[index].references++;
    drop_node(nodes, nodes->around);
    nodes->around = index;
}

int mt_keep_nodes_event(struct mt_keep_nodes *nodes, const struct mt_event *event, uint64_t number)
{
    struct mt_keep_thread *thread = thread_of(nodes, event->thread);
    if (!thread)
        return -ENOMEM;
    if (event->kind == MT_NODE_BEGIN) {
        int rc = begin(nodes, thread, event->NODE_BEGIN.node, number);
        enter(nodes, thread->innermost);
        return rc;
    }
    enter(nodes, thread->innermost);
    switch (event->kind) {
    case MT_NODE_NEW:
        return made(nodes, event->NODE_NEW.node, number);
    case MT_NODE_END:
        end(nodes, thread, event->NODE_END.node, number);
        return 0;
    case MT_LOST: /* as in the tracker */
        while (thread->innermost)
            leave(nodes, thread, number);
        return 0;
    }
    return 0;
}
