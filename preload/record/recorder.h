/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks record an event like this:
 *
 *     struct mt_thread *self = mt_enter();   // NULL: nothing is to be recorded now
 *     if (self) {
 *         uint32_t stack = mt_python_stack(self);
 *         mt_ask(self);                  // read PyTorch's changed objects (ask.h)
 *         mt_record(self, MT_SAVED, device, stack, MT_ARGS(...));
 *         mt_leave(self);
 *     }
 *
 * No allocation, lock or system call on this path once the thread is known; errno is kept.
 */
#ifndef MT_PRELOAD_RECORDER_H
#define MT_PRELOAD_RECORDER_H

#include "clock.h"
#include "preload/host/stack-bounds.h"
#include "ring.h"
#include "trace-format/likely.h"
#include "walks.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

/* A part of the recorder that one thread at a time may use, within a hook; others go without it. A
 * signal handler may jump out of the hook: the thread gives the part back when it comes again, or
 * ends. */

struct mt_held {
    _Atomic uint32_t by; /* the thread's id; 0: nobody */
};

#define MT_HOLDS 4u /* that a thread has at once */

/* Return whether the part is this thread's now. */
bool mt_hold(struct mt_held *held);

/* Give back the part that was taken last. */
void mt_let_go(struct mt_held *held);

bool mt_is_held_here(const struct mt_held *held);

/* Python frames kept: as many as Python allows by default (sys.getrecursionlimit). Deeper stacks
 * keep the outermost MT_STACK_OUTER frames and the innermost ones, without those in between. */
#define MT_STACK_DEPTH 1024u
#define MT_STACK_OUTER 64u

/* A frame of the stack that this thread recorded last (python-frames.c): the words that are
 * compared at each event, four frames in a cache line, ... */
struct mt_frame_words {
    uint64_t frame, instruction; /* instruction: with MT_BY_OBJECT where the object counts, too */
};

#define MT_BY_OBJECT (UINT64_C(1) << 63)

/* ... and what is known of it. */
struct mt_known_frame {
    uint64_t code;     /* the frame's word for it */
    uint64_t object;   /* the first argument, if it is a torch.nn module */
    uint32_t stamp;    /* of the code (code-deaths.h) */
    uint32_t stack;    /* id of the stack that ends with this frame */
    uint32_t module;   /* the module that the frame works for (python-modules.h) */
    uint8_t is_lost;   /* it has no id, for lack of room */
    uint8_t is_step;   /* the object is an optimizer, and this its step */
    uint8_t is_hidden; /* CPython does not show it */
    uint8_t in_cache;  /* what it does for caches of keys and values: bits below */
};

/* What frames do for caches of keys and values (kv-cache.h). */
enum {
    MT_MAKES_CACHE = 1, /* tensors made in the frame and in those that it calls are a cache's */
    MT_MAKES_ROOM = 2,  /* some of them may be */
    MT_KNOWS_ROOM = 4,  /* the frame itself is of the object that knows the room */
};

/* An optimizer's step around the thread's last event (optimizer-state.h). */
#define MT_STEPS 4u
struct mt_running_step {
    uint64_t optimizer;
    unsigned at; /* in known */
};

/* A leaf's gradient that may change, or has changed since the thread's last event (gradients.h). */
#define MT_GRADIENTS 32u
struct mt_gradient {
    uint64_t leaf, meta; /* addresses: of its TensorImpl, of its autograd data, */
    uint64_t slot;       /* and, within that, of the gradient */
    uint64_t before;     /* its old value, */
    uint64_t replaced;   /* and the address of that one's data; 0: none */
    unsigned looks;      /* looks at it since */
};

/* A type of autograd's nodes that the thread has run (node-names.h). */
#define MT_NODE_TYPES 64u
struct mt_node_type {
    uint64_t vtable; /* 0: none */
    uint32_t name;
};

/* What the thread's last alloc was of (torch/requests.h). */
struct mt_thread_request {
    uint64_t stream, pool;
    uint64_t shared; /* a pool of blocks that all share, of this device, known last; 0: none */
    int device;
    uint32_t thread; /* id of the thread; 0: there was none */
};

struct mt_thread {
    struct mt_own_ring ring; /* first, because it is mapped */
    uint32_t id, os_thread;  /* in the trace, of the kernel */
    char name[MT_THREAD_NAME_SIZE];
    int slot;            /* of the ring in the tail; -1: none */
    _Atomic int is_over; /* the thread has ended: drain and free it */
    struct mt_thread *next;
    MT_BEGIN_LINE uint64_t last_ns; /* time of the last event that the writer took */
    /* From here on, only the thread's. */
    MT_BEGIN_LINE struct mt_held *holds[MT_HOLDS]; /* parts that only it may use now (held.h) */
    unsigned n_holds;
    struct mt_stack_bounds bounds;
    struct mt_foresight foresight;
    struct mt_thread_request request;
    struct mt_walk walk;  /* not on the thread's stack, which may have 16 KiB */
    uint64_t code_deaths; /* at its last event (code-deaths.h) */
    uint32_t last_stack;  /* last one looked up (cache.h) */
    union {
        struct {
            uint32_t n_steps; /* nested */
            uint32_t n_gradients;
        };
        uint64_t follow_up; /* not 0 if there are any of these */
    };
    bool has_to_ask; /* whether to read the objects below, or gradients (ask.h) */
    unsigned n_ended;
    uint64_t ended[MT_STEPS]; /* optimizers whose steps have ended */
    struct {
        uint64_t object; /* the called outermost module; 0: none */
        bool is_new;
        bool is_moved; /* its tensors are about to change */
    } called;
    struct mt_running_step step[MT_STEPS];
    struct mt_gradient gradient[MT_GRADIENTS];
    struct mt_node_type node_type[MT_NODE_TYPES]; /* by a hash of the vtable */
    uint64_t members_at;    /* ring words that have earned looks at modules (module-members.c), */
    uint64_t optimizers_at; /* and at optimizers (optimizer-state.c) */
    bool is_cut;            /* frames of its stack are left out */
    bool defines;           /* it has the intern lock for the rest of the stack */
    uint8_t in_cache;       /* what its innermost frames do for caches of keys and values */
    unsigned n_known;       /* outermost frame first, from 1 on */
    struct mt_frame_words words[1 + MT_STACK_DEPTH];
    struct mt_known_frame known[1 + MT_STACK_DEPTH];
    uint16_t place[MT_STACK_DEPTH];  /* in known, by the frame's address; may be another frame's */
    uint64_t walked[MT_STACK_DEPTH]; /* frames to look up, innermost first */
};
MT_ASSERT_APART(struct mt_thread, id, last_ns);
MT_ASSERT_APART(struct mt_thread, last_ns, holds);

enum mt_state {
    MT_IDLE,      /* no CUDA event yet: no file, no thread, no memory */
    MT_STARTING,  /* one thread is starting the parts, and cannot be interrupted */
    MT_AWAITING,  /* the parts have started: whoever comes waits until they are ready */
    MT_RECORDING, /* */
    MT_OVER       /* ended, or could not start */
};

extern _Atomic int mt_state;

/* Let the kernel clear it, and the process's id that is known, in children. */
void mt_state_wipe_on_fork(void);

extern _Thread_local struct mt_thread *mt_self __attribute__((tls_model("initial-exec")));

struct mt_thread *mt_enter_slow(void) __attribute__((cold));

/* Return how many events were lost by threads that could not be added (threads.h), and count anew.
 * Writer only. */
uint64_t mt_take_unclaimed(void);

/* Count events that this thread has lost outside of mt_enter and mt_leave. */
void mt_lose_events(uint64_t events) __attribute__((cold));

/* End what the thread is inside of, which did not end by itself: count its event, give back what it
 * holds, and forget what it knows, which may be half written. */
void mt_thread_leave(struct mt_thread *thread) __attribute__((cold));

/* Let forked children start anew from now on. Call before the first lock is taken. */
void mt_expect_fork(void);

/* Start recording at the process's first CUDA event; later calls cost a load. */
void mt_start_slow(void) __attribute__((cold));

/* Return whether this is the recorded process, and not a child of vfork, which shares its memory.
 */
bool mt_is_recorded(void);

/* Call around a function that forks and ends the parent without a sign (daemon). */
void mt_expect_end_after_fork(bool is_expected);

/* Write everything and close the trace, at the process's end. Does nothing in a process that is not
 * the recorded one (a child of vfork shares its memory). */
void mt_finish(void);

/* End the recording, if there is one, because the program goes on to something that memtap must not
 * disturb: say why. No thread of ours is left, and no new recording begins. */
void mt_end_early(const char *why);

static inline bool mt_is_recording(void)
{
    return atomic_load_explicit(&mt_state, memory_order_acquire) == MT_RECORDING;
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

/* Call before reading anything of ours: the writer has the other half of the fence (order.c). What
 * is inside is known by where its stack is: a signal handler may jump out of it. */
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

/* Record by the slow path: the ring may be full, or its end is near. It takes the arguments by
 * value, because a variable whose address is taken lies in memory even if this is not called. */
void mt_record_slow(struct mt_thread *self, uint64_t head, uint64_t a, uint64_t b, uint64_t c,
                    uint64_t d) __attribute__((cold));

/* Put an event with its kind's number of arguments. Take the stack before the time, so that its
 * definition is known before. */
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
