/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries of kernels: loaded code that belongs to no context. */
#include <errno.h>

#include "api.h"
#include "calls.h"
#include "core/process/module.h"

#ifdef SIM_DRIVER
typedef CUlibrary api_library;
typedef CUjit_option api_load_option;
typedef CUlibraryOption api_library_option;
#else
typedef cudaLibrary_t api_library;
typedef enum cudaJitOption api_load_option;
typedef enum cudaLibraryOption api_library_option;
#endif

/* Convert the error of a load: no such file, no memory. */
static api_result loaded(int error)
{
    return error == -ENOENT ? api_code(API_FILE_NOT_FOUND) : api_error(error);
}

api_result API(LibraryLoadData)(api_library *library, const void *code, api_load_option *options,
                                void **values, unsigned int count,
                                api_library_option *library_options, void **library_values,
                                unsigned int library_count)
{
    return API_CALL(
        cudaLibraryLoadData_v12060, cuLibraryLoadData,
        (library, code, options, values, count, library_options, library_values, library_count),
        loaded(sim_module_load(code, (struct sim_module **)library)));
}

api_result API(LibraryLoadFromFile)(api_library *library, const char *path,
                                    api_load_option *options, void **values, unsigned int count,
                                    api_library_option *library_options, void **library_values,
                                    unsigned int library_count)
{
    return API_CALL(
        cudaLibraryLoadFromFile_v12060, cuLibraryLoadFromFile,
        (library, path, options, values, count, library_options, library_values, library_count),
        loaded(sim_module_load_file(path, (struct sim_module **)library)));
}

api_result API(LibraryUnload)(api_library library)
{
    return API_CALL(cudaLibraryUnload_v12060, cuLibraryUnload, (library),
                    sim_module_unload((struct sim_module *)library) ? api_code(API_INVALID_HANDLE)
                                                                    : api_code(API_SUCCESS));
}
