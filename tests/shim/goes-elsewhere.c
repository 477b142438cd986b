/* SPDX-License-Identifier: Apache-2.0 */
/* goes-elsewhere N: changes its title, as servers do, and then its working directory, and allocates
 * and frees N times. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

unsigned cudaMalloc(void **address, size_t size);
unsigned cudaFree(void *address);

int main(int argc, char **argv)
{
    void *address;
    long n = argc > 1 ? atol(argv[1]) : 0;
    memset(argv[0], '/', strlen(argv[0]));
    if (cudaMalloc(&address, 512) || chdir("/"))
        return 2;
    for (long i = 0; i < n; i++)
        if (cudaMalloc(&address, 512 + 8 * (size_t)i) || cudaFree(address))
            return 3;
    return 0;
}
