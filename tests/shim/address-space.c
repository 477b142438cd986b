/* SPDX-License-Identifier: Apache-2.0 */
/* address-space [MiB]: uses CUDA, from another thread too, until memtap's threads have done their
 * first work. Prints by how many KiB the process's mappings have grown meanwhile, and how much of
 * them nobody may touch (a reserve). With a number the address space is limited to so much more
 * than there was before, and what is printed last is how many blocks of 1 MiB the program itself
 * can have then. */
#include "our-thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

#define MIB ((size_t)1 << 20)
#define EVENTS 100000 /* a ring holds fewer */

unsigned cudaMalloc(void **address, size_t size);
unsigned cudaFree(void *address);

struct sizes {
    unsigned long all, reserved; /* KiB */
};

static struct sizes look(void)
{
    struct sizes sizes = {0, 0};
    char line[512], permissions[8];
    unsigned long from, to;
    FILE *file = fopen("/proc/self/smaps", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%lx-%lx %7s", &from, &to, permissions) != 3)
            continue;
        sizes.all += (to - from) >> 10;
        sizes.reserved += permissions[0] == '-' ? (to - from) >> 10 : 0;
    }
    if (file)
        fclose(file);
    return sizes;
}

static void use_cuda(void)
{
    for (int i = 0; i < EVENTS; i++) {
        void *address;
        if (!cudaMalloc(&address, 512))
            cudaFree(address);
    }
}

static void *use_in_thread(void *unused)
{
    use_cuda();
    return unused;
}

static void limit(unsigned long more)
{
    unsigned long bytes = (look().all << 10) + more * MIB;
    struct rlimit limit = {bytes, bytes};
    if (setrlimit(RLIMIT_AS, &limit))
        exit(2);
}

static unsigned blocks(void)
{
    unsigned n = 0;
    while (malloc(MIB))
        n++;
    return n;
}

/* The program's own threads have their arenas before it is looked at. */
static pthread_barrier_t barrier;

static void *work(void *unused)
{
    void *volatile own = malloc(64);
    free(own);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    use_in_thread(NULL);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, 2);
    if (pthread_create(&thread, NULL, work, NULL))
        return 2;
    pthread_barrier_wait(&barrier);
    struct sizes before = look();
    if (argc > 1)
        limit(strtoul(argv[1], NULL, 10));
    pthread_barrier_wait(&barrier);
    use_cuda();
    pthread_barrier_wait(&barrier);
    if (getenv("LD_PRELOAD")) {
        wait_for_our_thread("memtap-nvml", 2);
        wait_for_our_thread("memtap", 3);
    }
    struct sizes after = look();
    printf("%lu %lu\n", after.all - before.all, after.reserved - before.reserved);
    fflush(stdout);
    if (argc > 1)
        printf("%u\n", blocks());
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    return 0;
}
