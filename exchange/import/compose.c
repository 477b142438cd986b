/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two passes over the events. The first finds what was allocated before them: whatever they free,
 * or leave live at the end, without allocating it. The second writes the trace.
 */
#include "analyzer/support/grow.h"
#include "analyzer/support/room.h"
#include "analyzer/support/search.h"
#include "analyzer/trace/definitions.h"
#include "compose-write.h"

#include <inttypes.h>
#include <stdlib.h>

#define MOST_PAGES (1u << 20)
#define STEPS_A_PAGE 32u /* units of mt_work_is_too_much: a page is stored, sorted and written */
#define NO_WHENCE UINT32_MAX

static void fail(struct mt_composer *self, int rc)
{
    if (!self->rc)
        self->rc = rc;
}

/* Note initial allocations that are still live. */
static void was_there(struct mt_composer *self, bool is_segment, struct mt_import_extent extent)
{
    struct mt_import_extent **list = is_segment ? &self->first_segments : &self->first_blocks;
    size_t *n = is_segment ? &self->n_first_segments : &self->n_first_blocks;
    size_t *capacity = is_segment ? &self->first_segments_capacity : &self->first_blocks_capacity;
    if (mt_grow(list, capacity, *n + 1, sizeof **list)) {
        fail(self, -ENOMEM);
        return;
    }
    (*list)[(*n)++] = extent;
}

static void add(struct mt_composer *self, struct mt_extents *to,
                const struct mt_import_extent *extent)
{
    int rc = mt_extents_add(to, extent);
    if (rc == -EEXIST) { /* its end is missing */
        mt_extents_remove(to, extent->address);
        rc = mt_extents_add(to, extent);
    }
    if (rc)
        fail(self, rc);
}

/* Return whether a free is deferred. PyTorch records both halves of a free together unless other
 * streams use the block. */
static bool is_waiting(const struct mt_composer *self, const struct mt_import_event *event)
{
    const struct mt_import_event *next = mt_spool_peek(&self->spool, event->device);
    return event->action == MT_ACTION_FREE_REQUESTED && next &&
           (next->action != MT_ACTION_FREE_COMPLETED || next->address != event->address);
}

static void end_block(struct mt_composer *self, const struct mt_import_event *event, bool stays)
{
    struct mt_import_extent *block = mt_extents_at(&self->blocks, event->address);
    const struct mt_whence *whence = mt_compose_whence(self, event->whence);
    uint32_t thread = mt_compose_thread(self, whence);
    self->allocated[event->device] -= block->size;
    mt_compose_node(self, event->device, thread, whence);
    block->waits = stays && is_waiting(self, event);
    if (block->waits)
        WRITE(self, MT_FREE_WAITS, event->device, thread, 0, 0);
    WRITE(self, MT_FREE, event->device, thread, whence->stack, block->address, block->size,
          self->allocated[event->device], self->reserved[event->device]);
    block->is_pending = true;
    if (!stays)
        mt_extents_remove(&self->blocks, event->address);
}

/* Give a block the name that the event has; a later one replaces it. */
static void name_block(struct mt_composer *self, const struct mt_import_event *event)
{
    const struct mt_import_extent *block = mt_extents_at(&self->blocks, event->address);
    if (block && !block->is_pending && event->name)
        WRITE(self, MT_NAMED, block->device,
              mt_compose_thread(self, mt_compose_whence(self, event->whence)), 0, block->address,
              event->name);
}

static void do_alloc(struct mt_composer *self, const struct mt_import_event *event)
{
    struct mt_import_extent *there = mt_extents_at(&self->blocks, event->address);
    if (there && !there->is_pending)
        end_block(self, event, false); /* its free is missing */
    else if (there)
        mt_extents_remove(&self->blocks, event->address);
    bool has_segments = self->records->is_snapshot;
    struct mt_import_extent block = {.address = event->address,
                                     .tag = event->whence,
                                     .lane = self->records->is_snapshot ? event->lane : 0,
                                     .requested = event->size,
                                     .device = event->device};
    block.size = has_segments
                     ? mt_block_bytes(&self->segments, &self->blocks, event->address, event->size)
                     : event->size;
    mt_compose_alloc(self, &block);
    add(self, &self->blocks, &block);
    if (has_segments)
        name_block(self, event);
}

/* Note a block of which the events have only the free. */
static void freed_alone(struct mt_composer *self, const struct mt_import_event *event)
{
    const struct mt_import_extent block = {.address = event->address,
                                           .size = event->size,
                                           .tag = NO_WHENCE,
                                           .lane = self->records->is_snapshot ? event->lane : 0,
                                           .requested = event->size,
                                           .device = event->device,
                                           .is_pending = true};
    was_there(self, false, block);
    if (event->action == MT_ACTION_FREE_REQUESTED && self->records->is_snapshot)
        add(self, &self->blocks, &block); /* until its second half */
}

static void do_free(struct mt_composer *self, const struct mt_import_event *event)
{
    struct mt_import_extent *block = mt_extents_at(&self->blocks, event->address);
    if (!block && !self->is_writing) {
        freed_alone(self, event);
        return;
    }
    if (block && !block->is_pending)
        end_block(self, event, self->records->is_snapshot);
}

/* Complete a free that may have been requested before the first event. */
static void do_free_completed(struct mt_composer *self, const struct mt_import_event *event)
{
    const struct mt_import_extent *block = mt_extents_at(&self->blocks, event->address);
    if (!block && !self->is_writing)
        freed_alone(self, event);
    else if (block && !block->is_pending)
        end_block(self, event, true);
    else if (block && block->waits)
        WRITE(self, MT_FREE_DONE, event->device, MAIN_THREAD, 0, event->address);
    mt_extents_remove(&self->blocks, event->address);
}

static void add_segment(struct mt_composer *self, const struct mt_import_event *event,
                        uint64_t address, uint64_t size, bool is_pages)
{
    struct mt_import_extent segment = {.address = address,
                                       .size = size,
                                       .tag = event->whence,
                                       .device = event->device,
                                       .is_pages = is_pages,
                                       .is_small = size <= PAGE && !is_pages};
    if (mt_extents_at(&self->segments, address))
        return; /* it is there */
    mt_compose_segment(self, &segment, event->whence, false);
    add(self, &self->segments, &segment);
}

static void remove_segment(struct mt_composer *self, const struct mt_import_event *event,
                           uint64_t address, uint64_t size, bool is_pages)
{
    struct mt_import_extent *there = mt_extents_at(&self->segments, address);
    struct mt_import_extent segment = {.address = address,
                                       .size = size,
                                       .tag = NO_WHENCE,
                                       .device = event->device,
                                       .is_pages = is_pages,
                                       .is_small = size <= PAGE && !is_pages};
    if (there) {
        segment = *there;
        mt_compose_segment(self, &segment, event->whence, true);
        mt_extents_remove(&self->segments, address);
    } else if (!self->is_writing) {
        was_there(self, true, segment);
    }
}

/* Visit each page. Pages may be freed in different groups than they were mapped in, and one event
 * may cover a million of them. */
static void each_page(struct mt_composer *self, const struct mt_import_event *event, bool is_map)
{
    uint64_t n = event->size / PAGE < MOST_PAGES ? event->size / PAGE : MOST_PAGES;
    if (mt_work_is_too_much(n * STEPS_A_PAGE))
        fail(self, -E2BIG);
    for (uint64_t i = 0; i < n && !self->rc; i++)
        (is_map ? add_segment : remove_segment)(self, event, event->address + i * PAGE, PAGE, true);
}

/* Of page-locked memory only segments are written: what CUDA allocated for it. */
static bool is_of_host(const struct mt_import_event *event)
{
    return event->device == MT_IMPORT_HOST && event->action != MT_ACTION_SEGMENT_ALLOC &&
           event->action != MT_ACTION_SEGMENT_FREE;
}

static void do_event(struct mt_composer *self, const struct mt_import_event *event)
{
    if (is_of_host(event))
        return;
    switch (event->action) {
    case MT_ACTION_ALLOC:
        do_alloc(self, event);
        break;
    case MT_ACTION_FREE_REQUESTED:
        do_free(self, event);
        break;
    case MT_ACTION_FREE_COMPLETED:
        do_free_completed(self, event);
        break;
    case MT_ACTION_SEGMENT_ALLOC:
        add_segment(self, event, event->address, event->size, false);
        break;
    case MT_ACTION_SEGMENT_FREE:
        remove_segment(self, event, event->address, event->size, false);
        break;
    case MT_ACTION_SEGMENT_MAP:
    case MT_ACTION_SEGMENT_UNMAP:
        each_page(self, event, event->action == MT_ACTION_SEGMENT_MAP);
        break;
    case MT_ACTION_ANNOTATE:
        name_block(self, event);
        break;
    case MT_ACTION_OOM: {
        const struct mt_whence *whence = mt_compose_whence(self, event->whence);
        WRITE(self, MT_OOM, event->device, mt_compose_thread(self, whence), whence->stack,
              event->size, self->allocated[event->device], self->reserved[event->device]);
        break;
    }
    default:
        break;
    }
}

/* Write the ranges named by the program, up to this time. */
static void do_notes(struct mt_composer *self, int64_t until_us)
{
    const struct mt_records *records = self->records;
    for (; self->next_note < records->n_notes && records->note[self->next_note].time_us <= until_us;
         self->next_note++) {
        const struct mt_import_note *note = &records->note[self->next_note];
        int64_t since = note->time_us - records->first_us;
        if (since > 0 && (uint64_t)since * 1000 > self->time_ns)
            self->time_ns = (uint64_t)since * 1000;
        if (note->is_end)
            WRITE(self, MT_RANGE_POP, 0, MAIN_THREAD, 0, 0);
        else
            WRITE(self, MT_RANGE_PUSH, 0, MAIN_THREAD, 0, note->text, 0);
    }
}

/* Note PyTorch's total as the profile reports it. Memory that no event mentions is excluded from
 * it, and from the allocated bytes, so the unused cache is right. */
static void know_reserved(struct mt_composer *self, const struct mt_import_event *event)
{
    uint64_t bytes = (uint64_t)event->reserved_kib << 10, unknown = self->unknown[event->device];
    self->reserved[event->device] = bytes > unknown ? bytes - unknown : 0;
}

static int run(struct mt_composer *self)
{
    struct mt_import_event event;
    uint64_t number = 0;
    int rc = mt_spool_begin(&self->spool, self->records);
    while (!rc && !self->rc && mt_spool_next(&self->spool, &event)) {
        int64_t since = event.has_time ? event.time_us - self->records->first_us : (int64_t)number;
        uint64_t time = since > 0 ? (uint64_t)since * 1000 : 0;
        number++;
        if (self->is_writing && event.has_time)
            do_notes(self, event.time_us);
        if (time > self->time_ns)
            self->time_ns = time;
        if (!self->records->is_snapshot) {
            know_reserved(self, &event);
            fail(self, mt_profile_whence(self->records, event.whence,
                                         event.time_us * 1000 + event.nano, &event.whence));
        }
        do_event(self, &event);
    }
    if (!rc)
        rc = self->spool.rc;
    return rc ? rc : self->rc;
}

/* --- what was there at first --- */

static void compare_pages(struct mt_composer *self, const struct mt_import_segment *segment)
{
    for (uint64_t i = 0; i < segment->size / PAGE && i < MOST_PAGES; i++) {
        uint64_t address = segment->address + i * PAGE;
        if (!mt_extents_at(&self->segments, address))
            was_there(self, true,
                      (struct mt_import_extent){.address = address,
                                                .size = PAGE,
                                                .tag = segment->whence,
                                                .device = (uint16_t)segment->device,
                                                .is_pages = true});
    }
}

static void compare_block(struct mt_composer *self, const struct mt_import_segment *segment,
                          const struct mt_import_block *block)
{
    const struct mt_import_extent *extent = mt_extents_at(&self->blocks, block->address);
    bool is_there = extent && !extent->is_pending;
    if (!block->is_live)
        return;
    if (self->is_writing)
        self->summary->differing += !is_there || extent->size != block->size;
    else if (!is_there)
        was_there(self, false,
                  (struct mt_import_extent){.address = block->address,
                                            .size = block->size,
                                            .tag = block->whence,
                                            .lane = segment->lane,
                                            .requested = block->requested,
                                            .device = (uint16_t)segment->device});
}

/* At the end of the first pass, blocks that are live but were never allocated must have existed
 * before. Check that the sizes of the others match. */
static void compare_end(struct mt_composer *self)
{
    const struct mt_records *records = self->records;
    for (size_t i = 0; i < records->n_segments; i++) {
        const struct mt_import_segment *segment = &records->segment[i];
        if (segment->is_expandable && !self->is_writing)
            compare_pages(self, segment);
        else if (!self->is_writing && !mt_extents_at(&self->segments, segment->address))
            was_there(self, true,
                      (struct mt_import_extent){.address = segment->address,
                                                .size = segment->size,
                                                .tag = segment->whence,
                                                .device = (uint16_t)segment->device,
                                                .is_small = segment->is_small});
        for (uint64_t j = 0; j < segment->count && segment->device != MT_IMPORT_HOST; j++)
            compare_block(self, segment, &records->block[segment->first + j]);
    }
}

MT_ORDER(by_address, struct mt_import_extent, MT_RISING(address))

static void sort(struct mt_import_extent *extent, size_t n)
{
    if (n)
        qsort(extent, n, sizeof *extent, by_address);
}

static uint64_t rounded(uint64_t size)
{
    return size < 512 ? 512 : (size + 511) & ~UINT64_C(511);
}

/* Find the part of a profile's totals that exceeds its earlier blocks, and note it in the trace. */
static void know_unknown(struct mt_composer *self)
{
    uint64_t known[MT_IMPORT_DEVICES] = {0}, sum = 0;
    char text[32];
    for (size_t i = 0; i < self->n_first_blocks; i++)
        known[self->first_blocks[i].device] += self->first_blocks[i].size;
    for (unsigned i = 0; i < MT_IMPORT_DEVICES; i++) {
        uint64_t bytes = self->records->before[i].bytes;
        self->unknown[i] = bytes > known[i] ? bytes - known[i] : 0;
        sum += self->unknown[i];
    }
    snprintf(text, sizeof text, "%" PRIu64, sum);
    if (sum)
        mt_script_info(self->script, MT_IMPORT_UNKNOWN, text);
    self->summary->unknown_bytes = sum;
}

static void write_first(struct mt_composer *self)
{
    know_unknown(self);
    sort(self->first_segments, self->n_first_segments);
    sort(self->first_blocks, self->n_first_blocks);
    self->is_before = true;
    for (size_t i = 0; i < self->n_first_segments && !self->rc; i++) {
        struct mt_import_extent segment = self->first_segments[i];
        segment.tag = segment.tag == NO_WHENCE ? 0 : segment.tag;
        mt_compose_segment(self, &segment, segment.tag, false);
        add(self, &self->segments, &segment);
    }
    for (size_t i = 0; i < self->n_first_blocks && !self->rc; i++) {
        struct mt_import_extent block = self->first_blocks[i];
        bool is_freed = block.tag == NO_WHENCE;
        self->summary->freed_only += is_freed;
        block.size = is_freed && self->records->is_snapshot ? rounded(block.size) : block.size;
        block.tag = is_freed ? 0 : block.tag;
        block.is_pending = false;
        mt_compose_alloc(self, &block);
        add(self, &self->blocks, &block);
    }
    self->is_before = false;
    self->summary->before = self->n_first_blocks;
}

static void reset(struct mt_composer *self)
{
    mt_extents_clear(&self->segments);
    mt_extents_clear(&self->blocks);
    memset(self->allocated, 0, sizeof self->allocated);
    memset(self->reserved, 0, sizeof self->reserved);
    memset(self->lane, 0, sizeof self->lane);
    self->time_ns = 0;
    self->running = 0;
}

int mt_compose(struct mt_records *records, struct mt_import_summary *summary)
{
    struct mt_composer *self = calloc(1, sizeof *self);
    if (!self)
        return -ENOMEM;
    *self = (struct mt_composer){.records = records, .summary = summary, .script = records->script};
    if (records->first_us == INT64_MAX)
        records->first_us = 0;
    if (records->base_ns >= 0 && records->base_ns < INT64_MAX / 2)
        mt_script_start(self->script, records->base_ns + records->first_us * 1000);
    if (*records->settings)
        mt_script_info(self->script, "env.PYTORCH_CUDA_ALLOC_CONF", records->settings);
    int rc = run(self);
    if (!rc)
        compare_end(self);
    reset(self);
    self->is_writing = true;
    write_first(self);
    if (!rc)
        rc = self->rc ? self->rc : run(self);
    if (!rc)
        compare_end(self);
    do_notes(self, INT64_MAX);
    mt_compose_node(self, 0, MAIN_THREAD, mt_compose_whence(self, 0));
    summary->events = records->n_events;
    summary->lacks_times = records->lacks_times;
    summary->lacks_stacks = !records->has_frames;
    summary->lacks_segments = !records->is_snapshot;
    summary->cut_devices = records->cut_devices;
    summary->is_profile = records->is_profile && !records->is_snapshot;
    reset(self);
    free(self->first_blocks);
    free(self->first_segments);
    mt_spool_end(&self->spool);
    free(self);
    return rc ? rc : records->script->rc;
}
