/* SPDX-License-Identifier: Apache-2.0 */
#include <cuda.h>
#include <limits.h>
#include <stdbool.h>

#include "device.h"

#define A(name) CU_DEVICE_ATTRIBUTE_##name

/* Attributes with the same value on every card of the catalogue. */
static const struct {
    int attribute, value;
} common[] = {
    {A(MAX_THREADS_PER_BLOCK), 1024},
    {A(MAX_BLOCK_DIM_X), 1024},
    {A(MAX_BLOCK_DIM_Y), 1024},
    {A(MAX_BLOCK_DIM_Z), 64},
    {A(MAX_GRID_DIM_X), INT_MAX},
    {A(MAX_GRID_DIM_Y), 65535},
    {A(MAX_GRID_DIM_Z), 65535},
    {A(MAX_SHARED_MEMORY_PER_BLOCK), 48 << 10},
    {A(TOTAL_CONSTANT_MEMORY), 64 << 10},
    {A(WARP_SIZE), 32},
    {A(MAX_PITCH), INT_MAX},
    {A(MAX_REGISTERS_PER_BLOCK), 65536},
    {A(MAX_REGISTERS_PER_MULTIPROCESSOR), 65536},
    {A(TEXTURE_ALIGNMENT), 512},
    {A(TEXTURE_PITCH_ALIGNMENT), 32},
    {A(SURFACE_ALIGNMENT), 512},
    {A(GPU_OVERLAP), 1},
    {A(CAN_MAP_HOST_MEMORY), 1},
    {A(MAXIMUM_TEXTURE1D_WIDTH), 131072},
    {A(MAXIMUM_TEXTURE2D_WIDTH), 131072},
    {A(MAXIMUM_TEXTURE2D_HEIGHT), 65536},
    {A(MAXIMUM_TEXTURE3D_WIDTH), 16384},
    {A(MAXIMUM_TEXTURE3D_HEIGHT), 16384},
    {A(MAXIMUM_TEXTURE3D_DEPTH), 16384},
    {A(MAXIMUM_TEXTURE1D_LINEAR_WIDTH), 1 << 28},
    {A(CONCURRENT_KERNELS), 1},
    {A(ASYNC_ENGINE_COUNT), 3},
    {A(UNIFIED_ADDRESSING), 1},
    {A(STREAM_PRIORITIES_SUPPORTED), 1},
    {A(GLOBAL_L1_CACHE_SUPPORTED), 1},
    {A(LOCAL_L1_CACHE_SUPPORTED), 1},
    {A(MANAGED_MEMORY), 1},
    {A(SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO), 2},
    {A(CONCURRENT_MANAGED_ACCESS), 1},
    {A(COMPUTE_PREEMPTION_SUPPORTED), 1},
    {A(CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM), 1},
    {A(COOPERATIVE_LAUNCH), 1},
    {A(HOST_REGISTER_SUPPORTED), 1},
    {A(VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED), 1},
    {A(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED), 1},
    {A(RESERVED_SHARED_MEMORY_PER_BLOCK), 1024},
    {A(READ_ONLY_HOST_REGISTER_SUPPORTED), 1},
    {A(MEMORY_POOLS_SUPPORTED), 1},
    {A(CAN_USE_64_BIT_STREAM_MEM_OPS), 1},
    {A(CAN_USE_STREAM_WAIT_VALUE_NOR), 1},
    {A(UNIFIED_FUNCTION_POINTERS), 1},
    {A(IPC_EVENT_SUPPORTED), 1},
    {A(MEM_SYNC_DOMAIN_COUNT), 1},
    {A(NUMA_ID), -1},
    {A(HOST_NUMA_ID), 0},
};

static bool from_catalogue(const struct sim_gpu *gpu, int attribute, int *value)
{
    switch (attribute) {
    case A(COMPUTE_CAPABILITY_MAJOR):
        *value = gpu->major;
        return true;
    case A(COMPUTE_CAPABILITY_MINOR):
        *value = gpu->minor;
        return true;
    case A(MULTIPROCESSOR_COUNT):
        *value = gpu->sms;
        return true;
    case A(CLOCK_RATE):
        *value = gpu->core_khz;
        return true;
    case A(MEMORY_CLOCK_RATE):
        *value = gpu->memory_khz;
        return true;
    case A(GLOBAL_MEMORY_BUS_WIDTH):
        *value = gpu->bus_bits;
        return true;
    case A(L2_CACHE_SIZE):
        *value = (int)gpu->l2;
        return true;
    case A(MAX_THREADS_PER_MULTIPROCESSOR):
        *value = gpu->threads_per_sm;
        return true;
    case A(MAX_BLOCKS_PER_MULTIPROCESSOR):
        *value = gpu->blocks_per_sm;
        return true;
    case A(MAX_SHARED_MEMORY_PER_MULTIPROCESSOR):
        *value = (int)gpu->shared_per_sm;
        return true;
    case A(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN):
        *value = (int)gpu->shared_per_block;
        return true;
    default:
        return false;
    }
}

/* Return what cards of a generation have: those for data centres have ECC, and newer ones more
 * features. */
static bool from_generation(const struct sim_gpu *gpu, int attribute, int *value)
{
    switch (attribute) {
    case A(ECC_ENABLED):
        *value = gpu->board != gpu->memory && gpu->bus_bits > 384;
        return true;
    case A(MAX_PERSISTING_L2_CACHE_SIZE):
        *value = gpu->major >= 8 ? (int)(gpu->l2 / 8 * 5) : 0;
        return true;
    case A(MAX_ACCESS_POLICY_WINDOW_SIZE):
        *value = gpu->major >= 8 ? 128 << 20 : 0;
        return true;
    case A(CLUSTER_LAUNCH):
    case A(TENSOR_MAP_ACCESS_SUPPORTED):
        *value = gpu->major >= 9;
        return true;
    default:
        return false;
    }
}

int sim_device_attribute(const struct sim_device *device, int attribute)
{
    int value;
    if (from_catalogue(device->gpu, attribute, &value) ||
        from_generation(device->gpu, attribute, &value))
        return value;
    if (attribute == A(PCI_BUS_ID))
        return sim_device_pci_bus(sim_device_ordinal(device->primary.device));
    for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
        if (common[i].attribute == attribute)
            return common[i].value;
    return 0;
}

int sim_occupancy(const struct sim_device *device, int threads, size_t shared)
{
    const struct sim_gpu *gpu = device->gpu;
    int blocks = gpu->blocks_per_sm;
    int warps = threads > 0 ? (threads + 31) / 32 : 1;
    if (gpu->threads_per_sm / 32 / warps < blocks)
        blocks = gpu->threads_per_sm / 32 / warps;
    if (gpu->shared_per_sm / (shared + 1024) < (uint64_t)blocks)
        blocks = (int)(gpu->shared_per_sm / (shared + 1024));
    return blocks > 0 ? blocks : 1;
}
