/* SPDX-License-Identifier: Apache-2.0 */
#include "touches.h"
#include "analyzer/support/grow.h"

void mt_touches_clear(struct mt_touches *touches)
{
    free(touches->touch);
    *touches = (struct mt_touches){0};
}

static int touch(struct mt_touches *touches, struct mt_heap *heap, uint64_t address,
                 uint64_t time_ns)
{
    const struct mt_block *block = mt_heap_around(heap, address);
    if (!block)
        return 0; /* the host's, or not known */
    if (mt_grow(&touches->touch, &touches->n, block->index + (size_t)1, sizeof *touches->touch))
        return -ENOMEM;
    struct mt_touch *mine = &touches->touch[block->index];
    if (!mine->is_seen)
        mine->first_ns = time_ns;
    mine->last_ns = time_ns;
    mine->is_seen = 1;
    return 0;
}

int mt_touches_event(struct mt_touches *touches, struct mt_heap *heap, const struct mt_event *event)
{
    int rc = touch(touches, heap, event->address, event->time_ns);
    if (!rc && event->kind == MT_CUDA_COPY)
        rc = touch(touches, heap, event->CUDA_COPY.from, event->time_ns);
    return rc;
}

void mt_touches_forget(struct mt_touches *touches, const struct mt_block *block)
{
    if (block->index < touches->n)
        touches->touch[block->index] = (struct mt_touch){0};
}

struct mt_touch mt_touches_of(const struct mt_touches *touches, const struct mt_block *block)
{
    return block->index < touches->n ? touches->touch[block->index] : (struct mt_touch){0};
}
