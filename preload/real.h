/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's own functions behind our hooks (CUDA's: cudart.h). Always call through MT_REAL: a
 * direct call or a dlsym of our own would find the hook again. Any thread. */
#ifndef MT_PRELOAD_REAL_H
#define MT_PRELOAD_REAL_H

#include "hooks.h"

struct mt_real_functions {
#define MT_REAL_POINTER(name, symbol, library, result, parameters) result(*name) parameters;
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

#define MT_REAL_NOW(name) __atomic_load_n(&mt_real.name, __ATOMIC_RELAXED)

/* The real function of a hook, found at first need and kept. For a hook whose callers are linked to
 * it by name, so that some library has it: without one the process ends, as by the loader. */
#define MT_REAL(name)                                                                              \
    (__builtin_expect(MT_REAL_NOW(name) != NULL, 1)                                                \
         ? MT_REAL_NOW(name)                                                                       \
         : (mt_resolve(MT_HOOK_##name), MT_REAL_NOW(name)))

void mt_resolve(enum mt_hook hook);

/* Whether PyTorch is there, and which of the hooked functions were not found in it when the first
 * of them was called: their names, a space before each, in `missing`. */
int mt_missing_in_torch(char *missing, size_t size);

/* Sanitizers look functions up before their own memory is there. */
#define MT_UNSANITIZED                                                                             \
    __attribute__((no_sanitize("address"), no_sanitize("thread"), no_sanitize("undefined")))

/* dlsym, which is a hook, too: what we look up ourselves is to be the real thing. With RTLD_NEXT,
 * what comes after libmemtap.so. That nothing is found, the program's dlerror does not tell. */
void *mt_real_dlsym(void *handle, const char *symbol);
void *mt_real_dlsym_function(void);

int mt_are_of_one_library(const void *a, const void *b);

/* Whether an address lies in libmemtap.so. */
int mt_is_ours(const void *address);

/* A function or object that a loaded library (never this one) defines, looked for in `library`
 * first (NULL: nowhere first); NULL: there is none. Loads nothing. Takes the loader's lock. */
void *mt_find_real(const char *symbol, const char *library);

/* For a hook that not all releases have the function of, whose callers are linked to it: as
 * MT_REAL, real_name() is found at first need and kept. */
#define MT_REAL_OF_ONE_RELEASE(name, symbol, library, result, parameters)                          \
    static result(*real_##name(void)) parameters                                                   \
    {                                                                                              \
        static void *slot;                                                                         \
        return (result(*) parameters)mt_find_of_release(&slot, symbol, library);                   \
    }

void *mt_find_of_release(void **slot, const char *symbol, const char *library);

#endif
