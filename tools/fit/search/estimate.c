/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/grow.h"
#include "search.h"

#include <math.h>

#define ROUNDING ((uint64_t)64 << 20)

int mt_estimate_add(struct mt_estimate *estimate, struct mt_estimate_point point)
{
    size_t i = 0;
    while (i < estimate->n && estimate->point[i].value < point.value)
        i++;
    if (i < estimate->n && estimate->point[i].value == point.value)
        return 0; /* the first one was on a card that is large enough for any cache */
    if (MT_GROW(estimate->point, estimate->capacity, estimate->n))
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

bool mt_estimate_falls(const struct mt_estimate *estimate)
{
    for (size_t i = 1; i < estimate->n; i++) {
        const struct mt_estimate_point *a = &estimate->point[i - 1], *b = &estimate->point[i];
        if (b->floor + a->floor / 100 + ROUNDING < a->floor)
            return true;
    }
    return false;
}
