/* SPDX-License-Identifier: Apache-2.0 */
/* short-threads N [TOGETHER]: N threads, one after the other, allocate once each, and memtap's
 * thread gets to its work after every 64 of them. Before that, so many do it all at once. Then it
 * says what room its trace t has taken beside it, in MiB. */
#include "our-thread.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

unsigned cudaMalloc(void **address, size_t size);

static void *allocate(void *unused)
{
    void *address;
    cudaMalloc(&address, 512);
    return unused;
}

static void *allocate_together(void *all)
{
    pthread_barrier_wait(all);
    allocate(NULL);
    pthread_barrier_wait(all); /* so that none of them has ended before the last one begins */
    return NULL;
}

static void start_together(unsigned n)
{
    pthread_barrier_t all;
    pthread_attr_t small;
    pthread_t *threads = calloc(n, sizeof *threads);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 1 << 16);
    if (!threads || pthread_barrier_init(&all, NULL, n))
        exit(2);
    for (unsigned i = 0; i < n; i++)
        if (pthread_create(&threads[i], &small, allocate_together, &all))
            exit(77); /* the machine has not so many */
    for (unsigned i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}

int main(int argc, char **argv)
{
    struct stat status = {0};
    if (argc > 2)
        start_together((unsigned)atoi(argv[2]));
    unsigned long sleeps = 0;
    for (int n = argc > 1 ? atoi(argv[1]) : 0; n > 0; n--) {
        pthread_t thread;
        if (n % 64 == 0)
            sleeps = wait_for_our_thread("memtap", sleeps + 1);
        if (pthread_create(&thread, NULL, allocate, NULL))
            return 2;
        pthread_join(thread, NULL);
    }
    stat("t.tail", &status);
    printf("%ld\n", (long)(status.st_size >> 20));
    return 0;
}
