/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs register tens of thousands of kernels before main(), so registration only appends. The
 * first query sorts the kernels and reads the images. Libraries such as CUB choose among their
 * kernels by the architecture that a kernel was compiled for, so the answer must be right.
 */
#include "image.h"
#include "core/values/values.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/process/kernels.h"

/* Called by nvcc's host code; no header declares these. */

void **__cudaRegisterFatBinary(void *image);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int thread_limit, void *thread, void *block, void *block_limit,
                            void *grid, int *warp_size);

struct image_header {
    uint16_t kind, attributes;
    uint32_t header_size;
    uint64_t size; /* behind the header */
    uint32_t compressed_size, options;
    uint16_t minor, major;
    uint32_t architecture;
};

enum { PTX = 1, ELF = 2 };

struct kernel {
    const void *host;
    const struct sim_image_wrapper *wrapper;
    const char *name;
};

static struct {
    pthread_mutex_t lock;
    struct kernel *kernels;
    size_t used, room, sorted;
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool find_code(const void *function, struct sim_kernel_code *code);

void **__cudaRegisterFatBinary(void *image)
{
    static atomic_flag is_known = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&is_known))
        sim_kernels_found_by(find_code);
    sim_values_new_code();
    return image; /* the handle: it comes back with every function */
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int thread_limit, void *thread, void *block, void *block_limit,
                            void *grid, int *warp_size)
{
    (void)device, (void)thread_limit, (void)thread, (void)block, (void)block_limit, (void)grid;
    (void)warp_size;
    pthread_mutex_lock(&registry.lock);
    /* Without memory the kernel stays unknown: it is assumed to fit the card. */
    if (!sim_grow(&registry.kernels, registry.used, &registry.room, sizeof(struct kernel)))
        registry.kernels[registry.used++] =
            (struct kernel){host, (const struct sim_image_wrapper *)handle, name};
    pthread_mutex_unlock(&registry.lock);
}

static int by_host(const void *left, const void *right)
{
    uintptr_t a = (uintptr_t)((const struct kernel *)left)->host;
    uintptr_t b = (uintptr_t)((const struct kernel *)right)->host;
    return a < b ? -1 : a > b;
}

static bool find(const void *function, struct kernel *found)
{
    const struct kernel key = {.host = function};
    const struct kernel *kernel = NULL;
    pthread_mutex_lock(&registry.lock);
    if (registry.sorted < registry.used) {
        qsort(registry.kernels, registry.used, sizeof(key), by_host);
        registry.sorted = registry.used;
    }
    if (registry.used)
        kernel = bsearch(&key, registry.kernels, registry.used, sizeof(key), by_host);
    if (kernel)
        *found = *kernel;
    pthread_mutex_unlock(&registry.lock);
    return kernel;
}

/* Consider a binary, which runs on cards of its own generation that are not older; PTX runs on all
 * that are not older. */
static void consider(const struct image_header *image, int capability, struct sim_code *best)
{
    int architecture = (int)image->architecture;
    if (architecture > capability || architecture <= best->ptx)
        return;
    if (image->kind == ELF && architecture / 10 == capability / 10)
        *best = (struct sim_code){architecture, architecture};
    else if (image->kind == PTX && best->binary == 0)
        *best = (struct sim_code){architecture, 0};
}

static int choose(const struct sim_image_wrapper *wrapper, int capability, struct sim_code *code)
{
    const unsigned char *at, *end;
    struct sim_image_list list;
    struct image_header image;
    *code = (struct sim_code){0, 0};
    if (!wrapper || wrapper->magic != SIM_WRAPPER_MAGIC || !wrapper->list)
        return -EINVAL;
    memcpy(&list, wrapper->list, sizeof(list));
    if (list.magic != SIM_LIST_MAGIC)
        return -EINVAL;
    at = wrapper->list + list.header_size;
    end = at + list.size;
    while ((size_t)(end - at) >= sizeof(image)) {
        memcpy(&image, at, sizeof(image));
        consider(&image, capability, code);
        if (image.size > (uint64_t)(end - at) - image.header_size)
            break;
        at += image.header_size + image.size;
    }
    if (!code->ptx)
        return -ENOEXEC;
    if (!code->binary)
        code->binary = capability;
    return 0;
}

int sim_image_for(const void *function, int capability, struct sim_code *code)
{
    struct kernel kernel;
    int error = find(function, &kernel) ? choose(kernel.wrapper, capability, code) : -EINVAL;
    if (error != -EINVAL)
        return error;
    *code = (struct sim_code){capability, capability};
    return 0;
}

const char *sim_image_name(const void *function)
{
    struct kernel kernel;
    return find(function, &kernel) ? kernel.name : NULL;
}

static bool find_code(const void *function, struct sim_kernel_code *code)
{
    struct kernel kernel;
    bool is_found = find(function, &kernel);
    if (is_found)
        *code = (struct sim_kernel_code){kernel.wrapper, kernel.name};
    return is_found;
}
