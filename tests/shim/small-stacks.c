/* SPDX-License-Identifier: Apache-2.0 */
/*
 * small-stacks: allocates in two threads one after the other and prints how many bytes of stack
 * each has touched for it: at the first event of the process or the thread, and by another way.
 * small-stacks least: allocates in two threads with the smallest stacks that there are;
 * default: these are what any thread gets, as after ulimit -s 16.
 */
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define SIZE (256u << 10)
#define UNTOUCHED 0xa5
#define MARGIN 256u /* of the caller's own frame, which is not painted */

unsigned cudaMalloc(void **address, size_t size);

static unsigned char *stack;

__attribute__((noinline)) static void allocate(void)
{
    void *address;
    cudaMalloc(&address, 512);
    __asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void allocate_by_another_way(void)
{
    allocate();
    __asm__ volatile("" ::: "memory");
}

/* Bytes below the caller's frame. */
__attribute__((noinline)) static size_t touched_by(void (*call)(void))
{
    unsigned char *here = (unsigned char *)__builtin_frame_address(0) - MARGIN;
    for (unsigned char *at = stack; at < here; at++)
        *(volatile unsigned char *)at = UNTOUCHED;
    call();
    unsigned char *at = stack;
    while (*(volatile unsigned char *)at == UNTOUCHED)
        at++;
    return at < here ? (size_t)(here - at) + MARGIN : MARGIN;
}

static void *run(void *unused)
{
    size_t first = touched_by(allocate), second = touched_by(allocate_by_another_way);
    printf("%zu %zu ", first, second);
    return unused;
}

static void *run_on_little(void *unused)
{
    allocate();
    allocate_by_another_way();
    return unused;
}

int main(int argc, char **argv)
{
    pthread_attr_t attributes;
    int is_default = argc > 1 && !strcmp(argv[1], "default");
    int is_least = is_default || (argc > 1 && !strcmp(argv[1], "least"));
    stack =
        mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED || pthread_attr_init(&attributes) ||
        (is_least ? pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN)
                  : pthread_attr_setstack(&attributes, stack, SIZE)))
        return 2;
    if (is_default && pthread_setattr_default_np(&attributes))
        return 3;
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, is_least ? run_on_little : run, NULL))
            return 2;
        pthread_join(thread, NULL);
    }
    return 0;
}
