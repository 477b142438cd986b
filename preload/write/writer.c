/* SPDX-License-Identifier: Apache-2.0 */
#include "writer.h"
#include "device-watch.h"
#include "preload/host/message.h"
#include "preload/host/no-signals.h"
#include "preload/host/own-malloc.h"
#include "preload/host/own-thread.h"
#include "preload/host/settings.h"
#include "preload/record/guard.h"
#include "preload/record/lock.h"
#include "preload/record/recorder.h"
#include "preload/record/tail.h"
#include "preload/record/threads.h"
#include "preload/record/wake.h"
#include "writer-parts.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The longest time from an event to its place in the trace. Fuller blocks make a smaller trace; but
 * without a tail, a kill loses this much. */
#define PERIOD_NS 2000000000
#define PERIOD_WITHOUT_TAIL_NS 200000000
#define PAUSE_NS 200000000
#define FIRST_PERIOD_NS 200000000 /* after it, NVML is first asked */
#define FIRST_WAIT_S 10
#define LAST_WAIT_S 10

struct mt_writer mt_writer = {.working = PTHREAD_MUTEX_INITIALIZER};

_Thread_local bool mt_is_writer __attribute__((tls_model("initial-exec")));

/* Wait for the writer, without a join: the disk may hang. Return whether it answered in time. */
static int wait_for(_Atomic uint32_t *word, unsigned seconds)
{
    uint64_t until = mt_now() + (uint64_t)seconds * 1000000000u;
    struct timespec period = {0, PAUSE_NS};
    while (!atomic_load(word) && mt_now() < until)
        mt_futex(word, FUTEX_WAIT, 0, &period);
    return (int)atomic_load(word);
}

static void say(_Atomic uint32_t *word)
{
    atomic_store(word, 1);
    mt_futex(word, FUTEX_WAKE, INT_MAX, NULL);
}

/* Wait for work. Return whether the time is up. */
static int wait_for_work(bool is_first)
{
    uint64_t ns = is_first           ? FIRST_PERIOD_NS
                  : mt_tail_exists() ? PERIOD_NS
                                     : PERIOD_WITHOUT_TAIL_NS;
    struct timespec period = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    pthread_mutex_unlock(&mt_writer.working);
    bool is_up = mt_wake_wait(&period);
    /* A busy writer would take the lock back before a fork could have it. */
    for (uint64_t until = mt_now() + MT_MOST_LOCK_WAIT_NS;
         atomic_load(&mt_writer.n_forks) && mt_now() < until;)
        mt_clock_pause(MT_LOCK_PAUSE_US);
    pthread_mutex_lock(&mt_writer.working);
    mt_wake_forget();
    return is_up;
}

static void give_up(int rc, const char *doing)
{
    const char *why = mt_guard_has_lost() ? "its tail was cut short, or the disk failed"
                      : rc == -ESTALE     ? "the program closed memtap's file"
                      : rc == -EUCLEAN    ? "another program cut it short, or wrote to it"
                      : rc == -EAGAIN     ? "a thread of the program stands still inside memtap"
                      : rc == -EISDIR     ? "this is a directory, a device or a pipe, not a file"
                      : rc == -ENOTUNIQ   ? "this is a file already, and no trace"
                                          : strerror(-rc);
    mt_message("cannot %s %.600s: %s; recording ends here, and the program continues", doing,
               mt_output_shown(&mt_writer.output), why);
    mt_output_close(&mt_writer.output);
    atomic_store(&mt_state, MT_OVER);
    mt_tail_note_end(MT_TAIL_STOPPED, why);
}

void mt_writer_fail(int rc)
{
    if (!mt_writer.is_beginning && mt_writer_is_shortage(rc))
        mt_writer_begin_shortage(rc);
    else if (!mt_writer.is_beginning)
        give_up(rc, "write");
    else if (!mt_writer.rc)
        mt_writer.rc = rc;
}

void mt_writer_append(const void *bytes, size_t size)
{
    if (!mt_writer_is_open() || !size || mt_writer.rc)
        return;
    /* Anything may have been read from lost pages. */
    if (mt_writer.is_short && !mt_writer.is_beginning)
        return; /* counted, and not written */
    int rc = mt_guard_has_lost() ? -EIO : mt_output_append(&mt_writer.output, bytes, size);
    if (rc)
        mt_writer_fail(rc);
}

/* Commit: everything taken is in the file now: free it in the tail. */
static void commit(void)
{
    mt_writer.mark.trace_size = mt_writer.output.size;
    if (mt_writer.is_short)
        mt_writer_count_shortage();
    else
        mt_writer.committed = mt_writer.mark;
    unsigned index = mt_tail_mark(&mt_writer.committed);
    mt_order_note(&mt_writer.order, index);
    mt_tail_turn(&mt_writer.committed);
    mt_order_note(&mt_writer.order, !index);
    mt_writer.at_commit = mt_writer.so_far;
    mt_order_give_back(&mt_writer.order);
}

void mt_writer_end_block(void)
{
    const unsigned char *bytes;
    size_t size;
    int rc = mt_encoder_finish(mt_writer.encoder, &bytes, &size);
    if (rc)
        mt_writer_fail(rc);
    else
        mt_writer_append(bytes, size);
    if (mt_writer_is_open() && !mt_writer.is_beginning && !mt_writer.is_gathering)
        commit();
}

int mt_writer_tell(const struct mt_event *event)
{
    if (!mt_writer_is_open())
        return 0; /* it was closed a moment ago */
    mt_writer.so_far.events++;
    int rc = mt_encoder_event(mt_writer.encoder, event);
    if (rc)
        give_up(rc, "write");
    if (mt_encoder_full(mt_writer.encoder))
        mt_writer_end_block();
    return 0;
}

static void write_event(const struct mt_event *event)
{
    if (!mt_writer_is_open())
        return; /* it was closed a moment ago */
    mt_writer.seen++;
    mt_watch_note(event);
    mt_limits_event(event, mt_writer.seen);
    mt_writer.so_far.passed += event->kind == MT_LOST ? event->LOST.count : 1;
    if (event->kind == MT_LOST)
        mt_writer.so_far.lost += event->LOST.count;
    if (mt_writer.light) {
        mt_writer_add_to_window(event);
        return;
    }
    int rc = mt_writer.live ? mt_live_event(mt_writer.live, event) : 0;
    if (rc)
        mt_writer_keep_all(rc);
    mt_writer_tell(event);
}

static void write_timed(struct mt_event *event)
{
    uint64_t ns = event->time_ns > mt_writer.start_ns ? event->time_ns - mt_writer.start_ns : 0;
    mt_writer.last_ns = event->time_ns = mt_clock_round(ns, mt_writer.last_ns);
    write_event(event);
}

static void write_events(void)
{
    struct mt_event event;
    for (uint64_t n = 0; n < mt_writer.most_events && mt_order_next(&mt_writer.order, &event); n++)
        write_timed(&event);
}

static void write_loss(uint32_t thread, uint64_t events)
{
    if (events)
        write_event(&(struct mt_event){.time_ns = mt_writer.last_ns,
                                       .thread = thread,
                                       .kind = MT_LOST,
                                       .device = MT_NO_DEVICE,
                                       .LOST = {events}});
}

/* Write losses that an ended thread, or at the end any thread, could not report itself, and those
 * of threads that never had a ring. */
static void write_losses(bool is_last)
{
    uint64_t unclaimed = mt_take_unclaimed();
    mt_writer.order.apart += unclaimed;
    write_loss(0, unclaimed);
    for (size_t i = 0; i < mt_writer.order.n; i++) {
        struct mt_thread *thread = mt_writer.order.source[i].thread;
        if (!is_last && !atomic_load(&thread->is_over))
            continue;
        uint64_t lost = atomic_exchange(&thread->ring.lost, 0);
        mt_ring_share_losses(&thread->ring);
        mt_writer.order.apart += thread->ring.is_apart ? lost : 0;
        write_loss(thread->id, lost);
    }
}

static void check_tail(void)
{
    int rc = mt_writer_is_open() ? mt_threads_check_tail() : 0;
    if (rc < 0)
        give_up(rc, "write");
    else if (rc)
        mt_message("another program wrote to %s" MT_TAIL_SUFFIX
                   "; recording goes on without that file, so a kill may lose the last 0.2 s",
                   mt_output_shown(&mt_writer.output));
}

void mt_writer_drain(bool is_last)
{
    if (mt_settings.has_thread) /* else long times lie between */
        mt_clock_adjust();
    check_tail();
    if (mt_writer_is_open() && mt_guard_has_lost())
        give_up(-EIO, "write");
    if (!mt_guard_has_lost())
        mt_tail_say_alive();
    bool is_asked = mt_writer_take_request();
    int rc = mt_writer_is_open() ? mt_order_collect(&mt_writer.order, is_last) : -ESTALE;
    if (rc && is_last && mt_writer_is_open())
        give_up(rc, "finish"); /* what was not collected is in the tail */
    if (rc)
        return; /* try next time */
    if (mt_writer.light && !is_last && !is_asked && mt_tail_exists())
        mt_order_hold(&mt_writer.order); /* so that few blocks are live at the window's end */
    mt_writer_define();
    mt_writer.is_gathering = mt_writer.light != NULL;
    write_events();
    write_losses(is_last);
    mt_writer_end_window(is_last);
    mt_writer.is_gathering = false;
    mt_writer_end_block();
    if (mt_writer_is_open())
        mt_writer_turn_segment();
    if (mt_writer_is_open())
        mt_order_release(&mt_writer.order);
    mt_writer_answer_request(is_asked);
    mt_watch_ask();
}

/* Sign memtap run's roster of traces: texts with a zero after each; an empty one could not be
 * created. At the end, each trace adds another, with its processor time before the path. */
static void sign_roster(uint64_t cpu_ns)
{
    char text[PATH_MAX + 24], absolute[PATH_MAX] = "", cost[24] = "";
    if (!*mt_settings.roster)
        return;
    const char *path = !mt_writer_is_open()                        ? ""
                       : realpath(mt_writer.output.path, absolute) ? absolute
                                                                   : mt_writer.output.path;
    if (cpu_ns)
        snprintf(cost, sizeof cost, "%llu ", (unsigned long long)cpu_ns);
    snprintf(text, sizeof text, "%s%s", cost, path);
    mt_roster_sign(mt_settings.roster, text);
}

static void open_trace(void)
{
    int rc = mt_output_open(&mt_writer.output);
    if (rc) {
        give_up(rc, "create");
        return;
    }
    mt_writer_append_header(0);
    mt_tail_open(mt_writer.output.path, mt_writer.start_ns);
    commit();
    if (mt_settings.keep_bytes)
        mt_writer.live = mt_live_create();
    if (mt_settings.is_light && mt_writer.live)
        mt_writer.light = mt_light_create();
}

static void write_head(void)
{
    mt_writer.info->collect(mt_writer.start_ns, mt_writer_define_info, NULL);
    mt_writer_end_block();
}

static void say_where(void)
{
    const char *path = mt_output_shown(&mt_writer.output);
    unsigned long long n = mt_writer.so_far.events, lost = mt_writer.so_far.lost;
    char events[64];
    enum mt_file_place place = mt_own_file_place(&mt_writer.output.file, mt_writer.output.path);
    snprintf(events, sizeof events, lost ? "%llu events (and %llu lost)" : "%llu events", n, lost);
    if (place == MT_FILE_OUT_OF_REACH)
        mt_message("%s in %s, which is out of reach of this process: it has changed its root or "
                   "its user",
                   events, path);
    else if (place != MT_FILE_HERE)
        mt_message("%s were recorded, but %s was %s meanwhile", events, path,
                   place == MT_FILE_RENAMED ? "renamed" : "removed");
    else if (!mt_settings.is_quiet)
        mt_message("%s in %s; see: memtap report %s", events, path, path);
}

static void close_trace(void)
{
    const unsigned char *bytes;
    size_t size;
    struct mt_end end = {mt_writer.last_ns,
                         mt_writer.so_far.events - mt_writer.older.events + mt_writer.older.carried,
                         mt_writer.so_far.lost};
    if (mt_writer_is_open() && mt_writer.is_short)
        give_up(-mt_writer.is_short, "finish");
    if (!mt_writer_is_open())
        return; /* the tail has the rest */
    sign_roster(mt_writer_cpu_ns());
    mt_writer.info->collect_late(mt_writer_define_late_info, NULL);
    mt_writer_end_block();
    if (!mt_encoder_end(mt_writer.encoder, &end, &bytes, &size))
        mt_writer_append(bytes, size);
    if (mt_writer_is_open())
        mt_tail_remove();
    if (mt_writer_is_open() && !*mt_settings.roster)
        say_where();
    mt_output_close(&mt_writer.output);
}

uint64_t mt_writer_cpu_ns(void)
{
    return mt_writer.cpu_ns + mt_clock(CLOCK_THREAD_CPUTIME_ID) - mt_writer.cpu_begin_ns;
}

void mt_writer_begin_trace(void)
{
    open_trace();
    sign_roster(0); /* before the program goes on, because it may end */
    say(&mt_writer.is_open);
    if (mt_writer_is_open())
        write_head();
}

void mt_writer_end_trace(void)
{
    mt_writer_drain(false);
    mt_watch_finish();
    mt_writer_drain(true);
    close_trace();
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
        if (wait_for_work(is_first) && mt_writer_is_alone())
            break; /* the C library calls exit when we have ended, too */
        mt_writer_drain(false);
        mt_limits_check(mt_now() - mt_writer.start_ns, mt_writer.seen);
    }
    if (atomic_load(&mt_writer.is_left))
        mt_writer.cpu_ns += mt_clock(CLOCK_THREAD_CPUTIME_ID);
    else
        mt_writer_end_trace();
    pthread_mutex_unlock(&mt_writer.working);
    say(&mt_writer.is_done);
    return mt_writer_leave(unused);
}

static int start_thread(void)
{
    sigset_t all, before;
    /* All but SIGBUS (guard.h), and SIGSYS: a trapped system call would end the process. */
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGSYS);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = mt_own_thread(run);
    if (!rc)
        mt_watch_start();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -rc;
}

static int begin(void)
{
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
    if (rc) /* the process may have as many threads as it has, or no memory for a stack */
        rc = mt_turns_begin();
    mt_writer.is_running = !rc;
    return rc;
}

int mt_writer_start(const struct mt_writer_info *info)
{
    mt_writer.info = info;
    int rc = begin();
    if (rc)
        sign_roster(0);
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
    return wait_for(&mt_writer.is_done, LAST_WAIT_S);
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
        return false; /* it ends later, and the trace with what it has */
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
        return; /* a handler of the program's ends it in the middle of our work */
    if (!end())
        mt_message("%s was not finished within %d s; it is readable up to that point",
                   mt_output_shown(&mt_writer.output), LAST_WAIT_S);
}

int mt_writer_hold(void)
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
    /* Leave the encoder: it may be in the middle of something. */
    mt_output_close(&mt_writer.output);
    mt_tail_reset();
    memset(&mt_writer, 0, sizeof mt_writer);
    mt_limits_reset();
    mt_wake_forget();
    pthread_mutex_init(&mt_writer.working, NULL);
}
