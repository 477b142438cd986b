/* SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"
#include "preload/host/no-signals.h"
#include "preload/loader/find-real.h"
#include "preload/loader/loaded.h"
#include "preload/uses/uses.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

struct mt_driver_functions mt_driver;

static const struct row {
    const char *base, *symbol;
    unsigned since, until;
    void *hook;
    void *_Atomic *real;
} rows[MT_DRIVER_COUNT] = {
#define ROW(name, base, symbol, since, until, parameters)                                          \
    {base, symbol, since, until, (void *)mt_hook_##name, (void *_Atomic *)(void *)&mt_driver.name},
    MT_DRIVER_HOOKS(ROW)};

/* Return whether the name has the suffix of calls with a stream, or of calls without one. */
static bool is_per_thread(const struct row *row)
{
    const char *suffix = strrchr(row->symbol, '_');
    return suffix && (!strcmp(suffix, "_ptsz") || !strcmp(suffix, "_ptds"));
}

/* Keep the driver loaded: a program may unload it and load it again at another address. */
static void hold_library_of(const void *function)
{
    static _Atomic bool is_held;
    Dl_info info;
    if (!atomic_exchange(&is_held, true) && dladdr(function, &info))
        mt_loaded_open(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY); /* never closed */
}

/* Return what callers linked to the function would get without us, which may differ from what was
 * looked up: a layer over the driver that is preloaded after us. They have no way around our hook,
 * so they get it, and the lookup does without. */
static void *for_linked(const struct row *row, void *found)
{
    void *next = mt_real_dlsym(RTLD_NEXT, row->symbol);
    return next && !mt_are_of_one_library(next, found) ? next : found;
}

/* Return the hook if it calls what was found: the first pointer stays, since a driver may have
 * several for one function. But another library's function of that name is a layer over the driver,
 * which calls the kept one or is called by it. */
static void *keep(const struct row *row, void *found)
{
    MT_UNINTERRUPTED();
    void *kept = atomic_load_explicit(row->real, memory_order_acquire);
    if (!kept) {
        hold_library_of(found);
        void *first = for_linked(row, found);
        if (atomic_compare_exchange_strong_explicit(row->real, &kept, first, memory_order_acq_rel,
                                                    memory_order_acquire))
            kept = first;
    }
    return kept == found || mt_are_of_one_library(kept, found) ? row->hook : found;
}

void mt_driver_resolve(enum mt_driver_hook hook)
{
    MT_UNINTERRUPTED();
    void *found = mt_real_dlsym(RTLD_NEXT, rows[hook].symbol); /* the next one after us */
    if (!found)
        found = mt_find_real(rows[hook].symbol, "libcuda.so.1");
    if (found)
        keep(&rows[hook], found);
}

bool mt_driver_was_looked_up(void)
{
    for (const struct row *row = rows; row < rows + MT_DRIVER_COUNT; row++)
        if (atomic_load_explicit(row->real, memory_order_acquire))
            return true;
    return false;
}

unsigned (*mt_driver_get_device(void))(int *device)
{
    static void *_Atomic found; /* one driver a process */
    void *function = atomic_load_explicit(&found, memory_order_acquire);
    if (!function) {
        function = mt_find_real("cuCtxGetDevice", "libcuda.so.1");
        atomic_store_explicit(&found, function, memory_order_release);
    }
    return (unsigned (*)(int *))function;
}

/* Return whether a hook is needed only if uses are recorded. */
static bool is_idle(const struct row *row)
{
    return row >= rows + MT_DRIVER_cu_graph_kernel_10 &&
           row <= rows + MT_DRIVER_cu_launch_cooperative_ptsz && !mt_uses_are_wanted();
}

/* Return whether the lookup means our function: without a version, only functions that have never
 * changed. */
static bool is_meant(const struct row *row, unsigned version)
{
    if (version == MT_CUDA_ANY_VERSION)
        return !row->until && row->since < 12000;
    return version >= row->since && (!row->until || version < row->until);
}

static const struct row *find_row(const char *base, unsigned version, int per_thread)
{
    const struct row *found = NULL;
    for (const struct row *row = rows; row < rows + MT_DRIVER_COUNT; row++)
        if (!strcmp(row->base, base) && is_meant(row, version) &&
            (!found || is_per_thread(row) == per_thread))
            found = row;
    return found;
}

void mt_driver_wrap(const char *base, unsigned version, unsigned long long flags, void **function)
{
    if (!base || !function || !*function || mt_is_ours(*function))
        return;
    const struct row *row = find_row(base, version, (flags & MT_CUDA_PER_THREAD) != 0);
    if (row && !is_idle(row))
        *function = keep(row, *function);
}

void *mt_driver_wrap_symbol(const char *symbol, void *found)
{
    if (!found || mt_is_ours(found))
        return found;
    for (const struct row *row = rows; row < rows + MT_DRIVER_COUNT; row++)
        if (!strcmp(row->symbol, symbol))
            return is_idle(row) ? found : keep(row, found);
    return found;
}
