/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA driver's own functions behind our hooks. A program finds them in many ways: linked, by
 * dlsym, by cuGetProcAddress, through the runtime. We keep what a lookup found and return the hook
 * instead.
 */
#ifndef MT_PRELOAD_DRIVER_H
#define MT_PRELOAD_DRIVER_H

#include <stdbool.h>

#include "cuda-memory.h"
#include "preload/hooks/hooks.h"
#include "trace-format/likely.h"

#define MT_CUDA_ANY_VERSION 0u /* the lookup specified none */
#define MT_CUDA_PER_THREAD 2u  /* flag of look-ups: the functions for the thread's own stream */

struct mt_driver_functions {
#define MT_DRIVER_POINTER(name, base, symbol, since, until, parameters)                            \
    unsigned(*_Atomic name) parameters;
    MT_DRIVER_HOOKS(MT_DRIVER_POINTER)
#undef MT_DRIVER_POINTER
};

enum mt_driver_hook {
#define MT_DRIVER_ENUM(name, base, symbol, since, until, parameters) MT_DRIVER_##name,
    MT_DRIVER_HOOKS(MT_DRIVER_ENUM)
#undef MT_DRIVER_ENUM
        MT_DRIVER_COUNT
};

extern struct mt_driver_functions mt_driver;

#define MT_DRIVER_NOW(name) atomic_load_explicit(&mt_driver.name, memory_order_acquire)

/* The real function of a hook, or NULL if no loaded driver has it. Any thread. Takes the loader's
 * lock if the program is linked to the driver and nothing was looked up before. */
#define MT_DRIVER_REAL(name)                                                                       \
    (MT_LIKELY(MT_DRIVER_NOW(name)) ? MT_DRIVER_NOW(name)                                          \
                                    : (mt_driver_resolve(MT_DRIVER_##name), MT_DRIVER_NOW(name)))

/* Call the driver's own function, as hooks do. The value is its result. */
#define MT_DRIVER_CALL(function, ...)                                                              \
    ({                                                                                             \
        unsigned call_result = MT_CUDA_NO_FUNCTION;                                                \
        MT_CUDA_INSIDE();                                                                          \
        if (MT_DRIVER_REAL(function))                                                              \
            call_result = MT_DRIVER_NOW(function)(__VA_ARGS__);                                    \
        call_result;                                                                               \
    })

void mt_driver_resolve(enum mt_driver_hook hook);

/* Return whether our hooks saw a lookup by the program or the runtime. */
bool mt_driver_was_looked_up(void);

/* The driver's cuCtxGetDevice, or NULL. */
unsigned (*mt_driver_get_device(void))(int *device);

/* Replace *function, which a lookup found, by its hook if there is one. base (without a suffix),
 * version and flags are the caller's. */
void mt_driver_wrap(const char *base, unsigned version, unsigned long long flags, void **function);

/* Return the hook or what was found, for dlsym by the symbol's name. */
void *mt_driver_wrap_symbol(const char *symbol, void *found);

#endif
