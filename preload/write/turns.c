/* SPDX-License-Identifier: Apache-2.0 */
#include "turns.h"
#include "drain.h"
#include "limits.h"
#include "preload/host/memory.h"
#include "preload/host/no-signals.h"
#include "preload/host/own-stack.h"
#include "preload/host/settings.h"
#include "preload/record/lock.h"
#include "preload/record/switch.h"
#include "preload/record/wake.h"
#include "trace.h"
#include "writer-state.h"

#include <errno.h>
#include <stdbool.h>

/* Without a tail a kill loses what no turn has taken: a thread's last events, or 0.2 s. */
#define PIECE_WORDS (MT_RING_WORDS / 16)
#define PIECE_WITHOUT_TAIL_WORDS 256u
#define PERIOD_WITHOUT_TAIL_NS 200000000u

/* The program's thread may have a stack of 16 KiB, so turns run on ours, one at a time. */
#define STACK_SIZE ((size_t)1 << 20)
#define STACK_GUARD ((size_t)1 << 12)

static char *stack;              /* NULL: not made yet */
static _Atomic uint64_t next_ns; /* without a tail: no turn before, unless a ring has a piece */

static void choose_piece(void)
{
    atomic_store_explicit(&mt_ring_piece, mt_tail_exists() ? PIECE_WORDS : PIECE_WITHOUT_TAIL_WORDS,
                          memory_order_relaxed);
    atomic_store_explicit(&next_ns, mt_now() + PERIOD_WITHOUT_TAIL_NS, memory_order_relaxed);
}

static bool is_due(void)
{
    struct mt_thread *self = mt_self;
    return mt_tail_exists() || !self || mt_ring_used(&self->ring) >= PIECE_WORDS ||
           mt_now() >= atomic_load_explicit(&next_ns, memory_order_relaxed);
}

static void work(void)
{
    mt_writer_drain(false);
    mt_limits_check(mt_now() - mt_writer.start_ns, mt_writer.seen);
    choose_piece();
}

static int call_on_own_stack(void (*function)(void))
{
    if (!stack) {
        stack = mt_map(STACK_SIZE);
        if (!stack)
            return -ENOMEM;
        mprotect(stack, STACK_GUARD, PROT_NONE);
    }
    mt_call_on_stack(stack + STACK_SIZE, function);
    return 0;
}

/* Do the work with the writer's lock. */
static int do_on_stack(void (*work_to_do)(void))
{
    mt_is_writer = true;
    mt_writer.cpu_begin_ns = mt_clock(CLOCK_THREAD_CPUTIME_ID);
    int rc = call_on_own_stack(work_to_do);
    mt_writer.cpu_ns = mt_writer_cpu_ns();
    mt_writer.cpu_begin_ns = 0;
    mt_is_writer = false;
    return rc;
}

static void take_turn(void)
{
    int saved = errno;
    if (!is_due() || atomic_load(&mt_writer.n_forks))
        return;
    MT_UNINTERRUPTED();
    if (!pthread_mutex_trylock(&mt_writer.working)) {
        if (!atomic_load(&mt_writer.is_done) && mt_writer_is_open())
            do_on_stack(work);
        pthread_mutex_unlock(&mt_writer.working);
    }
    errno = saved;
}

int mt_turns_begin(void)
{
    pthread_mutex_lock(&mt_writer.working); /* no other thread is here yet */
    int rc = do_on_stack(mt_writer_begin_trace);
    pthread_mutex_unlock(&mt_writer.working);
    if (!rc)
        mt_turns_go_on();
    return rc;
}

void mt_turns_go_on(void)
{
    mt_settings.has_thread = false;
    mt_writer.most_events = MT_TURN_EVENTS;
    mt_writer.order.is_hasty = true;
    choose_piece();
    mt_wake_by_turns(take_turn);
}

int mt_turns_finish(uint64_t most_ns)
{
    MT_UNINTERRUPTED();
    if (!mt_mutex_within(&mt_writer.working, most_ns))
        return -EAGAIN;
    mt_writer.most_events = UINT64_MAX;
    mt_writer.order.is_hasty = false;
    if (!atomic_exchange(&mt_writer.is_done, 1))
        do_on_stack(mt_writer_end_trace);
    bool is_resting = mt_is_resting();
    if (is_resting)
        mt_writer_forget();
    pthread_mutex_unlock(&mt_writer.working);
    if (is_resting) {
        mt_turns_reset();
        mt_switch_has_rested();
    }
    return 0;
}

void mt_turns_reset(void)
{
    mt_wake_by_turns(NULL);
    atomic_store(&mt_ring_piece, MT_RING_HALF);
}
