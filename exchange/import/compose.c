/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two passes over the events. The first finds what was there before them: what they free without
 * having allocated it, and what is live at the end without. The second writes the trace.
 */
#include "compose.h"
#include "analyzer/support/grow.h"
#include "extents.h"
#include "spool.h"
#include "trace-format/cuda-apis.h"

#include <stdlib.h>

#define PAGE (2u << 20) /* of expandable segments */
#define MAIN_THREAD 1
#define AUTOGRAD_THREAD 2
#define MOST_PAGES (1u << 20)
#define NO_WHENCE UINT32_MAX

struct composer {
    struct mt_records *records;
    struct mt_import_summary *summary;
    struct mt_script *script;
    struct mt_extents segments, blocks;
    /* What was there at first. */
    struct mt_import_extent *first_blocks, *first_segments;
    size_t n_first_blocks, first_blocks_capacity, n_first_segments, first_segments_capacity;
    uint64_t allocated[MT_IMPORT_DEVICES], reserved[MT_IMPORT_DEVICES];
    struct mt_spool spool;
    uint64_t time_ns;
    size_t next_note;
    uint32_t running; /* text of the backward node that runs in autograd's thread; 0: none */
    bool is_writing;
    int rc;
};

static void fail(struct composer *self, int rc)
{
    if (!self->rc)
        self->rc = rc;
}

/* --- writing --- */

static void write_event(struct composer *self, enum mt_kind kind, unsigned device, uint32_t thread,
                        uint32_t stack, const uint64_t arg[MT_EVENT_ARGS])
{
    struct mt_event event = {.time_ns = self->time_ns,
                             .kind = (uint16_t)kind,
                             .device = (int16_t)device,
                             .thread = thread,
                             .stack = stack};
    for (int i = 0; i < MT_EVENT_ARGS; i++)
        event.arg[i] = arg[i];
    if (self->is_writing)
        mt_script_event(self->script, &event);
}

#define WRITE(self, kind, device, thread, stack, ...)                                              \
    write_event(self, kind, device, thread, stack, (const uint64_t[MT_EVENT_ARGS]){__VA_ARGS__})

static const struct mt_whence *whence_of(const struct composer *self, uint32_t number)
{
    return &self->records->whence[number < self->records->n_whence ? number : 0];
}

/* Autograd's threads have no Python: of frames that were asked for there are none. */
static uint32_t thread_of(const struct composer *self, const struct mt_whence *whence)
{
    bool is_autograd = whence->is_autograd || (whence->node && !whence->stack) ||
                       (whence->is_empty && self->records->has_frames);
    return is_autograd ? AUTOGRAD_THREAD : MAIN_THREAD;
}

/* The node that runs in autograd's thread from now on; 0: none. */
static void run_node(struct composer *self, unsigned device, uint32_t node)
{
    if (self->running == node)
        return;
    if (self->running)
        WRITE(self, MT_NODE_END, device, AUTOGRAD_THREAD, 0, self->running);
    if (node)
        WRITE(self, MT_NODE_BEGIN, device, AUTOGRAD_THREAD, 0, node, node);
    self->running = node;
}

static void write_alloc(struct composer *self, const struct mt_import_extent *block)
{
    const struct mt_whence *whence = whence_of(self, block->tag);
    uint32_t thread = thread_of(self, whence);
    self->allocated[block->device] += block->size;
    run_node(self, block->device, thread == AUTOGRAD_THREAD ? whence->node : 0);
    WRITE(self, MT_ALLOC, block->device, thread, whence->stack, block->address, block->size,
          self->allocated[block->device], self->reserved[block->device]);
    if (whence->is_workspace)
        WRITE(self, MT_WORKSPACE, block->device, thread, whence->stack, block->address,
              block->size);
}

/* A page of an expandable segment has physical memory of its own. */
static void write_page(struct composer *self, unsigned device, uint32_t stack, uint64_t address,
                       uint64_t size, bool is_map)
{
    uint64_t handle = address / PAGE | UINT64_C(1) << 62;
    if (is_map) {
        WRITE(self, MT_CUDA_MALLOC, device, MAIN_THREAD, stack, handle, size, 0,
              MT_API_CU_MEM_CREATE);
        WRITE(self, MT_CUDA_MAP, device, MAIN_THREAD, stack, address, size, handle,
              MT_API_CU_MEM_MAP);
    } else {
        WRITE(self, MT_CUDA_UNMAP, device, MAIN_THREAD, stack, address, size, MT_API_CU_MEM_UNMAP);
        WRITE(self, MT_CUDA_FREE, device, MAIN_THREAD, stack, handle, MT_API_CU_MEM_RELEASE);
    }
}

static void write_segment(struct composer *self, const struct mt_import_extent *segment,
                          uint32_t whence, bool is_free)
{
    uint32_t stack = whence_of(self, whence)->stack;
    self->reserved[segment->device] += is_free ? -segment->size : segment->size;
    if (segment->is_pages)
        write_page(self, segment->device, stack, segment->address, segment->size, !is_free);
    else if (is_free)
        WRITE(self, MT_CUDA_FREE, segment->device, MAIN_THREAD, stack, segment->address,
              MT_API_CUDA_FREE);
    else
        WRITE(self, MT_CUDA_MALLOC, segment->device, MAIN_THREAD, stack, segment->address,
              segment->size, 0, MT_API_CUDA_MALLOC);
}

/* --- what the events do --- */

/* Remembers what was there at first, and is now. */
static void was_there(struct composer *self, bool is_segment, struct mt_import_extent extent)
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

static void add(struct composer *self, struct mt_extents *to, const struct mt_import_extent *extent)
{
    int rc = mt_extents_add(to, extent);
    if (rc == -EEXIST) { /* its end is missing */
        mt_extents_remove(to, extent->address);
        rc = mt_extents_add(to, extent);
    }
    if (rc)
        fail(self, rc);
}

static void end_block(struct composer *self, const struct mt_import_event *event, bool stays)
{
    struct mt_import_extent *block = mt_extents_at(&self->blocks, event->address);
    const struct mt_whence *whence = whence_of(self, event->whence);
    uint32_t thread = thread_of(self, whence);
    self->allocated[event->device] -= block->size;
    run_node(self, event->device, thread == AUTOGRAD_THREAD ? whence->node : 0);
    WRITE(self, MT_FREE, event->device, thread, whence->stack, block->address, block->size,
          self->allocated[event->device], self->reserved[event->device]);
    block->is_pending = true;
    if (!stays)
        mt_extents_remove(&self->blocks, event->address);
}

static void do_alloc(struct composer *self, const struct mt_import_event *event)
{
    struct mt_import_extent *there = mt_extents_at(&self->blocks, event->address);
    if (there && !there->is_pending)
        end_block(self, event, false); /* its free is missing */
    else if (there)
        mt_extents_remove(&self->blocks, event->address);
    bool has_segments = self->records->is_snapshot;
    struct mt_import_extent block = {
        .address = event->address, .tag = event->whence, .device = event->device};
    block.size = has_segments
                     ? mt_block_bytes(&self->segments, &self->blocks, event->address, event->size)
                     : event->size;
    write_alloc(self, &block);
    add(self, &self->blocks, &block);
}

static void do_free(struct composer *self, const struct mt_import_event *event)
{
    struct mt_import_extent *block = mt_extents_at(&self->blocks, event->address);
    if (!block && !self->is_writing) {
        was_there(self, false,
                  (struct mt_import_extent){.address = event->address,
                                            .size = event->size,
                                            .tag = NO_WHENCE,
                                            .device = event->device});
        return;
    }
    if (block && !block->is_pending)
        end_block(self, event, self->records->is_snapshot);
}

/* The request may be from before the events. */
static void do_free_completed(struct composer *self, const struct mt_import_event *event)
{
    const struct mt_import_extent *block = mt_extents_at(&self->blocks, event->address);
    if (block && !block->is_pending)
        end_block(self, event, true);
    mt_extents_remove(&self->blocks, event->address);
}

static void add_segment(struct composer *self, const struct mt_import_event *event,
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
    write_segment(self, &segment, event->whence, false);
    add(self, &self->segments, &segment);
}

static void remove_segment(struct composer *self, const struct mt_import_event *event,
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
        write_segment(self, &segment, event->whence, true);
        mt_extents_remove(&self->segments, address);
    } else if (!self->is_writing) {
        was_there(self, true, segment);
    }
}

/* Pages come and go in other groups than they came in. */
static void each_page(struct composer *self, const struct mt_import_event *event, bool is_map)
{
    uint64_t n = event->size / PAGE;
    for (uint64_t i = 0; i < n && i < MOST_PAGES; i++)
        (is_map ? add_segment : remove_segment)(self, event, event->address + i * PAGE, PAGE, true);
}

static void do_event(struct composer *self, const struct mt_import_event *event)
{
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
    case MT_ACTION_OOM: {
        const struct mt_whence *whence = whence_of(self, event->whence);
        WRITE(self, MT_OOM, event->device, thread_of(self, whence), whence->stack, event->size,
              self->allocated[event->device], self->reserved[event->device]);
        break;
    }
    default:
        break;
    }
}

/* Ranges that the program named, up to a time. */
static void do_notes(struct composer *self, int64_t until_us)
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

static int run(struct composer *self)
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
        do_event(self, &event);
    }
    if (!rc)
        rc = self->spool.rc;
    return rc ? rc : self->rc;
}

/* --- what was there at first --- */

static void compare_pages(struct composer *self, const struct mt_import_segment *segment)
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

static void compare_block(struct composer *self, const struct mt_import_segment *segment,
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
                                            .device = (uint16_t)segment->device});
}

/* At the end of the first pass: what is live and was never allocated has been there. Sizes of
 * others agree. */
static void compare_end(struct composer *self)
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
        for (uint64_t j = 0; j < segment->count; j++)
            compare_block(self, segment, &records->block[segment->first + j]);
    }
}

static int by_address(const void *left, const void *right)
{
    uint64_t a = ((const struct mt_import_extent *)left)->address,
             b = ((const struct mt_import_extent *)right)->address;
    return (a > b) - (a < b);
}

static void sort(struct mt_import_extent *extent, size_t n)
{
    if (n)
        qsort(extent, n, sizeof *extent, by_address);
}

static uint64_t rounded(uint64_t size)
{
    return size < 512 ? 512 : (size + 511) & ~UINT64_C(511);
}

static void write_first(struct composer *self)
{
    sort(self->first_segments, self->n_first_segments);
    sort(self->first_blocks, self->n_first_blocks);
    for (size_t i = 0; i < self->n_first_segments && !self->rc; i++) {
        struct mt_import_extent segment = self->first_segments[i];
        segment.tag = segment.tag == NO_WHENCE ? 0 : segment.tag;
        write_segment(self, &segment, segment.tag, false);
        add(self, &self->segments, &segment);
    }
    for (size_t i = 0; i < self->n_first_blocks && !self->rc; i++) {
        struct mt_import_extent block = self->first_blocks[i];
        bool is_freed = block.tag == NO_WHENCE;
        self->summary->freed_only += is_freed;
        block.size = is_freed && self->records->is_snapshot ? rounded(block.size) : block.size;
        block.tag = is_freed ? 0 : block.tag;
        write_alloc(self, &block);
        add(self, &self->blocks, &block);
    }
    self->summary->before = self->n_first_blocks;
}

static void reset(struct composer *self)
{
    mt_extents_clear(&self->segments);
    mt_extents_clear(&self->blocks);
    memset(self->allocated, 0, sizeof self->allocated);
    memset(self->reserved, 0, sizeof self->reserved);
    self->time_ns = 0;
    self->running = 0;
}

int mt_compose(struct mt_records *records, struct mt_import_summary *summary)
{
    struct composer *self = calloc(1, sizeof *self);
    if (!self)
        return -ENOMEM;
    *self = (struct composer){.records = records, .summary = summary, .script = records->script};
    if (records->first_us == INT64_MAX)
        records->first_us = 0;
    if (records->first_us < INT64_MAX / 2000 && records->base_ns < INT64_MAX / 2)
        mt_script_start(self->script, records->base_ns + records->first_us * 1000);
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
    run_node(self, 0, 0);
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
