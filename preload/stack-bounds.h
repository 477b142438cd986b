/* SPDX-License-Identifier: Apache-2.0 */
/* Where the stacks of a thread end: its own, and another that it may be on (a signal handler's, a
 * coroutine's). */
#ifndef MT_PRELOAD_STACK_BOUNDS_H
#define MT_PRELOAD_STACK_BOUNDS_H

#include <stdint.h>

struct mt_stack_bounds {
    uintptr_t low[2], top[2]; /* low: as far as it was seen, the main thread's grows */
    uint32_t n_looked_up;
};

uintptr_t mt_stack_top_slow(struct mt_stack_bounds *bounds, uintptr_t sp);

/* One past the last byte of the stack that this stack pointer of the calling thread is on: from sp
 * up to there all can be read. 0: not known. */
static inline uintptr_t mt_stack_top(struct mt_stack_bounds *bounds, uintptr_t sp)
{
    for (int i = 0; i < 2; i++)
        if (sp >= bounds->low[i] && sp < bounds->top[i])
            return bounds->top[i];
    return mt_stack_top_slow(bounds, sp);
}

#endif
