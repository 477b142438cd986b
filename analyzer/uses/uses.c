/* SPDX-License-Identifier: Apache-2.0 */
#include "uses.h"
#include "analyzer/support/grow.h"

#include <errno.h>
#include <stdlib.h>

void mt_uses_clear(struct mt_uses_of *uses)
{
    free(uses->of);
    *uses = (struct mt_uses_of){0};
}

static struct mt_block_uses *need(struct mt_uses_of *uses, const struct mt_heap *heap,
                                  const struct mt_block *block)
{
    uint32_t index = mt_heap_index(heap, block);
    if (mt_grow(&uses->of, &uses->capacity, (size_t)index + 1, sizeof *uses->of))
        return NULL;
    struct mt_block_uses *mine = &uses->of[index];
    if (mine->made != mt_block_event(block) + 1)
        *mine = (struct mt_block_uses){.made = mt_block_event(block) + 1};
    return mine;
}

static bool begins(const struct mt_event *event)
{
    return event->USES.which & (MT_USES_FIRST | MT_USES_NONE);
}

/* Return whether the block's own uses up to this moment are known already. */
static bool is_known(const struct mt_block_uses *mine, const struct mt_event *event)
{
    return mine->known_ns == event->time_ns && begins(event) &&
           (mine->is_never || mine->first.time_ns);
}

static void note(struct mt_block_uses *mine, const struct mt_event *event)
{
    uint64_t which = event->USES.which;
    struct mt_use_point point = {event->time_ns - event->USES.ago, event->stack,
                                 (uint32_t)event->USES.name, (which & MT_USES_IN_BACKWARD) != 0};
    if (mine->known_ns != event->time_ns) /* those of an earlier moment are out of date */
        *mine = (struct mt_block_uses){.made = mine->made, .known_ns = event->time_ns};
    mine->is_never = which & MT_USES_NONE;
    mine->only_written = which & MT_USES_ONLY_WRITTEN;
    mine->is_passed = which & MT_USES_PASSED;
    if (which & MT_USES_FIRST)
        mine->first = point;
    if (which & MT_USES_LAST)
        mine->last = point;
    if (which & MT_USES_BEFORE_IDLE)
        mine->before = point;
    if (which & MT_USES_AFTER_IDLE)
        mine->after = point;
}

int mt_uses_event(struct mt_uses_of *torch, const struct mt_heap *torch_heap,
                  struct mt_uses_of *cuda, const struct mt_heap *cuda_heap,
                  const struct mt_event *event)
{
    const struct mt_block *block = mt_heap_at(torch_heap, event->address);
    struct mt_block_uses *mine = block ? need(torch, torch_heap, block) : NULL;
    if (block && !mine)
        return -ENOMEM;
    if (!mine || is_known(mine, event)) {
        block = mt_heap_at(cuda_heap, event->address);
        mine = block ? need(cuda, cuda_heap, block) : NULL;
        if (block && !mine)
            return -ENOMEM;
    }
    if (mine)
        note(mine, event);
    return 0;
}

const struct mt_block_uses *mt_uses_find(const struct mt_uses_of *uses, const struct mt_heap *heap,
                                         const struct mt_block *block)
{
    uint32_t index = mt_heap_index(heap, block);
    const struct mt_block_uses *mine = index < uses->capacity ? &uses->of[index] : NULL;
    return mine && mine->made == mt_block_event(block) + 1 ? mine : NULL;
}
