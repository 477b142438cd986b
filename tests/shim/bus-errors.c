/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bus-errors MODE [KEPT]: allocates in two threads while its trace's tail, t.mtap.tail, is cut to
 * KEPT bytes (cut), also where it handles SIGBUS by passing it on (chain), or as Python's
 * faulthandler does (fatal); or gets a SIGBUS of its own: by a file (own), or by a signal (sent),
 * also where it handles them (own-handled, sent-handled, own-fatal). The end is 0 where the program
 * was left alone, 42 where its handler got what the kernel gives it.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
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

static char stack[65536], *memory; /* memory: its own file's, cut */
static bool is_own;

/* End with 42 if all is as the kernel gives it. */
static void leave(int number, siginfo_t *info, void *context)
{
    char *here = __builtin_frame_address(0); /* a variable may be on a sanitizer's stack */
    sigset_t blocked;
    sigprocmask(SIG_BLOCK, NULL, &blocked);
    bool is_right = is_own ? info->si_code == BUS_ADRERR && info->si_addr == memory
                           : info->si_code == SI_USER && info->si_pid == getpid();
    bool is_on_stack = here >= stack && here < stack + sizeof stack;
    _exit(number == SIGBUS && is_right && context && is_on_stack &&
                  sigismember(&blocked, SIGUSR2) == 1
              ? 42
              : 43);
}

/* As faulthandler: put back what was before, and raise again. */
static void report(int number)
{
    sigaction(number, &before, NULL);
    if (write(2, "fatal\n", 6) == 6)
        raise(number);
}

static void handle(const char *mode)
{
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK, .sa_sigaction = leave};
    if (strstr(mode, "fatal"))
        action = (struct sigaction){.sa_flags = SA_NODEFER | SA_ONSTACK, .sa_handler = report};
    else if (!strstr(mode, "handled"))
        return;
    sigaddset(&action.sa_mask, SIGUSR2);
    sigaltstack(&other, NULL);
    sigaction(SIGBUS, &action, &before);
}

static void touch_cut_file(void)
{
    int file = open("own", O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, 4096))
        exit(3);
    memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (ftruncate(file, 0))
        exit(3);
    *(volatile char *)memory = 1;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    const char *mode = argc > 1 ? argv[1] : "";
    struct sigaction action = {.sa_flags = SA_SIGINFO, .sa_sigaction = pass_on};
    is_own = !strncmp(mode, "own", 3);
    handle(mode);
    allocate(10);
    if (!strcmp(mode, "chain"))
        sigaction(SIGBUS, &action, &before);
    if (is_own)
        touch_cut_file();
    if (!strncmp(mode, "sent", 4))
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
