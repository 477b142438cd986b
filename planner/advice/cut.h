/* SPDX-License-Identifier: Apache-2.0 */
/* A run that ran out of memory and ended: its requests, and those that it would have gone on to
 * make. */
#ifndef MT_PLANNER_CUT_H
#define MT_PLANNER_CUT_H

#include "judge.h"
#include "planner/changes/recording.h"
#include "planner/changes/rest.h"
#include "planner/requests/gather.h"

struct mt_cut_run {
    struct mt_rest rest;
    /* Up to the request that failed, and then what is modelled; a request of kind MARK, whose
     * stream is an enum mt_reach, marks where each part ends. */
    struct mt_requests requests;
};

/* Add to a recording that has the request that failed as a block (mt_failed_add_all), unless a
 * library requested it, what follows it. 0 or -ENOMEM; to be cleared in any case. */
int mt_cut_extend(struct mt_cut_run *cut, struct mt_recording *recording,
                  const struct mt_requests *requests);
/* Let the judge's requests be the run's from here on: changes edit what follows, too. has_failed:
 * by request, room for all of the run's; its first ones are filled in. */
void mt_cut_judge(const struct mt_cut_run *cut, struct mt_judge *judge, bool *has_failed);
void mt_cut_clear(struct mt_cut_run *cut);

#endif
