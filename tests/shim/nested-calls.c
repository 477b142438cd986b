/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded by a program: allocates through a runtime that asks the driver, and prints the records
 * that are to be there. */
#include <stddef.h>
#include <stdio.h>

unsigned cudaMalloc(void **address, size_t size);
unsigned cudaFree(void *address);

__attribute__((visibility("default"))) int run(void);

int run(void)
{
    void *address;
    for (size_t i = 1; i <= 3; i++) {
        if (cudaMalloc(&address, i << 20) || cudaFree(address))
            return 1;
        if (i == 1)
            printf("cuda_object cuDevicePrimaryCtxRetain 0\n");
        printf("cuda_malloc cudaMalloc %zu\ncuda_free cudaFree 0\n", i << 20);
    }
    fflush(stdout);
    return 0;
}
