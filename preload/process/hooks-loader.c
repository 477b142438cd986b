/* SPDX-License-Identifier: Apache-2.0 */
/* Check cached facts of native stacks: other code may be loaded at the addresses of unloaded code.
 */
#include "preload/hooks/hooks.h"
#include "preload/loader/find-real.h"
#include "preload/stacks/native-stack.h"

#include <dlfcn.h>

int mt_hook_dlclose(void *library)
{
    static int (*_Atomic real)(void *library);
    int (*close)(void *) = atomic_load(&real);
    if (!close) {
        *(void **)&close = mt_real_dlsym(RTLD_NEXT, "dlclose");
        atomic_store(&real, close);
    }
    int result = close(library);
    mt_native_check_images();
    return result;
}
