/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair-loop BURSTS: pairs of cuMemAlloc and cuMemFree, in bursts that fit in memtap's buffers with
 * pauses for its writer, as programs make them that do other things too; prints the processor's ns
 * a pair, of the burst in the middle by length.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PAIRS 5000
#define PAUSE_US 20000
#define MOST_BURSTS 1000

unsigned cuMemAlloc_v2(uint64_t *address, size_t size);
unsigned cuMemFree_v2(uint64_t address);

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static double burst(void)
{
    double begin = now_ns();
    for (int i = 0; i < PAIRS; i++) {
        uint64_t address = 0;
        if (cuMemAlloc_v2(&address, 512) || cuMemFree_v2(address))
            exit(1);
    }
    return (now_ns() - begin) / PAIRS;
}

static int by_length(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    static double bursts[MOST_BURSTS];
    int n = argc > 1 ? atoi(argv[1]) : 1;
    if (n < 1 || n > MOST_BURSTS)
        return 2;
    burst(); /* everything is there */
    for (int i = 0; i < n; i++) {
        usleep(PAUSE_US);
        bursts[i] = burst();
    }
    qsort(bursts, (size_t)n, sizeof *bursts, by_length);
    printf("%.2f\n", bursts[n / 2]);
    return 0;
}
