/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that ran out of memory in the recorded run. */
#ifndef MT_PLANNER_FAILED_H
#define MT_PLANNER_FAILED_H

#include "planner/changes/recording.h"
#include "planner/requests/gather.h"

/* Add PyTorch's requests that failed to the recorded blocks, for changes to edit: each with its
 * phase, and freed at once. 0 or -ENOMEM. */
int mt_failed_add_all(struct mt_recording *recording, const struct mt_requests *requests);

/* Return the phase of a request that failed at the event: in a step, or by the turn. */
enum mt_phase mt_failed_phase(const struct mt_recording *recording, uint64_t event);

#endif
