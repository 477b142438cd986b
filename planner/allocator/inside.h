/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the model share. The words: a segment is what CUDA gave, a block is a piece of
 * one, a side is the small or the large half of a pool. Functions that need memory set `no_memory`.
 */
#ifndef MT_PLANNER_INSIDE_H
#define MT_PLANNER_INSIDE_H

#include "free-set.h"
#include "model.h"

enum mt_piece_state {
    MT_BLOCK_FREE, /* in its side's `free` */
    MT_BLOCK_LIVE,
    MT_BLOCK_WAITING,  /* freed; waits for streams */
    MT_BLOCK_DEFERRED, /* freed during a capture, which holds the wait back */
    MT_BLOCK_UNMAPPED, /* addresses of an expandable segment without memory: in `unmapped` */
};

/* Another stream that uses a block. */
struct mt_stream_use {
    struct mt_stream_use *next;
    uint16_t stream;
    bool in_capture; /* recorded while a capture was under way */
};

struct mt_alloc_block {
    uint64_t address, size;
    uint64_t requested;
    uint64_t age_base;                     /* the side's `searches` when the block became free */
    struct mt_alloc_block *before, *after; /* in its segment; a whole segment has neither */
    struct mt_alloc_side *side;
    uint64_t segment; /* where an expandable segment's addresses begin; 0: it is cudaMalloc's */
    struct mt_stream_use *uses;
    uint32_t number; /* the caller's; in the list of free block structs: none */
    uint16_t stream;
    uint8_t state;    /* enum mt_piece_state */
    bool is_complete; /* what it waits for is done */
    bool is_safe;     /* that was said within a capture: its graph keeps the order */
};

/* The blocks of one stream that can be had. */
struct mt_alloc_stream {
    struct mt_free_set free, unmapped;
};

struct mt_alloc_side {
    struct mt_alloc_pool *pool;
    bool is_small;
    uint64_t searches;
    struct mt_alloc_stream *stream; /* by number */
    unsigned n_streams;
};

struct mt_alloc_pool {
    struct mt_alloc_side small, large;
    uint16_t number; /* 0: PyTorch's own */
    uint16_t flags;  /* enum mt_pool_flags, as created or begun */
    bool is_there, is_freeable, captures;
    int users, segments; /* as PyTorch counts: use_count, cudaMalloc_count */
    unsigned begun;      /* begins without their ends */
};

/* Blocks in an array that grows: those that wait. */
struct mt_block_list {
    struct mt_alloc_block **block;
    size_t count, room;
};

struct mt_allocator {
    const char *const *confs; /* of MT_REQUEST_CONF */
    size_t n_confs;
    struct mt_alloc_conf conf;
    struct mt_torch_release release;
    bool captures_only, falls_back_early, keeps_odd, expands_private,
        prefers_oldest; /* the release's */
    bool has_limit, no_memory;
    uint64_t limit;               /* of the memory fraction, if has_limit */
    uint64_t total, others, held; /* of the card; held: by segments, in whole pages */
    uint64_t in_pool; /* backend:cudaMallocAsync: bytes of live blocks, whole units of 512 each */
    uint64_t next_address, next_expandable;
    struct mt_allocator_state now, peak;
    struct mt_allocator_oom oom;
    bool had_oom;
    uint64_t fed;
    struct mt_alloc_pool **pool; /* by number; NULL: never used */
    size_t n_pools;
    unsigned begun, capturing; /* begins without their ends: all, and of captures */
    struct mt_block_list waiting, deferred;
    size_t n_complete;             /* of `waiting` and `deferred` */
    struct mt_alloc_block **block; /* by the caller's number */
    size_t n_blocks;
    struct mt_alloc_slab *slabs;
    struct mt_alloc_block *unused; /* block structs, linked by `after` */
};

/* What is looked for. */
struct mt_wanted {
    uint64_t size, segment; /* rounded; what CUDA is asked for */
    struct mt_alloc_side *side;
    uint16_t stream;
    bool expandable;
    struct mt_alloc_block *block; /* what was found; it is in no set */
};

enum {
    MT_MIN_BLOCK = 512,
    MT_SMALL_SIZE = 1 << 20,
    MT_SMALL_SEGMENT = 2 << 20,
    MT_MIN_LARGE = 10 << 20,
    MT_ROUND_LARGE = 2 << 20,
    MT_PAGE = 2 << 20, /* of the card */
};

/* Make a block. blocks.c: block structs, and the sets that they are in. */
struct mt_alloc_block *mt_block_new(struct mt_allocator *allocator, struct mt_alloc_side *side,
                                    uint16_t stream, uint64_t address, uint64_t size);
void mt_block_drop(struct mt_allocator *allocator, struct mt_alloc_block *block);
void mt_blocks_destroy(struct mt_allocator *allocator);
/* Return the sets of a stream; NULL: no memory. */
struct mt_alloc_stream *mt_side_stream(struct mt_allocator *allocator, struct mt_alloc_side *side,
                                       uint16_t stream);
/* Put a block into the free or the unmapped ones of its stream; then, take it out of them. */
void mt_block_put(struct mt_allocator *allocator, struct mt_alloc_block *block);
void mt_block_take(struct mt_alloc_block *block);
/* Join `other`, a neighbour or NULL, into `block` where both can be had; the size that was joined.
 */
uint64_t mt_block_join(struct mt_allocator *allocator, struct mt_alloc_block *block,
                       struct mt_alloc_block *other);
void mt_drop_uses(struct mt_alloc_block *block);
/* Free a block that is live. */
void mt_block_free(struct mt_allocator *allocator, struct mt_alloc_block *block);
bool mt_block_list_add(struct mt_allocator *allocator, struct mt_block_list *list,
                       struct mt_alloc_block *block);
void mt_block_list_clear(struct mt_block_list *list);
static inline bool mt_block_is_split(const struct mt_alloc_block *block)
{
    return block->before || block->after;
}

/* Round a size as PyTorch does. find.c */
uint64_t mt_round_size(const struct mt_allocator *allocator, uint64_t size);
uint64_t mt_segment_size(const struct mt_allocator *allocator, uint64_t size);
bool mt_find_free(struct mt_allocator *allocator, struct mt_wanted *wanted);
/* Cut the block to the wanted size where the rules say so, and makes it live. */
struct mt_alloc_block *mt_take_found(struct mt_allocator *allocator, struct mt_wanted *wanted,
                                     uint64_t requested);

/* Return the card's free bytes. card.c */
uint64_t mt_card_free(const struct mt_allocator *allocator);

/* Return how many bytes more than the card has are in use. */
uint64_t mt_card_lacks(const struct mt_allocator *allocator);
/* Note that there was no memory for the request; `wanted`: bytes that CUDA was asked for. */
void mt_note_oom(struct mt_allocator *allocator, const struct mt_request *request, uint64_t wanted);
/* Let the caller's number stand for the block. */
bool mt_set_number(struct mt_allocator *allocator, uint32_t number, struct mt_alloc_block *block);
extern struct mt_alloc_block mt_lost_block; /* for which there was no memory */

/* segments.c */
/* Return whether PyTorch does not even try, and frees no cache (throw_on_cudamalloc_oom). */
bool mt_is_rejected(const struct mt_allocator *allocator, const struct mt_wanted *wanted);
bool mt_find_new(struct mt_allocator *allocator, struct mt_wanted *wanted);
void mt_collect_garbage(struct mt_allocator *allocator);
bool mt_release_oversize(struct mt_allocator *allocator, const struct mt_wanted *wanted);
void mt_release_cached(struct mt_allocator *allocator, unsigned pool);

/* Find an expandable block. expandable.c */
bool mt_find_expandable(struct mt_allocator *allocator, struct mt_wanted *wanted);
void mt_unmap_free(struct mt_allocator *allocator, struct mt_alloc_block *block);

/* Record a use on another stream. waits.c: frees that wait for streams. */
void mt_record_use(struct mt_allocator *allocator, struct mt_alloc_block *block, uint16_t stream);
void mt_wait_for_streams(struct mt_allocator *allocator, struct mt_alloc_block *block);
/* Complete the caller's free. */
void mt_wait_complete(struct mt_allocator *allocator, struct mt_alloc_block *block);
/* Free the blocks whose waits are complete. */
void mt_process_waits(struct mt_allocator *allocator);
/* Free what is complete also within a capture (graph_capture_record_stream_reuse). */
void mt_process_captured(struct mt_allocator *allocator);
/* Free, with the capture's end, what no stream outside of it uses. */
void mt_end_capture(struct mt_allocator *allocator, const struct mt_alloc_pool *pool);
/* Wait for all; pool: NULL, or the blocks of that one only. */
void mt_end_waits(struct mt_allocator *allocator, const struct mt_alloc_pool *pool);
/* Return whether a capture holds waits and releases back. */
static inline bool mt_is_held_back(const struct mt_allocator *allocator)
{
    return allocator->captures_only ? allocator->capturing : allocator->begun;
}

/* Return a pool. pools.c */
struct mt_alloc_pool *mt_pool(struct mt_allocator *allocator, unsigned number);
int mt_pool_request(struct mt_allocator *allocator, const struct mt_request *request);
void mt_pools_destroy(struct mt_allocator *allocator);
void mt_pool_remove(struct mt_alloc_pool *pool);

/* Allocate as cudaMallocAsync does: the same fields, without blocks of segments. async.c */
bool mt_async_allocate(struct mt_allocator *allocator, const struct mt_request *request);
void mt_async_free(struct mt_allocator *allocator, struct mt_alloc_block *block);
void mt_async_trim(struct mt_allocator *allocator);

#endif
