/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls by which a program limits itself, and which our thread or our system calls would break.
 * seccomp: what a filter allows is what the program needs, and other calls may end it. unshare: the
 * kernel gives a new user namespace to a process of one thread only. So the recording ends, said in
 * a line, or goes on without our threads, and so does the program.
 */
#include "preload/hooks/hooks.h"
#include "preload/host/own-thread.h"
#include "preload/loader/find-real.h"
#include "preload/record/recorder.h"
#include "preload/write/writer.h"

#include <errno.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

MT_REAL_OF_ONE_RELEASE(seccomp_load, "seccomp_load", "libseccomp.so.2", int, (const void *filter))

static void end_before_filter(void)
{
    mt_end_early("the program restricts its system calls (seccomp)");
    mt_is_restricted = true;
}

int mt_hook_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d)
{
    if (option == PR_SET_SECCOMP)
        end_before_filter();
    return (int)syscall(SYS_prctl, option, a, b, c, d);
}

int mt_hook_seccomp_load(const void *filter)
{
    end_before_filter();
    return real_seccomp_load()(filter);
}

int mt_hook_unshare(int flags)
{
    int result = (int)syscall(SYS_unshare, flags);
    int failure = errno;
    if (!result || errno != EINVAL || !(flags & CLONE_NEWUSER) || !mt_own_threads_exist()) {
        errno = failure;
        return result;
    }
    if (!mt_writer_leave_thread())
        mt_end_early("the program makes a user namespace, for which it may have one thread only");
    return (int)syscall(SYS_unshare, flags);
}
