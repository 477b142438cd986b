/* SPDX-License-Identifier: Apache-2.0 */
/* native-loop EVENTS: cudaMalloc and cudaFree (with DRIVER: cuMemAlloc and cuMemFree) from 15
 * frames deep, by 512 different ways, with 4,096 blocks live; prints the processor's ns
 * an event. */
#include "ways.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LIVE 4096
#define WAYS 9  /* bits, and frames, each called from one of two places */
#define PLAIN 0 /* frames before that */

#ifdef DRIVER
#define ALLOCATE cuMemAlloc_v2
#define FREE cuMemFree_v2
#else
#define ALLOCATE cudaMalloc
#define FREE cudaFree
#endif

unsigned ALLOCATE(void **address, size_t size);
unsigned FREE(void *address);

static void *live[LIVE];
static unsigned long turn;

static __attribute__((noinline)) void allocate(void)
{
    void **slot = &live[turn++ % LIVE];
    if (*slot)
        FREE(*slot);
    ALLOCATE(slot, 512);
    odd++;
}

static __attribute__((noinline)) void descend(unsigned way, unsigned depth)
{
    if (depth)
        descend(way, depth - 1);
    else
        choose(way, WAYS);
    odd++;
}

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
    unsigned long events = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    uint32_t random = 1;
    for (int i = 0; i < LIVE; i++)
        descend((unsigned)i, PLAIN);
    double begin = now_ns();
    for (unsigned long i = 0; i < events / 2; i++) {
        random = random * 1664525 + 1013904223;
        descend(random >> 16, PLAIN);
    }
    printf("%.2f\n", (now_ns() - begin) / (double)events);
    return 0;
}
