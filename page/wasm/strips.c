/* SPDX-License-Identifier: Apache-2.0 */
#include "strips.h"
#include "analyzer/support/grow.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A strip not yet finished. */
struct open_strip {
    uint32_t life;
    double below, from; /* from < 0: not yet */
};

struct lane {
    const struct mt_lives *lives;
    const struct mt_course *course;
    const struct mt_strips_of *of;
    const struct mt_idle_change *change, *last_change; /* if of->is_needed: the next ones */
    uint64_t rest[2 * MT_CATEGORY_COUNT];              /* live bytes of too thin blocks */
    struct open_strip *open;                           /* oldest first */
    size_t n, capacity;
};

static bool is_shown(const struct lane *lane, const struct mt_life *life)
{
    return lane->of->category < 0 || life->category == lane->of->category;
}

static unsigned thin(const struct mt_life *life)
{
    return life->category + (life->is_found ? 0 : MT_CATEGORY_COUNT);
}

static int add(struct lane *lane, uint32_t number)
{
    const struct mt_life *life = mt_life(lane->lives, number);
    if (!is_shown(lane, life))
        return 0;
    if (life->size < lane->of->least) {
        lane->rest[thin(life)] += life->size;
        return 0;
    }
    return MT_APPEND(lane->open, lane->capacity, lane->n,
                     (struct open_strip){.life = number, .from = -1});
}

static int put(struct mt_strips *strips, const struct lane *lane, const struct open_strip *open,
               double to)
{
    const struct mt_life *life = mt_life(lane->lives, open->life);
    if (open->from < 0 || to <= open->from)
        return 0;
    return MT_APPEND(strips->strip, strips->capacity, strips->n,
                     (struct mt_strip){.from = open->from,
                                       .to = to,
                                       .below = open->below,
                                       .life = (double)open->life,
                                       .bytes = (double)life->size,
                                       .category = life->category,
                                       .is_found = life->is_found});
}

static int end(struct lane *lane, struct mt_strips *strips, uint32_t number, double column)
{
    const struct mt_life *life = mt_life(lane->lives, number);
    if (!is_shown(lane, life))
        return 0;
    if (life->size < lane->of->least) {
        lane->rest[thin(life)] -= life->size;
        return 0;
    }
    for (size_t i = lane->n; i > 0; i--) {
        if (lane->open[i - 1].life != number)
            continue;
        int rc = put(strips, lane, &lane->open[i - 1], column);
        memmove(&lane->open[i - 1], &lane->open[i], (lane->n - i) * sizeof *lane->open);
        lane->n--;
        return rc;
    }
    return 0;
}

/* Draw a column: a strip whose height changed since the last column begins a new piece. */
static int draw(struct lane *lane, struct mt_strips *strips, size_t column)
{
    double below = 0;
    for (size_t i = 0; i < lane->n; i++) {
        struct open_strip *open = &lane->open[i];
        if (open->from < 0 || open->below != below) {
            if (put(strips, lane, open, (double)column))
                return -ENOMEM;
            open->from = (double)column;
            open->below = below;
        }
        below += (double)mt_life(lane->lives, open->life)->size;
    }
    for (unsigned c = 0; c < 2 * MT_CATEGORY_COUNT; c++)
        strips->rest[column * 2 * MT_CATEGORY_COUNT + c] = (double)lane->rest[c];
    strips->below_rest[column] = below;
    return 0;
}

/* Add the blocks that live after a moment: begun at or before it, ended later. */
static int begin(struct lane *lane, long moment)
{
    int rc = 0;
    uint32_t first = moment < 0 ? 0 : mt_first_after(lane->course, (size_t)moment);
    for (long i = 0; i <= moment && !rc; i++)
        if (mt_begins_after(lane->course, (size_t)i, first) &&
            (!lane->of->is_needed ||
             !mt_is_idle(lane->of->idle, lane->course->what[i] >> 1, (size_t)moment)))
            rc = add(lane, lane->course->what[i] >> 1);
    while (lane->change < lane->last_change && (long)lane->change->moment <= moment)
        lane->change++;
    return rc;
}

/* Return whether a life that ends at a moment was drawn until then. */
static bool is_open(const struct lane *lane, uint32_t number, size_t moment)
{
    return !lane->of->is_needed || !moment || !mt_is_idle(lane->of->idle, number, moment - 1);
}

/* Begin and end the idle times of a moment, but for those that end with their block. */
static int change(struct lane *lane, struct mt_strips *strips, size_t moment, double column)
{
    int rc = 0;
    for (; lane->change < lane->last_change && lane->change->moment == moment && !rc;
         lane->change++) {
        uint32_t number = lane->change->life;
        if (!lane->change->is_end)
            rc = end(lane, strips, number, column);
        else if (mt_life(lane->lives, number)->ended != moment)
            rc = add(lane, number);
    }
    return rc;
}

static int go_to(struct lane *lane, struct mt_strips *strips, long *at, long to, double column)
{
    int rc = 0;
    while (*at < to && !rc) {
        size_t moment = (size_t)++ * at;
        uint32_t number = lane->course->what[moment] >> 1;
        if (!mt_is_end(lane->course, moment))
            rc = add(lane, number);
        else if (is_open(lane, number, moment))
            rc = end(lane, strips, number, column);
        if (!rc)
            rc = change(lane, strips, moment, column);
    }
    return rc;
}

static int lay(struct lane *lane, struct mt_strips *strips, const struct mt_range_shown *range)
{
    long at =
        mt_highest_moment(lane->lives, lane->course, mt_column_moments(lane->lives, range, 0));
    int rc = begin(lane, at);
    for (size_t i = 0; i < range->columns && !rc; i++) {
        long to =
            mt_highest_moment(lane->lives, lane->course, mt_column_moments(lane->lives, range, i));
        rc = go_to(lane, strips, &at, to, (double)i);
        if (!rc)
            rc = draw(lane, strips, i);
    }
    for (size_t i = 0; i < lane->n && !rc; i++)
        rc = put(strips, lane, &lane->open[i], (double)range->columns);
    return rc;
}

/* Return a moment's place in columns. */
static double column_of(const struct lane *lane, const struct mt_range_shown *range, size_t moment)
{
    double x = !range->is_time || !moment ? (double)moment
               : moment < lane->course->n ? (double)mt_moment_ns(lane->lives, lane->course, moment)
                                          : range->to;
    return (x - range->from) / (range->to - range->from) * (double)range->columns;
}

static int find_idle(struct mt_strips *strips, const struct lane *lane,
                     const struct mt_range_shown *range)
{
    int rc = 0;
    for (size_t i = 0; i < strips->n; i++) {
        const struct mt_strip *strip = &strips->strip[i];
        size_t n;
        const struct mt_idle_time *time =
            mt_idle_times_of(lane->of->idle, (uint32_t)strip->life, &n);
        for (; n && !rc; n--, time++) {
            struct mt_idle_piece piece = {fmax(column_of(lane, range, time->from), strip->from),
                                          fmin(column_of(lane, range, time->to), strip->to),
                                          strip->below, strip->bytes};
            if (piece.from < piece.to)
                rc = MT_APPEND(strips->idle, strips->idle_capacity, strips->n_idle, piece);
        }
    }
    return rc;
}

int mt_strips_lay(struct mt_strips *strips, const struct mt_lives *lives,
                  const struct mt_range_shown *range, const struct mt_strips_of *of)
{
    struct lane lane = {.lives = lives, .course = &lives->course[range->slot], .of = of};
    if (of->is_needed) {
        lane.change = of->idle->change[range->slot];
        lane.last_change = lane.change + of->idle->n_changes[range->slot];
    }
    strips->n = strips->n_idle = 0;
    if (mt_grow(&strips->rest, &strips->rest_capacity, range->columns * 2 * MT_CATEGORY_COUNT,
                sizeof *strips->rest) ||
        mt_grow(&strips->below_rest, &strips->below_capacity, range->columns,
                sizeof *strips->below_rest))
        return -ENOMEM;
    int rc = lane.course->n ? lay(&lane, strips, range) : 0;
    if (!rc && !of->is_needed)
        rc = find_idle(strips, &lane, range);
    free(lane.open);
    return rc;
}

void mt_strips_clear(struct mt_strips *strips)
{
    free(strips->strip);
    free(strips->rest);
    free(strips->idle);
    free(strips->below_rest);
    memset(strips, 0, sizeof *strips);
}
