/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks native stacks. No lock, no system call, no allocation where all code was met before. Only
 * the stack's own memory is read: a walk that would leave it ends.
 */
#ifndef MT_PRELOAD_UNWIND_H
#define MT_PRELOAD_UNWIND_H

#include "preload/host/stack-bounds.h"
#include "preload/record/walks.h"

/* What a frame needs to be left. back: the address after the instruction that it is at. */
struct mt_registers {
    uintptr_t back, sp, bp;
};

/* Up to the frame in which Python is interpreted, not to the outermost one. */
#define MT_UNTIL_PYTHON 1u
/* The frames are wanted, and not just what tells the stack from others. */
#define MT_EVERY_FRAME 2u

/* Walks from `at` up. how: of the bits above. */
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
