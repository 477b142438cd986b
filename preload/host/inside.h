/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread is inside of is known by where its stack is, because it may leave by a jump: from a
 * signal handler, to another coroutine, by its end. A call that is around the caller has its mark
 * above the stack pointer, on the same stack, and nothing has overwritten it.
 */
#ifndef MT_PRELOAD_INSIDE_H
#define MT_PRELOAD_INSIDE_H

#include "stack-bounds.h"
#include "trace-format/likely.h"

#include <stdbool.h>

/* In the frame of the function that makes the call. */
struct mt_call_mark {
    volatile uintptr_t self; /* its own address, while nothing else is there */
};

#define MT_CALLS 4u

struct mt_call {
    const struct mt_call_mark *mark;
    unsigned within; /* events that were taken for the call's own */
};

/* Of one thread: the calls that it is inside of, the outermost on each of its stacks. */
struct mt_inside {
    uintptr_t only; /* the mark of the only one; 0: none; MT_IN_TABLE: they are in the table */
    unsigned n;
    struct mt_call call[MT_CALLS];
    uint64_t left; /* calls that were left by a jump, and what was taken for theirs */
    struct mt_stack_bounds bounds;
};
#define MT_IN_TABLE ((uintptr_t)1)

void mt_inside_begin_slow(struct mt_inside *inside, struct mt_call_mark *mark)
    __attribute__((cold));
void mt_inside_end_slow(struct mt_inside *inside, const struct mt_call_mark *mark)
    __attribute__((cold));

/* Return the call around the caller; NULL: none. here: in the caller's frame, or below it. Calls
 * that were left are counted, and what is returned stays until the next of these. */
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

/* Return whether there is anything to find. */
static inline bool mt_inside_may_be(const struct mt_inside *inside)
{
    return MT_UNLIKELY(inside->only != 0);
}

#endif
