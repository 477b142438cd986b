/* SPDX-License-Identifier: Apache-2.0 */
/* What each event of a level does in a replay. For the replay's own files. */
#ifndef MT_REPLAY_PARTS_H
#define MT_REPLAY_PARTS_H

#include <errno.h>

#include "replay.h"

/* Begin an event on the slot's device; bytes: allocated before it. 0 or -ENOMEM. */
static inline int mt_replay_reach(struct mt_replay *replay, unsigned slot, uint64_t bytes)
{
    return mt_timeline_is_beyond(&replay->timeline[slot], replay->events)
               ? mt_replay_go_on(replay, slot, bytes)
               : 0;
}

/* Note the totals of the slot's device at its level. 0 or -ENOMEM. */
static inline int mt_replay_note(struct mt_replay *replay, unsigned slot,
                                 const struct mt_totals *now)
{
    if (now->range && mt_replay_note_range(replay, slot, now))
        return -ENOMEM;
    mt_timeline_note(&replay->timeline[slot], replay->events, now->known_bytes);
    return mt_spans_note(&replay->spans[slot], &replay->tracker.phases.now, replay->visits.parts,
                         replay->events, replay->time_ns, now->allocated, now->reserved);
}

#endif
