/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bus-errors MODE [KEPT]: allocates in two threads while its trace's tail, t.mtap.tail, is cut to
 * KEPT bytes (cut), also where it handles SIGBUS by passing it on (chain); or gets a SIGBUS of its
 * own: by a file (own), by a signal (sent), or by the tail, since it handles that itself (taken).
 * The end is 0 where the program was left alone.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

unsigned cudaMalloc(void **address, size_t size);

static void allocate(int n)
{
    void *address;
    for (int i = 0; i < n; i++)
        cudaMalloc(&address, (size_t)i + 1);
}

static pthread_barrier_t cut;

static void *allocate_in_thread(void *unused)
{
    allocate(1000);
    pthread_barrier_wait(&cut);
    pthread_barrier_wait(&cut);
    allocate(50000);
    return unused;
}

static struct sigaction before;

static void pass_on(int number, siginfo_t *info, void *context)
{
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, info, context);
    else
        _exit(5);
}

static void leave(int number)
{
    _exit(number == SIGBUS ? 42 : 43);
}

static void touch_cut_file(void)
{
    int file = open("own", O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, 4096))
        exit(3);
    volatile char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (ftruncate(file, 0))
        exit(3);
    memory[0] = 1;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    const char *mode = argc > 1 ? argv[1] : "";
    struct sigaction action = {.sa_flags = SA_SIGINFO, .sa_sigaction = pass_on};
    if (!strcmp(mode, "taken"))
        signal(SIGBUS, leave);
    allocate(10);
    if (!strcmp(mode, "chain"))
        sigaction(SIGBUS, &action, &before);
    if (!strcmp(mode, "own"))
        touch_cut_file();
    if (!strcmp(mode, "sent"))
        kill(getpid(), SIGBUS);
    if (pthread_barrier_init(&cut, NULL, 2) ||
        pthread_create(&thread, NULL, allocate_in_thread, NULL))
        return 3;
    pthread_barrier_wait(&cut);
    if (truncate("t.mtap.tail", argc > 2 ? atol(argv[2]) : 0))
        return 4;
    pthread_barrier_wait(&cut);
    allocate(50000);
    pthread_join(thread, NULL);
    return 0;
}
