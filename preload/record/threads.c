/* SPDX-License-Identifier: Apache-2.0 */
#include "threads.h"
#include "clock.h"
#include "lock.h"
#include "preload/host/memory.h"
#include "tail.h"
#include "wake.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Have the writer free ended threads' rings in such numbers: otherwise a program that creates a
 * thread for each request would fill the disk. */
#define MOST_RETIRED 16

/* Ended threads' memory that is kept, with its slot in the tail, for new ones: mapping it and
 * touching its pages is most of the cost of a thread's first event. */
#define MOST_SPARE (2 * MOST_RETIRED)

/* How long a stop waits for threads within hooks. */
#define HOOKS_WAIT_NS 1000000000u
#define HOOKS_PAUSE_US 100

static struct {
    struct mt_lock lock;
    struct mt_thread *first;
    struct mt_thread **end; /* where to append the next one */
    uint32_t last_id;
    struct mt_thread *spare; /* a list */
    _Atomic unsigned n_spare;
} threads = {.lock = MT_LOCK_INITIALIZER};

_Atomic uint32_t mt_ring_piece = MT_RING_HALF;

/* Below: with the lock held. */

static void clear(struct mt_thread *thread, size_t from, size_t to)
{
    memset((char *)thread + from, 0, to - from);
}

/* Return an ended thread's memory, or NULL. Its foresight of code is valid for any thread, and its
 * known frames are not read before they are written. */
static struct mt_thread *spare_thread(void)
{
    struct mt_thread *thread = threads.spare;
    if (!thread)
        return NULL;
    int slot = thread->slot;
    threads.spare = thread->next;
    threads.n_spare--;
    clear(thread, sizeof thread->ring.shared, offsetof(struct mt_thread, foresight));
    clear(thread, offsetof(struct mt_thread, request), offsetof(struct mt_thread, frames.words[1]));
    thread->slot = slot;
    mt_tail_clear_ring(&thread->ring);
    return thread;
}

static bool keep_spare(struct mt_thread *thread)
{
    if (thread->slot < 0 || thread->ring.is_damaged || threads.n_spare == MOST_SPARE)
        return false;
    atomic_store_explicit(&thread->ring.shared.thread, 0, memory_order_release);
    thread->next = threads.spare;
    threads.spare = thread;
    threads.n_spare++;
    return true;
}

static void free_spare(void)
{
    for (struct mt_thread *thread; (thread = threads.spare);) {
        threads.spare = thread->next;
        mt_tail_detach_ring(&thread->ring, thread->slot);
        mt_unmap(thread, sizeof *thread);
    }
    threads.n_spare = 0;
}

static void begin(struct mt_thread *thread, pid_t os_thread)
{
    if (threads.first)
        atomic_store(&mt_clock_is_shared, 1);
    thread->id = ++threads.last_id;
    thread->os_thread = (uint32_t)os_thread;
    syscall(SYS_prctl, PR_GET_NAME, thread->name); /* prctl is a hook */
    thread->ring.shared.os_thread = thread->os_thread;
    memcpy(thread->ring.shared.name, thread->name, sizeof thread->name);
    atomic_store_explicit(&thread->ring.shared.thread, thread->id, memory_order_release);
}

/* Append a thread with the next id, in spare memory or in `memory`; NULL if there is neither. */
static struct mt_thread *append(struct mt_thread *memory, pid_t os_thread)
{
    struct mt_thread *thread = spare_thread();
    if (!thread && memory && !mt_tail_attach_ring(&memory->ring, &memory->slot))
        thread = memory;
    if (!thread)
        return NULL;
    begin(thread, os_thread);
    if (!threads.first)
        threads.end = &threads.first;
    *threads.end = thread;
    threads.end = &thread->next;
    return thread;
}

struct mt_thread *mt_threads_add(pid_t os_thread)
{
    struct mt_thread *memory = NULL, *thread = NULL;
    for (unsigned turn = 0; turn < 2 && !thread;
         turn++) { /* another thread may get the spare one */
        if (turn || !threads.n_spare)
            memory = memory ? memory : mt_map(sizeof *memory);
        if (!mt_lock(&threads.lock))
            break;
        thread = append(memory, os_thread);
        mt_unlock(&threads.lock);
    }
    if (memory && thread != memory)
        mt_unmap(memory, sizeof *memory);
    return thread;
}

void mt_threads_retire(struct mt_thread *thread)
{
    static _Atomic unsigned n;
    atomic_store_explicit(&thread->is_over, true, memory_order_release);
    if (++n % MOST_RETIRED == 0)
        mt_writer_wake();
}

struct mt_thread *mt_threads_of_copy(void)
{
    return threads.first;
}

int mt_threads_list(struct mt_thread **out, size_t most, size_t *n)
{
    *n = 0;
    if (!mt_lock(&threads.lock))
        return -EAGAIN;
    for (struct mt_thread *thread = threads.first; thread; thread = thread->next, ++*n)
        if (*n < most)
            out[*n] = thread;
    mt_unlock(&threads.lock);
    return 0;
}

static bool is_tail_ours(void)
{
    bool is_ours = mt_tail_is_ours();
    for (struct mt_thread *thread = threads.first; thread && is_ours; thread = thread->next)
        is_ours = mt_tail_ring_is_ours(&thread->ring, thread->slot, thread->id);
    return is_ours;
}

int mt_threads_check_tail(void)
{
    if (!mt_lock(&threads.lock))
        return 0; /* check next time */
    bool is_ours = is_tail_ours();
    int rc = is_ours ? 0 : mt_tail_leave();
    for (struct mt_thread *thread = threads.first; thread && !is_ours && !rc; thread = thread->next)
        rc = mt_tail_leave_ring(&thread->ring, &thread->slot);
    if (!is_ours)
        free_spare();
    mt_unlock(&threads.lock);
    return rc ? rc : !is_ours;
}

void mt_threads_drop(struct mt_thread *thread)
{
    if (!mt_lock(&threads.lock))
        return; /* it is dropped next time */
    struct mt_thread **at = &threads.first;
    while (*at != thread)
        at = &(*at)->next;
    *at = thread->next;
    if (threads.end == &thread->next)
        threads.end = at;
    bool is_kept = keep_spare(thread);
    if (!is_kept)
        mt_tail_detach_ring(&thread->ring, thread->slot);
    mt_unlock(&threads.lock);
    if (!is_kept)
        mt_unmap(thread, sizeof *thread);
}

void mt_threads_await_hooks(void)
{
    uint64_t until = mt_now() + HOOKS_WAIT_NS;
    for (struct mt_thread *thread = threads.first; thread; thread = thread->next)
        while (mt_is_in_hook(thread) && mt_now() < until)
            mt_clock_pause(HOOKS_PAUSE_US);
}

int mt_threads_rest(void)
{
    int rc = 0;
    if (!mt_lock(&threads.lock))
        return -EAGAIN;
    for (struct mt_thread *thread = threads.first; thread && !rc; thread = thread->next)
        rc = mt_is_in_hook(thread) ? mt_tail_leave_ring(&thread->ring, &thread->slot)
                                   : mt_tail_release_ring(&thread->ring, &thread->slot);
    free_spare();
    mt_unlock(&threads.lock);
    return rc;
}

/* Put an empty ring, whose thread is in no hook, into the new tail. Its count of words goes on: a
 * thread may have been about to put one since before the stop. */
static int resume(struct mt_thread *thread)
{
    struct mt_own_ring *ring = &thread->ring;
    struct mt_ring *shared = &ring->shared;
    uint64_t put = mt_ring_put(ring);
    int rc = mt_tail_attach_ring(ring, &thread->slot);
    if (rc)
        return rc;
    atomic_store(&ring->read_to, put);
    atomic_store(&ring->lost, 0);
    ring->is_slotless = thread->slot < 0 && mt_tail_exists();
    ring->has_waited = ring->is_damaged = false;
    memset(&thread->request, 0, sizeof thread->request);
    shared->put = shared->safe[0] = shared->safe[1] = put;
    shared->os_thread = thread->os_thread;
    memcpy(shared->name, thread->name, sizeof thread->name);
    atomic_store_explicit(&shared->thread, thread->id, memory_order_release);
    mt_ring_set_limit(ring);
    return 0;
}

int mt_threads_resume(void)
{
    int rc = 0;
    for (struct mt_thread *thread = threads.first, *next; thread; thread = next) {
        next = thread->next;
        if (atomic_load_explicit(&thread->is_over, memory_order_acquire))
            mt_threads_drop(thread);
    }
    if (!mt_lock(&threads.lock))
        return -EAGAIN;
    for (struct mt_thread *thread = threads.first; thread && !rc; thread = thread->next) {
        if (thread != threads.first)
            atomic_store(&mt_clock_is_shared, 1);
        if (mt_is_in_hook(thread))
            thread->ring.is_slotless = mt_tail_exists();
        else
            rc = resume(thread);
    }
    mt_unlock(&threads.lock);
    return rc;
}

static void unmap_all(struct mt_thread *first)
{
    for (struct mt_thread *thread = first, *next; thread; thread = next) {
        next = thread->next;
        mt_unmap(thread, sizeof *thread);
    }
}

void mt_threads_reset(void)
{
    mt_lock_reset(&threads.lock);
    unmap_all(threads.first);
    unmap_all(threads.spare);
    threads.first = threads.spare = NULL;
    threads.last_id = threads.n_spare = 0;
}
