/* SPDX-License-Identifier: Apache-2.0 */
#include "cudart.h"
#include "cache.h"
#include "intern.h"
#include "real.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#define MOST_RUNTIMES 16

static struct mt_cudart runtimes[MOST_RUNTIMES];
static uint32_t n_runtimes;
static struct mt_cache callers; /* return address -> index in runtimes + 1 */

void *mt_scope_of(const void *caller)
{
    Dl_info info;
    struct link_map *module = NULL;
    if (!dladdr1(caller, &info, (void **)&module, RTLD_DL_LINKMAP) || !module)
        return NULL;
    return *module->l_name ? dlopen(module->l_name, RTLD_NOLOAD | RTLD_LAZY) : RTLD_NEXT;
}

/* Where a function stands in mt_cudart, and its name. */
static const struct {
    size_t offset;
    const char *symbol;
} functions[] = {
#define FUNCTION(name, symbol, library, result, parameters)                                        \
    {offsetof(struct mt_cudart, name), symbol},
    MT_CUDART_HOOKS(FUNCTION){offsetof(struct mt_cudart, get_device), "cudaGetDevice"}};

static void look_up(struct mt_cudart *runtime, void *scope)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *found = mt_real_dlsym(scope, functions[i].symbol);
        if (found && mt_is_ours(found))
            found = NULL;
        memcpy((char *)runtime + functions[i].offset, &found, sizeof found);
    }
}

/* Of the module of this address. The reference of a handle that helped is kept: what it gave must
 * not go away. */
static struct mt_cudart runtime_of_module(const void *address)
{
    struct mt_cudart runtime = {0};
    void *scope = mt_scope_of(address);
    if (scope)
        look_up(&runtime, scope);
    if (!runtime.cuda_malloc && scope && scope != RTLD_NEXT)
        dlclose(scope);
    return runtime;
}

static struct mt_cudart find_runtime(const void *caller)
{
    struct mt_cudart runtime = runtime_of_module(caller);
    if (runtime.cuda_malloc)
        return runtime;
    const void *any = mt_find_real("cudaMalloc", "libcudart.so.13");
    return any ? runtime_of_module(any) : runtime;
}

/* Its index + 1; 0: it is none, or there are too many. */
static uint32_t add_runtime(const struct mt_cudart *runtime)
{
    if (!runtime->cuda_malloc)
        return 0;
    for (uint32_t i = 0; i < n_runtimes; i++)
        if (!memcmp(&runtimes[i], runtime, sizeof *runtime))
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
