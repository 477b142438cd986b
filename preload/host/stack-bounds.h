/* SPDX-License-Identifier: Apache-2.0 */
/* The stacks of a thread: its own, and others that it may run on (a signal handler's, a
 * coroutine's). */
#ifndef MT_PRELOAD_STACK_BOUNDS_H
#define MT_PRELOAD_STACK_BOUNDS_H

#include <stdint.h>

/* The thread's own stack. low is as seen so far: the main thread's stack grows. Zeros: not looked
 * up. */
struct mt_stack_bounds {
    uintptr_t low, top;
    uint32_t n_looked_up;
};

uintptr_t mt_stack_top_slow(struct mt_stack_bounds *bounds, uintptr_t sp);

/* Return the end of what is readable from sp on, which is the calling thread's stack pointer; 0 if
 * nothing is. On the thread's own stack that is the stack's end, without a system call. On another
 * stack, which may be gone, the kernel is queried, and only for a part: the end of the mapping may
 * be that of a thousand stacks. */
static inline uintptr_t mt_stack_top(struct mt_stack_bounds *bounds, uintptr_t sp)
{
    return sp >= bounds->low && sp < bounds->top ? bounds->top : mt_stack_top_slow(bounds, sp);
}

/* Return a later end for a walk from sp that has reached `top`, or top if there is none. */
uintptr_t mt_stack_top_beyond(const struct mt_stack_bounds *bounds, uintptr_t sp, uintptr_t top);

/* Whether two addresses are on one stack: the calling thread's own, or close together on another.
 */
enum mt_stacks { MT_STACKS_DIFFER, MT_STACK_IS_OWN, MT_STACK_IS_ANOTHER };
enum mt_stacks mt_stacks_of(struct mt_stack_bounds *bounds, uintptr_t a, uintptr_t sp);

/* Return the stack pointer of the function that this is inlined into. */
static inline __attribute__((always_inline)) uintptr_t mt_stack_pointer(void)
{
    uintptr_t sp;
    __asm__ volatile("movq %%rsp, %0" : "=r"(sp));
    return sp;
}

#endif
