/* SPDX-License-Identifier: Apache-2.0 */
/* A thread's data about its native stacks (unwind.h): types only. */
#ifndef MT_PRELOAD_WALKS_H
#define MT_PRELOAD_WALKS_H

#include "seen-walks.h"

#define MT_NATIVE_DEPTH 256 /* frames kept, the innermost ones */
#define MT_WALK_DEPTH 264   /* with those of libmemtap.so itself */

struct mt_walk {
    unsigned n;
    bool may_keep;   /* the words that it read were noted (seen-walks.h) */
    mt_walk_sum sum; /* of the addresses: stacks with equal sums are equal */
    /* The return addresses, innermost first; at a signal, the interrupted instruction's address +
     * 1. */
    uintptr_t back[MT_WALK_DEPTH];
};

#define MT_FORESIGHT 512
#define MT_NEAR_BITS 11

/* For a plain rule (rules.h): the size of the frame that an address returns to, and where it keeps
 * the caller's frame pointer. */
struct mt_near_rule {
    uintptr_t back;
    int32_t cfa;   /* from the stack pointer */
    int32_t bp_at; /* from the CFA; 0: still in its register */
};

/* Facts from a thread's earlier walks that let the next ones start early. Initialize with zeros. */
struct mt_foresight {
    uintptr_t cfa[MT_FORESIGHT];                  /* ends of frames, by their starts */
    struct mt_near_rule near[1u << MT_NEAR_BITS]; /* by address */
    struct mt_seen_walks seen;
    uint32_t forgotten; /* mt_frame_rules_forgotten as of then; 0: never */
};

#endif
