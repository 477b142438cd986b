/* SPDX-License-Identifier: Apache-2.0 */
/* The card's free memory, and requests that it cannot serve. */
#include "analyzer/support/grow.h"
#include "inside.h"

uint64_t mt_card_free(const struct mt_allocator *allocator)
{
    uint64_t used = allocator->others + allocator->held;
    return used < allocator->total ? allocator->total - used : 0;
}

uint64_t mt_card_lacks(const struct mt_allocator *allocator)
{
    uint64_t used = allocator->others + allocator->held;
    return used > allocator->total ? used - allocator->total : 0;
}

struct mt_alloc_block mt_lost_block;

bool mt_set_number(struct mt_allocator *allocator, uint32_t number, struct mt_alloc_block *block)
{
    if (MT_GROW(allocator->block, allocator->n_blocks, (size_t)number)) {
        allocator->no_memory = true;
        return false;
    }
    allocator->block[number] = block;
    if (block != &mt_lost_block)
        block->number = number;
    return true;
}

void mt_note_oom(struct mt_allocator *allocator, const struct mt_request *request, uint64_t wanted)
{
    if (request->kind == MT_REQUEST_ALLOCATE)
        mt_set_number(allocator, request->block, &mt_lost_block);
    allocator->now.ooms++;
    if (allocator->had_oom)
        return;
    allocator->had_oom = true;
    uint64_t more =
        allocator->limit > allocator->now.reserved ? allocator->limit - allocator->now.reserved : 0;
    allocator->oom = (struct mt_allocator_oom){
        .index = allocator->fed,
        .requested = request->kind == MT_REQUEST_ALLOCATE ? request->size : wanted,
        .wanted = wanted,
        .card_free = mt_card_free(allocator),
        .limit = allocator->has_limit && wanted > more ? allocator->limit : 0,
        .then = allocator->now};
}
