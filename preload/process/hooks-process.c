/* SPDX-License-Identifier: Apache-2.0 */
/* Exits without destructors: os._exit, a forked worker of multiprocessing, Ctrl-C in Python, an
 * uncaught C++ exception. They may come from a signal handler, so look up nothing and make direct
 * system calls. */
#include "preload/hooks/hooks.h"
#include "preload/host/own-thread.h"
#include "preload/record/process-end.h"
#include "preload/record/recorder.h"
#include "victim.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Noreturn void end_process(int status)
{
    mt_will_exit(status);
    mt_finish();
    for (;;)
        syscall(SYS_exit_group, status);
}

void mt_hook_exit(int status)
{
    end_process(status);
}

void mt_hook_exit_c99(int status)
{
    end_process(status);
}

/* Abort as the C library does: first the program's handler, which may jump away; if it returns, the
 * default action. */
void mt_hook_abort(void)
{
    sigset_t abortion;
    struct sigaction action;
    sigemptyset(&abortion);
    sigaddset(&abortion, SIGABRT);
    sigprocmask(SIG_UNBLOCK, &abortion, NULL);
    if (!sigaction(SIGABRT, NULL, &action) && action.sa_handler != SIG_DFL)
        raise(SIGABRT);
    mt_will_be_killed(SIGABRT);
    mt_finish();
    signal(SIGABRT, SIG_DFL);
    raise(SIGABRT);
    end_process(127);
}

/* Return whether the signal would end a process by default, and this process has neither blocked
 * nor handled it. */
static bool ends_us(int number)
{
    struct sigaction action;
    sigset_t blocked;
    switch (number) {
    case SIGKILL:
        return true;
    case SIGINT:
    case SIGTERM:
    case SIGHUP:
    case SIGQUIT:
    case SIGABRT:
        return !sigprocmask(SIG_BLOCK, NULL, &blocked) && !sigismember(&blocked, number) &&
               !sigaction(number, NULL, &action) && action.sa_handler == SIG_DFL;
    }
    return false;
}

static int kill_other(int process)
{
    int before = errno, tail = mt_victim_open(process);
    errno = before;
    int result = (int)syscall(SYS_kill, process, SIGKILL), after = errno;
    if (!result && tail >= 0)
        mt_victim_note(tail, process, SIGKILL);
    if (tail >= 0)
        close(tail);
    errno = after;
    return result;
}

int mt_hook_kill(int process, int number)
{
    /* A container's first process is not killed by its own signals. */
    if (process == getpid() && process != 1 && ends_us(number)) {
        mt_will_be_killed(number);
        mt_finish();
    }
    if (number == SIGKILL && process > 0 && process != getpid() && !mt_is_restricted)
        return kill_other(process);
    return (int)syscall(SYS_kill, process, number);
}
