/* SPDX-License-Identifier: Apache-2.0 */
#include "show.h"
#include "tools/memtap/terminal/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

static enum mt_fit_verdict judge(const struct mt_fit *fit, const struct mt_card_search *search)
{
    if (search->ruled_by != MT_NONE)
        return MT_VERDICT_RULED;
    if (search->top != MT_NONE)
        return MT_VERDICT_ALL;
    if (search->line->is_refused || search->stopped_by != MT_NONE)
        return MT_VERDICT_OPEN;
    if (search->fits == MT_NONE)
        return search->fails == search->line->first ? MT_VERDICT_NONE : MT_VERDICT_OPEN;
    if (search->fails == MT_NONE)
        return search->fits + 1 == mt_job_positions(fit->job) ? MT_VERDICT_ALL : MT_VERDICT_OPEN;
    return search->fails == search->fits + 1 ? MT_VERDICT_BORDER : MT_VERDICT_OPEN;
}

static struct mt_fit_answer find_answer(const struct mt_fit *fit, size_t card, size_t line)
{
    const struct mt_card_search *search = mt_fit_search(fit, line, card);
    struct mt_fit_answer answer = {.card = card,
                                   .line = line,
                                   .verdict = judge(fit, search),
                                   .largest = mt_search_largest(search),
                                   .search = search,
                                   .is_uneven = search->top != MT_NONE || search->hole != MT_NONE ||
                                                mt_estimate_falls(&search->line->known),
                                   .runs = mt_fit_runs(fit, line, card)};
    if (answer.largest != MT_NONE)
        answer.best = mt_fit_outcome(fit, line, card, answer.largest);
    if (search->fails != MT_NONE)
        answer.was_caught = mt_fit_outcome(fit, line, card, search->fails)->was_caught;
    if (answer.verdict == MT_VERDICT_OPEN)
        answer.obstacle = &fit->attempt[search->stopped_by == MT_NONE ? search->line->refusal
                                                                      : search->stopped_by];
    return answer;
}

int mt_fit_answers_collect(struct mt_fit_answers *answers, const struct mt_fit *fit)
{
    const struct mt_job *job = fit->job;
    *answers = (struct mt_fit_answers){fit, job,
                                       calloc(job->n_cards * job->n_lines, sizeof *answers->of), 0};
    if (!answers->of)
        return -ENOMEM;
    for (size_t card = 0; card < job->n_cards; card++)
        for (size_t line = 0; line < job->n_lines; line++)
            answers->of[answers->n++] = find_answer(fit, card, line);
    return 0;
}

const struct mt_fit_answer *mt_fit_answers_fullest(const struct mt_fit_answers *answers,
                                                   size_t card)
{
    const struct mt_fit_answer *fullest = NULL;
    for (size_t line = 0; line < answers->job->n_lines; line++) {
        const struct mt_fit_answer *answer = mt_fit_answer_of(answers, card, line);
        if (answer->best && (!fullest || answer->best->used > fullest->best->used))
            fullest = answer;
    }
    return fullest;
}

const char *mt_fit_obstacle_text(char out[MT_OBSTACLE_TEXT], const struct mt_job *job,
                                 const struct mt_outcome *outcome)
{
    switch (outcome->end) {
    case MT_FIT_LATE:
        snprintf(out, MT_OBSTACLE_TEXT,
                 "was still running after %.0f s and %u iterations "
                 "(--timeout)",
                 job->timeout_s, outcome->iterations);
        break;
    case MT_FIT_KILLED:
        snprintf(out, MT_OBSTACLE_TEXT, "was killed; the host may be out of memory (try --jobs 1)");
        break;
    case MT_FIT_UNSEEN:
        snprintf(out, MT_OBSTACLE_TEXT, "used no GPU");
        break;
    case MT_FIT_UNREADABLE:
        snprintf(out, MT_OBSTACLE_TEXT, "left a trace that cannot be read");
        break;
    case MT_FIT_BROKEN:
        snprintf(out, MT_OBSTACLE_TEXT, "could not be started");
        break;
    case MT_FIT_FULL:
        snprintf(out, MT_OBSTACLE_TEXT, "did not fit even in %" PRIu64 " TiB", MT_HUGE_CARD >> 40);
        break;
    default:
        if (outcome->signal)
            snprintf(out, MT_OBSTACLE_TEXT, "was killed by signal %d", outcome->signal);
        else
            snprintf(out, MT_OBSTACLE_TEXT, "ended with exit code %d", outcome->exit_code);
    }
    return out;
}

void mt_fit_show_run(const struct mt_fit *fit, const struct mt_attempt *attempt)
{
    char values[400], how[200], obstacle[MT_OBSTACLE_TEXT], used[MT_SIZE_TEXT],
        memory[MT_SIZE_TEXT], iterations[64] = "", rank[24] = "";
    const struct mt_outcome *outcome = attempt->outcome;
    const struct mt_fit_card *card = &fit->job->card[attempt->card];
    mt_choice_text(fit->job, attempt->choice, values, sizeof values);
    mt_size_text(used, outcome->used);
    mt_size_text(memory, card->memory);
    if (outcome->end == MT_FIT_FITS && outcome->fills_card)
        snprintf(how, sizeof how, "uses all memory there is");
    else if (outcome->end == MT_FIT_FITS && attempt->is_huge)
        snprintf(how, sizeof how, "uses %s", used);
    else if (outcome->end == MT_FIT_FITS)
        snprintf(how, sizeof how, "fits: %s of %s", used, memory);
    else if (outcome->end == MT_FIT_FULL && !attempt->is_huge)
        snprintf(how, sizeof how, "does not fit%s",
                 outcome->was_caught ? "; the program caught it" : "");
    else
        snprintf(how, sizeof how, "%s", mt_fit_obstacle_text(obstacle, fit->job, outcome));
    if (outcome->was_stopped && !outcome->fills_card)
        snprintf(iterations, sizeof iterations, ", ended after %u iterations", outcome->iterations);
    if (attempt->is_trial)
        snprintf(rank, sizeof rank, ", rank %u", *attempt->rank);
    mt_say("%s%s%s%s: %s%s (%.1f s)", attempt->is_huge ? "unlimited card" : card->gpu->name,
           *values ? ", " : "", values, rank, how, iterations, (double)outcome->wall_ns / 1e9);
}
