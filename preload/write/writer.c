/* SPDX-License-Identifier: Apache-2.0 */
#include "writer.h"
#include "device-watch.h"
#include "order.h"
#include "output.h"
#include "preload/host/message.h"
#include "preload/host/own-malloc.h"
#include "preload/host/own-thread.h"
#include "preload/host/read-file.h"
#include "preload/host/settings.h"
#include "preload/live/live.h"
#include "preload/record/fork-wait.h"
#include "preload/record/guard.h"
#include "preload/record/intern.h"
#include "preload/record/recorder.h"
#include "preload/record/tail.h"
#include "preload/record/threads.h"
#include "preload/record/wake.h"
#include "roster.h"
#include "trace-format/encoder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* An event is in the trace at most this long after it happened. The fuller the blocks, the smaller
 * the trace; but without a tail, that is what a kill costs. */
#define PERIOD_NS 2000000000
#define PERIOD_WITHOUT_TAIL_NS 200000000
#define PAUSE_NS 200000000
#define FIRST_PERIOD_NS 200000000 /* then NVML is asked for the first time */
#define FIRST_WAIT_S 10
#define LAST_WAIT_S 10

/* A part of a trace that forgets its past: a file that can be read without the others. */
struct segment {
    uint64_t base;    /* bytes before its own events */
    uint64_t events;  /* of the trace, before it */
    uint64_t time_ns; /* of the last of these */
    uint64_t carried; /* events that stand for them */
};

struct known_thread {
    uint32_t id, os_thread;
    char name[MT_THREAD_NAME_SIZE];
};

static struct {
    _Atomic uint32_t is_open, is_done; /* futexes */
    const struct mt_writer_info *info;
    _Atomic int stop;
    int is_running; /* it could be made */
    struct mt_output output;
    struct mt_encoder *encoder;
    struct mt_order order;
    struct mt_intern_position known; /* definitions in the file */
    struct mt_tail_mark mark;        /* how far the file has got */
    uint64_t start_ns, events, lost, last_ns;
    struct mt_live *live;       /* NULL: all is kept */
    struct segment older, here; /* older: empty, if there is none */
    int is_beginning, rc;       /* a segment is being begun, and how that went */
    struct known_thread *threads;
    size_t n_threads, threads_capacity;
    char left_out[128];     /* as the trace has it */
    struct mt_event sample; /* of a device, the next to be written */
    int has_sample;
    pthread_mutex_t working;
} writer = {.working = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local int is_writer __attribute__((tls_model("initial-exec")));

/* Not a join: the process may be ending in a signal handler, or the disk may hang. Whether the
 * writer has said so in time. */
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

/* Whether the time is up. */
static int wait_for_work(int is_first)
{
    uint64_t ns = is_first           ? FIRST_PERIOD_NS
                  : mt_tail_exists() ? PERIOD_NS
                                     : PERIOD_WITHOUT_TAIL_NS;
    struct timespec period = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    pthread_mutex_unlock(&writer.working);
    int is_up = mt_wake_wait(&period);
    pthread_mutex_lock(&writer.working);
    mt_wake_forget();
    return is_up;
}

/* The kernel has no memory to read of a process whose first thread is over. */
static int is_first_thread_over(void)
{
    char byte = 0, copy;
    struct iovec to = {&copy, 1}, from = {&byte, 1};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) < 0 && errno == ESRCH;
}

/* Without /proc nobody tells how many threads there are: the first one's end has to be enough. */
static int ends_without_proc(void)
{
    if (!is_first_thread_over())
        return 0;
    mt_message("the program's first thread has ended, and without /proc memtap cannot see the others; "
               "recording ends here");
    atomic_store(&mt_state, MT_OVER);
    return 1;
}

/* Whether the program's last thread has ended, and its first one before: the process would have
 * ended, too, but for us. */
static int is_alone(void)
{
    char text[1024];
    unsigned n_threads = 0;
    size_t n = mt_read_file("/proc/self/stat", text, sizeof text);
    if (!n)
        return ends_without_proc();
    const char *field = memrchr(text, ')', n);
    if (!field || strncmp(field, ") Z ", 4))
        return 0;
    for (int i = 2; field && i < 20; i++)
        field = strchr(field + 1, ' ');
    if (field)
        sscanf(field, "%u", &n_threads);
    return n_threads == 2 + (unsigned)mt_watch_has_thread();
}

static void give_up(int rc, const char *doing)
{
    const char *why = mt_guard_has_lost() ? "its tail was cut short, or the disk failed"
                      : rc == -ESTALE     ? "the program closed memtap's file"
                      : rc == -EISDIR     ? "this is a directory, a device or a pipe, not a file"
                                          : strerror(-rc);
    mt_message("cannot %s %.600s: %s; recording ends here, and the program continues", doing,
               mt_output_shown(&writer.output), why);
    mt_output_close(&writer.output);
    atomic_store(&mt_state, MT_OVER);
    mt_tail_note_end(MT_TAIL_STOPPED, why);
}

/* Where a segment cannot be begun, the one before goes on. */
static void fail(int rc)
{
    if (!writer.is_beginning)
        give_up(rc, "write");
    else if (!writer.rc)
        writer.rc = rc;
}

static int is_open(void)
{
    return writer.output.file.fd >= 0;
}

static void append(const void *bytes, size_t size)
{
    if (!is_open() || !size || writer.rc)
        return;
    /* What was read of lost pages may be anything. */
    int rc = mt_guard_has_lost() ? -EIO : mt_output_append(&writer.output, bytes, size);
    if (rc)
        fail(rc);
}

/* Everything that was taken is in the file now: it can go from the tail. */
static void commit(void)
{
    writer.mark.trace_size = writer.output.size;
    unsigned index = mt_tail_mark(&writer.mark);
    mt_order_note(&writer.order, index);
    mt_tail_turn(&writer.mark);
    mt_order_note(&writer.order, !index);
    mt_order_give_back(&writer.order);
}

static void end_block(void)
{
    const unsigned char *bytes;
    size_t size;
    int rc = mt_encoder_finish(writer.encoder, &bytes, &size);
    if (rc)
        fail(rc);
    else
        append(bytes, size);
    if (is_open() && !writer.is_beginning)
        commit();
}

static void define(const struct mt_definition *definition)
{
    int rc = mt_encoder_definition(writer.encoder, definition);
    if (rc)
        fail(rc);
    if (mt_encoder_full(writer.encoder))
        end_block();
}

static void define_info(void *unused, const char *text, size_t size)
{
    (void)unused;
    define(&(struct mt_definition){.kind = MT_DEF_INFO, .text = text, .text_size = size});
}

static void define_late_info(void *unused, const char *text, size_t size)
{
    define_info(unused, text, size);
    if (mt_settings.is_verbose)
        mt_message("%.*s", (int)size, text);
}

static void define_thread(const struct known_thread *thread)
{
    define(&(struct mt_definition){.kind = MT_DEF_THREAD,
                                   .id = thread->id,
                                   .os_thread = thread->os_thread,
                                   .text = thread->name,
                                   .text_size = strnlen(thread->name, MT_THREAD_NAME_SIZE)});
}

/* For the segments to come. */
static void remember_thread(const struct known_thread *thread)
{
    if (writer.n_threads == writer.threads_capacity) {
        size_t capacity = 2 * writer.n_threads + 16;
        struct known_thread *threads = realloc(writer.threads, capacity * sizeof *threads);
        if (!threads)
            return; /* it will have no name */
        writer.threads = threads;
        writer.threads_capacity = capacity;
    }
    writer.threads[writer.n_threads++] = *thread;
}

static void meet_thread(const struct mt_thread *thread)
{
    struct known_thread known = {thread->id, thread->ring.os_thread, ""};
    memcpy(known.name, thread->ring.name, sizeof known.name);
    define_thread(&known);
    if (writer.live)
        remember_thread(&known);
}

/* Once for each sort of definition that there is no more room for. */
static void define_left_out(void)
{
    char text[128];
    int n = snprintf(text, sizeof text, "left_out=");
    if (!mt_intern_full(text + n, sizeof text - (size_t)n) || !strcmp(text, writer.left_out))
        return;
    strcpy(writer.left_out, text);
    define_info(NULL, text, strlen(text));
}

/* All that the events collected so far refer to: it was published before they were. */
static void write_definitions(void)
{
    struct mt_definition definition;
    uint64_t journal = mt_tail_journal(); /* all in it is found below */
    for (size_t i = 0; i < writer.order.n; i++) {
        const struct mt_thread *thread = writer.order.source[i].thread;
        if (thread->id > writer.mark.threads) {
            meet_thread(thread);
            writer.mark.threads = thread->id;
        }
    }
    while (mt_intern_read(&writer.known, &definition))
        define(&definition);
    define_left_out();
    writer.mark.journal = journal;
    end_block();
}

/* All is kept from now on. */
static void keep_all(int rc)
{
    mt_message("cannot begin a new segment of %s: %s; memtap keeps all events from here on",
               mt_output_shown(&writer.output), strerror(-rc));
    mt_live_destroy(writer.live);
    writer.live = NULL;
}

static void write_event(const struct mt_event *event)
{
    if (!is_open())
        return; /* since a moment ago */
    writer.events++;
    mt_watch_note(event);
    if (event->kind == MT_LOST)
        writer.lost += event->LOST.count;
    int rc = writer.live ? mt_live_event(writer.live, event) : 0;
    if (rc)
        keep_all(rc);
    rc = mt_encoder_event(writer.encoder, event);
    if (rc)
        give_up(rc, "write");
    if (mt_encoder_full(writer.encoder))
        end_block();
}

static void write_timed(struct mt_event *event)
{
    event->time_ns = event->time_ns > writer.start_ns ? event->time_ns - writer.start_ns : 0;
    writer.last_ns = event->time_ns;
    write_event(event);
}

/* Samples of devices that were taken up to this time. */
static void write_samples(uint64_t until_ns)
{
    while (writer.has_sample && writer.sample.time_ns <= until_ns) {
        write_timed(&writer.sample);
        writer.has_sample = mt_watch_take(&writer.sample);
    }
}

static void write_events(void)
{
    struct mt_event event;
    if (!writer.has_sample) /* asked after the horizon was set: none older will come */
        writer.has_sample = mt_watch_take(&writer.sample);
    while (mt_order_next(&writer.order, &event)) {
        write_samples(event.time_ns);
        write_timed(&event);
    }
    write_samples(writer.order.horizon_ns);
}

/* What an ended thread, or any at the end, could not tell by itself. */
static void write_losses(int is_last)
{
    for (size_t i = 0; i < writer.order.n; i++) {
        struct mt_thread *thread = writer.order.source[i].thread;
        if (!is_last && !atomic_load(&thread->is_over))
            continue;
        struct mt_event event = {.time_ns = writer.last_ns,
                                 .thread = thread->id,
                                 .kind = MT_LOST,
                                 .device = MT_NO_DEVICE,
                                 .LOST = {atomic_exchange(&thread->ring.lost, 0)}};
        writer.order.apart += thread->ring.is_apart ? event.LOST.count : 0;
        if (event.LOST.count)
            write_event(&event);
    }
}

/* No two traces of a machine begin at one time in one process. */
static uint64_t any_id(void)
{
    return mt_clock(CLOCK_REALTIME) ^ (uint64_t)getpid() << 44;
}

static void append_header(uint64_t older_id)
{
    unsigned char header[MT_LIVE_HEADER_SIZE];
    writer.mark.trace_id = any_id();
    mt_encode_live_header(header, writer.mark.trace_id, older_id, &writer.output.author);
    append(header, sizeof header);
}

static int write_carried(const struct mt_event *event)
{
    int rc = mt_encoder_carried(writer.encoder, event);
    writer.here.carried++;
    if (!rc && mt_encoder_full(writer.encoder))
        end_block();
    return rc ? rc : writer.rc;
}

static void define_dropped(void)
{
    char text[96];
    int n = snprintf(text, sizeof text, "dropped=%llu events before %llu.%03llu s",
                     (unsigned long long)writer.older.events,
                     (unsigned long long)(writer.older.time_ns / 1000000000u),
                     (unsigned long long)(writer.older.time_ns / 1000000u % 1000u));
    if (writer.older.events)
        define_info(NULL, text, (size_t)n);
}

/* All that was defined, and what is live. */
static void write_past(void)
{
    writer.info->collect(writer.start_ns, define_info, NULL);
    define_dropped();
    for (size_t i = 0; i < writer.n_threads; i++)
        define_thread(&writer.threads[i]);
    memset(&writer.known, 0, sizeof writer.known);
    *writer.left_out = '\0';
    write_definitions();
    int rc = mt_live_each(writer.live, write_carried);
    if (rc)
        fail(rc);
    end_block();
}

/* Turns to the new segment: at any moment, a reader finds all that was recorded in one of the two.
 */
static void replace(struct mt_output *old)
{
    writer.mark.trace_size = writer.output.size;
    unsigned index = mt_tail_mark(&writer.mark);
    mt_order_note(&writer.order, index);
    writer.rc = mt_output_replace(old, &writer.output);
    if (writer.rc)
        return;
    writer.output = *old;
    mt_tail_turn(&writer.mark);
    mt_order_note(&writer.order, !index);
}

/* Where this one is large enough. All that was taken is in it. */
static void begin_segment(void)
{
    static struct mt_output old; /* large */
    struct mt_tail_mark mark = writer.mark;
    struct mt_intern_position known = writer.known;
    struct segment older = writer.older, here = writer.here;
    if (!writer.live || writer.output.size - here.base < mt_settings.keep_bytes)
        return;
    old = writer.output;
    writer.is_beginning = 1;
    writer.rc = mt_output_open_next(&old, &writer.output);
    writer.older = here;
    writer.here = (struct segment){.events = writer.events, .time_ns = writer.last_ns};
    append_header(mark.trace_id);
    write_past();
    writer.here.base = writer.output.size;
    if (!writer.rc)
        replace(&old);
    writer.is_beginning = 0;
    if (!writer.rc) {
        mt_watch_forget();
        return;
    }
    mt_output_discard(&writer.output);
    writer.output = old;
    writer.mark = mark;
    writer.known = known;
    writer.older = older;
    writer.here = here;
    keep_all(writer.rc);
    writer.rc = 0;
}

static void drain(int is_last)
{
    mt_clock_adjust();
    if (is_open() && mt_guard_has_lost())
        give_up(-EIO, "write");
    if (!mt_guard_has_lost())
        mt_tail_say_alive();
    if (!is_open() || mt_order_collect(&writer.order, is_last))
        return; /* no memory: the next time */
    write_definitions();
    write_events();
    write_losses(is_last);
    end_block();
    if (is_open())
        begin_segment();
    if (is_open())
        mt_order_release(&writer.order);
    mt_watch_ask();
}

/* memtap run reads there which traces its program has written: texts, each with a zero after it,
 * since names may have newlines. An empty one is a trace that could not be created. At the end
 * comes a second one, with the processor time that it took before the path. */
static void sign_roster(uint64_t cpu_ns)
{
    char text[PATH_MAX + 24], absolute[PATH_MAX] = "", cost[24] = "";
    if (!*mt_settings.roster)
        return;
    const char *path = !is_open()                               ? ""
                       : realpath(writer.output.path, absolute) ? absolute
                                                                : writer.output.path;
    if (cpu_ns)
        snprintf(cost, sizeof cost, "%llu ", (unsigned long long)cpu_ns);
    snprintf(text, sizeof text, "%s%s", cost, path);
    mt_roster_sign(mt_settings.roster, text);
}

static void open_trace(void)
{
    int rc = mt_output_open(&writer.output);
    if (rc) {
        give_up(rc, "create");
        return;
    }
    append_header(0);
    mt_tail_open(writer.output.path, writer.start_ns);
    commit();
    if (mt_settings.keep_bytes)
        writer.live = mt_live_create();
}

static void write_head(void)
{
    writer.info->collect(writer.start_ns, define_info, NULL);
    end_block();
}

static void say_where(void)
{
    const char *path = mt_output_shown(&writer.output);
    unsigned long long n = writer.events;
    if (!mt_own_file_is_at(&writer.output.file, writer.output.path))
        mt_message("%llu events were recorded, but %s was removed or renamed meanwhile", n, path);
    else if (!mt_settings.is_quiet)
        mt_message("%llu events in %s; see: memtap report %s", n, path, path);
}

static void close_trace(void)
{
    const unsigned char *bytes;
    size_t size;
    struct mt_end end = {writer.last_ns, writer.events - writer.older.events + writer.older.carried,
                         writer.lost};
    if (!is_open())
        return; /* and the tail has the rest */
    sign_roster(mt_clock(CLOCK_THREAD_CPUTIME_ID));
    writer.info->collect_late(define_late_info, NULL);
    end_block();
    if (!mt_encoder_end(writer.encoder, &end, &bytes, &size))
        append(bytes, size);
    if (is_open())
        mt_tail_remove();
    if (is_open() && !*mt_settings.roster)
        say_where();
    mt_output_close(&writer.output);
}

static void *run(void *unused)
{
    is_writer = 1;
    pthread_setname_np(pthread_self(), "memtap");
    pthread_mutex_lock(&writer.working);
    open_trace();
    sign_roster(0); /* before the program goes on: it may end */
    say(&writer.is_open);
    if (is_open())
        write_head();
    for (int is_first = 1; !atomic_load(&writer.stop); is_first = 0) {
        if (wait_for_work(is_first) && is_alone())
            break; /* the C library calls exit when we have ended, too */
        drain(0);
    }
    drain(0);
    mt_watch_finish();
    drain(1);
    close_trace();
    pthread_mutex_unlock(&writer.working);
    say(&writer.is_done);
    return unused;
}

static int begin(void)
{
    sigset_t all, before;
    writer.start_ns = mt_now();
    writer.output.file.fd = -1;
    int rc = mt_output_name(&writer.output, mt_settings.output);
    if (rc)
        return rc;
    writer.encoder = mt_encoder_create(mt_settings.zstd_level);
    if (!writer.encoder)
        return -ENOMEM;
    mt_guard_start();
    /* The host's signals are for its own threads; but for that one, which is ours (guard.h). */
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = mt_own_thread(run);
    writer.is_running = !rc;
    if (!rc)
        mt_watch_start();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -rc;
}

int mt_writer_start(const struct mt_writer_info *info)
{
    writer.info = info;
    int rc = begin();
    if (rc)
        sign_roster(0);
    return rc;
}

void mt_writer_wait_open(void)
{
    wait_for(&writer.is_open, FIRST_WAIT_S);
}

void mt_writer_stop(void)
{
    atomic_store(&writer.stop, 1);
    mt_writer_wake();
    if (!writer.is_running || is_writer)
        return; /* a handler of the program's ends it in the writer */
    if (!wait_for(&writer.is_done, LAST_WAIT_S))
        mt_message("%s was not finished within %d s; it is readable up to that point",
                   mt_output_shown(&writer.output), LAST_WAIT_S);
}

int mt_writer_hold(void)
{
    return !is_writer && mt_fork_wait(&writer.working);
}

void mt_writer_release(void)
{
    pthread_mutex_unlock(&writer.working);
}

void mt_writer_reset(void)
{
    mt_own_malloc_reset();
    /* The encoder may have been in the middle of something: leave it. */
    mt_output_close(&writer.output);
    mt_tail_reset();
    memset(&writer, 0, sizeof writer);
    mt_wake_forget();
    pthread_mutex_init(&writer.working, NULL);
}
