/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks record an event like this:
 *
 *     struct mt_thread *self = mt_enter();   // NULL: do not record now
 *     if (self) {
 *         uint32_t stack = mt_python_stack(self);
 *         mt_read_objects(self);                  // read PyTorch's changed objects
 * (read-objects.h) mt_record(self, MT_SAVED, device, stack, MT_ARGS(...)); mt_leave(self);
 *     }
 *
 * Once the thread is known, this path makes no allocation, lock or system call, and keeps errno.
 */
#ifndef MT_PRELOAD_RECORDER_H
#define MT_PRELOAD_RECORDER_H

#include "clock.h"
#include "preload/host/stack-bounds.h"
#include "ring.h"
#include "thread-parts.h"
#include "trace-format/likely.h"
#include "walks.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

/* A part of the recorder that one thread at a time may use, within a hook; other threads do without
 * it. A signal handler may jump out of the hook: the thread then releases the part in its next
 * hook, or when it ends. */

struct mt_exclusive {
    _Atomic uint32_t by; /* the owner's thread id; 0: nobody */
};

#define MT_MOST_ACQUIRED 4u /* parts that a thread can hold at once */

/* Return whether the part is this thread's now. */
bool mt_exclusive_acquire(struct mt_exclusive *part);

/* Release the part that was acquired last. */
void mt_exclusive_release(struct mt_exclusive *part);

bool mt_exclusive_is_mine(const struct mt_exclusive *part);

struct mt_thread {
    struct mt_own_ring ring; /* first, because it is mapped */
    uint32_t id, os_thread;  /* in the trace, of the kernel */
    char name[MT_THREAD_NAME_SIZE];
    int slot;             /* of the ring in the tail; -1: none */
    _Atomic bool is_over; /* the thread has ended: drain its ring and free it */
    struct mt_thread *next;
    MT_BEGIN_LINE uint64_t last_ns; /* time of the last event that the writer read */
    /* From here on, used by the thread only. The last parts belong to other files (thread-parts.h).
     */
    MT_BEGIN_LINE struct mt_exclusive
        *holds[MT_MOST_ACQUIRED]; /* parts that it holds (mt_exclusive_acquire) */
    unsigned n_holds;
    struct mt_stack_bounds bounds;
    struct mt_foresight foresight;
    struct mt_thread_request request;
    struct mt_walk walk; /* not on the thread's stack, which may be 16 KiB */
    struct mt_thread_pending pending;
    struct mt_thread_steps steps;
    struct mt_thread_gradients gradients;
    struct mt_thread_modules modules;
    struct mt_thread_nodes nodes;
    struct mt_thread_frames frames;
};
MT_ASSERT_APART(struct mt_thread, id, last_ns);
MT_ASSERT_APART(struct mt_thread, last_ns, holds);

enum mt_state {
    MT_IDLE,      /* no CUDA event yet: no file, no thread, no memory */
    MT_DORMANT,   /* the same, until it is switched on (switch.h) */
    MT_STARTING,  /* one thread is starting the parts, uninterrupted */
    MT_AWAITING,  /* the parts have started; other threads wait until they are ready */
    MT_RECORDING, /* */
    MT_RESTING,   /* stopped: the trace is being closed, then comes MT_DORMANT */
    MT_OVER       /* ended, or could not start */
};

extern _Atomic int mt_state;

/* Let the kernel clear the state and the known process id in children. */
void mt_state_wipe_on_fork(void);

extern _Thread_local struct mt_thread *mt_self __attribute__((tls_model("initial-exec")));

struct mt_thread *mt_enter_slow(void) __attribute__((cold));

/* Return how many events were lost by threads that could not be added (threads.h), and reset the
 * count. Writer only. */
uint64_t mt_recorder_collect_unclaimed(void);

/* Count events that this thread has lost outside of mt_enter and mt_leave. */
void mt_recorder_lose(uint64_t events) __attribute__((cold));

/* End what the thread was inside of and left by a jump: count its event, release what it holds, and
 * forget what it knows, which may be half written. */
void mt_thread_leave(struct mt_thread *thread) __attribute__((cold));

/* Make forked children start over from now on. Call before the first lock is taken. */
void mt_recorder_expect_fork(void);

/* Start recording, at the process's first CUDA event; later calls cost a load. */
void mt_start_slow(void) __attribute__((cold));

/* Start the recording, if there is none. Stop it and wait, at most 10 s, until its trace is closed;
 * before the first event, become dormant. From the program's threads. */
void mt_recorder_begin(void);
void mt_recorder_rest(void);

/* Return whether this is the recorded process and not a child of vfork, which shares its memory. */
bool mt_recorder_is_of_process(void);

/* Call around a function that forks and ends the parent silently (daemon). */
void mt_recorder_expect_end_after_fork(bool is_expected);

/* Write everything and close the trace, when the process ends. Does nothing in a process other than
 * the recorded one (a child of vfork shares its memory). */
void mt_recorder_finish(void);

/* End the recording, if there is one, before the program does something that memtap must not
 * disturb. why is for the message. No thread of ours is left, and no new recording begins. */
void mt_recorder_end_early(const char *why);

static inline bool mt_is_recording(void)
{
    return atomic_load_explicit(&mt_state, memory_order_acquire) == MT_RECORDING;
}

static inline bool mt_is_resting(void)
{
    return atomic_load_explicit(&mt_state, memory_order_acquire) == MT_RESTING;
}

static inline void mt_start(void)
{
    if (MT_UNLIKELY(atomic_load_explicit(&mt_state, memory_order_relaxed) < MT_RECORDING))
        mt_start_slow();
}

static inline bool mt_is_in_hook(const struct mt_thread *thread)
{
    return atomic_load_explicit(&thread->ring.inside, memory_order_acquire) != 0;
}

/* Call before reading anything of ours: the writer has the other half of the fence (order.c). The
 * stack pointer identifies what is inside, since a signal handler may jump out of it. */
static MT_ALWAYS_INLINE void mt_go_inside(struct mt_thread *self)
{
    atomic_store_explicit(&self->ring.inside, mt_stack_pointer(), memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
}

static MT_ALWAYS_INLINE struct mt_thread *mt_enter(void)
{
    struct mt_thread *self = mt_self;
    if (MT_UNLIKELY(!mt_is_recording()))
        return NULL;
    if (MT_UNLIKELY(!self || mt_is_in_hook(self)))
        return mt_enter_slow();
    mt_go_inside(self);
    return self;
}

static inline void mt_leave(struct mt_thread *self)
{
    atomic_store_explicit(&self->ring.inside, 0, memory_order_release);
}

/* The arguments of an event; arguments that its kind does not have are 0. */
#define MT_ARGS(...) ((uint64_t[MT_EVENT_ARGS]){__VA_ARGS__})

/* Record by the slow path: the ring may be full or near its end. Arguments are passed by value,
 * because a variable whose address is taken is kept in memory even if this is not called. */
void mt_record_slow(struct mt_thread *self, uint64_t head, uint64_t a, uint64_t b, uint64_t c,
                    uint64_t d) __attribute__((cold));

/* Put an event with its kind's number of arguments. Get the stack before the time, so that its
 * definition is known first. */
static MT_ALWAYS_INLINE void mt_record(struct mt_thread *self, unsigned kind, int device,
                                       uint32_t stack,
                                       const uint64_t arguments[static MT_EVENT_ARGS])
{
    struct mt_own_ring *ring = &self->ring;
    uint64_t head = mt_ring_head(kind, device, stack);
    uint64_t at = atomic_load_explicit(&ring->put, memory_order_relaxed);
    if (MT_UNLIKELY(at >= atomic_load_explicit(&ring->limit, memory_order_relaxed))) {
        mt_record_slow(self, head, arguments[0], arguments[1], arguments[2], arguments[3]);
        return;
    }
    uint64_t *word = &ring->shared.word[at % MT_RING_WORDS];
    __builtin_prefetch(word + MT_RING_AHEAD, 1);
    mt_ring_begin(ring, at);
    word[0] = head;
    word[1] = mt_now();
    for (unsigned i = 0; i < MT_EVENT_ARGS; i++) /* the next event overwrites surplus ones */
        word[2 + i] = arguments[i];
    mt_ring_end(ring, at + mt_ring_event_words(kind));
}

#endif
