/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the replay's own files share; for the others there is replay.h.
 */
#ifndef MT_REPLAY_PARTS_H
#define MT_REPLAY_PARTS_H

#include <stdbool.h>

#include "replay.h"

/* Whether the blocks on the device of that slot are CUDA's: PyTorch's allocator does not use it. */
static inline bool mt_replay_is_of_cuda(const struct mt_replay *replay, unsigned slot)
{
    return !replay->now[slot].event;
}

/* The moment in question is now, on the device of that slot. */
void mt_replay_take_device(struct mt_replay *replay, unsigned slot);
void mt_replay_take_all(struct mt_replay *replay); /* on all devices, and of the host */

/* There is an event on the device of that slot, before which so much was allocated. 0 or -ENOMEM.
 */
int mt_replay_go_on(struct mt_replay *replay, unsigned slot, uint64_t bytes);
static inline int mt_replay_reach(struct mt_replay *replay, unsigned slot, uint64_t bytes)
{
    return mt_timeline_is_beyond(&replay->timeline[slot], replay->events)
               ? mt_replay_go_on(replay, slot, bytes)
               : 0;
}

/* Takes note of a block that an event has just made. 0 or -ENOMEM. */
int mt_replay_begin_life(struct mt_replay *replay, struct mt_block *block,
                         const struct mt_event *event);

/* Takes note of what a block's end shows, before the heap forgets it; at_end: the trace ends, and
 * the block does not. 0 or -ENOMEM. */
int mt_replay_conclude(struct mt_replay *replay, struct mt_block *block, int at_end);

/* Of mt_replay_see, in a range. */
int mt_replay_see_range(struct mt_replay *replay, unsigned slot, const struct mt_totals *now);

/* What is allocated on the device of that slot, at its level. 0 or -ENOMEM. */
static inline int mt_replay_see(struct mt_replay *replay, unsigned slot,
                                const struct mt_totals *now)
{
    if (now->range && mt_replay_see_range(replay, slot, now))
        return -ENOMEM;
    mt_timeline_see(&replay->timeline[slot], replay->events, now->known_bytes);
    return mt_spans_see(&replay->spans[slot], &replay->tracker.now, replay->events, replay->time_ns,
                        now->allocated, now->reserved);
}

/* PyTorch had no memory for an allocation (0 or -ENOMEM); what a device has, free or taken by anybody.
 */
int mt_replay_oom(struct mt_replay *replay, const struct mt_event *event);
void mt_replay_sample(struct mt_replay *replay, const struct mt_event *event);

/* Memory ran out; and then the program allocated all the same. */
void mt_replay_add_oom(struct mt_replay *replay, const struct mt_oom *oom);
static inline void mt_replay_went_on(struct mt_replay *replay)
{
    if (replay->n_ooms)
        replay->ooms[(replay->n_ooms - 1) % MT_OOMS_KEPT].went_on = 1;
}

/* An event of CUDA's own memory. 0 or -ENOMEM. */
int mt_replay_cuda(struct mt_replay *replay, const struct mt_event *event);

#endif
