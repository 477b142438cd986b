/* SPDX-License-Identifier: Apache-2.0 */
/* Linked to CUDA runtime 13, loads 12 too, and looks which one serves it and which one serves a
 * module that is linked to 12. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

unsigned cudaMalloc(void **address, size_t size);
unsigned cudaFree(void *address);

int main(void)
{
    void *of_program = NULL, *of_module = NULL;
    void *module = dlopen("libuser-of-12.so", RTLD_NOW | RTLD_LOCAL);
    if (!module)
        return 2;
    unsigned (*allocate)(void **) = (unsigned (*)(void **))dlsym(module, "allocate");
    if (cudaMalloc(&of_program, 1) || allocate(&of_module) || cudaFree(of_program))
        return 3;
    printf("program %d, module %d\n", (int)((uintptr_t)of_program >> 44),
           (int)((uintptr_t)of_module >> 44));
    return 0;
}
