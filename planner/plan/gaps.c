/* SPDX-License-Identifier: Apache-2.0 */
#include "gaps.h"
#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"

static void remove_gap(struct mt_gaps *gaps, size_t at)
{
    gaps->n--;
    memmove(&gaps->gap[at], &gaps->gap[at + 1], (gaps->n - at) * sizeof *gaps->gap);
}

uint64_t mt_gaps_take(struct mt_gaps *gaps, uint64_t size)
{
    for (size_t i = 0; i < gaps->n; i++) {
        struct mt_gap *gap = &gaps->gap[i];
        uint64_t begin = gap->begin;
        if (gap->end - begin < size)
            continue;
        gap->begin += size;
        if (gap->begin == gap->end)
            remove_gap(gaps, i);
        return begin;
    }
    uint64_t begin = gaps->top;
    gaps->top += size;
    return begin;
}

/* The first gap that begins at or after an address. */
static size_t find_after(const struct mt_gaps *gaps, uint64_t begin)
{
    return MT_LEADING(i, gaps->n, gaps->gap[i].begin < begin);
}

static int insert_gap(struct mt_gaps *gaps, size_t at, uint64_t begin, uint64_t end)
{
    if (mt_grow(&gaps->gap, &gaps->capacity, gaps->n + 1, sizeof *gaps->gap))
        return -ENOMEM;
    memmove(&gaps->gap[at + 1], &gaps->gap[at], (gaps->n++ - at) * sizeof *gaps->gap);
    gaps->gap[at] = (struct mt_gap){begin, end};
    return 0;
}

int mt_gaps_give(struct mt_gaps *gaps, uint64_t begin, uint64_t end)
{
    size_t at = find_after(gaps, begin);
    if (at && gaps->gap[at - 1].end == begin)
        begin = gaps->gap[--at].begin;
    while (at < gaps->n && gaps->gap[at].begin <= end) { /* the one before, and the one after */
        end = gaps->gap[at].end > end ? gaps->gap[at].end : end;
        remove_gap(gaps, at);
    }
    if (end != gaps->top)
        return insert_gap(gaps, at, begin, end);
    gaps->top = begin;
    return 0;
}

void mt_gaps_clear(struct mt_gaps *gaps)
{
    free(gaps->gap);
    *gaps = (struct mt_gaps){0};
}
