/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stands-still N: a thread stands still for ever when it has taken its Nth lock within
 * libmemtap.so. Meanwhile the first thread allocates 10 times, and a new one 5 times; the program
 * forks, and ends. Prints whether a thread stands still.
 */
#include "calls-of-shim.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_SECONDS 300

unsigned cudaMalloc(void **address, size_t size);

static int wanted;
static _Thread_local int reached;
static _Thread_local int is_other;
static volatile int has_come; /* 1: it stands still; 2: it has ended */

static void come_to(const void *caller)
{
    if (!is_other || !is_of_shim(caller) || ++reached != wanted)
        return;
    has_come = 1;
    for (;;)
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
    is_other = wanted;
    cudaMalloc(&address, 1024);
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

int main(int argc, char **argv)
{
    void *address;
    pthread_t thread;
    wanted = argc > 1 ? atoi(argv[1]) : 0;
    alarm(MOST_SECONDS);
    cudaMalloc(&address, 1024);
    if (pthread_create(&thread, NULL, other, NULL))
        return 1;
    while (!has_come)
        usleep(1000);
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
