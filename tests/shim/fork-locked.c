/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forks at each moment at which a thread of the program has taken a lock of libmemtap.so's: 0 where
 * every child could allocate and capture a graph, and has a trace of its own. Prints the number of
 * children. One that waits for the lock is ended by SIGALRM.
 */
#include "calls-of-shim.h"
#include "fake-graph.h"

#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_SECONDS 300

unsigned cudaMalloc(void **address, size_t size);
unsigned cudaFree(void *address);

static _Thread_local int is_worker;
static sem_t is_locked, is_forked;
static _Atomic int is_over;

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    REAL(pthread_mutex_trylock)
    int rc = real(mutex);
    if (!rc && is_worker && is_of_shim(__builtin_return_address(0))) {
        sem_post(&is_locked);
        sem_wait(&is_forked);
    }
    return rc;
}

static void work(void)
{
    void *address;
    cudaMalloc(&address, 512);
    for (uint64_t pool = 1; pool <= 3; pool++)
        capture_in(1 + pool % 2);
    cudaFree(address);
}

static void *run(void *unused)
{
    is_worker = 1;
    work();
    is_worker = 0;
    is_over = 1;
    sem_post(&is_locked);
    return unused;
}

static bool is_well(pid_t child)
{
    int status;
    char trace[64];
    snprintf(trace, sizeof trace, "memtap-fork-locked-%d.mtap", (int)child);
    return waitpid(child, &status, 0) == child && status == 0 && !unlink(trace);
}

int main(void)
{
    pthread_t worker;
    int n = 0, n_well = 0;
    sem_init(&is_locked, 0, 0);
    sem_init(&is_forked, 0, 0);
    if (pthread_create(&worker, NULL, run, NULL))
        return 2;
    for (sem_wait(&is_locked); !is_over; sem_wait(&is_locked)) {
        pid_t child = fork();
        if (child == 0) {
            alarm(MOST_SECONDS);
            work();
            _exit(0);
        }
        n++;
        n_well += is_well(child);
        sem_post(&is_forked);
    }
    pthread_join(worker, NULL);
    printf("%d\n", n);
    return n_well < n;
}
