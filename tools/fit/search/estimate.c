/* SPDX-License-Identifier: Apache-2.0 */
#include "estimate.h"
#include "analyzer/support/grow.h"

#include <math.h>

#define ROUNDING ((uint64_t)64 << 20)
#define ALMOST 0.9 /* of a value */

int mt_estimate_add(struct mt_estimate *estimate, struct mt_estimate_point point)
{
    size_t i = 0;
    while (i < estimate->n && estimate->point[i].value < point.value)
        i++;
    if (i < estimate->n && estimate->point[i].value == point.value)
        return 0; /* the first one was on a card that is large enough for any cache */
    if (mt_grow(&estimate->point, &estimate->capacity, estimate->n + 1, sizeof *estimate->point))
        return -ENOMEM;
    memmove(estimate->point + i + 1, estimate->point + i, (estimate->n - i) * sizeof point);
    estimate->point[i] = point;
    estimate->n++;
    return 0;
}

void mt_estimate_clear(struct mt_estimate *estimate)
{
    free(estimate->point);
    *estimate = (struct mt_estimate){0};
}

static double needed(const struct mt_estimate_point *point, double cache)
{
    double floor = (double)point->floor, used = (double)point->used;
    return floor + (used > floor ? used - floor : 0) * cache;
}

double mt_estimate_border(const struct mt_estimate *estimate, uint64_t bytes, double cache)
{
    const struct mt_estimate_point *point = estimate->point;
    size_t n = estimate->n, i = 1;
    if (!n)
        return -1;
    if (n == 1) /* as if all of it were the value's */
        return needed(point, cache) > 0
                   ? (double)point->value * (double)bytes / needed(point, cache)
                   : INFINITY;
    while (i + 1 < n && needed(&point[i], cache) < (double)bytes)
        i++;
    double from = needed(&point[i - 1], cache), rise = needed(&point[i], cache) - from;
    double width = (double)(point[i].value - point[i - 1].value);
    double border = (double)point[i - 1].value + ((double)bytes - from) / rise * width;
    return rise <= 0 ? INFINITY : border < 0 ? 0 : border;
}

/* The last run that needs less than this, or the first; NULL: of none it is known. */
static const struct mt_estimate_point *nearest(const struct mt_estimate *estimate, uint64_t bytes)
{
    const struct mt_estimate_point *found = NULL;
    for (size_t i = 0; i < estimate->n; i++) {
        const struct mt_estimate_point *point = &estimate->point[i];
        if (point->need && (!found || point->need < bytes))
            found = point;
    }
    return found;
}

/* The run next above it, or the next below it whose value is not almost the same: two of almost the
 * same value say little of how memory rises. */
static const struct mt_estimate_point *partner(const struct mt_estimate *estimate,
                                               const struct mt_estimate_point *near)
{
    const struct mt_estimate_point *end = estimate->point + estimate->n, *found = NULL;
    for (const struct mt_estimate_point *at = near + 1; at < end; at++)
        if (at->need)
            return at;
    for (const struct mt_estimate_point *at = estimate->point; at < near; at++)
        if (at->need && (!found || (double)at->value < ALMOST * (double)near->value))
            found = at;
    return found;
}

double mt_estimate_replayed(const struct mt_estimate *estimate, uint64_t bytes)
{
    const struct mt_estimate_point *a = nearest(estimate, bytes),
                                   *b = a ? partner(estimate, a) : NULL;
    if (!b)
        return -1;
    double rise = ((double)b->need - (double)a->need) / ((double)b->value - (double)a->value);
    double border = (double)a->value + ((double)bytes - (double)a->need) / rise;
    return rise <= 0 ? INFINITY : border < 0 ? 0 : border;
}

uint64_t mt_estimate_host(const struct mt_estimate *estimate, uint64_t value)
{
    const struct mt_estimate_point *first = estimate->point, *last = first + estimate->n - 1;
    if (!estimate->n)
        return 0;
    if (value <= last->value || last == first || last->host <= first->host)
        return last->host;
    return last->host +
           (uint64_t)((double)(last->host - first->host) / (double)(last->value - first->value) *
                      (double)(value - last->value));
}

int mt_estimate_falls(const struct mt_estimate *estimate, uint64_t *smaller, uint64_t *larger)
{
    for (size_t i = 1; i < estimate->n; i++) {
        const struct mt_estimate_point *a = &estimate->point[i - 1], *b = &estimate->point[i];
        if (b->floor + a->floor / 100 + ROUNDING >= a->floor)
            continue;
        *smaller = a->value;
        *larger = b->value;
        return 1;
    }
    return 0;
}
