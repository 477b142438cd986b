/* SPDX-License-Identifier: Apache-2.0 */
#include "range.h"

#include <stdbool.h>
#include <stdlib.h>

#include "../base/base.h"
#include "../base/pages.h"
#include "content.h"

static const size_t stretch_size = (size_t)1 << 30;

/* Blocks tile a stretch: the block without a `before` begins it. Two free blocks are never
 * neighbours. */
struct sim_block {
    struct sim_block *before, *after;
    struct sim_block *next, **link; /* of free blocks */
    uintptr_t start;
    size_t size;
};

static void set_free(struct sim_heap *heap, struct sim_block *block)
{
    block->next = heap->free;
    block->link = &heap->free;
    if (block->next)
        block->next->link = &block->next;
    heap->free = block;
}

static void set_used(struct sim_block *block)
{
    *block->link = block->next;
    if (block->next)
        block->next->link = block->link;
    block->link = NULL;
}

static bool is_free(const struct sim_block *block)
{
    return block && block->link;
}

static struct sim_block *new_stretch(struct sim_heap *heap, size_t least)
{
    size_t size = least > stretch_size ? (least + SIM_PAGE - 1) & ~(SIM_PAGE - 1) : stretch_size;
    struct sim_block *block = calloc(1, sizeof(*block));
    if (!block)
        return NULL;
    block->start = (uintptr_t)sim_pages_map(size, SIM_PAGE, true);
    if (!block->start) {
        free(block);
        return NULL;
    }
    block->size = size;
    set_free(heap, block);
    return block;
}

static struct sim_block *best_fit(const struct sim_heap *heap, size_t size)
{
    struct sim_block *best = NULL;
    for (struct sim_block *block = heap->free; block; block = block->next)
        if (block->size >= size && (!best || block->size < best->size))
            best = block;
    return best;
}

/* Cut a block after `size` bytes. Without memory for the rest it stays too long. */
static void cut(struct sim_heap *heap, struct sim_block *block, size_t size)
{
    struct sim_block *rest = block->size > size ? calloc(1, sizeof(*rest)) : NULL;
    if (!rest)
        return;
    *rest = (struct sim_block){.before = block,
                               .after = block->after,
                               .start = block->start + size,
                               .size = block->size - size};
    if (rest->after)
        rest->after->before = rest;
    block->after = rest;
    block->size = size;
    set_free(heap, rest);
}

struct sim_block *sim_heap_take(struct sim_heap *heap, size_t size, uintptr_t *address)
{
    struct sim_block *block = best_fit(heap, size);
    if (!block)
        block = new_stretch(heap, size);
    if (!block)
        return NULL;
    set_used(block);
    cut(heap, block, size);
    *address = block->start;
    return block;
}

/* Merge with the next block; neither is in the list of free blocks. */
static void merge(struct sim_block *block)
{
    struct sim_block *gone = block->after;
    block->size += gone->size;
    block->after = gone->after;
    if (block->after)
        block->after->before = block;
    free(gone);
}

void sim_heap_give(struct sim_heap *heap, struct sim_block *block)
{
    sim_clear((void *)block->start, block->size);
    if (is_free(block->after)) {
        set_used(block->after);
        merge(block);
    }
    if (is_free(block->before)) {
        block = block->before;
        set_used(block);
        merge(block);
    }
    /* Unmap a stretch that is all free, unless it is the last: addresses are used again. */
    if (block->before || block->after || !heap->free) {
        set_free(heap, block);
        return;
    }
    sim_pages_unmap((void *)block->start, block->size);
    free(block);
}
