/* SPDX-License-Identifier: Apache-2.0 */
/* Perfetto's traces: a process for each trace, in it a group of tracks for each device. */
#include "analyzer/classify/modules.h"
#include "analyzer/model/user-line.h"
#include "analyzer/support/address-map.h"
#include "analyzer/support/by-id.h"
#include "analyzer/support/text.h"
#include "first-pass.h"
#include "perfetto-join.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* A block has its own slice if it is at least this fraction of its device's peak. */
#define LARGE 200u

/* Tracks of a kind, so that slices do not overlap; free tracks are reused. */
struct lanes {
    const char *name;
    uint64_t parent;
    uint64_t *lane; /* tracks that are free */
    size_t n_free, capacity;
    struct mt_address_map in_use; /* key -> track */
};

struct device {
    bool is_shown, of_cuda;
    uint64_t track, allocated, reserved, category[MT_CATEGORY_ROOM], oom; /* tracks; 0: not yet */
    uint64_t bytes[MT_CATEGORY_ROOM], total, last_reserved;
    uint64_t large; /* bytes of a block that is shown */
    struct lanes blocks;
};

struct process {
    struct mt_perfetto *to;
    const struct mt_export *export;
    const struct mt_pass *pass;
    uint64_t start_ns, pid, track; /* unix time of the recording's begin */
    struct device device[MT_DEVICES];
    struct mt_by_id threads; /* tracks, uint64_t; 0: not yet */
    struct lanes ranges;
    bool is_over; /* the sink accepts no more */
};

/* Return the track of a key, which is reserved until it is returned; 0 if none. */
static uint64_t take_lane(struct mt_perfetto *to, struct lanes *lanes, uint64_t key)
{
    uint64_t track = lanes->n_free ? lanes->lane[--lanes->n_free]
                                   : mt_perfetto_track(to, lanes->parent, lanes->name);
    if (mt_address_map_put(&lanes->in_use, key, (uint32_t)track))
        to->rc = -ENOMEM;
    return track;
}

static uint64_t give_lane(struct mt_perfetto *to, struct lanes *lanes, uint64_t key)
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

static void lanes_clear(struct lanes *lanes)
{
    free(lanes->lane);
    mt_address_map_clear(&lanes->in_use);
}

static struct device *device_of(struct process *process, int16_t device)
{
    return &process->device[mt_device_slot(device)];
}

/* Count an allocated or freed block of the category in the device's counters. */
static void count(struct process *process, struct device *device, enum mt_category category,
                  uint64_t time_ns)
{
    if (!device->category[category])
        device->category[category] =
            mt_perfetto_counter(process->to, device->track, mt_categories[category].label);
    mt_perfetto_count(process->to, device->category[category], time_ns, device->bytes[category]);
    mt_perfetto_count(process->to, device->allocated, time_ns, device->total);
}

/* Begin "64.00 MiB activations train.py:9 main", with what else is known. */
static void begin_block(struct process *process, struct device *device,
                        const struct mt_block *block, const struct mt_rule *rule, uint64_t time_ns)
{
    const struct mt_definitions *d = process->pass->replay.definitions;
    char size[MT_SIZE_TEXT], place[512], name[640];
    mt_named_place_text(place, sizeof place, d, block->name, mt_line_stack(d, block));
    snprintf(name, sizeof name, "%s %s %s", mt_size_text(size, block->size),
             mt_categories[rule->category].label, place);
    uint64_t lane = take_lane(process->to, &device->blocks, block->address);
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

static void note_made(struct process *process, const struct mt_replay *replay,
                      const struct mt_event *event)
{
    int found = mt_pass_rule(process->pass, replay->events);
    const struct mt_block *block = found >= 0 ? made(replay, event) : NULL;
    struct device *device = block ? device_of(process, block->device) : NULL;
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
                       const struct mt_rule *rule, bool at_end)
{
    struct process *process = data;
    struct device *device = device_of(process, block->device);
    int found = mt_pass_rule(process->pass, mt_block_event(block));
    uint64_t time_ns = process->start_ns + replay->time_ns;
    if (!device->is_shown || found < 0 || process->is_over ||
        device->of_cuda != mt_replay_is_of_cuda(replay, mt_device_slot(block->device)))
        return;
    rule = mt_rule_at(process->export->question.rules, (size_t)found);
    uint64_t lane = give_lane(process->to, &device->blocks, block->address);
    if (lane)
        mt_perfetto_event(process->to, MT_PERFETTO_END, lane, NULL, time_ns);
    if (at_end)
        return;
    device->bytes[rule->category] -= block->size;
    device->total -= block->size;
    count(process, device, rule->category, time_ns);
}

static void note_reserved(struct process *process, const struct mt_event *event)
{
    struct device *device = device_of(process, event->device);
    if (!device->is_shown || !device->reserved || event->ALLOC.reserved == device->last_reserved)
        return;
    device->last_reserved = event->ALLOC.reserved;
    mt_perfetto_count(process->to, device->reserved, process->start_ns + event->time_ns,
                      event->ALLOC.reserved);
}

static void note_oom(struct process *process, const struct mt_event *event)
{
    struct device *device = device_of(process, event->device);
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

static uint64_t thread_track(struct process *process, uint32_t thread)
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

static void note_range(struct process *process, const struct mt_event *event)
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
        track = take_lane(to, &process->ranges, event->RANGE_START.range);
        mt_perfetto_event(to, MT_PERFETTO_BEGIN, track, name, time_ns);
        break;
    case MT_RANGE_END:
        track = give_lane(to, &process->ranges, event->RANGE_END.range);
        if (track)
            mt_perfetto_event(to, MT_PERFETTO_END, track, NULL, time_ns);
    }
}

static int note(void *data, const struct mt_replay *replay, const struct mt_event *event)
{
    struct process *process = data;
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

/* Write counters, large blocks, ranges and out-of-memory in a second pass. As mt_export_writer. */
static int put_events(struct process *process, const char *path, struct mt_export_error *error)
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

static uint64_t number_of(const struct mt_pass *pass, const char *key)
{
    const char *text = mt_info(pass->replay.definitions, key);
    return text ? strtoull(text, NULL, 10) : 0;
}

/* Make the process "rank 3: python train.py". */
static void make_process(struct process *process)
{
    const struct mt_definitions *d = process->pass->replay.definitions;
    const char *command = mt_info(d, "command"), *rank = mt_info(d, "rank");
    char name[512];
    snprintf(name, sizeof name, "%s%s%s%.400s", rank && *rank ? "rank " : "",
             rank && *rank ? rank : "", rank && *rank ? ": " : "", command ? command : "memtap");
    process->start_ns = number_of(process->pass, "start_realtime_ns");
    process->pid = number_of(process->pass, "pid");
    mt_perfetto_sequence(process->to, process->start_ns);
    process->track = mt_perfetto_process(process->to, process->pid, name);
    process->ranges = (struct lanes){.name = "ranges", .parent = process->track};
}

static void make_device(struct process *process, unsigned slot)
{
    const struct mt_replay *replay = &process->pass->replay;
    const struct mt_question *question = &process->export->question;
    struct device *device = &process->device[slot];
    char name[MT_SIZE_TEXT];
    device->of_cuda = !replay->of_torch.peak[slot].event;
    const struct mt_totals *peak = &mt_replay_level(replay, device->of_cuda)->peak[slot];
    if (!peak->event || (question->one_device && mt_device_slot(question->device) != slot))
        return;
    device->is_shown = true;
    device->large = peak->allocated / LARGE + 1;
    device->track =
        mt_perfetto_track(process->to, process->track, mt_device_text(name, (int)slot - 1));
    device->allocated = mt_perfetto_counter(process->to, device->track, "allocated");
    if (!device->of_cuda)
        device->reserved = mt_perfetto_counter(process->to, device->track, "reserved");
    device->blocks = (struct lanes){.name = "large blocks", .parent = device->track};
}

static const char *span_name(const struct mt_span *span)
{
    return mt_span_evaluates(span) ? "evaluation"
           : !span->iteration      ? "start-up"
                                   : mt_phase_names[span->phase].name;
}

static void put_slice(struct mt_perfetto *to, uint64_t track, const char *name, uint64_t from,
                      uint64_t until)
{
    mt_perfetto_event(to, MT_PERFETTO_BEGIN, track, name, from);
    mt_perfetto_event(to, MT_PERFETTO_END, track, NULL, until);
}

/* Write the phases. An iteration covers all of its spans, but not an evaluation next to it. */
static void put_phases(struct process *process)
{
    const struct mt_replay *replay = &process->pass->replay;
    for (unsigned slot = 0; slot < MT_DEVICES; slot++) {
        const struct mt_spans *spans = &replay->spans[slot];
        if (!process->device[slot].is_shown || !spans->n)
            continue;
        uint64_t parent = process->device[slot].track, start = process->start_ns;
        uint64_t phases = mt_perfetto_track(process->to, parent, "phases");
        uint64_t iterations = mt_perfetto_track(process->to, parent, "iterations");
        for (size_t i = 0, first = 0; i < spans->n; i++) {
            const struct mt_span *span = &spans->span[i];
            bool is_last = i + 1 == spans->n;
            uint64_t end = start + (is_last ? replay->time_ns : span[1].time_ns);
            put_slice(process->to, phases, span_name(span), start + span->time_ns, end);
            if (!is_last && span[1].iteration == span->iteration &&
                mt_span_is_beside(spans, span + 1) == mt_span_is_beside(spans, span))
                continue;
            char name[32];
            snprintf(name, sizeof name, "iteration %u", span->iteration);
            if (span->iteration && !mt_span_is_beside(spans, span))
                put_slice(process->to, iterations, name, start + spans->span[first].time_ns, end);
            first = i + 1;
        }
    }
}

static void clear_process(struct process *process)
{
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        lanes_clear(&process->device[slot].blocks);
    lanes_clear(&process->ranges);
    mt_by_id_clear(&process->threads);
    free(process);
}

static int put_trace(struct mt_perfetto *to, const struct mt_export *export, const char *path,
                     uint64_t *start_ns, struct mt_export_error *error)
{
    int rc;
    struct process *process = calloc(1, sizeof *process);
    struct mt_pass *pass = mt_pass_open(export, path, &rc, error);
    if (!process)
        rc = -ENOMEM;
    if (!rc) {
        process->to = to;
        process->export = export;
        process->pass = pass;
        make_process(process);
        *start_ns = process->start_ns;
        for (unsigned slot = 0; slot < MT_DEVICES; slot++)
            make_device(process, slot);
        to->is_apart = true;
        put_phases(process);
        to->is_apart = false;
        rc = put_events(process, path, error);
    }
    mt_pass_close(pass);
    if (process)
        clear_process(process);
    return rc ? rc : to->rc;
}

int mt_export_perfetto(const struct mt_export *export, struct mt_sink *sink,
                       struct mt_export_error *error)
{
    struct mt_perfetto to = {.sink = sink};
    uint64_t start_ns = 0;
    int rc = 0;
    for (size_t i = 0; i < export->n_paths && !rc; i++)
        rc = put_trace(&to, export, export->paths[i], &start_ns, error);
    if (!rc && export->with)
        rc = mt_perfetto_join(&to, export->with, start_ns, error);
    mt_perfetto_clear(&to);
    return rc ? rc : to.rc;
}
