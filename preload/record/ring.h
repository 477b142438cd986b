/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rings, between the thread that puts and the writer. The shared part is in the tail's file
 * (trace-format/tail.h), which other processes can write to: this process writes it for readers and
 * never relies on what it reads there. What it relies on is in its own memory.
 */
#ifndef MT_PRELOAD_RING_H
#define MT_PRELOAD_RING_H

#include <stdbool.h>

#include "clock.h"
#include "trace-format/likely.h"
#include "trace-format/tail.h"

/* The most words of an event; how far ahead of it to prefetch, because the writer used that memory
 * last. */
#define MT_RING_EVENT (2 + MT_EVENT_ARGS)
#define MT_RING_AHEAD 32

struct mt_own_ring {
    struct mt_ring shared;  /* first, because it is mapped */
    _Atomic uint64_t put;   /* words ever put; inverted while the owner is between reading the clock
                               and publishing the event (order.c, "horizon") */
    _Atomic uint64_t limit; /* below it, put has room for an event in one piece */
    /* Nonzero while the owner is in a hook: its stack pointer there. A hook called from within is
     * not recorded. */
    _Atomic uintptr_t inside;
    _Atomic uint64_t lost;        /* events that no LOST event counts yet */
    _Atomic uint32_t awaits_room; /* a futex: the owner sleeps until there is room (wake.h) */
    bool has_waited;              /* for room, until the timeout */
    unsigned refused;             /* events refused since it was entered */
    /* The writer's line. */
    MT_BEGIN_LINE _Atomic uint64_t read_to; /* words read */
    bool is_slotless;     /* the ring has no slot in the tail, which counts its events */
    _Atomic bool is_left; /* its thread uses another one: the event being put never comes */
    bool is_damaged;      /* another process has written to the words */
};
MT_ASSERT_APART(struct mt_own_ring, refused, read_to);

static inline bool mt_ring_is_putting(struct mt_own_ring *ring)
{
    return (int64_t)atomic_load_explicit(&ring->put, memory_order_acquire) < 0;
}

/* Return the words ever put, without an event that is being put. */
static inline uint64_t mt_ring_put(struct mt_own_ring *ring)
{
    uint64_t put = atomic_load_explicit(&ring->put, memory_order_acquire);
    return (int64_t)put < 0 ? ~put : put;
}

static inline uint64_t mt_ring_used(struct mt_own_ring *ring)
{
    return mt_ring_put(ring) - atomic_load_explicit(&ring->read_to, memory_order_acquire);
}

/* Return whether there may be no room for an event and a LOST event before it. */
static inline bool mt_ring_is_full(struct mt_own_ring *ring)
{
    return mt_ring_used(ring) > MT_RING_WORDS - 16;
}

#define MT_RING_HALF (MT_RING_WORDS / 2)

/* The writer is woken after this many words of a ring. A power of two. */
extern _Atomic uint32_t mt_ring_piece;

/* Return whether an event would wrap around the ring's end, or would complete another piece of the
 * ring, after which the writer is woken. */
static inline bool mt_ring_is_near_end(uint64_t at)
{
    uint64_t piece = atomic_load_explicit(&mt_ring_piece, memory_order_relaxed);
    return at % piece > piece - MT_RING_EVENT;
}

/* Set the limit, compared with `put` on the fast path, below which none of these hold: an event is
 * near the end, the ring is full, events were lost, or events must be counted. For the owner and
 * for a signal handler within it. */
static inline void mt_ring_set_limit(struct mt_own_ring *ring)
{
    uint64_t at = mt_ring_put(ring);
    uint64_t piece = atomic_load_explicit(&mt_ring_piece, memory_order_relaxed);
    uint64_t end = at / piece * piece + piece - MT_RING_EVENT + 1;
    uint64_t room = at - mt_ring_used(ring) + MT_RING_WORDS - 16 + 1;
    atomic_store_explicit(&ring->limit, end < room ? end : room, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&ring->lost, memory_order_relaxed) || ring->is_slotless)
        atomic_store_explicit(&ring->limit, 0, memory_order_relaxed);
}

/* Publish for readers of the tail how many events no LOST event counts. */
static inline void mt_ring_share_losses(struct mt_own_ring *ring)
{
    atomic_store_explicit(&ring->shared.lost,
                          atomic_load_explicit(&ring->lost, memory_order_relaxed),
                          memory_order_release);
}

/* Drop events; the next event counts them. For the owner and a signal handler within it. */
static inline void mt_ring_lose(struct mt_own_ring *ring, uint64_t events)
{
    atomic_fetch_add_explicit(&ring->lost, events, memory_order_relaxed);
    mt_ring_share_losses(ring);
    atomic_store_explicit(&ring->limit, 0, memory_order_relaxed);
}

/* Call around reading the clock and putting words; the writer has the other half of the fence
 * (order.c). at is the number of words ever put. */
static inline void mt_ring_begin(struct mt_own_ring *ring, uint64_t at)
{
    atomic_store_explicit(&ring->put, ~at, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    mt_clock_fence();
}

static inline void mt_ring_end(struct mt_own_ring *ring, uint64_t put)
{
    atomic_store_explicit(&ring->shared.put, put, memory_order_release);
    atomic_store_explicit(&ring->put, put, memory_order_release);
}

#endif
