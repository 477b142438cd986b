/* SPDX-License-Identifier: Apache-2.0 */
#include "course.h"

#include <math.h>
#include <string.h>

static uint64_t change_at(const struct mt_lives *lives, const struct mt_course *course,
                          size_t moment)
{
    const struct mt_life *life = mt_life_at(lives, course, moment);
    return mt_is_end(course, moment) ? -life->size : life->size;
}

static long at_most(double value, size_t limit)
{
    return value < 0 ? 0 : value > (double)limit ? (long)limit : (long)value;
}

struct mt_moments mt_column_moments(const struct mt_lives *lives,
                                    const struct mt_range_shown *range, size_t column)
{
    const struct mt_course *course = &lives->course[range->slot];
    double width = (range->to - range->from) / (double)range->columns;
    double left = range->from + width * (double)column, right = left + width;
    struct mt_moments moments;
    if (range->is_time) {
        moments.first = (long)mt_moment_at_ns(lives, course, (uint64_t)fmax(left, 0) + 1) - 1;
        moments.end = (long)mt_moment_at_ns(lives, course, (uint64_t)fmax(right, 0));
    } else {
        moments.first = at_most(floor(left), course->n ? course->n - 1 : 0);
        moments.end = at_most(ceil(right), course->n);
    }
    if (moments.end <= moments.first)
        moments.end = moments.first + 1;
    return moments;
}

static void search(const struct mt_lives *lives, const struct mt_course *course, size_t from,
                   size_t to, uint64_t *most, long *at)
{
    size_t chunk = from / MT_CHUNK_MOMENTS;
    uint64_t total = course->chunk[chunk].total;
    for (size_t i = chunk * MT_CHUNK_MOMENTS; i < to; i++) {
        total += change_at(lives, course, i);
        if (i >= from && (*at < 0 || total > *most)) {
            *most = total;
            *at = (long)i;
        }
    }
}

long mt_highest_moment(const struct mt_lives *lives, const struct mt_course *course,
                       struct mt_moments moments)
{
    if (moments.end <= 0 || !course->n)
        return -1;
    size_t from = moments.first < 0 ? 0 : (size_t)moments.first, to = (size_t)moments.end;
    size_t first = (from + MT_CHUNK_MOMENTS - 1) / MT_CHUNK_MOMENTS, last = to / MT_CHUNK_MOMENTS;
    uint64_t most = 0;
    long at = -1;
    if (first > last) {
        search(lives, course, from, to, &most, &at);
        return at;
    }
    if (from < first * MT_CHUNK_MOMENTS)
        search(lives, course, from, first * MT_CHUNK_MOMENTS, &most, &at);
    for (size_t i = first; i < last; i++)
        if (at < 0 || course->chunk[i].most > most) {
            most = course->chunk[i].most;
            at = course->chunk[i].most_at;
        }
    if (last * MT_CHUNK_MOMENTS < to)
        search(lives, course, last * MT_CHUNK_MOMENTS, to, &most, &at);
    return at;
}

/* Find the live bytes after a moment, by group. */
static void groups_after(const struct mt_lives *lives, const struct mt_course *course,
                         size_t moment, uint64_t group[MT_CATEGORY_COUNT])
{
    size_t chunk = moment / MT_CHUNK_MOMENTS;
    memcpy(group, course->chunk[chunk].group, sizeof course->chunk[chunk].group);
    for (size_t i = chunk * MT_CHUNK_MOMENTS; i <= moment; i++)
        group[mt_life_at(lives, course, i)->group] += change_at(lives, course, i);
}

uint64_t mt_total_before(const struct mt_lives *lives, const struct mt_course *course,
                         size_t moment)
{
    if (!moment)
        return 0;
    size_t chunk = (moment - 1) / MT_CHUNK_MOMENTS;
    uint64_t total = course->chunk[chunk].total;
    for (size_t i = chunk * MT_CHUNK_MOMENTS; i < moment; i++)
        total += change_at(lives, course, i);
    return total;
}

static uint64_t least_of(const struct mt_lives *lives, const struct mt_course *course,
                         struct mt_moments moments)
{
    if (moments.first < 0 || !course->n)
        return 0;
    size_t from = (size_t)moments.first, to = (size_t)moments.end;
    uint64_t total = mt_total_before(lives, course, from), least = UINT64_MAX;
    for (size_t i = from; i < to;) {
        if (i % MT_CHUNK_MOMENTS == 0 && i + MT_CHUNK_MOMENTS <= to) {
            const struct mt_chunk *chunk = &course->chunk[i / MT_CHUNK_MOMENTS];
            least = chunk->least < least ? chunk->least : least;
            i += MT_CHUNK_MOMENTS;
            if (i < to)
                total = course->chunk[i / MT_CHUNK_MOMENTS].total;
            continue;
        }
        total += change_at(lives, course, i++);
        least = total < least ? total : least;
    }
    return least;
}

void mt_bands(const struct mt_lives *lives, const struct mt_range_shown *range, double *out)
{
    const struct mt_course *course = &lives->course[range->slot];
    for (size_t i = 0; i < range->columns; i++, out += MT_BAND_FIELDS) {
        uint64_t group[MT_CATEGORY_COUNT] = {0};
        struct mt_moments moments = mt_column_moments(lives, range, i);
        long moment = mt_highest_moment(lives, course, moments);
        if (moment >= 0)
            groups_after(lives, course, (size_t)moment, group);
        for (unsigned c = 0; c < MT_CATEGORY_COUNT; c++)
            out[c] = (double)group[c];
        out[MT_BAND_MOMENT] = (double)moment;
        out[MT_BAND_RESERVED] =
            moment < 0 ? 0 : (double)mt_reserved_at(course, (size_t)moment)->bytes;
        out[MT_BAND_LEAST] = (double)least_of(lives, course, moments);
    }
}

void mt_sum_between(const struct mt_lives *lives, const struct mt_course *course, size_t since,
                    double at, double *out)
{
    memset(out, 0, MT_BETWEEN_FIELDS * sizeof *out);
    for (size_t i = since; i < course->n && (double)i <= at; i++) {
        const struct mt_life *life = mt_life_at(lives, course, i);
        unsigned field = mt_is_end(course, i) ? 2 : 0;
        out[field] += (double)life->size;
        out[field + 1]++;
        if (!field && (life->ended == MT_LIFE_GOES_ON || (double)life->ended > at))
            out[MT_BETWEEN_LEFT + life->group] += (double)life->size;
    }
}
