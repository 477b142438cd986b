/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into each process of a suite: CUDA is live in it from the begin. There is a context and
 * memory, and a thread as CUDA's driver has one, which allocates and frees ten times a second.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

typedef unsigned allocate(void **address, size_t size);
typedef unsigned release(void *address);

static allocate *cuda_malloc;
static release *cuda_free;

static void *work(void *unused)
{
    for (void *block;; usleep(100000))
        if (!cuda_malloc(&block, 4096))
            cuda_free(block);
    return unused;
}

__attribute__((constructor)) static void begin(void)
{
    static void *kept;
    pthread_t thread;
    sigset_t all, before;
    cuda_malloc = (allocate *)dlsym(RTLD_DEFAULT, "cudaMalloc");
    cuda_free = (release *)dlsym(RTLD_DEFAULT, "cudaFree");
    if (!cuda_malloc || !cuda_free || cuda_malloc(&kept, 1 << 20))
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (!pthread_create(&thread, NULL, work, NULL))
        pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
