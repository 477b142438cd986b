/* SPDX-License-Identifier: Apache-2.0 */
/* linked-driver DRIVER: linked to a driver that it looks up as well, by its path: says whose
 * functions it gets by either way. A layer that is preloaded counts the calls that come to it. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

unsigned cuMemAlloc_v2(uint64_t *address, size_t size);
unsigned cuMemFree_v2(uint64_t address);

static void count(const char *way)
{
    int *calls = dlsym(RTLD_DEFAULT, "calls_of_layer");
    printf("%s: %d calls came to the layer\n", way, calls ? *calls : -1);
}

int main(int argc, char **argv)
{
    uint64_t address;
    void *driver = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    unsigned (*get)(uint64_t *, size_t) = NULL;
    if (driver)
        *(void **)&get = dlsym(driver, "cuMemAlloc_v2");
    for (int i = 0; get && i < 2; i++)
        get(&address, 4096);
    count("looked up");
    for (int i = 0; i < 4; i++)
        if (cuMemAlloc_v2(&address, 4096))
            puts("failed");
    count("linked");
    return 0;
}
