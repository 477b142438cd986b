/* SPDX-License-Identifier: Apache-2.0 */
/* Exits without destructors: os._exit, a forked worker of multiprocessing, Ctrl-C in Python, an
 * uncaught C++ exception. They may come from a signal handler, so look up nothing and make direct
 * system calls. And kill: SIGKILL leaves a process no time for a note, so a reader could not
 * distinguish a server that ends its workers from a crash. Its trace's tail says who did it. */
#include "preload/hooks/hooks.h"
#include "preload/host/own-thread.h"
#include "preload/host/read-file.h"
#include "preload/record/process-end.h"
#include "preload/record/recorder.h"
#include "trace-format/tail-request.h"
#include "trace-format/tail.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_MAPPINGS 20000u /* lines to read: some 10 ms */

static bool is_tail(const char *path)
{
    size_t n = strlen(path), end = sizeof MT_TAIL_SUFFIX - 1;
    return n > end && !strcmp(path + n - end, MT_TAIL_SUFFIX);
}

/* Find it by the process's mappings: the program may have closed the descriptor. */
static int open_tail_of(int pid)
{
    static char line[PATH_MAX + 128]; /* the handler's stack may be small */
    static struct mt_lines maps;
    static atomic_flag is_busy = ATOMIC_FLAG_INIT;
    char path[40];
    int tail = -1;
    if (atomic_flag_test_and_set(&is_busy))
        return -1;
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    mt_lines_open(&maps, path);
    for (unsigned n = 0; tail < 0 && n < MOST_MAPPINGS; n++) {
        if (!mt_lines_next(&maps, line, sizeof line))
            break;
        const char *name = strchr(line, '/');
        if (name && is_tail(name))
            tail = open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    }
    mt_lines_close(&maps);
    atomic_flag_clear(&is_busy);
    return tail;
}

/* Return the process's parent, 0 if unknown. The name before it may have any characters. */
static int find_parent(int pid)
{
    char path[40], text[128];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    mt_read_file(path, text, sizeof text);
    const char *name_end = strrchr(text, ')');
    return name_end && sscanf(name_end, ") %*c %d", &parent) == 1 ? parent : 0;
}

/* Return whether this process is an ancestor. A killed process keeps its parent until that has
 * reaped it. */
static bool descends_from_us(int pid)
{
    for (int depth = 0; pid > 1 && depth < 16; depth++) {
        pid = find_parent(pid);
        if (pid == getpid())
            return true;
    }
    return false;
}

static void note_killed(int tail, int pid, int signal)
{
    char how[64];
    snprintf(how, sizeof how, "signal %d from %s%d", signal,
             descends_from_us(pid) ? "ancestor " : "", (int)getpid());
    mt_tail_end_put(tail, MT_ANY_TRACE, pid, how); /* a failure only costs the note */
}

static _Noreturn void end_process(int status)
{
    mt_will_exit(status);
    mt_recorder_finish();
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
    mt_recorder_finish();
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
    int before = errno, tail = open_tail_of(process);
    errno = before;
    int result = (int)syscall(SYS_kill, process, SIGKILL), after = errno;
    if (!result && tail >= 0)
        note_killed(tail, process, SIGKILL);
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
        mt_recorder_finish();
    }
    if (number == SIGKILL && process > 0 && process != getpid() && !mt_own_threads_are_restricted)
        return kill_other(process);
    return (int)syscall(SYS_kill, process, number);
}
