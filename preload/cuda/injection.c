/* SPDX-License-Identifier: Apache-2.0 */
#include "injection.h"
#include "preload/loader/find-real.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int mt_own_path(char out[PATH_MAX], const char *name)
{
    static const char here;
    Dl_info info;
    if (!dladdr(&here, &info) || !realpath(info.dli_fname, out))
        return -ENOENT;
    char *slash = strrchr(out, '/') + 1;
    if (name && (size_t)snprintf(slash, (size_t)(out + PATH_MAX - slash), "%s", name) >=
                    (size_t)(out + PATH_MAX - slash))
        return -ENOENT;
    return 0;
}

bool mt_is_preloaded(void)
{
    void *found = mt_real_dlsym(RTLD_DEFAULT, "InitializeInjection");
    return found && mt_is_ours(found) && mt_is_ours(mt_real_dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
}

/* CUDA's driver loads its tool when it is initialized, NVTX at the first range. */
__attribute__((constructor)) static void ask_for_injection(void)
{
    char path[PATH_MAX];
    const char *wish = getenv("MEMTAP_CUPTI");
    bool wants_cuda = wish && !strcmp(wish, "on") && !getenv(MT_CUDA_INJECTION);
    bool wants_nvtx = !getenv(MT_NVTX_INJECTION) && mt_is_preloaded();
    if ((!wants_cuda && !wants_nvtx) || mt_own_path(path, NULL))
        return;
    if (wants_cuda)
        setenv(MT_CUDA_INJECTION, path, 0);
    if (wants_nvtx)
        setenv(MT_NVTX_INJECTION, path, 0);
}
