/* SPDX-License-Identifier: Apache-2.0 */
#include "nvml.h"

#include <unistd.h>

int nvmlDeviceGetMemoryInfo(const void *handle, struct nvml_memory *memory);
int nvmlDeviceGetMemoryInfo_v2(const void *handle, struct nvml_memory_v2 *memory);
int nvmlDeviceGetComputeRunningProcesses(const void *handle, unsigned *count,
                                         struct nvml_process_v1 *processes);
int nvmlDeviceGetComputeRunningProcesses_v2(const void *handle, unsigned *count,
                                            struct nvml_process_v2 *processes);
int nvmlDeviceGetComputeRunningProcesses_v3(const void *handle, unsigned *count,
                                            struct nvml_process_v2 *processes);

/* What the board holds beyond what programs can get; none when the size is a made-up one. */
static uint64_t reserved(const struct sim_device *device)
{
    return device->total == device->gpu->memory ? device->gpu->board - device->gpu->memory : 0;
}

/* Version 1 counts what is reserved as used. */
int nvmlDeviceGetMemoryInfo(const void *handle, struct nvml_memory *memory)
{
    int ordinal;
    const struct sim_device *device = nvml_device(handle, &ordinal);

    if (!device)
        return NVML_INVALID_ARGUMENT;
    memory->total = device->total + reserved(device);
    memory->used = device->used + reserved(device);
    memory->free = memory->total - memory->used;
    return NVML_SUCCESS;
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

/*
 * The only process that we know of is the own one. Returns whether it uses the device; checks the
 * caller's room first.
 */
static int own_process(const void *handle, unsigned *count, const void *processes, uint64_t *used)
{
    int ordinal;
    unsigned room = *count;
    const struct sim_device *device = nvml_device(handle, &ordinal);

    if (!device)
        return NVML_INVALID_ARGUMENT;
    *used = device->used;
    *count = *used ? 1 : 0;
    return *count && (!room || !processes) ? NVML_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses(const void *handle, unsigned *count,
                                         struct nvml_process_v1 *processes)
{
    uint64_t used;
    int code = own_process(handle, count, processes, &used);

    if (!code && *count)
        processes[0] = (struct nvml_process_v1){(unsigned)getpid(), used};
    return code;
}

static int running_v2(const void *handle, unsigned *count, struct nvml_process_v2 *processes)
{
    uint64_t used;
    int code = own_process(handle, count, processes, &used);

    if (!code && *count)
        processes[0] = (struct nvml_process_v2){(unsigned)getpid(), used, ~0u, ~0u};
    return code;
}

int nvmlDeviceGetComputeRunningProcesses_v2(const void *handle, unsigned *count,
                                            struct nvml_process_v2 *processes)
{
    return running_v2(handle, count, processes);
}

int nvmlDeviceGetComputeRunningProcesses_v3(const void *handle, unsigned *count,
                                            struct nvml_process_v2 *processes)
{
    return running_v2(handle, count, processes);
}
