/* SPDX-License-Identifier: Apache-2.0 */
#include "fit.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/progress.h"
#include "analyzer/support/room.h"
#include "tools/memtap/fit/run/signals.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>

#define PAUSE_NS 20000000
#define NEAR 32 /* with fewer values, two runs are enough */
#define FAR 1.5
#define REFUSALS 3u /* small values to try before the program counts as accepting none */
/* Assumed host memory of a run until one has been measured, in bytes. */
#define FIRST_RUN ((uint64_t)2 << 30)

void mt_fit_restore_sigpipe(void)
{
    signal(SIGPIPE, SIG_DFL);
    if (mt_signals_caught() == SIGPIPE)
        raise(SIGPIPE);
}

/* --- host memory ------------------------------------------------------------------------------ */

/* Return a run's expected host memory in bytes. */
static uint64_t expected(const struct mt_fit *fit)
{
    return fit->most_host ? fit->most_host + fit->most_host / 8 : FIRST_RUN;
}

/* Return the free host memory in bytes, minus what the current runs will still use. A control group
 * may allow less than the machine has. */
static uint64_t host_free(const struct mt_fit *fit)
{
    uint64_t usage = 0, to_come = 0, each = expected(fit);
    for (size_t i = 0; i < fit->n_attempts; i++) {
        uint64_t now = fit->attempt[i].keeper ? fit->attempt[i].outcome->host_now : 0;
        usage += now;
        to_come += fit->attempt[i].keeper && now < each ? each - now : 0;
    }
    uint64_t allowed = 2 * mt_room_of_machine(), have = mt_machine_available();
    allowed = allowed > usage ? allowed - usage : 0;
    have = allowed < have ? allowed : have;
    return have > to_come ? have - to_come : 0;
}

/* --- on an unlimited card --------------------------------------------------------------------- */

static void request(struct mt_fit_line *line, size_t position)
{
    for (size_t i = 0; i < line->n_shared; i++)
        if (line->shared[i] == position)
            return;
    if (line->n_shared < MT_SHARED_RUNS)
        line->shared[line->n_shared++] = position;
}

/* Request runs of the smallest value and the geometric middle. */
static void plan(const struct mt_job *job, struct mt_fit_line *line)
{
    size_t n = mt_job_positions(job);
    double first = (double)mt_job_searched_value(job, 0),
           last = (double)mt_job_searched_value(job, n - 1);
    size_t middle = mt_position_below(job, nextafter(sqrt(fmax(first, 1) * last), INFINITY));
    if (n < 3)
        return;
    request(line, 0);
    request(line, middle ? middle : 1);
}

/* Request one more run if the border is far from all runs, to make the estimates accurate. */
static void request_near(const struct mt_fit *fit, struct mt_fit_line *line)
{
    const struct mt_job *job = fit->job;
    const struct mt_known_run *first = mt_known_after(&line->known, NULL),
                              *second = first ? mt_known_after(&line->known, first) : NULL;
    if (!second || mt_known_after(&line->known, second))
        return;
    uint64_t memory = mt_room_of_card(job, mt_job_largest_card(job));
    double border = mt_estimate_border(&line->known, memory, MT_LIKELY_CACHE),
           last = (double)mt_job_searched_value(job, mt_job_positions(job) - 1),
           most = (double)second->value;
    border = border > last ? last : border;
    if (border >= NEAR && (border >= FAR * most || border <= most / FAR))
        request(line, mt_position_below(job, nextafter(border, INFINITY)));
}

/* Return the position to try after the program refused a value: that of twice the value (BatchNorm
 * refuses a batch of 1); MT_NONE: give up. */
static size_t after_refusal(const struct mt_fit *fit, struct mt_fit_line *line, size_t position)
{
    size_t next = 2 * position + 1;
    return ++line->n_refused <= REFUSALS && next < mt_job_positions(fit->job) ? next : MT_NONE;
}

/* Request it, unless the program accepts that value or a smaller one. */
static void request_further(const struct mt_fit *fit, struct mt_fit_line *line, size_t position)
{
    const struct mt_known_run *fits = mt_known_after(&line->known, NULL);
    size_t next = after_refusal(fit, line, position);
    if (next != MT_NONE && (!fits || fits->value > mt_job_searched_value(fit->job, next)))
        request(line, next);
}

/* Begin at the first accepted value, and skip the positions below. */
static void begin_searches(const struct mt_fit *fit, size_t i)
{
    struct mt_fit_line *line = &fit->line[i];
    line->first = MT_NONE;
    for (size_t j = 0; j < line->n_shared; j++)
        if (mt_fit_outcome(fit, i, MT_ANY_ROOM, line->shared[j])->end == MT_FIT_FITS &&
            line->shared[j] < line->first)
            line->first = line->shared[j];
    line->may_fall = mt_estimate_falls(&line->known);
    line->is_refused = line->first == MT_NONE;
}

static void learn_shared(struct mt_fit *fit, const struct mt_attempt *attempt)
{
    size_t at = attempt->choice.at;
    struct mt_fit_line *line = &fit->line[attempt->choice.line];
    line->n_over++;
    if (attempt->outcome->end != MT_FIT_FITS)
        line->refusal = (size_t)(attempt - fit->attempt);
    if (attempt->outcome->fills_card) {
        line->fills_card = true;
        line->n_shared = line->n_started;
    }
    if (attempt->outcome->end == MT_FIT_REFUSED && at < mt_job_positions(fit->job) / 2)
        request_further(fit, line, at);
    if (line->n_over == line->n_shared)
        request_near(fit, line);
    if (line->n_over == line->n_shared)
        begin_searches(fit, attempt->choice.line);
}

/* --- the ranks of a line ---------------------------------------------------------------------- */

/* Find the next rank to run alone, on the job's card if only the kinds are searched. */
static bool next_rank(const struct mt_fit *fit, size_t i, struct mt_attempt *next)
{
    const struct mt_job *job = fit->job;
    struct mt_line_ranks *ranks = &fit->line[i].ranks;
    const unsigned *rank = mt_line_ranks_next(ranks);
    if (!rank)
        return false;
    *next = (struct mt_attempt){.choice = {.line = i, .at = ranks->at},
                                .card = mt_job_largest_card(job),
                                .is_huge = !job->is_for_ranks,
                                .is_trial = true,
                                .rank = rank,
                                .n_ranks = 1,
                                .groups = ranks->kinds.n_known ? NULL : ranks->groups};
    return true;
}

/* Record a rank's outcome. If rank 0 refuses a value, try a larger one. */
static void learn_rank(struct mt_fit *fit, struct mt_attempt *attempt)
{
    struct mt_fit_line *line = &fit->line[attempt->choice.line];
    const struct mt_outcome *outcome = attempt->outcome;
    struct mt_line_ranks *ranks = &line->ranks;
    size_t next = MT_NONE;
    if (outcome->end == MT_FIT_FITS || (outcome->end == MT_FIT_FULL && !attempt->is_huge)) {
        mt_line_ranks_learn(ranks, *attempt->rank, outcome, attempt->request_log);
        attempt->request_log = 0;
        line->n_refused = 0;
        return;
    }
    if (outcome->end == MT_FIT_REFUSED && !ranks->kinds.n_known)
        next = after_refusal(fit, line, ranks->at);
    line->refusal = (size_t)(attempt - fit->attempt);
    line->is_refused |= next == MT_NONE;
    if (next == MT_NONE)
        return;
    ranks->at = next;
    ranks->n_started = 0;
}

/* --- on the cards ----------------------------------------------------------------------------- */

/* Begin the searches of a line. */
static int begin_line(struct mt_fit *fit, size_t line)
{
    const struct mt_job *job = fit->job;
    unsigned count[MT_JOB_COUNT_LIMIT];
    char why[64];
    plan(fit->job, &fit->line[line]);
    for (size_t card = 0; card < fit->job->n_cards; card++)
        *mt_fit_search(fit, line, card) = (struct mt_card_search){.job = fit->job,
                                                                  .line = &fit->line[line],
                                                                  .card = card,
                                                                  .fits = MT_NONE,
                                                                  .fails = MT_NONE,
                                                                  .top = MT_NONE,
                                                                  .hole = MT_NONE,
                                                                  .ruled_by = MT_NONE,
                                                                  .stopped_by = MT_NONE};
    return job->finds_ranks &&
                   !mt_job_counts(job, (struct mt_choice){line, 0}, count, why, sizeof why)
               ? mt_line_ranks_begin(&fit->line[line].ranks, count[MT_JOB_RANKS], job->temporary,
                                     line)
               : 0;
}

/* Return whether the last value fits on a card of a line although others do not. */
static bool has_surprise(const struct mt_fit *fit, size_t line)
{
    for (size_t card = 0; card < fit->job->n_cards; card++)
        if (mt_fit_search(fit, line, card)->top != MT_NONE)
            return true;
    return false;
}

/* Return whether to run the last value, to check that memory rises up to it: on the largest card,
 * and on the others if it does not rise, unless the host is too small. */
static bool wants_top(const struct mt_fit *fit, size_t line, const struct mt_card_search *search,
                      uint64_t host_free)
{
    uint64_t value = mt_job_searched_value(fit->job, mt_job_positions(fit->job) - 1);
    return (search->card == mt_job_largest_card(fit->job) || has_surprise(fit, line)) &&
           mt_search_wants_top(search) &&
           mt_estimate_host(&fit->line[line].known, value) < host_free;
}

static bool next_of_line(struct mt_fit *fit, size_t i, uint64_t host_free, struct mt_attempt *next)
{
    struct mt_fit_line *line = &fit->line[i];
    bool has_ranks = line->ranks.kinds.world > 0;
    if (line->is_refused || (!line->is_begun && !mt_neighbours_let_begin(fit, i)))
        return false;
    line->is_begun = true;
    if (has_ranks && (!line->ranks.is_found || fit->job->is_for_ranks))
        return next_rank(fit, i, next);
    *next = (struct mt_attempt){.choice = {.line = i},
                                .rank = has_ranks ? line->ranks.rank : NULL,
                                .n_ranks = line->ranks.kinds.n_kinds};
    if (line->n_started < line->n_shared) {
        next->choice.at = line->shared[line->n_started++];
        next->is_huge = true;
        next->card = mt_job_largest_card(fit->job);
        return true;
    }
    for (size_t card = 0; line->n_over == line->n_shared && card < fit->job->n_cards; card++) {
        struct mt_card_search *search = mt_fit_search(fit, i, card);
        next->card = card;
        if (search->is_running || search->ruled_by != MT_NONE)
            continue;
        search->is_running = mt_search_next(search, &next->choice.at) ||
                             mt_search_wants_hole(search, &next->choice.at);
        if (!search->is_running && wants_top(fit, i, search, host_free)) {
            next->choice.at = mt_job_positions(fit->job) - 1;
            search->is_running = true;
        }
        if (search->is_running)
            return true;
    }
    return false;
}

/* Choose the next run and count it as started. host_free: free host memory in bytes. */
static bool find_next(struct mt_fit *fit, uint64_t host_free, struct mt_attempt *next)
{
    for (size_t i = 0; i < fit->job->n_lines; i++)
        if (next_of_line(fit, i, host_free, next))
            return true;
    return false;
}

static void learn_own(struct mt_fit *fit, const struct mt_attempt *attempt)
{
    struct mt_fit_line *line = &fit->line[attempt->choice.line];
    struct mt_card_search *search = mt_fit_search(fit, attempt->choice.line, attempt->card);
    if (attempt->outcome->advice)
        search->advice = attempt->outcome->advice;
    mt_search_learn(search, attempt->choice.at, attempt->outcome->end,
                    (size_t)(attempt - fit->attempt));
    if (attempt->outcome->end == MT_FIT_FULL && !attempt->choice.at &&
        !mt_fit_outcome(fit, attempt->choice.line, MT_ANY_ROOM, 0))
        request(line, 0); /* report its use of an unlimited card */
}

/* Add a run's memory and its requests. */
static int add_figures(struct mt_fit *fit, struct mt_attempt *attempt)
{
    struct mt_known_run run = {.value = mt_job_searched_value(fit->job, attempt->choice.at),
                               .context = fit->job->card[attempt->card].gpu->context,
                               .outcome = attempt->outcome};
    if (attempt->request_log > 0)
        mt_request_log_read(&run.log, attempt->request_log);
    attempt->request_log = 0;
    return mt_known_add(&fit->line[attempt->choice.line].known, run);
}

/* Record a run that has ended. Return 0, -ENOMEM, or -ECANCELED if sizes depend on values that are
 * not simulated, so the border could be too high. */
static int learn(struct mt_fit *fit, struct mt_attempt *attempt)
{
    bool says_more = fit->job->searched >= 0 && !attempt->is_trial &&
                     !attempt->outcome->fills_card && !fit->line[attempt->choice.line].fills_card;
    int rc = says_more ? add_figures(fit, attempt) : 0;
    if (rc)
        return rc;
    if (*attempt->outcome->unknown && !fit->job->allows_unknown)
        return -ECANCELED;
    if (attempt->outcome->host > fit->most_host)
        fit->most_host = attempt->outcome->host;
    if (attempt->is_trial)
        learn_rank(fit, attempt);
    else if (attempt->is_huge)
        learn_shared(fit, attempt);
    else
        learn_own(fit, attempt);
    return 0;
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
    if (MT_GROW(fit->attempt, fit->attempts_capacity, fit->n_attempts))
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
        if ((running && room <= expected(fit)) || !find_next(fit, room, &next))
            break;
        rc = start(fit, &next);
    }
    fit->most_at_once = running > fit->most_at_once ? running : fit->most_at_once;
    return rc;
}

/* Record a run whose keeper has ended. A killed keeper leaves no outcome. */
static int conclude(struct mt_fit *fit, struct mt_attempt *attempt, int status)
{
    attempt->keeper = 0;
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        attempt->outcome->end = MT_FIT_BROKEN;
        snprintf(attempt->outcome->last, sizeof attempt->outcome->last,
                 "the process that watched the run was killed");
    }
    int rc = learn(fit, attempt);
    mt_neighbours_learn(fit);
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
    int rc = 0;
    fit->line = calloc(job->n_lines, sizeof *fit->line);
    fit->search = calloc(job->n_lines * job->n_cards, sizeof *fit->search);
    if (!fit->line || !fit->search)
        return -ENOMEM;
    for (size_t i = 0; i < job->n_lines && !rc; i++)
        rc = begin_line(fit, i);
    mt_signals_catch(false);
    return rc;
}

int mt_fit_make(struct mt_fit *fit)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    uint64_t begin_ns = mt_now_ns();
    int rc = begin(fit);
    while (!rc && !mt_signals_caught()) {
        rc = start_some(fit);
        if (rc || !count_running(fit))
            break;
        nanosleep(&pause, NULL);
        rc = reap(fit);
    }
    fit->signal = mt_signals_caught();
    end_all(fit);
    for (size_t i = 0; fit->line && i < fit->job->n_lines; i++)
        mt_line_ranks_end(&fit->line[i].ranks);
    fit->seconds = (double)(mt_now_ns() - begin_ns) / 1e9;
    return rc ? rc : fit->signal ? -EINTR : 0;
}

void mt_fit_clear(struct mt_fit *fit)
{
    for (size_t i = 0; i < fit->n_attempts; i++)
        mt_attempt_clear(&fit->attempt[i]);
    for (size_t i = 0; fit->line && i < fit->job->n_lines; i++)
        mt_known_clear(&fit->line[i].known);
    free(fit->attempt);
    free(fit->line);
    free(fit->search);
    fit->attempt = NULL;
    fit->line = NULL;
    fit->search = NULL;
    fit->n_attempts = 0;
}
