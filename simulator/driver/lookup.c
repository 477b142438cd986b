/* SPDX-License-Identifier: Apache-2.0 */
/* cuGetProcAddress: functions by base name and the CUDA version of the caller. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"
#include "say.h"

/*
 * The generated table names functions of every type; only their addresses matter here, and the
 * macros of cuda.h must not rename them.
 */
#define SIM_LOOKUP(base, since, symbol) extern char sim_address_of_##symbol __asm__(#symbol);
#include "lookup.inc"
#undef SIM_LOOKUP

static const struct {
    const char *name; /* sorted */
    int since;        /* within a name newest first */
    const char *address;
} table[] = {
#define SIM_LOOKUP(base, since, symbol) {#base, since, &sim_address_of_##symbol},
#include "lookup.inc"
};

static const size_t table_size = sizeof(table) / sizeof(table[0]);

/* Return the first row with this name, table_size if there is none. */
static size_t first_of(const char *name)
{
    size_t low = 0, high = table_size;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(table[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < table_size && !strcmp(table[low].name, name) ? low : table_size;
}

CUresult driver_find(const char *name, void **out, int version,
                     CUdriverProcAddressQueryResult *status)
{
    *out = NULL;
    if (version > SIM_DRIVER_VERSION)
        return CUDA_ERROR_INVALID_VALUE;
    size_t row = first_of(name);
    *status = row < table_size ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                               : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    for (; row < table_size && !strcmp(table[row].name, name); row++)
        if (table[row].since <= version) {
            *out = (void *)(uintptr_t)table[row].address;
            *status = CU_GET_PROC_ADDRESS_SUCCESS;
            return CUDA_SUCCESS;
        }
    sim_verbose("cuGetProcAddress: there is no %s for CUDA %d", name, version);
    return CUDA_SUCCESS;
}

/* Refuse a table. NVIDIA's runtime queries tables of NVIDIA's driver, and checks that they are its
 * own. For the user's own cuDNN this is not reported: its runtime is linked in, and not needed to
 * answer for a card described by its properties. */
CUresult cuGetExportTable(const void **out, const CUuuid *id)
{
    static _Atomic int reported;
    Dl_info caller = {0};
    const char *path;
    (void)id;
    path = dladdr(__builtin_return_address(0), &caller) && caller.dli_fname ? caller.dli_fname
                                                                            : "the program";
    bool is_queried = sim_queried_folder &&
                      !strncmp(path, sim_queried_folder, strlen(sim_queried_folder)) &&
                      path[strlen(sim_queried_folder)] == '/';
    if (!is_queried && !atomic_exchange_explicit(&reported, 1, memory_order_relaxed))
        sim_print(
            "%s has NVIDIA's CUDA runtime (or CUPTI) linked in, which works only with NVIDIA's "
            "driver: its CUDA calls fail here. Use a build that loads libcudart.so (if it is your "
            "own: nvcc --cudart shared), or record it on a GPU",
            path);
    if (out)
        *out = NULL;
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuGetProcAddress_v2(const char *name, void **out, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status)
{
    CUdriverProcAddressQueryResult unused;
    (void)flags;
    if (!name || !out)
        return CUDA_ERROR_INVALID_VALUE;
    return driver_find(name, out, version, status ? status : &unused);
}

/* The form from before CUDA 12, whose name cuda.h gives to the newer one. */
#undef cuGetProcAddress
CUresult cuGetProcAddress(const char *name, void **out, int version, cuuint64_t flags);
CUresult cuGetProcAddress(const char *name, void **out, int version, cuuint64_t flags)
{
    CUdriverProcAddressQueryResult status;
    CUresult result;
    (void)flags;
    if (!name || !out)
        return CUDA_ERROR_INVALID_VALUE;
    result = driver_find(name, out, version, &status);
    return result || !status ? result : CUDA_ERROR_NOT_FOUND;
}
