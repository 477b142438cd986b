/* SPDX-License-Identifier: Apache-2.0 */
#include "stack-bounds.h"
#include "no-cancel.h"
#include "safe-read.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Limit for programs that switch between many stacks (coroutines): then go without. */
#define MOST_LOOK_UPS 1000
#define PAGE ((uintptr_t)4096)

struct range {
    uintptr_t low, top;
};

static int holds(struct range range, uintptr_t address)
{
    return address >= range.low && address < range.top;
}

/* Parse "low-top rwx..." at the beginning of a line, without scanf, which allocates. */
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

/* Return the writable mapping around an address; zeros: none. */
static struct range mapping_of(uintptr_t address)
{
    char text[1024], line[64]; /* the thread's stack may be small */
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
            if (holds(range, address))
                found = range;
        }
    close(fd);
    return found;
}

static bool is_main_thread(void)
{
    return syscall(SYS_gettid) == getpid();
}

/* Return the thread's own stack; mapping_of finds the main thread's. */
static struct range own_stack(void)
{
    pthread_attr_t attributes;
    void *low;
    size_t size;
    struct range found = {0, 0};
    if (is_main_thread() || pthread_getattr_np(pthread_self(), &attributes))
        return found;
    if (!pthread_attr_getstack(&attributes, &low, &size))
        found = (struct range){(uintptr_t)low, (uintptr_t)low + size};
    pthread_attr_destroy(&attributes);
    return found;
}

/* Whether this is the main thread's stack, whose top holds the kernel's data for the program. */
static bool is_main_stack(struct range range)
{
    return is_main_thread() && holds(range, getauxval(AT_RANDOM));
}

/* Return the end of the readable part of a stack from sp on; 0: sp cannot be read. */
static uintptr_t end_of_readable(uintptr_t sp, uintptr_t top)
{
    uintptr_t page = sp & ~(PAGE - 1);
    size_t n = mt_readable_pages(page, (top - page + PAGE - 1) / PAGE);
    uintptr_t end = n ? page + n * PAGE : 0;
    return end < top ? end : top;
}

static uintptr_t look_up(struct mt_stack_bounds *bounds, uintptr_t sp)
{
    if (bounds->n_looked_up >= MOST_LOOK_UPS)
        return 0;
    bounds->n_looked_up++;
    struct range range = own_stack();
    bool is_own = holds(range, sp);
    if (!is_own) {
        range = mapping_of(sp);
        is_own = is_main_stack(range);
    }
    if (!range.top)
        return 0;
    *(is_own ? &bounds->low : &bounds->other_low) = range.low;
    *(is_own ? &bounds->top : &bounds->other_top) = range.top;
    return range.top;
}

uintptr_t mt_stack_top_slow(struct mt_stack_bounds *bounds, uintptr_t sp)
{
    MT_NO_CANCEL();
    int saved = errno;
    struct range other = {bounds->other_low, bounds->other_top};
    uintptr_t top = holds(other, sp) ? end_of_readable(sp, other.top) : look_up(bounds, sp);
    errno = saved;
    return top;
}
