/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What hooks call. A hook that has something to say:
 *
 *     struct mt_thread *self = mt_enter();   // NULL: nothing is to be recorded now
 *     if (self) {
 *         mt_record(self, MT_SAVED, device, mt_python_stack(self), (uint64_t[]){...});
 *         mt_leave(self);
 *     }
 *
 * No allocation, lock or system call on this path once the thread is known; errno is kept.
 */
#ifndef MT_PRELOAD_RECORDER_H
#define MT_PRELOAD_RECORDER_H

#include "ring.h"
#include "stack-bounds.h"
#include "writer.h"

#include <sys/types.h>
#include <time.h>

#define MT_STACK_DEPTH 256u /* Python frames kept; the outermost beyond are left out */

/* A frame of the stack that this thread recorded last (python-frames.c); code and instruction are
 * the words of the frame that say so. */
struct mt_known_frame {
    uint64_t frame, code, instruction, stamp;
    uint64_t object;   /* the first argument, where that is a torch.nn module */
    uint32_t stack;    /* id of the stack that ends with this frame */
    uint32_t module;   /* the one that the frame is at work for (python-modules.h) */
    uint8_t by_object; /* the object counts: with another one it would be another frame */
    uint8_t is_lost;   /* it has no id: there was no room */
};

struct mt_thread {
    struct mt_ring ring;
    uint32_t id;         /* in the trace */
    int slot;            /* of the ring, in the tail; -1: it is not there */
    _Atomic int inside;  /* in a hook: one called from within is not recorded */
    _Atomic int is_over; /* the thread has ended: to be drained and given back */
    struct mt_thread *next;
    struct mt_stack_bounds bounds;
    uint64_t code_deaths; /* when it was recorded (code-deaths.h) */
    unsigned n_known;     /* outermost frame first, from known[1] on */
    struct mt_known_frame known[1 + MT_STACK_DEPTH];
    uint16_t place[MT_STACK_DEPTH]; /* in known, by the frame's address; or that of another */
};

enum mt_state {
    MT_IDLE,      /* nothing happened yet that concerns CUDA: no file, no thread, no memory */
    MT_STARTING,  /* one thread is making what recording needs */
    MT_RECORDING, /* */
    MT_OVER       /* ended, or could not start */
};

extern _Atomic int mt_state;
extern _Thread_local struct mt_thread *mt_self __attribute__((tls_model("initial-exec")));

struct mt_thread *mt_enter_slow(void);

/* From now on a forked child starts anew. To be called before the first lock is taken. */
void mt_expect_fork(void);

/* Starts recording at the process's first CUDA event; later calls cost a load. */
void mt_start_slow(void);

/* Writes everything, closes the trace; for the process's end. In a process that is not the one that
 * records (a child of vfork shares its memory) it does nothing. */
void mt_finish(void);

static inline int mt_is_recording(void)
{
    return atomic_load_explicit(&mt_state, memory_order_acquire) == MT_RECORDING;
}

static inline void mt_start(void)
{
    if (__builtin_expect(atomic_load_explicit(&mt_state, memory_order_relaxed) < MT_RECORDING, 0))
        mt_start_slow();
}

static inline int mt_is_in_hook(const struct mt_thread *thread)
{
    return atomic_load_explicit(&thread->inside, memory_order_acquire);
}

/* Before anything of ours is read: the writer has the other half of the fence (order.c). */
static inline void mt_go_inside(struct mt_thread *self)
{
    atomic_store_explicit(&self->inside, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
}

static inline struct mt_thread *mt_enter(void)
{
    struct mt_thread *self = mt_self;
    if (__builtin_expect(!mt_is_recording(), 0))
        return NULL;
    if (__builtin_expect(!self || mt_is_in_hook(self), 0))
        return mt_enter_slow();
    mt_go_inside(self);
    return self;
}

static inline void mt_leave(struct mt_thread *self)
{
    atomic_store_explicit(&self->inside, 0, memory_order_release);
}

/* Waits a little for the writer to make room: 0, or -EAGAIN and the event is counted as lost. */
int mt_make_room(struct mt_thread *self);

/* ns on a clock. */
static inline uint64_t mt_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The time of events; the writer subtracts the start. */
static inline uint64_t mt_now(void)
{
    return mt_clock(CLOCK_MONOTONIC);
}

/* Puts an event with as many arguments as its kind has. The stack is taken before the time, so
 * that its definition is known before. */
static inline void mt_record(struct mt_thread *self, unsigned kind, int device, uint32_t stack,
                             const uint64_t *arguments)
{
    struct mt_ring *ring = &self->ring;
    if (__builtin_expect(
            mt_ring_is_full(ring) || atomic_load_explicit(&ring->lost, memory_order_relaxed), 0) &&
        mt_make_room(self))
        return;
    uint64_t at = atomic_load_explicit(&ring->put, memory_order_relaxed);
    atomic_store_explicit(&ring->putting, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst); /* the writer has the other half: membarrier */
    ring->word[(at + 1) % MT_RING_WORDS] = mt_now();
    ring->word[at % MT_RING_WORDS] = mt_ring_head(kind, device, stack);
    unsigned n = mt_kinds[kind].n_fields;
    for (unsigned i = 0; i < n; i++)
        ring->word[(at + 2 + i) % MT_RING_WORDS] = arguments[i];
    atomic_store_explicit(&ring->put, at + 2 + n, memory_order_release);
    atomic_store_explicit(&ring->putting, 0, memory_order_release);
    if (__builtin_expect((at ^ (at + 2 + n)) & MT_RING_WAKE, 0))
        mt_writer_wake(); /* another half of the ring is full */
}

#endif
