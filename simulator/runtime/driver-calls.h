/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver's functions as the runtime calls them: looked up once by cuGetProcAddress, as the real
 * runtime does. A profiler in front of the driver sees the calls.
 */
#ifndef SIM_DRIVER_CALLS_H
#define SIM_DRIVER_CALLS_H

#include "core/base/base.h"

/* Bring up the current device's context. Return 0 or the code of an error. */
int runtime_up(void);
/* Return the code, and keep it as the thread's last error if it is one. */
int runtime_keep(int code);
/*
 * Look up the function's form for this version of CUDA (0: the newest) and cache it in *known.
 * Without a driver, return a function that fails.
 */
void *runtime_find_driver(const char *name, int version, void *_Atomic *known);

static inline void *runtime_driver(const char *name, int version, void *_Atomic *known)
{
    void *function = atomic_load_explicit(known, memory_order_acquire);
    return SIM_UNLIKELY(!function) ? runtime_find_driver(name, version, known) : function;
}

/* A generated entry point that is the driver's `function`. `before`: 0 or the code of an error. */
#define SIM_FORWARD(name, function, version, before, ...)                                          \
    long name(SIM_ARGS);                                                                           \
    long name(SIM_ARGS)                                                                            \
    {                                                                                              \
        static void *_Atomic known;                                                                \
        int (*call)(long, ...) = (int (*)(long, ...))runtime_driver(#function, version, &known);   \
        int error = (before);                                                                      \
                                                                                                   \
        return error ? error : runtime_keep(call(__VA_ARGS__));                                    \
    }

#endif
