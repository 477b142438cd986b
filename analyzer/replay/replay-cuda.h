/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA's own memory during a replay. */
#ifndef MT_REPLAY_CUDA_H
#define MT_REPLAY_CUDA_H

#include "trace-format/model.h"

struct mt_replay;

/* Handle an event of CUDA's own memory. 0 or -ENOMEM. */
int mt_replay_cuda(struct mt_replay *replay, const struct mt_event *event);

/* Replay that less was requested than CUDA has allocated. 0 or -ENOMEM. */
int mt_replay_cuda_request(struct mt_replay *replay, const struct mt_event *event);

#endif
