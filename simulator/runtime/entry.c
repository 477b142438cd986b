/* SPDX-License-Identifier: Apache-2.0 */
/* Driver functions by name: like the real runtime, through the driver's own lookup. */
#include <dlfcn.h>
#include <stdatomic.h>

#include "runtime.h"

typedef int (*lookup_function)(const char *name, void **out, int version, unsigned long long flags,
                               int *status);

static lookup_function driver_lookup(void)
{
    static _Atomic(lookup_function) known;
    lookup_function lookup = known;
    void *driver;

    if (lookup)
        return lookup;
    driver = dlopen("libcuda.so.1", RTLD_LAZY);
    if (!driver)
        return NULL;
    lookup = (lookup_function)(uintptr_t)dlsym(driver, "cuGetProcAddress_v2");
    known = lookup;
    return lookup;
}

static cudaError_t find(const char *name, void **out, unsigned version, unsigned long long flags,
                        enum cudaDriverEntryPointQueryResult *result)
{
    lookup_function lookup = driver_lookup();
    int status = cudaDriverEntryPointSymbolNotFound, error;

    if (!lookup)
        return runtime_result(cudaErrorInsufficientDriver);
    error = lookup(name, out, (int)version, flags, &status);
    if (result)
        *result = (enum cudaDriverEntryPointQueryResult)status;
    return runtime_result((cudaError_t)error);
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
