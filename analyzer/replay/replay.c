/* SPDX-License-Identifier: Apache-2.0 */
#include "replay.h"
#include "analyzer/model/user-line.h"
#include "analyzer/trace/scan.h"
#include "number.h"
#include "replay-cuda.h"
#include "replay-parts.h"
#include "segments.h"
#include "summary-lists.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Return whether the event represents blocks that are not recorded individually: it has only the
 * totals. */
static bool is_of_others(const struct mt_event *event)
{
    return event->kind == MT_FREE && !event->FREE.address && !event->FREE.size;
}

/* Return whether an event of the recording's own thread is what a light recording adds. */
static bool is_of_light(const struct mt_event *event)
{
    return event->kind == MT_SHORT_LIVED || event->kind == MT_NODE_NEW;
}

/* Count blocks that were left out, or learn where a node was made, in no phase. 0 or -ENOMEM. */
static int note_light(struct mt_replay *replay, const struct mt_event *event)
{
    replay->present.thread = &replay->present.nobody;
    if (event->kind == MT_NODE_NEW)
        return mt_tracker_node_made(&replay->tracker, event);
    return replay->question.whole_run
               ? mt_places_count(&replay->places[mt_device_slot(event->device)],
                                 replay->definitions, event)
               : 0;
}

/* Note that less is unknown of what was allocated before. */
static __attribute__((cold)) void note_before(struct mt_replay *replay, unsigned slot,
                                              const struct mt_event *event)
{
    uint64_t known = replay->blocks.total[slot].bytes + event->size;
    replay->unseen[slot] = event->ALLOC.allocated > known ? event->ALLOC.allocated - known : 0;
}

/* Compare with PyTorch's own total: each event must change it by the event's size, but for a block
 * from before, which is already in it. */
static void compare_total(struct mt_replay *replay, unsigned slot, const struct mt_event *event)
{
    uint64_t change = event->kind == MT_ALLOC ? event->ALLOC.size : -event->FREE.size;
    const struct mt_totals *now = &replay->of_torch.now[slot];
    if (!now->event)
        replay->unseen[slot] = event->ALLOC.allocated - change;
    else if (replay->present.is_before && event->ALLOC.allocated == now->allocated)
        note_before(replay, slot, event);
    else if (!is_of_others(event))
        replay->oddities.drift += now->allocated + change != event->ALLOC.allocated;
}

/* End the block in a slot; size: the free's. */
static inline __attribute__((always_inline)) int end_block(struct mt_replay *replay, uint32_t *slot,
                                                           uint64_t size)
{
    struct mt_block *block = mt_heap_record(&replay->blocks, *slot & replay->blocks.mask);
    replay->oddities.wrong_size += block->size != size;
    uint32_t index = *slot & replay->blocks.mask;
    if (mt_replay_conclude(replay, block, 0) ||
        (replay->reserved.of_blocks.n && mt_replay_request_ends(replay, index, block)) ||
        (mt_heap_is_remembered(&replay->blocks, block) &&
         mt_ends_note(&replay->holders.of_blocks, index, replay->time_ns)))
        return -ENOMEM;
    mt_heap_end_slot(&replay->blocks, slot);
    return 0;
}

/* Replace a block whose free is missing. Return the slot for the new block; NULL: no memory. */
static __attribute__((cold)) uint32_t *replace_block(struct mt_replay *replay, uint32_t *slot)
{
    const struct mt_block *block = mt_heap_record(&replay->blocks, *slot & replay->blocks.mask);
    uint64_t address = block->address;
    replay->oddities.replaced++;
    return end_block(replay, slot, block->size) ? NULL : mt_heap_locate(&replay->blocks, address);
}

/* Return where what was free lay as PyTorch requested more for a block. MT_FREE_KINDS: no memory.
 */
static enum mt_free_kind free_kind_of(struct mt_replay *replay, const struct mt_block *made,
                                      uint64_t lay_free)
{
    struct mt_free_of_pool own;
    if (replay->present.pool) {
        const struct mt_stream_pool *pool = &replay->reserved.pools.pool[replay->present.pool];
        uint64_t used = pool->allocated - made->size + pool->waiting;
        if (pool->reserved < used + made->size)
            return MT_FREE_OTHERS;
    }
    if (mt_replay_free_of_pool(replay, made, &own))
        return MT_FREE_KINDS;
    if (own.in_pieces >= made->size)
        return MT_FREE_PIECES;
    if (own.in_pieces + own.whole >= made->size)
        return MT_FREE_WHOLE;
    /* Without segments nothing shows that it was others'. */
    return replay->present.pool || own.in_pieces + own.whole || !lay_free ? MT_FREE_OTHERS
                                                                          : MT_FREE_PIECES;
}

/* Note a change of reserved memory. If it grows although enough was free, note why that did not
 * serve. 0 or -ENOMEM. */
static __attribute__((cold)) int note_reserved(struct mt_replay *replay,
                                               const struct mt_totals *before,
                                               const struct mt_event *event,
                                               const struct mt_block *made)
{
    unsigned slot = mt_device_slot(event->device);
    uint64_t lay_free = before->reserved - before->allocated;
    mt_timeline_reserve(&replay->timeline[slot], event->ALLOC.reserved - before->reserved,
                        replay->events);
    if (!made || event->ALLOC.reserved < before->reserved || before->reserved < before->allocated ||
        lay_free < event->size ||
        event->size <= MT_SMALL_BLOCK) /* small blocks have their own pool */
        return 0;
    enum mt_free_kind kind = free_kind_of(replay, made, lay_free);
    if (kind == MT_FREE_KINDS)
        return -ENOMEM;
    struct mt_worst *worst = &replay->reserved.worst[kind][slot];
    worst->times++;
    if (lay_free > worst->lay_free)
        *worst =
            (struct mt_worst){.times = worst->times,
                              .time_ns = event->time_ns,
                              .event = replay->events,
                              .wanted = event->size,
                              .lay_free = lay_free,
                              .reserved = before->reserved,
                              .stack = mt_line_stack(replay->definitions, made),
                              .node_name = made->node_name,
                              .unlabelled = mt_line_stack(
                                  replay->definitions, &(struct mt_block){.stack = event->stack})};
    return 0;
}

static __attribute__((noinline)) void new_most_reserved(struct mt_replay *replay, unsigned slot)
{
    replay->reserved.most[slot] = replay->of_torch.now[slot];
    mt_stream_pools_most(&replay->reserved.pools, slot);
    if (replay->question.moment.kind == MT_AT_RESERVED)
        mt_replay_take_device(replay, slot);
}

static __attribute__((noinline)) void new_peak(struct mt_replay *replay, unsigned slot)
{
    replay->of_torch.peak[slot] = replay->of_torch.now[slot];
    if (replay->question.moment.kind == MT_AT_PEAK)
        mt_replay_take_device(replay, slot);
}

/* Note the total. made: the block of an allocation. */
static inline __attribute__((always_inline)) int note_total(struct mt_replay *replay, unsigned slot,
                                                            const struct mt_event *event,
                                                            const struct mt_block *made)
{
    struct mt_totals *now = &replay->of_torch.now[slot];
    uint64_t allocated = event->ALLOC.allocated, reserved = event->ALLOC.reserved;
    if (reserved != now->reserved && note_reserved(replay, now, event, made))
        return -ENOMEM;
    if ((replay->reserved.has_grown || reserved != replay->reserved.known[slot] ||
         replay->reserved.lacks[slot]) &&
        mt_replay_find_segments(replay, slot, event, made))
        return -ENOMEM;
    /* One by one: gcc builds a compound literal elsewhere first, and waits for the copy. */
    now->when = replay->tracker.phases.now;
    now->range = mt_tracker_range(&replay->tracker, event->thread);
    now->event = replay->events;
    now->time_ns = event->time_ns;
    now->allocated = allocated;
    now->reserved = reserved;
    now->known_bytes = replay->blocks.total[slot].bytes;
    now->cuda_bytes = replay->cuda.heap.total[slot].bytes;
    if (replay->reserved.most[slot].reserved < reserved + replay->present.is_before)
        new_most_reserved(replay, slot);
    if (mt_is_new_peak(&replay->of_torch.peak[slot], allocated) ||
        (replay->present.is_before && replay->of_torch.peak[slot].allocated == allocated))
        new_peak(replay, slot);
    return mt_replay_note(replay, slot, now);
}

/* Start over when PyTorch begins to use a device: CUDA's allocations are no longer its blocks. */
static __attribute__((cold)) void begin_blocks(struct mt_replay *replay, unsigned slot)
{
    if (replay->survey.kinds[MT_ALLOC] <= 1)
        mt_visits_clear(&replay->visits); /* segments for PyTorch's allocator */
    mt_spans_clear(&replay->spans[slot]);
    mt_timeline_clear(&replay->timeline[slot]);
    mt_places_clear(&replay->places[slot]);
    mt_ranges_forget(&replay->tracker.ranges, slot);
}

/* Prepare for an event on the slot's device. 0 or -ENOMEM. */
static inline __attribute__((always_inline)) int reach(struct mt_replay *replay, unsigned slot,
                                                       const struct mt_event *event)
{
    if (mt_replay_is_of_cuda(replay, slot))
        begin_blocks(replay, slot);
    if (mt_replay_reach(replay, slot, replay->blocks.total[slot].bytes))
        return -ENOMEM;
    compare_total(replay, slot, event);
    return 0;
}

static inline int visit(struct mt_replay *replay, const struct mt_event *event)
{
    return mt_visits_note(&replay->visits, replay->definitions, event, &replay->tracker.phases.now,
                          replay->present.thread->at.phase, replay->events);
}

/* Note a visit of a program without PyTorch: with it, CUDA's allocations are segments, which depend
 * on what is cached. */
static int visit_cuda(struct mt_replay *replay, const struct mt_event *event)
{
    bool makes = event->kind == MT_CUDA_MALLOC || event->kind == MT_CUDA_MALLOC_ASYNC;
    bool are_segments = replay->survey.kinds[MT_ALLOC] > 0;
    replay->visits.others += are_segments;
    return makes && event->address && !are_segments && !replay->present.is_before
               ? visit(replay, event)
               : 0;
}

static int on_alloc(struct mt_replay *replay, const struct mt_event *event)
{
    unsigned slot = mt_device_slot(event->device);
    replay->present.unused = mt_requests_take_unused(&replay->present.thread->requests);
    mt_ooms_went_on(&replay->ooms);
    if (reach(replay, slot, event) || mt_heap_make_room(&replay->blocks) ||
        (!replay->present.is_before && visit(replay, event)))
        return -ENOMEM;
    uint32_t *place = mt_heap_locate(&replay->blocks, event->address);
    if (*place && replay->present.is_before) /* it has been recorded */
        return note_total(replay, slot, event, NULL);
    if (*place && !(place = replace_block(replay, place)))
        return -ENOMEM;
    uint32_t index = replay->blocks.first_free; /* place may move as the block is added */
    struct mt_block *block = mt_heap_add_unborn(&replay->blocks, place, event);
    if (!block || mt_replay_begin_life(replay, block, event) ||
        mt_replay_request(replay, slot, index, event->size))
        return -ENOMEM;
    return note_total(replay, slot, event, block);
}

static int on_free(struct mt_replay *replay, const struct mt_event *event)
{
    unsigned slot = mt_device_slot(event->device);
    replay->present.waits = mt_requests_take_wait(&replay->present.thread->requests);
    if (reach(replay, slot, event))
        return -ENOMEM;
    uint32_t *found = replay->blocks.slots ? mt_heap_locate(&replay->blocks, event->address) : NULL;
    if (!found || !*found)
        replay->oddities.unknown +=
            event->address != 0; /* compact traces: totals without a block */
    else if (end_block(replay, found, event->size))
        return -ENOMEM;
    return note_total(replay, slot, event, NULL); /* the first event may be a free */
}

/* Return whether the event is after a moment that is given by time or number. */
static bool is_past(const struct mt_replay *replay, const struct mt_event *event)
{
    const struct mt_moment *moment = &replay->question.moment;
    return moment->kind == MT_AT_TIME ? event->time_ns > moment->value
                                      : replay->events >= moment->value;
}

static bool is_label(unsigned kind)
{
    return mt_kind_about[kind] == MT_ABOUT_LABEL || mt_kind_about[kind] == MT_ABOUT_NODE;
}

/* Note an event of a range that may begin or end an iteration. */
static int on_range(struct mt_replay *replay, const struct mt_event *event)
{
    uint32_t before = replay->named.boundaries;
    int rc = mt_tracker_learn(&replay->tracker, replay->present.thread, event);
    if (!rc)
        rc = mt_named_turns_note(&replay->named, &replay->tracker.ranges, replay->definitions,
                                 event, replay->events);
    if (!replay->question.no_turns)
        replay->visits.parts += replay->named.boundaries - before;
    return rc;
}

static int on_event(struct mt_replay *replay, const struct mt_event *event)
{
    if (replay->at_moment.is_awaited && is_past(replay, event))
        mt_replay_take_all(replay);
    replay->events++;
    replay->time_ns = event->time_ns;
    if (event->kind == MT_NODE_NEW &&
        mt_trainers_work(&replay->trainers, event->thread, replay->events))
        return -ENOMEM;
    if (replay->question.no_labels && is_label(event->kind))
        return 0;
    if (MT_UNLIKELY(!event->thread) && is_of_light(event))
        return note_light(replay, event);
    replay->present.is_before = (event->kind == MT_ALLOC || event->kind == MT_CUDA_MALLOC) &&
                                mt_is_from_before(replay->definitions, event->stack);
    bool is_elsewhere = replay->present.is_before || event->kind == MT_USES; /* an earlier stack */
    replay->present.thread = is_elsewhere ? mt_tracker_thread(&replay->tracker, event)
                                          : mt_tracker_follow(&replay->tracker, event);
    if (!replay->present.thread)
        return -ENOMEM;
    switch (event->kind) {
    case MT_ALLOC:
        return on_alloc(replay, event);
    case MT_FREE:
        return on_free(replay, event);
    case MT_OOM:
        return mt_replay_oom(replay, event);
    case MT_FREE_DONE:
        mt_replay_request_done(replay, event->FREE_DONE.address);
        break;
    case MT_CUDA_MALLOC:
    case MT_CUDA_FREE:
    case MT_CUDA_FREE_FAILED:
    case MT_CUDA_MALLOC_ASYNC:
    case MT_CUDA_FREE_ASYNC:
    case MT_CUDA_MAP:
    case MT_CUDA_UNMAP:
        if (visit_cuda(replay, event) || mt_host_event(&replay->host, event, replay->events))
            return -ENOMEM;
        return mt_replay_cuda(replay, event);
    case MT_HOST_REQUEST:
        return mt_host_event(&replay->host, event, replay->events)
                   ? -ENOMEM
                   : mt_replay_cuda_request(replay, event);
    case MT_CUDA_COPY:
    case MT_CUDA_SET:
        return mt_cuda_event(&replay->cuda, event, &(struct mt_cuda_change){0});
    case MT_CUDA_OBJECT:
    case MT_CUDA_OBJECT_GONE:
        return mt_cuda_objects_event(&replay->objects, event);
    case MT_CUDA_POOL:
    case MT_CUDA_POOL_HIGH:
        return mt_cuda_pools_event(&replay->cuda_pools, event);
    case MT_MEMORY_LIMIT:
        replay->reserved.limit[mt_device_slot(event->device)] = event->MEMORY_LIMIT.limit;
        return 0;
    case MT_DEVICE_MEMORY:
        replay->visits.others++;
        mt_replay_sample(replay, event);
        return 0;
    case MT_HOLDER:
        replay->visits.others++;
        return mt_holders_add(&replay->holders, event);
    case MT_HOLDERS:
        replay->visits.others++;
        return mt_holders_end(&replay->holders, event, replay->at_moment.is_over);
    case MT_USES:
        return mt_uses_event(&replay->uses_of_blocks, &replay->blocks, &replay->uses_of_cuda,
                             &replay->cuda.heap, event);
    case MT_RANGE_PUSH:
    case MT_RANGE_POP:
    case MT_RANGE_START:
    case MT_RANGE_END:
        return on_range(replay, event);
    case MT_STEP:
        return mt_trainers_step(&replay->trainers, event, replay->events);
    case MT_UNKNOWN_VALUE:
        return mt_unsimulated_add(&replay->unsimulated, replay->definitions, event);
    }
    return mt_tracker_learn(&replay->tracker, replay->present.thread, event);
}

/* Prefetch what most events need first: their address's slot, the block in it, their stack. */
#define PLACES_AHEAD 16
#define BLOCKS_AHEAD 8

static inline void expect(const struct mt_replay *replay, const struct mt_event *now)
{
    const struct mt_event *event = now + PLACES_AHEAD;
    if (event->kind == MT_NODE_NEW || event->kind == MT_NODE_BEGIN)
        mt_address_map_expect(&replay->tracker.forward, event->address);
    else
        mt_heap_expect_slot(&replay->blocks, event->address);
    mt_heap_expect(&replay->blocks, now[BLOCKS_AHEAD].address);
    if (now[BLOCKS_AHEAD].stack != now[BLOCKS_AHEAD - 1].stack)
        mt_stack_expect(replay->definitions, now[BLOCKS_AHEAD].stack);
}

static int add_definition(struct mt_replay *replay, const struct mt_definition *definition)
{
    return definition->kind == MT_DEF_SUMMARY ? mt_summaries_add(&replay->summaries, definition)
                                              : mt_definitions_add(replay->definitions, definition);
}

int mt_replay_batch(void *data, const struct mt_batch *batch)
{
    struct mt_replay *replay = data;
    const struct mt_watcher *watcher = replay->question.watcher;
    mt_survey_batch(&replay->survey, batch);
    for (size_t i = 0; i < batch->n_definitions; i++)
        if (add_definition(replay, &batch->definitions[i]) == -ENOMEM)
            return -ENOMEM;
    const struct mt_event *event = batch->events;
    for (size_t left = batch->n_events; left; left--, event++) {
        if (left > PLACES_AHEAD)
            expect(replay, event);
        mt_survey_event(&replay->survey, event);
        if (on_event(replay, event) || (watcher && watcher->saw(watcher->data, replay, event)))
            return -ENOMEM;
    }
    return 0;
}

static void draw_iterations(struct mt_replay *replay, unsigned slot)
{
    const struct mt_spans *spans = &replay->spans[slot];
    for (size_t i = 0; i < spans->n; i++)
        if (spans->span[i].iteration != (i ? spans->span[i - 1].iteration : 0))
            mt_timeline_iteration(&replay->timeline[slot], spans->span[i].event);
    mt_replay_draw_waiting(replay, &replay->timeline[slot]);
    mt_timeline_finish(&replay->timeline[slot], replay->events);
}

/* Conclude the blocks that are still live at the end of the trace. */
static int finish(struct mt_replay *replay)
{
    int rc = 0;
    if (!replay->at_moment.is_over && replay->question.moment.kind != MT_AT_PEAK &&
        replay->question.moment.kind != MT_AT_RESERVED && replay->question.moment.kind != MT_AT_OOM)
        mt_replay_take_all(replay);
    if (replay->survey.complete)
        mt_tracker_finish(&replay->tracker);
    for (uint32_t i = 1; !rc && i < replay->blocks.n_records; i++) {
        struct mt_block *block = mt_heap_record(&replay->blocks, i);
        if (block->state == MT_BLOCK_LIVE)
            rc = mt_replay_conclude(replay, block, 1);
    }
    for (uint32_t i = 1; !rc && i < replay->cuda.heap.n_records; i++) {
        struct mt_block *block = mt_heap_record(&replay->cuda.heap, i);
        if (block->state == MT_BLOCK_LIVE &&
            mt_replay_is_of_cuda(replay, mt_device_slot(block->device)))
            rc = mt_replay_conclude(replay, block, 1);
    }
    if (!rc)
        rc = mt_replay_number(replay);
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        draw_iterations(replay, slot);
    if (mt_compact_of(replay->definitions) || mt_survey_lost(&replay->survey))
        mt_cuda_pools_doubt(&replay->cuda_pools);
    mt_ranges_finish(&replay->tracker.ranges);
    mt_sums_sort(&replay->cuda.twice);
    mt_sums_sort(&replay->cuda.by_others);
    return rc;
}

int mt_replay_begin(struct mt_replay *replay, const char *path, const struct mt_question *question)
{
    memset(replay, 0, sizeof *replay);
    replay->question = *question;
    replay->at_moment.is_awaited =
        question->moment.kind == MT_AT_TIME || question->moment.kind == MT_AT_EVENT;
    mt_survey_begin(&replay->survey, path);
    replay->definitions = mt_definitions_create();
    if (!replay->definitions)
        return -ENOMEM;
    replay->survey.definitions = replay->definitions;
    replay->context = (struct mt_rule_context){.definitions = replay->definitions,
                                               .tracker = &replay->tracker,
                                               .gradients = &replay->gradients,
                                               .user = question->rules,
                                               .memo = &replay->memo};
    replay->tracker.definitions = replay->definitions;
    replay->tracker.heap = &replay->blocks;
    replay->tracker.cuda = &replay->cuda.heap;
    mt_spans_fold(replay->spans, MT_DEVICES, question->folds_spans);
    replay->question.no_turns |= question->folds_spans;
    replay->visits.is_off = replay->question.no_turns;
    return 0;
}

int mt_replay_end(struct mt_replay *replay)
{
    int rc = mt_definitions_finish(replay->definitions);
    if (!rc)
        rc = finish(replay);
    return rc ? rc : mt_summary_take(replay);
}

int mt_replay(const char *path, const struct mt_question *question, struct mt_replay *replay,
              struct mt_trace_error *error)
{
    int rc = mt_replay_begin(replay, path, question);
    if (!rc)
        rc = mt_scan(path, mt_replay_batch, replay, error);
    return rc ? rc : mt_replay_end(replay);
}

void mt_replay_clear(struct mt_replay *replay)
{
    mt_equal_sets_clear(&replay->gradients);
    for (unsigned slot = 0; slot < MT_DEVICES; slot++) {
        mt_spans_clear(&replay->spans[slot]);
        mt_timeline_clear(&replay->timeline[slot]);
        mt_places_clear(&replay->places[slot]);
    }
    mt_birth_drop(replay->present.nobody.birth);
    mt_heap_clear(&replay->blocks);
    mt_cuda_clear(&replay->cuda);
    mt_tracker_clear(&replay->tracker); /* after the blocks: it has their ends */
    mt_host_clear(&replay->host);
    mt_cuda_pools_clear(&replay->cuda_pools);
    mt_holders_clear(&replay->holders);
    mt_uses_clear(&replay->uses_of_blocks);
    mt_uses_clear(&replay->uses_of_cuda);
    mt_visits_clear(&replay->visits);
    mt_turns_clear(&replay->turns);
    mt_named_turns_clear(&replay->named);
    mt_trainers_clear(&replay->trainers);
    free(replay->reserved.new.call);
    mt_stream_pools_clear(&replay->reserved.pools);
    mt_block_requests_clear(&replay->reserved.of_blocks);
    mt_block_requests_clear(&replay->reserved.of_segments);
    mt_block_requests_clear(&replay->reserved.of_pieces);
    mt_block_requests_clear(&replay->of_cuda_blocks);
    mt_address_map_clear(&replay->reserved.waiting);
    mt_cuda_objects_clear(&replay->objects);
    mt_summaries_clear(&replay->summaries);
    mt_unsimulated_clear(&replay->unsimulated);
    mt_rule_memo_clear(&replay->memo);
    mt_definitions_destroy(replay->definitions);
    memset(replay, 0, sizeof *replay);
}
