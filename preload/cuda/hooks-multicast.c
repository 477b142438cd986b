/* SPDX-License-Identifier: Apache-2.0 */
/* Multicast objects, to which several devices bind memory: NCCL's NVLink SHARP, PyTorch's symmetric
 * memory. */
#include "driver.h"
#include "multicast.h"

#define ASK MT_DRIVER_ASK

/* Make a call. device: -1: the call does not name one. */
static struct mt_cuda_call call_on(enum mt_cuda_api api, int device)
{
    return (struct mt_cuda_call){.api = api, .told = device + 1};
}

unsigned mt_hook_cu_multicast_create(uint64_t *object, const struct mt_multicast *wanted)
{
    unsigned result = ASK(cu_multicast_create, object, wanted);
    mt_cuda_allocated(call_on(MT_API_CU_MULTICAST_CREATE, -1), result, object,
                      wanted ? wanted->size : 0);
    return result;
}

unsigned mt_hook_cu_multicast_bind(uint64_t object, size_t at, uint64_t handle, size_t offset,
                                   size_t size, unsigned long long flags)
{
    unsigned result = ASK(cu_multicast_bind, object, at, handle, offset, size, flags);
    mt_cuda_bound(call_on(MT_API_CU_MULTICAST_BIND_MEM, -1), result, object + at, size, handle);
    return result;
}

unsigned mt_hook_cu_multicast_bind_v2(uint64_t object, int device, size_t at, uint64_t handle,
                                      size_t offset, size_t size, unsigned long long flags)
{
    unsigned result = ASK(cu_multicast_bind_v2, object, device, at, handle, offset, size, flags);
    mt_cuda_bound(call_on(MT_API_CU_MULTICAST_BIND_MEM, device), result, object + at, size, handle);
    return result;
}

unsigned mt_hook_cu_multicast_bind_address(uint64_t object, size_t at, uint64_t address,
                                           size_t size, unsigned long long flags)
{
    unsigned result = ASK(cu_multicast_bind_address, object, at, address, size, flags);
    mt_cuda_bound(call_on(MT_API_CU_MULTICAST_BIND_ADDRESS, -1), result, object + at, size,
                  address);
    return result;
}

unsigned mt_hook_cu_multicast_bind_address_v2(uint64_t object, int device, size_t at,
                                              uint64_t address, size_t size,
                                              unsigned long long flags)
{
    unsigned result = ASK(cu_multicast_bind_address_v2, object, device, at, address, size, flags);
    mt_cuda_bound(call_on(MT_API_CU_MULTICAST_BIND_ADDRESS, device), result, object + at, size,
                  address);
    return result;
}

unsigned mt_hook_cu_multicast_unbind(uint64_t object, int device, size_t at, size_t size)
{
    mt_cuda_unbinding(call_on(MT_API_CU_MULTICAST_UNBIND, device), object + at, size);
    return ASK(cu_multicast_unbind, object, device, at, size);
}
