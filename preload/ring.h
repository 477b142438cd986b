/* SPDX-License-Identifier: Apache-2.0 */
/* Rings (trace-format/tail.h) as the putting thread and the writer see them. */
#ifndef MT_PRELOAD_RING_H
#define MT_PRELOAD_RING_H

#include "trace-format/tail.h"

#define MT_RING_WAKE (MT_RING_WORDS / 2) /* words that are worth the writer's while */

static inline uint64_t mt_ring_used(struct mt_ring *ring)
{
    return atomic_load_explicit(&ring->put, memory_order_relaxed) -
           atomic_load_explicit(&ring->taken, memory_order_acquire);
}

/* Whether there may be no room for an event and, before it, for what was lost. */
static inline int mt_ring_is_full(struct mt_ring *ring)
{
    return mt_ring_used(ring) > MT_RING_WORDS - 16;
}

#endif
