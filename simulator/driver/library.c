/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries of kernels: loaded code that does not belong to a context. */
#include <errno.h>

#include "api/calls.h"
#include "core/process/module.h"
#include "driver.h"

/* Convert the error of a load: no such file, no memory. */
static CUresult loaded(int error)
{
    return error == -ENOENT ? CUDA_ERROR_FILE_NOT_FOUND : driver_result(error);
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *options,
                           void **values, unsigned int count, CUlibraryOption *library_options,
                           void **library_values, unsigned int library_count)
{
    return DRIVER_CALL(
        cuLibraryLoadData,
        (library, code, options, values, count, library_options, library_values, library_count),
        loaded(sim_module_load(code, (struct sim_module **)library)));
}

CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *path, CUjit_option *options,
                               void **values, unsigned int count, CUlibraryOption *library_options,
                               void **library_values, unsigned int library_count)
{
    return DRIVER_CALL(
        cuLibraryLoadFromFile,
        (library, path, options, values, count, library_options, library_values, library_count),
        loaded(sim_module_load_file(path, (struct sim_module **)library)));
}

CUresult cuLibraryUnload(CUlibrary library)
{
    return DRIVER_CALL(cuLibraryUnload, (library),
                       sim_module_unload((struct sim_module *)library) ? CUDA_ERROR_INVALID_HANDLE
                                                                       : CUDA_SUCCESS);
}
