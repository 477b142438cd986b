/* SPDX-License-Identifier: Apache-2.0 */
#include "median.h"

#include <stdlib.h>

static int by_size(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

void mt_sort_sizes(uint64_t *values, size_t n)
{
    qsort(values, n, sizeof *values, by_size);
}
