/* SPDX-License-Identifier: Apache-2.0 */
/* Which value to run next, by what is foretold. */
#include "search.h"

#include <math.h>

#define MOST_MISSES 4u
#define MOST_TRIES 8u      /* to find a border above another one */
#define MOST_LOOKS 96u     /* beyond one border, for others */
#define MOST_REQUESTS 24e6 /* that are replayed for these */
#define WIDTH 12u          /* of a border's value, in which others are looked for: a 12th */
#define STRANGE 1.2        /* so far from a known run, one between the two tells more */

static int fits(const struct mt_card_search *search, const struct mt_job *job,
                struct mt_foretell *foretell, size_t position)
{
    const struct mt_fit_card *card = &job->card[search->card];
    const struct mt_foretold_card of = {card->memory, card->gpu->context};
    return mt_foretell_fits(foretell, of, mt_search_value(job, position));
}

/* How many looks are no more than so many requests. */
static size_t looks(const struct mt_job *job, const struct mt_foretell *foretell, size_t position)
{
    const struct mt_foretell_run *run =
        mt_foretell_nearest(foretell, mt_search_value(job, position));
    double n = 1;
    for (size_t i = 0; run && i < run->log.n_devices; i++)
        n += (double)run->log.device[i]->n;
    return MOST_REQUESTS / n > MOST_LOOKS ? MOST_LOOKS : (size_t)(MOST_REQUESTS / n);
}

/* Bisection: *fit fits, and *full does not, by what is foretold or was taken for granted. False:
 * nothing is foretold. */
static bool halve(const struct mt_card_search *search, const struct mt_job *job,
                  struct mt_foretell *foretell, size_t *fit, size_t *full)
{
    while (*full - *fit > 1) {
        size_t middle = *fit + (*full - *fit) / 2;
        int rc = fits(search, job, foretell, middle - 1); /* here positions count from 1 */
        if (rc < 0)
            return false;
        *(rc ? fit : full) = middle;
    }
    return true;
}

/* A value above a border may fit again: the highest such border in the neighbourhood. */
static void climb(const struct mt_card_search *search, const struct mt_job *job,
                  struct mt_foretell *foretell, size_t *fit, size_t full)
{
    size_t width = *fit / WIDTH, most = looks(job, foretell, *fit ? *fit - 1 : 0), highest = *fit;
    size_t step = most ? width / most + 1 : 0;
    width = full - *fit - 1 < width ? full - *fit - 1 : width;
    for (size_t i = step; step && i <= width; i += step)
        if (fits(search, job, foretell, *fit + i - 1) == 1)
            highest = *fit + i;
    if (highest == *fit)
        return;
    full = highest + step < full ? highest + step : full;
    if (halve(search, job, foretell, &highest, &full))
        *fit = highest;
}

/* Where the last run did not fit though that was foretold, and the runs give no reason: the place
 * for a run that says more. */
static size_t below_miss(const struct mt_card_search *search, const struct mt_job *job,
                         const struct mt_foretell *foretell, size_t low, size_t high)
{
    size_t step = search->fails >> (search->misses < 3 ? 8 - 2 * search->misses : 2);
    const struct mt_foretell_run *near = NULL;
    double value = (double)mt_search_value(job, search->fails);
    for (size_t i = 0; i < foretell->n; i++)
        if (foretell->run[i].is_whole && (double)foretell->run[i].value < value &&
            (!near || foretell->run[i].value > near->value))
            near = &foretell->run[i];
    double far = near ? value / ((double)near->value + 1) : 1;
    if (mt_foretell_is_strange(foretell, (uint64_t)value) && far > STRANGE)
        step = (size_t)((double)search->fails * (1 - 1 / sqrt(far)));
    size_t half = (high - low + 1) / 2;
    return high - (step < half ? step : half);
}

/* The highest border that is found: *fit fits or was taken to, as position high + 1 is not to. */
static bool find_border(const struct mt_card_search *search, const struct mt_job *job,
                        struct mt_foretell *foretell, size_t high, size_t *fit)
{
    size_t before;
    unsigned tries = 0;
    do {
        size_t full = high + 2;
        before = *fit;
        if (!halve(search, job, foretell, fit, &full))
            return false;
        climb(search, job, foretell, fit, high + 2);
    } while (*fit > before && ++tries < MOST_TRIES);
    return true;
}

bool mt_search_foretold(struct mt_card_search *search, const struct mt_job *job,
                        struct mt_foretell *foretell, size_t low, size_t high, size_t *position)
{
    size_t fit = low; /* from 1: position low - 1 is taken to fit */
    search->foretold = MT_NOT_FORETOLD;
    if (search->may_fall || search->misses > MOST_MISSES || !foretell->n ||
        !find_border(search, job, foretell, high, &fit))
        return false;
    search->foretold = fit > low ? MT_FORETOLD_FIT : MT_FORETOLD_FULL;
    *position = fit > low ? fit - 1 : low;
    if (search->misses && search->has_missed_fit && search->fails != MT_NONE &&
        *position + search->fails / 32 >= search->fails) {
        *position = below_miss(search, job, foretell, low, high);
    } else if (search->misses && !search->has_missed_fit && *position == low) {
        size_t step = (size_t)1 << (2 * search->misses - 1);
        *position = low + step < high ? low + step : high;
    }
    return true;
}

bool mt_search_wants_hole(struct mt_card_search *search, const struct mt_job *job,
                          struct mt_foretell *foretell, size_t *position)
{
    if (!search->is_over || search->is_running || search->has_tried_hole ||
        search->stopped_at != MT_NONE || search->fits == MT_NONE || search->fails == MT_NONE)
        return false;
    search->has_tried_hole = true;
    size_t width = search->fits / WIDTH, most = looks(job, foretell, search->fits);
    width = search->fits - search->first < width ? search->fits - search->first : width;
    size_t step = most ? width / most + 1 : 0;
    for (size_t i = step; step && i <= width; i += step)
        if (!fits(search, job, foretell, search->fits - i)) {
            *position = search->fits - i;
            return true;
        }
    return false;
}
