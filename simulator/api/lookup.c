/* SPDX-License-Identifier: Apache-2.0 */
#include "lookup.h"

#include <dlfcn.h>
#include <stdint.h>

CUresult api_find_driver_function(const char *name, void **out, int version, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult *status)
{
    static void *_Atomic known;
    void *lookup = known, *driver;
    if (!lookup) {
        driver = dlopen("libcuda.so.1", RTLD_LAZY);
        lookup = driver ? dlsym(driver, "cuGetProcAddress_v2") : NULL;
        if (!lookup)
            return CUDA_ERROR_NOT_INITIALIZED;
        known = lookup;
    }
    return ((__typeof__(&cuGetProcAddress))(uintptr_t)lookup)(name, out, version, flags, status);
}
