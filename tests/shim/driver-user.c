/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver-user: uses the driver by dlopen and dlsym, unloads it, and does the same again with its
 * old place taken. It exits with 3 where there is no driver.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

static int (*initialize)(unsigned);
static int (*allocate)(uint64_t *, size_t);
static int (*release)(uint64_t);

/* As manuals have it: an error is what dlerror tells, and nothing else changes errno. */
static void *look_up(void *library, const char *symbol)
{
    dlerror();
    errno = ERANGE;
    void *found = dlsym(library, symbol);
    const char *error = dlerror();
    if (error)
        printf("%s: %s\n", symbol, error);
    if (errno != ERANGE)
        printf("%s: errno is %d\n", symbol, errno);
    return found;
}

static void *load(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    *(void **)&initialize = driver ? look_up(driver, "cuInit") : NULL;
    *(void **)&allocate = driver ? look_up(driver, "cuMemAlloc_v2") : NULL;
    *(void **)&release = driver ? look_up(driver, "cuMemFree_v2") : NULL;
    return driver;
}

static void *place_of(void *driver)
{
    Dl_info info;
    return dladdr(dlsym(driver, "cuDriverGetVersion"), &info) ? info.dli_fbase : NULL;
}

int main(void)
{
    uint64_t address;
    void *driver = load();
    if (!driver) /* nobody has its functions then, nor the runtime's */
        return look_up(RTLD_DEFAULT, "cuMemAlloc_v2") || look_up(RTLD_DEFAULT, "cudaMalloc") ||
                       !look_up(RTLD_DEFAULT, "memcpy")
                   ? 7
                   : 3;
    if (dlsym(driver, "cuMemCreate") || dlsym(driver, "cuGetProcAddress_v2"))
        return 4; /* it has none */
    void *place = place_of(driver);
    dlclose(driver);
    mmap(place, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    dlerror();
    driver = load();
    if (!driver || initialize(0) || allocate(&address, 5000) || release(address))
        return 5;
    errno = ERANGE;
    if (dlclose(driver) || errno != ERANGE || dlerror())
        return 6;
    puts("done");
    return 0;
}
