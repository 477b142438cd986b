/* SPDX-License-Identifier: Apache-2.0 */
#include "crew.h"
#include "analyzer/support/grow.h"
#include "host-room.h"
#include "shared-runs.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>

#define PAUSE_NS 20000000
#define LIKELY_CACHE 0.3

static volatile sig_atomic_t signal_seen;

static void see_signal(int number)
{
    signal_seen = number;
}

static void watch_signals(void)
{
    const struct sigaction action = {.sa_handler = see_signal};
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

/* --- what to run next --------------------------------------------------------------------------
 */

size_t mt_fit_largest_card(const struct mt_job *job)
{
    size_t largest = 0;
    for (size_t i = 1; i < job->n_cards; i++)
        if (job->card[i].memory > job->card[largest].memory)
            largest = i;
    return largest;
}

/* Whether on a card of a line the last value has turned out to fit, though others do not. */
static bool has_surprise(const struct mt_fit *fit, size_t line)
{
    for (size_t card = 0; card < fit->job->n_cards; card++)
        if (mt_fit_search(fit, line, card)->top != MT_NONE)
            return 1;
    return 0;
}

/* One run with the last value shows whether memory goes on rising up to there: on the largest card,
 * and on the others if it does not; unless the host is too small for it. */
static bool wants_top(const struct mt_fit *fit, const struct mt_card_search *search)
{
    const struct mt_fit_line *line = &fit->line[search->line];
    uint64_t value = 0;
    size_t last = mt_job_positions(fit->job) - 1;
    if ((search->card != mt_fit_largest_card(fit->job) && !has_surprise(fit, search->line)) ||
        !mt_search_wants_top(search, fit->job) ||
        !mt_variable_number(&fit->job->variable[fit->job->searched], last, &value))
        return 0;
    return mt_estimate_host(&line->estimate, value) < mt_host_free(fit);
}

static int next_of_search(const struct mt_fit *fit, struct mt_card_search *search, size_t *position)
{
    struct mt_fit_line *line = &fit->line[search->line];
    double cache = line->cache < 0 ? LIKELY_CACHE : line->cache;
    if (search->is_running || line->is_refused)
        return 0;
    if (mt_search_next(search, fit->job, &line->estimate, &line->foretell, cache, position) ||
        mt_search_wants_hole(search, fit->job, &line->foretell, position))
        return 1;
    *position = mt_job_positions(fit->job) - 1;
    return wants_top(fit, search);
}

static int next_of_line(const struct mt_fit *fit, size_t i, struct mt_attempt *next)
{
    struct mt_fit_line *line = &fit->line[i];
    next->choice.line = i;
    if (mt_shared_next(line, &next->choice.at)) {
        next->is_huge = 1;
        next->card = mt_fit_largest_card(fit->job);
        return 1;
    }
    for (size_t card = 0; mt_shared_are_over(line) && card < fit->job->n_cards; card++) {
        struct mt_card_search *search = mt_fit_search(fit, i, card);
        if (!next_of_search(fit, search, &next->choice.at))
            continue;
        search->is_running = 1;
        next->card = card;
        return 1;
    }
    return 0;
}

static int find_next(const struct mt_fit *fit, struct mt_attempt *next)
{
    for (size_t i = 0; i < fit->job->n_lines; i++) {
        *next = (struct mt_attempt){0};
        if (next_of_line(fit, i, next))
            return 1;
    }
    return 0;
}

/* --- runs ---------------------------------------------------------------------------------------
 */

static size_t count_running(const struct mt_fit *fit)
{
    size_t n = 0;
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
    int rc = 0;
    while (!rc && mt_host_has_room(fit, count_running(fit)) && find_next(fit, &next))
        rc = start(fit, &next);
    size_t n = count_running(fit);
    fit->most_at_once = n > fit->most_at_once ? (unsigned)n : fit->most_at_once;
    return rc;
}

/* What the run asked for: of a run that ended well or ran out of memory. */
static int take_requests(struct mt_fit *fit, struct mt_attempt *attempt)
{
    const struct mt_job *job = fit->job;
    struct mt_foretell_run run = {.value = mt_search_value(job, attempt->choice.at),
                                  .context = job->card[attempt->card].gpu->context,
                                  .is_whole = attempt->outcome->end == MT_FIT_FITS};
    if (job->searched < 0 || attempt->asked <= 0)
        return 0;
    mt_request_log_read(&run.log, attempt->asked);
    attempt->asked = 0;
    return mt_foretell_add(&fit->line[attempt->choice.line].foretell, run);
}

static int take(struct mt_fit *fit, struct mt_attempt *attempt)
{
    const struct mt_outcome *outcome = attempt->outcome;
    struct mt_fit_line *line = &fit->line[attempt->choice.line];
    int rc = take_requests(fit, attempt);
    if (rc)
        return rc;
    if (*outcome->unknown && !fit->job->allows_unknown)
        return -ECANCELED; /* a border could be too high */
    if (outcome->host > fit->most_host)
        fit->most_host = outcome->host;
    if (attempt->is_huge)
        return mt_shared_take(fit, line, attempt);
    struct mt_card_search *search = mt_fit_search(fit, attempt->choice.line, attempt->card);
    mt_search_take(search, fit->job, attempt->choice.at, outcome);
    if (outcome->end == MT_FIT_FULL && !attempt->choice.at)
        mt_shared_ask_first(line);
    double cache = mt_search_cache(search, fit->job, &line->estimate);
    if (cache >= 0)
        line->cache = cache;
    return outcome->end == MT_FIT_FITS ? mt_shared_learn(fit->job, line, attempt) : 0;
}

/* A keeper that was killed has left no outcome. */
static int see_end(struct mt_fit *fit, struct mt_attempt *attempt, int status)
{
    attempt->keeper = 0;
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        attempt->outcome->end = MT_FIT_BROKEN;
        snprintf(attempt->outcome->last, sizeof attempt->outcome->last,
                 "the process that watched the run was killed");
    }
    int rc = take(fit, attempt);
    if (!fit->signal)
        fit->tell(fit, attempt);
    return rc;
}

static int reap(struct mt_fit *fit)
{
    int rc = 0, status;
    for (size_t i = 0; i < fit->n_attempts; i++) {
        struct mt_attempt *attempt = &fit->attempt[i];
        int ended = 0;
        if (attempt->keeper > 0 && waitpid(attempt->keeper, &status, WNOHANG) > 0)
            ended = see_end(fit, attempt, status);
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
    for (size_t i = 0; i < job->n_lines; i++) {
        mt_shared_plan(job, &fit->line[i]);
        for (size_t card = 0; card < job->n_cards; card++)
            mt_search_begin(mt_fit_search(fit, i, card), i, card);
    }
    watch_signals();
    return 0;
}

int mt_fit_make(struct mt_fit *fit)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
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
    clock_gettime(CLOCK_MONOTONIC, &to);
    fit->seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
    return rc ? rc : fit->signal ? -EINTR : 0;
}

void mt_fit_clear(struct mt_fit *fit)
{
    for (size_t i = 0; i < fit->n_attempts; i++)
        mt_attempt_clear(&fit->attempt[i]);
    for (size_t i = 0; fit->line && i < fit->job->n_lines; i++) {
        mt_estimate_clear(&fit->line[i].estimate);
        mt_foretell_clear(&fit->line[i].foretell);
    }
    free(fit->attempt);
    free(fit->line);
    free(fit->search);
    fit->attempt = NULL;
    fit->line = NULL;
    fit->search = NULL;
    fit->n_attempts = 0;
}

unsigned mt_fit_runs(const struct mt_fit *fit, size_t line, size_t card)
{
    unsigned runs = mt_fit_search(fit, line, card)->runs;
    for (size_t i = 0; i < fit->line[line].n_shared; i++)
        runs += (unsigned)fit->line[line].shared[i].is_over;
    return runs;
}
