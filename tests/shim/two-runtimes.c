/* SPDX-License-Identifier: Apache-2.0 */
/* Linked to CUDA runtime 13, loads 12 too, and looks which one serves it, which one serves a module
 * that is linked to 12, and which ones serve functions that are looked up in 12, and then in 13. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

unsigned cudaMalloc(void **address, size_t size);
unsigned cudaFree(void *address);

static int which(const void *address)
{
    return (int)((uintptr_t)address >> 44);
}

/* Allocates by the function that a library's own handle gives. */
static void *looked_up(const char *library)
{
    void *address = NULL;
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    unsigned (*allocate)(void **, size_t) =
        handle ? (unsigned (*)(void **, size_t))dlsym(handle, "cudaMalloc") : NULL;
    return allocate && !allocate(&address, 2) ? address : NULL;
}

int main(void)
{
    void *of_program = NULL, *of_module = NULL;
    void *module = dlopen("libuser-of-12.so", RTLD_NOW | RTLD_LOCAL);
    if (!module)
        return 2;
    unsigned (*allocate)(void **) = (unsigned (*)(void **))dlsym(module, "allocate");
    if (cudaMalloc(&of_program, 1) || allocate(&of_module) || cudaFree(of_program))
        return 3;
    printf("program %d, module %d", which(of_program), which(of_module));
    printf(", looked up %d", which(looked_up("libcudart.so.12")));
    printf(" and %d", which(looked_up("libcudart.so.13")));
    if (cudaMalloc(&of_program, 1))
        return 4;
    printf(", program %d\n", which(of_program));
    return 0;
}
