/* SPDX-License-Identifier: Apache-2.0 */
/* Collect a window: match events that belong together, and follow phases and totals. */
#include "window.h"

#include <errno.h>
#include <string.h>

/* --- when everything is recorded: at the beginning, on request, and after an alarm -------------
 */

#define GROWTH_ITERATIONS 16u  /* whose lowest totals are compared */
#define GROWTH_RISES 3u        /* in a row: growth that does not stop */
#define LEAST_RECORDED 1000u   /* events recorded at the beginning */
#define ALL_EVENTS 1000000u    /* of an iteration, and of the beginning */
#define ALARM_NS 600000000000u /* between two alarms */

bool mt_selection_writes_iterations(const struct mt_selection *selection)
{
    return selection->all_until && selection->events < selection->all_until_event &&
           mt_selection_iterations(&selection->phases) - selection->iterations_before <=
               selection->all_until;
}

static bool wants_all(struct mt_selection *selection, uint64_t time_ns)
{
    bool is_before = time_ns <= selection->all_until_ns;
    if (is_before) /* the iterations are those after it */
        selection->iterations_before = mt_selection_iterations(&selection->phases);
    return is_before || selection->events < LEAST_RECORDED ||
           mt_selection_writes_iterations(selection);
}

void mt_selection_write_all(struct mt_selection *selection, uint64_t until_ns, uint32_t iterations)
{
    uint32_t now = mt_selection_iterations(&selection->phases),
             begun = now - selection->iterations_before;
    uint32_t left = mt_selection_writes_iterations(selection) ? selection->all_until - begun : 0;
    uint64_t events =
        selection->events + (now && iterations ? iterations : 1) * (uint64_t)ALL_EVENTS;
    selection->iterations_before = now;
    selection->all_until = iterations > left ? iterations : left;
    if (events > selection->all_until_event)
        selection->all_until_event = events;
    selection->all_until_ns = until_ns;
}

static void alarm(struct mt_selection *selection, uint64_t time_ns)
{
    if (selection->alarmed_ns && time_ns - selection->alarmed_ns < ALARM_NS)
        return;
    selection->alarmed_ns = time_ns;
    if (!selection->all_until_ns || time_ns > selection->all_until_ns)
        mt_selection_write_all(selection, time_ns, MT_SELECTION_ITERATIONS);
}

#define REQUESTED_BEFORE UINT32_MAX /* a thread's request, of an earlier window */

static uint32_t *bucket_of(struct mt_selection *selection, uint64_t address)
{
    return &selection->bucket[(address * 0x9e3779b97f4a7c15u) >> 48];
}
_Static_assert(MT_SELECTION_WINDOW == 1u << 16, "the hash has 16 bits");

/* Find a block that was allocated in the window and not freed, or NULL. */
static uint32_t *find(struct mt_selection *selection, uint64_t address)
{
    uint32_t *at = bucket_of(selection, address);
    while (*at && mt_selection_at(selection, *at)->event.ALLOC.address != address)
        at = &mt_selection_at(selection, *at)->next;
    return *at ? at : NULL;
}

static uint32_t find_place(struct mt_selection *selection, uint64_t address)
{
    uint32_t *at = address ? find(selection, address) : NULL;
    return at ? *at : 0;
}

/* End the block at an address. Return its place. */
static uint32_t end_life(struct mt_selection *selection, uint64_t address, uint32_t end)
{
    uint32_t *at = find(selection, address);
    if (!at)
        return 0;
    uint32_t place = *at;
    struct mt_selection_slot *slot = mt_selection_at(selection, place);
    *at = slot->next;
    slot->end = end;
    return place;
}

static void begin_life(struct mt_selection *selection, uint32_t place)
{
    struct mt_selection_slot *slot = mt_selection_at(selection, place);
    uint32_t *first = bucket_of(selection, slot->event.ALLOC.address);
    slot->next = *first;
    *first = place;
}

/* Note a total, and how many iterations have begun. Return whether it grows: once for each time
 * that it has risen so often. */
static bool note_growth(struct mt_selection_growth *growth, uint32_t iteration, uint64_t total)
{
    if (iteration != growth->iteration && ++growth->iterations > GROWTH_ITERATIONS) {
        bool is_more = growth->before && growth->floor > growth->before;
        growth->rises = is_more ? growth->rises + 1 : 0;
        growth->before = growth->floor;
        growth->floor = total;
        growth->iterations = 1;
    }
    growth->iteration = iteration;
    if (total < growth->floor)
        growth->floor = total;
    bool is_growing = growth->rises == GROWTH_RISES;
    if (is_growing)
        growth->rises = 0;
    return is_growing;
}

/* When a phase ends on a device, note its highest and its lowest total. */
static void end_span(struct mt_selection *selection, struct mt_selection_device *device)
{
    if (device->least)
        mt_selection_at(selection, device->least)->is_written = true;
    if (device->most)
        mt_selection_at(selection, device->most)->is_written = true;
    device->least = device->most = 0;
}

static uint64_t allocated_at(struct mt_selection *selection, uint32_t place)
{
    return mt_selection_at(selection, place)->event.ALLOC.allocated;
}

/* Record a device's first event, changes of what is reserved, and the start of a phase. */
static void note_totals(struct mt_selection *selection, struct mt_selection_slot *slot,
                        uint32_t place)
{
    struct mt_selection_device *device = mt_selection_device_of(selection, slot->event.device);
    uint64_t allocated = slot->event.ALLOC.allocated, reserved = slot->event.ALLOC.reserved;
    if (!device->is_used || device->reserved != reserved)
        slot->is_written = slot->has_block = true;
    if (!device->is_used || device->run != selection->phases.program.now.run) {
        end_span(selection, device);
        device->run = selection->phases.program.now.run;
        slot->is_written = true;
    }
    device->is_used = true;
    device->allocated = allocated;
    device->reserved = reserved;
    if (!device->least || allocated < allocated_at(selection, device->least))
        device->least = place;
    if (!device->most || allocated > allocated_at(selection, device->most))
        device->most = place;
    if (!device->highest || allocated > allocated_at(selection, device->highest))
        device->highest = place;
    if (note_growth(&device->growth, mt_selection_iterations(&selection->phases), allocated))
        alarm(selection, slot->event.time_ns);
}

static void alloc(struct mt_selection *selection, struct mt_selection_slot *slot,
                  struct mt_selection_thread *thread, uint32_t place)
{
    uint32_t request = thread->request;
    thread->request = 0;
    end_life(selection, slot->event.ALLOC.address, place); /* its free is missing */
    begin_life(selection, place);
    if (request == REQUESTED_BEFORE)
        slot->has_block = true;
    else if (request)
        mt_selection_at(selection, request)->of = place;
    note_totals(selection, slot, place);
}

/* Record the end of a node that began before the window or is unknown. */
static void end_node(struct mt_selection *selection, struct mt_selection_slot *slot,
                     struct mt_selection_thread *thread)
{
    const struct mt_running_node *node = mt_phases_node(&thread->at, slot->event.NODE_END.node);
    slot->of = node ? node->begun : 0;
    slot->is_written |= !slot->of;
    mt_phases_end_node(&selection->phases.program, &thread->at, slot->event.NODE_END.node);
}

static int gather(struct mt_selection *selection, struct mt_selection_slot *slot,
                  struct mt_selection_thread *thread, uint32_t place)
{
    const struct mt_event *event = &slot->event;
    switch (event->kind) {
    case MT_ALLOC:
        alloc(selection, slot, thread, place);
        return 0;
    case MT_FREE:
        slot->of = end_life(selection, event->FREE.address, place);
        note_totals(selection, slot, place);
        return 0;
    case MT_NODE_NEW:
        slot->of = find_place(selection, event->NODE_NEW.address);
        return 0;
    case MT_NODE_BEGIN:
        return mt_phases_begin_node(
            &thread->at, &(struct mt_running_node){.node = event->NODE_BEGIN.node, .begun = place});
    case MT_NODE_END:
        end_node(selection, slot, thread);
        return 0;
    case MT_REQUEST:
        thread->request = place;
        return 0;
    case MT_REQUEST_STREAM:
    case MT_FREE_WAITS:
    case MT_FREE_DONE:
        return 0;
    case MT_OOM:
        selection->records_all = slot->is_written = true;
        alarm(selection, event->time_ns);
        return 0;
    case MT_LOST:
        thread->at.n_nodes = 0; /* ends of nodes may be lost */
        break;
    case MT_RESIZE: /* a storage keeps its labels when its block is gone */
    case MT_NAMED:
        selection->has_places = true;
        break;
    }
    if (mt_selection_is_label(event->kind))
        slot->of = find_place(selection, event->address);
    else
        slot->is_written = true;
    return 0;
}

int mt_selection_add(struct mt_selection *selection, const struct mt_event *event)
{
    struct mt_selection_thread *thread =
        mt_selection_phases_thread(&selection->phases, event->thread);
    if (!thread)
        return -ENOMEM;
    bool is_writing_all = wants_all(selection, event->time_ns);
    if (!selection->n)
        selection->records_all = is_writing_all;
    else if (selection->n == MT_SELECTION_WINDOW ||
             (selection->records_all != is_writing_all && event->kind != MT_OOM))
        return -EAGAIN;
    uint32_t place = ++selection->n;
    struct mt_selection_slot *slot = mt_selection_at(selection, place);
    *slot = (struct mt_selection_slot){.event = *event};
    const struct mt_phases before = selection->phases.program;
    slot->node = thread->at.n_nodes ? thread->at.nodes[thread->at.n_nodes - 1].begun : 0;
    mt_selection_phases_follow(&selection->phases, &thread->at, event);
    selection->events++;
    int rc = gather(selection, slot, thread, place);
    slot->is_written |= mt_phases_differ(&before, &selection->phases.program);
    return rc;
}
