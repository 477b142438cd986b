/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/grow.h"
#include "cuda-level.h"

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
        return 0; /* the host's, or unknown */
    uint32_t index = mt_heap_index(heap, block);
    if (mt_grow(&touches->touch, &touches->n, index + (size_t)1, sizeof *touches->touch))
        return -ENOMEM;
    struct mt_touch *mine = &touches->touch[index];
    if (!mine->is_seen)
        mine->first_ns = time_ns;
    mine->last_ns = time_ns;
    mine->is_seen = true;
    return 0;
}

int mt_touches_event(struct mt_touches *touches, struct mt_heap *heap, const struct mt_event *event)
{
    int rc = touch(touches, heap, event->address, event->time_ns);
    if (!rc && event->kind == MT_CUDA_COPY)
        rc = touch(touches, heap, event->CUDA_COPY.from, event->time_ns);
    return rc;
}

void mt_touches_forget(struct mt_touches *touches, uint32_t index)
{
    if (index < touches->n)
        touches->touch[index] = (struct mt_touch){0};
}

struct mt_touch mt_touches_of(const struct mt_touches *touches, uint32_t index)
{
    return index < touches->n ? touches->touch[index] : (struct mt_touch){0};
}
