/* SPDX-License-Identifier: Apache-2.0 */
#include "order.h"
#include "device-watch.h"
#include "preload/record/cache.h"
#include "preload/record/tail.h"
#include "preload/record/wake.h"

#include <errno.h>
#include <limits.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PUTTING_WAIT_NS 100000000
#define MOST_BACK_NS 1000000000u /* by which a corrected clock may be off */

/* Find the horizon: a moment before which all events are visible. A thread notes that it is putting
 * (a plain store), reads the clock, and publishes. We read the clock, make every thread of the
 * process execute a full barrier, and check: a thread that is not putting has then published
 * everything that it began before the barrier, and what it begins later is younger than the
 * horizon. */
static void barrier_in_all_threads(void)
{
    static bool is_registered;
    if (!is_registered) {
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
        is_registered = true;
    }
    /* If the kernel refuses, store buffers still drain long before the next check. */
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0))
        mt_clock_pause(1000);
}

/* Return whether everything begun before the barrier is published. If not, the thread was preempted
 * in the middle, or is stopped. */
static bool is_published(struct mt_own_ring *ring, bool is_hasty)
{
    if (!mt_ring_is_putting(ring) || atomic_load(&ring->is_left))
        return true;
    if (is_hasty)
        return false;
    for (uint64_t until = mt_now() + PUTTING_WAIT_NS; mt_now() < until; sched_yield())
        if (!mt_ring_is_putting(ring))
            return true;
    return false;
}

static void load_sample(struct mt_order *order)
{
    order->has_sample = mt_watch_next(&order->sample);
}

static int make_room(struct mt_order *order, size_t n)
{
    struct mt_source *source = realloc(order->source, n * sizeof *source);
    if (source)
        order->source = source;
    struct mt_thread **thread = realloc(order->thread, n * sizeof *thread);
    if (thread)
        order->thread = thread;
    struct mt_next *next = realloc(order->next, n * sizeof *next);
    if (next)
        order->next = next;
    if (!source || !thread || !next)
        return -ENOMEM;
    order->capacity = n;
    return 0;
}

static int list_threads(struct mt_order *order)
{
    size_t n;
    int rc = mt_threads_list(order->thread, order->capacity, &n);
    if (!rc && n > order->capacity) {
        rc = make_room(order, n);
        if (!rc)
            rc = mt_threads_list(order->thread, order->capacity, &n);
    }
    if (rc)
        return rc;
    order->n = n < order->capacity ? n : order->capacity; /* another may have been added */
    for (size_t i = 0; i < order->n; i++)
        order->source[i].thread = order->thread[i];
    return 0;
}

/* Read a word once: another process may write to the tail, even after it was checked. */
static uint64_t word_at(const struct mt_source *source, uint64_t at)
{
    return __atomic_load_n(&source->word[at % MT_RING_WORDS], __ATOMIC_RELAXED);
}

/* Return whether the thread may have put an event with these words at a place. */
static MT_ALWAYS_INLINE bool is_event(const struct mt_source *source, uint64_t at, uint64_t head,
                                      uint64_t time_ns, uint64_t last_ns)
{
    unsigned kind = (uint16_t)head;
    return kind && kind < MT_KIND_LIMIT && at + mt_ring_event_words(kind) <= source->end &&
           time_ns + MOST_BACK_NS >= last_ns && time_ns <= source->until_ns + MOST_BACK_NS;
}

/* Return whether there are only events from a place to the end. Reduces *checks. */
static bool is_sound(const struct mt_source *source, uint64_t at, uint64_t *looks)
{
    uint64_t last_ns = source->last_ns;
    for (; at < source->end && *looks; --*looks) {
        uint64_t head = word_at(source, at), time_ns = word_at(source, at + 1);
        if (!is_event(source, at, head, time_ns, last_ns))
            break;
        last_ns = time_ns;
        at += mt_ring_event_words((uint16_t)head);
    }
    return at == source->end;
}

/* Skip what is not an event; it was at most that many. The tail will be left. */
static __attribute__((cold)) void leave_out(struct mt_source *source)
{
    enum { LEAST_WORDS = 2 };
    struct mt_own_ring *ring = &source->thread->ring;
    uint64_t at = source->at, looks = 4 * (uint64_t)MT_RING_WORDS;
    while (!is_sound(source, at, &looks))
        at++;
    atomic_fetch_add(&ring->lost, (at - source->at + LEAST_WORDS - 1) / LEAST_WORDS);
    atomic_store(&ring->limit, 0);
    ring->is_damaged = true;
    source->at = at;
}

/* Inline, and with a copy if another process has written, so that the source stays in registers
 * during a run. */
static MT_ALWAYS_INLINE void load_next(struct mt_source *source)
{
    while (source->at < source->end) {
        source->next_head = word_at(source, source->at);
        source->next_time_ns = word_at(source, source->at + 1);
        if (MT_LIKELY(is_event(source, source->at, source->next_head, source->next_time_ns,
                               source->last_ns)))
            return;
        struct mt_source copy = *source;
        leave_out(&copy);
        *source = copy;
    }
    source->next_time_ns = UINT64_MAX;
}

/* Move the source at a place in the heap down to where it belongs. */
static void sink(struct mt_order *order, size_t at)
{
    struct mt_next *next = order->next, moved = next[at];
    for (size_t below; (below = 2 * at + 1) < order->n_next; at = below) {
        below += below + 1 < order->n_next && next[below + 1].time_ns < next[below].time_ns;
        if (moved.time_ns <= next[below].time_ns)
            break;
        next[at] = next[below];
    }
    next[at] = moved;
}

static void sort_sources(struct mt_order *order)
{
    order->n_next = 0;
    for (size_t i = 0; i < order->n; i++)
        if (order->source[i].at < order->source[i].end)
            order->next[order->n_next++] =
                (struct mt_next){order->source[i].next_time_ns, &order->source[i]};
    for (size_t i = order->n_next / 2; i--;)
        sink(order, i);
}

/* Return whether the writer can wait. If a thread is stopped while it puts an event, that event is
 * younger than the last horizon. The writer waits for it while the other rings have room; after
 * that it may come out of order, which readers tolerate. */
static bool can_wait(const struct mt_order *order)
{
    for (size_t i = 0; i < order->n; i++)
        if (order->source[i].end - order->source[i].at > MT_RING_WORDS / 2)
            return false;
    return true;
}

int mt_order_collect(struct mt_order *order, bool is_last)
{
    uint32_t retired = mt_cache_retired();
    bool is_nobody_in = true, is_all = true;
    uint64_t now = mt_now(); /* first: a thread that is not listed yet has no older event */
    int rc = list_threads(order);
    if (rc)
        return rc;
    barrier_in_all_threads();
    for (size_t i = 0; i < order->n; i++) {
        struct mt_source *source = &order->source[i];
        struct mt_own_ring *ring = &source->thread->ring;
        /* A thread in no hook now has not begun to read what was retired before, and we, who write
         * in a hook of our own, do not read it now. */
        is_nobody_in =
            is_nobody_in && (!mt_is_in_hook(source->thread) || source->thread == mt_self);
        is_all = is_published(ring, order->is_hasty) && is_all;
        source->word = ring->shared.word;
        source->last_ns = source->thread->last_ns;
        source->end = mt_ring_put(ring);
        source->at = atomic_load_explicit(&ring->read_to, memory_order_relaxed);
        source->until_ns = mt_now();
        load_next(source);
    }
    if (is_nobody_in)
        mt_cache_free(retired);
    if (is_last)
        order->horizon_ns = UINT64_MAX;
    else if (is_all || !can_wait(order))
        order->horizon_ns = now;
    if (!order->has_sample) /* read after the horizon was set: no older one will come */
        load_sample(order);
    sort_sources(order);
    return 0;
}

/* --- holding back ------------------------------------------------------------------------ */

#define MOST_HELD_NS 10000000000u
#define MOST_HELD_WORDS (MT_RING_WORDS / 8)
#define ALLOCATED_WORD 4u /* of an alloc or a free: PyTorch's total */

/* Load the event at a place, without its arguments. Return the place after it, or 0 if there is
 * none. */
static uint64_t pass(const struct mt_source *source, uint64_t at, uint64_t *head, uint64_t *time_ns)
{
    if (at >= source->end)
        return 0;
    *head = word_at(source, at);
    *time_ns = word_at(source, at + 1);
    return is_event(source, at, *head, *time_ns, source->last_ns)
               ? at + mt_ring_event_words((uint16_t)*head)
               : 0;
}

/* Return the time of a ring's middle event, or 0 if all its events may wait. */
static uint64_t middle_ns(const struct mt_source *source)
{
    uint64_t head, time_ns = 0, words = source->end - source->at, middle = source->at + words / 2;
    if (words <= MOST_HELD_WORDS)
        return 0;
    for (uint64_t at = source->at, next; at < middle; at = next) {
        next = pass(source, at, &head, &time_ns);
        if (!next)
            break;
    }
    return time_ns;
}

struct least {
    unsigned device;
    uint64_t allocated, time_ns;
};

/* Return whether a moment has priority over another: the first device, its lowest total, the
 * newest. */
static bool is_less(const struct least *a, const struct least *b)
{
    if (a->device != b->device)
        return a->device < b->device;
    return a->allocated != b->allocated ? a->allocated < b->allocated : a->time_ns > b->time_ns;
}

/* Find the newest of the lowest totals of the first device in a ring. */
static void find_least(const struct mt_source *source, uint64_t from_ns, uint64_t until_ns,
                       struct least *least)
{
    uint64_t head, time_ns;
    for (uint64_t at = source->at, next; (next = pass(source, at, &head, &time_ns)); at = next) {
        unsigned kind = (uint16_t)head;
        if (time_ns < from_ns || time_ns >= until_ns || (kind != MT_ALLOC && kind != MT_FREE))
            continue;
        struct least here = {(uint16_t)(head >> 16), word_at(source, at + ALLOCATED_WORD), time_ns};
        if (is_less(&here, least))
            *least = here;
    }
}

void mt_order_hold_back(struct mt_order *order)
{
    uint64_t until_ns = order->horizon_ns;
    uint64_t from_ns = until_ns > MOST_HELD_NS ? until_ns - MOST_HELD_NS : 0;
    struct least least = {.device = UINT_MAX};
    for (size_t i = 0; i < order->n; i++) {
        uint64_t middle = middle_ns(&order->source[i]);
        from_ns = middle > from_ns ? middle : from_ns;
    }
    for (size_t i = 0; i < order->n; i++)
        find_least(&order->source[i], from_ns, until_ns, &least);
    if (least.device != UINT_MAX)
        order->horizon_ns = least.time_ns + 1;
}

/* --- taking ------------------------------------------------------------------------------ */

/* Return the time up to which the first source comes before all others. Events of `until_ns` or
 * later are not read. */
static uint64_t turn_of_first(const struct mt_order *order, uint64_t until_ns)
{
    for (size_t i = 1; i < 3 && i < order->n_next; i++)
        if (order->next[i].time_ns < until_ns)
            until_ns = order->next[i].time_ns + 1;
    return until_ns;
}

/* Return how many events these represent: a LOST event counts those that it reports. */
static uint64_t count_events(const struct mt_event *events, size_t n)
{
    uint64_t count = n;
    for (size_t i = 0; i < n; i++)
        count += events[i].kind == MT_LOST ? events[i].LOST.count - 1 : 0;
    return count;
}

/* Read a run of the first source's events, before a time. Return their number. */
static size_t read_run(struct mt_order *order, uint64_t until_ns, struct mt_event *out, size_t most)
{
    struct mt_source *source = order->next[0].source, here = *source; /* in registers */
    const struct mt_thread *thread = source->thread;
    const uint32_t id = thread->id;
    size_t n = 0;
    do {
        struct mt_event *event = &out[n++];
        here.at += mt_ring_read(here.word, here.at, here.end, here.next_head, event);
        here.last_ns = event->time_ns = here.next_time_ns;
        event->thread = id;
        load_next(&here);
    } while (n < most && here.next_time_ns < until_ns);
    *source = here;
    if (thread->ring.is_slotless)
        order->slotless += count_events(out, n);
    order->next[0].time_ns = source->next_time_ns;
    if (source->at == source->end)
        order->next[0] = order->next[--order->n_next];
    sink(order, 0);
    return n;
}

size_t mt_order_read(struct mt_order *order, struct mt_event *out, size_t most)
{
    for (size_t n = 0; n < most;) {
        bool has_sample = order->has_sample && order->sample.time_ns < order->horizon_ns;
        uint64_t until_ns = has_sample ? order->sample.time_ns : order->horizon_ns;
        if (order->n_next && order->next[0].time_ns < until_ns) {
            n += read_run(order, turn_of_first(order, until_ns), out + n, most - n);
        } else if (has_sample) {
            out[n++] = order->sample;
            load_sample(order);
        } else {
            return n;
        }
    }
    return most;
}

void mt_order_note(struct mt_order *order, unsigned index)
{
    mt_tail_note_slotless(index, order->slotless);
    for (size_t i = 0; i < order->n; i++)
        atomic_store_explicit(&order->source[i].thread->ring.shared.safe[index],
                              order->source[i].at, memory_order_release);
}

void mt_order_free_read(struct mt_order *order)
{
    for (size_t i = 0; i < order->n; i++) {
        order->source[i].thread->last_ns = order->source[i].last_ns;
        mt_wake_return_room(&order->source[i].thread->ring, order->source[i].at);
    }
}

void mt_order_release(struct mt_order *order)
{
    mt_order_free_read(order);
    for (size_t i = 0; i < order->n; i++) {
        struct mt_source *source = &order->source[i];
        struct mt_thread *thread = source->thread;
        if (atomic_load_explicit(&thread->is_over, memory_order_acquire) &&
            source->at == mt_ring_put(&thread->ring))
            mt_threads_drop(thread);
    }
    order->n = 0;
}
