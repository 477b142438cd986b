/* SPDX-License-Identifier: Apache-2.0 */
/* survives HOW: allocates, does what ends other programs, or what our thread would forbid, and
 * allocates again, 5 times each.
 * abort: its handler jumps out of abort(). init: the first process of a namespace, as in a
 * container, ignores the signals that it sends to itself; exit code 77 where there may be no
 * namespace. filter, strict: seccomp allows the program's own calls only. unseen: and memtap's, for
 * 100,000 allocations. trapped: a handler of its own gets the calls that its filter forbids. user:
 * makes a user namespace. enters: makes a mount namespace, and enters its first one again. clock:
 * forbids itself to read the clock. exceptions: enables those of floating point, for 100 ms. poor:
 * may have no more memory. root: has another root for a while, and a deeper stack there; with
 * native stacks. Exit code 3: an allocation has changed errno.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

int cudaMalloc(void **address, size_t size);
int cudaFree(void *address);

static sigjmp_buf back;

static void jump(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

static int changes_errno; /* 0 or 3 */

static void allocate(void)
{
    void *address;
    for (int i = 0; i < 5; i++) {
        errno = ERANGE;
        cudaMalloc(&address, 4096);
        changes_errno |= errno == ERANGE ? 0 : 3;
    }
}

static int survive_abort(void)
{
    allocate();
    signal(SIGABRT, jump);
    if (!sigsetjmp(back, 1))
        abort();
    allocate();
    return 0;
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
    syscall(SYS_exit, changes_errno);
    return 1;
}

static int survive_filter(void)
{
    return survive_seccomp(SECCOMP_MODE_FILTER);
}

static int survive_strict_mode(void)
{
    return survive_seccomp(SECCOMP_MODE_STRICT);
}

/* Whether each other thread of the process waits. */
static bool others_wait(void)
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

/* The filter comes by a call that memtap does not see. It allows what a recording needs without
 * stacks (docs/design/recording.md), and what ends the program. */
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

static int enter_namespace(void)
{
    int ours = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    if (ours < 0 || unshare(CLONE_NEWNS))
        return 77;
    allocate();
    if (setns(ours, CLONE_NEWNS))
        return 1;
    allocate();
    return 0;
}

static void refuse_call(int number, siginfo_t *info, void *context)
{
    ucontext_t *interrupted = context;
    (void)number, (void)info;
    interrupted->uc_mcontext.gregs[REG_RAX] = -EACCES;
}

static int survive_trapped_calls(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    struct sigaction action = {.sa_sigaction = refuse_call, .sa_flags = SA_SIGINFO};
    if (sigaction(SIGSYS, &action, NULL) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
        return 77;
    allocate();
    return 0;
}

static int survive_without_clock(void)
{
    allocate();
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0))
        return 77;
    allocate();
    return prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0);
}

/* memtap's threads begin with what this thread has enabled. */
static int survive_exceptions(void)
{
    struct timespec begin, now;
    __builtin_ia32_ldmxcsr(0); /* as feenableexcept(FE_ALL_EXCEPT) */
    allocate();
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        cudaFree(NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < 100);
    allocate();
    return 0;
}

static int survive_poverty(void)
{
    static const struct rlimit little = {1 << 20, 1 << 20};
    if (setrlimit(RLIMIT_DATA, &little))
        return 77;
    allocate();
    return 0;
}

static void __attribute__((noinline)) allocate_deeply(void)
{
    volatile char room[1 << 18];
    room[0] = 0;
    allocate();
    room[sizeof room - 1] = room[0];
}

static int survive_another_root(void)
{
    int first = open("/", O_RDONLY | O_CLOEXEC);
    setenv("MEMTAP_STACKS", "native", 1);
    allocate();
    if (chroot("."))
        return 77;
    allocate_deeply();
    return fchdir(first) || chroot(".");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*survive)(void);
    } ways[] = {{"abort", survive_abort},           {"filter", survive_filter},
                {"strict", survive_strict_mode},    {"unseen", survive_unseen_filter},
                {"trapped", survive_trapped_calls}, {"user", survive_user_namespace},
                {"enters", enter_namespace},        {"init", survive_signals},
                {"clock", survive_without_clock},   {"exceptions", survive_exceptions},
                {"poor", survive_poverty},          {"root", survive_another_root}};
    for (size_t i = 0; argc > 1 && i < sizeof ways / sizeof *ways; i++)
        if (!strcmp(argv[1], ways[i].name))
            return ways[i].survive() ?: changes_errno;
    return 2;
}
