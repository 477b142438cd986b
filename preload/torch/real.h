/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's own functions behind our hooks (CUDA's: cudart.h). Always call through MT_REAL: a
 * direct call or a dlsym of our own would find the hook again. Any thread. */
#ifndef MT_PRELOAD_REAL_H
#define MT_PRELOAD_REAL_H

#include "preload/hooks/hooks.h"
#include "preload/loader/find-real.h"
#include "trace-format/likely.h"

#include <stdatomic.h>
#include <stdbool.h>

struct mt_real_functions {
#define MT_REAL_POINTER(name, symbol, library, result, parameters) result(*_Atomic name) parameters;
    MT_TORCH_HOOKS(MT_REAL_POINTER)
#undef MT_REAL_POINTER
};

enum mt_hook {
#define MT_HOOK_ENUM(name, symbol, library, result, parameters) MT_HOOK_##name,
    MT_TORCH_HOOKS(MT_HOOK_ENUM)
#undef MT_HOOK_ENUM
        MT_HOOK_COUNT
};

extern struct mt_real_functions mt_real;

#define MT_REAL_NOW(name) atomic_load_explicit(&mt_real.name, memory_order_relaxed)

/* The real function of a hook, looked up at first use and cached. For a hook whose callers are
 * linked to it by name, so that some library has it: without one the process ends, as the loader
 * would end it. */
#define MT_REAL(name)                                                                              \
    (MT_LIKELY(MT_REAL_NOW(name)) ? MT_REAL_NOW(name)                                              \
                                  : (mt_real_resolve(MT_HOOK_##name), MT_REAL_NOW(name)))

void mt_real_resolve(enum mt_hook hook);

/* Bytes of page-locked memory that this thread requests of PyTorch's allocator now; 0: none. */
extern _Thread_local uint64_t mt_pinned_request __attribute__((tls_model("initial-exec")));

/* Return whether PyTorch is loaded, and in `missing` the names of the hooked functions that were
 * not found in it when the first of them was called, each after a space. */
bool mt_real_is_missing(char *missing, size_t size);

#endif
