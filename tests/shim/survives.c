/* SPDX-License-Identifier: Apache-2.0 */
/* survives HOW: allocates, does what ends other programs, or what our thread would forbid, and
 * allocates again, 5 times each.
 * abort: its handler jumps out of abort(). init: the first process of a namespace, as in a
 * container, ignores the signals that it sends to itself; exit code 77 where there may be no
 * namespace. filter, strict: seccomp allows the program's own calls only. unseen: and memtap's, for
 * 100,000 allocations. user: a user namespace.
 */
#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int cudaMalloc(void **address, size_t size);
int cudaFree(void *address);

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

/* Any other call ends the program. */
static int survive_seccomp(unsigned long mode)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    allocate();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, mode, &program))
        return 77;
    allocate();
    cudaFree(NULL);
    syscall(SYS_exit, 0);
    return 1;
}

/* The filter comes by a call that memtap does not see. It allows what a recording needs without
 * stacks (docs/design/recording.md), and what ends the program. */
/* Whether each other thread of the process waits. */
static int others_wait(void)
{
    int all = 1;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        char path[64], state = 'S';
        snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", task->d_name);
        int id = atoi(task->d_name); /* 0: a parent folder */
        FILE *stat = !id || id == gettid() ? NULL : fopen(path, "r");
        if (!stat)
            continue;
        all &= fscanf(stat, "%*d %*s %c", &state) == 1 && state == 'S';
        fclose(stat);
    }
    return tasks && !closedir(tasks) && all;
}

/* memtap's threads, when they begin, make calls that they do not make later. */
static void let_the_others_begin(void)
{
    for (int looks = 0; looks < 30; looks = others_wait() ? looks + 1 : 0)
        usleep(1000);
}

static int survive_unseen_filter(void)
{
    static const unsigned allowed[] = {
        SYS_clock_gettime, SYS_clock_nanosleep,
        SYS_close,         SYS_fallocate,
        SYS_fcntl,         SYS_fstat,
        SYS_ftruncate,     SYS_futex,
        SYS_getpid,        SYS_gettid,
        SYS_madvise,       SYS_membarrier,
        SYS_mmap,          SYS_mremap,
        SYS_munmap,        SYS_nanosleep,
        SYS_newfstatat,    SYS_rt_sigpending,
        SYS_unlink,        SYS_process_vm_readv,
        SYS_sched_yield,   SYS_rt_sigprocmask,
        SYS_write,         SYS_sigaltstack,
        SYS_exit_group,    SYS_exit,
    };
    enum { N = sizeof allowed / sizeof *allowed };
    struct sock_filter filter[N + 3] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0)};
    for (unsigned i = 0; i < N; i++)
        filter[1 + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i],
                                                     (unsigned char)(N - i), 0);
    filter[N + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    filter[N + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {N + 3, filter};
    allocate();
    let_the_others_begin();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
        return 77;
    for (int i = 0; i < 20000; i++)
        allocate();
    return 0;
}

static int survive_user_namespace(void)
{
    allocate();
    if (unshare(CLONE_NEWUSER))
        return 77;
    allocate();
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "filter"))
        return survive_seccomp(SECCOMP_MODE_FILTER);
    if (argc > 1 && !strcmp(argv[1], "strict"))
        return survive_seccomp(SECCOMP_MODE_STRICT);
    if (argc > 1 && !strcmp(argv[1], "unseen"))
        return survive_unseen_filter();
    if (argc > 1 && !strcmp(argv[1], "user"))
        return survive_user_namespace();
    if (argc > 1 && !strcmp(argv[1], "init"))
        return survive_signals();
    survive_abort();
    return 0;
}
