/* SPDX-License-Identifier: Apache-2.0 */
#include "attempt.h"
#include "analyzer/support/progress.h"
#include "output.h"
#include "requests.h"
#include "signals.h"
#include "tools/memtap/input/descendants.h"
#include "tools/memtap/launch/manifest.h"
#include "watch.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_NS 20000000
#define KILL_PAUSE_NS 10000000
#define KILL_S 10          /* a process not killed in this time is blocked on I/O */
#define MEMORY_EACH_S 0.25 /* polling interval */
#define FULL_S 20          /* time for a program to report that memory ran out */
#define OTHERS_S 5         /* time for a rank's end to reach the others */
#define GRACE_S 5          /* time for `memtap run` to end after its program */

/* --- the run's processes ---------------------------------------------------------------------- */

/* Return a process's resident memory, without file-backed pages. */
static uint64_t memory_of(pid_t pid)
{
    char path[64];
    unsigned long long size, resident, shared;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "re");
    int n = file ? fscanf(file, "%llu %llu %llu", &size, &resident, &shared) : 0;
    if (file)
        fclose(file);
    return n == 3 && resident > shared ? (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* Return the private host memory of the calling process's descendants in bytes; 0: unknown. */
static uint64_t processes_memory(void)
{
    struct mt_descendants all;
    uint64_t sum = 0;
    int rc = mt_descendants_find(&all, getpid());
    for (size_t i = 0; i < all.n && !rc; i++)
        sum += memory_of(all.of[i].pid);
    free(all.of);
    return sum;
}

static bool is_spared(pid_t pid, const pid_t *spared, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (spared[i] == pid)
            return true;
    return false;
}

/* Return how many processes are left. */
static size_t kill_some(const pid_t *spared, size_t n_spared)
{
    struct mt_descendants all;
    int rc = mt_descendants_find(&all, getpid());
    for (size_t i = 0; i < all.n && !rc; i++)
        if (!is_spared(all.of[i].pid, spared, n_spared))
            kill(all.of[i].pid, SIGKILL);
    free(all.of);
    return rc ? 1 : all.n;
}

/* Kill all descendants. The spared ones get some seconds to end by themselves, so that they observe
 * how their children ended. The caller must be a subreaper (PR_SET_CHILD_SUBREAPER), and has no
 * children afterwards. */
static void processes_end(const pid_t *spared, size_t n_spared, double grace_s)
{
    const struct timespec pause = {.tv_nsec = KILL_PAUSE_NS};
    uint64_t begin_ns = mt_now_ns();
    double waited_s = 0;
    while (waited_s < grace_s + KILL_S && kill_some(spared, waited_s < grace_s ? n_spared : 0)) {
        nanosleep(&pause, NULL);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            continue;
        waited_s = (double)(mt_now_ns() - begin_ns) / 1e9;
    }
}

/* A run in its keeper process. */
struct kept {
    const struct mt_attempt *attempt;
    const struct mt_job *job;
    struct mt_outcome *outcome;
    struct mt_run_watch *watch;
    struct mt_run_state state;
    struct mt_run_state before; /* the peak of the ranks before this one */
    char folder[PATH_MAX];
    pid_t pid[SIM_MAX_GPUS];
    unsigned processes, running;
    int printed; /* a descriptor */
    int code;    /* the first exit code that is not 0 */
    uint64_t begin_ns, turn_ns, full_ns, failed_ns, memory_ns;
};

static double since_s(uint64_t begin_ns)
{
    return (double)(mt_now_ns() - begin_ns) / 1e9;
}

/* --- the folder ------------------------------------------------------------------------------- */

/* Name the folder, such as "007-h100-batch=64", without characters that have a meaning in a path.
 */
static void name_folder(struct kept *kept)
{
    char values[200];
    const struct mt_job *job = kept->job;
    const struct mt_attempt *attempt = kept->attempt;
    const char *card = attempt->is_huge ? "unlimited" : job->card[attempt->card].gpu->name;
    const char *slash = strrchr(card, '/'); /* of a card described by a file */
    size_t used;
    mt_choice_text(job, attempt->choice, values, sizeof values);
    used = strlen(values);
    if (attempt->is_trial)
        snprintf(values + used, sizeof values - used, "%srank=%u", used ? ", " : "",
                 *attempt->rank);
    for (char *at = values; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("=._", *at))
            *at = '-';
    snprintf(kept->folder, sizeof kept->folder, "%s/%03u-%s%s%s",
             job->kept ? job->kept : job->temporary, attempt->number, slash ? slash + 1 : card,
             *values ? "-" : "", values);
}

/* --- while it runs ---------------------------------------------------------------------------- */

static void note_end(struct kept *kept, pid_t pid, int status)
{
    int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    for (unsigned i = 0; i < kept->processes; i++) {
        if (kept->pid[i] != pid)
            continue;
        kept->pid[i] = 0;
        kept->running--;
        if (code && !kept->code) {
            kept->code = code;
            kept->failed_ns = mt_now_ns();
        }
    }
}

static void reap(struct kept *kept)
{
    pid_t pid;
    int status;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        note_end(kept, pid, status);
}

static void measure_memory(struct kept *kept)
{
    if (since_s(kept->memory_ns) < MEMORY_EACH_S)
        return;
    kept->memory_ns = mt_now_ns();
    kept->outcome->host_now = processes_memory();
    if (kept->outcome->host_now > kept->outcome->host)
        kept->outcome->host = kept->outcome->host_now;
    mt_output_bound(kept->printed);
}

/* Return whether the run can still show more. */
static bool has_more(const struct kept *kept)
{
    if (kept->full_ns)
        return !kept->state.went_on && since_s(kept->full_ns) <= FULL_S && !kept->code;
    return !kept->outcome->was_stopped && (!kept->code || since_s(kept->failed_ns) <= OTHERS_S);
}

/* Read new events. Return false if the run is over or can show nothing more. */
static bool poll_once(struct kept *kept)
{
    struct mt_outcome *outcome = kept->outcome;
    const struct mt_run_state *state = &kept->state, *before = &kept->before;
    reap(kept);
    measure_memory(kept);
    bool is_over = !kept->running;
    if (mt_run_watch_poll(kept->watch, &kept->state, outcome->last, sizeof outcome->last)) {
        outcome->end = MT_FIT_UNREADABLE;
        return false;
    }
    if (state->is_full && !kept->full_ns)
        kept->full_ns = mt_now_ns();
    size_t n_known = state->n_known - before->n_known;
    outcome->was_stopped = !kept->full_ns && n_known && n_known == state->traces - before->traces &&
                           n_known >= kept->processes;
    outcome->fills_card = kept->attempt->is_huge && state->cuda >= MT_FILLS_CARD;
    outcome->was_stopped |= outcome->fills_card && !kept->full_ns;
    if (is_over || !has_more(kept))
        return false;
    if (kept->job->timeout_s > 0 && since_s(kept->turn_ns) > kept->job->timeout_s)
        outcome->end = MT_FIT_LATE;
    return outcome->end != MT_FIT_LATE;
}

static void follow(struct kept *kept)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    do
        nanosleep(&pause, NULL);
    while (poll_once(kept) && !mt_signals_caught());
}

/* --- the outcome ------------------------------------------------------------------------------ */

/* Return whether memory ran out, according to the traces, or to the program's output if not even a
 * context fit and there is no trace. */
static bool is_full(const struct kept *kept)
{
    return kept->state.is_full ||
           (kept->code && (kept->state.found_none || mt_output_is_of_memory(kept->printed)));
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
    return kept->state.traces ? MT_FIT_FITS : MT_FIT_UNSEEN;
}

static void conclude(struct kept *kept)
{
    struct mt_outcome *outcome = kept->outcome;
    mt_output_last(kept->printed, outcome->last, sizeof outcome->last);
    outcome->exit_code = kept->code < 128 ? kept->code : 0;
    outcome->signal = kept->code > 128 ? kept->code - 128 : 0;
    outcome->end = judge(kept);
    if (outcome->end == MT_FIT_FITS && !outcome->was_stopped &&
        mt_run_watch_lacks_end(kept->watch, outcome->last, sizeof outcome->last))
        outcome->end = MT_FIT_UNREADABLE;
    outcome->advice = outcome->end == MT_FIT_FULL ? mt_output_advice(kept->printed) : 0;
    outcome->was_stopped &= outcome->end == MT_FIT_FITS;
    outcome->was_caught =
        kept->state.went_on || (outcome->end == MT_FIT_FULL && !kept->running && !kept->code);
    mt_run_watch_finish(kept->watch, kept->job->card[kept->attempt->card].gpu->context, outcome,
                        kept->attempt->request_log);
    outcome->wall_ns = mt_now_ns() - kept->begin_ns;
}

/* --- the keeper --------------------------------------------------------------------------------
 */

/* Leave the terminal's process group, since memtap decides when to end, and adopt the run's
 * orphans. */
static void prepare(pid_t parent)
{
    mt_signals_catch(true);
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    if (getppid() != parent)
        raise(SIGTERM);
}

static int begin(struct kept *kept)
{
    struct mt_outcome *outcome = kept->outcome;
    int rc = mkdir(kept->folder, 0700) ? -errno : mt_output_begin(kept->folder);
    if (rc < 0) {
        snprintf(outcome->last, sizeof outcome->last, "%.900s: %s", kept->folder, strerror(-rc));
        return rc;
    }
    kept->printed = rc;
    kept->watch = mt_run_watch_create(kept->folder, kept->job->steps);
    if (!kept->watch)
        snprintf(outcome->last, sizeof outcome->last, "out of memory");
    return kept->watch ? 0 : -ENOMEM;
}

/* End all processes, with time for `memtap run` to write its program's end into the trace. */
static void end(struct kept *kept)
{
    char why[64];
    processes_end(kept->pid, kept->processes, GRACE_S);
    if (kept->watch && !mt_signals_caught())
        mt_run_watch_poll(kept->watch, &kept->state, why, sizeof why);
}

/* Run the attempt's ranks in turn until one does not fit or fails. */
static int run(struct kept *kept)
{
    struct mt_outcome *outcome = kept->outcome;
    unsigned turns = kept->attempt->n_ranks ? kept->attempt->n_ranks : 1;
    int rc = 0;
    for (unsigned turn = 0; turn < turns && !rc; turn++) {
        kept->before = kept->state;
        kept->turn_ns = mt_now_ns();
        rc = mt_run_start(kept->attempt, kept->job, kept->folder, turn, kept->pid, &kept->processes,
                          outcome->last, sizeof outcome->last);
        kept->running = kept->processes;
        if (!rc)
            follow(kept);
        end(kept);
        if (mt_signals_caught() || kept->full_ns || kept->code || outcome->end != MT_FIT_FITS)
            break;
    }
    return rc;
}

static void keep(const struct mt_attempt *attempt, const struct mt_job *job, pid_t parent)
{
    struct kept kept = {.attempt = attempt, .job = job, .outcome = attempt->outcome, .printed = -1};
    prepare(parent);
    name_folder(&kept);
    kept.begin_ns = mt_now_ns();
    if (begin(&kept) || run(&kept))
        kept.outcome->end = MT_FIT_BROKEN;
    if (kept.watch && kept.outcome->end != MT_FIT_BROKEN && kept.outcome->end != MT_FIT_UNREADABLE)
        conclude(&kept);
    mt_run_watch_destroy(kept.watch);
    if (!job->kept)
        mt_folder_remove(kept.folder);
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
    attempt->request_log = mt_request_log_new();
    attempt->keeper = attempt->request_log < 0 ? -1 : fork();
    if (!attempt->keeper) {
        keep(attempt, job, parent);
        _exit(0);
    }
    if (attempt->keeper > 0)
        return 0;
    int rc = attempt->request_log < 0 ? attempt->request_log : -errno;
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
    if (attempt->request_log > 0)
        close(attempt->request_log);
    attempt->request_log = 0;
}
