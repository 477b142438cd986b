/* SPDX-License-Identifier: Apache-2.0 */
#include "threads.h"
#include "clock.h"
#include "preload/host/memory.h"
#include "tail.h"
#include "wake.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Ask the writer for ended threads' rings in such numbers: otherwise a program that makes a thread
 * for each request would fill the disk. */
#define MOST_RETIRED 16

static struct {
    pthread_mutex_t lock;
    struct mt_thread *first;
    struct mt_thread **end; /* where to append the next one */
    uint32_t last_id;
} threads = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* With the lock held. */
static int prepare(struct mt_thread *thread, pid_t os_thread)
{
    if (mt_tail_take_ring(&thread->ring, &thread->slot))
        return -ENOMEM;
    if (threads.first)
        atomic_store(&mt_clock_is_shared, 1);
    thread->id = ++threads.last_id;
    thread->os_thread = (uint32_t)os_thread;
    syscall(SYS_prctl, PR_GET_NAME, thread->name); /* prctl is a hook */
    thread->ring.shared.os_thread = thread->os_thread;
    memcpy(thread->ring.shared.name, thread->name, sizeof thread->name);
    atomic_store_explicit(&thread->ring.shared.thread, thread->id, memory_order_release);
    return 0;
}

struct mt_thread *mt_threads_add(pid_t os_thread)
{
    struct mt_thread *thread = mt_map(sizeof *thread);
    if (!thread)
        return NULL;
    pthread_mutex_lock(&threads.lock);
    if (prepare(thread, os_thread)) {
        pthread_mutex_unlock(&threads.lock);
        mt_unmap(thread, sizeof *thread);
        return NULL;
    }
    if (!threads.first)
        threads.end = &threads.first;
    *threads.end = thread;
    threads.end = &thread->next;
    pthread_mutex_unlock(&threads.lock);
    return thread;
}

void mt_threads_retire(struct mt_thread *thread)
{
    static _Atomic unsigned n;
    mt_thread_leave(thread);
    atomic_store_explicit(&thread->is_over, 1, memory_order_release);
    if (++n % MOST_RETIRED == 0)
        mt_writer_wake();
}

size_t mt_threads_list(struct mt_thread **out, size_t most)
{
    size_t n = 0;
    pthread_mutex_lock(&threads.lock);
    for (struct mt_thread *thread = threads.first; thread; thread = thread->next, n++)
        if (n < most)
            out[n] = thread;
    pthread_mutex_unlock(&threads.lock);
    return n;
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
    pthread_mutex_lock(&threads.lock);
    bool is_ours = is_tail_ours();
    int rc = is_ours ? 0 : mt_tail_leave();
    for (struct mt_thread *thread = threads.first; thread && !is_ours && !rc; thread = thread->next)
        rc = mt_tail_leave_ring(&thread->ring, &thread->slot);
    pthread_mutex_unlock(&threads.lock);
    return rc ? rc : !is_ours;
}

void mt_threads_drop(struct mt_thread *thread)
{
    pthread_mutex_lock(&threads.lock);
    struct mt_thread **at = &threads.first;
    while (*at != thread)
        at = &(*at)->next;
    *at = thread->next;
    if (threads.end == &thread->next)
        threads.end = at;
    mt_tail_give_ring(&thread->ring, thread->slot);
    pthread_mutex_unlock(&threads.lock);
    mt_unmap(thread, sizeof *thread);
}

void mt_threads_reset(void)
{
    pthread_mutex_init(&threads.lock, NULL);
    for (struct mt_thread *thread = threads.first, *next; thread; thread = next) {
        next = thread->next;
        mt_unmap(thread, sizeof *thread);
    }
    threads.first = NULL;
    threads.last_id = 0;
}
