/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jumps HOW: leaves CUDA calls, and our hooks around them, by other ways than their end; then
 * allocates 200 times at one depth and 200 times deeper. Prints how many calls had no end.
 *
 * start: a handler jumps out of the first call while libmemtap.so waits for its writer.
 * call: a handler jumps out of CUDA's function. hook: timers interrupt the calls anywhere.
 * cancel: threads are cancelled anywhere. exit: a thread ends in CUDA's function.
 * coroutine: CUDA's function switches to another stack, whose own calls end in the middle.
 * elsewhere: the other stack never comes back. arena: stacks lie in one large mapping, of which
 * only a part may be looked at for each call: prints the most pages.
 */
#include "calls-of-shim.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

unsigned cudaMalloc(void **address, size_t size);
unsigned cudaFree(void *address);
extern void (*fake_within)(void); /* cudaMalloc calls it */

#define TIMES 200
#define STACK ((size_t)64 << 10)

static sigjmp_buf back;
static _Atomic unsigned long left; /* calls */

static void allocate(void)
{
    void *address;
    for (int i = 0; i < TIMES; i++)
        cudaMalloc(&address, 512);
}

/* With stack that nobody writes in between. */
static __attribute__((noinline)) void allocate_deeper(void)
{
    char rest[16384];
    __asm__ volatile("" : : "r"(rest) : "memory");
    allocate();
    __asm__ volatile("" : : "r"(rest) : "memory");
}

static void jump(int number)
{
    (void)number;
    left++;
    siglongjmp(back, 1);
}

static void raise_within(void)
{
    raise(SIGUSR1);
}

/* libmemtap.so waits by it. */
static pthread_t first;
static bool is_to_jump;

long syscall(long number, ...)
{
    long a[6], result;
    va_list arguments;
    REAL(syscall)
    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(arguments, long);
    va_end(arguments);
    if (is_to_jump && number == SYS_futex && (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT &&
        pthread_equal(first, pthread_self()) && is_of_shim(__builtin_return_address(0))) {
        is_to_jump = false;
        raise(SIGUSR1);
    }
    result = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    return result;
}

static void *allocate_in_thread(void *unused)
{
    allocate();
    return unused;
}

static void jump_out_of_start(void)
{
    pthread_t thread;
    void *address;
    first = pthread_self();
    is_to_jump = true;
    if (!sigsetjmp(back, 1))
        cudaMalloc(&address, 512);
    if (!pthread_create(&thread, NULL, allocate_in_thread, NULL))
        pthread_join(thread, NULL);
}

static void jump_out_of_calls(void)
{
    void *address;
    fake_within = raise_within;
    for (volatile int i = 0; i < 1000; i++)
        if (!sigsetjmp(back, 1))
            cudaMalloc(&address, 512);
    fake_within = NULL;
}

static void jump_out_of_hooks(void)
{
    const struct itimerval each = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    void *volatile address;
    setitimer(ITIMER_REAL, &each, NULL);
    while (sigsetjmp(back, 1) || left < 500)
        if (!cudaMalloc((void **)&address, 512))
            cudaFree(address);
    setitimer(ITIMER_REAL, &never, NULL);
}

static void *allocate_for_ever(void *unused)
{
    void *address;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;)
        if (!cudaMalloc(&address, 512))
            cudaFree(address);
    return unused;
}

static void cancel_threads(void)
{
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    for (int i = 0; i < 25; i++) {
        for (int j = 0; j < THREADS; j++)
            if (pthread_create(&thread[j], NULL, allocate_for_ever, NULL))
                exit(2);
        usleep(1000);
        for (int j = 0; j < THREADS; j++)
            pthread_cancel(thread[j]);
        for (int j = 0; j < THREADS; j++)
            pthread_join(thread[j], NULL);
    }
    pid_t child = fork(); /* waits for the writer */
    if (!child)
        _exit(0);
    waitpid(child, NULL, 0);
}

static void end_thread(void)
{
    pthread_exit(NULL);
}

static void exit_within(void)
{
    pthread_t thread;
    fake_within = end_thread;
    for (int i = 0; i < 20; i++, left++)
        if (!pthread_create(&thread, NULL, allocate_in_thread, NULL))
            pthread_join(thread, NULL);
    fake_within = NULL;
}

/* Stacks side by side. */
static char stacks[3][STACK] __attribute__((aligned(4096)));
static ucontext_t context[4];

static void switch_away(void)
{
    fake_within = NULL;
    swapcontext(&context[1], &context[3]);
}

static void call_and_switch(void)
{
    void *address;
    fake_within = switch_away;
    cudaMalloc(&address, 512);
    allocate();
    swapcontext(&context[1], &context[3]);
}

static void make_context(int i, void (*run)(void))
{
    getcontext(&context[i]);
    context[i].uc_stack.ss_sp = stacks[i];
    context[i].uc_stack.ss_size = STACK;
    context[i].uc_link = &context[3];
    makecontext(&context[i], run, 0);
}

static void switch_stacks(bool comes_back)
{
    make_context(0, allocate);
    make_context(1, call_and_switch);
    make_context(2, allocate);
    swapcontext(&context[3], &context[1]); /* into the call */
    swapcontext(&context[3], &context[0]);
    swapcontext(&context[3], &context[2]);
    if (comes_back)
        swapcontext(&context[3], &context[1]);
}

static unsigned long pages, most_pages;

ssize_t process_vm_readv(pid_t pid, const struct iovec *to, unsigned long n_to,
                         const struct iovec *from, unsigned long n, unsigned long flags)
{
    REAL(process_vm_readv)
    if (is_of_shim(__builtin_return_address(0)))
        pages += n;
    return real(pid, to, n_to, from, n, flags);
}

static void allocate_and_count(void)
{
    void *address;
    for (int i = 0; i < TIMES; i++) {
        pages = 0;
        cudaMalloc(&address, 512);
        if (i && pages > most_pages)
            most_pages = pages;
    }
}

static void use_arena(void)
{
    const size_t size = (size_t)64 << 20;
    char *arena = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (arena == MAP_FAILED)
        exit(2);
    make_context(0, allocate_and_count);
    context[0].uc_stack.ss_sp = arena;
    makecontext(&context[0], allocate_and_count, 0);
    swapcontext(&context[3], &context[0]);
    left = most_pages;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    signal(SIGUSR1, jump);
    signal(SIGALRM, jump);
    if (!strcmp(how, "start"))
        jump_out_of_start();
    else if (!strcmp(how, "call"))
        jump_out_of_calls();
    else if (!strcmp(how, "hook"))
        jump_out_of_hooks();
    else if (!strcmp(how, "cancel"))
        cancel_threads();
    else if (!strcmp(how, "exit"))
        exit_within();
    else if (!strcmp(how, "arena"))
        use_arena();
    else
        switch_stacks(!strcmp(how, "coroutine"));
    allocate();
    allocate_deeper();
    printf("%lu\n", left);
    return 0;
}
