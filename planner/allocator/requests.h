/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program asks of PyTorch's allocator for one device: the input of the model. A program's
 * requests are an array of struct mt_request, in the order in which the allocator received them.
 */
#ifndef MT_PLANNER_REQUESTS_H
#define MT_PLANNER_REQUESTS_H

#include <stdint.h>

/* Fields that a kind does not name are 0. */
enum mt_request_kind {
    /* block, size (what was requested, in bytes, not rounded; at least 1), stream, pool: an
       allocation. */
    MT_REQUEST_ALLOCATE,
    /* block: its owner has freed it. A block that ran out of memory may be freed; that does
       nothing. */
    MT_REQUEST_FREE,
    /* block, stream: the block is used on that stream too, so that a free of it waits. */
    MT_REQUEST_RECORD_STREAM,
    /*
     * block: a free that waited for streams is complete. The allocator sees it with the next
     * allocation, as PyTorch does. Where it has waited for the streams before, this does nothing.
     */
    MT_REQUEST_COMPLETE,
    /* pool: torch.cuda.empty_cache(). pool: 0 all, or empty_cache within a MemPool (from 2.8 on).
     */
    MT_REQUEST_EMPTY_CACHE,
    /* size: set_per_process_memory_fraction, as the bits of a double (mt_bits_of_fraction). */
    MT_REQUEST_FRACTION,
    /* pool, size (enum mt_pool_flags): allocations of some stream or thread go to the pool from
     * here on; it is made if it is not there. */
    MT_REQUEST_POOL_BEGIN,
    /* pool: they no longer do. */
    MT_REQUEST_POOL_END,
    /* pool: one user of the pool (a graph, a MemPool) is gone. */
    MT_REQUEST_POOL_RELEASE,
    /* pool, size (enum mt_pool_flags): a torch.cuda.MemPool object; it uses the pool until a
       release. */
    MT_REQUEST_POOL_CREATE,
    /* size: bytes of the card that are not PyTorch's cache, from here on (context, NCCL, others).
     * stream: not 0 where the program dies if the card has not as many left. */
    MT_REQUEST_OTHERS,
    /* size: the caller's number; the model passes it on to results and does nothing. */
    MT_REQUEST_MARK,
    /* size: the index of a text among the card's confs: the program makes these settings itself. */
    MT_REQUEST_CONF,
    MT_N_REQUEST_KINDS
};

enum mt_pool_flags {
    MT_POOL_CAPTURES = 1, /* a CUDA graph is captured into it */
    MT_POOL_ON_OOM = 2,   /* MemPool(use_on_oom=True), from 2.9 on */
    MT_POOL_NO_SPLIT = 4, /* MemPool(no_split=True), from 2.11 on */
};

/*
 * block: a number of the caller's, as small as it can be, since the model keeps an array of them.
 * The number may be used again after the block's free, or if streams were recorded, after its
 * COMPLETE. stream: 0 is the default stream; others as the caller numbers them. pool: 0 is
 * PyTorch's own; private ones as the caller numbers them, from 1.
 */
struct mt_request {
    uint64_t size;
    uint32_t block;
    uint16_t stream;
    uint16_t pool : 12;
    uint16_t kind : 4; /* enum mt_request_kind */
};

static inline uint64_t mt_bits_of_fraction(double fraction)
{
    union {
        double number;
        uint64_t bits;
    } both = {fraction};

    return both.bits;
}

#endif
