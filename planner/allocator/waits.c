/* SPDX-License-Identifier: Apache-2.0 */
/* record_stream: a free waits until the other streams are done. */
#include <stdlib.h>

#include "inside.h"

void mt_drop_uses(struct mt_alloc_block *block)
{
    while (block->uses) {
        struct mt_stream_use *use = block->uses;

        block->uses = use->next;
        free(use);
    }
}

void mt_record_use(struct mt_allocator *allocator, struct mt_alloc_block *block, uint16_t stream)
{
    struct mt_stream_use *use = block->uses;

    if (stream == block->stream)
        return;
    while (use && use->stream != stream)
        use = use->next;
    if (!use) {
        use = calloc(1, sizeof(*use));
        if (!use) {
            allocator->no_memory = true;
            return;
        }
        use->stream = stream;
        use->next = block->uses;
        block->uses = use;
    }
    use->in_capture |= mt_is_held_back(allocator) > 0;
}

void mt_wait_for_streams(struct mt_allocator *allocator, struct mt_alloc_block *block)
{
    bool is_deferred = mt_is_held_back(allocator);

    block->state = is_deferred ? MT_BLOCK_DEFERRED : MT_BLOCK_WAITING;
    mt_block_list_add(allocator, is_deferred ? &allocator->deferred : &allocator->waiting, block);
}

void mt_wait_complete(struct mt_allocator *allocator, struct mt_alloc_block *block)
{
    if (block->is_complete ||
        (block->state != MT_BLOCK_WAITING && block->state != MT_BLOCK_DEFERRED))
        return;
    block->is_complete = true;
    allocator->n_complete++;
}

static void end_wait(struct mt_allocator *allocator, struct mt_alloc_block *block)
{
    allocator->n_complete -= block->is_complete;
    mt_drop_uses(block);
    mt_block_free(allocator, block);
}

/* What a capture held back waits now: for the streams that were recorded outside of the capture. */
static void wait_at_last(struct mt_allocator *allocator)
{
    for (size_t i = 0; i < allocator->deferred.count; i++) {
        struct mt_alloc_block *block = allocator->deferred.block[i];
        bool has_other = false;

        for (const struct mt_stream_use *use = block->uses; use; use = use->next)
            has_other |= !use->in_capture;
        block->state = MT_BLOCK_WAITING;
        if (has_other)
            mt_block_list_add(allocator, &allocator->waiting, block);
        else
            end_wait(allocator, block);
    }
    allocator->deferred.count = 0;
}

void mt_process_waits(struct mt_allocator *allocator)
{
    struct mt_block_list *waiting = &allocator->waiting;
    size_t kept = 0;

    if (allocator->deferred.count)
        wait_at_last(allocator);
    if (!allocator->n_complete)
        return;
    for (size_t i = 0; i < waiting->count; i++) {
        struct mt_alloc_block *block = waiting->block[i];

        if (block->is_complete)
            end_wait(allocator, block);
        else
            waiting->block[kept++] = block;
    }
    waiting->count = kept;
}

void mt_end_waits(struct mt_allocator *allocator, const struct mt_alloc_pool *pool)
{
    struct mt_block_list *waiting = &allocator->waiting;
    size_t kept = 0;

    wait_at_last(allocator);
    for (size_t i = 0; i < waiting->count; i++) {
        struct mt_alloc_block *block = waiting->block[i];

        if (!pool || block->side->pool == pool)
            end_wait(allocator, block);
        else
            waiting->block[kept++] = block;
    }
    waiting->count = kept;
}
