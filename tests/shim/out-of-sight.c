/* SPDX-License-Identifier: Apache-2.0 */
/*
 * out-of-sight chroot FOLDER: makes it the root and then uses CUDA. out-of-sight dlmopen LIBRARY:
 * loads a CUDA library into a namespace of its own, and uses it. 77: that is not allowed here.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

unsigned cudaMalloc(void **address, size_t size);

int main(int argc, char **argv)
{
    unsigned (*allocate)(void **, size_t) = cudaMalloc;
    void *address;
    if (argc < 3)
        return 2;
    if (!strcmp(argv[1], "chroot")) {
        if (chroot(argv[2]) || chdir("/"))
            return 77;
    } else {
        void *library = dlmopen(LM_ID_NEWLM, argv[2], RTLD_NOW);
        if (!library)
            return fprintf(stderr, "%s\n", dlerror()), 3;
        *(void **)&allocate = dlsym(library, "cudaMalloc");
    }
    return allocate && !allocate(&address, 512) ? 0 : 4;
}
