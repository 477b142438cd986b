/* SPDX-License-Identifier: Apache-2.0 */
/*
 * switched THREADS TIMES PAIRS [free|wait]: threads that allocate and free, while the recording is
 * started and stopped that many times. Between a start and its stop each thread makes that many
 * pairs; with `free`, they also run meanwhile, as fast as they can. With `wait`, nothing is
 * switched here: the program makes pairs until a file `end` exists.
 */
#include "preload/include/memtap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST 64

unsigned cudaMalloc(void **address, size_t size);
unsigned cudaFree(void *address);

static unsigned n_pairs;
static _Atomic int runs_freely, is_over;
static pthread_barrier_t barrier;

static int pair(void)
{
    void *memory;
    return cudaMalloc(&memory, 512) || cudaFree(memory);
}

static void *run(void *unused)
{
    for (;;) {
        while (atomic_load(&runs_freely))
            if (pair())
                exit(3);
        pthread_barrier_wait(&barrier);
        if (atomic_load(&is_over))
            return unused;
        for (unsigned i = 0; i < n_pairs; i++)
            if (pair())
                exit(3);
        pthread_barrier_wait(&barrier);
    }
}

static void turn(int is_free)
{
    atomic_store(&runs_freely, is_free);
    memtap_start();
    atomic_store(&runs_freely, 0);
    pthread_barrier_wait(&barrier);
    atomic_store(&runs_freely, is_free);
    pthread_barrier_wait(&barrier);
    memtap_stop();
    atomic_store(&runs_freely, 0);
}

int main(int argc, char **argv)
{
    pthread_t thread[MOST];
    unsigned n = argc > 3 ? (unsigned)atoi(argv[1]) : 0;
    if (!n || n > MOST)
        return 2;
    n_pairs = (unsigned)atoi(argv[3]);
    if (argc > 4 && !strcmp(argv[4], "wait")) {
        while (access("end", F_OK) && !pair())
            usleep(1000);
        return access("end", F_OK) != 0;
    }
    pthread_barrier_init(&barrier, NULL, n + 1);
    for (unsigned i = 0; i < n; i++)
        pthread_create(&thread[i], NULL, run, NULL);
    for (int i = atoi(argv[2]); i > 0; i--)
        turn(argc > 4);
    atomic_store(&is_over, 1);
    pthread_barrier_wait(&barrier);
    for (unsigned i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
    puts("done");
    return 0;
}
