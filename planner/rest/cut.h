/* SPDX-License-Identifier: Apache-2.0 */
/* A run that ran out of memory and ended: its requests, and those that it would have gone on to
 * make. */
#ifndef MT_PLANNER_CUT_H
#define MT_PLANNER_CUT_H

#include "planner/recording/recording.h"
#include "planner/requests/gather.h"
#include "rest.h"

struct mt_cut_run {
    struct mt_rest rest;
    /* Up to the request that failed, and then what is modelled; a request of kind MARK, whose
     * stream is an enum mt_reach, marks where each part ends. */
    struct mt_requests requests;
};

/* Add PyTorch's requests that failed to the recorded blocks, for changes to edit: each with its
 * phase, and freed at once. 0 or -ENOMEM. */
int mt_failed_add_all(struct mt_recording *recording, const struct mt_requests *requests);

/* Add to a recording that has the request that failed as a block (mt_failed_add_all), unless a
 * library requested it, what follows it. 0 or -ENOMEM; to be cleared in any case. */
int mt_cut_extend(struct mt_cut_run *cut, struct mt_recording *recording,
                  const struct mt_requests *requests);
void mt_cut_clear(struct mt_cut_run *cut);

#endif
