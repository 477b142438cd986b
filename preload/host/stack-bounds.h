/* SPDX-License-Identifier: Apache-2.0 */
/* Where the stacks of a thread end: its own, and another that it may be on (a signal handler's, a
 * coroutine's). */
#ifndef MT_PRELOAD_STACK_BOUNDS_H
#define MT_PRELOAD_STACK_BOUNDS_H

#include <stdint.h>

struct mt_stack_bounds {
    uintptr_t low, top; /* of its own; low: as far as it was seen, the main thread's grows */
    /* Of the last other one. That may have gone, and a smaller one come to its place. */
    uintptr_t other_low, other_top;
    uint32_t n_looked_up;
};

uintptr_t mt_stack_top_slow(struct mt_stack_bounds *bounds, uintptr_t sp);

/* One past the last byte of the stack that this stack pointer of the calling thread is on: from sp
 * up to there all can be read. 0: not known. On its own stack, no system call. */
static inline uintptr_t mt_stack_top(struct mt_stack_bounds *bounds, uintptr_t sp)
{
    return sp >= bounds->low && sp < bounds->top ? bounds->top : mt_stack_top_slow(bounds, sp);
}

#endif
