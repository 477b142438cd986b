/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread keeps of the native stacks that it has walked (unwind.h): types only. */
#ifndef MT_PRELOAD_WALKS_H
#define MT_PRELOAD_WALKS_H

#include "seen-walks.h"

#define MT_NATIVE_DEPTH 256 /* frames kept; the outermost beyond are left out */
#define MT_WALK_DEPTH 264   /* with those of libmemtap.so itself */

struct mt_walk {
    unsigned n;    /* 0: no frame; or the walk was made before, and its frames were not asked for */
    uint64_t a, b; /* a hash of the addresses: two stacks with one hash are one stack */
    /* Innermost first, the return addresses; where a signal came in, its instruction's and 1. */
    uintptr_t back[MT_WALK_DEPTH];
};

#define MT_FORESIGHT 512
#define MT_NEAR_BITS 11

/* The size of the frame that an address returns to, and where in it is the caller's frame pointer:
 * what almost all code has (rules.h). */
struct mt_near_rule {
    uintptr_t back;
    int32_t cfa;   /* from the stack pointer */
    int32_t bp_at; /* from the CFA; 0: it is in its register still */
};

/* What a thread's walks have met, so that the next ones need not wait. Zeros at first. */
struct mt_foresight {
    uintptr_t cfa[MT_FORESIGHT];                  /* where frames ended, by where they began */
    struct mt_near_rule near[1u << MT_NEAR_BITS]; /* by address */
    struct mt_seen_walks seen;
    uint32_t forgotten; /* mt_frame_rules_forgotten, when these were; 0: never */
};

#endif
