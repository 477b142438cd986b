/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detection of lasting changes in a series of figures, one per night.
 *
 * * Binary segmentation (Vostrikova 1981) with the likelihood-ratio test for one shift of the mean
 * at an unknown place and an unknown variance (Worsley 1979): the night with the greatest
 * two-sample t, by Bonferroni over the nights. If no night passes, look for a stretch that differs
 * from its surroundings, as in circular binary segmentation (Olshen et al. 2004). A straight line
 * that fits better than a step is a drift, and a step must stand out from it. If at least half of
 * the nights repeat the night before exactly, there is no noise, and every change is a step.
 */
#ifndef MT_CHANGE_POINT_H
#define MT_CHANGE_POINT_H

#include <stdbool.h>
#include <stddef.h>

/* The least number of nights: if some repeat exactly, and with noise. */
#define MT_LEAST_NIGHTS 3u
#define MT_LEAST_NOISY_NIGHTS 5u

struct mt_step {
    size_t at;            /* index of the first night after it */
    double before, after; /* the levels on both sides; on a drift, those that meet at it */
};

/* Nights that grow or shrink slowly. */
struct mt_drift {
    size_t from, to; /* indices: first, and after the last */
    double slope;    /* per night */
};

struct mt_changes {
    bool is_exact;        /* without noise */
    struct mt_step *step; /* by night */
    size_t n_steps;
    struct mt_drift *drift; /* by night */
    size_t n_drifts;
};

/* Find the changes in values of n nights. Return 0 or -ENOMEM. Call mt_changes_clear in any
 * case. */
int mt_changes_find(struct mt_changes *changes, const double *value, size_t n);
void mt_changes_clear(struct mt_changes *changes);

#endif
