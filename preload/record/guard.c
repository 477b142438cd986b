/* SPDX-License-Identifier: Apache-2.0 */
#include "guard.h"
#include "recorder.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
    _Atomic uintptr_t start;
    size_t size;
} places[MT_GUARD_MOST];

static _Atomic bool has_lost;

void mt_guard_lose(void)
{
    atomic_store(&has_lost, true);
    atomic_store(&mt_state, MT_OVER);
}

/* Replace the pages by memory. Return 1, or 0 if they are not ours. */
static bool replace(uintptr_t address)
{
    for (unsigned i = 0; i < MT_GUARD_MOST; i++) {
        uintptr_t start = atomic_load(&places[i].start);
        if (!start || address < start || address - start >= places[i].size)
            continue;
        mt_guard_lose();
        return mmap((void *)start, places[i].size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
    }
    return false;
}

/* The program's action before ours. */
static struct sigaction before = {.sa_handler = SIG_DFL};

/* Restore the program's own action. A fault then recurs when the handler returns, and a signal that
 * was sent is sent again unchanged. */
static void leave_to_program(siginfo_t *info)
{
    sigaction(SIGBUS, &before, NULL);
    if (info->si_code <= 0)
        syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGBUS, info);
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    (void)number;
    (void)context;
    if (info->si_code <= 0 || !replace((uintptr_t)info->si_addr))
        leave_to_program(info);
    errno = saved;
}

static bool is_handled(const struct sigaction *action)
{
    return action->sa_flags & SA_SIGINFO || action->sa_handler != SIG_DFL;
}

/* An ignored signal is left alone: a handler's action would not outlive an exec. */
void mt_guard_start(void)
{
    struct sigaction found,
        ours = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    if (sigaction(SIGBUS, NULL, &found) || found.sa_sigaction == ours.sa_sigaction ||
        found.sa_handler == SIG_IGN)
        return;
    if (is_handled(&found))
        ours.sa_flags &= found.sa_flags | ~SA_RESTART;
    before = found;
    sigaction(SIGBUS, &ours, NULL);
}

void mt_guard_resume(void)
{
    struct sigaction found;
    /* A program without a handler may have a filter that forbids this call. */
    if (is_handled(&before) && !sigaction(SIGBUS, NULL, &found) && !is_handled(&found))
        mt_guard_start();
}

void mt_guard_set(unsigned number, void *pages, size_t size)
{
    places[number].size = size;
    atomic_store(&places[number].start, (uintptr_t)pages);
}

bool mt_guard_has_lost(void)
{
    return atomic_load(&has_lost);
}

void mt_guard_reset(void)
{
    memset(places, 0, sizeof places);
    atomic_store(&has_lost, false);
}
