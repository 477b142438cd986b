/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hold-memory [long|more|objects|sample|fails|fork]: takes device memory by four routes (runtime,
 * stream order, driver, physical memory with addresses) and ends with all of it taken but the first
 * 48 MiB. With `long` it waits before that until memtap has asked NVML what the device holds, and
 * once more at the end; so it does with the others, and in between with `more` has 16 MiB more for
 * a while, with `objects` a module of 6 MiB and two streams as well, with `sample` frees these 48
 * MiB, and has 6 MiB less at the end, with `fails` ends by a request for more than there is, and
 * with `fork` has a child take 8 MiB more.
 */
#include "our-thread.h"
#include "preload/include/memtap.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

#define WATCHER "memtap-nvml"

static unsigned long sleeps; /* of the watcher, before what it is to see */

/* Until NVML was asked after what memtap noticed last. A question that had begun before may come
 * first; each ends in a pause, and then the thread sleeps until there is something. */
static void wait_for_sample(void)
{
    sleeps =
        wait_for_our_thread(WATCHER, sleeps + 2 + !sleeps); /* it sleeps before it is first asked */
}

static void want_sample(void)
{
    sleeps = wait_for_our_thread(WATCHER, sleeps + !sleeps);
    memtap_sample();
    wait_for_sample();
}

static int take_physical(size_t size)
{
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp wanted = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .location.type = CU_MEM_LOCATION_TYPE_DEVICE};
    CUdeviceptr at;
    return cuMemAddressReserve(&at, size, 0, 0, 0) || cuMemCreate(&handle, size, &wanted, 0) ||
           cuMemMap(at, size, 0, handle, 0);
}

/* What the compiler puts into a program: a list of images, of so many bytes with its header. */
static int make_objects(void)
{
    static struct {
        unsigned magic;
        unsigned short version, header_size;
        unsigned long long size;
    } code = {0xba55ed50, 1, sizeof code, 6 * MIB - sizeof code};
    CUmodule module;
    cudaStream_t stream[2];
    return cuModuleLoadData(&module, &code) || cudaStreamCreate(&stream[0]) ||
           cudaStreamCreate(&stream[1]);
}

static int allocate_in_child(void)
{
    void *more;
    if (cudaMalloc(&more, 8 * MIB))
        return 1;
    sleeps = 0;
    want_sample();
    return 0;
}

int main(int argc, char **argv)
{
    void *first, *second, *third;
    CUdeviceptr fourth;
    if (cudaMalloc(&first, 48 * MIB) || cudaMalloc(&second, 6 * MIB) ||
        cudaMallocAsync(&third, 10 * MIB, NULL) || cuMemAlloc(&fourth, 20 * MIB) ||
        take_physical(4 * MIB))
        return 1;
    if (argc < 2)
        return cudaFree(first) != 0;
    want_sample();
    if (!strcmp(argv[1], "objects")) {
        if (make_objects())
            return 4;
        want_sample();
    }
    if (!strcmp(argv[1], "more") || !strcmp(argv[1], "objects")) {
        if (cudaMalloc(&second, 16 * MIB))
            return 3;
        wait_for_sample();
        cudaFree(second);
    }
    if (!strcmp(argv[1], "sample")) {
        cudaFree(first);
        first = second;
        want_sample();
    }
    if (!strcmp(argv[1], "fails"))
        return !cudaMalloc(&second, (size_t)1 << 40);
    if (!strcmp(argv[1], "fork")) {
        int status = 0;
        pid_t child = fork();
        if (!child)
            return allocate_in_child();
        if (waitpid(child, &status, 0) != child || status)
            return 2;
    }
    if (cudaFree(first))
        return 5;
    want_sample();
    return 0;
}
