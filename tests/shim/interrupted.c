/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interrupted N: allocates twice, captures a graph and frees what it has, and at the Nth call in
 * which libmemtap.so takes or gives back a lock, asks the loader or the allocator, a signal comes,
 * whose handler does so too. Prints the number of such calls. A handler that waits for what its own
 * thread holds is ended by SIGALRM. The end is 3 where a thread that has a lock, ours or the
 * loader's, could be cancelled.
 */
#include "calls-of-shim.h"
#include "fake-graph.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST_SECONDS 300

unsigned cudaMalloc(void **address, size_t size);
unsigned cudaFree(void *address);

static int wanted, reached, cancellable;
static pthread_t first;

/* One place in a call of theirs. */
static void come_to(const void *caller)
{
    static int is_inside;
    if (!first || !pthread_equal(first, pthread_self()) || is_inside)
        return;
    is_inside = 1;
    if (is_of_shim(caller) && ++reached == wanted)
        raise(SIGUSR1);
    is_inside = 0;
}

/* The same, with a lock. */
static void come_locked(const void *caller)
{
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    cancellable += state == PTHREAD_CANCEL_ENABLE && first &&
                   pthread_equal(first, pthread_self()) && is_of_shim(caller);
    pthread_setcancelstate(state, NULL);
    come_to(caller);
}

int dladdr1(const void *address, Dl_info *info, void **more, int flags)
{
    REAL(dladdr1)
    come_locked(__builtin_return_address(0));
    return real(address, info, more, flags);
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    REAL(pthread_mutex_lock)
    int rc = real(mutex);
    come_locked(__builtin_return_address(0));
    return rc;
}

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    REAL(pthread_mutex_trylock)
    int rc = real(mutex);
    come_locked(__builtin_return_address(0));
    return rc;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    REAL(pthread_mutex_unlock)
    come_to(__builtin_return_address(0));
    return real(mutex);
}

static void (*prepare)(void);

static void prepare_and_come(void)
{
    prepare();
    come_to((const void *)prepare);
}

int pthread_once(pthread_once_t *once, void (*function)(void))
{
    REAL(pthread_once)
    if (!is_of_shim((const void *)function))
        return real(once, function);
    prepare = function;
    return real(once, prepare_and_come);
}

void *dlopen(const char *name, int flags)
{
    REAL(dlopen)
    come_to(__builtin_return_address(0));
    return real(name, flags);
}

void *mmap(void *address, size_t size, int access, int flags, int file, off_t at)
{
    REAL(mmap)
    void *memory = real(address, size, access, flags, file, at);
    come_to(__builtin_return_address(0));
    return memory;
}

static void on_signal(int number)
{
    void *address;
    (void)number;
    cudaMalloc(&address, 512);
    capture_in(1);
    cudaFree(address);
}

int main(int argc, char **argv)
{
    void *address[2];
    wanted = argc > 1 ? atoi(argv[1]) : 0;
    signal(SIGUSR1, on_signal);
    alarm(MOST_SECONDS);
    first = pthread_self();
    cudaMalloc(&address[0], 1024);
    cudaMalloc(&address[1], 1024);
    capture_in(1);
    cudaFree(address[0]);
    cudaFree(address[1]);
    first = 0;
    printf("%d\n", reached);
    return cancellable ? 3 : 0;
}
