/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for a function of the CUDA runtime, as libraries do that make all memory managed or set
 * limits: preloaded, it passes calls on to what comes after it. */
#include <dlfcn.h>
#include <stddef.h>

unsigned cudaMalloc(void **address, size_t size);
extern int calls_of_stand_in;
int calls_of_stand_in;

unsigned cudaMalloc(void **address, size_t size)
{
    static unsigned (*next)(void **, size_t);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "cudaMalloc");
    calls_of_stand_in++;
    volatile unsigned result = next(address, size); /* no tail call: we are the caller */
    return result;
}
