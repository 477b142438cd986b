/* SPDX-License-Identifier: Apache-2.0 */
/* The ends of a thread's stacks: its own, and another that it may run on (a signal handler's, a
 * coroutine's). */
#ifndef MT_PRELOAD_STACK_BOUNDS_H
#define MT_PRELOAD_STACK_BOUNDS_H

#include <stdint.h>

struct mt_stack_bounds {
    uintptr_t low, top; /* of its own; low: as seen so far, the main thread's grows */
    /* Of the last other stack. It may have gone, and a smaller one may be in its place. */
    uintptr_t other_low, other_top;
    uint32_t n_looked_up;
};

uintptr_t mt_stack_top_slow(struct mt_stack_bounds *bounds, uintptr_t sp);

/* Return one past the last byte of the stack that the calling thread's stack pointer is in:
 * everything from sp up to there is readable. 0: not known. On the thread's own stack, makes no
 * system call. */
static inline uintptr_t mt_stack_top(struct mt_stack_bounds *bounds, uintptr_t sp)
{
    return sp >= bounds->low && sp < bounds->top ? bounds->top : mt_stack_top_slow(bounds, sp);
}

#endif
