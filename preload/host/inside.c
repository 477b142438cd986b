/* SPDX-License-Identifier: Apache-2.0 */
#include "inside.h"
#include "safe-read.h"

#include <stddef.h>

/* How many events a call may have within it. Its mark may outlive it if nothing overwrites the
 * stack. */
#define MOST_WITHIN 32u

static void add(struct mt_inside *inside, const struct mt_call_mark *mark)
{
    inside->call[inside->n++] = (struct mt_call){mark, 0};
}

static void drop(struct mt_inside *inside, unsigned i)
{
    inside->call[i] = inside->call[--inside->n];
}

/* Drop a call that was left by a jump; its result is unknown. */
static void leave(struct mt_inside *inside, unsigned i)
{
    inside->left += 1 + inside->call[i].within;
    drop(inside, i);
}

static void open_table(struct mt_inside *inside)
{
    if (inside->only != MT_IN_TABLE && inside->only)
        add(inside, (const struct mt_call_mark *)inside->only);
    inside->only = MT_IN_TABLE;
}

static void close_table(struct mt_inside *inside)
{
    if (!inside->n && !inside->left)
        inside->only = 0;
}

static bool is_intact(const struct mt_call_mark *mark, bool is_on_own)
{
    uintptr_t self = 0;
    if (is_on_own) /* above the stack pointer */
        return mark->self == (uintptr_t)mark;
    return !mt_safe_read((const void *)mark, &self, sizeof self) && self == (uintptr_t)mark;
}

struct mt_call *mt_inside_find(struct mt_inside *inside, const struct mt_call_mark *here)
{
    uintptr_t sp = (uintptr_t)here;
    open_table(inside);
    for (unsigned i = inside->n; i--;) {
        struct mt_call *call = &inside->call[i];
        uintptr_t at = (uintptr_t)call->mark;
        enum mt_stacks stacks = mt_stacks_of(&inside->bounds, at, sp);
        if (stacks == MT_STACKS_DIFFER)
            continue;
        if (sp < at && is_intact(call->mark, stacks == MT_STACK_IS_OWN) &&
            call->within < MOST_WITHIN)
            return call;
        leave(inside, i);
    }
    close_table(inside);
    return NULL;
}

void mt_inside_begin_slow(struct mt_inside *inside, struct mt_call_mark *mark)
{
    if (mt_inside_find(inside, mark))
        return; /* the outermost call's mark is enough */
    if (inside->n == MT_CALLS)
        leave(inside, 0);
    open_table(inside);
    add(inside, mark);
}

void mt_inside_end_slow(struct mt_inside *inside, const struct mt_call_mark *mark)
{
    for (unsigned i = inside->n; i--;)
        if (inside->call[i].mark == mark)
            drop(inside, i);
    close_table(inside);
}
