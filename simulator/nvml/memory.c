/* SPDX-License-Identifier: Apache-2.0 */
#include "nvml.h"

#include <unistd.h>

/* Return the board's memory that programs cannot get; 0 if the total was made up. */
static uint64_t reserved(const struct sim_device *device)
{
    return device->total == device->gpu->memory ? device->gpu->board - device->gpu->memory : 0;
}

int nvmlDeviceGetMemoryInfo_v2(const void *handle, struct nvml_memory_v2 *memory)
{
    int ordinal;
    const struct sim_device *device = nvml_device(handle, &ordinal);
    if (!device)
        return NVML_INVALID_ARGUMENT;
    memory->total = device->total + reserved(device);
    memory->reserved = reserved(device);
    memory->used = device->used;
    memory->free = device->total - device->used;
    return NVML_SUCCESS;
}

/* Return the memory. Version 1 counts reserved memory as used. */
int nvmlDeviceGetMemoryInfo(const void *handle, struct nvml_memory *memory)
{
    struct nvml_memory_v2 newer;
    int result = nvmlDeviceGetMemoryInfo_v2(handle, &newer);
    if (!result)
        *memory = (struct nvml_memory){
            .total = newer.total, .used = newer.used + newer.reserved, .free = newer.free};
    return result;
}

/*
 * Find the processes on a device: this one, and one that represents all others (CUDASIM_OTHERS).
 * *count: the caller's room on entry, then the number of processes. Return a code.
 */
static int find_processes(const void *handle, unsigned *count, const void *to,
                          struct nvml_process_v1 found[2])
{
    int ordinal;
    unsigned room = to ? *count : 0;
    const struct sim_device *device = nvml_device(handle, &ordinal);
    if (!device)
        return NVML_INVALID_ARGUMENT;
    uint64_t own = device->used - device->others - device->unowned;
    *count = 0;
    if (own)
        found[(*count)++] = (struct nvml_process_v1){(unsigned)getpid(), own};
    if (device->others)
        found[(*count)++] = (struct nvml_process_v1){(unsigned)getppid(), device->others};
    return *count > room ? NVML_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses(const void *handle, unsigned *count,
                                         struct nvml_process_v1 *processes)
{
    struct nvml_process_v1 found[2];
    int code = find_processes(handle, count, processes, found);
    for (unsigned i = 0; !code && i < *count; i++)
        processes[i] = found[i];
    return code;
}

int nvmlDeviceGetComputeRunningProcesses_v2(const void *handle, unsigned *count,
                                            struct nvml_process_v2 *processes)
{
    struct nvml_process_v1 found[2];
    int code = find_processes(handle, count, processes, found);
    for (unsigned i = 0; !code && i < *count; i++)
        processes[i] = (struct nvml_process_v2){found[i].pid, found[i].used, ~0u, ~0u};
    return code;
}
