/* SPDX-License-Identifier: Apache-2.0 */
/* All loops among a thread's visits. Shared by this folder's files; others use turns.h. */
#ifndef MT_LOOPS_H
#define MT_LOOPS_H

#include "analyzer/support/address-map.h"
#include "turns.h"

#define MT_LOOPS_A_LINE 16u /* around a line and its callers; more are left out */

/* How a turn is known to begin: by a line before the last one; by a function that begins again; by
 * a line that does the same again. The first of these that a loop has counts. */
enum mt_turn_sign { MT_TURN_BACK, MT_TURN_CALLED_AGAIN, MT_TURN_AGAIN, MT_TURN_SIGNS };

struct mt_loop_node {
    uint32_t path, depth; /* the stacks of its lines, the outermost first: a part of the pool */
    uint64_t in;          /* bits of loops */
    uint8_t loops[MT_LOOPS_A_LINE], n_loops; /* the same, the outermost first */
};

struct mt_found_loop {
    const struct mt_frame *frame;
    uint32_t stack, line, depth;
    uint32_t until;     /* the last line in it; 0: the source says what is in it */
    uint64_t inside_of; /* bits of the loops that are around all of it */
    uint64_t turns[MT_TURN_SIGNS];
    uint64_t bytes, largest, own_largest;
    bool in_forward, own_forward;
};

struct mt_loop_finder {
    const struct mt_visits *visits;
    const struct mt_definitions *definitions;
    struct mt_address_map places; /* a node's stack -> its place in the list, plus 1 */
    struct mt_loop_node *node;
    size_t n_nodes, nodes_capacity;
    uint32_t *pool;
    size_t n_pool, pool_capacity;
    struct mt_address_map order;  /* a line's stack -> the place of its first visit among others' */
    struct mt_address_map first;  /* a caller's stack and a loop in its callee -> the first order */
    struct mt_address_map steps;  /* two nodes -> what one after the other means, plus 1 */
    struct mt_address_map by_key; /* a loop's function and line -> its place, plus 1 */
    struct mt_found_loop loop[MT_LOOPS_MOST];
    unsigned n_loops;
    uint32_t n_order;
    struct mt_turned {
        uint8_t loop, sign; /* loop: its place, plus 1; 0: none */
    } *turned;              /* for each visit */
};

/* Find them among the visits from first to end (places), by the busiest thread, which is *thread. 0
 * or -ENOMEM. *finder is to be zeros but for its visits and definitions; call mt_loops_clear in any
 * case. */
int mt_loops_find(struct mt_loop_finder *finder, size_t first, size_t end, uint32_t *thread);
void mt_loops_clear(struct mt_loop_finder *finder);

#endif
