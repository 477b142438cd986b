/* SPDX-License-Identifier: Apache-2.0 */
/* Threads put, one takes: every event comes once, each thread's in its order, all by time. */
#include "preload/record/wake.h"
#include "preload/write/order.h"
#include "tests/support/run-tests.h"

#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_THREADS 4
#define N_EVENTS 20000 /* not half a ring: whoever is stopped in the middle is waited for */

static _Atomic int running;

static void *put_events(void *data)
{
    struct mt_thread *self = data;
    for (uint64_t i = 0; i < N_EVENTS; i++)
        mt_record(self, i % 3 ? MT_LEAF : MT_ALLOC, (int)self->id, (uint32_t)i,
                  MT_ARGS(i, i, i, i));
    mt_threads_retire(self);
    atomic_fetch_sub(&running, 1);
    return NULL;
}

struct taken {
    uint64_t n, next[N_THREADS + 1], wrong, last_time, late;
};

static void take(struct mt_order *order, struct taken *taken, bool is_last)
{
    struct mt_event event;
    ck_assert_int_eq(mt_order_collect(order, is_last), 0);
    while (mt_order_read(order, &event, 1)) {
        taken->wrong += event.arg[0] != taken->next[event.thread]++ ||
                        event.stack != event.arg[0] || event.device != (int)event.thread;
        taken->late += event.time_ns < taken->last_time;
        taken->last_time = event.time_ns;
        taken->n++;
    }
    mt_order_release(order);
}

START_TEST(nothing_is_lost_or_reordered)
{
    static struct mt_order order;
    struct taken taken = {0};
    pthread_t threads[N_THREADS];
    struct mt_thread *left[1];
    size_t n;
    mt_threads_reset();
    atomic_store(&mt_state, MT_RECORDING);
    atomic_store(&running, N_THREADS);
    for (int i = 0; i < N_THREADS; i++)
        ck_assert(!pthread_create(&threads[i], NULL, put_events, mt_threads_add(i)));
    while (atomic_load(&running))
        take(&order, &taken, 0);
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(threads[i], NULL);
    take(&order, &taken, 1);
    ck_assert_uint_eq(taken.n, N_THREADS * N_EVENTS);
    ck_assert_uint_eq(taken.wrong, 0);
    ck_assert_uint_eq(taken.late, 0);
    ck_assert_int_eq(mt_threads_list(left, 1, &n), 0);
    ck_assert_uint_eq(n, 0); /* ended threads were given back */
    atomic_store(&mt_state, MT_IDLE);
}
END_TEST

/* Threads that the test itself is, one after the other. */
static struct mt_thread *first, *second;

static void begin_with_two(void)
{
    mt_threads_reset();
    first = mt_threads_add(1);
    second = mt_threads_add(2);
    atomic_store(&mt_state, MT_RECORDING);
}

static struct taken taken_at_once(struct mt_order *order)
{
    struct taken taken = {0};
    take(order, &taken, 0);
    return taken;
}

/* A put in two parts, between which the thread is stopped. */
static uint64_t begin_put(struct mt_thread *self)
{
    mt_ring_begin(&self->ring, mt_ring_put(&self->ring));
    return mt_now();
}

static void end_put(struct mt_thread *self, uint64_t time_ns)
{
    uint64_t at = mt_ring_put(&self->ring), *word = self->ring.shared.word;
    word[at] = mt_ring_head(MT_LEAF, (int)self->id, 0);
    word[at + 1] = time_ns;
    for (unsigned i = 2; i < mt_ring_event_words(MT_LEAF); i++)
        word[at + i] = 0;
    mt_ring_end(&self->ring, at + mt_ring_event_words(MT_LEAF));
}

START_TEST(who_is_stopped_in_the_middle_is_waited_for)
{
    static struct mt_order order;
    begin_with_two();
    ck_assert_uint_eq(taken_at_once(&order).n, 0);
    uint64_t time_ns = begin_put(first);
    mt_record(second, MT_LEAF, (int)second->id, 0, MT_ARGS(0));
    ck_assert_uint_eq(taken_at_once(&order).n, 0);
    end_put(first, time_ns);
    struct taken taken = taken_at_once(&order);
    ck_assert_uint_eq(taken.n, 2);
    ck_assert_uint_eq(taken.wrong, 0);
    ck_assert_uint_eq(taken.late, 0);
    atomic_store(&mt_state, MT_IDLE);
}
END_TEST

START_TEST(others_go_on_before_they_have_no_room)
{
    static struct mt_order order;
    uint64_t n = 0;
    begin_with_two();
    uint64_t time_ns = begin_put(first);
    for (; mt_ring_used(&second->ring) <= MT_RING_WORDS / 2; n++)
        mt_record(second, MT_LEAF, (int)second->id, (uint32_t)n, MT_ARGS(n));
    ck_assert_uint_eq(taken_at_once(&order).n, n);
    end_put(first, time_ns);
    ck_assert_uint_eq(taken_at_once(&order).n, 1);
    atomic_store(&mt_state, MT_IDLE);
}
END_TEST

/* Put events of a device's totals in turns, so that one of them is the least, and its twin. */
static void put_totals(unsigned n, unsigned least)
{
    for (unsigned i = 0; i < n; i++) {
        struct mt_thread *self = i % 2 ? first : second;
        uint64_t allocated = i == least || i == least / 2 ? 100 : 200 + i;
        mt_record(self, i % 3 ? MT_FREE : MT_ALLOC, 3, i, MT_ARGS(i, 8, allocated, 4096));
        mt_record(self, MT_ALLOC, 4, i, MT_ARGS(i, 8, i + 1 == n ? 0 : 300, 4096));
    }
}

static uint64_t held(unsigned n, unsigned least)
{
    static struct mt_order order;
    struct mt_event event;
    uint64_t taken = 0;
    begin_with_two();
    put_totals(n, least);
    ck_assert_int_eq(mt_order_collect(&order, false), 0);
    mt_order_hold_back(&order);
    while (mt_order_read(&order, &event, 1))
        taken++;
    mt_order_release(&order);
    ck_assert_uint_eq(taken + taken_at_once(&order).n, 2ull * n); /* the rest comes next time */
    atomic_store(&mt_state, MT_IDLE);
    return taken;
}

START_TEST(a_window_ends_where_the_least_is_allocated)
{
    const unsigned few = 1000, many = MT_RING_WORDS / 8; /* half a ring each */
    ck_assert_uint_eq(held(few, 10), 21);
    ck_assert_uint_eq(held(few, 900), 1801);
    ck_assert_uint_eq(held(many, many - 1000), 2 * (many - 1000) + 1);
    ck_assert_uint_ge(held(many, many / 8), many); /* at least half of it is taken */
}
END_TEST

START_TEST(what_does_not_fit_is_counted)
{
    static struct mt_order order;
    struct mt_event event;
    uint64_t n = 0, lost = 0;
    mt_threads_reset();
    struct mt_thread *self = mt_threads_add(1);
    atomic_store(&mt_state, MT_OVER); /* nobody makes room */
    for (uint64_t i = 0; i < MT_RING_WORDS; i++)
        mt_record(self, MT_LEAF, 0, 0, MT_ARGS(i));
    uint64_t missing = self->ring.lost;
    ck_assert_uint_gt(missing, 0);
    ck_assert_int_eq(mt_order_collect(&order, 1), 0);
    while (mt_order_read(&order, &event, 1))
        n++;
    mt_order_release(&order);
    ck_assert_uint_eq(n + missing, MT_RING_WORDS);
    mt_record(self, MT_LEAF, 0, 0, MT_ARGS(1));
    ck_assert_int_eq(mt_order_collect(&order, 1), 0);
    while (mt_order_read(&order, &event, 1))
        lost += event.kind == MT_LOST ? event.arg[0] : 0;
    mt_order_release(&order);
    ck_assert_uint_eq(lost, missing);
    atomic_store(&mt_state, MT_IDLE);
}
END_TEST

/* What others write to the tail's words after the writer has looked at them: random words crash
 * nobody. */
START_TEST(what_changes_after_a_look_is_no_other_event)
{
    static struct mt_order order;
    struct mt_event event;
    begin_with_two();
    for (uint64_t i = 0; i < 3; i++)
        mt_record(first, MT_LEAF, (int)first->id, 0, MT_ARGS(i));
    uint64_t put = mt_ring_put(&first->ring);
    ck_assert_int_eq(mt_order_collect(&order, 1), 0);
    memset(first->ring.shared.word, 0xff, put * sizeof *first->ring.shared.word);
    ck_assert_int_eq(mt_order_read(&order, &event, 1), 1);
    ck_assert_int_eq(event.kind, MT_LEAF);
    ck_assert_int_eq(event.device, (int)first->id);
    ck_assert_uint_lt(event.time_ns, UINT64_MAX);
    ck_assert_int_eq(mt_order_read(&order, &event, 1), 0);
    mt_order_release(&order);
    ck_assert_uint_eq(atomic_load(&first->ring.read_to), put);
    ck_assert(first->ring.is_damaged);
    ck_assert_uint_ge(atomic_load(&first->ring.lost), 2);
    atomic_store(&mt_state, MT_IDLE);
}
END_TEST

static void make_room(void)
{
    atomic_store(&first->ring.read_to, mt_ring_put(&first->ring));
}

/* Not only who waited in vain has lost events. */
START_TEST(who_has_lost_an_event_waits_for_room)
{
    begin_with_two();
    while (!mt_ring_is_full(&first->ring))
        mt_record(first, MT_LEAF, 0, 0, MT_ARGS(0));
    mt_ring_lose(&first->ring, 1);
    mt_wake_by_turns(make_room);
    uint64_t put = mt_ring_put(&first->ring);
    mt_record(first, MT_LEAF, 0, 0, MT_ARGS(0));
    ck_assert_uint_eq(mt_ring_put(&first->ring) - put,
                      mt_ring_event_words(MT_LOST) + mt_ring_event_words(MT_LEAF));
    ck_assert_uint_eq(atomic_load(&first->ring.lost), 0);
    mt_wake_by_turns(NULL);
    atomic_store(&mt_state, MT_IDLE);
}
END_TEST

/* So that threads that wait do not all wake for each few events that the writer takes. */
START_TEST(who_awaits_room_is_woken_when_half_is_free)
{
    begin_with_two();
    while (!mt_ring_is_full(&first->ring))
        mt_record(first, MT_LEAF, 0, 0, MT_ARGS(0));
    uint64_t half = mt_ring_put(&first->ring) - MT_RING_WORDS / 2;
    atomic_store(&first->ring.awaits_room, 1);
    mt_wake_return_room(&first->ring, half - 1);
    ck_assert_uint_eq(atomic_load(&first->ring.awaits_room), 1);
    mt_wake_return_room(&first->ring, half);
    ck_assert_uint_eq(atomic_load(&first->ring.awaits_room), 0);
    mt_wake_await_room(&first->ring); /* there is some */
    ck_assert_uint_eq(atomic_load(&first->ring.awaits_room), 0);
    atomic_store(&mt_state, MT_IDLE);
}
END_TEST

/* Left in the middle of a stack with a gap before it: no other stack is that one's caller. */
START_TEST(who_leaves_a_hook_knows_no_frames)
{
    begin_with_two();
    atomic_store(&first->ring.inside, 1);
    first->frames.n = 3;
    first->frames.known[0].stack = 4711;
    mt_thread_leave(first);
    ck_assert_uint_eq(first->frames.n, 0);
    ck_assert_uint_eq(first->frames.known[0].stack, 0);
    ck_assert_uint_eq(atomic_load(&first->ring.lost), 1);
    atomic_store(&mt_state, MT_IDLE);
}
END_TEST

/* Nobody may take more before the thread itself does. */
START_TEST(who_awaits_room_by_turns_is_woken_by_any)
{
    begin_with_two();
    while (!mt_ring_is_full(&first->ring))
        mt_record(first, MT_LEAF, 0, 0, MT_ARGS(0));
    mt_wake_by_turns(make_room);
    atomic_store(&first->ring.awaits_room, 1);
    mt_wake_return_room(&first->ring, 1);
    ck_assert(mt_ring_is_full(&first->ring));
    ck_assert_uint_eq(atomic_load(&first->ring.awaits_room), 1);
    mt_wake_return_room(&first->ring, 32);
    ck_assert(!mt_ring_is_full(&first->ring));
    ck_assert_uint_eq(atomic_load(&first->ring.awaits_room), 0);
    mt_wake_by_turns(NULL);
    atomic_store(&mt_state, MT_IDLE);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("order");
    tcase_add_test(tests, who_leaves_a_hook_knows_no_frames);
    tcase_add_test(tests, who_awaits_room_by_turns_is_woken_by_any);
    tcase_add_test(tests, who_awaits_room_is_woken_when_half_is_free);
    tcase_add_test(tests, who_has_lost_an_event_waits_for_room);
    tcase_add_test(tests, nothing_is_lost_or_reordered);
    tcase_add_test(tests, who_is_stopped_in_the_middle_is_waited_for);
    tcase_add_test(tests, others_go_on_before_they_have_no_room);
    tcase_add_test(tests, a_window_ends_where_the_least_is_allocated);
    tcase_add_test(tests, what_does_not_fit_is_counted);
    tcase_add_test(tests, what_changes_after_a_look_is_no_other_event);
    return RUN_TESTS(tests);
}
