/* SPDX-License-Identifier: Apache-2.0 */
#include "fit.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/progress.h"
#include "analyzer/support/room.h"
#include "next.h"
#include "tools/fit/run/machine.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>

#define PAUSE_NS 20000000

static volatile sig_atomic_t signal_seen;

static void note_signal(int number)
{
    signal_seen = number;
}

static void watch_signals(void)
{
    const struct sigaction action = {.sa_handler = note_signal};
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction old;
        if (!sigaction(numbers[i], NULL, &old) && old.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
}

void mt_fit_end_as_asked(void)
{
    signal(SIGPIPE, SIG_DFL);
    if (signal_seen == SIGPIPE)
        raise(SIGPIPE);
}

/* --- the machine's room ----------------------------------------------------------------------- */

/* Return the bytes of the host's memory that a run is expected to take. */
static uint64_t expected(const struct mt_fit *fit)
{
    return fit->most_host ? fit->most_host + fit->most_host / 8 : MT_FIRST_RUN;
}

/* Return the bytes of the host's memory that are free, apart from what runs that go on will still
 * take. A control group may allow less than the machine has. */
static uint64_t host_free(const struct mt_fit *fit)
{
    uint64_t taken = 0, to_come = 0, each = expected(fit);
    for (size_t i = 0; i < fit->n_attempts; i++) {
        uint64_t now = fit->attempt[i].keeper ? fit->attempt[i].outcome->host_now : 0;
        taken += now;
        to_come += fit->attempt[i].keeper && now < each ? each - now : 0;
    }
    uint64_t allowed = 2 * mt_room_of_machine(), have = mt_machine_available();
    allowed = allowed > taken ? allowed - taken : 0;
    have = allowed < have ? allowed : have;
    return have > to_come ? have - to_come : 0;
}

/* --- runs ------------------------------------------------------------------------------------- */

static unsigned count_running(const struct mt_fit *fit)
{
    unsigned n = 0;
    for (size_t i = 0; i < fit->n_attempts; i++)
        n += fit->attempt[i].keeper > 0;
    return n;
}

static int start(struct mt_fit *fit, const struct mt_attempt *next)
{
    if (mt_grow(&fit->attempt, &fit->attempts_capacity, fit->n_attempts + 1, sizeof *fit->attempt))
        return -ENOMEM;
    struct mt_attempt *attempt = &fit->attempt[fit->n_attempts];
    *attempt = *next;
    attempt->number = (unsigned)fit->n_attempts + 1;
    int rc = mt_attempt_start(attempt, fit->job);
    fit->n_attempts += !rc;
    return rc;
}

static int start_some(struct mt_fit *fit)
{
    struct mt_attempt next;
    unsigned most = fit->jobs ? fit->jobs : mt_machine_processors(), running = count_running(fit);
    int rc = 0;
    for (; !rc && (!running || running < most); running++) {
        uint64_t room = host_free(fit);
        if ((running && room <= expected(fit)) || !mt_fit_next(fit, room, &next))
            break;
        rc = start(fit, &next);
    }
    fit->most_at_once = running > fit->most_at_once ? running : fit->most_at_once;
    return rc;
}

/* Learn from a run whose keeper has ended; one that was killed has left no outcome. */
static int conclude(struct mt_fit *fit, struct mt_attempt *attempt, int status)
{
    attempt->keeper = 0;
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        attempt->outcome->end = MT_FIT_BROKEN;
        snprintf(attempt->outcome->last, sizeof attempt->outcome->last,
                 "the process that watched the run was killed");
    }
    int rc = mt_fit_learn(fit, attempt);
    if (!fit->signal && fit->show)
        fit->show(fit, attempt);
    return rc;
}

static int reap(struct mt_fit *fit)
{
    int rc = 0, status;
    for (size_t i = 0; i < fit->n_attempts; i++) {
        struct mt_attempt *attempt = &fit->attempt[i];
        int ended = 0;
        if (attempt->keeper > 0 && waitpid(attempt->keeper, &status, WNOHANG) > 0)
            ended = conclude(fit, attempt, status);
        rc = ended ? ended : rc;
    }
    return rc;
}

static void end_all(struct mt_fit *fit)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    for (size_t i = 0; i < fit->n_attempts; i++)
        mt_attempt_end(&fit->attempt[i]);
    while (count_running(fit)) {
        nanosleep(&pause, NULL);
        reap(fit);
    }
}

static int begin(struct mt_fit *fit)
{
    const struct mt_job *job = fit->job;
    fit->line = calloc(job->n_lines, sizeof *fit->line);
    fit->search = calloc(job->n_lines * job->n_cards, sizeof *fit->search);
    if (!fit->line || !fit->search)
        return -ENOMEM;
    for (size_t i = 0; i < job->n_lines; i++)
        mt_fit_begin(fit, i);
    watch_signals();
    return 0;
}

int mt_fit_make(struct mt_fit *fit)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    uint64_t begin_ns = mt_now_ns();
    int rc = begin(fit);
    while (!rc && !signal_seen) {
        rc = start_some(fit);
        if (rc || !count_running(fit))
            break;
        nanosleep(&pause, NULL);
        rc = reap(fit);
    }
    fit->signal = signal_seen;
    end_all(fit);
    fit->seconds = (double)(mt_now_ns() - begin_ns) / 1e9;
    return rc ? rc : fit->signal ? -EINTR : 0;
}

void mt_fit_clear(struct mt_fit *fit)
{
    for (size_t i = 0; i < fit->n_attempts; i++)
        mt_attempt_clear(&fit->attempt[i]);
    for (size_t i = 0; fit->line && i < fit->job->n_lines; i++) {
        mt_estimate_clear(&fit->line[i].estimate);
        mt_prediction_clear(&fit->line[i].predictor);
    }
    free(fit->attempt);
    free(fit->line);
    free(fit->search);
    fit->attempt = NULL;
    fit->line = NULL;
    fit->search = NULL;
    fit->n_attempts = 0;
}
