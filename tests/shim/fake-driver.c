/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver that has less than what is looked for, of some VERSION: it has no cuGetProcAddress, no
 * pools, no physical memory. It loads its tool when it is initialized, as CUDA's does.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuCtxGetDevice(int *device);
int cuMemAlloc_v2(uint64_t *address, size_t size);
int cuMemFree_v2(uint64_t address);

int cuInit(unsigned flags)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *tool = path ? dlopen(path, RTLD_NOW) : NULL;
    int (*initialize)(void);
    *(void **)&initialize = tool ? dlsym(tool, "InitializeInjection") : NULL;
    if (initialize)
        initialize();
    return (int)flags;
}

int cuDriverGetVersion(int *version)
{
    *version = VERSION;
    return 0;
}

int cuCtxGetDevice(int *device)
{
    *device = 0;
    return 0;
}

int cuMemAlloc_v2(uint64_t *address, size_t size)
{
    static uint64_t next = 0x700000000000;
    *address = next;
    next += (size + 4095) & ~(uint64_t)4095;
    return 0;
}

int cuMemFree_v2(uint64_t address)
{
    return address == 0;
}
