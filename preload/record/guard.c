/* SPDX-License-Identifier: Apache-2.0 */
#include "guard.h"
#include "preload/host/safe-read.h"
#include "recorder.h"

#include <errno.h>
#include <pthread.h>
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

static _Atomic int has_lost;

void mt_guard_lose(void)
{
    atomic_store(&has_lost, 1);
    atomic_store(&mt_state, MT_OVER);
}

/* What stood under our handler: the action over which it was installed last, and the one before
 * that, to which a handler of the program passes on what it had from ours. */
static struct under {
    struct sigaction top, bottom;
} unders[2];
static _Atomic int under_now;

/* How many handlers under ours the thread is in, as far as it has not jumped away. */
static _Thread_local unsigned depth __attribute__((tls_model("initial-exec")));

/* Put memory in place of a place's pages. Return whether it is there. */
static bool replace_place(unsigned i)
{
    mt_guard_lose();
    return mmap((void *)atomic_load(&places[i].start), places[i].size, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

/* Return whether the address is ours, and memory is in place of its pages. */
static bool replace(uintptr_t address)
{
    for (unsigned i = 0; i < MT_GUARD_MOST; i++) {
        uintptr_t start = atomic_load(&places[i].start);
        if (start && address >= start && address - start < places[i].size)
            return replace_place(i);
    }
    return false;
}

/* Replace all places that the file does not have any more. Return whether there were some. */
static bool replace_cut(void)
{
    bool is_cut = false;
    char byte;
    for (unsigned i = 0; i < MT_GUARD_MOST; i++) {
        uintptr_t start = atomic_load(&places[i].start);
        if (start && mt_safe_read((const char *)start + places[i].size - 1, &byte, 1))
            is_cut = replace_place(i) || is_cut;
    }
    return is_cut;
}

/* Act as without us: a fault recurs when we return; a signal that was sent must be sent again. */
static void leave_to_kernel(const siginfo_t *info)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigaction(SIGBUS, &action, NULL);
    if (info->si_code <= 0)
        syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGBUS);
}

/* Call a handler as the kernel would. */
static void call(const struct sigaction *action, siginfo_t *info, void *context)
{
    sigset_t itself;
    sigemptyset(&itself);
    sigaddset(&itself, SIGBUS);
    pthread_sigmask(SIG_BLOCK, &action->sa_mask, NULL); /* until our handler returns */
    if (action->sa_flags & SA_NODEFER)
        pthread_sigmask(SIG_UNBLOCK, &itself, NULL);
    depth++;
    if (action->sa_flags & SA_SIGINFO)
        action->sa_sigaction(SIGBUS, info, context);
    else
        action->sa_handler(SIGBUS);
    depth--;
}

static void pass_on(const struct sigaction *action, siginfo_t *info, void *context)
{
    bool has_none = !(action->sa_flags & SA_SIGINFO) &&
                    (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN);
    if (!has_none)
        call(action, info, context);
    else if (action->sa_handler == SIG_DFL || info->si_code > 0)
        leave_to_kernel(info);
}

/* Return whether a handler under ours has called this one, or raised the signal again; else the
 * kernel has. It puts the context right above the return address. */
static bool is_passed_on(const siginfo_t *info, uintptr_t context, uintptr_t frame)
{
#if defined __x86_64__ && !defined __SANITIZE_THREAD__ /* that hands out copies */
    bool is_called = context != frame + 16;
#else
    bool is_called = false;
    (void)context;
    (void)frame;
#endif
    return is_called || (depth && info->si_code <= 0 && info->si_pid == getpid());
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    (void)number;
    const struct under *under = &unders[atomic_load(&under_now)];
    static const struct sigaction none = {.sa_handler = SIG_DFL};
    bool is_passed = is_passed_on(info, (uintptr_t)context, (uintptr_t)__builtin_frame_address(0));
    /* A handler over ours, such as Python's faulthandler, may raise the signal again. */
    bool is_own = info->si_code <= 0 && info->si_pid == getpid();
    if (!is_passed)
        depth = 0;
    if (!(info->si_code > 0 ? replace((uintptr_t)info->si_addr) : is_own && replace_cut()))
        pass_on(!is_passed || !depth ? &under->top
                : depth == 1         ? &under->bottom
                                     : &none,
                info, context);
    errno = saved;
}

static bool is_ours(const struct sigaction *action)
{
    return action->sa_flags & SA_SIGINFO && action->sa_sigaction == on_bus_error;
}

void mt_guard_check(void)
{
    struct sigaction found,
        ours = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_RESTART};
    if (sigaction(SIGBUS, NULL, &found) || is_ours(&found))
        return;
    int now = atomic_load(&under_now);
    unders[!now] = (struct under){.top = found, .bottom = unders[now].top};
    atomic_store(&under_now, !now);
    bool has_handler = found.sa_flags & SA_SIGINFO || found.sa_handler != SIG_DFL;
    ours.sa_flags |= has_handler ? found.sa_flags & SA_ONSTACK : SA_ONSTACK;
    sigaction(SIGBUS, &ours, NULL);
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
    atomic_store(&has_lost, 0);
}
