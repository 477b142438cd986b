/* SPDX-License-Identifier: Apache-2.0 */
/* A timeline as the text of an info record: "begin shift points", and then for each group of points
 * a space, its first point, and what changes with it: of each category, of what is reserved, and
 * iterations; each after a comma, and nothing for 0. It has memtap's own categories: rules of users are
 * for who reads. */
#include "timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUPS 256u
#define STARTUP_GROUPS (GROUPS / 8) /* the chart gives it as much */
#define VALUES (MT_CATEGORY_COUNT + 2u)

struct printer {
    char *out;
    size_t size, n;
    struct mt_timeline_at before;
};

static uint64_t *value_of(struct mt_timeline_at *at, unsigned i)
{
    return i < MT_CATEGORY_COUNT    ? &at->category[i]
           : i == MT_CATEGORY_COUNT ? &at->reserved
                                    : &at->iterations;
}

static void print_group(struct printer *to, size_t point, struct mt_timeline_at *at)
{
    if (to->n + (VALUES + 1) * 32 > to->size)
        return;
    to->n += (size_t)sprintf(to->out + to->n, " %zu", point);
    for (unsigned i = 0; i < VALUES; i++) {
        int64_t change = (int64_t)(*value_of(at, i) - *value_of(&to->before, i));
        to->n += (size_t)(change ? sprintf(to->out + to->n, ",%" PRId64, change)
                                 : sprintf(to->out + to->n, ","));
    }
    to->before = *at;
}

/* Columns are what is printed, so that reading them gives the same ones. */
static void print_part(struct printer *to, const struct mt_timeline *timeline, size_t from,
                       size_t end, size_t most)
{
    struct mt_timeline_at columns[GROUPS];
    size_t points = end - from, n = points < most ? points : most;
    n = mt_timeline_columns(timeline, from, end, n, columns);
    for (size_t i = 0; i < n; i++)
        print_group(to, from + (i * points + n - 1) / n, &columns[i]);
}

void mt_timeline_print(const struct mt_timeline *timeline, char *out, size_t size)
{
    struct printer to = {.out = out, .size = size};
    size_t training = mt_timeline_training(timeline);
    to.n = (size_t)snprintf(out, size, "%" PRIu64 " %u %zu", timeline->begin, timeline->shift,
                            timeline->points);
    print_part(&to, timeline, 0, training, STARTUP_GROUPS);
    print_part(&to, timeline, training, timeline->points, GROUPS - STARTUP_GROUPS);
}

static int parse_group(struct mt_timeline *timeline, const char **text)
{
    char *end;
    unsigned long long point = strtoull(*text, &end, 10);
    if (end == *text || point >= timeline->points)
        return -EINVAL;
    for (unsigned i = 0; i < VALUES; i++) {
        if (*end++ != ',')
            return -EINVAL;
        long long change = *end == ',' || *end == ' ' || !*end ? 0 : strtoll(end, &end, 10);
        *value_of(&timeline->change[point], i) += (uint64_t)change;
    }
    *text = end;
    return 0;
}

static int parse_groups(struct mt_timeline *timeline, const char *text)
{
    while (*text)
        if (*text++ != ' ' || parse_group(timeline, &text))
            return -EINVAL;
    return 0;
}

int mt_timeline_parse(struct mt_timeline *timeline, const char *text)
{
    struct mt_timeline read = {.next = UINT64_MAX};
    int length = 0;
    if (sscanf(text, "%" SCNu64 " %u %zu%n", &read.begin, &read.shift, &read.points, &length) !=
            3 ||
        !length || read.shift > 52 || !read.points || read.points > MT_TIMELINE_POINTS)
        return -EINVAL;
    int rc = mt_timeline_make(&read);
    if (!rc)
        rc = parse_groups(&read, text + length);
    if (rc) {
        mt_timeline_clear(&read);
        return rc;
    }
    mt_timeline_clear(timeline);
    *timeline = read;
    return 0;
}
