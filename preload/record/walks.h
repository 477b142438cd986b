/* SPDX-License-Identifier: Apache-2.0 */
/* A thread's data about its native stacks (unwind.h): types only. */
#ifndef MT_PRELOAD_WALKS_H
#define MT_PRELOAD_WALKS_H

#include "seen-walks.h"

#define MT_NATIVE_DEPTH 256 /* frames kept, the innermost ones */
#define MT_WALK_DEPTH 264   /* with those of libmemtap.so itself */

struct mt_walk {
    unsigned n;
    bool may_keep;   /* the words that it read are noted (seen-walks.h) */
    mt_walk_sum sum; /* of the addresses: two stacks with one sum are one stack */
    /* The return addresses, innermost first; where a signal came in, its instruction's address +
     * 1. */
    uintptr_t back[MT_WALK_DEPTH];
};

#define MT_FORESIGHT 512
#define MT_NEAR_BITS 11

/* The size of the frame that an address returns to, and the place of the caller's frame pointer in
 * it, for a plain rule (rules.h). */
struct mt_near_rule {
    uintptr_t back;
    int32_t cfa;   /* from the stack pointer */
    int32_t bp_at; /* from the CFA; 0: still in its register */
};

/* Facts from a thread's earlier walks, so that the next ones need not wait. Zeros at first. */
struct mt_foresight {
    uintptr_t cfa[MT_FORESIGHT];                  /* ends of frames, by their begins */
    struct mt_near_rule near[1u << MT_NEAR_BITS]; /* by address */
    struct mt_seen_walks seen;
    uint32_t forgotten; /* mt_frame_rules_forgotten at that time; 0: never */
};

#endif
