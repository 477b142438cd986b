/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdlib.h>

#include "say.h"
#include "trace.h"

/* Load the library, which may call CUDA itself; a second caller continues at once. */
void sim_inject(void)
{
    static _Atomic bool begun;
    void *library;
    int (*initialize)(void);
    if (begun || atomic_exchange(&begun, true))
        return;
    const char *path = getenv("CUDA_INJECTION64_PATH");
    if (path && *path) {
        library = dlopen(path, RTLD_NOW);
        initialize =
            library ? (int (*)(void))(uintptr_t)dlsym(library, "InitializeInjection") : NULL;
        if (initialize)
            initialize();
        else
            sim_print("CUDA_INJECTION64_PATH: %s", dlerror());
    }
    sim_report_resource(SIM_INIT_FINISHED, NULL, NULL);
}
