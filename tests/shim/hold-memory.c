/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hold-memory [long|more|objects|sample|fork]: takes device memory by four routes (runtime, stream
 * order, driver, physical memory with addresses) and ends with all of it taken but the first 48
 * MiB. With `long` it waits before that until memtap has asked NVML what the device holds; so it
 * does with the others, and then with `more` has 16 MiB more for a second, with `objects` a module
 * of 6 MiB and two streams as well, with `sample` frees these 48 MiB, wants memtap to ask, and
 * after a second has 6 MiB less, and with `fork` has a child take 8 MiB more.
 */
#include "preload/memtap.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define PAUSE_US 50000
#define MOST_PAUSES 400

static int has_watcher(void)
{
    char path[512], name[32];
    int found = 0;
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *entry; threads && !found && (entry = readdir(threads));) {
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        FILE *file = fopen(path, "r");
        found = file && fgets(name, sizeof name, file) && !strcmp(name, "memtap-nvml\n");
        if (file)
            fclose(file);
    }
    if (threads)
        closedir(threads);
    return found;
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

int main(int argc, char **argv)
{
    void *first, *second, *third;
    CUdeviceptr fourth;
    if (cudaMalloc(&first, 48 * MIB) || cudaMalloc(&second, 6 * MIB) ||
        cudaMallocAsync(&third, 10 * MIB, NULL) || cuMemAlloc(&fourth, 20 * MIB) ||
        take_physical(4 * MIB))
        return 1;
    if (argc > 1) {
        for (int i = 0; i < MOST_PAUSES && !has_watcher(); i++)
            usleep(PAUSE_US);
        usleep(20 * PAUSE_US);
    }
    if (argc > 1 && !strcmp(argv[1], "objects")) {
        if (make_objects())
            return 4;
        usleep(20 * PAUSE_US);
    }
    if (argc > 1 && (!strcmp(argv[1], "more") || !strcmp(argv[1], "objects"))) {
        if (cudaMalloc(&second, 16 * MIB))
            return 3;
        usleep(20 * PAUSE_US);
        cudaFree(second);
    }
    if (argc > 1 && !strcmp(argv[1], "sample")) {
        cudaFree(first);
        first = second;
        memtap_sample();
        usleep(20 * PAUSE_US);
    }
    if (argc > 1 && !strcmp(argv[1], "fork")) {
        int status = 0;
        pid_t child = fork();
        if (!child)
            return cudaMalloc(&second, 8 * MIB) != 0;
        if (waitpid(child, &status, 0) != child || status)
            return 2;
    }
    return cudaFree(first) != 0;
}
