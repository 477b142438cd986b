/* SPDX-License-Identifier: Apache-2.0 */
/* A thread allocates while it is to be cancelled, with a lock held: 0 where it was cancelled only
 * where it asked for it. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

unsigned cudaMalloc(void **address, size_t size);
unsigned cudaFree(void *address);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int step;

static void *allocate(void *unused)
{
    void *address;
    pthread_mutex_lock(&lock);
    for (atomic_store(&step, 1); atomic_load(&step) < 2;)
        ;
    if (!cudaMalloc(&address, 512))
        cudaFree(address);
    pthread_mutex_unlock(&lock);
    pthread_testcancel();
    return unused;
}

int main(void)
{
    pthread_t thread;
    void *result;
    if (pthread_create(&thread, NULL, allocate, NULL))
        return 2;
    while (atomic_load(&step) < 1)
        ;
    pthread_cancel(thread);
    atomic_store(&step, 2);
    pthread_join(thread, &result);
    return result == PTHREAD_CANCELED && !pthread_mutex_trylock(&lock) ? 0 : 1;
}
