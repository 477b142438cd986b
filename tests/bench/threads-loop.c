/* SPDX-License-Identifier: Apache-2.0 */
/* threads-loop THREADS EVENTS: so many threads make so many events together, pairs of cudaMalloc
 * and cudaFree; prints the processor's ns an event. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MOST_THREADS 64

unsigned cudaMalloc(void **address, size_t size);
unsigned cudaFree(void *address);

static unsigned long pairs;

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static void *run(void *out)
{
    double begin = now_ns();
    for (unsigned long i = 0; i < pairs; i++) {
        void *address = NULL;
        cudaMalloc(&address, 512);
        cudaFree(address);
    }
    *(double *)out = now_ns() - begin;
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned long threads = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
    unsigned long events = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    pthread_t thread[MOST_THREADS];
    double ns[MOST_THREADS], all = 0;
    if (!threads || threads > MOST_THREADS || !events)
        return 2;
    pairs = events / threads / 2;
    for (unsigned long i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, run, &ns[i]))
            return 1;
    for (unsigned long i = 0; i < threads; i++) {
        pthread_join(thread[i], NULL);
        all += ns[i];
    }
    printf("%.2f\n", all / (double)(2 * pairs * threads));
    return 0;
}
