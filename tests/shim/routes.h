/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For programs that make CUDA's calls by a ROUTE: how they get at the driver's functions, linked,
 * dlsym, lookup (cuGetProcAddress, as a static runtime does) or runtime
 * (cudaGetDriverEntryPointByVersion, as PyTorch does); and what a trace is to have of each call.
 */
#ifndef MT_TESTS_ROUTES_H
#define MT_TESTS_ROUTES_H

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define LOOK_UP_FLAGS CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM
#else
#define LOOK_UP_FLAGS CU_GET_PROC_ADDRESS_DEFAULT
#endif

#define MIB ((size_t)1 << 20)

static const char *route;

__attribute__((unused)) static void expect(const char *record, const char *api, size_t size,
                                           int result)
{
    if (result)
        printf("failed %s %d\n", api, result);
    else
        printf("%s %s %zu\n", record, api, size);
}

static void *look_up(const char *base, const char *symbol, void *linked)
{
    static void *driver;
    static CUresult (*get)(const char *, void **, int, cuuint64_t,
                           CUdriverProcAddressQueryResult *);
    void *found = linked;
    if (!driver)
        driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!strcmp(route, "dlsym"))
        found = dlsym(driver, symbol);
    if (!strcmp(route, "runtime"))
        cudaGetDriverEntryPointByVersion(base, &found, 12040, cudaEnableDefault, NULL);
    if (!strcmp(route, "lookup")) {
        if (!get)
            *(void **)&get = dlsym(driver, "cuGetProcAddress_v2");
        get(base, &found, 12040, LOOK_UP_FLAGS, NULL);
    }
    if (!found)
        printf("failed look-up of %s\n", base);
    return found;
}

#define TEXT(name) #name
#define SYMBOL(name) TEXT(name) /* with the suffix that the header gives it */
#define DRIVER(base, name)                                                                         \
    ((__typeof__(&name))(uintptr_t)look_up(base, SYMBOL(name), (void *)(uintptr_t)name))

#endif
