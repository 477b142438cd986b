/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with CUDA's runtime linked in, which looks the driver's functions up and keeps them in
 * the program's data. NVIDIA's runtime wants NVIDIA's driver, so that its call fails on the
 * simulated one, after that. Prints "FUNCTION LIBRARY" for each function of a library's that the
 * data point to, and the call's error.
 */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

extern char __data_start[], _end[];

int main(void)
{
    void *address;
    int error = (int)cudaMalloc(&address, 4096);
    for (const char *at = __data_start; at + sizeof address <= _end; at += sizeof address) {
        Dl_info info;
        memcpy(&address, at, sizeof address);
        if (dladdr(address, &info) && info.dli_saddr == address && info.dli_sname)
            printf("%s %s\n", info.dli_sname, info.dli_fname);
    }
    printf("error %d\n", error);
    return 0;
}
