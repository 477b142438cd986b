/* SPDX-License-Identifier: Apache-2.0 */
#include "replay-parts.h"
#include "scan.h"
#include "segments.h"
#include "sites.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* PyTorch counts too: after each event its total has to have moved by the event's size. */
static void compare_total(struct mt_replay *replay, const struct mt_event *event)
{
    unsigned slot = mt_device_slot(event->device);
    uint64_t change = event->kind == MT_ALLOC ? event->arg[1] : -event->arg[1];
    if (!replay->now[slot].event)
        replay->unseen[slot] = event->arg[2] - change;
    else if (replay->now[slot].allocated + change != event->arg[2])
        replay->oddities.drift++;
}

void mt_replay_take_device(struct mt_replay *replay, unsigned slot)
{
    replay->at[slot] = replay->now[slot];
    replay->at[slot].cuda_bytes = replay->cuda.heap.total[slot].bytes;
    replay->cuda_at[slot] = replay->cuda_now[slot];
    replay->sample_at[slot] = replay->sample[slot];
    replay->awaits_sample[slot] = 1;
    replay->taken_ns[slot] = replay->time_ns;
    mt_heap_remember(&replay->blocks, slot);
    mt_heap_remember(&replay->cuda.heap, slot);
    mt_heap_remember(&replay->cuda.mapped, slot);
}

static void take_all(struct mt_replay *replay)
{
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        mt_replay_take_device(replay, slot);
    mt_host_take(&replay->host);
    replay->taken = replay->question.moment.kind != MT_AT_OOM; /* the last one counts */
    replay->at_event = replay->events;
    replay->at_time_ns = replay->time_ns;
}

/* Whether the event lies after a moment that is given by its time or its number. */
static int is_past(const struct mt_replay *replay, const struct mt_event *event)
{
    const struct mt_moment *moment = &replay->question.moment;
    if (moment->kind == MT_AT_TIME)
        return event->time_ns > moment->value;
    return moment->kind == MT_AT_EVENT && replay->events >= moment->value;
}

struct mt_rule_context mt_replay_context(const struct mt_replay *replay)
{
    return (struct mt_rule_context){.definitions = replay->definitions,
                                    .ranges = &replay->tracker.ranges,
                                    .saw_parameters = replay->tracker.saw_parameters,
                                    .saw_gradients = replay->survey.kinds[MT_GRADIENT] &&
                                                     !replay->question.no_labels,
                                    .user = replay->question.rules,
                                    .saw_steps = replay->tracker.steps_begun > 0};
}

/* What is known of the block when it ends has to do here: no other blocks are looked at. */
static void draw(struct mt_replay *replay, const struct mt_block *block, uint64_t end)
{
    struct mt_timeline *timeline = &replay->timeline[mt_device_slot(block->device)];
    if (end != UINT64_MAX && !mt_timeline_sees(timeline, block->event, end))
        return;
    struct mt_rule_context context = mt_replay_context(replay);
    mt_timeline_add(timeline, mt_classify(&context, block)->category, block->size, block->event,
                    end);
}

/* Keeps a copy of a block that has ended, or lives at the trace's end, if it is asked for. */
static void watch(struct mt_replay *replay, const struct mt_block *block)
{
    if (!replay->question.address || replay->question.address - block->address >= block->size)
        return;
    replay->watched = *block;
    replay->n_watched++;
}

void mt_replay_conclude(struct mt_replay *replay, struct mt_block *block, int at_end)
{
    mt_tracker_ended(&replay->tracker, block, at_end);
    watch(replay, block);
    if (replay->question.whole_run)
        mt_places_ended(&replay->places[mt_device_slot(block->device)], replay->definitions, block,
                        at_end);
    draw(replay, block, at_end ? UINT64_MAX : replay->events);
}

int mt_replay_begin_life(struct mt_replay *replay, struct mt_block *block)
{
    block->event = replay->events;
    mt_tracker_made(&replay->tracker, block);
    return replay->question.whole_run
               ? mt_places_made(&replay->places[mt_device_slot(block->device)], replay->definitions,
                                block)
               : 0;
}

static void end_block(struct mt_replay *replay, struct mt_block *block)
{
    mt_replay_conclude(replay, block, 0);
    mt_heap_end(&replay->blocks, block);
}

int mt_replay_see(struct mt_replay *replay, unsigned slot, const struct mt_totals *now)
{
    struct mt_range_most most = {now->allocated, now->time_ns, now->event};
    if (now->range && mt_ranges_see(&replay->tracker.ranges, slot, now->range, &most))
        return -ENOMEM;
    return mt_spans_see(&replay->spans[slot], &replay->tracker.now, replay->events, replay->time_ns,
                        now->allocated, now->reserved);
}

/* What is reserved changes. Where it grows though as much as was wanted lay free, in pieces. */
static void see_reserved(struct mt_replay *replay, const struct mt_totals *before,
                         const struct mt_event *event, const struct mt_block *made)
{
    unsigned slot = mt_device_slot(event->device);
    uint64_t lay_free = before->reserved - before->allocated;
    struct mt_worst *worst = &replay->worst[slot];
    mt_timeline_reserve(&replay->timeline[slot], event->arg[3] - before->reserved, replay->events);
    if (!made || event->arg[3] < before->reserved || before->reserved < before->allocated ||
        lay_free < event->arg[1] ||
        event->arg[1] <= MT_SMALL_BLOCK) /* small ones have a pool of their own */
        return;
    worst->times++;
    if (lay_free > worst->lay_free)
        *worst =
            (struct mt_worst){.times = worst->times,
                              .time_ns = event->time_ns,
                              .event = replay->events,
                              .wanted = event->arg[1],
                              .lay_free = lay_free,
                              .reserved = before->reserved,
                              .stack = mt_line_stack(replay->definitions, made),
                              .node_name = made->node_name,
                              .unlabelled = mt_line_stack(
                                  replay->definitions, &(struct mt_block){.stack = event->stack})};
}

/* made: the block of an allocation. */
static int see_total(struct mt_replay *replay, const struct mt_event *event,
                     const struct mt_block *made)
{
    unsigned slot = mt_device_slot(event->device);
    struct mt_totals *now = &replay->now[slot];
    if (event->arg[3] != now->reserved)
        see_reserved(replay, now, event, made);
    /* One by one: gcc makes a compound literal elsewhere first, and waits for it to be copied. */
    now->when = replay->tracker.now;
    now->range = mt_tracker_range(&replay->tracker, event->thread);
    now->event = replay->events;
    now->time_ns = event->time_ns;
    now->allocated = event->arg[2];
    now->reserved = event->arg[3];
    now->known_bytes = replay->blocks.total[slot].bytes;
    now->cuda_bytes = replay->cuda.heap.total[slot].bytes;
    if (replay->most_reserved[slot] < now->reserved)
        replay->most_reserved[slot] = now->reserved;
    if (mt_is_new_peak(&replay->peak[slot], now->allocated)) {
        replay->peak[slot] = *now;
        if (replay->question.moment.kind == MT_AT_PEAK)
            mt_replay_take_device(replay, slot);
    }
    return mt_replay_see(replay, slot, now);
}

/* PyTorch begins to use a device: what CUDA hands out on it is no block of its own any more. */
static void begin_blocks(struct mt_replay *replay, unsigned slot)
{
    mt_spans_clear(&replay->spans[slot]);
    mt_timeline_clear(&replay->timeline[slot]);
    mt_places_clear(&replay->places[slot]);
    mt_ranges_forget(&replay->tracker.ranges, slot);
}

static int on_alloc(struct mt_replay *replay, const struct mt_event *event)
{
    mt_replay_went_on(replay);
    if (mt_replay_is_of_cuda(replay, mt_device_slot(event->device)))
        begin_blocks(replay, mt_device_slot(event->device));
    if (mt_timeline_reach(&replay->timeline[mt_device_slot(event->device)], replay->events))
        return -ENOMEM;
    compare_total(replay, event);
    struct mt_block *block = mt_heap_at(&replay->blocks, event->arg[0]);
    if (block) {
        replay->oddities.replaced++;
        end_block(replay, block);
    }
    block = mt_heap_add(&replay->blocks, event);
    if (!block || mt_replay_begin_life(replay, block))
        return -ENOMEM;
    return see_total(replay, event, block);
}

static int on_free(struct mt_replay *replay, const struct mt_event *event)
{
    if (mt_replay_is_of_cuda(replay, mt_device_slot(event->device)))
        begin_blocks(replay, mt_device_slot(event->device));
    if (mt_timeline_reach(&replay->timeline[mt_device_slot(event->device)], replay->events))
        return -ENOMEM;
    compare_total(replay, event);
    struct mt_block *block = mt_heap_at(&replay->blocks, event->arg[0]);
    if (block && block->size != event->arg[1])
        replay->oddities.wrong_size++;
    if (block)
        end_block(replay, block);
    else if (event->arg[0]) /* in a compact trace, frees of nothing carry totals */
        replay->oddities.unknown++;
    return see_total(replay, event, block); /* the first event may be a free */
}

void mt_replay_add_oom(struct mt_replay *replay, const struct mt_oom *oom)
{
    const struct mt_oom *last =
        replay->n_ooms ? &replay->ooms[(replay->n_ooms - 1) % MT_OOMS_KEPT] : NULL;
    if (last && last->of_cuda && !last->went_on && last->device == oom->device &&
        (!oom->of_cuda || last->wanted == oom->wanted))
        replay->n_ooms--; /* one and the same: tried again, or PyTorch says what CUDA said before */
    else
        mt_replay_went_on(replay);
    replay->ooms[replay->n_ooms++ % MT_OOMS_KEPT] = *oom;
    if (replay->question.moment.kind == MT_AT_OOM)
        take_all(replay);
}

static void on_oom(struct mt_replay *replay, const struct mt_event *event)
{
    struct mt_totals *now = &replay->now[mt_device_slot(event->device)];
    if (now->event) { /* what was cached has just been given back to CUDA */
        mt_timeline_reserve(&replay->timeline[mt_device_slot(event->device)],
                            event->arg[2] - now->reserved, now->event);
        now->reserved = event->arg[2];
    }
    mt_replay_add_oom(replay, &(struct mt_oom){.time_ns = event->time_ns,
                                               .wanted = event->arg[0],
                                               .allocated = event->arg[1],
                                               .reserved = event->arg[2],
                                               .stack = event->stack,
                                               .device = event->device});
}

static void on_sample(struct mt_replay *replay, const struct mt_event *event)
{
    unsigned slot = mt_device_slot(event->device);
    replay->sample[slot] = (struct mt_sample){.time_ns = event->time_ns,
                                              .total = event->arg[0],
                                              .free = event->arg[1],
                                              .own = event->arg[2],
                                              .others = event->arg[3],
                                              .cuda_bytes = replay->cuda.heap.total[slot].bytes};
    const struct mt_sample *before = &replay->sample_at[slot];
    uint64_t taken_ns = replay->taken_ns[slot];
    if (replay->awaits_sample[slot] &&
        (!before->time_ns || event->time_ns - taken_ns <= taken_ns - before->time_ns))
        replay->sample_at[slot] = replay->sample[slot];
    replay->awaits_sample[slot] = 0;
}

static int is_label(unsigned kind)
{
    return kind >= MT_SAVED && kind <= MT_REQUIRES_GRAD;
}

static int on_event(struct mt_replay *replay, const struct mt_event *event)
{
    if (!replay->taken && is_past(replay, event))
        take_all(replay);
    replay->events++;
    replay->time_ns = event->time_ns;
    if (replay->question.no_labels && is_label(event->kind))
        return 0;
    int rc = mt_tracker_event(&replay->tracker, event);
    if (rc)
        return rc;
    switch (event->kind) {
    case MT_ALLOC:
        return on_alloc(replay, event);
    case MT_FREE:
        return on_free(replay, event);
    case MT_OOM:
        on_oom(replay, event);
        return 0;
    case MT_CUDA_MALLOC:
    case MT_CUDA_FREE:
    case MT_CUDA_FREE_FAILED:
    case MT_CUDA_MALLOC_ASYNC:
    case MT_CUDA_FREE_ASYNC:
    case MT_CUDA_MAP:
    case MT_CUDA_UNMAP:
        if (mt_host_event(&replay->host, event, replay->events))
            return -ENOMEM;
        return mt_replay_cuda(replay, event);
    case MT_CUDA_COPY:
    case MT_CUDA_SET:
        return mt_cuda_event(&replay->cuda, event);
    case MT_DEVICE_MEMORY:
        on_sample(replay, event);
        return 0;
    }
    return 0;
}

/* Most events begin with the address of a block: its place is brought from memory in time. */
#define EVENTS_AHEAD 8u

static int handle(void *data, const struct mt_batch *batch)
{
    struct mt_replay *replay = data;
    const struct mt_watcher *watcher = replay->question.watcher;
    mt_survey_batch(&replay->survey, batch);
    for (size_t i = 0; i < batch->n_definitions; i++)
        if (mt_definitions_add(replay->definitions, &batch->definitions[i]) == -ENOMEM)
            return -ENOMEM;
    for (size_t i = 0; i < batch->n_events; i++) {
        if (i + EVENTS_AHEAD < batch->n_events)
            mt_address_map_expect(&replay->blocks.by_address,
                                  batch->events[i + EVENTS_AHEAD].arg[0]);
        mt_survey_event(&replay->survey, &batch->events[i]);
        if (on_event(replay, &batch->events[i]) ||
            (watcher && watcher->saw(watcher->data, replay, &batch->events[i])))
            return -ENOMEM;
    }
    return 0;
}

/* As a compact trace tells them, in one or several records. */
static int take_places(struct mt_replay *replay, unsigned slot)
{
    const char *text;
    char key[64];
    int rc = 0;
    for (size_t part = 0; !rc; part++) {
        snprintf(key, sizeof key, MT_WHOLE "places.%d.%zu", (int)slot - 1, part);
        if (!(text = mt_info(replay->definitions, key)))
            return 0;
        if (!part)
            mt_places_clear(&replay->places[slot]);
        rc = mt_places_parse(&replay->places[slot], replay->definitions, text);
    }
    return rc == -ENOMEM ? rc : 0;
}

/* Those of the whole trace, since totals leap where blocks are missing. */
static void take_oddities(struct mt_oddities *odd, const char *text)
{
    *odd = (struct mt_oddities){0};
    if (text)
        sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &odd->replaced, &odd->unknown,
               &odd->wrong_size, &odd->drift);
}

static void take_worst(struct mt_replay *replay, unsigned slot)
{
    struct mt_worst worst = {0};
    char key[64];
    snprintf(key, sizeof key, MT_WHOLE "worst.%d", (int)slot - 1);
    const char *text = mt_info(replay->definitions, key);
    replay->worst[slot] = worst;
    if (text && sscanf(text,
                       "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                       " %" SCNu32 " %" SCNu32 " %" SCNu32,
                       &worst.times, &worst.time_ns, &worst.event, &worst.wanted, &worst.lay_free,
                       &worst.reserved, &worst.stack, &worst.node_name, &worst.unlabelled) == 9)
        replay->worst[slot] = worst;
    if (replay->question.no_labels) {
        replay->worst[slot].stack = worst.unlabelled;
        replay->worst[slot].node_name = 0;
    }
}

/* A compact trace tells what only all blocks can show, since it has not all. */
static int take_whole(struct mt_replay *replay)
{
    char key[64];
    int rc = 0;
    if (!mt_info(replay->definitions, "compact"))
        return 0;
    take_oddities(&replay->oddities, mt_info(replay->definitions, MT_WHOLE "oddities"));
    for (unsigned slot = 0; !rc && slot < MT_DEVICES; slot++) {
        snprintf(key, sizeof key, MT_WHOLE "chart.%d", (int)slot - 1);
        const char *chart = mt_info(replay->definitions, key);
        if (chart && replay->timeline[slot].change)
            rc = mt_timeline_parse(&replay->timeline[slot], chart) == -ENOMEM ? -ENOMEM : 0;
        take_worst(replay, slot);
        if (!rc && replay->question.whole_run)
            rc = take_places(replay, slot);
    }
    return rc;
}

static void number_iterations(struct mt_replay *replay, unsigned slot)
{
    const struct mt_spans *spans = &replay->spans[slot];
    mt_spans_number(&replay->spans[slot]);
    for (size_t i = 0; i < spans->n; i++)
        if (spans->span[i].iteration != (i ? spans->span[i - 1].iteration : 0))
            mt_timeline_iteration(&replay->timeline[slot], spans->span[i].event);
    mt_timeline_finish(&replay->timeline[slot], replay->events);
}

/* The blocks that are still live have reached the end of what is known of them. */
static void finish(struct mt_replay *replay)
{
    if (!replay->taken && replay->question.moment.kind != MT_AT_PEAK &&
        replay->question.moment.kind != MT_AT_OOM)
        take_all(replay);
    if (replay->survey.complete)
        mt_tracker_finish(&replay->tracker);
    for (uint32_t i = 1; i < replay->blocks.n_records; i++) {
        struct mt_block *block = mt_heap_record(&replay->blocks, i);
        if (block->state == MT_BLOCK_LIVE)
            mt_replay_conclude(replay, block, 1);
    }
    for (uint32_t i = 1; i < replay->cuda.heap.n_records; i++) {
        struct mt_block *block = mt_heap_record(&replay->cuda.heap, i);
        if (block->state == MT_BLOCK_LIVE &&
            mt_replay_is_of_cuda(replay, mt_device_slot(block->device)))
            mt_replay_conclude(replay, block, 1);
    }
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        number_iterations(replay, slot);
    mt_ranges_finish(&replay->tracker.ranges);
    mt_origins_sort(&replay->cuda.twice);
    mt_origins_sort(&replay->cuda.by_others);
}

int mt_replay(const char *path, const struct mt_question *question, struct mt_replay *replay,
              struct mt_trace_error *error)
{
    memset(replay, 0, sizeof *replay);
    replay->question = *question;
    mt_survey_begin(&replay->survey, path);
    replay->definitions = mt_definitions_create();
    if (!replay->definitions)
        return -ENOMEM;
    replay->tracker.definitions = replay->definitions;
    replay->tracker.heap = &replay->blocks;
    replay->tracker.cuda = &replay->cuda.heap;
    int rc = mt_scan(path, handle, replay, error);
    if (rc)
        return rc;
    rc = mt_definitions_finish(replay->definitions);
    finish(replay);
    return rc ? rc : take_whole(replay);
}

void mt_replay_clear(struct mt_replay *replay)
{
    for (unsigned slot = 0; slot < MT_DEVICES; slot++) {
        mt_spans_clear(&replay->spans[slot]);
        mt_timeline_clear(&replay->timeline[slot]);
        mt_places_clear(&replay->places[slot]);
    }
    mt_tracker_clear(&replay->tracker);
    mt_heap_clear(&replay->blocks);
    mt_cuda_clear(&replay->cuda);
    mt_host_clear(&replay->host);
    mt_definitions_destroy(replay->definitions);
    memset(replay, 0, sizeof *replay);
}
