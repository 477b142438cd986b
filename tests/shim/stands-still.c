/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stands-still N [cancelled]: a thread stands still for ever when it has taken its Nth lock within
 * libmemtap.so. Meanwhile the first thread allocates 10 times, and a new one 5 times; the program
 * forks, and ends. Prints whether a thread stands still.
 *
 * cancelled: instead, the signal of a pthread_cancel comes to it there, which looked before the
 * thread disabled this.
 */
#include "calls-of-shim.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_SECONDS 300
#define SIGNAL_OF_CANCEL 32 /* glibc's */

unsigned cudaMalloc(void **address, size_t size);

static int wanted, is_cancelled;
static _Thread_local int reached;
static _Thread_local int is_other;
static volatile int has_come; /* 1: it stands still; 2: it has ended */

static void come_to(const void *caller)
{
    if (!is_other || !is_of_shim(caller) || ++reached != wanted)
        return;
    has_come = 1;
    if (is_cancelled)
        syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGNAL_OF_CANCEL);
    while (!is_cancelled)
        pause();
}

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    REAL(pthread_mutex_trylock)
    int rc = real(mutex);
    if (!rc)
        come_to(__builtin_return_address(0));
    return rc;
}

static void *other(void *unused)
{
    void *address;
    if (is_cancelled)
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    is_other = wanted;
    cudaMalloc(&address, 1024);
    if (!has_come)
        has_come = 2;
    return unused;
}

static void *another(void *unused)
{
    void *address;
    for (int i = 0; i < 5; i++)
        cudaMalloc(&address, 512);
    return unused;
}

static void *wait_for_cancel(void *unused)
{
    for (;;)
        pause();
    return unused;
}

/* The first one makes the signal's handler. */
static int cancel_one(void)
{
    pthread_t thread;
    return pthread_create(&thread, NULL, wait_for_cancel, NULL) || pthread_cancel(thread) ||
           pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    void *address;
    pthread_t thread;
    wanted = argc > 1 ? atoi(argv[1]) : 0;
    is_cancelled = argc > 2;
    alarm(MOST_SECONDS);
    cudaMalloc(&address, 1024);
    if (cancel_one() || pthread_create(&thread, NULL, other, NULL))
        return 1;
    while (!has_come)
        usleep(1000);
    if (is_cancelled)
        pthread_join(thread, NULL);
    for (int i = 0; i < 9; i++)
        cudaMalloc(&address, 1024);
    if (pthread_create(&thread, NULL, another, NULL) || pthread_join(thread, NULL))
        return 1;
    pid_t child = fork();
    if (!child)
        _exit(0);
    if (child < 0 || waitpid(child, NULL, 0) != child)
        return 1;
    printf("%d\n", has_come == 1);
    return 0;
}
