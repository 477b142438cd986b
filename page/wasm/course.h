/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The drawing of a range of a device's course. A range is in moments or in ns and is cut into
 * columns of equal width. Each column shows the state at its highest moment, so that no peak is
 * lost at any zoom.
 */
#ifndef MT_PAGE_COURSE_H
#define MT_PAGE_COURSE_H

#include "lives.h"

struct mt_range_shown {
    unsigned slot;
    bool is_time;    /* from and to are ns; else moments */
    double from, to; /* x: of moments, the state after moment m is at m to m + 1 */
    size_t columns;
};

#define MT_BAND_MOMENT (MT_CATEGORY_COUNT) /* the column's highest moment; -1: before the first */
#define MT_BAND_RESERVED (MT_CATEGORY_COUNT + 1)
#define MT_BAND_LEAST (MT_CATEGORY_COUNT + 2) /* the least allocated bytes in the column */
#define MT_BAND_FIELDS (MT_CATEGORY_COUNT + 3)

/* Sum the bands. out: columns times MT_BAND_FIELDS numbers, bytes by group first. */
void mt_bands(const struct mt_lives *lives, const struct mt_range_shown *range, double *out);

/* A column's moments: first .. end - 1, from -1 on; never empty. */
struct mt_moments {
    long first, end;
};
struct mt_moments mt_column_moments(const struct mt_lives *lives,
                                    const struct mt_range_shown *range, size_t column);

/* Return the highest of the moments; -1: before the first. */
long mt_highest_moment(const struct mt_lives *lives, const struct mt_course *course,
                       struct mt_moments moments);

/* Return the live bytes before a moment, which may be the end. */
uint64_t mt_total_before(const struct mt_lives *lives, const struct mt_course *course,
                         size_t moment);

/* Bytes and count of allocations, of frees; then by group, the allocated bytes that are still
 * there. */
#define MT_BETWEEN_LEFT 4u
#define MT_BETWEEN_FIELDS (MT_BETWEEN_LEFT + MT_CATEGORY_COUNT)

/* Sum the moments since .. at. out: MT_BETWEEN_FIELDS numbers. */
void mt_sum_between(const struct mt_lives *lives, const struct mt_course *course, size_t since,
                    double at, double *out);

#endif
