/* SPDX-License-Identifier: Apache-2.0 */
#include "core/memory/vmm.h"
#include "driver.h"

static unsigned type_of(const struct sim_range *range)
{
    return range->kind & (SIM_HOST | SIM_REGISTERED) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

/* Return the range behind an address; in a reservation, the mapping, if there is one. */
static bool find(CUdeviceptr address, struct sim_range *range)
{
    if (!sim_find(driver_pointer(address), range))
        return false;
    return range->kind != SIM_RESERVED ||
           !sim_mapping_at(driver_pointer(address), &range->start, &range->size, &range->device);
}

static CUresult attribute_of(void *data, CUpointer_attribute attribute, CUdeviceptr address,
                             const struct sim_range *range)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)data = (CUcontext)&sim_device(range->device)->primary;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)data = type_of(range);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)data = address;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (type_of(range) == CU_MEMORYTYPE_DEVICE && range->kind != SIM_MANAGED)
            return CUDA_ERROR_INVALID_VALUE;
        *(void **)data = driver_pointer(address);
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        *(int *)data = 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *(unsigned long long *)data = range->id;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(int *)data = range->kind == SIM_MANAGED;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)data = range->device;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        *(int *)data = range->kind == SIM_DEVICE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *(CUdeviceptr *)data = (CUdeviceptr)range->start;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *(size_t *)data = range->size;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(int *)data = 1;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
    struct sim_range range;
    if (!data || !find(address, &range))
        return CUDA_ERROR_INVALID_VALUE;
    return attribute_of(data, attribute, address, &range);
}

/* Return attributes. For unknown memory every answer is zero, and no error. */
CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes, void **data,
                                CUdeviceptr address)
{
    struct sim_range range;
    if (!find(address, &range)) {
        for (unsigned i = 0; i < count; i++)
            if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
                *(int *)data[i] = CU_DEVICE_INVALID;
            else
                *(int *)data[i] = 0;
        return CUDA_SUCCESS;
    }
    for (unsigned i = 0; i < count; i++)
        if (attribute_of(data[i], attributes[i], address, &range))
            *(int *)data[i] = 0;
    return CUDA_SUCCESS;
}
