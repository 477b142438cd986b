/* SPDX-License-Identifier: Apache-2.0 */
/* beside-others runtime|plugin|driver DRIVER: says what it can see of the libraries that it has
 * around it, and makes 4 allocations. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

unsigned cudaMalloc(void **address, size_t size);

static void *module;

static void allocate(int n)
{
    void *address;
    module = dlopen("libuser-of-12.so", RTLD_NOW | RTLD_LOCAL);
    unsigned (*of_module)(void **) = (unsigned (*)(void **))dlsym(module, "allocate");
    for (int i = 0; i < n; i++)
        if (of_module(&address))
            puts("failed");
}

static void use_runtime(void)
{
    void *address;
    for (int i = 0; i < 2; i++)
        if (cudaMalloc(&address, 512))
            puts("failed");
    allocate(2);
    int *calls = dlsym(RTLD_DEFAULT, "calls_of_stand_in");
    printf("calls of the stand-in: %d\n", calls ? *calls : -1);
}

static void use_plugin(void)
{
    for (int i = 0; i < 4; i++) {
        allocate(1);
        dlclose(module);
        void *still = dlopen("libuser-of-12.so", RTLD_NOW | RTLD_NOLOAD);
        printf("closed, and %s\n", still ? "still there" : "gone");
    }
}

static void use_driver(const char *path)
{
    void *driver = dlopen(path, RTLD_NOW);
    unsigned (*get)(uint64_t *, size_t) =
        (unsigned (*)(uint64_t *, size_t))dlsym(driver, "cuMemAlloc_v2");
    unsigned (*free)(uint64_t) = (unsigned (*)(uint64_t))dlsym(driver, "cuMemFree_v2");
    for (int i = 0; i < 4; i++) {
        uint64_t address = 0;
        unsigned got = get(&address, 4096);
        printf("%u, %#lx, %u\n", got, (unsigned long)address, free(address));
    }
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "runtime"))
        use_runtime();
    if (argc == 3 && !strcmp(argv[1], "plugin"))
        use_plugin();
    if (argc == 3 && !strcmp(argv[1], "driver"))
        use_driver(argv[2]);
    return 0;
}
