/* SPDX-License-Identifier: Apache-2.0 */
/* What the tables of a report are to show. Zeros: everything, as every table has it by default. */
#ifndef MT_FILTER_H
#define MT_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mt_sort { MT_SORT_USUAL, MT_SORT_BYTES, MT_SORT_BLOCKS, MT_SORT_NAME, MT_SORT_ADDRESS, MT_SORT_AGE };

struct mt_filter {
    uint32_t categories; /* bits: only blocks of these; 0: all */
    const char *module;  /* only its blocks, those of its parts included; "*" stands for anything. The caller's */
    uint64_t least;      /* no rows of fewer bytes */
    uint32_t top;        /* rows of a table at most; 0: as many as it has by default */
    enum mt_sort sort;
};

/* Of rows that there are, how many are shown. */
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
