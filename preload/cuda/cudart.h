/* SPDX-License-Identifier: Apache-2.0 */
/* Which CUDA runtime a caller means: two of different versions may be loaded, and each keeps its
 * own errors and current device. */
#ifndef MT_PRELOAD_CUDART_H
#define MT_PRELOAD_CUDART_H

#include "cuda-memory.h"
#include "preload/hooks/hooks.h"

/* Its functions by the names of their hooks; NULL: this version has none. */
struct mt_cudart {
#define MT_CUDART_POINTER(name, symbol, library, result, parameters) result(*name) parameters;
    MT_CUDART_HOOKS(MT_CUDART_POINTER)
#undef MT_CUDART_POINTER
    unsigned (*get_device)(int *device);
};

/* The runtime that the image of this return address is linked to, else any that is loaded; NULL:
 * none. It stays. Takes the loader's lock at a caller's first call. */
const struct mt_cudart *mt_cudart_of(const void *caller);

/*
 * A program that asks for functions by name (dlsym) has no link to a runtime that would tell which
 * one it means: it gets another way into the hook for each runtime. Which one, from 1 on, for this
 * function of this name; 0: it is of no runtime, or there are too many, and is not seen.
 */
#define MT_CUDART_WAYS 4
unsigned mt_cudart_way_of(const char *symbol, const void *found);

/* The way that a hook is called by; mt_cudart_of takes it back. */
extern _Thread_local char mt_cudart_way __attribute__((tls_model("initial-exec")));

/* Calls the runtime's own function as a hook does: its result. */
#define MT_CUDART_ASK(runtime, function, ...)                                                      \
    ({                                                                                             \
        unsigned ask_result = MT_CUDA_NO_FUNCTION;                                                 \
        MT_CUDA_INSIDE();                                                                          \
        if ((runtime) && (runtime)->function)                                                      \
            ask_result = (runtime)->function(__VA_ARGS__);                                         \
        ask_result;                                                                                \
    })

/* A handle in whose scope stands what the image of this address is linked to: RTLD_NEXT for the
 * program itself; NULL: not known. It holds a reference. Takes the loader's lock. */
void *mt_scope_of(const void *caller);

/* dlsym in that scope. */
void *mt_scope_symbol(void *scope, const char *symbol);

#endif
