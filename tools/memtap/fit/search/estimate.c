/* SPDX-License-Identifier: Apache-2.0 */
#include "search.h"

#include <math.h>

#define ROUNDING (64 << 20) /* bytes */

/* Return a run's memory without its context. */
static double needed(const struct mt_known_run *run, double cache)
{
    double floor = (double)run->outcome->floor, used = (double)run->outcome->used;
    return fmax(floor + fmax(used - floor, 0) * cache - (double)run->context, 0);
}

double mt_estimate_border(const struct mt_known_runs *known, uint64_t bytes, double cache)
{
    const struct mt_known_run *from = mt_known_after(known, NULL), *next,
                              *to = from ? mt_known_after(known, from) : NULL;
    if (!from)
        return -1;
    if (!to) /* as if all of it grew with the value */
        return needed(from, cache) > 0 ? (double)from->value * (double)bytes / needed(from, cache)
                                       : INFINITY;
    while ((next = mt_known_after(known, to)) && needed(to, cache) < (double)bytes) {
        from = to;
        to = next;
    }
    double rise = needed(to, cache) - needed(from, cache);
    double border = (double)from->value + ((double)bytes - needed(from, cache)) / rise *
                                              (double)(to->value - from->value);
    return rise <= 0 ? INFINITY : border < 0 ? 0 : border;
}

uint64_t mt_estimate_host(const struct mt_known_runs *known, uint64_t value)
{
    const struct mt_known_run *first = mt_known_after(known, NULL), *last = first, *next;
    while (last && (next = mt_known_after(known, last)))
        last = next;
    if (!last)
        return 0;
    uint64_t low = first->outcome->host, high = last->outcome->host;
    if (value <= last->value || high <= low)
        return high;
    return high + (uint64_t)((double)(high - low) / (double)(last->value - first->value) *
                             (double)(value - last->value));
}

bool mt_estimate_falls(const struct mt_known_runs *known)
{
    const struct mt_known_run *run = mt_known_after(known, NULL), *next;
    for (; run && (next = mt_known_after(known, run)); run = next) {
        double before = needed(run, 0);
        if (needed(next, 0) + before / 100 + ROUNDING < before)
            return true;
    }
    return false;
}
