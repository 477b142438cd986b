/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks as they begin and end during a replay, and the moment as it passes. */
#ifndef MT_REPLAY_LIVES_H
#define MT_REPLAY_LIVES_H

#include "analyzer/model/heap.h"
#include "analyzer/model/moment.h"
#include "timeline.h"

struct mt_replay;

/* The moment as it has passed. */
struct mt_at_moment {
    uint64_t event, time_ns; /* except peaks: each device has its own */
    uint64_t device_ns[MT_DEVICES];
    uint64_t communicators[MT_DEVICES]; /* of NCCL */
    bool is_over;    /* not that of an out-of-memory: the last one counts, so it is taken again */
    bool is_awaited; /* it is an event or a time, and has not passed */
};

/* Blocks around question.address. */
struct mt_watched {
    struct mt_block_copy last; /* size 0: none */
    uint64_t n;
};

/* Take now as the moment, on the slot's device. */
void mt_replay_take_device(struct mt_replay *replay, unsigned slot);
void mt_replay_take_all(struct mt_replay *replay); /* on all devices and the host */

/* Begin an event on the slot's device; bytes: allocated before it. 0 or -ENOMEM. */
int mt_replay_go_on(struct mt_replay *replay, unsigned slot, uint64_t bytes);

/* Draw the blocks that waited for their category. */
void mt_replay_draw_waiting(struct mt_replay *replay, struct mt_timeline *timeline);

/* Note a block that an event has just made. 0 or -ENOMEM. */
int mt_replay_begin_life(struct mt_replay *replay, struct mt_block *block,
                         const struct mt_event *event);

/* Note the facts at a block's end, before the heap forgets it; at_end: at the end of the trace,
 * before the block's. 0 or -ENOMEM. */
int mt_replay_conclude(struct mt_replay *replay, struct mt_block *block, bool at_end);

/* Do mt_replay_note's part for ranges. */
int mt_replay_note_range(struct mt_replay *replay, unsigned slot, const struct mt_totals *now);

#endif
