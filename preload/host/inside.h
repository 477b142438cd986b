/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which calls a thread is inside of. A thread may leave one by a jump: from a signal handler, to
 * another coroutine, or by ending. So the stack decides: a call around the caller has its mark
 * above the stack pointer, on the same stack, and nothing has overwritten it.
 */
#ifndef MT_PRELOAD_INSIDE_H
#define MT_PRELOAD_INSIDE_H

#include "stack-bounds.h"
#include "trace-format/likely.h"

#include <stdbool.h>

/* In the frame of the function that makes the call. */
struct mt_call_mark {
    volatile uintptr_t self; /* its own address, until overwritten */
};

#define MT_CALLS 4u

struct mt_call {
    const struct mt_call_mark *mark;
    unsigned within; /* events attributed to the call */
};

/* Per thread: the calls that it is inside of, the outermost on each of its stacks. */
struct mt_inside {
    uintptr_t only; /* the only mark; 0: none; MT_IN_TABLE: see the table */
    unsigned n;
    struct mt_call call[MT_CALLS];
    uint64_t left; /* calls left by a jump, and events attributed to them */
    struct mt_stack_bounds bounds;
};
#define MT_IN_TABLE ((uintptr_t)1)

void mt_inside_begin_slow(struct mt_inside *inside, struct mt_call_mark *mark)
    __attribute__((cold));
void mt_inside_end_slow(struct mt_inside *inside, const struct mt_call_mark *mark)
    __attribute__((cold));

/* Return the call around the caller, or NULL. here is in the caller's frame, or below it. Calls
 * that were left by a jump are counted. The result is valid until the next call of one of these. */
struct mt_call *mt_inside_find(struct mt_inside *inside, const struct mt_call_mark *here)
    __attribute__((cold));

static inline void mt_inside_begin(struct mt_inside *inside, struct mt_call_mark *mark)
{
    mark->self = (uintptr_t)mark;
    if (MT_UNLIKELY(inside->only))
        mt_inside_begin_slow(inside, mark);
    else
        inside->only = (uintptr_t)mark;
}

static inline void mt_inside_end(struct mt_inside *inside, const struct mt_call_mark *mark)
{
    if (MT_LIKELY(inside->only == (uintptr_t)mark))
        inside->only = 0;
    else
        mt_inside_end_slow(inside, mark);
}

/* Return whether the thread may be inside a call. */
static inline bool mt_inside_may_be(const struct mt_inside *inside)
{
    return MT_UNLIKELY(inside->only != 0);
}

#endif
