/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live blocks of one level of allocation (PyTorch's blocks, or CUDA's allocations) on all
 * devices. One address space: CUDA's unified addresses are unique in a process over its devices.
 * The heap's memory grows with the blocks that are live now or at the remembered moment, never with
 * the events.
 */
#ifndef MT_HEAP_H
#define MT_HEAP_H

#include <stdbool.h>

#include "analyzer/support/ordered.h"
#include "block.h"

#ifndef MT_HEAP_CHUNK
#define MT_HEAP_CHUNK                                                                              \
    1024u /* records that are allocated together: a multiple of 64, at most 4096 */
#endif

struct mt_heap_chunk {
    struct mt_block record[MT_HEAP_CHUNK];
    /* Bits of records that are not yet in heap->ordered, and of words that may have any. */
    uint64_t pending[MT_HEAP_CHUNK / 64], words;
    uint32_t next_pending; /* chunk + 1 of the next one with words; 0: none */
};

struct mt_heap_total {
    uint64_t bytes, blocks; /* live */
};

#define MT_HEAP_RECENT 4u

/*
 * Each device has one remembered moment, the last call of mt_heap_remember: records of blocks that
 * were live then are kept after their end. So one pass can explain the peak: each new highest
 * moment replaces the last one.
 */
struct mt_heap {
    struct mt_heap_chunk **chunks;
    size_t n_chunks, chunks_capacity;
    uint32_t n_records;  /* ever in use at once, with index 0, which is unused */
    uint32_t first_free; /* index, 0: none */
    /* By address: the record's index and, above it, the bits of the address's hash that the slot's
     * place does not give. 0: free. */
    uint32_t *slots;
    uint32_t mask;   /* of an index: the number of slots (2^n) - 1; at most four fifths are used */
    uint64_t factor; /* odd; replaced if addresses were chosen to collide */
    /* Few searches need order: blocks enter it at the first search after their allocation. */
    struct mt_ordered ordered;
    uint32_t first_pending, last_pending; /* chunks + 1; 0: none */
    struct mt_heap_total total[MT_DEVICES];
    struct mt_block none;                    /* always zeros */
    struct mt_birth *recent[MT_HEAP_RECENT]; /* mt_heap_add's, by thread */
    struct mt_deaths deaths;                 /* theirs */
    struct {
        uint32_t moments;    /* remembered so far */
        uint32_t first_kept; /* index, 0: none */
    } memory[MT_DEVICES];
};

/* Clear a heap; one of zeros is empty. */
void mt_heap_clear(struct mt_heap *heap);

/* Return a record, to visit live or remembered blocks: index 1 .. heap->n_records - 1. */
static inline struct mt_block *mt_heap_record(const struct mt_heap *heap, uint32_t index)
{
    return &heap->chunks[index / MT_HEAP_CHUNK]->record[index % MT_HEAP_CHUNK];
}

/* Return the index of a record. */
uint32_t mt_heap_index(const struct mt_heap *heap, const struct mt_block *block);

/* Hash an address as Fibonacci did: addresses are multiples of 512 and more; the product's high
 * bits mix them. The highest bits become the lowest, which give the place. */
static inline uint32_t mt_heap_hash(const struct mt_heap *heap, uint64_t address)
{
    return __builtin_bswap32((uint32_t)(address * heap->factor >> 32));
}

/* Return the slot of the live block that begins at the address, or the free slot where it would go.
 * There is always a free one. */
static inline uint32_t *mt_heap_locate(const struct mt_heap *heap, uint64_t address)
{
    uint32_t hash = mt_heap_hash(heap, address), slot;
    uint32_t at = hash & heap->mask;
    for (; (slot = heap->slots[at]); at = (at + 1) & heap->mask)
        if ((slot ^ hash) <= heap->mask &&
            mt_heap_record(heap, slot & heap->mask)->address == address)
            break;
    return &heap->slots[at];
}

/* Return the live block that begins at the address; NULL: none. */
static inline struct mt_block *mt_heap_at(const struct mt_heap *heap, uint64_t address)
{
    uint32_t slot = heap->slots ? *mt_heap_locate(heap, address) : 0;
    return slot ? mt_heap_record(heap, slot & heap->mask) : NULL;
}

/* Prefetch the slot of an address that will be searched soon. */
static inline void mt_heap_expect_slot(const struct mt_heap *heap, uint64_t address)
{
    if (heap->slots)
        __builtin_prefetch(&heap->slots[mt_heap_hash(heap, address) & heap->mask]);
}

/* Prefetch the block at an address that will be searched soon. Its slot was prefetched before. */
static inline void mt_heap_expect(const struct mt_heap *heap, uint64_t address)
{
    uint32_t hash = mt_heap_hash(heap, address);
    uint32_t slot = heap->slots ? heap->slots[hash & heap->mask] : 0;
    if (!slot || (slot ^ hash) > heap->mask)
        return; /* or it is in a later slot, which is rare */
    const char *block = (const char *)mt_heap_record(heap, slot & heap->mask);
    for (size_t at = 0; at < sizeof(struct mt_block); at += 64)
        __builtin_prefetch(block + at);
}

/* Return the live block that the address points into, but not to its begin; NULL: none. */
struct mt_block *mt_heap_within(struct mt_heap *heap, uint64_t address);

/* Return the live block that the address points into; NULL: none. */
static inline struct mt_block *mt_heap_around(struct mt_heap *heap, uint64_t address)
{
    struct mt_block *block = mt_heap_at(heap, address);
    return block ? block : mt_heap_within(heap, address);
}

/* Remember the slot's device now, in place of its last remembered moment. */
void mt_heap_remember(struct mt_heap *heap, unsigned slot);

/* Return whether the block was live at its device's remembered moment. */
static inline bool mt_heap_is_remembered(const struct mt_heap *heap, const struct mt_block *block)
{
    return block->state == MT_BLOCK_KEPT ||
           (block->state == MT_BLOCK_LIVE &&
            block->moment < heap->memory[mt_device_slot(block->device)].moments);
}

/* Make a new record the first free one. 0 or -ENOMEM. */
int mt_heap_new_record(struct mt_heap *heap);

/* Rehash all blocks by a random factor. 0 or -ENOMEM. */
int mt_heap_mix(struct mt_heap *heap);

/* Empty a slot. Later entries that a search would miss move. */
void mt_heap_close_gap(struct mt_heap *heap, uint32_t gap);
static inline void mt_heap_empty_slot(struct mt_heap *heap, uint32_t *slot)
{
    uint32_t at = (uint32_t)(slot - heap->slots);
    if (heap->slots[(at + 1) & heap->mask])
        mt_heap_close_gap(heap, at);
    else
        *slot = 0;
}

/* Give a block without a birth this one. */
static inline void mt_block_give_birth(struct mt_block *block, struct mt_birth *birth,
                                       uint64_t time_ns, uint64_t event)
{
    birth->users++;
    block->birth = birth;
    block->since = (uint32_t)(time_ns - birth->time_ns);
    block->nth = (uint32_t)(event - birth->event);
}

static inline void mt_heap_give_record(struct mt_heap *heap, struct mt_block *block, uint32_t index)
{
    if (block->ended)
        mt_deaths_give(block->birth->deaths, block->ended);
    mt_birth_drop(block->birth);
    block->state = MT_BLOCK_UNUSED;
    block->next = heap->first_free;
    heap->first_free = index;
}

/* List a chunk, by number, that now has records that are not in heap->ordered. */
void mt_heap_list_pending(struct mt_heap *heap, uint32_t number);

static inline void mt_heap_await_order(struct mt_heap *heap, struct mt_heap_chunk *chunk,
                                       uint32_t index)
{
    unsigned word = index % MT_HEAP_CHUNK / 64;
    if (!chunk->words)
        mt_heap_list_pending(heap, index / MT_HEAP_CHUNK);
    chunk->pending[word] |= UINT64_C(1) << index % 64;
    chunk->words |= UINT64_C(1) << word;
}

void mt_heap_remove_from_order(struct mt_heap *heap, uint64_t address);

static inline void mt_heap_leave_order(struct mt_heap *heap, uint64_t address, uint32_t index)
{
    uint64_t *word = &heap->chunks[index / MT_HEAP_CHUNK]->pending[index % MT_HEAP_CHUNK / 64];
    uint64_t bit = UINT64_C(1) << index % 64;
    if (*word & bit)
        *word ^= bit;
    else
        mt_heap_remove_from_order(heap, address);
}

/* Runs this long almost never occur by chance. */
#define MT_HEAP_RUN 512u

/* Make room for one more block: a record and a slot. 0 or -ENOMEM. */
static inline int mt_heap_make_room(struct mt_heap *heap)
{
    return heap->first_free ? 0 : mt_heap_new_record(heap);
}

/* Add the event's block in a free slot, which mt_heap_locate found after mt_heap_make_room. It has
 * no birth yet. NULL: no memory. Inline, like mt_heap_end_slot: most events are one or the
 * other. */
static inline struct mt_block *mt_heap_add_unborn(struct mt_heap *heap, uint32_t *slot,
                                                  const struct mt_event *event)
{
    unsigned device = mt_device_slot(event->device);
    uint32_t index = heap->first_free, hash = mt_heap_hash(heap, event->address);
    struct mt_heap_chunk *chunk = heap->chunks[index / MT_HEAP_CHUNK];
    struct mt_block *block = &chunk->record[index % MT_HEAP_CHUNK];
    heap->first_free = block->next;
    *block = heap->none; /* gcc fills in constant zeros by `rep stos`, which starts slowly */
    block->state = MT_BLOCK_LIVE;
    block->address = event->address;
    block->size = event->size;
    block->stack = event->stack;
    block->device = event->device;
    block->moment = heap->memory[device].moments;
    *slot = (hash & ~heap->mask) | index;
    mt_heap_await_order(heap, chunk, index);
    heap->total[device].bytes += block->size;
    heap->total[device].blocks++;
    uint32_t run = ((uint32_t)(slot - heap->slots) - hash) & heap->mask;
    if (__builtin_expect(run > MT_HEAP_RUN, 0) && mt_heap_mix(heap))
        return NULL;
    return block;
}

/* Add a block where none begins, with a birth of the event's time and thread. NULL: no memory. */
struct mt_block *mt_heap_add(struct mt_heap *heap, const struct mt_event *event);

/* Set the number of the event that made the block. 0 or -ENOMEM. */
int mt_block_set_event(struct mt_block *block, uint64_t event);

/* Note the end of a block, or of the trace. 0 or -ENOMEM. */
static inline int mt_block_end(struct mt_block *block, const struct mt_when *when)
{
    struct mt_deaths *deaths = block->birth->deaths;
    uint32_t before = block->ended, place;
    if (mt_deaths_take(deaths, when, &place))
        return -ENOMEM;
    block->ended = place;
    if (before)
        mt_deaths_give(deaths, before);
    return 0;
}

/* End the block in a slot. */
static inline __attribute__((always_inline)) void mt_heap_end_slot(struct mt_heap *heap,
                                                                   uint32_t *slot)
{
    uint32_t index = *slot & heap->mask;
    struct mt_block *block = mt_heap_record(heap, index);
    unsigned device = mt_device_slot(block->device);
    heap->total[device].bytes -= block->size;
    heap->total[device].blocks--;
    mt_heap_leave_order(heap, block->address, index);
    mt_heap_empty_slot(heap, slot);
    if (!mt_heap_is_remembered(heap, block)) {
        mt_heap_give_record(heap, block, index);
        return;
    }
    block->state = MT_BLOCK_KEPT;
    block->next = heap->memory[device].first_kept;
    heap->memory[device].first_kept = index;
}

/* End a block. */
static inline void mt_heap_end(struct mt_heap *heap, const struct mt_block *block)
{
    mt_heap_end_slot(heap, mt_heap_locate(heap, block->address));
}

#endif
