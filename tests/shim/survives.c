/* SPDX-License-Identifier: Apache-2.0 */
/* survives abort|init: allocates, does what ends other programs, and allocates again, 5 times each.
 * abort: its handler jumps out of abort(). init: the first process of a namespace, as in a
 * container, ignores the signals that it sends to itself; exit code 77 where there may be no
 * namespace. */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int cudaMalloc(void **address, size_t size);

static sigjmp_buf back;

static void jump(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

static void allocate(void)
{
    void *address;
    for (int i = 0; i < 5; i++)
        cudaMalloc(&address, 4096);
}

static void survive_abort(void)
{
    allocate();
    signal(SIGABRT, jump);
    if (!sigsetjmp(back, 1))
        abort();
    allocate();
}

static int survive_signals(void)
{
    int status = 0;
    if (unshare(CLONE_NEWPID) && unshare(CLONE_NEWUSER | CLONE_NEWPID))
        return 77;
    pid_t first = fork();
    if (first < 0)
        return 77;
    if (first) {
        waitpid(first, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    }
    allocate();
    kill(getpid(), SIGTERM);
    kill(getpid(), SIGKILL);
    allocate();
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "init"))
        return survive_signals();
    survive_abort();
    return 0;
}
