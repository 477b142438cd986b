/* SPDX-License-Identifier: Apache-2.0 */
#include "inject.h"
#include "analyzer/support/progress.h"
#include "frame.h"
#include "tools/memtap/terminal/command.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOP_WAIT_NS 500000000u /* a thread that gets no processor meanwhile runs on */
#define PAUSE_US 50
#define MOST_THREADS 4096
#define RED_ZONE 128

#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif
#define NT_SHADOW_STACK 0x204
#define CODE_64 0x33 /* the code segment of 64-bit code */

/* What the kernel returns within to a system call that it will make again (linux/errno.h). */
enum { RESTART_SYS = 512, RESTART_NO_INTR, RESTART_NO_HAND, RESTART_BLOCK = 516 };

static uint64_t longest;

uint64_t mt_inject_longest_stop(void)
{
    return longest;
}

/* --- stopping -------------------------------------------------------------------------------- */

/* Return whether the kernel would make an interrupted system call again, or has ended one only
 * because the thread was stopped: then make it again ourselves. */
static bool is_interrupted(const struct user_regs_struct *registers)
{
    long long result = -(long long)registers->rax;
    return (long long)registers->orig_rax >= 0 &&
           (result == RESTART_SYS || result == RESTART_NO_INTR || result == RESTART_NO_HAND ||
            result == RESTART_BLOCK || result == EINTR);
}

static bool has_signals(pid_t pid, pid_t thread)
{
    char path[64], line[128];
    unsigned long long waiting = 0, blocked = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", pid, thread);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        if (!strncmp(line, "SigPnd:", 7) || !strncmp(line, "ShdPnd:", 7))
            waiting |= strtoull(line + 7, NULL, 16);
        if (!strncmp(line, "SigBlk:", 7))
            blocked = strtoull(line + 7, NULL, 16);
    }
    if (file)
        fclose(file);
    return waiting & ~blocked;
}

static int get(pid_t thread, unsigned kind, void *out, size_t size)
{
    struct iovec place = {out, size};
    return ptrace(PTRACE_GETREGSET, thread, (void *)(uintptr_t)kind, &place) ? -errno
                                                                             : (int)place.iov_len;
}

/* Let it go on as it was. The calls that end with EINTR when a thread was stopped are made again.
 */
static void let_go(struct mt_target *target, pid_t thread)
{
    struct user_regs_struct registers;
    struct iovec place = {&registers, sizeof registers};
    bool is_known = get(thread, NT_PRSTATUS, &registers, sizeof registers) > 0;
    if (is_known && is_interrupted(&registers) && registers.rax == (unsigned long long)-EINTR &&
        !has_signals(target->pid, thread)) {
        registers.rax = registers.orig_rax;
        registers.rip -= 2;
        registers.orig_rax = -1ull;
        ptrace(PTRACE_SETREGSET, thread, (void *)NT_PRSTATUS, &place);
    }
    ptrace(PTRACE_DETACH, thread, NULL, NULL);
}

/* Threads that did not stop in time, such as a parent in vfork: let go when they do. */
static struct {
    struct mt_target *target;
    pid_t thread[64];
    unsigned n;
} late;

void mt_inject_release(void)
{
    int status;
    for (unsigned i = late.n; i--;) {
        pid_t thread = late.thread[i];
        if (!waitpid(thread, &status, __WALL | WNOHANG))
            continue;
        if (WIFSTOPPED(status) && status >> 16)
            let_go(late.target, thread);
        else if (WIFSTOPPED(status))
            ptrace(PTRACE_DETACH, thread, NULL, (void *)(uintptr_t)WSTOPSIG(status));
        late.thread[i] = late.thread[--late.n];
    }
}

/* Wait for the stop that was requested. A signal that comes first is delivered. Return 0, -EAGAIN
 * or -ESRCH; -EBUSY: the process is stopped by a signal. */
static int await_stop(pid_t thread)
{
    int status;
    for (uint64_t until = mt_now_ns() + STOP_WAIT_NS; mt_now_ns() < until;) {
        pid_t found = waitpid(thread, &status, __WALL | WNOHANG);
        if (found < 0 || (found && !WIFSTOPPED(status)))
            return -ESRCH;
        if (found && status >> 16 == PTRACE_EVENT_STOP)
            return WSTOPSIG(status) == SIGTRAP ? 0 : -EBUSY;
        if (found) {
            ptrace(PTRACE_CONT, thread, NULL, (void *)(uintptr_t)WSTOPSIG(status));
            ptrace(PTRACE_INTERRUPT, thread, NULL, NULL);
        }
        mt_inject_release();
        if (!found)
            usleep(PAUSE_US);
    }
    return -EAGAIN;
}

/* --- calling --------------------------------------------------------------------------------- */

/* Return whether the kernel would move the thread to another place when it goes on (a restartable
 * sequence), or checks its return addresses. */
static bool is_special(struct mt_target *target, pid_t thread)
{
    struct {
        uint64_t address;
        uint32_t size, signature, flags, padding;
    } sequence;
    uint64_t running = 0, shadow = 0;
    if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, thread, (void *)sizeof sequence, &sequence) ==
            (long)sizeof sequence &&
        sequence.address &&
        (mt_target_read(target->pid, sequence.address + 8, &running, sizeof running) || running))
        return true;
    return get(thread, NT_SHADOW_STACK, &shadow, sizeof shadow) > 0 && shadow;
}

static bool may_call(struct mt_target *target, pid_t thread, struct mt_foreign_state *state)
{
    struct user_regs_struct *registers = &state->registers;
    int size = get(thread, NT_X86_XSTATE, state->vector, sizeof state->vector);
    if (get(thread, NT_PRSTATUS, registers, sizeof *registers) <= 0 || size <= 0 ||
        mt_state_set_size(state, (size_t)size) || (registers->cs & 0xffff) != CODE_64 ||
        ptrace(PTRACE_GETSIGMASK, thread, (void *)sizeof state->mask, &state->mask))
        return false;
    bool is_waiting = is_interrupted(registers);
    if (is_waiting && (registers->orig_rax == SYS_restart_syscall ||
                       registers->rax == (unsigned long long)-EINTR))
        return false; /* what it waits for is not known, or a signal has ended it */
    if ((!is_waiting && !target->errno_at) || is_special(target, thread) ||
        !mt_frame_has_room(target->pid, registers->rsp))
        return false;
    if (!is_waiting && (long long)registers->orig_rax >= 0)
        return false; /* it has just returned from one */
    return mt_target_may_call(target, thread, registers, is_waiting);
}

static int call(struct mt_target *target, pid_t thread, struct mt_foreign_state *state,
                const struct mt_foreign_call *wanted)
{
    struct user_regs_struct entry;
    struct iovec place = {&entry, sizeof entry};
    struct user_regs_struct *registers = &state->registers;
    if (is_interrupted(registers)) {
        registers->rax = registers->orig_rax;
        registers->rip -= 2;
    }
    registers->orig_rax = -1ull;
    if (mt_frame_write(target, state, wanted, &entry))
        return -EFAULT;
    /* All at once: from here on the call is made, whatever becomes of memtap. */
    if (ptrace(PTRACE_SETREGSET, thread, (void *)NT_PRSTATUS, &place))
        return -errno;
    uint64_t all = ~(1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1) | 1ull << (SIGILL - 1) |
                     1ull << (SIGFPE - 1) | 1ull << (SIGTRAP - 1) | 1ull << (SIGSYS - 1));
    ptrace(PTRACE_SETSIGMASK, thread, (void *)sizeof all, &all);
    ptrace(PTRACE_DETACH, thread, NULL, NULL);
    return 0;
}

static enum mt_inject try_thread(struct mt_target *target, pid_t thread,
                                 const struct mt_foreign_call *wanted)
{
    static struct mt_foreign_state state;
    if (ptrace(PTRACE_SEIZE, thread, NULL, NULL))
        return errno == EPERM ? MT_NOT_PERMITTED : MT_GONE;
    ptrace(PTRACE_INTERRUPT, thread, NULL, NULL);
    int rc = await_stop(thread);
    uint64_t begin = mt_now_ns();
    late.target = target;
    if (rc == -EAGAIN && late.n < sizeof late.thread / sizeof *late.thread)
        late.thread[late.n++] = thread;
    if (rc == -EBUSY)
        ptrace(PTRACE_DETACH, thread, NULL, NULL);
    if (rc)
        return MT_NO_PLACE;
    bool is_called = may_call(target, thread, &state) && !call(target, thread, &state, wanted);
    if (!is_called)
        let_go(target, thread);
    uint64_t ns = mt_now_ns() - begin;
    longest = ns > longest ? ns : longest;
    return is_called ? MT_INJECTED : MT_NO_PLACE;
}

/* --- threads --------------------------------------------------------------------------------- */

/* Calls that end with EINTR if a thread in them is stopped; leave such threads alone. */
static const long sensitive[] = {SYS_epoll_wait,
                                 SYS_epoll_pwait,
                                 SYS_semop,
                                 SYS_semtimedop,
                                 SYS_rt_sigtimedwait,
                                 SYS_msgrcv,
                                 SYS_msgsnd,
                                 SYS_io_getevents,
                                 333 /* io_pgetevents */,
                                 SYS_recvfrom,
                                 SYS_recvmsg,
                                 SYS_recvmmsg,
                                 SYS_accept,
                                 SYS_accept4,
                                 SYS_connect,
                                 SYS_sendto,
                                 SYS_sendmsg,
                                 SYS_read,
                                 426 /* io_uring_enter */,
                                 441 /* epoll_pwait2 */,
                                 SYS_restart_syscall,
                                 SYS_vfork,
                                 SYS_clone};

enum place { WAITS, RUNS, SENSITIVE, ENDED };

static enum place place_of(pid_t pid, pid_t thread)
{
    char path[64], text[256];
    long number;
    snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", pid, thread);
    FILE *file = fopen(path, "re");
    if (!file)
        return ENDED;
    bool is_read = fgets(text, sizeof text, file);
    fclose(file);
    if (!is_read)
        return ENDED;
    if (sscanf(text, "%ld", &number) != 1 || number < 0)
        return RUNS;
    for (size_t i = 0; i < sizeof sensitive / sizeof *sensitive; i++)
        if (sensitive[i] == number)
            return SENSITIVE;
    return WAITS;
}

static size_t list_threads(pid_t pid, pid_t out[MOST_THREADS])
{
    char path[64];
    struct dirent *entry;
    size_t n = 0;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *folder = opendir(path);
    while (folder && n < MOST_THREADS && (entry = readdir(folder)))
        if (strtol(entry->d_name, NULL, 10) > 0)
            out[n++] = (pid_t)strtol(entry->d_name, NULL, 10);
    if (folder)
        closedir(folder);
    return n;
}

enum mt_inject mt_inject(struct mt_target *target, uint64_t function, const char *text,
                         uint64_t number, bool may_run)
{
    static pid_t thread[MOST_THREADS];
    const struct mt_foreign_call wanted = {function, text, number};
    size_t n = list_threads(target->pid, thread);
    unsigned n_seized = 0, n_refused = 0;
    mt_inject_release();
    for (enum place place = WAITS; place <= (may_run ? RUNS : WAITS); place++)
        for (size_t i = 0; i < n; i++) {
            if (place_of(target->pid, thread[i]) != place)
                continue;
            enum mt_inject one = try_thread(target, thread[i], &wanted);
            n_seized += one == MT_NO_PLACE;
            n_refused += one == MT_NOT_PERMITTED; /* as for a thread that ends */
            if (one == MT_INJECTED)
                return one;
        }
    return !n ? MT_GONE : n_refused && !n_seized ? MT_NOT_PERMITTED : MT_NO_PLACE;
}
