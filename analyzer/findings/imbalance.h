/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far the rank with the highest peak is above the other ranks of its job, and in which
 * categories.
 */
#ifndef MT_IMBALANCE_H
#define MT_IMBALANCE_H

#include "job.h"

/* In bytes, relative to the median of the ranks that have device memory (mt_median); a rank that
 * stands for others counts as often. */
struct mt_imbalance {
    uint64_t median;                    /* of the peaks */
    uint64_t above;                     /* of the highest */
    int64_t category[MT_CATEGORY_ROOM]; /* the highest rank's minus the category's median */
    enum mt_category most;              /* the category furthest above */
};

/* Compare n > 0 ranks; `highest` is the index of one of them. 0, or -ENOMEM. */
int mt_imbalance_find(struct mt_imbalance *imbalance, const struct mt_job_rank *ranks, size_t n,
                      size_t highest);

#endif
