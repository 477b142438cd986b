/* SPDX-License-Identifier: Apache-2.0 */
/* List the live memory as the events that a segment begins with. */
#include "live-blocks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct list {
    struct mt_event *event;
    size_t n;
    int (*each)(const struct mt_event *event);
};

static void list_block(struct list *list, const struct mt_live_block *block)
{
    struct mt_event context = block->made;
    if (block->node) { /* it runs again at the allocation */
        memset(context.arg, 0, sizeof context.arg);
        context.kind = MT_NODE_NEW;
        context.NODE_NEW.node = block->node;
        context.stack = block->forward_stack;
        if (context.stack)
            list->event[list->n++] = context;
        context.kind = MT_NODE_BEGIN;
        context.stack = 0;
        context.NODE_BEGIN.name = block->node_name;
        list->event[list->n++] = context;
    }
    list->event[list->n++] = block->made;
    if (block->node) {
        context.kind = MT_NODE_END;
        context.NODE_BEGIN.name = 0;
        list->event[list->n++] = context;
    }
    for (uint32_t i = 0; i < block->n_notes; i++)
        list->event[list->n++] = block->note[i];
    if (block->physical)
        list->n += mt_live_handle_events(block->physical, list->event + list->n);
}

/* List what was freed since the peaks. After the last moment of a peak another amount may be
 * reserved. */
static void list_peaks(struct list *list, const struct mt_live *live)
{
    for (unsigned slot = 0; slot < MT_LIVE_DEVICES; slot++) {
        const struct mt_event *peak = &live->total[slot].peak;
        for (const struct mt_live_block *block = live->total[slot].gone; block;
             block = block->next) {
            list_block(list, block);
            list->event[list->n++] = (struct mt_event){
                .time_ns = block->free_ns,
                .thread = block->free_thread,
                .stack = block->free_stack,
                .kind = MT_FREE,
                .device = block->made.device,
                .FREE = {.address = block->made.address, .size = block->made.size}};
        }
        if (peak->kind)
            list->event[list->n++] = (struct mt_event){
                .time_ns = peak->time_ns, .kind = MT_FREE, .device = peak->device};
    }
}

static size_t most_of(const struct mt_live_block *block)
{
    return 5 + block->n_notes + (block->physical ? MT_LIVE_HANDLES : 0);
}

/* Return how many events there may be. */
static size_t most_events(const struct mt_live *live)
{
    size_t n = MT_LIVE_DEVICES + 1;
    for (size_t i = 0; i <= live->by_address.mask; i++)
        for (const struct mt_live_block *block = live->by_address.bucket[i]; block;
             block = block->next)
            n += most_of(block);
    for (unsigned slot = 0; slot < MT_LIVE_DEVICES; slot++)
        for (const struct mt_live_block *block = live->total[slot].gone; block; block = block->next)
            n += most_of(block);
    return n;
}

/* Sort; events of one time keep their order. qsort would allocate in this thread of ours
 * (own-malloc.h). scratch has room for n more. */
static void sort_by_time(struct mt_event **order, struct mt_event **scratch, size_t n)
{
    for (size_t run = 1; run < n; run *= 2) {
        for (size_t begin = 0, to = 0; begin < n; begin += 2 * run) {
            size_t middle = begin + run < n ? begin + run : n;
            size_t end = middle + run < n ? middle + run : n;
            size_t a = begin, b = middle;
            while (a < middle || b < end) {
                bool is_b = a == middle || (b < end && order[b]->time_ns < order[a]->time_ns);
                scratch[to++] = order[is_b ? b++ : a++];
            }
        }
        memcpy(order, scratch, n * sizeof *order);
    }
}

/* Set PyTorch's totals as if only these blocks had ever existed. Memory that memtap has not seen
 * comes first. Up to a peak, as much is reserved as at the peak. */
static void make_totals(const struct mt_live *live, struct mt_event **order, size_t n)
{
    uint64_t now[MT_LIVE_DEVICES], reserved[MT_LIVE_DEVICES];
    for (unsigned i = 0; i < MT_LIVE_DEVICES; i++) {
        now[i] = live->total[i].allocated;
        reserved[i] =
            live->total[i].peak.kind ? live->total[i].peak.ALLOC.reserved : live->total[i].reserved;
    }
    for (size_t i = 0; i < n; i++)
        if (order[i]->kind == MT_ALLOC || order[i]->kind == MT_FREE)
            now[mt_live_device_slot(order[i]->device)] -=
                order[i]->kind == MT_ALLOC ? order[i]->size : -order[i]->size;
    for (size_t i = 0; i < n; i++) {
        unsigned slot = mt_live_device_slot(order[i]->device);
        if (order[i]->kind != MT_ALLOC && order[i]->kind != MT_FREE)
            continue;
        if (order[i]->kind == MT_FREE && !order[i]->address) /* list_peaks */
            reserved[slot] = live->total[slot].reserved;
        now[slot] += order[i]->kind == MT_ALLOC ? order[i]->size : -order[i]->size;
        order[i]->ALLOC.allocated = now[slot];
        order[i]->ALLOC.reserved = reserved[slot];
    }
}

/* List the nodes that are running now, last of all. */
static int list_running(const struct mt_live *live, const struct list *list, uint64_t time_ns)
{
    for (uint32_t thread = 0; thread < MT_LIVE_THREADS; thread++) {
        const struct mt_live_running *running = &live->nodes.running[thread];
        for (uint32_t i = 0; i < running->depth && i < MT_LIVE_MOST_RUNNING; i++) {
            struct mt_event event = {.time_ns = time_ns,
                                     .thread = thread,
                                     .kind = MT_NODE_BEGIN,
                                     .device = MT_NO_DEVICE,
                                     .NODE_BEGIN = {running->node[i], running->name[i]}};
            int rc = list->each(&event);
            if (rc)
                return rc;
        }
    }
    return 0;
}

static int list_all(const struct mt_live *live, struct list *list)
{
    int rc = 0;
    struct mt_event **order = malloc((2 * list->n + 1) * sizeof *order);
    if (!order)
        return -ENOMEM;
    for (size_t i = 0; i < list->n; i++)
        order[i] = &list->event[i];
    sort_by_time(order, order + list->n, list->n);
    make_totals(live, order, list->n);
    for (size_t i = 0; !rc && i < list->n; i++)
        rc = list->each(order[i]);
    if (!rc)
        rc = list_running(live, list, list->n ? order[list->n - 1]->time_ns : 0);
    free(order);
    return rc;
}

int mt_live_each(struct mt_live *live, int (*each)(const struct mt_event *event))
{
    struct list list = {.event = calloc(most_events(live), sizeof *list.event), .each = each};
    if (!list.event)
        return -ENOMEM;
    for (size_t i = 0; i <= live->by_address.mask; i++)
        for (const struct mt_live_block *block = live->by_address.bucket[i]; block;
             block = block->next)
            list_block(&list, block);
    list_peaks(&list, live);
    int rc = list_all(live, &list);
    free(list.event);
    for (size_t i = 0; !rc && i < live->n_unknown; i++)
        rc = each(&live->unknown[i]);
    return rc ? rc : mt_live_ranges_each(&live->ranges, each);
}
