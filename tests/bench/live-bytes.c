/* SPDX-License-Identifier: Apache-2.0 */
/* live-bytes: 10,000 pairs of cudaMalloc and cudaFree, by 1,024 ways of 10 frames; prints how many
 * bytes of memory that is no file's the process has written to and still has. */
#include "ways.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>

#define PAIRS 10000u
#define WAYS 10u /* bits, and frames, each called from one of two places */

unsigned cudaMalloc(void **address, size_t size);
unsigned cudaFree(void *address);

static inline __attribute__((always_inline)) void allocate(void)
{
    void *address = NULL;
    cudaMalloc(&address, 512);
    cudaFree(address);
    odd++;
}

static unsigned long written_bytes(void)
{
    unsigned long all = 0, kib;
    char line[256];
    FILE *file = fopen("/proc/self/smaps", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Anonymous: %lu kB", &kib) == 1)
            all += kib * 1024;
    if (file)
        fclose(file);
    return all;
}

int main(void)
{
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* pages of one size on each machine */
    for (unsigned i = 0; i < PAIRS; i++)
        choose(i, WAYS);
    printf("%lu\n", written_bytes());
    return 0;
}
