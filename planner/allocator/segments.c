/* SPDX-License-Identifier: Apache-2.0 */
/* Segments: allocated from CUDA and returned to it. */
#include "analyzer/support/to-integer.h"
#include "inside.h"

static uint64_t whole_pages(uint64_t size)
{
    return (size + MT_PAGE - 1) / MT_PAGE * MT_PAGE;
}

/* Return the next segment's address. Addresses fall and are not reused, as on the simulated card
 * and usually on a real one. A release that prefers the oldest of equal blocks orders them as if
 * they rose. */
static uint64_t next_place(struct mt_allocator *allocator, uint64_t pages)
{
    if (!allocator->prefers_oldest)
        return allocator->next_address -= pages;
    allocator->next_address += pages;
    return allocator->next_address - pages;
}

uint64_t mt_new_segment(struct mt_allocator *allocator, uint64_t size)
{
    uint64_t pages = whole_pages(size);
    allocator->held += pages;
    allocator->now.reserved += size;
    allocator->now.segments++;
    return next_place(allocator, pages);
}

/* Allocate a segment. */
static bool cuda_malloc(struct mt_allocator *allocator, struct mt_wanted *wanted)
{
    uint64_t pages = whole_pages(wanted->segment);
    if (pages < wanted->segment || pages > mt_card_free(allocator))
        return false;
    wanted->block = mt_block_new(allocator, wanted->side, wanted->stream,
                                 mt_new_segment(allocator, wanted->segment), wanted->segment);
    return wanted->block;
}

static bool is_above(const struct mt_allocator *allocator, const struct mt_wanted *wanted,
                     uint64_t limit)
{
    return wanted->segment > limit || allocator->now.reserved > limit - wanted->segment;
}

/* Return whether PyTorch rejects the segment. The fraction in the settings counts, even if the
 * program has set another since. */
bool mt_is_rejected(const struct mt_allocator *allocator, const struct mt_wanted *wanted)
{
    const struct mt_alloc_conf *conf = &allocator->conf;
    return conf->throw_on_oom &&
           is_above(allocator, wanted,
                    mt_to_uint64(conf->memory_fraction * (double)allocator->total)) &&
           !(allocator->has_limit && is_above(allocator, wanted, allocator->limit));
}

bool mt_find_new(struct mt_allocator *allocator, struct mt_wanted *wanted)
{
    bool found, expand;
    if ((allocator->has_limit && is_above(allocator, wanted, allocator->limit)) ||
        mt_is_rejected(allocator, wanted))
        return false;
    expand = wanted->expandable && (!wanted->side->pool->number || allocator->expands_private);
    found = expand ? mt_find_expandable(allocator, wanted) : cuda_malloc(allocator, wanted);
    if (found)
        wanted->side->pool->segments++;
    return found;
}

/* Release a free segment. */
static void release(struct mt_allocator *allocator, struct mt_alloc_block *block)
{
    mt_block_take(block);
    block->side->pool->segments--;
    allocator->held -= whole_pages(block->size);
    allocator->now.reserved -= block->size;
    allocator->now.segments--;
    mt_block_drop(allocator, block);
}

static bool is_whole(const struct mt_alloc_block *block)
{
    return !block->segment && !mt_block_is_split(block);
}

/* --- garbage_collection_threshold ------------------------------------------------------- */

struct ages {
    uint64_t total; /* number of searches since each became free */
    uint64_t count;
};

static uint64_t age_of(const struct mt_alloc_block *block)
{
    return block->side->searches - block->age_base;
}

static void add_ages(const struct mt_free_set *set, struct ages *ages)
{
    struct mt_free_at at = {0, 0};
    const struct mt_alloc_block *block;
    for (; (block = mt_free_set_block(set, at)); at = mt_free_set_next(set, at)) {
        if (mt_block_is_split(block))
            continue;
        ages->total += age_of(block);
        ages->count++;
    }
}

/* Release blocks at least as old as the threshold. Return the bytes. */
static uint64_t collect(struct mt_allocator *allocator, struct mt_free_set *set, double threshold,
                        struct ages *ages)
{
    struct mt_free_key key = {0, 0};
    struct mt_alloc_block *block;
    uint64_t bytes = 0;
    while ((block = mt_free_set_block(set, mt_free_set_from(set, key)))) {
        key = (struct mt_free_key){block->size, block->address + 1};
        if (!is_whole(block) || (double)age_of(block) < threshold)
            continue;
        bytes += block->size;
        ages->total -= age_of(block);
        ages->count--;
        release(allocator, block);
    }
    return bytes;
}

void mt_collect_garbage(struct mt_allocator *allocator)
{
    struct mt_alloc_side *side = &allocator->pool[0]->large;
    uint64_t start =
        mt_to_uint64(allocator->conf.garbage_collection_threshold * (double)allocator->limit);
    uint64_t wanted, collected = 0, last = 1;
    struct ages ages = {0, 0};
    if (allocator->now.reserved <= start)
        return;
    wanted = allocator->now.reserved - start;
    for (unsigned i = 0; i < side->n_streams; i++)
        add_ages(&side->stream[i].free, &ages);
    while (collected < wanted && last && ages.count) {
        double threshold = (double)ages.total / (double)ages.count;

        last = 0;
        for (unsigned i = 0; i < side->n_streams; i++)
            last += collect(allocator, &side->stream[i].free, threshold, &ages);
        collected += last;
    }
}

/* --- before it runs out of memory ------------------------------------------------------- */

/* Release the largest blocks until `size` bytes are released. */
static bool release_largest(struct mt_allocator *allocator, struct mt_free_set *set, uint64_t size)
{
    struct mt_free_key key = {UINT64_MAX, UINT64_MAX};
    uint64_t released = 0;
    while (released < size) {
        struct mt_free_at at = mt_free_set_from(set, key);
        if (!mt_free_set_back(set, &at))
            break;
        struct mt_alloc_block *block = mt_free_set_block(set, at);
        if (block->size < allocator->conf.max_split_size)
            break;
        key = (struct mt_free_key){block->size, block->address};
        if (block->segment)
            continue;
        released += block->size;
        release(allocator, block);
    }
    return released >= size;
}

bool mt_release_oversize(struct mt_allocator *allocator, const struct mt_wanted *wanted)
{
    uint64_t most = allocator->conf.max_split_size;
    uint64_t size = wanted->size < most ? most : wanted->size;
    if (most == UINT64_MAX || wanted->stream >= wanted->side->n_streams)
        return false;
    struct mt_free_set *set = &wanted->side->stream[wanted->stream].free;
    struct mt_alloc_block *block =
        mt_free_set_block(set, mt_free_set_from(set, (struct mt_free_key){size, 0}));
    if (!block || block->segment)
        return release_largest(allocator, set, size);
    release(allocator, block);
    return true;
}

static void release_stream(struct mt_allocator *allocator, struct mt_free_set *set)
{
    struct mt_free_key key = {0, 0};
    struct mt_alloc_block *block;
    while ((block = mt_free_set_block(set, mt_free_set_from(set, key)))) {
        key = (struct mt_free_key){block->size, block->address + 1};
        if (is_whole(block))
            release(allocator, block);
    }
}

/* Collect the free blocks first, since unmapping adds and removes free blocks. */
static void unmap_stream(struct mt_allocator *allocator, struct mt_free_set *set)
{
    struct mt_block_list list = {0};
    struct mt_free_at at = {0, 0};
    struct mt_alloc_block *block;
    for (; (block = mt_free_set_block(set, at)); at = mt_free_set_next(set, at))
        if (block->segment)
            mt_block_list_add(allocator, &list, block);
    for (size_t i = 0; i < list.count; i++)
        mt_unmap_free(allocator, list.block[i]);
    mt_block_list_clear(&list);
}

static void release_side(struct mt_allocator *allocator, struct mt_alloc_side *side)
{
    for (unsigned i = 0; i < side->n_streams; i++) {
        release_stream(allocator, &side->stream[i].free);
        unmap_stream(allocator, &side->stream[i].free);
    }
}

void mt_release_cached(struct mt_allocator *allocator, unsigned only)
{
    if (!only && !mt_is_held_back(allocator)) {
        mt_end_waits(allocator, NULL);
        release_side(allocator, &allocator->pool[0]->large);
        release_side(allocator, &allocator->pool[0]->small);
    }
    for (unsigned i = 1; i < allocator->n_pools; i++) {
        struct mt_alloc_pool *pool = allocator->pool[i];
        if (!pool || !pool->is_freeable || (only && only != i))
            continue;
        if (only)
            mt_end_waits(allocator, pool);
        release_side(allocator, &pool->small);
        release_side(allocator, &pool->large);
        if (pool->segments <= 0)
            mt_pool_remove(pool);
    }
}
