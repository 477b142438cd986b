/* SPDX-License-Identifier: Apache-2.0 */
#include "search.h"
#include "analyzer/support/search.h"

#include <math.h>

#define MOST_MISSES 4u
#define MOST_TRIES 8u      /* runs runs to find a border above another one */
#define MOST_LOOKS 96u     /* positions to search for more borders beyond one */
#define MOST_REQUESTS 24e6 /* requests replayed for these */
#define WIDTH 12u          /* part of a border's value in which others are searched: a 12th */
#define STRANGE 1.2        /* this far from a known run, one between the two is more useful */

static uint64_t value_at(const struct mt_card_search *search, size_t position)
{
    return mt_job_searched_value(search->job, position);
}

static uint64_t room_of(const struct mt_card_search *search)
{
    return mt_room_of_card(search->job, search->card);
}

/* --- by predictions --------------------------------------------------------------------------- */

static int predict(const struct mt_card_search *search, size_t position)
{
    return mt_prediction_fits(&search->line->known, room_of(search), value_at(search, position));
}

/* Return the stride at which to examine these positions without replaying too much; 0: none. */
static size_t step_of(const struct mt_card_search *search, size_t position, size_t width)
{
    double n = 1 + (double)mt_prediction_requests(&search->line->known, value_at(search, position));
    size_t most = MOST_REQUESTS / n > MOST_LOOKS ? MOST_LOOKS : (size_t)(MOST_REQUESTS / n);
    return most ? width / most + 1 : 0;
}

/* Bisect the range between *fit, which fits, and *full, which does not, by predictions or
 * assumptions. Return false if nothing can be predicted. */
static bool halve(const struct mt_card_search *search, size_t *fit, size_t *full)
{
    while (*full - *fit > 1) {
        size_t middle = *fit + (*full - *fit) / 2;
        int rc = predict(search, middle - 1); /* positions are counted from 1 here */
        if (rc < 0)
            return false;
        *(rc ? fit : full) = middle;
    }
    return true;
}

/* Move to the highest border nearby: a value above a border may fit again. */
static void climb(const struct mt_card_search *search, size_t *fit, size_t full)
{
    size_t width = *fit / WIDTH, highest = *fit;
    size_t step = step_of(search, *fit ? *fit - 1 : 0, width);
    width = full - *fit - 1 < width ? full - *fit - 1 : width;
    for (size_t i = step; step && i <= width; i += step)
        if (predict(search, *fit + i - 1) == 1)
            highest = *fit + i;
    if (highest == *fit)
        return;
    full = highest + step < full ? highest + step : full;
    if (halve(search, &highest, &full))
        *fit = highest;
}

/* Return a more informative position: the last run did not fit as predicted, and the known runs do
 * not explain it. */
static size_t below_miss(const struct mt_card_search *search, size_t low, size_t high)
{
    const struct mt_known_runs *known = &search->line->known;
    size_t step = search->fails >> (search->misses < 3 ? 8 - 2 * search->misses : 2);
    double value = (double)value_at(search, search->fails), near = -1;
    for (const struct mt_known_run *run = NULL; (run = mt_known_after(known, run));)
        near = (double)run->value < value ? (double)run->value : near;
    double far = near >= 0 ? value / (near + 1) : 1;
    if (far > STRANGE && mt_prediction_is_strange(known, (uint64_t)value))
        step = (size_t)((double)search->fails * (1 - 1 / sqrt(far)));
    size_t half = (high - low + 1) / 2;
    return high - (step < half ? step : half);
}

/* Find the highest border. *fit fits or is assumed to, and position high + 1 does not. */
static bool find_border(const struct mt_card_search *search, size_t high, size_t *fit)
{
    size_t before;
    unsigned tries = 0;
    do {
        size_t full = high + 2;
        before = *fit;
        if (!halve(search, fit, &full))
            return false;
        climb(search, fit, high + 2);
    } while (*fit > before && ++tries < MOST_TRIES);
    return true;
}

/* Choose a position between low and high by predictions. Return false if there is none. */
static bool choose_predicted(struct mt_card_search *search, size_t low, size_t high,
                             size_t *position)
{
    size_t fit = low; /* from 1: position low - 1 is assumed to fit */
    search->predicted = MT_NOT_PREDICTED;
    if (search->line->may_fall || search->misses > MOST_MISSES || !find_border(search, high, &fit))
        return false;
    search->predicted = fit > low ? MT_PREDICTED_FIT : MT_PREDICTED_FULL;
    *position = fit > low ? fit - 1 : low;
    if (search->misses && search->has_missed_fit && search->fails != MT_NONE &&
        *position + search->fails / 32 >= search->fails) {
        *position = below_miss(search, low, high);
    } else if (search->misses && !search->has_missed_fit && *position == low) {
        size_t step = (size_t)1 << (2 * search->misses - 1);
        *position = low + step < high ? low + step : high;
    }
    return true;
}

bool mt_search_wants_hole(struct mt_card_search *search, size_t *position)
{
    if (!search->is_over || search->is_running || search->has_tried_hole ||
        search->stopped_by != MT_NONE || search->fits == MT_NONE || search->fails == MT_NONE)
        return false;
    search->has_tried_hole = true;
    size_t width = search->fits / WIDTH, least = search->fits - search->line->first;
    width = least < width ? least : width;
    size_t step = step_of(search, search->fits, width);
    for (size_t i = step; step && i <= width; i += step)
        if (!predict(search, search->fits - i)) {
            *position = search->fits - i;
            return true;
        }
    return false;
}

/* --- by measured memory ----------------------------------------------------------------------- */

size_t mt_position_below(const struct mt_job *job, double border)
{
    size_t below =
        MT_LEADING(i, mt_job_positions(job), (double)mt_job_searched_value(job, i) < border);
    return below ? below - 1 : 0;
}

/* Return the last position that should fit if this part of PyTorch's cache is needed. */
static size_t estimate(const struct mt_card_search *search, double cache)
{
    return mt_position_below(search->job,
                             mt_estimate_border(&search->line->known, room_of(search), cache));
}

static size_t within(size_t position, size_t low, size_t high)
{
    return position < low ? low : position > high ? high : position;
}

/* Return a step away from a wrong estimate, larger each time. */
static size_t stride(struct mt_card_search *search, size_t range)
{
    size_t width = range / 8 + 1;
    return search->steps < 20 ? width << 2 * search->steps++ : SIZE_MAX / 4;
}

/* Choose a position between low and high. Unless runs on this card say otherwise, assume the border
 * to be between needing all of PyTorch's cache and needing none of it. */
static size_t choose(struct mt_card_search *search, size_t low, size_t high)
{
    size_t sure = estimate(search, 1), most = estimate(search, 0) + 1;
    size_t range = most > sure ? most - sure : 0, fits = search->fits, fails = search->fails;
    if (fits == MT_NONE && fails == MT_NONE)
        return search->line->may_fall ? high : within(estimate(search, MT_LIKELY_CACHE), low, high);
    if (fails == MT_NONE)
        fails = most > fits ? most : fits + 2 * stride(search, range);
    if (fits == MT_NONE && sure >= fails) {
        size_t step = stride(search, range);
        return within(step < fails ? fails - step : 0, low, high);
    }
    fits = fits == MT_NONE ? sure : fits;
    return within(fits + (fails - fits + 1) / 2, low, high);
}

/* Choose a position between low and high for a program that sizes itself to the card: the last
 * value, whose failure may report what fits, then around that, then by bisection. */
static size_t choose_by_advice(const struct mt_card_search *search, size_t low, size_t high)
{
    size_t advised = mt_position_below(search->job, (double)search->advice + 0.5);
    if (search->fits == MT_NONE && search->fails == MT_NONE)
        return high;
    if (search->advice && advised >= low && advised <= high)
        return advised;
    if (search->advice && (advised == search->fits || advised == search->fails))
        return advised == search->fits ? low : high;
    return low + (high - low) / 2;
}

bool mt_search_next(struct mt_card_search *search, size_t *position)
{
    size_t low = search->fits == MT_NONE ? search->line->first : search->fits + 1;
    size_t end = search->fails == MT_NONE ? mt_job_positions(search->job) : search->fails;
    search->is_over |= low >= end;
    if (search->is_over)
        return false;
    if (search->line->fills_card)
        *position = choose_by_advice(search, low, end - 1);
    else if (!choose_predicted(search, low, end - 1, position))
        *position = choose(search, low, end - 1);
    return true;
}

/* --- outcomes --------------------------------------------------------------------------------- */

static void count_miss(struct mt_card_search *search, enum mt_fit_end end)
{
    bool missed_fit = search->predicted == MT_PREDICTED_FIT && end == MT_FIT_FULL;
    bool missed_full = search->predicted == MT_PREDICTED_FULL && end == MT_FIT_FITS;
    search->predicted = MT_NOT_PREDICTED;
    if (!missed_fit && !missed_full)
        return;
    search->misses++;
    search->has_missed_fit = missed_fit;
}

void mt_search_learn(struct mt_card_search *search, size_t position, enum mt_fit_end end,
                     size_t number)
{
    search->is_running = false;
    search->runs++;
    search->has_tried_top |= position + 1 == mt_job_positions(search->job);
    count_miss(search, end);
    if (search->is_over && search->fails != MT_NONE && position < search->fails) {
        search->hole = end == MT_FIT_FULL ? position : MT_NONE;
    } else if (search->is_over) {
        search->top = end == MT_FIT_FITS ? position : MT_NONE;
    } else if (end == MT_FIT_FITS) {
        search->fits = position;
    } else if (end == MT_FIT_FULL) {
        search->fails = position;
    } else {
        search->stopped_by = number;
        search->is_over = true;
    }
}

bool mt_search_wants_top(const struct mt_card_search *search)
{
    return search->is_over && !search->is_running && search->stopped_by == MT_NONE &&
           !search->has_tried_top && search->fails != MT_NONE &&
           search->fails + 1 < mt_job_positions(search->job);
}
