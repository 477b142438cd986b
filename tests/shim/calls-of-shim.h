/* SPDX-License-Identifier: Apache-2.0 */
/* For programs that stand in front of functions which libmemtap.so calls. */
#ifndef MT_TESTS_SHIM_CALLS_OF_SHIM_H
#define MT_TESTS_SHIM_CALLS_OF_SHIM_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static inline bool is_of_shim(const void *caller)
{
    Dl_info info;
    return dladdr(caller, &info) && strstr(info.dli_fname, "libmemtap");
}

/* The real function; the program's own is found first. */
#define REAL(name)                                                                                 \
    static __typeof__(name) *real;                                                                 \
    if (!real)                                                                                     \
        real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);

#endif
