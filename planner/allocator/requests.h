/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program's requests to PyTorch's allocator for one device: the input of the model, an array of
 * struct mt_request in the order in which the allocator received them.
 */
#ifndef MT_PLANNER_REQUESTS_H
#define MT_PLANNER_REQUESTS_H

#include <stdint.h>

/* Fields that a kind does not mention are 0. */
enum mt_request_kind {
    /* block, size (requested bytes, not rounded, at least 1), stream, pool: an allocation. */
    MT_REQUEST_ALLOCATE,
    /* block: the owner freed it. Freeing a block whose allocation failed does nothing. */
    MT_REQUEST_FREE,
    /* block, stream: the block is also used on that stream, so its free waits. */
    MT_REQUEST_RECORD_STREAM,
    /*
     * block: a free that waited for streams is complete. As in PyTorch, the allocator processes it
     * at the next allocation. It has no effect if the allocator has already waited for the streams.
     */
    MT_REQUEST_COMPLETE,
    /* pool: torch.cuda.empty_cache(); pool 0: everything, else within a MemPool (since 2.8). */
    MT_REQUEST_EMPTY_CACHE,
    /* size: set_per_process_memory_fraction, as the bits of a double (mt_bits_of_fraction). */
    MT_REQUEST_FRACTION,
    /* pool, size (enum mt_pool_flags): allocations of some stream or thread use this pool from now
       on. The pool is created if necessary. */
    MT_REQUEST_POOL_BEGIN,
    /* pool: end of this use. */
    MT_REQUEST_POOL_END,
    /* pool: a user of the pool (a graph, a MemPool) was destroyed. */
    MT_REQUEST_POOL_RELEASE,
    /* pool, size (enum mt_pool_flags): a torch.cuda.MemPool object, which uses the pool until a
       release. */
    MT_REQUEST_POOL_CREATE,
    /* size: bytes of the card used outside PyTorch from now on (context, NCCL, others). stream:
       nonzero if the program fails when the card has less left. */
    MT_REQUEST_OTHERS,
    /* size: a number of the caller's that the model only passes to results. */
    MT_REQUEST_MARK,
    /* size: index of a text among the card's confs, which the program sets itself. */
    MT_REQUEST_CONF,
    MT_N_REQUEST_KINDS
};

enum mt_pool_flags {
    MT_POOL_CAPTURES = 1, /* a CUDA graph is captured into it */
    MT_POOL_ON_OOM = 2,   /* MemPool(use_on_oom=True), from 2.9 on */
    MT_POOL_NO_SPLIT = 4, /* MemPool(no_split=True), from 2.11 on */
};

/*
 * block: a number chosen by the caller, as small as possible, since the model keeps an array of
 * them. It may be used again after the block's free or, if streams were recorded, its COMPLETE.
 * stream: 0 is the default stream, others are numbered by the caller. pool: 0 is PyTorch's own,
 * private ones are numbered by the caller from 1.
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
