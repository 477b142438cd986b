/* SPDX-License-Identifier: Apache-2.0 */
#include "writer.h"
#include "device-watch.h"
#include "drain.h"
#include "iterations.h"
#include "limits.h"
#include "old-runs.h"
#include "preload/host/message.h"
#include "preload/host/no-signals.h"
#include "preload/host/own-malloc.h"
#include "preload/host/own-thread.h"
#include "preload/host/read-file.h"
#include "preload/host/settings.h"
#include "preload/record/guard.h"
#include "preload/record/lock.h"
#include "preload/record/process-end.h"
#include "preload/record/recorder.h"
#include "preload/record/switch.h"
#include "preload/record/tail.h"
#include "preload/record/wake.h"
#include "trace.h"
#include "turns.h"
#include "writer-state.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Return whether the first thread has ended: the kernel then cannot read the process's memory by
 * its id. */
static bool is_first_thread_over(void)
{
    char byte = 0, copy;
    struct iovec to = {&copy, 1}, from = {&byte, 1};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) < 0 && errno == ESRCH;
}

/* Return whether the process ends. Without /proc the threads cannot be counted, so the end of the
 * first one has to be enough. */
static bool ends_without_proc(void)
{
    if (!is_first_thread_over())
        return false;
    mt_message(
        "the program's first thread has ended, and the others cannot be counted without /proc; "
        "recording stopped");
    atomic_store(&mt_state, MT_OVER);
    return true;
}

/* Note the first thread's exit code, the last number of /proc/self/stat, in the form of wait(2).
 * The C library sets 0, so the writer's thread may end like any other. */
static void note_code(const char *stat, size_t size)
{
    const char *last = memrchr(stat, ' ', size);
    mt_writer.first_code = last ? atoi(last) >> 8 & 0xff : 0;
    if (mt_writer.first_code)
        mt_will_exit(mt_writer.first_code);
}

static void *leave(void *result)
{
    if (mt_writer.first_code)
        syscall(SYS_exit_group, mt_writer.first_code);
    return result;
}

static bool is_last_thread(void)
{
    char text[1024];
    unsigned n_threads = 0;
    size_t n = mt_read_file("/proc/self/stat", text, sizeof text);
    if (!n)
        return ends_without_proc();
    const char *field = memrchr(text, ')', n);
    if (!field || strncmp(field, ") Z ", 4))
        return false;
    for (int i = 2; field && i < 20; i++)
        field = strchr(field + 1, ' ');
    if (field)
        sscanf(field, "%u", &n_threads);
    if (n_threads != 2 + (unsigned)mt_watch_has_thread())
        return false;
    note_code(text, n);
    return true;
}

/* The longest time from an event to its block in the trace. Fuller blocks make a smaller trace;
 * without a tail, a kill loses this much. */
#define PERIOD_NS 2000000000
#define PERIOD_WITHOUT_TAIL_NS 200000000
#define PAUSE_NS 200000000
#define FIRST_PERIOD_NS 200000000 /* after it, NVML is queried first */
#define FIRST_WAIT_S 10
#define LAST_WAIT_S 15 /* longer than mt_holders_await may wait in all */

/* Wait for the writer with a timeout, which a join does not have: the disk may hang. Return whether
 * it answered in time. */
static bool wait_for(_Atomic uint32_t *word, unsigned seconds)
{
    uint64_t until = mt_now() + (uint64_t)seconds * 1000000000u;
    struct timespec period = {0, PAUSE_NS};
    while (!atomic_load(word) && mt_now() < until)
        mt_futex(word, FUTEX_WAIT, 0, &period);
    return atomic_load(word);
}

/* Return the time until a recording of limited length stops. */
static uint64_t rest_in_ns(void)
{
    uint64_t passed = mt_now() - mt_writer.start_ns;
    return !mt_writer.rest_ns           ? UINT64_MAX
           : passed < mt_writer.rest_ns ? mt_writer.rest_ns - passed
                                        : 0;
}

/* Return whether the recording stops by itself or by a request of memtap stop. */
static bool stops(void)
{
    return (mt_writer.has_to_rest || !rest_in_ns()) && mt_switch_will_rest();
}

/* Wait for work. Return whether the time is up. */
static bool wait_for_work(bool is_first)
{
    uint64_t ns = is_first            ? FIRST_PERIOD_NS
                  : mt_tail_has_all() ? PERIOD_NS
                                      : PERIOD_WITHOUT_TAIL_NS;
    ns = ns < rest_in_ns() ? ns : rest_in_ns();
    struct timespec period = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    pthread_mutex_unlock(&mt_writer.working);
    bool is_up = mt_wake_wait(&period);
    /* A busy writer would lock again before a fork could. */
    for (uint64_t until = mt_now() + MT_MOST_LOCK_WAIT_NS;
         atomic_load(&mt_writer.n_forks) && mt_now() < until;)
        mt_clock_pause(MT_LOCK_PAUSE_US);
    pthread_mutex_lock(&mt_writer.working);
    mt_wake_forget();
    return is_up;
}

static void *run(void *unused)
{
    mt_is_writer = true;
    pthread_setname_np(pthread_self(), "memtap");
    pthread_mutex_lock(&mt_writer.working);
    mt_writer_begin_trace();
    if (mt_writer_is_open())
        mt_old_runs_remove(mt_writer.output.path);
    for (bool is_first = true; !atomic_load(&mt_writer.stop); is_first = false) {
        if (wait_for_work(is_first) && is_last_thread())
            break; /* when we have ended, the C library calls exit, too */
        mt_writer_drain(false);
        mt_limits_check(mt_now() - mt_writer.start_ns, mt_writer.seen);
        if (stops())
            break;
    }
    if (atomic_load(&mt_writer.is_left))
        mt_writer.cpu_ns += mt_clock(CLOCK_THREAD_CPUTIME_ID);
    else
        mt_writer_end_trace();
    bool is_resting = mt_is_resting();
    if (is_resting)
        mt_writer_forget();
    pthread_mutex_unlock(&mt_writer.working);
    mt_writer_set(&mt_writer.is_done);
    if (!is_resting)
        return leave(unused);
    mt_switch_has_rested(); /* last: another writer may begin */
    return unused;
}

static int start_thread(void)
{
    /* All but SIGBUS (guard.h), SIGSYS: a trapped system call would end the process, and setuid's.
     */
    const uint64_t all = ~(MT_SIGNAL(SIGBUS) | MT_SIGNAL(SIGSYS) | MT_SIGNAL(MT_SIGNAL_OF_SETUID));
    uint64_t before;
    mt_signals_mask(SIG_SETMASK, &all, &before);
    int rc = mt_own_thread(run);
    if (!rc)
        mt_watch_start();
    mt_signals_mask(SIG_SETMASK, &before, NULL);
    return -rc;
}

static int begin(void)
{
    atomic_store(&mt_writer.is_open, 0);
    atomic_store(&mt_writer.is_done, 0);
    atomic_store(&mt_writer.stop, 0);
    atomic_store(&mt_writer.is_left, false);
    mt_writer.is_running = mt_writer.has_to_rest = false;
    mt_writer.start_ns = mt_now();
    mt_writer.output.file.fd = -1;
    int rc = mt_output_name(&mt_writer.output, mt_settings.output);
    if (rc)
        return rc;
    mt_writer.encoder = mt_encoder_create(mt_settings.zstd_level);
    if (!mt_writer.encoder)
        return -ENOMEM;
    mt_guard_start();
    mt_writer.most_events = UINT64_MAX;
    rc = mt_settings.has_thread ? start_thread() : -EAGAIN;
    if (rc) /* the thread limit is reached, or there is no memory for a stack */
        rc = mt_turns_begin();
    mt_writer.is_running = !rc;
    return rc;
}

int mt_writer_start(const struct mt_writer_info *info)
{
    mt_own_threads_await_end(); /* those of an earlier recording */
    if (mt_own_threads_exist())
        return -EAGAIN;
    mt_own_threads_forget();
    mt_watch_renew();
    mt_writer.info = info;
    int rc = begin();
    if (rc)
        mt_writer_sign_manifest(0);
    return rc;
}

void mt_writer_wait_open(void)
{
    wait_for(&mt_writer.is_open, FIRST_WAIT_S);
}

static bool end_thread(void)
{
    atomic_store(&mt_writer.stop, 1);
    mt_writer_wake();
    return mt_is_resting() || wait_for(&mt_writer.is_done, LAST_WAIT_S);
}

/* Return whether it was in time. */
static bool end(void)
{
    return mt_settings.has_thread ? end_thread() : !mt_turns_finish(LAST_WAIT_S * 1000000000ull);
}

bool mt_writer_leave_thread(void)
{
    MT_UNINTERRUPTED();
    if (!mt_writer.is_running || mt_is_writer || !mt_settings.has_thread)
        return false;
    atomic_store(&mt_writer.is_left, true);
    if (!end_thread())
        return false; /* it ends later, and the trace is complete up to then */
    mt_watch_finish();
    mt_own_threads_await_end();
    mt_clock_stop();
    atomic_store(&mt_writer.is_done, 0);
    mt_turns_go_on();
    return true;
}

void mt_writer_stop(void)
{
    if (!mt_writer.is_running || mt_is_writer)
        return; /* a signal handler of the program ends it during our work */
    if (!end())
        mt_message("%s was not closed within %d s; it is readable up to that point",
                   mt_output_shown(&mt_writer.output), LAST_WAIT_S);
}

bool mt_writer_hold(void)
{
    if (mt_is_writer)
        return false;
    atomic_fetch_add(&mt_writer.n_forks, 1);
    bool is_held = mt_mutex_within(&mt_writer.working, MT_MOST_LOCK_WAIT_NS);
    atomic_fetch_sub(&mt_writer.n_forks, 1);
    return is_held;
}

void mt_writer_release(void)
{
    pthread_mutex_unlock(&mt_writer.working);
}

void mt_writer_reset(void)
{
    mt_own_malloc_reset();
    mt_own_threads_forget();
    mt_turns_reset();
    /* Do not free the encoder: it may be in use. */
    mt_output_close(&mt_writer.output);
    mt_tail_reset();
    memset(&mt_writer, 0, sizeof mt_writer);
    mt_limits_reset();
    mt_iterations_reset();
    mt_wake_forget();
    pthread_mutex_init(&mt_writer.working, NULL);
}
