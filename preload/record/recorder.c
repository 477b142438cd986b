/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder.h"
#include "guard.h"
#include "parts.h"
#include "preload/host/message.h"
#include "preload/host/no-cancel.h"
#include "preload/host/no-signals.h"
#include "preload/host/own-thread.h"
#include "preload/host/settings.h"
#include "process-end.h"
#include "switch.h"
#include "tail.h"
#include "threads.h"
#include "wake.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

_Thread_local struct mt_thread *mt_self __attribute__((tls_model("initial-exec")));

/* How long a thread may wait while another one starts the recording. */
#define START_WAIT_NS 10000000000u
#define START_PAUSE_US 100

/* Only a signal handler can call a hook from within another one, below the kernel's signal frame. A
 * stack pointer nearer than that, or above, means that the other hook is over: a handler jumped out
 * of it. One farther away may be on another stack. */
#define SIGNAL_FRAME 1000
#define SAME_STACK (1 << 20)

/* Events that a hook may refuse. After that the thread starts over with a new ring; the hook keeps
 * the old one for ever, at most this many times. */
#define MOST_REFUSED 64u
#define MOST_KEPT 16

/* How long an event may wait for the writer before it is dropped: the caller may hold the host's
 * allocator lock. */
#define ROOM_WAIT_NS 200000000

static pthread_key_t thread_end;
static bool has_thread_end; /* the key could be created */
static _Atomic pid_t recorder_pid;
static bool has_started; /* the parts have their state */
static _Atomic unsigned n_starts;
enum wish { AS_SET, AWAKE, DORMANT }; /* of the caller of a start */

/* The thread is doing something that an event from a signal handler would wait for, forever. Such
 * an event is lost. */
static _Thread_local bool is_busy __attribute__((tls_model("initial-exec")));
static _Thread_local uint64_t n_missed __attribute__((tls_model("initial-exec"))); /* so far */
static _Atomic uint64_t n_unclaimed; /* events of threads without a ring */

static void on_thread_end(void *self)
{
    mt_self = NULL;
    mt_thread_leave(self);
    mt_threads_retire(self);
}

/* Between the handlers of a fork. */
static _Thread_local struct {
    unsigned parts;  /* parts with something to release, a bit for each */
    bool is_end;     /* the fork ends the parent */
    bool is_forking; /* a child has not reset its parent's state yet */
    uint64_t signals;
} holding __attribute__((tls_model("initial-exec")));

/* Forget the parent's threads; the child gets its own trace if it needs one. Also if nothing was
 * recorded: a thread that does not exist in the child may have held a lock. */
static void forget_parent(void)
{
    mt_self = NULL;
    pthread_setspecific(thread_end, NULL);
    for (unsigned i = mt_n_parts; i--;)
        if (mt_parts[i].reset)
            mt_parts[i].reset();
    n_missed = 0;
    atomic_store(&n_unclaimed, 0);
    recorder_pid = 0;
    holding.is_forking = has_started = false;
    atomic_store(&mt_state, mt_own_threads_are_restricted ? MT_OVER : MT_IDLE);
}

static void in_forked_child(void)
{
    if (holding.is_forking) /* an earlier handler, the program's, may have started a recording */
        forget_parent();
    mt_signals_restore(&holding.signals);
}

static void before_fork(void)
{
    /* A signal handler may end the process and wait for the writer. */
    holding.signals = mt_signals_block();
    holding.parts = 0;
    holding.is_forking = true;
    for (unsigned i = 0; i < mt_n_parts; i++)
        if (mt_parts[i].hold && mt_parts[i].hold())
            holding.parts |= 1u << i;
}

static void after_fork(void)
{
    holding.is_forking = false;
    for (unsigned i = mt_n_parts; i--;)
        if (holding.parts >> i & 1)
            mt_parts[i].release();
    mt_signals_restore(&holding.signals);
    if (holding.is_end) {
        mt_will_exit(0);
        mt_recorder_finish();
    }
}

void mt_recorder_expect_end_after_fork(bool is_expected)
{
    holding.is_end = is_expected;
}

static void register_handlers(void)
{
    has_thread_end = !pthread_key_create(&thread_end, on_thread_end) &&
                     !pthread_atfork(before_fork, after_fork, in_forked_child);
}

static int start(void)
{
    int rc = has_thread_end ? 0 : -ENOMEM;
    for (unsigned i = 0; !rc && i < mt_n_parts; i++)
        if (mt_parts[i].start)
            rc = mt_parts[i].start(has_started);
    has_started = has_started || !rc;
    return rc;
}

void mt_recorder_expect_fork(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_handlers);
}

/* Start or become dormant, in the thread that has set the state. */
static void start_as(enum wish wish)
{
    int starting = MT_STARTING, rc = 0;
    atomic_fetch_add(&n_starts, 1);
    recorder_pid = getpid();
    mt_state_wipe_on_fork();
    mt_settings_read();
    bool is_dormant = wish == DORMANT || (wish == AS_SET && mt_settings.is_dormant);
    if (is_dormant)
        mt_switch_make();
    else
        rc = start();
    if (rc)
        mt_message("cannot record: %s; continuing without recording", strerror(-rc));
    int next = rc ? MT_OVER : is_dormant ? MT_DORMANT : MT_AWAITING;
    /* Unless the writer has given up already. */
    atomic_compare_exchange_strong(&mt_state, &starting, next);
}

static void wait_while(int state)
{
    for (uint64_t until = mt_now() + START_WAIT_NS;
         atomic_load(&mt_state) == state && mt_now() < until;)
        mt_clock_pause(START_PAUSE_US);
}

static void start_or_wait(enum wish wish)
{
    int idle = MT_IDLE, dormant = MT_DORMANT;
    if (wish == AS_SET && mt_switch_is_on())
        wish = AWAKE;
    if (atomic_compare_exchange_strong(&mt_state, &idle, MT_STARTING) ||
        (wish == AWAKE && atomic_compare_exchange_strong(&mt_state, &dormant, MT_STARTING)))
        start_as(wish);
    wait_while(MT_STARTING);
}

/* Wait until the parts are ready. A signal handler may run meanwhile and jump away; then another
 * call waits. */
static void await_parts(void)
{
    int awaiting = MT_AWAITING;
    unsigned start = atomic_load(&n_starts);
    if (atomic_load(&mt_state) != MT_AWAITING)
        return;
    for (unsigned i = 0; i < mt_n_parts; i++)
        if (mt_parts[i].await)
            mt_parts[i].await();
    if (atomic_load(&n_starts) == start) /* else this recording was stopped meanwhile */
        atomic_compare_exchange_strong(&mt_state, &awaiting, MT_RECORDING);
}

/* Take the loader's lock in each thread before it waits for the start: a waiting thread may be a
 * library's constructor and hold that lock. */
static void find_parts(void)
{
    mt_recorder_expect_fork(); /* before all else: a fork may come during the start */
    for (unsigned i = 0; i < mt_n_parts; i++)
        if (mt_parts[i].find)
            mt_parts[i].find();
}

/* Return whether this is a child of a fork that our handlers did not see; true once, for its first
 * thread here. */
static bool is_unseen_child(void)
{
    pid_t parent = atomic_load(&recorder_pid);
    return parent && atomic_load(&mt_state) == MT_IDLE &&
           (holding.is_forking || parent != getpid()) &&
           atomic_compare_exchange_strong(&recorder_pid, &parent, 0);
}

/* Begin. The program cannot interrupt this. */
static void begin(enum wish wish)
{
    MT_UNINTERRUPTED();
    is_busy = true;
    if (is_unseen_child())
        forget_parent();
    find_parts();
    start_or_wait(wish);
    is_busy = false;
}

static void start_slow(enum wish wish)
{
    int saved = errno;
    if (is_busy) {
        n_missed++;
        return;
    }
    if (atomic_load(&mt_state) < MT_AWAITING)
        begin(wish);
    await_parts();
    errno = saved;
}

void mt_start_slow(void)
{
    if (atomic_load(&mt_state) != MT_DORMANT || mt_switch_is_on())
        start_slow(AS_SET);
}

void mt_recorder_begin(void)
{
    wait_while(MT_RESTING); /* another thread may be stopping it */
    start_slow(AWAKE);
    if (atomic_load(&mt_state) == MT_DORMANT) /* another thread has just made it so */
        start_slow(AWAKE);
}

/* Count lost events; the next event reports them. */
static void lose(struct mt_thread *self, uint64_t events)
{
    mt_ring_lose(&self->ring, events);
    if (self->ring.is_slotless)
        mt_tail_count_slotless(events);
}

static void lose_unclaimed(uint64_t events)
{
    mt_tail_count_slotless(events);
    atomic_fetch_add(&n_unclaimed, events);
}

uint64_t mt_recorder_collect_unclaimed(void)
{
    return atomic_exchange(&n_unclaimed, 0);
}

static struct mt_thread *make_thread(void)
{
    MT_UNINTERRUPTED();
    int saved = errno;
    is_busy = true;
    struct mt_thread *self = mt_threads_add((pid_t)syscall(SYS_gettid));
    if (self && pthread_setspecific(thread_end, self)) {
        mt_threads_retire(self);
        self = NULL;
    }
    if (self)
        lose(self, n_missed);
    else
        lose_unclaimed(n_missed + 1);
    n_missed = 0;
    mt_self = self;
    is_busy = false;
    errno = saved;
    return self;
}

void mt_recorder_lose(uint64_t events)
{
    if (mt_self)
        lose(mt_self, events);
    else
        n_missed += events;
}

void mt_thread_leave(struct mt_thread *self)
{
    struct mt_own_ring *ring = &self->ring;
    if (!mt_is_in_hook(self))
        return;
    while (self->n_holds) {
        uint32_t id = self->id;
        atomic_compare_exchange_strong(&self->holds[--self->n_holds]->by, &id, 0);
    }
    self->pending.follow_up = self->steps.n_ended = self->frames.n = 0;
    self->frames.known[0].stack = 0; /* a gap, which would be part of all further stacks */
    self->pending.called.object = 0;
    self->pending.has_to_read = false;
    memset(&self->foresight, 0, sizeof self->foresight);
    atomic_store_explicit(&ring->put, mt_ring_put(ring), memory_order_release);
    lose(self, 1);
    ring->refused = 0;
    mt_leave(self);
}

/* Return whether the hook that the thread is in is over. */
static bool is_over(const struct mt_thread *self)
{
    uintptr_t sp = mt_stack_pointer();
    uintptr_t there = atomic_load_explicit(&self->ring.inside, memory_order_relaxed);
    stack_t other;
    return sp + SIGNAL_FRAME >= there && sp - there + SIGNAL_FRAME < SAME_STACK &&
           (sigaltstack(NULL, &other) || !(other.ss_flags & SS_ONSTACK));
}

/* Abandon the thread's ring to a hook that may continue on another stack. */
static bool can_start_over(struct mt_thread *self)
{
    static _Atomic unsigned n_kept;
    if (++self->ring.refused < MOST_REFUSED || atomic_fetch_add(&n_kept, 1) >= MOST_KEPT)
        return false;
    atomic_store(&self->ring.is_left, true);
    return true;
}

/* Return whether the thread may enter although it has not left an earlier hook. */
static bool can_enter(struct mt_thread *self)
{
    if (is_over(self)) {
        mt_thread_leave(self);
        return true;
    }
    lose(self, 1); /* a signal handler's event within another event */
    return false;
}

struct mt_thread *mt_enter_slow(void)
{
    struct mt_thread *self = mt_self;
    if (self && !can_enter(self) && !can_start_over(self))
        return NULL;
    if (self && !mt_is_in_hook(self)) {
        mt_go_inside(self);
        return self;
    }
    n_missed += (uint64_t)is_busy;
    self = is_busy ? NULL : make_thread();
    if (self)
        mt_go_inside(self);
    return self;
}

/* Wait for room. A thread whose wait timed out does not wait again until its ring drains. */
static void wait_for_room(struct mt_thread *self)
{
    MT_NO_CANCEL();
    int saved = errno;
    uint64_t until = mt_now() + ROOM_WAIT_NS;
    bool is_full;
    while ((is_full = mt_ring_is_full(&self->ring)) && !self->ring.has_waited &&
           mt_is_recording() && mt_now() < until)
        mt_wake_await_room(&self->ring);
    self->ring.has_waited = is_full;
    errno = saved;
}

static void put(struct mt_own_ring *ring, uint64_t head, const uint64_t arguments[MT_EVENT_ARGS])
{
    uint64_t at = mt_ring_put(ring), *word = ring->shared.word;
    unsigned n = mt_ring_event_words((uint16_t)head);
    mt_ring_begin(ring, at);
    word[at % MT_RING_WORDS] = head;
    word[(at + 1) % MT_RING_WORDS] = mt_now();
    for (unsigned i = 2; i < n; i++)
        word[(at + i) % MT_RING_WORDS] = arguments[i - 2];
    mt_ring_end(ring, at + n);
}

/* Make room. Return 0, or -EAGAIN with the event counted as lost. The event with the count of
 * earlier losses is put before the ring clears them: a reader of the tail in between may count them
 * twice, but never misses them. */
static int make_room(struct mt_thread *self)
{
    wait_for_room(self);
    if (mt_ring_is_full(&self->ring)) {
        lose(self, 1);
        return -EAGAIN;
    }
    uint64_t count = atomic_load_explicit(&self->ring.lost, memory_order_relaxed), left = count;
    if (!count)
        return 0;
    put(&self->ring, mt_ring_head(MT_LOST, MT_NO_DEVICE, 0), MT_ARGS(count));
    /* At the end, the writer may have read the count. */
    while (!atomic_compare_exchange_weak_explicit(&self->ring.lost, &left,
                                                  left < count ? 0 : left - count,
                                                  memory_order_release, memory_order_relaxed))
        ;
    mt_ring_share_losses(&self->ring);
    return 0;
}

void mt_record_slow(struct mt_thread *self, uint64_t head, uint64_t a, uint64_t b, uint64_t c,
                    uint64_t d)
{
    const uint64_t arguments[] = {a, b, c, d};
    _Static_assert(sizeof arguments == MT_EVENT_ARGS * sizeof *arguments, "all of them");
    struct mt_own_ring *ring = &self->ring;
    bool is_short =
        mt_ring_is_full(ring) || atomic_load_explicit(&ring->lost, memory_order_relaxed);
    if (is_short && make_room(self))
        return;
    if (ring->is_slotless && (uint16_t)head != MT_LOST) /* before it can be read */
        mt_tail_count_slotless(1);
    bool is_near_end = mt_ring_is_near_end(mt_ring_put(ring));
    put(ring, head, arguments);
    mt_ring_set_limit(ring);
    if (is_short || is_near_end)
        mt_writer_wake();
}

bool mt_recorder_is_of_process(void)
{
    return mt_is_recording() && getpid() == recorder_pid;
}

/* Even if another thread is doing the same: the first to leave ends both. */
static void stop_parts(void)
{
    for (unsigned i = mt_n_parts; i--;)
        if (mt_parts[i].stop)
            mt_parts[i].stop();
    wait_while(MT_RESTING);
}

void mt_recorder_rest(void)
{
    if (atomic_load(&mt_state) < MT_RECORDING)
        start_slow(DORMANT); /* or let another thread finish its start */
    MT_UNINTERRUPTED();
    if (getpid() == recorder_pid && mt_switch_will_rest())
        stop_parts();
}

void mt_recorder_finish(void)
{
    int awaiting = MT_AWAITING, recording = MT_RECORDING;
    if (mt_own_threads_are_restricted || atomic_load(&mt_state) < MT_AWAITING ||
        getpid() != recorder_pid)
        return;
    atomic_compare_exchange_strong(&mt_state, &awaiting, MT_OVER);
    atomic_compare_exchange_strong(&mt_state, &recording, MT_OVER);
    mt_guard_resume();
    stop_parts();
}

void mt_recorder_end_early(const char *why)
{
    int idle = MT_IDLE, dormant = MT_DORMANT;
    if (atomic_compare_exchange_strong(&mt_state, &idle, MT_OVER) ||
        atomic_compare_exchange_strong(&mt_state, &dormant, MT_OVER) || getpid() != recorder_pid)
        return;
    if (mt_is_recording())
        mt_message("%s; recording stopped, the program continues", why);
    mt_recorder_finish();
    mt_own_threads_await_end();
    atomic_store(&mt_state, MT_OVER);
}

__attribute__((destructor)) static void at_exit(void)
{
    mt_recorder_finish();
}
