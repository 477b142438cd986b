/* SPDX-License-Identifier: Apache-2.0 */
/* The lifetimes of all blocks in the replay: their begins and ends, and the requested moment. */
#include "replay.h"

#include <errno.h>

/* Take the last sample as the moment's, until one comes that is nearer. */
static void take_sample(struct mt_samples *samples, unsigned slot)
{
    samples->at[slot] = samples->last[slot];
    samples->awaited[slot] = 1;
}

void mt_replay_take_device(struct mt_replay *replay, unsigned slot)
{
    replay->of_torch.at[slot] = replay->of_torch.now[slot];
    replay->of_torch.at[slot].cuda_bytes = replay->cuda.heap.total[slot].bytes;
    replay->of_cuda.at[slot] = replay->of_cuda.now[slot];
    take_sample(&replay->samples, slot);
    replay->at_moment.device_ns[slot] = replay->time_ns;
    replay->at_moment.communicators[slot] =
        mt_cuda_objects_on(&replay->objects, slot).communicators;
    mt_heap_remember(&replay->blocks, slot);
    mt_heap_remember(&replay->cuda.heap, slot);
    mt_heap_remember(&replay->cuda.mapped, slot);
    mt_heap_remember(&replay->cuda.imported, slot);
}

__attribute__((cold)) void mt_replay_take_all(struct mt_replay *replay)
{
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        mt_replay_take_device(replay, slot);
    mt_host_take(&replay->host);
    replay->at_moment.is_over = replay->question.moment.kind != MT_AT_OOM;
    replay->at_moment.is_awaited = 0;
    replay->at_moment.event = replay->events;
    replay->at_moment.time_ns = replay->time_ns;
}

static bool saw_gradients(const struct mt_replay *replay)
{
    return replay->survey.kinds[MT_GRADIENT] && !replay->question.no_labels;
}

/* Update the context to the events read so far. */
static void update_context(struct mt_rule_context *context, const struct mt_replay *replay)
{
    context->saw_parameters = replay->tracker.saw_parameters;
    context->saw_gradients = saw_gradients(replay);
    context->saw_stepped = replay->tracker.saw_stepped;
    context->saw_steps = replay->tracker.phases.steps_begun > 0;
}

struct mt_rule_context mt_replay_context(const struct mt_replay *replay)
{
    struct mt_rule_context context = replay->context;
    update_context(&context, replay);
    return context;
}

/* Classify a block by its own evidence at its end, without other blocks. */
static const struct mt_rule *classify(struct mt_replay *replay, const struct mt_block *block)
{
    update_context(&replay->context, replay);
    return mt_classify(&replay->context, block);
}

/* rule: of the block now; NULL: not known yet. */
static void draw(struct mt_replay *replay, const struct mt_block *block, uint64_t end,
                 const struct mt_rule *rule)
{
    struct mt_timeline *timeline = &replay->timeline[mt_device_slot(block->device)];
    uint64_t event = mt_block_event(block);
    if (end != UINT64_MAX && !mt_timeline_shows(timeline, event))
        return;
    if (end != UINT64_MAX && mt_timeline_may_wait(timeline, event)) {
        mt_timeline_wait(timeline, block);
        return;
    }
    if (!rule)
        rule = classify(replay, block);
    mt_timeline_add(timeline, rule->category, block->size, event, end);
}

__attribute__((noinline)) void mt_replay_draw_waiting(struct mt_replay *replay,
                                                      struct mt_timeline *timeline)
{
    for (size_t i = 0; i < timeline->n_waiting; i++) {
        const struct mt_block *block = &timeline->waiting[i].block;
        uint64_t event = mt_block_event(block);
        mt_timeline_add(timeline, classify(replay, block)->category, block->size, event, event);
    }
    timeline->n_waiting = 0;
}

int mt_replay_go_on(struct mt_replay *replay, unsigned slot, uint64_t bytes)
{
    mt_replay_draw_waiting(replay, &replay->timeline[slot]);
    return mt_timeline_go_on(&replay->timeline[slot], replay->events, bytes);
}

/* Keep a copy of an ended block, or of one live at the trace's end, if the question watches its
 * address. */
static void watch(struct mt_replay *replay, const struct mt_block *block)
{
    if (!replay->question.address || replay->question.address - block->address >= block->size)
        return;
    mt_block_copy(&replay->watched.last, block);
    replay->watched.n++;
}

/* Note a gradient. Without memory it is dropped. */
static void note_gradient(struct mt_replay *replay, const struct mt_block *block)
{
    if (mt_is_kept_by_backward(block))
        mt_equal_sets_add_parameter(&replay->gradients, block, 0);
}

static __attribute__((cold)) const struct mt_rule *
report_life(struct mt_replay *replay, const struct mt_block *block, bool at_end)
{
    const struct mt_life_watcher *lives = replay->question.lives;
    const struct mt_rule *rule = classify(replay, block);
    lives->ended(lives->data, replay, block, rule, at_end);
    return rule;
}

int mt_replay_conclude(struct mt_replay *replay, struct mt_block *block, bool at_end)
{
    const struct mt_rule *rule = NULL;
    if (mt_tracker_ended(&replay->tracker, block, at_end))
        return -ENOMEM;
    if (block->birth->when.phase == MT_PHASE_BACKWARD && !saw_gradients(replay))
        note_gradient(replay, block);
    watch(replay, block);
    if (replay->question.lives)
        rule = report_life(replay, block, at_end);
    if (replay->question.whole_run)
        mt_places_ended(&replay->places[mt_device_slot(block->device)], replay->definitions, block,
                        at_end);
    draw(replay, block, at_end ? UINT64_MAX : replay->events, rule);
    return 0;
}

int mt_replay_begin_life(struct mt_replay *replay, struct mt_block *block,
                         const struct mt_event *event)
{
    struct mt_thread_state *thread =
        replay->present.is_before ? &replay->present.nobody : replay->present.thread;
    if (mt_tracker_made(&replay->tracker, thread, block, event, replay->events))
        return -ENOMEM;
    block->range = replay->present.is_before ? 0 : block->range;
    return replay->question.whole_run
               ? mt_places_made(&replay->places[mt_device_slot(block->device)], replay->definitions,
                                block)
               : 0;
}

int mt_replay_note_range(struct mt_replay *replay, unsigned slot, const struct mt_totals *now)
{
    struct mt_range_most most = {now->allocated, now->time_ns, now->event};
    return mt_ranges_note(&replay->tracker.ranges, slot, now->range, &most);
}
