/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls by which a program restricts itself, which our thread or our system calls would violate.
 * seccomp: a filter allows what the program needs, and other calls may kill it. PR_SET_TSC: neither
 * we nor the C library may read the clock any more. unshare, setns: the kernel allows some
 * namespaces only to a process with one thread. So the recording ends with a message, or continues
 * without our threads; the program continues.
 */
#include "preload/hooks/hooks.h"
#include "preload/host/own-thread.h"
#include "preload/loader/find-real.h"
#include "preload/record/recorder.h"
#include "preload/write/writer.h"
#include "title.h"

#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

MT_REAL_OF_ONE_RELEASE(seccomp_load, "seccomp_load", "libseccomp.so.2", int, (const void *filter))

static void end_before(const char *what)
{
    mt_recorder_end_early(what);
    mt_own_threads_are_restricted = true;
}

static void end_before_filter(void)
{
    end_before("the program restricts its system calls (seccomp)");
}

int mt_hook_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
    if (option == PR_SET_SECCOMP)
        end_before_filter();
    if (option == PR_SET_TSC && a == PR_TSC_SIGSEGV)
        end_before("the program disables reading of the clock (PR_SET_TSC)");
    int result = (int)syscall(SYS_prctl, option, a, b, c, d);
    if (option == PR_SET_NAME)
        mt_title_note();
    return result;
}

int mt_hook_seccomp_load(const void *filter)
{
    end_before_filter();
    return real_seccomp_load()(filter);
}

/* Make a call that a process with several threads may not make. */
static int call_single_threaded(long number, long a, long b)
{
    int result = (int)syscall(number, a, b);
    int failure = errno;
    if (!result || (failure != EINVAL && failure != EUSERS) || !mt_own_threads_exist()) {
        errno = failure;
        return result;
    }
    if (!mt_writer_leave_thread())
        mt_recorder_end_early(
            "the program creates or enters a namespace, which requires a single thread");
    return (int)syscall(number, a, b);
}

int mt_hook_unshare(int flags)
{
    if (flags & (CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM))
        return call_single_threaded(SYS_unshare, flags, 0);
    return (int)syscall(SYS_unshare, flags);
}

int mt_hook_setns(int fd, int type)
{
    return call_single_threaded(SYS_setns, fd, type);
}
