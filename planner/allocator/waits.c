/* SPDX-License-Identifier: Apache-2.0 */
/* record_stream: a free waits for the other streams. */
#include <stdlib.h>

#include "inside.h"

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
    block->is_safe = mt_is_held_back(allocator);
    allocator->n_complete++;
}

static void end_wait(struct mt_allocator *allocator, struct mt_alloc_block *block)
{
    allocator->n_complete -= block->is_complete;
    mt_drop_uses(block);
    mt_block_free(allocator, block);
}

static bool is_used_outside(const struct mt_alloc_block *block)
{
    const struct mt_stream_use *use = block->uses;
    while (use && use->in_capture)
        use = use->next;
    return use;
}

/* Begin the waits that a capture deferred, for the streams recorded outside it. */
static void wait_at_last(struct mt_allocator *allocator)
{
    for (size_t i = 0; i < allocator->deferred.count; i++) {
        struct mt_alloc_block *block = allocator->deferred.block[i];
        block->state = MT_BLOCK_WAITING;
        if (is_used_outside(block))
            mt_block_list_add(allocator, &allocator->waiting, block);
        else
            end_wait(allocator, block);
    }
    allocator->deferred.count = 0;
}

/* Free the deferred blocks that are safe, or those of a pool that no other stream uses. */
static void end_deferred(struct mt_allocator *allocator, const struct mt_alloc_pool *pool)
{
    struct mt_block_list *deferred = &allocator->deferred;
    size_t kept = 0;
    for (size_t i = 0; i < deferred->count; i++) {
        struct mt_alloc_block *block = deferred->block[i];
        if (pool ? block->side->pool == pool && !is_used_outside(block) : block->is_safe)
            end_wait(allocator, block);
        else
            deferred->block[kept++] = block;
    }
    deferred->count = kept;
}

void mt_process_captured(struct mt_allocator *allocator)
{
    if (allocator->conf.record_stream_reuse && allocator->n_complete)
        end_deferred(allocator, NULL);
}

void mt_end_capture(struct mt_allocator *allocator, const struct mt_alloc_pool *pool)
{
    if (allocator->conf.record_stream_reuse && allocator->captures_only)
        end_deferred(allocator, pool);
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
