/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far the rank with the highest peak is above the others of its job, and in which categories.
 */
#ifndef MT_IMBALANCE_H
#define MT_IMBALANCE_H

#include "analysis.h"

/* In bytes, against the median of all ranks (of an even number, the lower one of the two). */
struct mt_imbalance {
    uint64_t median;                     /* of the peaks */
    uint64_t above;                      /* of the highest */
    int64_t category[MT_CATEGORY_ROOM]; /* the highest's less the median of that category */
    enum mt_category most;               /* the one that is furthest above */
};

/* Of n > 0 analyses, of which `highest` is one. 0, or -ENOMEM. */
int mt_imbalance_find(struct mt_imbalance *imbalance, const struct mt_analysis *analyses, size_t n,
                      const struct mt_analysis *highest);

#endif
