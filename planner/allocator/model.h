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

/* What is allocated where. Sizes are bytes. */
struct mt_allocator_state {
    uint64_t requested;      /* of live blocks, as the program asked */
    uint64_t allocated;      /* of live blocks, rounded: torch.cuda.memory_allocated() */
    uint64_t active;         /* and of those that are freed but wait for a stream */
    uint64_t reserved;       /* torch.cuda.memory_reserved() */
    uint64_t inactive_split; /* free pieces of segments that hold something: fragments; not of
                                expandable ones */
    uint64_t segments;       /* cudaMalloc's live ones; expandable segments do not count */
    uint64_t ooms;           /* requests that failed */
    uint64_t retries;        /* of cudaMalloc, after the cache was freed */
};

/* Create options. */
struct mt_allocator_card {
    uint64_t total;  /* bytes of the card */
    uint64_t others; /* of these not PyTorch's, at the beginning; MT_REQUEST_OTHERS changes it */
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

/* Feed `count` requests. Return 0, or -EINVAL at a request that PyTorch could not have received (a
 * free of a block that is not there) and -ENOMEM; mt_allocator_fed says how many were taken. Out of
 * memory is no error: the program goes on without that block, and the state counts it. */
int mt_allocator_feed(struct mt_allocator *allocator, const struct mt_request *requests,
                      size_t count);
/* Feed requests, with a call after each. */
int mt_allocator_feed_watched(struct mt_allocator *allocator, const struct mt_request *requests,
                              size_t count, mt_allocator_watch *watch, void *context);

/* Return the state now; and each number's highest value so far (inactive_split: at any moment). */
const struct mt_allocator_state *mt_allocator_now(const struct mt_allocator *allocator);
const struct mt_allocator_state *mt_allocator_peak(const struct mt_allocator *allocator);
/* Return how many requests were fed. */
uint64_t mt_allocator_fed(const struct mt_allocator *allocator);

/* The first request that ran out of memory. */
struct mt_allocator_oom {
    uint64_t index;     /* of the request, among all that were fed */
    uint64_t requested; /* bytes, as the program asked */
    uint64_t wanted;    /* bytes that PyTorch asked CUDA for */
    uint64_t card_free; /* bytes of the card that were free then, after the cache was freed */
    uint64_t limit; /* the most that PyTorch might reserve, if it was that; 0: it was the card */
    struct mt_allocator_state then;
};

/* Return the state when memory ran out first; NULL: it never did. */
const struct mt_allocator_oom *mt_allocator_first_oom(const struct mt_allocator *allocator);

#endif
