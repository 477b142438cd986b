/* SPDX-License-Identifier: Apache-2.0 */
#include "cudart.h"
#include "preload/host/no-signals.h"
#include "preload/loader/find-real.h"
#include "preload/loader/loaded.h"
#include "preload/record/cache.h"
#include "preload/record/intern.h"
#include "preload/record/recorder.h"
#include "trace-format/likely.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

#define MOST_RUNTIMES 16

/* Runtimes are added without a lock, because a signal handler may interrupt. One runtime may then
 * be in here twice. */
static struct mt_cudart runtimes[MOST_RUNTIMES];
static _Atomic bool is_there[MOST_RUNTIMES];
static _Atomic uint32_t n_used; /* places */
/* The indices + 1 of the runtimes whose functions were looked up, by entry. */
static _Atomic uint32_t looked_up[MT_CUDART_WAYS];
_Thread_local char mt_cudart_way;
/* A map from address to index in runtimes + 1. It is valid in a forked child, too, where the loader
 * may be locked and must not be called again. */
static struct mt_cache callers;
/* The last callers: 48 bits of address, and above them callers' value. */
#define NEAR_CALLERS 64
#define ADDRESS_BITS 48
static _Atomic uint64_t near_callers[NEAR_CALLERS];

/* Return the image with this address, or NULL. */
static struct link_map *image_of(const void *address)
{
    Dl_info info;
    struct link_map *image = NULL;
    return dladdr1(address, &info, (void **)&image, RTLD_DL_LINKMAP) ? image : NULL;
}

/* Acquire another reference to an image; NULL for the program itself, which needs none. */
static void *hold(const struct link_map *image)
{
    return image && *image->l_name ? mt_loaded_open(image->l_name, RTLD_NOLOAD | RTLD_LAZY) : NULL;
}

void *mt_scope_of(const void *caller)
{
    struct link_map *image = image_of(caller);
    if (image && mt_loader_is_broken())
        return *image->l_name ? image : RTLD_NEXT;
    void *scope = hold(image);
    return !image ? NULL : scope ? scope : RTLD_NEXT;
}

void *mt_scope_symbol(void *scope, const char *symbol)
{
    return scope != RTLD_NEXT && mt_loader_is_broken() ? mt_loaded_symbol(scope, symbol)
                                                       : mt_real_dlsym(scope, symbol);
}

/* A function's place in struct mt_cudart, and its name. */
static const struct {
    size_t offset;
    const char *symbol;
} functions[] = {
#define FUNCTION(name, symbol, library, result, parameters)                                        \
    {offsetof(struct mt_cudart, name), symbol},
    MT_CUDART_HOOKS(FUNCTION){offsetof(struct mt_cudart, get_device), "cudaGetDevice"}};

static bool is_cudart(const void *function)
{
    static const char name[] = "libcudart";
    const struct link_map *image = image_of(function);
    const char *slash = image ? strrchr(image->l_name, '/') : NULL;
    return slash && !strncmp(slash + 1, name, sizeof name - 1);
}

/* Return whether the program's look-ups find us, as they do unless memtap attach has loaded us. */
static bool is_preloaded(void)
{
    void *program = mt_loaded_open(NULL, RTLD_LAZY);
    return !program || mt_is_ours(mt_real_dlsym(program, "memtap_mark"));
}

/* Return what the caller would have got without us. Other libraries may be preloaded over CUDA, as
 * we are. Callers would have got one that comes after us. One that comes before us is the caller
 * now, and wants the next one. */
static void *find(void *scope, const char *symbol)
{
    void *next = mt_real_dlsym(RTLD_NEXT, symbol);
    if (next && !is_cudart(next))
        return next;
    void *found = scope == RTLD_NEXT ? next : mt_scope_symbol(scope, symbol);
    if (found &&
        (mt_is_ours(found) || (found == mt_real_dlsym(RTLD_DEFAULT, symbol) && is_preloaded())))
        found = next;
    return found;
}

/* Look up all functions in a scope; NULL: none. */
static struct mt_cudart runtime_in(void *scope, void *(*look_up)(void *scope, const char *symbol))
{
    struct mt_cudart runtime = {0};
    for (size_t i = 0; scope && i < sizeof functions / sizeof *functions; i++) {
        void *found = look_up(scope, functions[i].symbol);
        memcpy((char *)&runtime + functions[i].offset, &found, sizeof found);
    }
    return runtime;
}

/* Return a runtime's index + 1, or 0 if it is unknown. */
static uint32_t index_of(const struct mt_cudart *runtime)
{
    for (uint32_t i = 0; i < n_used; i++)
        if (is_there[i] && !memcmp(&runtimes[i], runtime, sizeof *runtime))
            return i + 1;
    return 0;
}

/* Find the runtime of this address's image. Keep the runtime's library loaded; the image may be
 * unloaded. */
static struct mt_cudart runtime_of_image(const void *address)
{
    void *scope = mt_scope_of(address);
    struct mt_cudart runtime = runtime_in(scope, find);
    if (runtime.cuda_malloc && !index_of(&runtime))
        hold(image_of((const void *)runtime.cuda_malloc));
    if (scope && scope != RTLD_NEXT && !mt_loader_is_broken())
        dlclose(scope);
    return runtime;
}

static struct mt_cudart find_runtime(const void *caller)
{
    static const char *const names[] = {"libcudart.so.13", "libcudart.so.12"};
    struct mt_cudart runtime = runtime_of_image(caller);
    for (size_t i = 0; !runtime.cuda_malloc && i < sizeof names / sizeof *names; i++) {
        const void *any = mt_find_real("cudaMalloc", names[i]);
        if (any)
            runtime = runtime_of_image(any);
    }
    return runtime;
}

/* Add a runtime. Return its index + 1, or 0 if it is not one or there are too many. */
static uint32_t add_runtime(const struct mt_cudart *runtime)
{
    uint32_t index = runtime->cuda_malloc ? index_of(runtime) : 0, at = n_used;
    if (index || !runtime->cuda_malloc)
        return index;
    do
        if (at == MOST_RUNTIMES)
            return 0;
    while (!atomic_compare_exchange_weak(&n_used, &at, at + 1));
    runtimes[at] = *runtime;
    is_there[at] = true;
    return at + 1;
}

/* Return the runtime of this function's own image, even with libraries preloaded over it. */
static struct mt_cudart runtime_with(const void *function)
{
    void *scope = is_cudart(function) ? mt_scope_of(function) : NULL; /* kept for good */
    return runtime_in(scope, mt_scope_symbol);
}

static bool has(const struct mt_cudart *runtime, const char *symbol, const void *found)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!strcmp(functions[i].symbol, symbol))
            return !memcmp((const char *)runtime + functions[i].offset, &found, sizeof found);
    return false;
}

/* Return the entry of the runtime with this function, if it was looked up before; else 0. */
static unsigned find_way(const char *symbol, const void *found)
{
    for (unsigned way = 1; way <= MT_CUDART_WAYS && looked_up[way - 1]; way++)
        if (has(&runtimes[looked_up[way - 1] - 1], symbol, found))
            return way;
    return 0;
}

static void add_way(uint32_t index)
{
    for (unsigned way = 0; index && way < MT_CUDART_WAYS; way++) {
        uint32_t there = 0;
        if (atomic_compare_exchange_strong(&looked_up[way], &there, index) || there == index)
            return;
    }
}

unsigned mt_cudart_way_of(const char *symbol, const void *found)
{
    unsigned way = find_way(symbol, found);
    if (way || !is_cudart(found))
        return way;
    MT_UNINTERRUPTED();
    struct mt_cudart runtime = runtime_with(found);
    add_way(add_runtime(&runtime));
    return find_way(symbol, found);
}

/* Find and keep a new caller's runtime. Return its index + 1, or 0. */
static uint32_t meet(const struct mt_key *caller)
{
    MT_UNINTERRUPTED();
    struct mt_cudart runtime = find_runtime((const void *)(uintptr_t)caller->a);
    uint32_t index = add_runtime(&runtime);
    mt_recorder_expect_fork();
    if (index && mt_intern_try_lock()) { /* otherwise search again next time */
        if (!mt_cache_find(&callers, caller))
            mt_cache_add(&callers, caller, index);
        mt_intern_unlock();
    }
    return index;
}

/* Return an entry for near_callers, with 0 above the address if there is no runtime. */
static __attribute__((noinline)) uint64_t look_up(const void *caller, _Atomic uint64_t *place)
{
    struct mt_key key = {.a = (uint64_t)(uintptr_t)caller};
    uint32_t index = mt_cache_find(&callers, &key);
    if (!index)
        index = meet(&key);
    uint64_t near = key.a | (uint64_t)index << ADDRESS_BITS;
    if (index)
        atomic_store_explicit(place, near, memory_order_release);
    return near;
}

const struct mt_cudart *mt_cudart_of(const void *caller)
{
    unsigned way = (unsigned)mt_cudart_way;
    if (MT_UNLIKELY(way)) {
        mt_cudart_way = 0;
        return &runtimes[looked_up[way - 1] - 1];
    }
    _Atomic uint64_t *place = &near_callers[(uintptr_t)caller % NEAR_CALLERS];
    uint64_t near = atomic_load_explicit(place, memory_order_acquire);
    if (MT_UNLIKELY((near ^ (uintptr_t)caller) << (64 - ADDRESS_BITS)))
        near = look_up(caller, place);
    return near >> ADDRESS_BITS ? &runtimes[(near >> ADDRESS_BITS) - 1] : NULL;
}
