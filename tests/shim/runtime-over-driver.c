/* SPDX-License-Identifier: Apache-2.0 */
/* A CUDA runtime that gets its memory from the driver in the way of NVIDIA's: dlopen, one dlsym,
 * all else by cuGetProcAddress. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

unsigned cudaMalloc(void **address, size_t size);
unsigned cudaFree(void *address);
unsigned cudaGetDevice(int *device);

static unsigned (*get_proc)(const char *, void **, int, uint64_t, unsigned *);

static void *driver_function(const char *name)
{
    void *found = NULL;
    if (!get_proc)
        *(void **)&get_proc = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuGetProcAddress_v2");
    get_proc(name, &found, 13000, 0, NULL);
    return found;
}

unsigned cudaGetDevice(int *device)
{
    *device = 0;
    return 0;
}

unsigned cudaMalloc(void **address, size_t size)
{
    void *context;
    static int has_context;
    if (!has_context) {
        has_context = 1;
        unsigned (*initialize)(unsigned) = (unsigned (*)(unsigned))driver_function("cuInit");
        unsigned (*retain)(void **, int) =
            (unsigned (*)(void **, int))driver_function("cuDevicePrimaryCtxRetain");
        unsigned (*select)(void *) = (unsigned (*)(void *))driver_function("cuCtxSetCurrent");
        if (initialize(0) || retain(&context, 0) || select(context))
            return 3; /* cudaErrorInitializationError */
    }
    unsigned (*allocate)(void **, size_t) =
        (unsigned (*)(void **, size_t))driver_function("cuMemAlloc");
    return allocate(address, size);
}

unsigned cudaFree(void *address)
{
    return ((unsigned (*)(void *))driver_function("cuMemFree"))(address);
}
