/* SPDX-License-Identifier: Apache-2.0 */
/* Decide which events of a window are recorded, and write them. */
#include "window.h"

#include <stdlib.h>
#include <string.h>

#define PERIOD_NS 10000000000u /* between two recorded moments, and between two counts */

struct mt_selection *mt_selection_create(void)
{
    struct mt_selection *selection = calloc(1, sizeof *selection);
    if (selection)
        mt_selection_write_all(selection, 0, MT_SELECTION_ITERATIONS);
    return selection;
}

void mt_selection_destroy(struct mt_selection *selection)
{
    if (!selection)
        return;
    mt_selection_phases_clear(&selection->phases);
    for (unsigned i = 0; i < MT_SELECTION_DEVICES; i++)
        free(selection->device[i].count);
    free(selection);
}

int mt_selection_define(struct mt_selection *selection, const struct mt_definition *definition)
{
    return mt_selection_phases_define(&selection->phases, definition);
}

/* --- deciding ---------------------------------------------------------------------------- */

static bool is_new_peak(struct mt_selection *selection, const struct mt_selection_device *device)
{
    return device->highest &&
           mt_selection_at(selection, device->highest)->event.ALLOC.allocated > device->peak;
}

/* Return whether the window's highest moment is recorded. */
static bool has_moment(struct mt_selection *selection, const struct mt_selection_device *device)
{
    if (!device->highest)
        return false;
    uint64_t time_ns = mt_selection_at(selection, device->highest)->event.time_ns;
    return is_new_peak(selection, device) || time_ns - device->peak_written_ns >= PERIOD_NS;
}

static bool lives_at(const struct mt_selection_slot *slot, uint32_t place, uint32_t moment)
{
    return place <= moment && (!slot->end || slot->end > moment);
}

/* Record blocks that are live at the window's end or at its highest moment. */
static void decide_block(struct mt_selection *selection, struct mt_selection_slot *slot,
                         uint32_t place)
{
    const struct mt_selection_device *device =
        mt_selection_device_of(selection, slot->event.device);
    slot->has_block |= selection->records_all || !slot->end ||
                       (has_moment(selection, device) && lives_at(slot, place, device->highest));
    slot->is_written |= slot->has_block;
}

static bool is_of_written_block(struct mt_selection *selection,
                                const struct mt_selection_slot *slot)
{
    return slot->of && mt_selection_at(selection, slot->of)->has_block;
}

/* Decide what depends on the window only. Labels of older blocks are decided when they are written.
 */
static bool is_wanted(struct mt_selection *selection, const struct mt_selection_slot *slot)
{
    switch (slot->event.kind) {
    case MT_REQUEST:
    case MT_FREE:
        return !slot->of || is_of_written_block(selection, slot);
    case MT_NODE_END:
        return slot->of && mt_selection_at(selection, slot->of)->is_written;
    default:
        return is_of_written_block(selection, slot);
    }
}

/* Mark the nodes around what is recorded: they are recorded, too, and so are the nodes around them.
 */
static void mark_nodes(struct mt_selection *selection, uint32_t node)
{
    for (struct mt_selection_slot *begin; node; node = begin->node) {
        begin = mt_selection_at(selection, node);
        if (begin->is_written)
            return;
        begin->is_written = true;
    }
}

static void mark_open_nodes(struct mt_selection *selection)
{
    for (size_t i = 0; i < selection->phases.n_threads; i++) {
        struct mt_selection_thread *thread = &selection->phases.thread[i];
        for (uint32_t k = 0; k < thread->at.n_nodes; k++)
            mark_nodes(selection, thread->at.nodes[k].begun);
    }
}

/* Decide in one pass: what an event belongs to comes before it, except that a request comes before
 * its block. */
static void decide_all(struct mt_selection *selection)
{
    for (unsigned i = 0; i < MT_SELECTION_DEVICES; i++) {
        struct mt_selection_device *device = &selection->device[i];
        if (device->least)
            mt_selection_at(selection, device->least)->is_written = true;
        if (device->most)
            mt_selection_at(selection, device->most)->is_written = true;
    }
    mark_open_nodes(selection);
    for (uint32_t place = 1; place <= selection->n; place++) {
        struct mt_selection_slot *slot = mt_selection_at(selection, place);
        uint32_t block = slot->event.kind == MT_ALLOC     ? place
                         : slot->event.kind == MT_REQUEST ? slot->of
                                                          : 0;
        if (block)
            decide_block(selection, mt_selection_at(selection, block), block);
        slot->is_written |= selection->records_all || is_wanted(selection, slot);
        if (slot->is_written)
            mark_nodes(selection, slot->node);
    }
}

/* --- output ----------------------------------------------------------------------------- */

struct selection_output {
    struct mt_selection *selection;
    struct mt_live *live;
    int (*write)(const struct mt_event *event);
};

/* Write PyTorch's totals if a reader would expect others. Thread 0, the recording's own, is in no
 * phase. */
static int write_totals(const struct selection_output *to, struct mt_selection_device *device,
                        int index, uint64_t time_ns)
{
    if (device->written_allocated == device->was_allocated &&
        device->written_reserved == device->was_reserved)
        return 0;
    struct mt_event event = {.time_ns = time_ns,
                             .kind = MT_FREE,
                             .device = (int16_t)index,
                             .FREE = {0, 0, device->was_allocated, device->was_reserved}};
    device->written_allocated = device->was_allocated;
    device->written_reserved = device->was_reserved;
    return to->write(&event);
}

static void count_block(struct mt_selection_device *device, const struct mt_event *event)
{
    if (event->stack >= device->n_counts) {
        size_t n = event->stack + event->stack / 2 + 64;
        struct mt_selection_count *count = realloc(device->count, n * sizeof *count);
        if (!count)
            return; /* these are not counted */
        memset(count + device->n_counts, 0, (n - device->n_counts) * sizeof *count);
        device->count = count;
        device->n_counts = n;
    }
    device->count[event->stack].blocks++;
    device->count[event->stack].bytes += event->size;
}

/* Leave the requests out: a replay of the allocator needs all blocks, and from here on readers do
 * not know what was requested. */
static int leave_requests(const struct selection_output *to, const struct mt_event *event)
{
    struct mt_event unknown = *event;
    if (to->selection->has_left_requests)
        return 0;
    to->selection->has_left_requests = true;
    unknown.kind = MT_REQUEST_STREAM;
    memset(unknown.arg, 0, sizeof unknown.arg);
    unknown.REQUEST_STREAM.stream = MT_STREAM_UNKNOWN;
    return to->write(&unknown);
}

/* Leave a block out and count it. */
static int leave_block(const struct selection_output *to, struct mt_selection_device *device,
                       const struct mt_event *event)
{
    count_block(device, event);
    return leave_requests(to, event);
}

static int write_block(const struct selection_output *to, struct mt_selection_slot *slot)
{
    struct mt_selection_device *device = mt_selection_device_of(to->selection, slot->event.device);
    struct mt_event event = slot->event;
    bool has_block = event.kind == MT_ALLOC ? slot->has_block
                                            : !slot->of || is_of_written_block(to->selection, slot);
    int rc = 0;
    if (slot->is_written && has_block)
        rc = write_totals(to, device, event.device, event.time_ns);
    device->was_allocated = event.ALLOC.allocated;
    device->was_reserved = event.ALLOC.reserved;
    if (event.kind == MT_ALLOC && !slot->has_block)
        rc = leave_block(to, device, &event);
    if (rc || !slot->is_written)
        return rc;
    if (!has_block) {
        event.kind = MT_FREE;
        event.address = event.size = 0;
    }
    device->written_allocated = device->was_allocated;
    device->written_reserved = device->was_reserved;
    return to->write(&event);
}

/* Return whether the event belongs to a block that is allocated and freed within the window and not
 * recorded: the live memory need not know it. */
static bool is_passing(struct mt_selection *selection, const struct mt_selection_slot *slot)
{
    unsigned kind = slot->event.kind;
    if (selection->has_places)
        return false;
    if (kind == MT_ALLOC)
        return !slot->has_block;
    return slot->of && kind != MT_NODE_END && kind != MT_REQUEST &&
           !mt_selection_at(selection, slot->of)->has_block;
}

/* Add to the live memory the blocks that were withheld from it, up to a place, and all blocks from
 * there on: a label may be on memory within one of them. */
static int add_passing(const struct selection_output *to, uint32_t end)
{
    struct mt_selection *selection = to->selection;
    int rc = 0;
    for (uint32_t place = 1; !rc && place < end; place++) {
        struct mt_selection_slot *slot = mt_selection_at(selection, place);
        uint32_t block = slot->event.kind == MT_ALLOC ? place : slot->of;
        if (!is_passing(selection, slot) || mt_selection_at(selection, block)->end < end)
            continue;
        rc = mt_live_recall(to->live, &slot->event);
    }
    selection->has_places = true;
    return rc;
}

/* Return whether the event is a label of an older block, or within a block. */
static bool is_elsewhere(const struct mt_selection_slot *slot)
{
    unsigned kind = slot->event.kind;
    return !slot->of && (mt_selection_is_label(kind) || kind == MT_NODE_NEW);
}

/* Return whether a label is new. Labels of a block of this window are recorded with it; those of
 * another block once each. */
static bool is_news(const struct selection_output *to, const struct mt_selection_slot *slot)
{
    return is_elsewhere(slot) && mt_live_is_news(to->live, &slot->event);
}

/* Record where a node was created before it runs, which readers need to know. On thread 0 this is
 * in no phase. */
static int write_made(const struct selection_output *to, const struct mt_event *begin)
{
    struct mt_event made = {.time_ns = begin->time_ns, .kind = MT_NODE_NEW, .device = MT_NO_DEVICE};
    made.NODE_NEW.node = begin->NODE_BEGIN.node;
    return mt_live_find_node(to->live, made.NODE_NEW.node, &made.stack) ? to->write(&made) : 0;
}

static int write_slot(const struct selection_output *to, struct mt_selection_slot *slot,
                      uint32_t place)
{
    const struct mt_event *event = &slot->event;
    int rc = 0;
    if (is_elsewhere(slot) && !to->selection->has_places && !mt_live_has_block(to->live, event))
        rc = add_passing(to, place);
    slot->is_written |= is_news(to, slot);
    if (is_passing(to->selection, slot))
        mt_live_pass(to->live, event);
    else if (!rc)
        rc = mt_live_event(to->live, event);
    if (rc)
        return rc;
    if (event->kind == MT_ALLOC || event->kind == MT_FREE)
        return write_block(to, slot);
    if (slot->is_written && event->kind == MT_NODE_NEW)
        mt_live_find_node(to->live, event->NODE_NEW.node, &(uint32_t){0});
    if (slot->is_written && event->kind == MT_NODE_BEGIN)
        rc = write_made(to, event);
    if (rc)
        return rc;
    bool is_left = to->selection->has_left_requests && event->kind == MT_REQUEST_STREAM;
    return slot->is_written && !is_left ? to->write(event) : 0;
}

static int write_window(const struct selection_output *to)
{
    struct mt_selection *selection = to->selection;
    int rc = 0;
    for (uint32_t place = 1; !rc && place <= selection->n; place++) {
        struct mt_selection_slot *slot = mt_selection_at(selection, place);
        struct mt_selection_device *device = mt_selection_device_of(selection, slot->event.device);
        rc = write_slot(to, slot, place);
        selection->passed = place;
        if (device->highest != place)
            continue;
        if (has_moment(selection, device))
            device->peak_written_ns = slot->event.time_ns;
        if (is_new_peak(selection, device)) {
            device->peak = slot->event.ALLOC.allocated;
            mt_live_keep_peak(to->live, &slot->event);
        }
    }
    return rc;
}

static int write_counts_of(const struct selection_output *to, struct mt_selection_device *device,
                           int index, uint64_t time_ns)
{
    int rc = 0;
    for (size_t stack = 0; !rc && stack < device->n_counts; stack++) {
        struct mt_selection_count *count = &device->count[stack];
        struct mt_event event = {.time_ns = time_ns,
                                 .kind = MT_SHORT_LIVED,
                                 .device = (int16_t)index,
                                 .stack = (uint32_t)stack,
                                 .SHORT_LIVED = {count->blocks, count->bytes}};
        if (count->blocks)
            rc = to->write(&event);
        *count = (struct mt_selection_count){0};
    }
    return rc;
}

static int finish_devices(const struct selection_output *to, uint64_t time_ns, bool writes_counts)
{
    int rc = 0;
    for (int i = 0; !rc && i < (int)MT_SELECTION_DEVICES; i++) {
        struct mt_selection_device *device = &to->selection->device[i];
        int index = i - 1; /* mt_selection_device_of */
        if (device->is_used)
            rc = write_totals(to, device, index, time_ns);
        if (!rc && writes_counts)
            rc = write_counts_of(to, device, index, time_ns);
        device->least = device->most = device->highest = 0;
    }
    return rc;
}

static void begin_window(struct mt_selection *selection)
{
    for (size_t i = 0; i < selection->phases.n_threads; i++) {
        struct mt_selection_thread *thread = &selection->phases.thread[i];
        thread->request = thread->request ? UINT32_MAX : 0;
        for (uint32_t k = 0; k < thread->at.n_nodes; k++)
            thread->at.nodes[k].begun = 0;
    }
    memset(selection->bucket, 0, sizeof selection->bucket);
    selection->n = selection->passed = 0;
    selection->has_places = false;
}

void mt_selection_give_up(struct mt_selection *selection,
                          int (*write)(const struct mt_event *event))
{
    while (selection->passed < selection->n)
        write(&mt_selection_at(selection, ++selection->passed)->event);
}

int mt_selection_end(struct mt_selection *selection, struct mt_live *live, bool is_last,
                     int (*write)(const struct mt_event *event))
{
    const struct selection_output to = {selection, live, write};
    if (!selection->n && !is_last)
        return 0;
    decide_all(selection);
    uint64_t time_ns = selection->n ? mt_selection_at(selection, selection->n)->event.time_ns
                                    : selection->counts_written_ns;
    bool writes_counts = is_last || time_ns - selection->counts_written_ns >= PERIOD_NS;
    int rc = write_window(&to);
    if (!rc)
        rc = finish_devices(&to, time_ns, writes_counts);
    if (rc)
        return rc;
    if (writes_counts)
        selection->counts_written_ns = time_ns;
    begin_window(selection);
    return 0;
}
