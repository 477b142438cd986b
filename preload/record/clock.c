/* SPDX-License-Identifier: Apache-2.0 */
#include "clock.h"
#include "preload/loader/find-real.h"
#include "trace-format/likely.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINES 64                          /* one stays valid until this many newer ones are made */
#define FIRST_INTERVAL_NS 20000000        /* two readings are off by at most 100 ns: 5 ppm */
#define LONGEST_INTERVAL_NS 1000000000000 /* the kernel's own rate changes */
#define JUMP_NS 1000000                   /* the machine was suspended or migrated */
#define TRIES 5

struct moment {
    uint64_t ticks, ns;
};

int (*_Atomic mt_clock_function)(clockid_t clock, struct timespec *out) = clock_gettime;
MT_HOT const struct mt_clock_line *_Atomic mt_clock_line;
MT_HOT _Atomic int mt_clock_is_shared;

static struct {
    bool is_usable;
    struct moment last;   /* when the line was drawn or begins */
    uint64_t interval_ns; /* until the next one */
    struct mt_clock_line line[LINES];
    unsigned n;
} clock_state;

/* Return whether the kernel uses the counter as its clock source, which means that it is constant
 * and the same on all processors. */
static bool is_kernels_clock(void)
{
    char name[8] = "";
    int setting = 0;
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                  O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, name, sizeof name - 1);
    close(fd);
    return n == 4 && !memcmp(name, "tsc\n", 4) &&
           !syscall(SYS_prctl, PR_GET_TSC, &setting, 0, 0, 0) && setting == PR_TSC_ENABLE;
}

/* Read both, as close together as possible. */
static struct moment read_clocks(void)
{
    struct moment best = {0, 0};
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = mt_ticks();
        uint64_t ns = mt_clock(CLOCK_MONOTONIC);
        uint64_t took = mt_ticks() - before;
        if (took < least) {
            least = took;
            best = (struct moment){before + took / 2, ns};
        }
    }
    return best;
}

void mt_clock_find(void)
{
    int (*found)(clockid_t, struct timespec *);
    *(void **)&found = mt_find_real("clock_gettime", "libc.so.6");
    if (found)
        atomic_store(&mt_clock_function, found);
}

void mt_clock_pause(unsigned us)
{
    int saved = errno;
    syscall(SYS_nanosleep, &(struct timespec){.tv_nsec = us * 1000l}, NULL);
    errno = saved;
}

void mt_clock_start(void)
{
    int saved = errno;
    atomic_store(&mt_clock_line, NULL);
    atomic_store(&mt_clock_is_shared, 0);
    clock_state.is_usable = is_kernels_clock();
    clock_state.interval_ns = FIRST_INTERVAL_NS;
    clock_state.last = read_clocks();
    errno = saved;
}

/* Draw a line from the last line's time now to the clock's time one interval later. Uses no
 * floating point: the program may have enabled its exceptions. */
static void draw(struct moment now, uint64_t says)
{
    uint64_t ticks = now.ticks - clock_state.last.ticks, ns = now.ns - clock_state.last.ns;
    struct mt_clock_line *line = &clock_state.line[clock_state.n++ % LINES];
    clock_state.interval_ns = 2 * ns < LONGEST_INTERVAL_NS ? 2 * ns : LONGEST_INTERVAL_NS;
    uint64_t aim_ns = clock_state.interval_ns + (now.ns - says);
    *line = (struct mt_clock_line){
        .ticks = now.ticks,
        .ns = says,
        .rate = (uint64_t)(((unsigned __int128)aim_ns * ns << 32) /
                           ((unsigned __int128)clock_state.interval_ns * ticks))};
    clock_state.last = now;
    atomic_store_explicit(&mt_clock_line, line, memory_order_release);
}

void mt_clock_stop(void)
{
    clock_state.is_usable = false;
    atomic_store(&mt_clock_line, NULL);
}

void mt_clock_adjust(void)
{
    const struct mt_clock_line *line = atomic_load(&mt_clock_line);
    if (!clock_state.is_usable)
        return;
    struct moment now = read_clocks();
    uint64_t says = line ? mt_clock_on(line, now.ticks) : now.ns;
    if (says - now.ns + JUMP_NS > 2 * JUMP_NS || now.ticks <= clock_state.last.ticks) {
        mt_clock_stop(); /* also for a stopped counter, which would divide by 0 */
    } else if (now.ns - clock_state.last.ns >= clock_state.interval_ns) {
        draw(now, says);
    }
}
