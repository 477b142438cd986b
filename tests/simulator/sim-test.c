/* SPDX-License-Identifier: Apache-2.0 */
#include "sim-test.h"

#include <stdio.h>
#include <unistd.h>

void use_gpu(const char *name)
{
    setenv("CUDASIM_GPU", name, 1);
    unsetenv("CUDASIM_MEMORY");
    unsetenv("CUDASIM_GPUS");
    unsetenv("CUDASIM_COPY_LIMIT");
    unsetenv("CUDASIM_CONTEXT");
    unsetenv("CUDA_VISIBLE_DEVICES");
}

size_t available(void)
{
    size_t left, total;

    ck_cuda(cudaMemGetInfo(&left, &total));
    return left;
}

size_t resident(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long size, pages;

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%lu %lu", &size, &pages), 2);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}
