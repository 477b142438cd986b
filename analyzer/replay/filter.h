/* SPDX-License-Identifier: Apache-2.0 */
/* Filters of a report's tables. A zeroed filter keeps each table's defaults. */
#ifndef MT_FILTER_H
#define MT_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mt_sort {
    MT_SORT_USUAL,
    MT_SORT_BYTES,
    MT_SORT_BLOCKS,
    MT_SORT_NAME,
    MT_SORT_ADDRESS,
    MT_SORT_AGE
};

struct mt_filter {
    uint32_t categories; /* bits: only these; 0: all */
    const char
        *module;    /* only its blocks and its parts'; "*" matches anything; owned by the caller */
    uint64_t least; /* no rows of fewer bytes */
    uint32_t top;   /* most rows of a table; 0: its default */
    enum mt_sort sort;
};

/* Return how many of n rows to show. */
static inline size_t mt_filter_rows(const struct mt_filter *filter, size_t n, size_t usual)
{
    size_t most = filter->top ? filter->top : usual;
    return n < most ? n : most;
}

static inline bool mt_filter_has(const struct mt_filter *filter, unsigned category)
{
    return !filter->categories || filter->categories >> category & 1;
}

#endif
