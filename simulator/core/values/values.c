/* SPDX-License-Identifier: Apache-2.0 */
#include "values.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "say.h"

static _Atomic bool new_code = true;

typedef bool start_function(size_t limit);

/* Load the library next to this one. NULL: it is missing. */
static start_function *load(void)
{
    char path[PATH_MAX];
    Dl_info self;
    const char *end;
    if (!dladdr((void *)(uintptr_t)sim_start_values, &self) ||
        !(end = strrchr(self.dli_fname, '/')))
        return NULL;
    snprintf(path, sizeof(path), "%.*s/libcudasim-values.so", (int)(end - self.dli_fname),
             self.dli_fname);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        sim_verbose("%s", dlerror());
    return library ? (start_function *)(uintptr_t)dlsym(library, "sim_values_start") : NULL;
}

static bool has_pytorch(void)
{
    void *library = dlopen("libtorch_cuda.so", RTLD_NOLOAD | RTLD_LAZY);
    if (library)
        dlclose(library);
    return library != NULL;
}

static void start(void)
{
    static _Atomic int failed;
    size_t limit = sim_environment_size("CUDASIM_VALUES", 64 << 10);
    if (failed)
        return;
    start_function *function = load();
    if (function && function(limit))
        return;
    failed = 1;
    sim_print("small values are not simulated: %s",
              function ? "this release of PyTorch is not supported"
                       : "cannot load the simulator's library; was memtap rebuilt or moved "
                         "while the program ran?");
}

void sim_start_values(void)
{
    if (SIM_UNLIKELY(atomic_load_explicit(&new_code, memory_order_relaxed)) && has_pytorch() &&
        atomic_exchange(&new_code, false))
        start();
}

void sim_values_new_code(void)
{
    atomic_store(&new_code, true);
}
