/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hands-over THREADS [REST]: threads that hand the blocks of one allocator, which reports as
 * PyTorch's does, to each other without end: a block that one allocates another one frees, and the
 * next one gets its address. Each rests for so many microseconds after some turns.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

void report(void *block, int64_t size, size_t allocated, size_t reserved,
            uint16_t device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");

enum { DEVICE_CUDA = 1, SIZE = 512, FIRST = 0x10000, MOST_THREADS = 64, TURNS = 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uintptr_t unused[2 * MOST_THREADS]; /* addresses, the last one freed last */
static size_t n_unused, allocated;
static _Atomic uintptr_t handed[MOST_THREADS]; /* to each thread; 0: nothing */
static unsigned threads, rest_us = 1000;

static uintptr_t allocate(void)
{
    pthread_mutex_lock(&lock);
    uintptr_t block = unused[--n_unused];
    allocated += SIZE;
    report((void *)block, SIZE, allocated, 1 << 20, DEVICE_CUDA);
    pthread_mutex_unlock(&lock);
    return block;
}

static void give_back(uintptr_t block)
{
    pthread_mutex_lock(&lock);
    unused[n_unused++] = block;
    allocated -= SIZE;
    report((void *)block, -SIZE, allocated, 1 << 20, DEVICE_CUDA);
    pthread_mutex_unlock(&lock);
}

/* Whoever finds another block in the place takes that one. */
static void *work(void *data)
{
    for (uintptr_t index = (uintptr_t)data, turn = 0;; turn++) {
        uintptr_t old = atomic_exchange(&handed[(index + turn) % threads], allocate());
        if (old)
            give_back(old);
        if (turn % TURNS == 0)
            usleep(rest_us);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    threads = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    if (argc > 2)
        rest_us = (unsigned)strtoul(argv[2], NULL, 10);
    if (!threads || threads > MOST_THREADS)
        return 2;
    for (size_t i = 0; i < sizeof unused / sizeof *unused; i++)
        unused[n_unused++] = FIRST + i * SIZE;
    for (uintptr_t i = 0; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, (void *)i))
            return 1;
    }
    pause();
    return 0;
}
