/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walk native stacks, without a lock, a system call or an allocation if all code was seen before.
 * Only the stack's own memory is read: a walk that would leave it ends.
 */
#ifndef MT_PRELOAD_UNWIND_H
#define MT_PRELOAD_UNWIND_H

#include "preload/host/stack-bounds.h"
#include "preload/record/walks.h"
#include "rules.h"
#include "trace-format/likely.h"

/* The registers needed to leave a frame. back is the address after its current instruction. */
struct mt_registers {
    uintptr_t back, sp, bp;
};

/* Stop at the frame that interprets Python instead of the outermost one. */
#define MT_UNTIL_PYTHON 1u

/* Walk outwards from `at`. how: 0, or MT_UNTIL_PYTHON. */
void mt_unwind(struct mt_walk *walk, struct mt_stack_bounds *bounds, struct mt_foresight *foresight,
               struct mt_registers at, unsigned how);

/* A frame: the address after its current instruction, and where it ends on the stack. */
struct mt_frame_place {
    uintptr_t back, end;
};

/* Get the places of the frames outwards from `at`, at most so many. Return their number; 0 if
 * native stacks are not recorded. */
unsigned mt_unwind_places(struct mt_stack_bounds *bounds, struct mt_registers at,
                          struct mt_frame_place *out, unsigned most);

/* Return the id that was kept for the stack that mt_unwind would find, or 0. */
static MT_ALWAYS_INLINE uint32_t mt_unwind_foresee(struct mt_stack_bounds *bounds,
                                                   struct mt_foresight *foresight,
                                                   struct mt_registers at, unsigned how,
                                                   uint32_t parent)
{
    struct mt_walk_start start = {
        at.back, at.sp, mt_stack_top(bounds, at.sp),
        atomic_load_explicit(&mt_frame_rules_forgotten, memory_order_acquire),
        (how & MT_UNTIL_PYTHON) != 0};
    struct mt_seen_set *set = mt_seen_set(&foresight->seen, at.sp);
    return MT_LIKELY(start.top && mt_seen_is_worth_it(set))
               ? mt_seen_find(&foresight->seen, set, &start, at.bp, parent)
               : 0;
}

/* Keep an id for the stack that mt_unwind has just found, on this parent. */
static inline void mt_unwind_keep(const struct mt_walk *walk, struct mt_foresight *foresight,
                                  uint32_t parent, uint32_t id)
{
    if (walk->may_keep)
        mt_seen_keep(&foresight->seen, parent, id);
}

/* The calling function's own registers. */
#define MT_OWN_REGISTERS()                                                                         \
    ({                                                                                             \
        struct mt_registers own_;                                                                  \
        __asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2"                   \
                         : "=&r"(own_.back), "=&r"(own_.sp), "=&r"(own_.bp));                      \
        own_;                                                                                      \
    })

#endif
