/* SPDX-License-Identifier: Apache-2.0 */
#include "attempt.h"
#include "descendants.h"
#include "launch-run.h"
#include "printed.h"
#include "request-log.h"
#include "simulator/launch.h"
#include "watch-run.h"

#include <ctype.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_NS 20000000
#define MEMORY_EACH_S 0.25 /* is looked at */
#define FULL_S 20          /* a program that ran out of memory may take to say so */
#define OTHERS_S 5         /* a rank's end may take to reach the others */
#define GRACE_S 5          /* `memtap run` may take to end after its program */

static volatile sig_atomic_t is_asked_to_end;

static void ask_to_end(int number)
{
    (void)number;
    is_asked_to_end = 1;
}

/* A run, as its keeper sees it. */
struct kept {
    const struct mt_attempt *attempt;
    const struct mt_job *job;
    struct mt_outcome *outcome;
    struct mt_run_watch *watch;
    char folder[PATH_MAX];
    pid_t pid[SIM_MAX_GPUS];
    unsigned processes, running;
    int printed; /* a descriptor */
    int code;    /* the first exit code that is not 0 */
    uint64_t begin_ns, full_ns, failed_ns, memory_ns;
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static double since_s(uint64_t begin_ns)
{
    return (double)(now_ns() - begin_ns) / 1e9;
}

/* --- the folder ------------------------------------------------------------------------------- */

/* "007-h100-batch=64" of what the user keeps; what has a meaning in a path is replaced. */
static void name_folder(struct kept *kept)
{
    char values[200];
    const struct mt_job *job = kept->job;
    const char *card =
        kept->attempt->is_huge ? "unlimited" : job->card[kept->attempt->card].gpu->name;
    mt_choice_text(job, kept->attempt->choice, MT_CHOICE_ALL, values, sizeof values);
    for (char *at = values; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("=._", *at))
            *at = '-';
    snprintf(kept->folder, sizeof kept->folder, "%s/%03u-%s%s%s",
             job->kept ? job->kept : job->temporary, kept->attempt->number, card,
             *values ? "-" : "", values);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    remove(path);
    return 0;
}

/* --- while it runs ---------------------------------------------------------------------------- */

static void see_end(struct kept *kept, pid_t pid, int status)
{
    int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    for (unsigned i = 0; i < kept->processes; i++) {
        if (kept->pid[i] != pid)
            continue;
        kept->pid[i] = 0;
        kept->running--;
        if (code && !kept->code) {
            kept->code = code;
            kept->failed_ns = now_ns();
        }
    }
}

static void reap(struct kept *kept)
{
    pid_t pid;
    int status;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        see_end(kept, pid, status);
}

static void look_at_memory(struct kept *kept)
{
    struct mt_descendants all;
    if (since_s(kept->memory_ns) < MEMORY_EACH_S)
        return;
    kept->memory_ns = now_ns();
    if (!mt_descendants_find(&all)) {
        kept->outcome->host_now = mt_descendants_memory(&all);
        if (kept->outcome->host_now > kept->outcome->host)
            kept->outcome->host = kept->outcome->host_now;
    }
    mt_descendants_clear(&all);
    mt_printed_bound(kept->printed);
}

/* Whether nothing more is to be learned. */
static bool is_enough(struct kept *kept)
{
    if (mt_run_watch_is_full(kept->watch) && !kept->full_ns)
        kept->full_ns = now_ns();
    if (kept->full_ns)
        return mt_run_watch_went_on(kept->watch) || since_s(kept->full_ns) > FULL_S || kept->code;
    if (mt_run_watch_knows(kept->watch, kept->processes))
        return kept->outcome->was_stopped = 1;
    return kept->code && since_s(kept->failed_ns) > OTHERS_S;
}

static bool is_late(const struct kept *kept)
{
    return kept->job->timeout_s > 0 && since_s(kept->begin_ns) > kept->job->timeout_s;
}

/* Follows it to its end, or as long as there is something to learn. */
static void follow(struct kept *kept)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    struct mt_outcome *outcome = kept->outcome;
    int is_over = 0;
    while (!is_over && !is_asked_to_end) {
        nanosleep(&pause, NULL);
        reap(kept);
        look_at_memory(kept);
        is_over = !kept->running;
        if (mt_run_watch_poll(kept->watch, outcome->last, sizeof outcome->last)) {
            outcome->end = MT_FIT_BROKEN;
            return;
        }
        is_over |= is_enough(kept);
        if (!is_over && is_late(kept)) {
            outcome->end = MT_FIT_LATE;
            is_over = 1;
        }
    }
}

/* --- what it showed ----------------------------------------------------------------------------
 */

/* The traces say whether memory ran out; where there is none, because not even a context had room,
 * what the program printed does. */
static bool is_full(const struct kept *kept)
{
    if (mt_run_watch_is_full(kept->watch))
        return 1;
    return kept->code &&
           (mt_run_watch_found_none(kept->watch) || mt_printed_is_of_memory(kept->outcome->last));
}

static enum mt_fit_end judge(const struct kept *kept)
{
    if (is_full(kept))
        return MT_FIT_FULL;
    if (kept->outcome->was_stopped)
        return MT_FIT_FITS;
    if (kept->outcome->end != MT_FIT_FITS)
        return kept->outcome->end;
    if (kept->code == 128 + SIGKILL)
        return MT_FIT_KILLED;
    if (kept->code)
        return MT_FIT_REFUSED;
    return mt_run_watch_traces(kept->watch) ? MT_FIT_FITS : MT_FIT_UNSEEN;
}

static void conclude(struct kept *kept)
{
    struct mt_outcome *outcome = kept->outcome;
    if (outcome->end != MT_FIT_BROKEN)
        mt_printed_last(kept->printed, outcome->last, sizeof outcome->last);
    outcome->exit_code = kept->code < 128 ? kept->code : 0;
    outcome->signal = kept->code > 128 ? kept->code - 128 : 0;
    outcome->end = judge(kept);
    outcome->was_stopped &= outcome->end == MT_FIT_FITS;
    outcome->was_caught = mt_run_watch_went_on(kept->watch) ||
                          (outcome->end == MT_FIT_FULL && !kept->running && !kept->code);
    mt_run_watch_finish(kept->watch);
    mt_run_watch_sum(kept->watch, kept->job->card[kept->attempt->card].gpu->context, outcome);
    if (outcome->end == MT_FIT_FITS || outcome->end == MT_FIT_FULL)
        mt_run_watch_record(kept->watch, kept->attempt->asked);
    outcome->wall_ns = now_ns() - kept->begin_ns;
}

/* --- the keeper --------------------------------------------------------------------------------
 */

/* The terminal's signals do not reach it: memtap says when to end. Orphans of the run become its
 * own. */
static void prepare(pid_t parent)
{
    const struct sigaction action = {.sa_handler = ask_to_end};
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    if (getppid() != parent)
        is_asked_to_end = 1;
}

static int begin(struct kept *kept)
{
    struct mt_outcome *outcome = kept->outcome;
    char *why = outcome->last;
    int rc = mkdir(kept->folder, 0700) ? -errno : mt_printed_begin(kept->folder);
    if (rc < 0) {
        snprintf(why, sizeof outcome->last, "%.900s: %s", kept->folder, strerror(-rc));
        return rc;
    }
    kept->printed = rc;
    kept->watch = mt_run_watch_create(kept->folder, kept->job->steps);
    if (!kept->watch) {
        snprintf(why, sizeof outcome->last, "out of memory");
        return -ENOMEM;
    }
    rc = mt_run_processes(kept->job, kept->attempt->choice, &kept->processes, why,
                          sizeof outcome->last);
    kept->running = kept->processes;
    return rc ? rc
              : mt_run_start(kept->attempt, kept->job, kept->folder, kept->processes, kept->pid,
                             why, sizeof outcome->last);
}

/* Of a run of one, `memtap run` sees its program's end, and writes it into the trace. */
static void end(struct kept *kept)
{
    char why[64];
    mt_descendants_end(kept->pid, kept->processes, GRACE_S);
    if (kept->watch && !is_asked_to_end)
        mt_run_watch_poll(kept->watch, why, sizeof why);
}

static void keep(const struct mt_attempt *attempt, const struct mt_job *job, pid_t parent)
{
    struct kept kept = {.attempt = attempt, .job = job, .outcome = attempt->outcome, .printed = -1};
    prepare(parent);
    name_folder(&kept);
    kept.begin_ns = now_ns();
    if (begin(&kept))
        kept.outcome->end = MT_FIT_BROKEN;
    else
        follow(&kept);
    end(&kept);
    if (kept.watch && kept.outcome->end != MT_FIT_BROKEN)
        conclude(&kept);
    mt_run_watch_destroy(kept.watch);
    if (!job->kept)
        nftw(kept.folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (getppid() != parent)
        rmdir(job->temporary);
}

int mt_attempt_start(struct mt_attempt *attempt, const struct mt_job *job)
{
    pid_t parent = getpid();
    void *shared = mmap(NULL, sizeof *attempt->outcome, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return -errno;
    attempt->outcome = shared;
    attempt->asked = mt_request_log_new();
    attempt->keeper = attempt->asked < 0 ? -1 : fork();
    if (!attempt->keeper) {
        keep(attempt, job, parent);
        _exit(0);
    }
    if (attempt->keeper > 0)
        return 0;
    int rc = attempt->asked < 0 ? attempt->asked : -errno;
    attempt->keeper = 0;
    mt_attempt_clear(attempt);
    return rc;
}

void mt_attempt_end(const struct mt_attempt *attempt)
{
    if (attempt->keeper > 0)
        kill(attempt->keeper, SIGTERM);
}

void mt_attempt_clear(struct mt_attempt *attempt)
{
    if (attempt->outcome)
        munmap(attempt->outcome, sizeof *attempt->outcome);
    attempt->outcome = NULL;
    if (attempt->asked > 0)
        close(attempt->asked);
    attempt->asked = 0;
}
