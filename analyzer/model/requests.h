/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's state of requests to PyTorch's allocator, from event kinds 37 to 39: the stream and
 * private pool of its allocations on each device, how much less than its next block it requested,
 * and whether its next free waits for other streams.
 */
#ifndef MT_MODEL_REQUESTS_H
#define MT_MODEL_REQUESTS_H

#include "analyzer/support/grow.h"
#include "heap.h"

#include <stdbool.h>

struct mt_request_stream {
    uint64_t stream, pool; /* handles; 0: the default stream, no private pool */
    unsigned slot;         /* mt_device_slot */
    uint16_t number;       /* number in mt_stream_pools (stream-pools.h); 0: not looked up yet */
};

struct mt_thread_requests {
    struct mt_request_stream *of; /* one per device; usually one */
    size_t n, capacity;
    uint64_t unused; /* bytes of the next allocation's block */
    bool waits;      /* the next free waits */
};

static inline struct mt_request_stream *mt_requests_find(const struct mt_thread_requests *requests,
                                                         unsigned slot)
{
    for (size_t i = 0; i < requests->n; i++)
        if (requests->of[i].slot == slot)
            return &requests->of[i];
    return NULL;
}

static inline int mt_requests_note_stream(struct mt_thread_requests *requests,
                                          const struct mt_event *event)
{
    unsigned slot = mt_device_slot(event->device);
    struct mt_request_stream *of = mt_requests_find(requests, slot);
    if (!of && MT_GROW(requests->of, requests->capacity, requests->n))
        return -ENOMEM;
    if (!of)
        of = &requests->of[requests->n++];
    *of = (struct mt_request_stream){event->REQUEST_STREAM.stream, event->REQUEST_STREAM.pool, slot,
                                     0};
    return 0;
}

/* Handle an event of these kinds. Return 0 or -ENOMEM. */
static inline int mt_requests_note(struct mt_thread_requests *requests,
                                   const struct mt_event *event)
{
    switch (event->kind) {
    case MT_REQUEST:
        requests->unused = event->REQUEST.unused;
        return 0;
    case MT_REQUEST_STREAM:
        return mt_requests_note_stream(requests, event);
    case MT_FREE_WAITS:
        requests->waits = true;
        return 0;
    }
    return 0;
}

/* Return the stream and pool of the thread's allocations on a device; NULL: unknown. */
static inline struct mt_request_stream *mt_requests_of(const struct mt_thread_requests *requests,
                                                       unsigned slot)
{
    struct mt_request_stream *of = mt_requests_find(requests, slot);
    return of && of->stream != MT_STREAM_UNKNOWN ? of : NULL;
}

/* Return how much less than its block the current allocation requested, and reset it. */
static inline uint64_t mt_requests_take_unused(struct mt_thread_requests *requests)
{
    uint64_t unused = requests->unused;
    requests->unused = 0;
    return unused;
}

/* Return whether the current free waits, and reset it. */
static inline bool mt_requests_take_wait(struct mt_thread_requests *requests)
{
    bool waits = requests->waits;
    requests->waits = false;
    return waits;
}

#endif
