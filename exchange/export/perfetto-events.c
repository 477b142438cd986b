/* SPDX-License-Identifier: Apache-2.0 */
/* Counters, large blocks, ranges and out-of-memory, as the trace is read. */
#include "analyzer/classify/modules.h"
#include "analyzer/model/user-line.h"
#include "analyzer/support/text.h"
#include "perfetto.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t perfetto_take(struct mt_perfetto *to, struct mt_perfetto_lanes *lanes, uint64_t key)
{
    uint64_t track = lanes->n_free ? lanes->lane[--lanes->n_free]
                                   : mt_perfetto_track(to, lanes->parent, lanes->name);
    if (mt_address_map_put(&lanes->in_use, key, (uint32_t)track))
        to->rc = -ENOMEM;
    return track;
}

static uint64_t perfetto_give(struct mt_perfetto *to, struct mt_perfetto_lanes *lanes, uint64_t key)
{
    uint64_t track = mt_address_map_take(&lanes->in_use, key);
    if (!track)
        return 0;
    if (MT_GROW(lanes->lane, lanes->capacity, lanes->n_free))
        to->rc = -ENOMEM;
    else
        lanes->lane[lanes->n_free++] = track;
    return track;
}

void mt_perfetto_lanes_clear(struct mt_perfetto_lanes *lanes)
{
    free(lanes->lane);
    mt_address_map_clear(&lanes->in_use);
}

static struct mt_perfetto_device *device_of(struct mt_perfetto_process *process, int16_t device)
{
    return &process->device[mt_device_slot(device)];
}

/* Count an allocated or freed block of the category in the device's counters. */
static void count(struct mt_perfetto_process *process, struct mt_perfetto_device *device,
                  enum mt_category category, uint64_t time_ns)
{
    if (!device->category[category])
        device->category[category] =
            mt_perfetto_counter(process->to, device->track, mt_categories[category].label);
    mt_perfetto_count(process->to, device->category[category], time_ns, device->bytes[category]);
    mt_perfetto_count(process->to, device->allocated, time_ns, device->total);
}

/* Begin "64.00 MiB activations train.py:9 main", with what else is known. */
static void begin_block(struct mt_perfetto_process *process, struct mt_perfetto_device *device,
                        const struct mt_block *block, const struct mt_rule *rule, uint64_t time_ns)
{
    const struct mt_definitions *d = process->pass->replay.definitions;
    char size[MT_SIZE_TEXT], place[512], name[640];
    mt_named_place_text(place, sizeof place, d, block->name, mt_line_stack(d, block));
    snprintf(name, sizeof name, "%s %s %s", mt_size_text(size, block->size),
             mt_categories[rule->category].label, place);
    uint64_t lane = perfetto_take(process->to, &device->blocks, block->address);
    mt_perfetto_begin_event(process->to, MT_PERFETTO_BEGIN, lane, name);
    mt_perfetto_add_number(process->to, "address", block->address);
    mt_perfetto_add_number(process->to, "bytes", block->size);
    mt_perfetto_add_text(process->to, "rule", rule->name);
    mt_perfetto_add_text(process->to, "certainty", mt_certainty_name(rule->certainty));
    mt_perfetto_add_text(process->to, "module",
                         mt_stack_module(d, mt_block_module(d, &(struct mt_verdict){block, rule})));
    mt_perfetto_end_event(process->to, time_ns);
}

static const struct mt_block *made(const struct mt_replay *replay, const struct mt_event *event)
{
    const struct mt_heap *heap = event->kind == MT_ALLOC ? &replay->blocks : &replay->cuda.heap;
    const struct mt_block *block = mt_heap_at(heap, event->address);
    return block && mt_block_event(block) == replay->events ? block : NULL;
}

static void note_made(struct mt_perfetto_process *process, const struct mt_replay *replay,
                      const struct mt_event *event)
{
    int found = mt_pass_rule(process->pass, replay->events);
    const struct mt_block *block = found >= 0 ? made(replay, event) : NULL;
    struct mt_perfetto_device *device = block ? device_of(process, block->device) : NULL;
    if (!device || !device->is_shown || device->of_cuda == (event->kind == MT_ALLOC))
        return;
    const struct mt_rule *rule = mt_rule_at(process->export->question.rules, (size_t)found);
    uint64_t time_ns = process->start_ns + event->time_ns;
    device->bytes[rule->category] += block->size;
    device->total += block->size;
    count(process, device, rule->category, time_ns);
    if (block->size >= device->large)
        begin_block(process, device, block, rule, time_ns);
}

static void note_ended(void *data, const struct mt_replay *replay, const struct mt_block *block,
                       const struct mt_rule *rule, int at_end)
{
    struct mt_perfetto_process *process = data;
    struct mt_perfetto_device *device = device_of(process, block->device);
    int found = mt_pass_rule(process->pass, mt_block_event(block));
    uint64_t time_ns = process->start_ns + replay->time_ns;
    if (!device->is_shown || found < 0 || process->is_over ||
        device->of_cuda != mt_replay_is_of_cuda(replay, mt_device_slot(block->device)))
        return;
    rule = mt_rule_at(process->export->question.rules, (size_t)found);
    uint64_t lane = perfetto_give(process->to, &device->blocks, block->address);
    if (lane)
        mt_perfetto_event(process->to, MT_PERFETTO_END, lane, NULL, time_ns);
    if (at_end)
        return;
    device->bytes[rule->category] -= block->size;
    device->total -= block->size;
    count(process, device, rule->category, time_ns);
}

static void note_reserved(struct mt_perfetto_process *process, const struct mt_event *event)
{
    struct mt_perfetto_device *device = device_of(process, event->device);
    if (!device->is_shown || !device->reserved || event->ALLOC.reserved == device->last_reserved)
        return;
    device->last_reserved = event->ALLOC.reserved;
    mt_perfetto_count(process->to, device->reserved, process->start_ns + event->time_ns,
                      event->ALLOC.reserved);
}

static void note_oom(struct mt_perfetto_process *process, const struct mt_event *event)
{
    struct mt_perfetto_device *device = device_of(process, event->device);
    if (!device->is_shown)
        return;
    if (!device->oom)
        device->oom = mt_perfetto_track(process->to, device->track, "out of memory");
    mt_perfetto_begin_event(process->to, MT_PERFETTO_INSTANT, device->oom, "out of memory");
    mt_perfetto_add_number(process->to, "requested bytes", event->OOM.size);
    mt_perfetto_add_number(process->to, "allocated bytes", event->OOM.allocated);
    mt_perfetto_add_number(process->to, "reserved bytes", event->OOM.reserved);
    mt_perfetto_end_event(process->to, process->start_ns + event->time_ns);
}

static uint64_t thread_track(struct mt_perfetto_process *process, uint32_t thread)
{
    const struct mt_definitions *d = process->pass->replay.definitions;
    uint64_t *track = mt_by_id_reach(&process->threads, thread, MT_THREAD_LIMIT, sizeof *track);
    if (!track) {
        process->to->rc = -ENOMEM;
        return 0;
    }
    if (!*track) {
        uint32_t tid;
        const char *name = mt_thread(d, thread, &tid);
        *track =
            mt_perfetto_thread(process->to, process->track, process->pid, tid ? tid : thread, name);
    }
    return *track;
}

static void note_range(struct mt_perfetto_process *process, const struct mt_event *event)
{
    const struct mt_definitions *d = process->pass->replay.definitions;
    struct mt_perfetto *to = process->to;
    uint64_t time_ns = process->start_ns + event->time_ns, track;
    char name[512];
    bool is_started = event->kind == MT_RANGE_START;
    uint32_t text = (uint32_t)(is_started ? event->RANGE_START.name : event->RANGE_PUSH.name);
    uint32_t domain = (uint32_t)(is_started ? event->RANGE_START.domain : event->RANGE_PUSH.domain);
    switch (event->kind) {
    case MT_RANGE_PUSH:
    case MT_RANGE_MARK:
        mt_range_name_text(name, sizeof name, d, text, domain);
        mt_perfetto_event(to,
                          event->kind == MT_RANGE_PUSH ? MT_PERFETTO_BEGIN : MT_PERFETTO_INSTANT,
                          thread_track(process, event->thread), name, time_ns);
        break;
    case MT_RANGE_POP:
        mt_perfetto_event(to, MT_PERFETTO_END, thread_track(process, event->thread), NULL, time_ns);
        break;
    case MT_RANGE_START:
        mt_range_name_text(name, sizeof name, d, text, domain);
        track = perfetto_take(to, &process->ranges, event->RANGE_START.range);
        mt_perfetto_event(to, MT_PERFETTO_BEGIN, track, name, time_ns);
        break;
    case MT_RANGE_END:
        track = perfetto_give(to, &process->ranges, event->RANGE_END.range);
        if (track)
            mt_perfetto_event(to, MT_PERFETTO_END, track, NULL, time_ns);
    }
}

static int note(void *data, const struct mt_replay *replay, const struct mt_event *event)
{
    struct mt_perfetto_process *process = data;
    process->is_over = process->to->sink->rc || process->to->rc;
    if (process->is_over)
        return -ECANCELED;
    switch (event->kind) {
    case MT_ALLOC:
        note_made(process, replay, event);
        note_reserved(process, event);
        break;
    case MT_FREE:
        note_reserved(process, event);
        break;
    case MT_OOM:
        note_oom(process, event);
        break;
    case MT_CUDA_MALLOC:
    case MT_CUDA_MALLOC_ASYNC:
        note_made(process, replay, event);
        break;
    case MT_RANGE_PUSH:
    case MT_RANGE_POP:
    case MT_RANGE_START:
    case MT_RANGE_END:
    case MT_RANGE_MARK:
        note_range(process, event);
        break;
    }
    return 0;
}

int mt_perfetto_events(struct mt_perfetto_process *process, const char *path,
                       struct mt_export_error *error)
{
    const struct mt_watcher watcher = {note, process};
    const struct mt_life_watcher lives = {note_ended, process};
    struct mt_question question = {.moment = {MT_AT_END, 0},
                                   .rules = process->export->question.rules,
                                   .no_labels = process->export->question.no_labels,
                                   .watcher = &watcher,
                                   .lives = &lives};
    struct mt_trace_error fault = {0};
    struct mt_replay *replay = calloc(1, sizeof *replay);
    if (!replay)
        return -ENOMEM;
    int rc = mt_replay(path, &question, replay, &fault);
    mt_replay_clear(replay);
    free(replay);
    if (process->is_over)
        rc = process->to->rc;
    return mt_export_note(error, path, &fault, rc);
}
