/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model of PyTorch's CUDA caching allocator on one device: given the requests of a program, the
 * settings, the release and the card, it has the same segments and blocks as PyTorch, to the byte.
 * docs/design/planner.md says what it was compared with, and what it leaves out.
 */
#ifndef MT_PLANNER_MODEL_H
#define MT_PLANNER_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf.h"
#include "requests.h"

struct mt_allocator;

/* Totals in bytes. */
struct mt_allocator_state {
    uint64_t requested;      /* live blocks, as requested */
    uint64_t allocated;      /* live blocks, rounded: torch.cuda.memory_allocated() */
    uint64_t active;         /* plus freed blocks that wait for a stream */
    uint64_t reserved;       /* torch.cuda.memory_reserved() */
    uint64_t inactive_split; /* fragments: free pieces of segments in use, except expandable ones */
    uint64_t segments;       /* cudaMalloc's live ones; expandable segments do not count */
    uint64_t ooms;           /* requests that failed */
    uint64_t retries;        /* of cudaMalloc, after the cache was freed */
};

/* A piece of a segment that an allocator has at its beginning: those of a segment follow each
 * other, by address. The allocation of a block's number, before its free, then changes nothing. */
struct mt_held_piece {
    uint64_t size, requested; /* bytes */
    uint32_t block;           /* its number */
    uint16_t stream, pool;    /* of the segment */
    bool is_first, is_free;   /* in its segment; no block */
};

/* PyTorch creates 128 streams along with the first one, as cudaMallocAsync does at its start; on an
 * H100 they use so many bytes. */
#define MT_STREAMS 128u
#define MT_STREAMS_BYTES (UINT64_C(70) << 20)

/* Create options. */
struct mt_allocator_card {
    uint64_t total;  /* bytes of the card */
    uint64_t others; /* of these not PyTorch's, at the beginning; MT_REQUEST_OTHERS changes it */
    const struct mt_held_piece
        *held; /* from the oldest segment on; not with backend:cudaMallocAsync */
    size_t n_held;
    bool has_streams;         /* `others` include PyTorch's streams */
    const char *const *confs; /* what MT_REQUEST_CONF stands for; they outlive the allocator */
    size_t n_confs;
};

/* Create an allocator. NULL: no memory, or no such settings (async's are fine). Free it by
 * mt_allocator_destroy. The settings are copied. */
struct mt_allocator *mt_allocator_create(const struct mt_alloc_conf *conf,
                                         struct mt_torch_release release,
                                         const struct mt_allocator_card *card);
void mt_allocator_destroy(struct mt_allocator *allocator);

/* Called after each request; `now` is valid during the call. */
typedef void mt_allocator_watch(void *context, size_t index, const struct mt_request *request,
                                const struct mt_allocator_state *now, bool out_of_memory);

/* Feed `count` requests. Return 0, -ENOMEM, or -EINVAL at a request that PyTorch could not have
 * received (such as a free of an unknown block); mt_allocator_fed returns how many were processed.
 * Running out of memory is not an error: the program continues without that block, and the state
 * counts it. */
int mt_allocator_feed(struct mt_allocator *allocator, const struct mt_request *requests,
                      size_t count);
/* Feed requests, with a call after each. */
int mt_allocator_feed_watched(struct mt_allocator *allocator, const struct mt_request *requests,
                              size_t count, mt_allocator_watch *watch, void *context);

/* Return the current state; and the highest value of each member so far. */
const struct mt_allocator_state *mt_allocator_now(const struct mt_allocator *allocator);
const struct mt_allocator_state *mt_allocator_peak(const struct mt_allocator *allocator);
/* Return how many requests were fed. */
uint64_t mt_allocator_fed(const struct mt_allocator *allocator);

/* The first request that ran out of memory. */
struct mt_allocator_oom {
    uint64_t index;     /* its index among all requests */
    uint64_t requested; /* bytes, as requested by the program */
    uint64_t wanted;    /* bytes requested from CUDA */
    uint64_t card_free; /* free bytes on the card, after the cache was emptied */
    uint64_t limit;     /* PyTorch's limit if it was the cause; 0: the card was full */
    struct mt_allocator_state then;
};

/* Return the state when memory first ran out; NULL: it never did. */
const struct mt_allocator_oom *mt_allocator_first_oom(const struct mt_allocator *allocator);

#endif
