/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allocator's own record of a block (c10's struct Block), found when the allocator reports an
 * allocation or a free: its caller's frame has a pointer to it, since the caller reads the block's
 * device for the report. The word of the frame is learned for each call, by reads that cannot
 * crash; and every record must have the address and size that were reported. Under the allocator's
 * lock: no GIL, no CUDA, no waiting.
 */
#ifndef MT_PRELOAD_BLOCKS_H
#define MT_PRELOAD_BLOCKS_H

#include "preload/loader/find-real.h"
#include "preload/record/recorder.h"
#include "trace-format/likely.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Where the allocator called a hook from. */
struct mt_caller {
    const uint64_t *frame; /* the words of its frame, as its call left them */
    const void *code;      /* the return address */
};

/* For a hook itself: of its caller. */
#define MT_CALLER()                                                                                \
    ((struct mt_caller){(const uint64_t *)__builtin_dwarf_cfa(), __builtin_return_address(0)})

/* A record's words; `size` is at one that differs by release (mt_block_size_word), since the set of
 * streams that use the block precedes it. */
enum { MT_BLOCK_STREAM = 1, MT_BLOCK_USES = 5 };
enum { /* after `size` */
       MT_BLOCK_REQUESTED = 1,
       MT_BLOCK_POOL,
       MT_BLOCK_ADDRESS,
       MT_BLOCK_FLAGS, /* two bytes: in use, mapped */
       MT_BLOCK_PREVIOUS,
       MT_BLOCK_NEXT,
       MT_BLOCK_EVENTS, /* an int: events that it waits for */
       MT_BLOCK_AFTER
};
enum { MT_BLOCK_IN_USE = 0x101, MT_BLOCK_FREE = 0x100 };
enum { MT_BLOCK_LAST_SIZE = 12, MT_BLOCK_WORDS = MT_BLOCK_LAST_SIZE + MT_BLOCK_AFTER };

/* The calls that report an allocation and a free, once a word of their frames is known to point to
 * the record. */
struct mt_block_site {
    const void *_Atomic code; /* NULL: unknown so far */
    _Atomic unsigned word;
};
extern struct mt_block_site mt_block_sites[2];
extern _Atomic unsigned mt_block_size_word; /* 0: not known yet */

/* Areas of 16 pages that are readable, by their number. Records are in few areas, but two that
 * share a place here cost a system call each time; a heap of 512 MiB has no such two. */
#define MT_BLOCK_AREAS 8192u
#define MT_BLOCK_AREA 65536u
extern _Atomic uint64_t mt_block_areas[MT_BLOCK_AREAS];

static inline _Atomic uint64_t *mt_block_area_place(uint64_t area)
{
    return &mt_block_areas[area % MT_BLOCK_AREAS];
}

/* Return the record of the block that the caller reports, or NULL if it is not known there, or is
 * not where most records are. Calls nothing, so that its callers save no registers. */
MT_UNSANITIZED static inline const uint64_t *mt_block_known(bool is_free, struct mt_caller caller)
{
    const struct mt_block_site *site = &mt_block_sites[is_free];
    if (MT_UNLIKELY(atomic_load_explicit(&site->code, memory_order_acquire) != caller.code))
        return NULL;
    uint64_t at = caller.frame[atomic_load_explicit(&site->word, memory_order_relaxed)];
    uint64_t area = at / MT_BLOCK_AREA;
    if (MT_UNLIKELY(at % 8 || at % MT_BLOCK_AREA > MT_BLOCK_AREA - 8 * MT_BLOCK_WORDS ||
                    atomic_load_explicit(mt_block_area_place(area), memory_order_relaxed) != area))
        return NULL;
    return (const uint64_t *)(uintptr_t)at;
}

/* Return the record, wherever it is. */
const uint64_t *mt_block_find_anywhere(bool is_free, struct mt_caller caller);

/* Find the record by reads that cannot crash, and learn from it. Return its address and a copy of
 * it, or 0 if it is not found. */
uint64_t mt_block_find(bool is_free, struct mt_caller caller, uint64_t address, uint64_t size,
                       uint64_t record[MT_BLOCK_WORDS]);

/* Return whether a record, whose size is at this word, is of a block that was just handed out. */
MT_UNSANITIZED static inline bool mt_block_is_handed_out(const uint64_t *record, unsigned word,
                                                         uint64_t address, uint64_t bytes)
{
    const uint64_t *size = record + word;
    return size[0] == bytes && size[MT_BLOCK_ADDRESS] == address &&
           size[MT_BLOCK_REQUESTED] - 1 < bytes &&
           (uint16_t)size[MT_BLOCK_FLAGS] == MT_BLOCK_IN_USE;
}

/* The same for a freed block: its neighbours may have been merged into it. */
#define MT_BLOCK_MOST_EVENTS 65536u /* more are not events */
MT_UNSANITIZED static inline bool mt_block_is_freed(const uint64_t *record, unsigned word,
                                                    uint64_t address, uint64_t bytes)
{
    const uint64_t *size = record + word;
    uint64_t before = address - size[MT_BLOCK_ADDRESS];
    return before <= size[0] - bytes && size[0] >= bytes && size[MT_BLOCK_REQUESTED] - 1 < bytes &&
           (uint16_t)size[MT_BLOCK_FLAGS] == MT_BLOCK_FREE &&
           (unsigned)size[MT_BLOCK_EVENTS] <= MT_BLOCK_MOST_EVENTS;
}

/* Guess at which word, behind `after`, the record of a freed block has its size, and copy the
 * record; 0: none, or no further word. By reads that cannot crash. */
unsigned mt_block_guess_freed(struct mt_caller caller, uint64_t address, uint64_t size,
                              unsigned after, uint64_t record[MT_BLOCK_WORDS]);

#define MT_BLOCKS_AT_ONCE 5u

/* Note that n waiting blocks, of these addresses and records, no longer wait; n is at most
 * MT_BLOCKS_AT_ONCE. A record may be freed. */
void mt_blocks_have_waited(const uint64_t *record, const uint64_t *address, bool *has, unsigned n);

/* Return the address of the private pool that contains this pool of blocks, or 0. */
uint64_t mt_block_private_pool(uint64_t pool);

/* Return whether any record was found. */
bool mt_blocks_are_found(void);

/* Reset in a forked child. */
void mt_blocks_reset(void);

/*
 * The requests to PyTorch's allocator, for a replay: the requested size, the stream, the private
 * pool, and frees that wait for other streams. Recorded just before the alloc or free that they
 * belong to. In a hook, under the allocator's lock.
 */

void mt_request_alloc(struct mt_thread *self, int device, uint64_t address, uint64_t size,
                      struct mt_caller caller);
void mt_request_free(struct mt_thread *self, int device, uint64_t address, uint64_t size,
                     struct mt_caller caller);

/* Record the stream and the pool of the thread's next alloc where they differ from the last one's.
 * blocks: the pool's blocks; 0: shared ones. */
void mt_request_origin(struct mt_thread *self, int device, uint64_t stream, uint64_t blocks);

/* Reset in a forked child. */
void mt_requests_reset(void);

/* Return for the trace, as text, whether requests could be recorded. */
const char *mt_requests_status(char *text, size_t size);

#endif
