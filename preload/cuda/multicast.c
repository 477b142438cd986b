/* SPDX-License-Identifier: Apache-2.0 */
#include "multicast.h"
#include "preload/hooks/cuda-types.h"
#include "preload/loader/find-real.h"

/* Query the driver only for the device, which changes nothing. */
typedef unsigned properties_function(void *properties, uint64_t handle);
typedef unsigned attribute_function(void *out, int attribute, uint64_t address);

static int device_of_handle(uint64_t handle)
{
    union {
        struct mt_physical_properties properties;
        char room[256]; /* the driver's struct is longer, and may grow */
    } of = {.room = ""};
    properties_function *query;
    *(void **)&query = mt_find_real("cuMemGetAllocationPropertiesFromHandle", "libcuda.so.1");
    if (!query || query(&of, handle) || of.properties.location_type != MT_LOCATION_DEVICE)
        return -1;
    return of.properties.location;
}

static int device_of_address(uint64_t address)
{
    int device;
    attribute_function *query;
    *(void **)&query = mt_find_real("cuPointerGetAttribute", "libcuda.so.1");
    return query && !query(&device, MT_POINTER_DEVICE, address) ? device : -1;
}

static int device_of(const struct mt_cuda_call *call, uint64_t memory)
{
    MT_CUDA_INSIDE();
    return call->api == MT_API_CU_MULTICAST_BIND_MEM ? device_of_handle(memory)
                                                     : device_of_address(memory);
}

/* Name the memory of a device at a place in the object: each device has its own. No address has
 * this bit set. */
static uint64_t name_of(uint64_t place, int device)
{
    return 1ull << 63 | (uint64_t)(device & 0x7f) << 56 | (place & ((1ull << 56) - 1));
}

void mt_cuda_bound(struct mt_cuda_call call, unsigned result, uint64_t place, uint64_t size,
                   uint64_t memory)
{
    if (result)
        return;
    int device = call.device_plus_1 ? call.device_plus_1 - 1 : device_of(&call, memory);
    call.device_plus_1 = device + 1;
    mt_cuda_mapped(call, 0, name_of(place, device), size, memory);
}

void mt_cuda_unbinding(struct mt_cuda_call call, uint64_t place, uint64_t size)
{
    mt_cuda_unmapping(call, name_of(place, call.device_plus_1 - 1), size);
}
