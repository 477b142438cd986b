/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the replay's own files; others use replay.h.
 */
#ifndef MT_REPLAY_PARTS_H
#define MT_REPLAY_PARTS_H

#include <errno.h>
#include <stdbool.h>

#include "replay.h"

/* Return whether the event represents blocks that are not recorded individually: it has only the
 * totals. */
static inline bool mt_is_of_others(const struct mt_event *event)
{
    return event->kind == MT_FREE && !event->FREE.address && !event->FREE.size;
}

/* Return whether an event of the recording's own thread is what a light recording adds. */
static inline bool mt_replay_is_of_light(const struct mt_event *event)
{
    return event->kind == MT_SHORT_LIVED || event->kind == MT_NODE_NEW;
}

/* Count blocks that were left out, or learn where a node was made, in no phase. 0 or -ENOMEM. */
static inline int mt_replay_light(struct mt_replay *replay, const struct mt_event *event)
{
    replay->present.thread = &replay->present.nobody;
    if (event->kind == MT_NODE_NEW)
        return mt_tracker_node_made(&replay->tracker, event);
    return replay->question.whole_run
               ? mt_places_count(&replay->places[mt_device_slot(event->device)],
                                 replay->definitions, event)
               : 0;
}

/* Take now as the moment, on the slot's device. */
void mt_replay_take_device(struct mt_replay *replay, unsigned slot);
void mt_replay_take_all(struct mt_replay *replay); /* on all devices and the host */

/* Begin an event on the slot's device; bytes: allocated before it. 0 or -ENOMEM. */
int mt_replay_go_on(struct mt_replay *replay, unsigned slot, uint64_t bytes);
static inline int mt_replay_reach(struct mt_replay *replay, unsigned slot, uint64_t bytes)
{
    return mt_timeline_is_beyond(&replay->timeline[slot], replay->events)
               ? mt_replay_go_on(replay, slot, bytes)
               : 0;
}

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

/* Take the last sample as the moment's, until one comes that is nearer. */
static inline void mt_samples_take(struct mt_samples *samples, unsigned slot)
{
    samples->at[slot] = samples->last[slot];
    samples->awaited[slot] = 1;
}

/* Handle an out-of-memory of PyTorch (0 or -ENOMEM); handle a sample of a device's memory. */
int mt_replay_oom(struct mt_replay *replay, const struct mt_event *event);
void mt_replay_sample(struct mt_replay *replay, const struct mt_event *event);

/* Note an out-of-memory; note that the program allocated after it. */
void mt_replay_add_oom(struct mt_replay *replay, const struct mt_oom *oom);

/* Note that memory ran out in a library's own call, outside PyTorch's allocator. 0 or -ENOMEM. */
int mt_replay_library_oom(struct mt_replay *replay, const struct mt_event *event);

static inline void mt_replay_went_on(struct mt_replay *replay)
{
    if (replay->ooms.n)
        replay->ooms.kept[(replay->ooms.n - 1) % MT_OOMS_KEPT].went_on = 1;
}

/* Learn from a total of PyTorch's which of CUDA's allocations are its segments. made: the block of
 * an allocation. 0 or -ENOMEM. */
int mt_replay_find_segments(struct mt_replay *replay, unsigned slot, const struct mt_event *event,
                            const struct mt_block *made);

/* Mark what an event has just made: PyTorch's segment from before the recording. 0 or -ENOMEM. */
int mt_replay_segment_from_before(struct mt_replay *replay, const struct mt_event *event);

/* Note the end of an allocation of CUDA's, or of a piece. 0 or -ENOMEM. */
int mt_replay_segment_ends(struct mt_replay *replay, const struct mt_block *memory);

/* Note the stream and the pool of a block that was made at a record. 0 or -ENOMEM. */
int mt_replay_request(struct mt_replay *replay, unsigned slot, uint32_t index, uint64_t size);

/* Note the end of the block at a record; or that a block at an address waits no longer. */
int mt_replay_request_ends(struct mt_replay *replay, uint32_t index, const struct mt_block *block);
void mt_replay_request_done(struct mt_replay *replay, uint64_t address);

/* What was free for large blocks on the stream and in the pool of a block that is being made,
 * before PyTorch requested more for it. 0 or -ENOMEM. */
struct mt_free_of_pool {
    uint64_t whole, in_pieces; /* bytes of segments without blocks; between blocks */
};
int mt_replay_free_of_pool(struct mt_replay *replay, const struct mt_block *made,
                           struct mt_free_of_pool *found);

/* Handle an event of CUDA's own memory. 0 or -ENOMEM. */
int mt_replay_cuda(struct mt_replay *replay, const struct mt_event *event);

/* Replay that less was requested than CUDA has allocated. 0 or -ENOMEM. */
int mt_replay_cuda_request(struct mt_replay *replay, const struct mt_event *event);

/* Number the iterations, at the end: by ranges that are named so, or by the optimizer's steps and
 * the like; where there are none, by the turns of the program's loop. 0 or -ENOMEM. */
int mt_replay_number(struct mt_replay *replay);

/* Let the loop in turns be the one that iterations of training are in. */
void mt_replay_set_loop(struct mt_replay *replay);

#endif
