/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA modules: loaded code of a context. */
#include <errno.h>

#include "api/calls.h"
#include "core/process/module.h"
#include "driver.h"

static CUresult load(CUmodule *out, const void *image)
{
    CUresult result = driver_enter();
    return result ? result : driver_result(sim_module_load(image, (struct sim_module **)out));
}

static CUresult load_file(CUmodule *out, const char *path)
{
    CUresult result = driver_enter();
    int error = result ? 0 : sim_module_load_file(path, (struct sim_module **)out);
    return error == -ENOENT ? CUDA_ERROR_FILE_NOT_FOUND : result ? result : driver_result(error);
}

CUresult cuModuleLoad(CUmodule *module, const char *path)
{
    return DRIVER_CALL(cuModuleLoad, (module, path), load_file(module, path));
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    return DRIVER_CALL(cuModuleLoadData, (module, image), load(module, image));
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count,
                            CUjit_option *options, void **values)
{
    return DRIVER_CALL(cuModuleLoadDataEx, (module, image, count, options, values),
                       load(module, image));
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
    return DRIVER_CALL(cuModuleLoadFatBinary, (module, image), load(module, image));
}

DRIVER_REPORTS(cuModuleUnload, (CUmodule module), (module))
{
    return sim_module_unload((struct sim_module *)module) ? CUDA_ERROR_INVALID_HANDLE
                                                          : CUDA_SUCCESS;
}
