/* SPDX-License-Identifier: Apache-2.0 */
/* Find the CUDA runtime that a caller uses: two versions may be loaded, each with its own errors
 * and current device. */
#ifndef MT_PRELOAD_CUDART_H
#define MT_PRELOAD_CUDART_H

#include "cuda-memory.h"
#include "preload/hooks/hooks.h"

/* A runtime's functions by their hooks' names; NULL: this version has none. */
struct mt_cudart {
#define MT_CUDART_POINTER(name, symbol, library, result, parameters) result(*name) parameters;
    MT_CUDART_HOOKS(MT_CUDART_POINTER)
#undef MT_CUDART_POINTER
    unsigned (*get_device)(int *device);
};

/* Return the runtime that the image with this return address is linked to, else any loaded one, or
 * NULL. It stays valid. Takes the loader's lock at a caller's first call. */
const struct mt_cudart *mt_cudart_of(const void *caller);

/*
 * A program that looks functions up by name (dlsym) is not linked to its runtime. So each runtime
 * has its own entry to a hook. Return the entry, from 1, for this function of this name; 0 if it
 * belongs to no runtime, or there are too many, and its calls are not seen.
 */
#define MT_CUDART_WAYS 4
unsigned mt_cudart_way_of(const char *symbol, const void *found);

/* The entry by which a hook is being called; mt_cudart_of resets it. */
extern _Thread_local char mt_cudart_way __attribute__((tls_model("initial-exec")));

/* Call the runtime's own function, as hooks do. The value is its result. */
#define MT_CUDART_CALL(runtime, function, ...)                                                     \
    ({                                                                                             \
        unsigned call_result = MT_CUDA_NO_FUNCTION;                                                \
        MT_CUDA_INSIDE();                                                                          \
        if ((runtime) && (runtime)->function)                                                      \
            call_result = (runtime)->function(__VA_ARGS__);                                        \
        call_result;                                                                               \
    })

/* Return a handle for looking up what the image with this address is linked to: RTLD_NEXT for the
 * program itself, NULL if unknown. It holds a reference. Takes the loader's lock. */
void *mt_scope_of(const void *caller);

/* Look a symbol up as dlsym would in that scope. */
void *mt_scope_symbol(void *scope, const char *symbol);

#endif
