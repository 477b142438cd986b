/* SPDX-License-Identifier: Apache-2.0 */
#include "cudart.h"
#include "cache.h"
#include "intern.h"
#include "real.h"

#include <dlfcn.h>
#include <link.h>

#define MOST_RUNTIMES 16

static struct mt_cudart runtimes[MOST_RUNTIMES];
static uint32_t n_runtimes;
static struct mt_cache callers; /* return address -> index in runtimes + 1 */

/* A handle in whose scope the caller's own cudaMalloc stands: RTLD_NEXT for the program itself. */
static void *scope_of(const void *caller)
{
    Dl_info info;
    struct link_map *module = NULL;
    if (!dladdr1(caller, &info, (void **)&module, RTLD_DL_LINKMAP) || !module)
        return NULL;
    return *module->l_name ? dlopen(module->l_name, RTLD_NOLOAD | RTLD_LAZY) : RTLD_NEXT;
}

/* The reference of a handle that helped is kept: what it gave must not go away. */
static struct mt_cudart find_runtime(const void *caller)
{
    struct mt_cudart runtime = {NULL, NULL, NULL};
    void *scope = scope_of(caller);
    void *found = scope ? dlsym(scope, "cudaMalloc") : NULL;
    if (!found || mt_is_ours(found)) {
        if (scope && scope != RTLD_NEXT)
            dlclose(scope);
        *(void **)&runtime.malloc = mt_find_real("cudaMalloc", "libcudart.so.13");
        *(void **)&runtime.free = mt_find_real("cudaFree", "libcudart.so.13");
        *(void **)&runtime.get_device = mt_find_real("cudaGetDevice", "libcudart.so.13");
        return runtime;
    }
    *(void **)&runtime.malloc = found;
    *(void **)&runtime.free = dlsym(scope, "cudaFree");
    *(void **)&runtime.get_device = dlsym(scope, "cudaGetDevice");
    return runtime;
}

/* Its index + 1; 0: it is none, or there are too many. */
static uint32_t add_runtime(const struct mt_cudart *runtime)
{
    if (!runtime->malloc || !runtime->free || mt_is_ours(*(void *const *)&runtime->free))
        return 0;
    for (uint32_t i = 0; i < n_runtimes; i++)
        if (runtimes[i].malloc == runtime->malloc && runtimes[i].free == runtime->free)
            return i + 1;
    if (n_runtimes == MOST_RUNTIMES)
        return 0;
    runtimes[n_runtimes] = *runtime;
    return ++n_runtimes;
}

const struct mt_cudart *mt_cudart_of(const void *caller)
{
    struct mt_key key = {.a = (uint64_t)(uintptr_t)caller};
    uint32_t index = mt_cache_find(&callers, &key);
    if (!index) {
        struct mt_cudart runtime = find_runtime(caller); /* the loader's lock before ours */
        mt_intern_lock();
        index = mt_cache_find(&callers, &key);
        if (!index && (index = add_runtime(&runtime)))
            mt_cache_add(&callers, &key, index);
        mt_intern_unlock();
    }
    return index ? &runtimes[index - 1] : NULL;
}

void mt_cudart_reset(void)
{
    mt_cache_reset(&callers);
}
