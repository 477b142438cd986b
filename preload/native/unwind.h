/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walk native stacks, without a lock, a system call or an allocation if all code was met before.
 * Only the stack's own memory is read: a walk that would leave it ends.
 */
#ifndef MT_PRELOAD_UNWIND_H
#define MT_PRELOAD_UNWIND_H

#include "preload/host/stack-bounds.h"
#include "preload/record/walks.h"

/* The registers needed to leave a frame. back: the address after its current instruction. */
struct mt_registers {
    uintptr_t back, sp, bp;
};

/* Stop at the frame that interprets Python, not at the outermost one. */
#define MT_UNTIL_PYTHON 1u
/* Return the frames, not just a key that tells stacks apart. */
#define MT_EVERY_FRAME 2u

/* Walk from `at` up. how: the bits above. */
void mt_unwind(struct mt_walk *walk, struct mt_stack_bounds *bounds, struct mt_foresight *foresight,
               struct mt_registers at, unsigned how);

/* The calling function's own registers. */
#define MT_OWN_REGISTERS()                                                                         \
    ({                                                                                             \
        struct mt_registers own_;                                                                  \
        __asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2"                   \
                         : "=&r"(own_.back), "=&r"(own_.sp), "=&r"(own_.bp));                      \
        own_;                                                                                      \
    })

#endif
