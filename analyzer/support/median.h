/* SPDX-License-Identifier: Apache-2.0 */
/* Medians of sizes. */
#ifndef MT_MEDIAN_H
#define MT_MEDIAN_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static inline int mt_by_value(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Sort in ascending order. */
static inline void mt_sort_sizes(uint64_t *values, size_t n)
{
    if (n)
        qsort(values, n, sizeof *values, mt_by_value);
}

/* Sort, and remove duplicates. Return how many are left. */
static inline size_t mt_sort_once(uint64_t *values, size_t n)
{
    size_t kept = 0;
    mt_sort_sizes(values, n);
    for (size_t i = 0; i < n; i++)
        if (!kept || values[kept - 1] != values[i])
            values[kept++] = values[i];
    return kept;
}

/* Return the median of n > 0 sorted values; of an even number, the mean of the two in the
 * middle. */
static inline uint64_t mt_median(const uint64_t *sorted, size_t n)
{
    uint64_t low = sorted[(n - 1) / 2], high = sorted[n / 2];
    return low + (high - low) / 2;
}

#endif
