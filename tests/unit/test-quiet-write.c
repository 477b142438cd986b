/* SPDX-License-Identifier: Apache-2.0 */
/* What we write on the host's threads: no signal of it reaches the host
 * (preload/host/message.h). */
#include "preload/host/message.h"
#include "tests/support/run-tests.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[64];

static int open_full(void)
{
    const struct rlimit none = {0, 0};
    snprintf(path, sizeof path, "quiet-write-%d", (int)getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    setrlimit(RLIMIT_FSIZE, &none);
    return fd;
}

static void notify(void)
{
    if (dup2(open_full(), STDERR_FILENO) == STDERR_FILENO)
        mt_message("a line that has no room");
}

static void sign(void)
{
    close(open_full());
    mt_manifest_sign(path, "so has a text");
}

static void notify_nobody(void)
{
    int ends[2];
    if (pipe(ends) || close(ends[0]) || dup2(ends[1], STDERR_FILENO) != STDERR_FILENO)
        _exit(2);
    mt_message("a line that nobody reads");
}

/* A child, which would be ended by the signal, does it; it has errno as it was, and no signal of
 * ours. */
static int status_of(void (*action)(void))
{
    int status;
    pid_t child = fork();
    if (!child) {
        sigset_t pending;
        signal(SIGXFSZ, SIG_DFL);
        signal(SIGPIPE, SIG_DFL);
        action();
        sigpending(&pending);
        bool is_clean = !sigismember(&pending, SIGXFSZ) && !sigismember(&pending, SIGPIPE);
        unlink(path);
        _exit(is_clean ? 0 : 3);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

START_TEST(a_file_at_its_limit_ends_no_host)
{
    ck_assert_int_eq(status_of(notify), 0);
    ck_assert_int_eq(status_of(sign), 0);
}
END_TEST

START_TEST(a_pipe_that_nobody_reads_ends_no_host)
{
    ck_assert_int_eq(status_of(notify_nobody), 0);
}
END_TEST

/* A signal that waited before is the host's own. */
static void notify_while_one_waits(void)
{
    sigset_t ours, pending;
    sigemptyset(&ours);
    sigaddset(&ours, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &ours, NULL);
    pthread_kill(pthread_self(), SIGXFSZ);
    int fd = open_full();
    if (mt_write_quietly(fd, "x", 1) != -1 || errno != EFBIG)
        _exit(4);
    sigpending(&pending);
    if (!sigismember(&pending, SIGXFSZ))
        _exit(5);
    unlink(path);
    _exit(0);
}

START_TEST(the_hosts_own_signal_stays)
{
    ck_assert_int_eq(status_of(notify_while_one_waits), 0);
}
END_TEST

int main(void)
{
    TCase *all = tcase_create("quiet-write");
    tcase_add_test(all, a_file_at_its_limit_ends_no_host);
    tcase_add_test(all, a_pipe_that_nobody_reads_ends_no_host);
    tcase_add_test(all, the_hosts_own_signal_stays);
    return RUN_TESTS(all);
}
