/* SPDX-License-Identifier: Apache-2.0 */
/* Driver functions by name: like the real runtime, through the driver's own lookup. */
#include <stdatomic.h>

#include "api/lookup.h"
#include "runtime.h"

static int no_driver(void)
{
    return cudaErrorInsufficientDriver;
}

static cudaError_t look_up(const char *name, void **out, int version, unsigned long long flags,
                           CUdriverProcAddressQueryResult *status)
{
    CUresult result = api_find_driver_function(name, out, version, flags, status);
    return result == CUDA_ERROR_NOT_INITIALIZED ? cudaErrorInsufficientDriver : (cudaError_t)result;
}

void *runtime_find_driver(const char *name, int version, void *_Atomic *known)
{
    CUdriverProcAddressQueryResult status;
    void *found;
    if (look_up(name, &found, version ? version : SIM_DRIVER_VERSION, 0, &status) || !found)
        return (void *)(uintptr_t)no_driver;
    atomic_store_explicit(known, found, memory_order_release);
    return found;
}

static cudaError_t find(const char *name, void **out, unsigned version, unsigned long long flags,
                        enum cudaDriverEntryPointQueryResult *result)
{
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    cudaError_t error = look_up(name, out, (int)version, flags, &status);
    if (result && error != cudaErrorInsufficientDriver)
        *result = (enum cudaDriverEntryPointQueryResult)status;
    return runtime_result(error);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **out, unsigned int version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *result)
{
    return find(name, out, version, flags, result);
}

cudaError_t cudaGetDriverEntryPoint(const char *name, void **out, unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult *result)
{
    return find(name, out, SIM_RUNTIME_VERSION, flags, result);
}
