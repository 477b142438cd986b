/* SPDX-License-Identifier: Apache-2.0 */
/* A timeline as the text of an info record: "begin shift points", and then for each group of points
 * the change of each category, with commas; nothing for 0. */
#include "timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUPS 256u

/* Columns are what is printed, so that reading them gives the same ones. */
void mt_timeline_print(const struct mt_timeline *timeline, uint64_t last_ns, char *out, size_t size)
{
    uint64_t columns[GROUPS][MT_CATEGORY_COUNT], before[MT_CATEGORY_COUNT] = {0};
    size_t n = mt_timeline_columns(timeline, last_ns, GROUPS, columns);
    size_t points = mt_timeline_point(timeline, last_ns) + 1, at;
    points = points < MT_TIMELINE_POINTS ? points : MT_TIMELINE_POINTS;
    at = (size_t)snprintf(out, size, "%" PRIu64 " %u %zu ", timeline->begin_ns, timeline->shift,
                          points);
    for (size_t i = 0; i < n; i++)
        for (unsigned c = 0; c < MT_CATEGORY_COUNT && at + 32 < size; c++) {
            int64_t change = (int64_t)(columns[i][c] - before[c]);
            before[c] = columns[i][c];
            if (change)
                at += (size_t)snprintf(out + at, size - at, "%" PRId64, change);
            out[at++] = ',';
            out[at] = '\0';
        }
}

static int parse_changes(struct mt_timeline *timeline, size_t points, const char *text)
{
    size_t n = points < GROUPS ? points : GROUPS;
    for (size_t i = 0; i < n; i++) {
        size_t point = (i * points + n - 1) / n; /* the first of the group's */
        for (unsigned c = 0; c < MT_CATEGORY_COUNT; c++) {
            char *end;
            long long change = *text == ',' ? 0 : strtoll(text, &end, 10);
            if (*text != ',' && (end == text || *end != ','))
                return -EINVAL;
            timeline->change[point][c] = (uint64_t)change;
            text = strchr(text, ',') + 1;
        }
    }
    return *text ? -EINVAL : 0;
}

int mt_timeline_parse(struct mt_timeline *timeline, const char *text)
{
    struct mt_timeline read = {.end_ns = UINT64_MAX};
    size_t points;
    int length = 0;
    if (sscanf(text, "%" SCNu64 " %u %zu %n", &read.begin_ns, &read.shift, &points, &length) != 3 ||
        !length || read.shift > 52 || !points || points > MT_TIMELINE_POINTS)
        return -EINVAL;
    read.change = calloc(MT_TIMELINE_POINTS, sizeof *read.change);
    int rc = read.change ? parse_changes(&read, points, text + length) : -ENOMEM;
    if (rc) {
        free(read.change);
        return rc;
    }
    free(timeline->change);
    *timeline = read;
    return 0;
}
