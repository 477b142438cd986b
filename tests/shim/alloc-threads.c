/* SPDX-License-Identifier: Apache-2.0 */
/* alloc-threads THREADS PAIRS: each thread allocates and frees PAIRS times; sizes tell thread and
 * turn: size = thread << 32 | turn. Ends as its third argument says: return (default), _exit,
 * abort, kill, interrupt. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

unsigned cudaMalloc(void **address, size_t size);
unsigned cudaFree(void *address);

static unsigned long pairs;

static void *work(void *index)
{
    for (unsigned long i = 0; i < pairs; i++) {
        void *address;
        if (!cudaMalloc(&address, (size_t)(uintptr_t)index << 32 | i))
            cudaFree(address);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[64];
    unsigned long n = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
    const char *end = argc > 3 ? argv[3] : "return";
    if (n < 1 || n > 64) {
        fprintf(stderr, "usage: alloc-threads THREADS PAIRS [return|_exit|abort|kill|interrupt]\n");
        return 2;
    }
    pairs = strtoul(argv[2], NULL, 10);
    for (uintptr_t i = 0; i < n; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (unsigned long i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    if (!strcmp(end, "_exit"))
        _exit(0);
    if (!strcmp(end, "abort"))
        abort();
    if (!strcmp(end, "kill"))
        syscall(SYS_kill, getpid(), SIGKILL); /* as from outside */
    if (!strcmp(end, "interrupt"))
        kill(getpid(), SIGINT);
    return 0;
}
