/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that ran out of memory in the recorded run. */
#ifndef MT_PLANNER_FAILED_H
#define MT_PLANNER_FAILED_H

#include "planner/changes/recording.h"
#include "planner/requests/gather.h"

/* Return whether the request at that place failed. */
bool mt_failed(const struct mt_asked *asked, size_t place);

/* Return how many requests came up to the last one that failed, with it; 0: none failed. */
size_t mt_failed_last(const struct mt_asked *asked);

/* Add a request that failed, of so many bytes, to the recorded blocks, for changes to edit. What it
 * would have been is told by the phase alone. 0 or -ENOMEM. */
int mt_failed_add(struct mt_recording *recording, uint64_t event, uint64_t bytes,
                  enum mt_phase phase);

/* Add all that failed, each with its phase, and freed at once. 0 or -ENOMEM. */
int mt_failed_add_all(struct mt_recording *recording, const struct mt_asked *asked);

#endif
