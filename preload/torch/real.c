/* SPDX-License-Identifier: Apache-2.0 */
#include "real.h"
#include "preload/host/no-signals.h"
#include "trace-format/likely.h"

#include <stdbool.h>
#include <stdio.h>

MT_HOT struct mt_real_functions mt_real;
_Thread_local uint64_t mt_pinned_request __attribute__((tls_model("initial-exec")));

static const struct {
    const char *name, *symbol, *library;
    void *_Atomic *slot;
} hooks[MT_HOOK_COUNT] = {
#define HOOK_ROW(name, symbol, library, result, parameters)                                        \
    [MT_HOOK_##name] = {#name, symbol, library, (void *_Atomic *)(void *)&mt_real.name},
    MT_TORCH_HOOKS(HOOK_ROW)};

static bool is_resolved(enum mt_hook hook)
{
    return atomic_load_explicit(hooks[hook].slot, memory_order_relaxed) != NULL;
}

static void keep(enum mt_hook hook, void *found)
{
    atomic_store_explicit(hooks[hook].slot, found, memory_order_relaxed);
}

/* Find the real functions. The first hook is mostly called outside PyTorch's allocator; the others
 * are looked up with it, so that none needs the loader's lock under the allocator's. */
void mt_real_resolve(enum mt_hook hook)
{
    MT_UNINTERRUPTED();
    for (enum mt_hook i = 0; i < MT_HOOK_COUNT; i++)
        if (!is_resolved(i))
            keep(i, mt_find_next(hooks[i].symbol, hooks[i].library));
    if (is_resolved(hook))
        return;
    keep(hook, mt_find_anywhere(hooks[hook].symbol));
    if (!is_resolved(hook))
        mt_end_without(hooks[hook].symbol);
}

bool mt_real_is_missing(char *missing, size_t size)
{
    if (!is_resolved(MT_HOOK_report_memory))
        return false;
    size_t used = 0;
    *missing = '\0';
    for (enum mt_hook i = 0; i < MT_HOOK_COUNT; i++) {
        if (is_resolved(i))
            continue;
        int n = snprintf(missing + used, size - used, " %s", hooks[i].name);
        used += n > 0 && (size_t)n < size - used ? (size_t)n : 0;
    }
    return true;
}
