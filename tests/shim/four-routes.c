/* SPDX-License-Identifier: Apache-2.0 */
/*
 * four-routes: threads that get device memory at once, by the runtime, by the driver, as physical
 * memory that is mapped, and in the order of a stream, two by each route. They meet from time to
 * time, and then it prints "TIME BYTES": when (CLOCK_MONOTONIC, ns), and what all hold together.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define MIB ((size_t)1 << 20)
enum { ROUTES = 4, THREADS = 2 * ROUTES, MEETINGS = 20, HELD = 8, TURNS = 60 };

struct held {
    uint64_t address, handle;
    size_t size;
};

static pthread_barrier_t meeting;
static _Atomic size_t live;

static void check(int result, const char *what)
{
    if (!result)
        return;
    printf("failed %s %d\n", what, result);
    exit(1);
}

static void get_mapped(struct held *held)
{
    CUmemAllocationProp wanted = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .location.type = CU_MEM_LOCATION_TYPE_DEVICE};
    held->size = (held->size / MIB + 1) / 2 * 2 * MIB + 2 * MIB;
    check((int)cuMemAddressReserve((CUdeviceptr *)&held->address, held->size, 0, 0, 0), "reserve");
    check((int)cuMemCreate((CUmemGenericAllocationHandle *)&held->handle, held->size, &wanted, 0),
          "create");
    check((int)cuMemMap(held->address, held->size, 0, held->handle, 0), "map");
}

static void give_mapped(const struct held *held)
{
    check((int)cuMemUnmap(held->address, held->size), "unmap");
    check((int)cuMemRelease(held->handle), "release");
    check((int)cuMemAddressFree(held->address, held->size), "give addresses back");
}

static void get(unsigned route, struct held *held)
{
    void **address = (void **)&held->address;
    if (route == 0)
        check((int)cudaMalloc(address, held->size), "cudaMalloc");
    if (route == 1)
        check((int)cuMemAlloc((CUdeviceptr *)&held->address, held->size), "cuMemAlloc");
    if (route == 2)
        get_mapped(held);
    if (route == 3)
        check((int)cudaMallocAsync(address, held->size, NULL), "cudaMallocAsync");
    live += held->size;
}

static void give(unsigned route, struct held *held)
{
    void *address = (void *)(uintptr_t)held->address;
    live -= held->size;
    if (route == 0)
        check((int)cudaFree(address), "cudaFree");
    if (route == 1)
        check((int)cuMemFree(held->address), "cuMemFree");
    if (route == 2)
        give_mapped(held);
    if (route == 3)
        check((int)cudaFreeAsync(address, NULL), "cudaFreeAsync");
    held->size = 0;
}

static void meet(void)
{
    struct timespec now;
    if (pthread_barrier_wait(&meeting) == PTHREAD_BARRIER_SERIAL_THREAD) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        printf("%llu %zu\n", (unsigned long long)now.tv_sec * 1000000000u + (unsigned)now.tv_nsec,
               (size_t)live);
    }
    pthread_barrier_wait(&meeting);
}

static void *work(void *number)
{
    unsigned me = (unsigned)(uintptr_t)number, route = me % ROUTES, random = me + 1;
    struct held held[HELD] = {0};
    check((int)cudaSetDevice(0), "cudaSetDevice");
    for (int i = 0; i < MEETINGS; i++) {
        for (int turn = 0; turn < TURNS; turn++) {
            random = random * 1664525 + 1013904223;
            struct held *one = &held[random >> 16 & (HELD - 1)];
            if (one->size) {
                give(route, one);
            } else {
                one->size = 1 + (random >> 8) % (3 * MIB);
                get(route, one);
            }
        }
        meet();
    }
    for (int i = 0; i < HELD; i++)
        if (held[i].size)
            give(route, &held[i]);
    meet();
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    check((int)cudaFree(NULL), "cudaFree");
    pthread_barrier_init(&meeting, NULL, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
