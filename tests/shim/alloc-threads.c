/* SPDX-License-Identifier: Apache-2.0 */
/* alloc-threads THREADS PAIRS [END [CALLS]]: each thread allocates and frees PAIRS times; sizes
 * tell thread and turn: size = thread << 32 | turn. Ends as END says, when its threads have ended,
 * or when they have counted so many CALLS. With ALLOC_COUNTS=FILE each thread counts there, in
 * memory that outlives the process, what has returned: two numbers of 64 bits a thread, mallocs and
 * frees. With ALLOC_COPIES set, another thread opens, reads and closes all files of the working
 * directory again and again, as a program does that copies its run's folder. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_THREADS 64

unsigned cudaMalloc(void **address, size_t size);
unsigned cudaFree(void *address);

static unsigned long pairs;
static _Atomic uint64_t (*counts)[2];

static void count(uintptr_t index, int is_free)
{
    if (counts)
        atomic_fetch_add(&counts[index][is_free], 1);
}

static void *work(void *data)
{
    uintptr_t index = (uintptr_t)data;
    for (unsigned long i = 0; i < pairs; i++) {
        void *address;
        unsigned failed = cudaMalloc(&address, (size_t)index << 32 | i);
        count(index, 0);
        if (!failed) {
            cudaFree(address);
            count(index, 1);
        }
    }
    return NULL;
}

static void *read_files(void *unused)
{
    static char bytes[65536];
    for (;;) {
        DIR *directory = opendir(".");
        for (struct dirent *entry; directory && (entry = readdir(directory));) {
            int fd = open(entry->d_name, O_RDONLY);
            while (fd >= 0 && read(fd, bytes, sizeof bytes) > 0)
                ;
            if (fd >= 0)
                close(fd);
        }
        if (directory)
            closedir(directory);
    }
    return unused;
}

static void map_counts(const char *path)
{
    const size_t size = MOST_THREADS * sizeof *counts;
    int fd = path ? open(path, O_RDWR | O_CREAT, 0600) : -1;
    if (fd < 0 || ftruncate(fd, (off_t)size))
        return;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    counts = memory == MAP_FAILED ? NULL : memory;
    close(fd);
}

static void wait_for_calls(uint64_t wanted)
{
    for (uint64_t sum = 0; counts && sum < wanted; usleep(1000)) {
        sum = 0;
        for (unsigned i = 0; i < MOST_THREADS; i++)
            sum += atomic_load(&counts[i][0]) + atomic_load(&counts[i][1]);
    }
}

static volatile int *volatile nowhere;

static void end_abnormally(const char *end)
{
    if (!strcmp(end, "_exit"))
        _exit(0);
    if (!strcmp(end, "abort"))
        abort();
    if (!strcmp(end, "kill"))
        syscall(SYS_kill, getpid(), SIGKILL); /* as from outside */
    if (!strcmp(end, "interrupt"))
        kill(getpid(), SIGINT);
    if (!strcmp(end, "fault"))
        *nowhere = 0;
}

int main(int argc, char **argv)
{
    pthread_t threads[MOST_THREADS];
    unsigned long n = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
    if (n < 1 || n > MOST_THREADS) {
        fprintf(stderr, "usage: alloc-threads THREADS PAIRS [return|_exit|abort|kill|interrupt|"
                        "fault [CALLS]]\n");
        return 2;
    }
    pairs = strtoul(argv[2], NULL, 10);
    map_counts(getenv("ALLOC_COUNTS"));
    pthread_t copier;
    const char *copies = getenv("ALLOC_COPIES");
    if (copies && *copies)
        pthread_create(&copier, NULL, read_files, NULL);
    for (uintptr_t i = 0; i < n; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    if (argc > 4)
        wait_for_calls(strtoul(argv[4], NULL, 10));
    else
        for (unsigned long i = 0; i < n; i++)
            pthread_join(threads[i], NULL);
    end_abnormally(argc > 3 ? argv[3] : "return");
    return 0;
}
