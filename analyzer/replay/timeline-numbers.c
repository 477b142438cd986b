/* SPDX-License-Identifier: Apache-2.0 */
/* A timeline as a list of numbers: begin, shift, points, then for each group of points its first
 * point and its changes: of each of the first categories, of reserved memory, of iterations, and of
 * newer categories, whose number is stored above the shift's bits. It has memtap's own categories;
 * readers apply users' rules. */
#include "timeline.h"

#include <errno.h>

#define GROUPS 256u
#define STARTUP_GROUPS (GROUPS / 8) /* its part of the chart */
#define HEAD 3u
#define FIRST_CATEGORIES 11u
#define FIRST_VALUES (FIRST_CATEGORIES + 2u)
#define VALUES (MT_CATEGORY_COUNT + 2u)
#define NEW_CATEGORIES (VALUES - FIRST_VALUES)
#define NEW_SHIFT 8u /* bits of the shift itself */

struct number_list {
    struct mt_numbers *numbers;
    struct mt_timeline_at before;
};

static uint64_t *value_of(struct mt_timeline_at *at, unsigned i)
{
    return i < FIRST_CATEGORIES    ? &at->category[i]
           : i == FIRST_CATEGORIES ? &at->reserved
           : i < FIRST_VALUES      ? &at->iterations
                                   : &at->category[i - 2];
}

static int list_group(struct number_list *to, size_t point, struct mt_timeline_at *at)
{
    uint64_t number[1 + VALUES] = {point};
    for (unsigned i = 0; i < VALUES; i++)
        number[1 + i] = *value_of(at, i) - *value_of(&to->before, i);
    to->before = *at;
    return mt_numbers_add(to->numbers, number, 1 + VALUES);
}

/* Write columns such that reading them back yields the same columns. */
static int list_part(struct number_list *to, const struct mt_timeline *timeline, size_t from,
                     size_t end, size_t most)
{
    struct mt_timeline_at columns[GROUPS];
    size_t points = end - from, n = points < most ? points : most;
    int rc = 0;
    n = mt_timeline_columns(timeline, from, end, n, columns);
    for (size_t i = 0; i < n && !rc; i++)
        rc = list_group(to, from + (i * points + n - 1) / n, &columns[i]);
    return rc;
}

int mt_timeline_list(const struct mt_timeline *timeline, struct mt_numbers *numbers)
{
    struct number_list to = {.numbers = numbers};
    const uint64_t head[HEAD] = {timeline->begin, timeline->shift | NEW_CATEGORIES << NEW_SHIFT,
                                 timeline->points};
    size_t training = mt_timeline_training(timeline);
    int rc = mt_numbers_add(numbers, head, HEAD);
    if (!rc)
        rc = list_part(&to, timeline, 0, training, STARTUP_GROUPS);
    if (!rc)
        rc = list_part(&to, timeline, training, timeline->points, GROUPS - STARTUP_GROUPS);
    return rc;
}

static int take_group(struct mt_timeline *timeline, const uint64_t *number, unsigned values)
{
    if (number[0] >= timeline->points)
        return -EINVAL;
    for (unsigned i = 0; i < values; i++)
        *value_of(&timeline->change[number[0]], i) += number[1 + i];
    return 0;
}

int mt_timeline_take(struct mt_timeline *timeline, const struct mt_numbers *numbers)
{
    const uint64_t *number = numbers->at;
    if (numbers->n < HEAD || number[1] >> NEW_SHIFT > NEW_CATEGORIES)
        return -EINVAL;
    unsigned values = FIRST_VALUES + (unsigned)(number[1] >> NEW_SHIFT);
    unsigned shift = (unsigned)number[1] & ((1u << NEW_SHIFT) - 1);
    if ((numbers->n - HEAD) % (1 + values) || shift > 52 || !number[2] ||
        number[2] > MT_TIMELINE_POINTS)
        return -EINVAL;
    struct mt_timeline read = {
        .begin = number[0], .next = UINT64_MAX, .shift = shift, .points = (size_t)number[2]};
    int rc = mt_timeline_make(&read);
    for (size_t i = HEAD; i < numbers->n && !rc; i += 1 + values)
        rc = take_group(&read, number + i, values);
    if (rc) {
        mt_timeline_clear(&read);
        return rc;
    }
    mt_timeline_clear(timeline);
    *timeline = read;
    return 0;
}
