/* SPDX-License-Identifier: Apache-2.0 */
#include "search.h"

#include <math.h>
#include <stdbool.h>

#define MOST_GUESSES 8u /* by replays; then what is left is halved */

void mt_search_begin(struct mt_card_search *search, size_t line, size_t card)
{
    *search = (struct mt_card_search){.line = line,
                                      .card = card,
                                      .fits = MT_NONE,
                                      .fails = MT_NONE,
                                      .top = MT_NONE,
                                      .hole = MT_NONE,
                                      .stopped_at = MT_NONE};
}

uint64_t mt_search_value(const struct mt_job *job, size_t position)
{
    uint64_t value = 0;
    if (job->searched >= 0)
        mt_variable_number(&job->variable[job->searched], position, &value);
    return value;
}

/* The last position whose value is below a border; the first where none is. */
static size_t below(const struct mt_job *job, double border)
{
    size_t low = 0, high = mt_job_positions(job);
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if ((double)mt_search_value(job, middle) < border)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static size_t within(size_t position, size_t low, size_t high)
{
    return position < low ? low : position > high ? high : position;
}

/* Where a guess was wrong: away from it, further each time. */
static size_t stride(struct mt_card_search *search, size_t range)
{
    size_t width = range / 8 + 1;
    return search->steps < 20 ? width << 2 * search->steps++ : SIZE_MAX / 4;
}

/* Where a guess by replays was wrong. A run that fits tells where to go on, and so how far it was
 * wrong; of one that does not fit no more is known: the next is to fit. */
static size_t step_from_guess(struct mt_card_search *search)
{
    unsigned near = search->near++;
    if (!near)
        return 0;
    if (search->fits == MT_NONE)
        return near < 4 ? search->fails >> (8 - 2 * near) : search->fails / 2;
    return search->fails == MT_NONE ? (size_t)1 << (2 * near - 1) : search->fails / 2;
}

/* One of the positions from low to high, by replays of runs: where they say that the border is, and
 * where that was wrong, near to it. False: replays say nothing, or were wrong too often. */
static bool choose_by_replay(struct mt_card_search *search, const struct mt_job *job,
                             const struct mt_estimate *estimate, size_t low, size_t high,
                             size_t *position)
{
    double border = mt_estimate_replayed(estimate, mt_room_of_card(job, search->card));
    size_t at = below(job, border);
    if (border < 0 || search->may_fall || search->guesses == MOST_GUESSES)
        return false;
    search->guesses++;
    if (at >= low && at <= high) {
        *position = at;
        return true;
    }
    size_t step = step_from_guess(search), half = (high - low) / 2;
    step = step < half ? step : half;
    *position = at < low ? low + step : high - step;
    return true;
}

/* The same without a replay. Without a run on this card the border is taken to be where what is
 * known of all cards has it: between what all of PyTorch's cache needs and what none of it does. */
static size_t choose(struct mt_card_search *search, const struct mt_job *job,
                     const struct mt_estimate *estimate, double cache, size_t low, size_t high)
{
    uint64_t memory = mt_room_of_card(job, search->card);
    size_t sure = below(job, mt_estimate_border(estimate, memory, 1));
    size_t most = below(job, mt_estimate_border(estimate, memory, 0)) + 1;
    size_t range = most > sure ? most - sure : 0;
    if (search->fits == MT_NONE && search->fails == MT_NONE)
        return search->may_fall
                   ? high
                   : within(below(job, mt_estimate_border(estimate, memory, cache)), low, high);
    if (search->fits != MT_NONE && search->fails != MT_NONE)
        return low + (high - low) / 2;
    if (search->fails == MT_NONE) {
        size_t step = most > search->fits + 1    ? (most - search->fits) / 2
                      : most == search->fits + 1 ? 1
                                                 : stride(search, range);
        return within(step < high - search->fits ? search->fits + step : high, low, high);
    }
    size_t step = sure + 1 < search->fails    ? (search->fails - sure) / 2
                  : sure + 1 == search->fails ? 1
                                              : stride(search, range);
    return within(step < search->fails - low ? search->fails - step : low, low, high);
}

int mt_search_next(struct mt_card_search *search, const struct mt_job *job,
                   const struct mt_estimate *estimate, struct mt_foretell *foretell, double cache,
                   size_t *position)
{
    size_t n = mt_job_positions(job);
    size_t low = search->fits == MT_NONE ? search->first : search->fits + 1;
    size_t end = search->fails == MT_NONE ? n : search->fails;
    if (search->is_over || search->is_running)
        return 0;
    if (low >= end) {
        search->is_over = 1;
        return 0;
    }
    if (!mt_search_foretold(search, job, foretell, low, end - 1, position) &&
        !choose_by_replay(search, job, estimate, low, end - 1, position))
        *position = choose(search, job, estimate, cache, low, end - 1);
    return 1;
}

static void take_hole(struct mt_card_search *search, size_t position,
                      const struct mt_outcome *outcome)
{
    if (outcome->end == MT_FIT_FULL)
        search->hole = position;
}

static void take_top(struct mt_card_search *search, size_t position,
                     const struct mt_outcome *outcome)
{
    search->has_tried_top = 1;
    if (outcome->end == MT_FIT_FITS) {
        search->top = position;
        search->at_top = *outcome;
    }
}

static void see_foretold(struct mt_card_search *search, const struct mt_outcome *outcome)
{
    bool missed_fit = search->foretold == MT_FORETOLD_FIT && outcome->end == MT_FIT_FULL;
    bool missed_full = search->foretold == MT_FORETOLD_FULL && outcome->end == MT_FIT_FITS;
    search->foretold = MT_NOT_FORETOLD;
    if (!missed_fit && !missed_full)
        return;
    search->misses++;
    search->has_missed_fit = missed_fit;
}

void mt_search_take(struct mt_card_search *search, const struct mt_job *job, size_t position,
                    const struct mt_outcome *outcome)
{
    search->is_running = 0;
    search->runs++;
    search->has_tried_top |= position + 1 == mt_job_positions(job);
    see_foretold(search, outcome);
    if (search->is_over && search->fails != MT_NONE && position < search->fails) {
        take_hole(search, position, outcome);
    } else if (search->is_over) {
        take_top(search, position, outcome);
    } else if (outcome->end == MT_FIT_FITS) {
        search->fits = position;
        search->at_fit = *outcome;
    } else if (outcome->end == MT_FIT_FULL) {
        search->fails = position;
        search->at_fail = *outcome;
    } else {
        search->stopped_at = position;
        search->at_stop = *outcome;
        search->is_over = 1;
    }
}

bool mt_search_wants_top(const struct mt_card_search *search, const struct mt_job *job)
{
    return search->is_over && !search->is_running && search->stopped_at == MT_NONE &&
           !search->has_tried_top && search->fails != MT_NONE &&
           search->fails + 1 < mt_job_positions(job);
}

size_t mt_search_largest(const struct mt_card_search *search)
{
    return search->top != MT_NONE ? search->top : search->fits;
}

double mt_search_cache(const struct mt_card_search *search, const struct mt_job *job,
                       const struct mt_estimate *estimate)
{
    uint64_t memory = mt_room_of_card(job, search->card);
    double sure = mt_estimate_border(estimate, memory, 1),
           most = mt_estimate_border(estimate, memory, 0);
    if (search->fits == MT_NONE || search->fails == MT_NONE || !(most > sure) || isinf(most) ||
        sure < 0)
        return -1;
    double part = (most - (double)mt_search_value(job, search->fails)) / (most - sure);
    return part < 0 ? 0 : part > 1 ? 1 : part;
}
