/* SPDX-License-Identifier: Apache-2.0 */
/*
 * busy: threads that would notice if anything of theirs changed: memory, vector registers, errno,
 * the results of calls that wait, what they load and fork. The main thread allocates on the card
 * until a file `end` exists. Ends with 0 and "done", or at the first fault with 3.
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

unsigned cudaMalloc(void **address, size_t size);
unsigned cudaFree(void *address);

static _Atomic int is_over;

static void need(int holds, const char *what)
{
    int number = errno;
    if (holds)
        return;
    fprintf(stderr, "busy: %s (errno %d)\n", what, number);
    _exit(3);
}

static void *memory(void *unused)
{
    for (unsigned i = 0; !is_over; i++) {
        size_t size = 16 + i * 7919 % 100000;
        unsigned char *block = malloc(size);
        memset(block, (int)(i & 0xff), size);
        need(block[0] == (i & 0xff) && block[size - 1] == (i & 0xff), "memory");
        free(block);
    }
    return unused;
}

typedef double vector __attribute__((vector_size(32)));

/* The values stay in registers for the whole loop. */
__attribute__((target("avx2"))) static void *vectors(void *unused)
{
    while (!is_over && __builtin_cpu_supports("avx2")) {
        vector a = {1, 2, 3, 4}, b = {5, 6, 7, 8}, c = {9, 10, 11, 12}, one = {1, 1, 1, 1};
        for (unsigned i = 0; i < 1000000; i++) {
            a += one;
            b += a - a + one;
            c += b - b + one;
            __asm__ volatile("" : "+x"(one));
        }
        need(a[3] == 1000004 && b[0] == 1000005 && c[2] == 1000011, "vector registers");
    }
    return unused;
}

static void *errors(void *unused)
{
    for (int i = 1; !is_over; i = i % 100 + 1) {
        errno = i;
        for (unsigned k = 0; k < 20000; k++)
            __asm__ volatile("" ::: "memory");
        need(errno == i, "errno");
    }
    return unused;
}

static void *sleeps(void *unused)
{
    while (!is_over)
        need(!nanosleep(&(struct timespec){0, 3000000}, NULL), "nanosleep");
    return unused;
}

static void *events(void *unused)
{
    struct epoll_event event;
    int set = epoll_create1(EPOLL_CLOEXEC);
    while (!is_over)
        need(!epoll_wait(set, &event, 1, 3), "epoll_wait");
    return unused;
}

static void *polls(void *unused)
{
    while (!is_over)
        need(!poll(NULL, 0, 2), "poll");
    return unused;
}

static void *loads(void *unused)
{
    while (!is_over) {
        void *library = dlopen("libcrypt.so.1", RTLD_NOW);
        if (!library)
            library = dlopen("libm.so.6", RTLD_NOW);
        need(library != NULL, "dlopen");
        dlclose(library);
        usleep(500);
    }
    return unused;
}

static void *forks(void *unused)
{
    while (!is_over) {
        int status;
        pid_t child = fork();
        if (!child)
            _exit(7);
        need(child > 0 && waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7, "fork");
        usleep(5000);
    }
    return unused;
}

int main(void)
{
    static void *(*const all[])(void *) = {memory, vectors, errors, sleeps,
                                           events, polls,   loads,  forks};
    enum { N = sizeof all / sizeof *all };
    pthread_t thread[N];
    for (unsigned i = 0; i < N; i++)
        need(!pthread_create(&thread[i], NULL, all[i], NULL), "pthread_create");
    while (access("end", F_OK)) {
        void *block;
        need(!cudaMalloc(&block, 512) && !cudaFree(block), "cudaMalloc");
    }
    is_over = 1;
    for (unsigned i = 0; i < N; i++)
        pthread_join(thread[i], NULL);
    puts("done");
    return 0;
}
