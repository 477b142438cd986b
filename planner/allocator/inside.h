/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the model's files. A segment is allocated from CUDA, a block is a piece of a segment, a
 * side is the small or the large half of a pool. Functions that run out of memory set `no_memory`.
 */
#ifndef MT_PLANNER_INSIDE_H
#define MT_PLANNER_INSIDE_H

#include "free-set.h"
#include "model.h"

enum mt_piece_state {
    MT_BLOCK_FREE, /* in its side's `free` */
    MT_BLOCK_LIVE,
    MT_BLOCK_WAITING,  /* freed, but waits for streams */
    MT_BLOCK_DEFERRED, /* freed during a capture, which defers the wait */
    MT_BLOCK_UNMAPPED, /* unmapped addresses of an expandable segment: in `unmapped` */
};

/* Another stream that uses a block. */
struct mt_stream_use {
    struct mt_stream_use *next;
    uint16_t stream;
    bool in_capture; /* recorded during a capture */
};

struct mt_alloc_block {
    uint64_t address, size;
    uint64_t requested;
    uint64_t age_base;                     /* the side's `searches` when the block became free */
    struct mt_alloc_block *before, *after; /* neighbours in its segment; NULL: none */
    struct mt_alloc_side *side;
    uint64_t segment; /* start of an expandable segment's addresses; 0: cudaMalloc's */
    struct mt_stream_use *uses;
    uint32_t number; /* the caller's number; unused in the list of free structs */
    uint16_t stream;
    uint8_t state;    /* enum mt_piece_state */
    bool is_complete; /* its wait is complete */
    bool is_held;     /* its allocation has not been fed yet */
    bool is_safe;     /* completed within a capture, whose graph keeps the order */
};

/* The available blocks of one stream. */
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
    int users, segments; /* PyTorch's use_count and cudaMalloc_count */
    unsigned begun;      /* begins without an end */
};

/* A growing array of waiting blocks. */
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
        prefers_oldest; /* depends on the release */
    bool has_limit, no_memory;
    uint64_t limit;               /* from the memory fraction, if has_limit */
    uint64_t total, others, held; /* the card's memory; held: by segments, in whole pages */
    uint64_t in_pool; /* backend:cudaMallocAsync: bytes of live blocks, in units of 512 */
    uint64_t next_address, next_expandable;
    struct mt_allocator_state now, peak;
    struct mt_allocator_oom oom;
    bool had_oom;
    uint64_t fed;
    struct mt_alloc_pool **pool; /* by number; NULL: never used */
    size_t n_pools;
    unsigned begun, capturing; /* begins without an end: all, and captures */
    struct mt_block_list waiting, deferred;
    size_t n_complete;             /* of `waiting` and `deferred` */
    struct mt_alloc_block **block; /* by the caller's number */
    size_t n_blocks;
    struct mt_alloc_slab *slabs;
    struct mt_alloc_block *unused; /* block structs, linked by `after` */
};

/* A search for a block. */
struct mt_wanted {
    uint64_t size, segment; /* rounded; requested from CUDA */
    struct mt_alloc_side *side;
    uint16_t stream;
    bool expandable;
    struct mt_alloc_block *block; /* the result, which is in no set */
};

enum {
    MT_MIN_BLOCK = 512,
    MT_SMALL_SIZE = 1 << 20,
    MT_SMALL_SEGMENT = 2 << 20,
    MT_MIN_LARGE = 10 << 20,
    MT_ROUND_LARGE = 2 << 20,
    MT_PAGE = 2 << 20, /* of the card */
};

/* Create a block. blocks.c: block structs and their sets. */
struct mt_alloc_block *mt_block_new(struct mt_allocator *allocator, struct mt_alloc_side *side,
                                    uint16_t stream, uint64_t address, uint64_t size);
void mt_block_drop(struct mt_allocator *allocator, struct mt_alloc_block *block);
void mt_blocks_destroy(struct mt_allocator *allocator);
/* Return the sets of a stream; NULL: no memory. */
struct mt_alloc_stream *mt_side_stream(struct mt_allocator *allocator, struct mt_alloc_side *side,
                                       uint16_t stream);
/* Insert a block into the free or unmapped set of its stream; remove it. */
void mt_block_put(struct mt_allocator *allocator, struct mt_alloc_block *block);
void mt_block_take(struct mt_alloc_block *block);
/* Merge `other`, a neighbour or NULL, into `block` if both are available. Return the merged size.
 */
uint64_t mt_block_join(struct mt_allocator *allocator, struct mt_alloc_block *block,
                       struct mt_alloc_block *other);
void mt_drop_uses(struct mt_alloc_block *block);
/* Free a live block. */
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
/* Split the block to the wanted size if the rules say so, and make it live. */
struct mt_alloc_block *mt_take_found(struct mt_allocator *allocator, struct mt_wanted *wanted,
                                     uint64_t requested);

/* Return the card's free bytes. card.c */
uint64_t mt_card_free(const struct mt_allocator *allocator);

/* Return the bytes in use beyond the card's size. */
uint64_t mt_card_lacks(const struct mt_allocator *allocator);
/* Record that the request failed. wanted: bytes requested from CUDA. */
void mt_note_oom(struct mt_allocator *allocator, const struct mt_request *request, uint64_t wanted);
/* Assign the caller's number to the block. */
bool mt_set_number(struct mt_allocator *allocator, uint32_t number, struct mt_alloc_block *block);
extern struct mt_alloc_block mt_lost_block; /* the failed request */

/* segments.c */
/* Return whether PyTorch fails without trying or freeing its cache (throw_on_cudamalloc_oom). */
bool mt_is_rejected(const struct mt_allocator *allocator, const struct mt_wanted *wanted);
bool mt_find_new(struct mt_allocator *allocator, struct mt_wanted *wanted);
/* Count a new segment. Return its address. */
uint64_t mt_new_segment(struct mt_allocator *allocator, uint64_t size);
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
/* Free blocks whose waits are complete. */
void mt_process_waits(struct mt_allocator *allocator);
/* Free what is complete even within a capture (graph_capture_record_stream_reuse). */
void mt_process_captured(struct mt_allocator *allocator);
/* At the end of the capture, free what no stream outside it uses. */
void mt_end_capture(struct mt_allocator *allocator, const struct mt_alloc_pool *pool);
/* Wait for all blocks, or only those of `pool` unless it is NULL. */
void mt_end_waits(struct mt_allocator *allocator, const struct mt_alloc_pool *pool);
/* Return whether a capture defers waits and releases. */
static inline bool mt_is_held_back(const struct mt_allocator *allocator)
{
    return allocator->captures_only ? allocator->capturing : allocator->begun;
}

/* Add what the allocator has at its beginning. held.c */
void mt_hold(struct mt_allocator *allocator, const struct mt_held_piece *piece, size_t n);

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
