/* SPDX-License-Identifier: Apache-2.0 */
#include "clock.h"
#include "preload/host/memory.h"
#include "tail.h"
#include "threads.h"
#include "wake.h"

#include <errno.h>
#include <pthread.h>
#include <sys/prctl.h>

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
    thread->ring.os_thread = (uint32_t)os_thread;
    prctl(PR_GET_NAME, thread->ring.name);
    atomic_store_explicit(&thread->ring.thread, thread->id, memory_order_release);
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
