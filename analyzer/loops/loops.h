/* SPDX-License-Identifier: Apache-2.0 */
/* All loops among a thread's visits. Shared by this folder's files; others use turns.h. */
#ifndef MT_LOOPS_H
#define MT_LOOPS_H

#include "analyzer/support/address-map.h"
#include "turns.h"

#define MT_LOOPS_A_LINE 16u /* around a line and its callers; more are left out */

/* How a turn is known to begin: by a line before the last one, or a function that begins again
 * where the source has it called once; by a line that surely does the same again; by a function
 * that begins again, without a source; by a line that perhaps does the same again, or with another
 * size. */
enum mt_turn_sign {
    MT_TURN_BACK,
    MT_TURN_AGAIN,
    MT_TURN_CALLED_AGAIN,
    MT_TURN_PERHAPS_AGAIN,
    MT_TURN_OTHER_AGAIN,
    MT_TURN_SIGNS
};

struct mt_loop_node {
    uint32_t path, depth; /* the stacks of its lines, the outermost first: a part of the pool */
    uint64_t in;          /* bits of loops */
    uint8_t loops[MT_LOOPS_A_LINE], n_loops; /* the same, the outermost first */
};

struct mt_found_loop {
    const struct mt_frame *frame; /* of stack */
    uint32_t stack, line, depth;
    uint32_t until;   /* the last line in it; 0: the source says what is in it */
    bool is_doubtful; /* a line in it calls something several times, and begins turns */
    bool has_moved; /* while visits are passed: the turn has come to another line than its first, */
    uint32_t first; /* which is this one's place, plus 1; 0: it is not in the loop */
    uint64_t turns[MT_TURN_SIGNS];
    uint64_t bytes,
        in[MT_LOOPS_MOST]; /* of its visits, and of those that are in other loops, too */
    bool in_forward;
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
    struct mt_address_map sources; /* a frame -> its place in the list, plus 1 */
    struct mt_source_facts *source;
    size_t n_sources, sources_capacity;
    struct mt_found_loop loop[MT_LOOPS_MOST];
    unsigned n_loops;
    uint32_t n_order;
    struct mt_turned {
        uint8_t loop, sign; /* loop: its place, plus 1; 0: none */
        bool is_doubtful;
    } *turned; /* for each visit */
};

/* Return the thread whose visits from first to end (places) allocate the most. */
uint32_t mt_loops_busiest(const struct mt_visits *visits, size_t first, size_t end);

/* Find them among a thread's visits from first to end (places). 0 or -ENOMEM. *finder is to be
 * zeros but for its visits and definitions; call mt_loops_clear in any case. */
int mt_loops_find(struct mt_loop_finder *finder, size_t first, size_t end, uint32_t thread);
void mt_loops_clear(struct mt_loop_finder *finder);

#endif
