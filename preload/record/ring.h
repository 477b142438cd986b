/* SPDX-License-Identifier: Apache-2.0 */
/* Rings (trace-format/tail.h) for the putting thread and the writer. */
#ifndef MT_PRELOAD_RING_H
#define MT_PRELOAD_RING_H

#include <stdbool.h>

#include "clock.h"
#include "trace-format/tail.h"

/* The most words of an event; how far ahead of it to prefetch, because the writer used that memory
 * last. */
#define MT_RING_EVENT (2 + MT_EVENT_ARGS)
#define MT_RING_AHEAD 32

static inline uint64_t mt_ring_used(struct mt_ring *ring)
{
    return atomic_load_explicit(&ring->put, memory_order_relaxed) -
           atomic_load_explicit(&ring->taken, memory_order_acquire);
}

/* Return whether there may be no room for an event and a LOST event before it. */
static inline bool mt_ring_is_full(struct mt_ring *ring)
{
    return mt_ring_used(ring) > MT_RING_WORDS - 16;
}

#define MT_RING_HALF (MT_RING_WORDS / 2)

/* Return whether an event would wrap around the ring's end, or fills another half of the ring, after
 * which the writer is woken. */
static inline bool mt_ring_is_near_end(uint64_t at)
{
    return at % MT_RING_HALF > MT_RING_HALF - MT_RING_EVENT;
}

/* Set the limit, one word beside `put`, up to which none of these holds: an event is near the end,
 * the ring is full, events were lost, or events must be counted. For the owner, and a signal
 * handler within it. */
static inline void mt_ring_set_limit(struct mt_ring *ring)
{
    uint64_t at = atomic_load_explicit(&ring->put, memory_order_relaxed);
    uint64_t half = at / MT_RING_HALF * MT_RING_HALF + MT_RING_HALF - MT_RING_EVENT + 1;
    uint64_t room = at - mt_ring_used(ring) + MT_RING_WORDS - 16 + 1;
    atomic_store_explicit(&ring->limit, half < room ? half : room, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&ring->lost, memory_order_relaxed) || ring->is_apart)
        atomic_store_explicit(&ring->limit, 0, memory_order_relaxed);
}

/* Drop events; the next event counts them. For the owner and a signal handler within it. */
static inline void mt_ring_lose(struct mt_ring *ring, uint64_t events)
{
    atomic_fetch_add_explicit(&ring->lost, events, memory_order_relaxed);
    atomic_store_explicit(&ring->limit, 0, memory_order_relaxed);
}

/* Call around reading the clock and putting words; the writer has the other half of the fence
 * (order.c). */
static inline void mt_ring_begin(struct mt_ring *ring)
{
    atomic_store_explicit(&ring->putting, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    mt_clock_fence();
}

static inline void mt_ring_end(struct mt_ring *ring, uint64_t put)
{
    atomic_store_explicit(&ring->put, put, memory_order_release);
    atomic_store_explicit(&ring->putting, 0, memory_order_release);
}

#endif
