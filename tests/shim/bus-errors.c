/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bus-errors MODE [KEPT]: allocates in two threads while its trace's tail, t.mtap.tail, is cut to
 * KEPT bytes: `cut`; where it handles SIGBUS by passing it on (chain), by a handler from before the
 * recording (taken) or since (later), or as Python's faulthandler does, set before (dumps), since
 * (dumps-later), or a moment ago (dumps-at-once). Or gets a SIGBUS of its own, which it then
 * handles: by a file (own, own-taken, own-chain, own-later, own-dumps, own-dumps-later, own-jumps)
 * or by a signal (sent, sent-taken, sent-ignored). The end is 0 where the program was left alone.
 */
#include "our-thread.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
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

/* As faulthandler: it goes, and the handler before it has the signal, raised again. */
static void dump(int number)
{
    if (write(STDOUT_FILENO, "dumped\n", 7) != 7)
        _exit(6);
    sigaction(number, &before, NULL);
    raise(number);
}

static sigjmp_buf probe;
static int n_jumps;

static void jump(int number)
{
    siglongjmp(probe, number);
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

static int ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), of_end = strlen(end);
    return n >= of_end && !strcmp(text + n - of_end, end);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    const char *mode = argc > 1 ? argv[1] : "";
    struct sigaction action = {.sa_flags = SA_SIGINFO, .sa_sigaction = pass_on};
    struct sigaction dumps = {.sa_flags = SA_NODEFER, .sa_handler = dump};
    if (ends_with(mode, "taken"))
        signal(SIGBUS, leave);
    if (ends_with(mode, "ignored"))
        signal(SIGBUS, SIG_IGN);
    if (ends_with(mode, "dumps"))
        sigaction(SIGBUS, &dumps, &before);
    if (ends_with(mode, "jumps"))
        signal(SIGBUS, jump);
    allocate(10);
    if (ends_with(mode, "dumps-later") || ends_with(mode, "dumps-at-once"))
        sigaction(SIGBUS, &dumps, &before);
    else if (ends_with(mode, "later"))
        signal(SIGBUS, leave);
    if (ends_with(mode, "chain"))
        sigaction(SIGBUS, &action, &before);
    if (strstr(mode, "later") || !strcmp(mode, "own-chain"))
        wait_for_our_thread("memtap", wait_for_our_thread("memtap", 0) + 1); /* it looks again */
    while (!strcmp(mode, "own-jumps") && n_jumps < 3)
        if (!sigsetjmp(probe, 1))
            touch_cut_file();
        else
            n_jumps++;
    if (!strcmp(mode, "own-jumps"))
        return 0;
    if (!strncmp(mode, "own", 3))
        touch_cut_file();
    if (!strncmp(mode, "sent", 4))
        kill(getpid(), SIGBUS);
    if (!strcmp(mode, "sent-ignored"))
        return 0;
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
