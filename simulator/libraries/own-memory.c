/* SPDX-License-Identifier: Apache-2.0 */
/* Like NVIDIA's libraries, this obtains the driver's functions by its lookup, so a profiler sees
 * the calls. */
#include "own-memory.h"

#include <cuda.h>
#include <stdlib.h>
#include <string.h>

#include "api/lookup.h"
#include "core/device/device.h"

struct held {
    CUdeviceptr device[OWN_BLOCKS];
    CUstream streams[OWN_STREAMS];
    void *pinned;
};

enum { ASKED_VERSION = 12000 };

#define DRIVER(function, ...)                                                                      \
    ({                                                                                             \
        CUdriverProcAddressQueryResult status_;                                                    \
        void *found_;                                                                              \
        CUresult result_ =                                                                         \
            api_find_driver_function(#function, &found_, ASKED_VERSION, 0, &status_);              \
        result_ || !found_ ? CUDA_ERROR_NOT_INITIALIZED                                            \
                           : ((__typeof__(&function))(uintptr_t)found_)(__VA_ARGS__);              \
    })

void own_memory_give(void *handle)
{
    struct held *held = handle;
    if (!held)
        return;
    for (int i = 0; i < OWN_BLOCKS; i++)
        if (held->device[i])
            DRIVER(cuMemFree, held->device[i]);
    for (int i = 0; i < OWN_STREAMS; i++)
        if (held->streams[i])
            DRIVER(cuStreamDestroy, held->streams[i]);
    if (held->pinned)
        DRIVER(cuMemFreeHost, held->pinned);
    free(held);
}

static CUresult take(struct held *held, const struct own_memory *sizes)
{
    CUresult result = CUDA_SUCCESS;
    for (int i = 0; i < OWN_BLOCKS && !result; i++)
        if (sizes->device[i])
            result = DRIVER(cuMemAlloc, &held->device[i], sizes->device[i]);
    for (unsigned i = 0; i < sizes->streams && !result; i++)
        result = DRIVER(cuStreamCreate, &held->streams[i], CU_STREAM_NON_BLOCKING);
    if (sizes->pinned && !result)
        result = DRIVER(cuMemHostAlloc, &held->pinned, sizes->pinned, 0);
    return result;
}

int own_memory_take(const struct own_memory *sizes, void **handle)
{
    static const struct own_memory nothing;
    struct held *held = calloc(1, sizeof(*held));
    if (!sim_environment("CUDASIM_HANDLES", 1))
        sizes = &nothing;
    CUresult result = held ? take(held, sizes) : CUDA_ERROR_OUT_OF_MEMORY;
    if (result)
        own_memory_give(held);
    *handle = result ? NULL : held;
    return (int)result;
}

int own_memory_create(int device, size_t bytes, unsigned long long *handle)
{
    const CUmemAllocationProp wanted = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
    return (int)DRIVER(cuMemCreate, handle, bytes, &wanted, 0);
}

void own_memory_release(unsigned long long handle)
{
    DRIVER(cuMemRelease, handle);
}

size_t own_memory_workspace(void)
{
    int major = sim_device(sim_thread.device)->gpu->major;
    size_t mib = major == 9 || major == 10 ? 32 : major == 12 ? 12 : 4;
    return mib << 20;
}

enum { WORKSPACES = OWN_BLOCKS - 2 };

/*
 * Read CUBLAS_WORKSPACE_CONFIG, repeated ":SIZE:COUNT" in KiB, each a set of blocks. Return how
 * many there are; 0, also for invalid text, changes no block.
 */
static int read_workspaces(const char *text, size_t *blocks)
{
    size_t found[WORKSPACES] = {0};
    int n = 0;
    while (text && *text == ':' && n < WORKSPACES) {
        char *end;
        unsigned long size = strtoul(text + 1, &end, 10);
        unsigned long count = *end == ':' ? strtoul(end + 1, &end, 10) : 0;
        if (!size || !count || size > 1 << 24 || count > 1 << 10)
            return 0;
        found[n++] = (size_t)size * count << 10;
        text = end;
    }
    if (n)
        memcpy(blocks, found, sizeof(found));
    return n;
}

/*
 * Return the memory of a handle, as measured with cuBLAS 13.0 on an H100. Without the variable it
 * uses ":16:8:32768:2", twice the workspace that NVIDIA recommends for that card; that other cards
 * also use twice theirs is an estimate.
 */
struct own_memory own_memory_of_blas(void)
{
    struct own_memory own = {.device = {1024}};
    if (!read_workspaces(getenv("CUBLAS_WORKSPACE_CONFIG"), own.device + 1)) {
        own.device[1] = 8 * 16384;
        own.device[2] = 2 * own_memory_workspace();
    }
    return own;
}
