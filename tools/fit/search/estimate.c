/* SPDX-License-Identifier: Apache-2.0 */
#include "estimate.h"
#include "analyzer/support/grow.h"

#include <math.h>
#include <stdbool.h>

#define ROUNDING ((uint64_t)64 << 20)
#define ALMOST 0.98 /* of what another run needs */
/* Of the bytes from a run to the card: a curve that is off the line by less counts as the line. */
#define STRAIGHT 0.02
#define NEWTON 20 /* steps */

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

/* --- by replays --------------------------------------------------------------------------------
 */

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

/* Up to two others to draw a line or a curve through: the next one above, and the next below that
 * needs so much less that it says how memory rises. The nearer one is first. */
static size_t partners(const struct mt_estimate *estimate, const struct mt_estimate_point *near,
                       const struct mt_estimate_point *found[2])
{
    const struct mt_estimate_point *above = NULL, *below = NULL, *lower = NULL;
    for (size_t i = 0; i < estimate->n; i++) {
        const struct mt_estimate_point *at = &estimate->point[i];
        if (!at->need || at == near)
            continue;
        if (at > near && !above && at->need > near->need)
            above = at;
        if (at < near && (double)at->need < ALMOST * (double)near->need) {
            lower = below;
            below = at;
        }
    }
    bool is_above_first =
        above && (!below || above->value - near->value < near->value - below->value);
    found[0] = is_above_first ? above : below;
    found[1] = is_above_first ? below : above ? above : lower;
    return (size_t)(found[0] != NULL) + (found[0] && found[1]);
}

static double rise(const struct mt_estimate_point *a, const struct mt_estimate_point *b)
{
    return ((double)b->need - (double)a->need) / ((double)b->value - (double)a->value);
}

/* Where the curve through three runs reaches so many bytes, starting at the value of the straight
 * line; that where the curve is almost straight, or falls. */
static double bend(const struct mt_estimate_point *a, const struct mt_estimate_point *b,
                   const struct mt_estimate_point *c, uint64_t bytes, double border)
{
    double from = (double)a->value, slope = rise(a, b);
    double bent = (rise(b, c) - slope) / ((double)c->value - from), straight = border;
    double off = (border - from) * (border - (double)b->value) * bent;
    double between = fabs((double)bytes - (double)a->need);
    for (unsigned i = 0; i < NEWTON && fabs(off) > STRAIGHT * between; i++) {
        double other = border - (double)b->value, rises = slope + bent * (border - from + other);
        double now = (double)a->need + (border - from) * (slope + bent * other);
        if (rises <= 0)
            return straight;
        border -= (now - (double)bytes) / rises;
    }
    return border;
}

double mt_estimate_replayed(const struct mt_estimate *estimate, uint64_t bytes)
{
    const struct mt_estimate_point *a = nearest(estimate, bytes), *other[2];
    size_t n = a ? partners(estimate, a, other) : 0;
    if (!n)
        return -1;
    double slope = rise(a, other[0]);
    if (slope <= 0)
        return INFINITY;
    double border = (double)a->value + ((double)bytes - (double)a->need) / slope;
    if (n > 1)
        border = bend(a, other[0], other[1], bytes, border);
    return border < 0 ? 0 : border;
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
