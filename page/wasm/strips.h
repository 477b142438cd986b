/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks over time: each a strip in the stack of those that were made before it, and what is too
 * thin to be seen as one band a category above them.
 */
#ifndef MT_PAGE_STRIPS_H
#define MT_PAGE_STRIPS_H

#include "course.h"

/* A piece of a strip that does not change its place: columns from .. to - 1, bytes below it. */
struct mt_strip {
    double from, to, below, life; /* life: its number */
    double bytes, category;       /* of the block */
};

struct mt_strips {
    struct mt_strip *strip;
    size_t n, capacity;
    double *rest;          /* by column, MT_CATEGORY_COUNT numbers each: bytes of what is too thin */
    double *below_rest;    /* by column: the bytes that are drawn */
    size_t rest_capacity, below_capacity;
};

/* least: bytes of the smallest block that is drawn; category: only this one, or -1. 0 or -ENOMEM. */
int mt_strips_lay(struct mt_strips *strips, const struct mt_lives *lives,
                  const struct mt_range_shown *range, uint64_t least, int category);

void mt_strips_clear(struct mt_strips *strips);

#endif
