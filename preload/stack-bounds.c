/* SPDX-License-Identifier: Apache-2.0 */
#include "stack-bounds.h"
#include "no-cancel.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A program that switches between so many stacks (coroutines) goes on without. */
#define MOST_LOOK_UPS 1000

struct range {
    uintptr_t low, top;
};

/* Reads "low-top rwx..." at the begin of a line. Without scanf, which allocates. */
static struct range parse(const char *line)
{
    uintptr_t number[2] = {0, 0};
    for (int i = 0; i < 2; i++, line++)
        for (; (*line >= '0' && *line <= '9') || (*line >= 'a' && *line <= 'f'); line++)
            number[i] = number[i] * 16 + (uintptr_t)(*line <= '9' ? *line - '0' : *line - 'a' + 10);
    if (line[0] != 'r' || line[1] != 'w') /* after the space */
        number[0] = number[1] = 0;
    return (struct range){number[0], number[1]};
}

/* The writable mapping that an address lies in; zeros: there is none. */
static struct range mapping_of(uintptr_t address)
{
    char text[1024], line[64]; /* on a stack that may be a small one */
    size_t used = 0;
    ssize_t n;
    struct range found = {0, 0};
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return found;
    while (!found.top && (n = read(fd, text, sizeof text)) > 0)
        for (ssize_t i = 0; i < n && !found.top; i++) {
            if (used < sizeof line - 1)
                line[used++] = text[i];
            if (text[i] != '\n')
                continue;
            line[used] = '\0';
            struct range range = parse(line);
            used = 0;
            if (address >= range.low && address < range.top)
                found = range;
        }
    close(fd);
    return found;
}

/* The thread's own stack; the main thread's is for mapping_of. */
static struct range own_stack(void)
{
    pthread_attr_t attributes;
    void *low;
    size_t size;
    struct range found = {0, 0};
    if (syscall(SYS_gettid) == getpid() || pthread_getattr_np(pthread_self(), &attributes))
        return found;
    if (!pthread_attr_getstack(&attributes, &low, &size))
        found = (struct range){(uintptr_t)low, (uintptr_t)low + size};
    pthread_attr_destroy(&attributes);
    return found;
}

uintptr_t mt_stack_top_slow(struct mt_stack_bounds *bounds, uintptr_t sp)
{
    MT_NO_CANCEL();
    int saved = errno;
    if (bounds->n_looked_up >= MOST_LOOK_UPS)
        return 0;
    bounds->n_looked_up++;
    struct range range = own_stack();
    if (sp < range.low || sp >= range.top)
        range = mapping_of(sp);
    errno = saved;
    if (!range.top)
        return 0;
    /* The first is the thread's own, mostly: the second makes room for a third. One that has grown
     * is the same. */
    int i = bounds->top[0] && bounds->top[0] != range.top;
    bounds->low[i] = range.low;
    bounds->top[i] = range.top;
    return range.top;
}
