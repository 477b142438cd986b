/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's events on their way to the writer: one thread puts, the writer takes, no lock. An
 * event is a head word (kind, device, stack), its time, and its kind's arguments.
 */
#ifndef MT_PRELOAD_RING_H
#define MT_PRELOAD_RING_H

#include "trace-format/model.h"

#include <stdatomic.h>

#define MT_RING_WORDS (1u << 17)         /* of 8 bytes: 1 MiB */
#define MT_RING_WAKE (MT_RING_WORDS / 2) /* words that are worth the writer's while */

struct mt_ring {
    /* Words ever put and taken; index modulo MT_RING_WORDS. */
    _Atomic uint64_t put;
    /* Not 0 while the owner is between reading the clock and publishing (writer.c, "horizon"). */
    _Atomic uint32_t putting;
    _Alignas(64) _Atomic uint64_t taken;
    _Alignas(64) uint64_t word[MT_RING_WORDS];
};

static inline unsigned mt_ring_event_words(unsigned kind)
{
    return 2 + mt_kinds[kind].n_fields;
}

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

static inline uint64_t mt_ring_head(unsigned kind, int device, uint32_t stack)
{
    return (uint64_t)stack << 32 | (uint64_t)(uint16_t)device << 16 | kind;
}

/* Reads the event at word `at`, which was put: its size in words. */
static inline unsigned mt_ring_read(const struct mt_ring *ring, uint64_t at, struct mt_event *event)
{
    uint64_t head = ring->word[at % MT_RING_WORDS];
    event->kind = (uint16_t)head;
    event->device = (int16_t)(head >> 16);
    event->stack = (uint32_t)(head >> 32);
    event->time_ns = ring->word[(at + 1) % MT_RING_WORDS];
    unsigned n = mt_kinds[event->kind].n_fields;
    for (unsigned i = 0; i < n; i++)
        event->arg[i] = ring->word[(at + 2 + i) % MT_RING_WORDS];
    for (unsigned i = n; i < MT_EVENT_ARGS; i++)
        event->arg[i] = 0;
    return 2 + n;
}

#endif
