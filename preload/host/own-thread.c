/* SPDX-License-Identifier: Apache-2.0 */
#include "own-thread.h"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Atomic bool mt_own_threads_are_restricted;

#define OWN_STACK ((size_t)1 << 20)
#define MOST 8u /* the writer and the device watcher */
#define MOST_WAITS 1000u
#define WAIT_NS 1000000
#define MXCSR_DEFAULT 0x1f80u

static struct own {
    void *(*run)(void *);
    _Atomic pid_t id; /* of the kernel; 0: not known yet */
} own[MOST];
static _Atomic unsigned n_own;

static void *begin(void *argument)
{
    struct own *self = argument;
#if defined __x86_64__
    /* The program's thread may have enabled exceptions, which are not for this one. */
    __builtin_ia32_ldmxcsr(MXCSR_DEFAULT);
#endif
    atomic_store(&self->id, (pid_t)syscall(SYS_gettid));
    return self->run(NULL);
}

int mt_own_thread(void *(*run)(void *))
{
    pthread_t thread;
    pthread_attr_t attributes;
    unsigned i = atomic_load(&n_own);
    int rc = i < MOST ? pthread_attr_init(&attributes) : EAGAIN;
    if (rc)
        return rc;
    own[i].run = run;
    atomic_store(&own[i].id, 0);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, OWN_STACK);
    rc = pthread_create(&thread, &attributes, begin, &own[i]);
    pthread_attr_destroy(&attributes);
    atomic_fetch_add(&n_own, !rc);
    return rc;
}

static bool is_there(struct own *thread)
{
    pid_t id = atomic_load(&thread->id);
    return !id || !syscall(SYS_tgkill, getpid(), id, 0);
}

bool mt_own_threads_exist(void)
{
    bool is_any = false;
    for (unsigned i = 0; i < atomic_load(&n_own); i++)
        is_any = is_any || is_there(&own[i]);
    return is_any;
}

bool mt_own_threads_have(int id)
{
    bool is_ours = false;
    for (unsigned i = 0; i < atomic_load(&n_own); i++)
        is_ours = is_ours || atomic_load(&own[i].id) == id;
    return is_ours;
}

/* Wait without a clock, which another library may have stopped. */
void mt_own_threads_await_end(void)
{
    unsigned waits = 0;
    for (unsigned i = 0; i < atomic_load(&n_own); i++)
        while (is_there(&own[i]) && waits++ < MOST_WAITS)
            syscall(SYS_nanosleep, &(struct timespec){0, WAIT_NS}, NULL);
}

void mt_own_threads_forget(void)
{
    atomic_store(&n_own, 0);
}
