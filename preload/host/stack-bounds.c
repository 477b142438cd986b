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

/* The main thread's stack is looked up again when it has grown. */
#define MOST_LOOK_UPS 1000
#define PAGE ((uintptr_t)4096)
#define FIRST_PAGES 16u /* read at first on another stack, by one system call */
#define MOST_PAGES 256u
#define NEAR ((uintptr_t)16 << 10) /* on another stack: its neighbour may be adjacent */
#define MOST_GROWTH ((uintptr_t)64 << 20)

struct range {
    uintptr_t low, top;
};

static bool holds(struct range range, uintptr_t address)
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

static struct range given_stack(void)
{
    pthread_attr_t attributes;
    void *low;
    size_t size;
    struct range found = {0, 0};
    if (pthread_getattr_np(pthread_self(), &attributes))
        return found;
    if (!pthread_attr_getstack(&attributes, &low, &size))
        found = (struct range){(uintptr_t)low, (uintptr_t)low + size};
    pthread_attr_destroy(&attributes);
    return found;
}

/* Return the calling thread's own stack. The main thread's has the kernel's data for the program at
 * its top. */
static struct range own_stack(void)
{
    int saved = errno;
    struct range found = is_main_thread() ? mapping_of(getauxval(AT_RANDOM)) : given_stack();
    errno = saved;
    return found;
}

static bool is_own(const struct mt_stack_bounds *bounds, uintptr_t address)
{
    return holds((struct range){bounds->low, bounds->top}, address);
}

/* Return whether an address is on the calling thread's own stack. */
static bool find_own(struct mt_stack_bounds *bounds, uintptr_t address)
{
    bool may_be = !bounds->top || (address < bounds->low && bounds->low - address < MOST_GROWTH);
    if (is_own(bounds, address))
        return true;
    if (!may_be || bounds->n_looked_up >= MOST_LOOK_UPS)
        return false;
    bounds->n_looked_up++;
    struct range range = own_stack();
    bounds->low = range.low;
    bounds->top = range.top;
    return is_own(bounds, address);
}

/* Return the end of the readable part of a stack from sp on; 0 if sp is unreadable. */
static uintptr_t end_of_readable(uintptr_t sp, size_t most)
{
    uintptr_t page = sp & ~(PAGE - 1);
    size_t n = mt_readable_pages(page, most);
    return n ? page + n * PAGE : 0;
}

uintptr_t mt_stack_top_slow(struct mt_stack_bounds *bounds, uintptr_t sp)
{
    MT_NO_CANCEL();
    int saved = errno;
    uintptr_t top = find_own(bounds, sp) ? bounds->top : end_of_readable(sp, FIRST_PAGES);
    errno = saved;
    return top;
}

uintptr_t mt_stack_top_beyond(const struct mt_stack_bounds *bounds, uintptr_t sp, uintptr_t top)
{
    uintptr_t page = sp & ~(PAGE - 1), most = page + MOST_PAGES * PAGE;
    if (is_own(bounds, sp) || top >= most)
        return top;
    uintptr_t end = end_of_readable(top, (most - top) / PAGE);
    return end ? end : top;
}

enum mt_stacks mt_stacks_of(struct mt_stack_bounds *bounds, uintptr_t a, uintptr_t sp)
{
    MT_NO_CANCEL();
    int saved = errno;
    bool is_here = find_own(bounds, sp), is_there = is_own(bounds, a);
    errno = saved;
    if (is_here != is_there)
        return MT_STACKS_DIFFER;
    if (is_here)
        return MT_STACK_IS_OWN;
    return (a > sp ? a - sp : sp - a) < NEAR ? MT_STACK_IS_ANOTHER : MT_STACKS_DIFFER;
}
