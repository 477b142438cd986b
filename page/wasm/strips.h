/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks over time: each is a strip above the older blocks. Blocks too thin to be seen are one band
 * a category above all strips.
 */
#ifndef MT_PAGE_STRIPS_H
#define MT_PAGE_STRIPS_H

#include "idle-times.h"

/* A piece of a strip at a constant height: columns from .. to - 1, `below` bytes under it. */
struct mt_strip {
    double from, to, below, life; /* life: its number */
    double bytes, category;       /* the block's */
    double is_found;
};

/* A piece of a strip whose block is idle: columns, bytes. */
struct mt_idle_piece {
    double from, to, below, bytes;
};

struct mt_strips {
    struct mt_strip *strip;
    size_t n, capacity;
    double *rest;       /* by column, MT_CATEGORY_COUNT numbers of found and then of other blocks:
                         * bytes of those too thin */
    double *below_rest; /* by column: bytes of all strips */
    size_t rest_capacity, below_capacity;
    struct mt_idle_piece *idle;
    size_t n_idle, idle_capacity;
};

/* Selects the blocks to draw. */
struct mt_strips_of {
    uint64_t least; /* bytes of the smallest block */
    int category;   /* only this one; -1: all */
    const struct mt_idle_times *idle;
    bool is_needed; /* only while they are not idle */
};

/* Lay the strips and, unless is_needed, their idle pieces. Return 0 or -ENOMEM. */
int mt_strips_lay(struct mt_strips *strips, const struct mt_lives *lives,
                  const struct mt_range_shown *range, const struct mt_strips_of *of);

void mt_strips_clear(struct mt_strips *strips);

#endif
