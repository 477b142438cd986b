/* SPDX-License-Identifier: Apache-2.0 */
/* Signal frames on the stack of another process's thread (x86-64). */
#ifndef MT_FRAME_H
#define MT_FRAME_H

#include "target.h"

#define MT_VECTOR_SIZE 16384u

/* A thread's state, to which a frame returns. */
struct mt_foreign_state {
    struct user_regs_struct registers;
    uint64_t mask; /* of signals */
    size_t size;   /* of the vector registers, as a frame has them */
    unsigned char vector[MT_VECTOR_SIZE] __attribute__((aligned(64))); /* NT_X86_XSTATE */
};

struct mt_foreign_call {
    uint64_t function;
    const char *text; /* the first argument; NULL: none */
    uint64_t number;  /* the second */
};

/* Determine the size, given that of NT_X86_XSTATE. Return 0, or -ENOTSUP: a frame cannot have it.
 */
int mt_state_set_size(struct mt_foreign_state *state, size_t size);

/* Return whether there is room for the call on the stack. */
bool mt_frame_has_room(pid_t pid, uint64_t stack_pointer);

/* Write the frames of the call below the thread's stack. Return 0 and the registers that begin it,
 * or -EFAULT. */
int mt_frame_write(const struct mt_target *target, const struct mt_foreign_state *state,
                   const struct mt_foreign_call *call, struct user_regs_struct *entry);

#endif
