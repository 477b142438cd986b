/* SPDX-License-Identifier: Apache-2.0 */
#include "show.h"
#include "tools/terminal/command.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PIPED_COLUMNS 100

enum mt_fit_verdict mt_fit_verdict(const struct mt_fit *fit, size_t line, size_t card)
{
    const struct mt_card_search *search = mt_fit_search(fit, line, card);
    if (search->ruled_by != MT_NONE)
        return MT_VERDICT_RULED;
    if (search->top != MT_NONE)
        return MT_VERDICT_ALL;
    if (fit->line[line].is_refused || search->stopped_at != MT_NONE)
        return MT_VERDICT_OPEN;
    if (search->fits == MT_NONE)
        return search->fails == search->first ? MT_VERDICT_NONE : MT_VERDICT_OPEN;
    if (search->fails == MT_NONE)
        return search->fits + 1 == mt_job_positions(fit->job) ? MT_VERDICT_ALL : MT_VERDICT_OPEN;
    return search->fails == search->fits + 1 ? MT_VERDICT_BORDER : MT_VERDICT_OPEN;
}

const struct mt_outcome *mt_fit_obstacle(const struct mt_fit *fit, size_t line, size_t card,
                                         struct mt_choice *choice)
{
    const struct mt_card_search *search = mt_fit_search(fit, line, card);
    const struct mt_attempt *refusal = &fit->attempt[fit->line[line].refusal];
    *choice = (struct mt_choice){line, search->stopped_at};
    if (search->stopped_at != MT_NONE)
        return mt_fit_outcome(fit, line, card, search->stopped_at);
    *choice = refusal->choice;
    return refusal->outcome;
}

const struct mt_outcome *mt_fit_best(const struct mt_fit *fit, size_t line, size_t card)
{
    size_t at = mt_search_largest(mt_fit_search(fit, line, card));
    return at == MT_NONE ? NULL : mt_fit_outcome(fit, line, card, at);
}

size_t mt_fit_fullest(const struct mt_fit *fit, size_t card)
{
    const struct mt_outcome *most = NULL;
    size_t fullest = MT_NONE;
    for (size_t line = 0; line < fit->job->n_lines; line++) {
        const struct mt_outcome *best = mt_fit_best(fit, line, card);
        if (best && (!most || best->used > most->used)) {
            most = best;
            fullest = line;
        }
    }
    return fullest;
}

bool mt_fit_was_caught(const struct mt_fit *fit, size_t line, size_t card)
{
    size_t fails = mt_fit_search(fit, line, card)->fails;
    return fails != MT_NONE && mt_fit_outcome(fit, line, card, fails)->was_caught;
}

bool mt_fit_is_uneven(const struct mt_fit *fit, size_t line, size_t card)
{
    const struct mt_card_search *search = mt_fit_search(fit, line, card);
    return search->top != MT_NONE || search->hole != MT_NONE ||
           mt_estimate_falls(&fit->line[line].estimate);
}

const char *mt_fit_obstacle_text(char out[MT_OBSTACLE_TEXT], const struct mt_fit *fit,
                                 const struct mt_outcome *outcome)
{
    switch (outcome->end) {
    case MT_FIT_LATE:
        snprintf(out, MT_OBSTACLE_TEXT, "still ran after %.0f s, %u iterations seen (--timeout)",
                 fit->job->timeout_s, outcome->iterations);
        break;
    case MT_FIT_KILLED:
        snprintf(out, MT_OBSTACLE_TEXT, "was killed; the host may be out of memory (--jobs 1)");
        break;
    case MT_FIT_UNSEEN:
        snprintf(out, MT_OBSTACLE_TEXT, "used no GPU");
        break;
    case MT_FIT_BROKEN:
        snprintf(out, MT_OBSTACLE_TEXT, "could not be made");
        break;
    case MT_FIT_FULL:
        snprintf(out, MT_OBSTACLE_TEXT, "did not even fit %" PRIu64 " TiB", MT_HUGE_CARD >> 40);
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
    mt_choice_text(fit->job, attempt->choice, MT_CHOICE_ALL, values, sizeof values);
    mt_size_text(used, outcome->used);
    mt_size_text(memory, card->memory);
    if (outcome->end == MT_FIT_FITS && outcome->takes_all)
        snprintf(how, sizeof how, "takes what there is");
    else if (outcome->end == MT_FIT_FITS && attempt->is_huge)
        snprintf(how, sizeof how, "takes %s", used);
    else if (outcome->end == MT_FIT_FITS)
        snprintf(how, sizeof how, "fits: %s of %s", used, memory);
    else if (outcome->end == MT_FIT_FULL && !attempt->is_huge)
        snprintf(how, sizeof how, "does not fit%s",
                 outcome->was_caught ? "; the program caught it" : "");
    else
        snprintf(how, sizeof how, "%s", mt_fit_obstacle_text(obstacle, fit, outcome));
    if (outcome->was_stopped && !outcome->takes_all)
        snprintf(iterations, sizeof iterations, ", ended after %u iterations", outcome->iterations);
    if (attempt->is_trial)
        snprintf(rank, sizeof rank, ", rank %u", attempt->trial);
    mt_say("%s%s%s%s: %s%s (%.1f s)", attempt->is_huge ? "unlimited card" : card->gpu->name,
           *values ? ", " : "", values, rank, how, iterations, (double)outcome->wall_ns / 1e9);
}

int mt_fit_print_text(const struct mt_fit *fit, const struct mt_style *style)
{
    unsigned width = style->columns ? style->columns : PIPED_COLUMNS;
    int rc = mt_fit_print_table(fit, style, width);
    putchar('\n');
    if (!rc)
        mt_fit_print_notes(fit, style, width);
    return rc;
}
