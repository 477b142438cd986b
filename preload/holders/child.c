/* SPDX-License-Identifier: Apache-2.0 */
#include "child.h"
#include "native-paths.h"
#include "paths.h"
#include "picture.h"
#include "preload/host/memory.h"
#include "preload/host/no-signals.h"
#include "preload/host/own-stack.h"
#include "preload/record/clock.h"
#include "python-graph.h"
#include "room.h"
#include "torch-graph.h"
#include "trace-format/model.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/time.h>

#define STACK ((size_t)8 << 20)
#define HANDLERS_STACK ((size_t)1 << 16)
#define SLOWEST 12           /* seconds of time for one of CPU time, on a busy machine */
#define WRITE_NS 1000000000u /* for writing the results once the time is up */
#define BETWEEN_CHECKS 4096u
/* The memory that a limit must leave at the start, and at all times after that. */
#define LEAST_ROOM (UINT64_C(1) << 28)
#define LEFT_ROOM (UINT64_C(1) << 26)

static const struct mt_holders_task *task; /* on the stack of the thread of the moment */
static struct mt_holders_answer *answer;
enum { TIME_IS_UP = 1, ROOM_IS_USED };
static sigjmp_buf search_is_over;
static volatile bool is_writing;

static _Noreturn void end(uint32_t result)
{
    answer->result = result;
    answer->objects = mt_picture.n;
    answer->end_ns = mt_clock(CLOCK_MONOTONIC);
    answer->cpu_ns = mt_clock(CLOCK_PROCESS_CPUTIME_ID);
    atomic_store(&answer->is_done, 1);
    for (;;)
        syscall(SYS_exit_group, 0);
}

static void on_crash(int number)
{
    if (!mt_picture_may_crash) {
        answer->result = MT_HOLDERS_CRASHED;
        for (;;)
            syscall(SYS_exit_group, number);
    }
    mt_picture_may_crash = false;
    mt_picture_crashes++;
    siglongjmp(mt_picture_crash_point, 1);
}

/* Limit the CPU time, and on a busy machine the time. */
static void set_timers(uint64_t ns)
{
    struct itimerval timer = {{0, 0}, {(time_t)(ns / 1000000000u), (long)(ns / 1000 % 1000000u)}};
    setitimer(ITIMER_PROF, &timer, NULL);
    timer.it_value.tv_sec *= SLOWEST;
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void on_time(int number)
{
    (void)number;
    if (is_writing)
        end(MT_HOLDERS_TIME);
    siglongjmp(search_is_over, TIME_IS_UP);
}

static void handle(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_NODEFER | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

/* Drop what belongs to the program: its signal handlers, files and timers. */
static void settle(void)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
    const uint64_t all = ~UINT64_C(0), none_of_those = ~(MT_SIGNALS_LEFT | MT_SIGNAL(SIGABRT) |
                                                         MT_SIGNAL(SIGALRM) | MT_SIGNAL(SIGPROF));
    mt_signals_mask(SIG_SETMASK, &all, NULL);
    for (int number = 1; number < NSIG; number++)
        if (number != SIGKILL && number != SIGSTOP)
            signal(number, SIG_DFL);
    if (syscall(SYS_close_range, 0, ~0U, 0))
        for (int fd = 0; fd < 65536; fd++)
            close(fd);
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, "1000", 4) > 0)
        close(fd);
    stack_t stack = {.ss_sp = mt_map(HANDLERS_STACK), .ss_size = HANDLERS_STACK};
    if (stack.ss_sp)
        sigaltstack(&stack, NULL);
    for (unsigned i = 0; i < sizeof crashes / sizeof *crashes; i++)
        handle(crashes[i], on_crash);
    handle(SIGALRM, on_time);
    handle(SIGPROF, on_time);
    mt_signals_mask(SIG_SETMASK, &none_of_those, NULL);
}

static __attribute__((noinline)) void expand(uint32_t node)
{
    if (mt_picture.sort[node] == MT_NODE_OBJECT) {
        mt_object_expand(node);
    } else if (MT_MAY_CRASH()) {
        mt_torch_expand(node);
        mt_crash_over();
    }
}

static uint64_t room(void)
{
    return mt_memory_room("/proc/self/cgroup", "/sys/fs/cgroup");
}

/* Process the queue until it is empty. */
static void walk(void)
{
    unsigned until_check = BETWEEN_CHECKS;
    for (uint32_t node; (node = mt_picture_next()) != MT_NO_NODE;) {
        if (!--until_check) {
            until_check = BETWEEN_CHECKS;
            if (getppid() != mt_picture.parent_pid)
                end(MT_HOLDERS_CRASHED); /* nobody is waiting for the results */
            if (mt_picture.room < UINT64_MAX && room() < LEFT_ROOM)
                siglongjmp(search_is_over, ROOM_IS_USED);
        }
        expand(node);
    }
}

/* Each call finds its own roots, and the first path is the one that is kept: so what the program
 * itself names comes first. */
static void search_objects(void)
{
    mt_objects_read_moved();
    mt_objects_count();
    mt_roots_of_code(true);
    mt_roots_of_threads();
    walk();
    mt_roots_of_code(false);
    walk();
    mt_roots_at_hand();
    walk();
    mt_torch_roots_of_autocast();
    walk();
    mt_roots_native();
    walk();
    mt_roots_garbage();
    mt_roots_of_cycles(false);
    walk();
    mt_roots_of_cycles(true);
    walk();
}

/* Without PyTorch, the blocks are CUDA's, and what holds them are words in memory. */
static void search(bool has_torch)
{
    if (has_torch && mt_holder_python.holding)
        search_objects();
    else if (!has_torch)
        mt_native_search(task);
}

static uint32_t read_picture(void)
{
    volatile int rc = -EFAULT;
    if (mt_holder_python.first_interpreter && !mt_holder_python.holding)
        return MT_HOLDERS_PYTHON_UNKNOWN;
    if (mt_holder_python.holding && mt_holder_python.is_finalizing())
        return MT_HOLDERS_PYTHON_ENDED;
    mt_picture.room = room();
    if (mt_picture.room < LEAST_ROOM)
        return MT_HOLDERS_MEMORY;
    if (mt_picture_read_mappings())
        return MT_HOLDERS_REFUSED;
    if (!mt_holder_python.holding)
        return MT_HOLDERS_COMPLETE;
    if (MT_MAY_CRASH()) {
        rc = mt_objects_read();
        mt_crash_over();
    }
    return !rc             ? MT_HOLDERS_COMPLETE
           : rc == -ENOMEM ? MT_HOLDERS_MEMORY
                           : MT_HOLDERS_PYTHON_UNKNOWN;
}

static void work(void)
{
    volatile uint32_t result = read_picture();
    if (result)
        end(result);
    bool has_torch = mt_picture_n_torch_variables > 0, has_room = true;
    int why = sigsetjmp(search_is_over, 1);
    if (!why)
        search(has_torch);
    else
        result = why == TIME_IS_UP ? MT_HOLDERS_TIME : MT_HOLDERS_MEMORY;
    mt_picture_may_crash = false;
    is_writing = true;
    set_timers(WRITE_NS);
    if (has_torch)
        has_room = mt_paths_write(answer);
    uint32_t native = has_torch ? MT_HOLDERS_COMPLETE : mt_native_paths_write(answer);
    result = result ? result : native;
    if (!result && has_torch && !mt_torch_head)
        result = MT_HOLDERS_TORCH_UNKNOWN;
    if (!result && (mt_picture.is_full || !has_room))
        result = MT_HOLDERS_MEMORY;
    end(result);
}

_Noreturn void mt_holders_child(const struct mt_holders_task *given)
{
    task = given;
    answer = task->answer;
    mt_picture.parent_pid = task->thread.process;
    settle();
    set_timers(task->most_ns);
    char *stack = mt_map(STACK);
    if (stack)
        mt_call_on_stack(stack + STACK, work);
    end(MT_HOLDERS_MEMORY);
}
