/* SPDX-License-Identifier: Apache-2.0 */
#include "live-blocks.h"
#include "trace-format/cuda-apis.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static void free_block(struct mt_live_block *block)
{
    if (block) {
        free(block->note);
        free(block->physical);
    }
    free(block);
}

static void forget_gone(struct mt_live *live, unsigned slot)
{
    for (struct mt_live_block *block = live->total[slot].gone, *next; block; block = next) {
        next = block->next;
        free_block(block);
    }
    live->total[slot].gone = NULL;
}

static void keep_gone(struct mt_live *live, struct mt_live_block *block,
                      const struct mt_event *event)
{
    unsigned slot = mt_live_device_slot(block->made.device);
    block->free_ns = event->time_ns;
    block->free_thread = event->thread;
    block->free_stack = event->stack;
    block->next = live->total[slot].gone;
    live->total[slot].gone = block;
}

void mt_live_keep_peak(struct mt_live *live, const struct mt_event *event)
{
    unsigned slot = mt_live_device_slot(event->device);
    forget_gone(live, slot);
    live->total[slot].peak = *event;
    for (size_t i = 0; i <= live->by_address.mask; i++)
        for (struct mt_live_block *block = live->by_address.bucket[i]; block; block = block->next)
            block->is_at_peak |=
                block->sort == MT_ALLOC && mt_live_device_slot(block->made.device) == slot;
}

#define GRANULE_BITS 21     /* addresses of one granule are searched one by one */
#define MOST_GRANULES 65536 /* that a block may cover: 128 GiB */

/* The events that begin and end a lifetime, and its kind: an event may end a lifetime that another
 * kind began. */
static const struct {
    uint16_t kind, end, sort;
} lives[] = {
    {MT_ALLOC, MT_FREE, MT_ALLOC},
    {MT_CUDA_MALLOC, MT_CUDA_FREE, MT_CUDA_MALLOC},
    {MT_CUDA_MALLOC_ASYNC, MT_CUDA_FREE_ASYNC, MT_CUDA_MALLOC},
    {MT_CUDA_MAP, MT_CUDA_UNMAP, MT_CUDA_MAP},
    {MT_CUDA_OBJECT, MT_CUDA_OBJECT_GONE, MT_CUDA_OBJECT},
};

static uint64_t granule(uint64_t address)
{
    return address >> GRANULE_BITS;
}

struct mt_live *mt_live_create(void)
{
    struct mt_live *live = calloc(1, sizeof *live);
    if (!live)
        return NULL;
    int rc = mt_live_nodes_start(&live->nodes);
    live->by_address.bucket = calloc(1024, sizeof *live->by_address.bucket);
    live->by_granule.bucket = calloc(1024, sizeof *live->by_granule.bucket);
    live->by_address.mask = live->by_granule.mask = 1023;
    if (!rc && live->by_address.bucket && live->by_granule.bucket)
        return live;
    mt_live_destroy(live);
    return NULL;
}

void mt_live_destroy(struct mt_live *live)
{
    if (!live)
        return;
    for (unsigned slot = 0; slot < MT_LIVE_DEVICES; slot++)
        forget_gone(live, slot);
    for (size_t i = 0; live->by_address.bucket && i <= live->by_address.mask; i++)
        for (struct mt_live_block *block = live->by_address.bucket[i], *next; block; block = next) {
            next = block->next;
            free_block(block);
        }
    free_block(live->freed);
    free(live->by_address.bucket);
    free(live->by_granule.bucket);
    mt_live_nodes_clear(&live->nodes);
    free(live->unknown);
    mt_live_ranges_clear(&live->ranges);
    mt_live_storages_clear(&live->storages);
    free(live);
}

/* Compare the kind, too: PyTorch's block may begin where CUDA's does. */
static bool is_at(const struct mt_live_block *block, uint64_t address, uint16_t sort)
{
    return block->made.address == address && block->sort == sort;
}

static struct mt_live_block **find(struct mt_live *live, uint64_t address, uint16_t sort)
{
    struct mt_live_block **at =
        &live->by_address.bucket[mt_live_hash(address) & live->by_address.mask];
    while (*at && !is_at(*at, address, sort))
        at = &(*at)->next;
    return at;
}

static void enter_granule(struct mt_live *live, struct mt_live_block *block)
{
    struct mt_live_block **first =
        &live->by_granule
             .bucket[mt_live_hash(granule(block->made.address)) & live->by_granule.mask];
    block->before = NULL;
    block->after = *first;
    if (*first)
        (*first)->before = block;
    *first = block;
}

static void leave_granule(struct mt_live *live, struct mt_live_block *block)
{
    struct mt_live_block **first =
        &live->by_granule
             .bucket[mt_live_hash(granule(block->made.address)) & live->by_granule.mask];
    if (block->before)
        block->before->after = block->after;
    else
        *first = block->after;
    if (block->after)
        block->after->before = block->before;
}

/* Double both tables. */
static int make_room(struct mt_live *live)
{
    size_t entries = 2 * (live->by_address.mask + 1), old = live->by_address.mask + 1;
    if (live->by_address.used < old)
        return 0;
    struct mt_live_block **from = live->by_address.bucket;
    struct mt_live_block **addresses = calloc(entries, sizeof *addresses);
    struct mt_live_block **granules = calloc(entries, sizeof *granules);
    if (!addresses || !granules) {
        free(addresses);
        free(granules);
        return -ENOMEM;
    }
    free(live->by_granule.bucket);
    live->by_address.bucket = addresses;
    live->by_granule.bucket = granules;
    live->by_address.mask = live->by_granule.mask = entries - 1;
    for (size_t i = 0; i < old; i++)
        for (struct mt_live_block *block = from[i], *next; block; block = next) {
            next = block->next;
            struct mt_live_block **at =
                &addresses[mt_live_hash(block->made.address) & (entries - 1)];
            block->next = *at;
            *at = block;
            enter_granule(live, block);
        }
    free(from);
    return 0;
}

/* Remove a block from the tables. Return it, or NULL. */
static struct mt_live_block *take(struct mt_live *live, uint64_t address, uint16_t sort)
{
    struct mt_live_block **at = find(live, address, sort), *block = *at;
    if (!block)
        return NULL;
    *at = block->next;
    leave_granule(live, block);
    live->by_address.used--;
    return block;
}

/* Note how far to search for a label's block: a label may be on memory in no block. */
static void note_reach(struct mt_live *live, const struct mt_event *made)
{
    uint64_t bytes = made->size, last = made->address + bytes - !!bytes;
    uint64_t reach = granule(last) - granule(made->address);
    if (reach > MOST_GRANULES)
        reach = MOST_GRANULES;
    if (made->kind == MT_ALLOC && reach > live->reach)
        live->reach = reach;
}

static int put(struct mt_live *live, struct mt_live_block *block)
{
    if (make_room(live))
        return -ENOMEM;
    struct mt_live_block **at =
        &live->by_address.bucket[mt_live_hash(block->made.address) & live->by_address.mask];
    block->next = *at;
    *at = block;
    enter_granule(live, block);
    note_reach(live, &block->made);
    live->by_address.used++;
    return 0;
}

/* Return PyTorch's block around an address, or NULL. */
static struct mt_live_block *around(struct mt_live *live, uint64_t address)
{
    struct mt_live_block *block = *find(live, address, MT_ALLOC), *best = NULL;
    if (block)
        return block;
    for (uint64_t i = 0, at = granule(address); i <= live->reach && i <= at && !best; i++) {
        block = live->by_granule.bucket[mt_live_hash(at - i) & live->by_granule.mask];
        for (; block; block = block->after)
            if (block->made.kind == MT_ALLOC && granule(block->made.address) == at - i &&
                block->made.address <= address &&
                (!best || best->made.address < block->made.address))
                best = block;
    }
    return best && address - best->made.address < best->made.size ? best : NULL;
}

/* Return the physical memory of a handle, or NULL if it was not created here or no longer exists.
 */
static struct mt_live_block *memory_of(struct mt_live *live, uint64_t handle)
{
    struct mt_live_block *block = *find(live, handle, MT_CUDA_MALLOC);
    return block && block->physical ? block : NULL;
}

static void end_if_unkept(struct mt_live *live, struct mt_live_block *block)
{
    if (!mt_live_is_kept(block->physical))
        free_block(take(live, block->made.address, MT_CUDA_MALLOC));
}

/* Name the memory bound to a multicast object by handle: its address may be freed when the segment
 * is written. */
static void name_memory(struct mt_live *live, struct mt_event *map)
{
    if (map->CUDA_MAP.api != MT_API_CU_MULTICAST_BIND_ADDRESS)
        return;
    const struct mt_live_block *mapping = *find(live, map->CUDA_MAP.handle, MT_CUDA_MAP);
    if (mapping) {
        map->CUDA_MAP.handle = mapping->made.CUDA_MAP.handle;
        map->CUDA_MAP.api = MT_API_CU_MULTICAST_BIND_MEM;
    }
}

/* Begin the handles of physical memory, or count a mapping of it. */
static int begin_physical(struct mt_live *live, struct mt_live_block *block)
{
    if (block->made.kind == MT_CUDA_MAP) {
        name_memory(live, &block->made);
        struct mt_live_block *memory = memory_of(live, block->made.CUDA_MAP.handle);
        if (memory)
            memory->physical->maps++;
    }
    if (!mt_live_makes_physical(&block->made))
        return 0;
    block->physical = calloc(1, sizeof *block->physical);
    if (!block->physical)
        return -ENOMEM;
    mt_live_handle(block->physical, &block->made, 1);
    return 0;
}

static int begin_life(struct mt_live *live, const struct mt_event *event, uint16_t sort)
{
    struct mt_live_block *memory =
        mt_live_adds_handle(event) ? memory_of(live, event->address) : NULL;
    if (event->kind == MT_CUDA_MALLOC && event->CUDA_MALLOC.result)
        return 0; /* it failed */
    if (memory) {
        mt_live_handle(memory->physical, event, 1);
        return 0;
    }
    free_block(take(live, event->address, sort));
    struct mt_live_block *block = calloc(1, sizeof *block);
    if (!block)
        return -ENOMEM;
    block->made = *event;
    block->sort = sort;
    block->forward_stack =
        mt_live_nodes_line(&live->nodes, event->thread, &block->node, &block->node_name);
    int rc = begin_physical(live, block);
    if (!rc)
        rc = put(live, block);
    if (rc)
        free_block(block);
    return rc;
}

/* End a lifetime. CUDA's free is recorded before it succeeds, so the block is kept. */
static void end_life(struct mt_live *live, const struct mt_event *event, uint16_t sort)
{
    struct mt_live_block *memory = sort == MT_CUDA_MALLOC ? memory_of(live, event->address) : NULL;
    if (memory) {
        mt_live_handle(memory->physical, event, -1);
        if (mt_live_is_kept(memory->physical))
            return;
    }
    struct mt_live_block *block = take(live, event->address, sort);
    if (block && sort == MT_CUDA_MALLOC) {
        free_block(live->freed);
        live->freed = block;
    } else if (block && block->is_at_peak) {
        keep_gone(live, block, event);
    } else {
        free_block(block);
    }
}

/* End the mappings: an unmapped range may hold several. */
static void end_mappings(struct mt_live *live, const struct mt_event *event)
{
    uint64_t at = event->address, end = at + event->size;
    for (struct mt_live_block *block; at < end && (block = take(live, at, MT_CUDA_MAP));) {
        struct mt_live_block *memory = memory_of(live, block->made.CUDA_MAP.handle);
        at += block->made.size;
        free_block(block);
        if (memory) {
            memory->physical->maps -= memory->physical->maps > 0;
            end_if_unkept(live, memory);
        }
    }
}

static int undo_free(struct mt_live *live, const struct mt_event *event)
{
    struct mt_live_block *block = memory_of(live, event->address);
    if (block) {
        mt_live_handle(block->physical, event, 1);
        return 0;
    }
    block = live->freed;
    if (!block || block->made.address != event->address)
        return 0;
    if (put(live, block))
        return -ENOMEM;
    if (block->physical)
        mt_live_handle(block->physical, event, 1);
    live->freed = NULL;
    return 0;
}

static bool is_new_part(const struct mt_live_block *block, const struct mt_event *event)
{
    for (uint32_t i = 0; i < block->n_notes; i++)
        if (block->note[i].kind == MT_PART &&
            block->note[i].PART.parameter == event->PART.parameter)
            return false;
    return block->n_notes < MT_LIVE_MOST_PARTS;
}

/* Keep two leaf labels: a tensor may be a leaf of several graphs. */
static bool is_new(const struct mt_live_block *block, const struct mt_event *event)
{
    unsigned same = 0;
    if (event->kind == MT_PART)
        return is_new_part(block, event);
    for (uint32_t i = 0; i < block->n_notes; i++)
        same += block->note[i].kind == event->kind &&
                (block->note[i].stack == event->stack || event->kind == MT_LEAF);
    return same < (event->kind == MT_LEAF ? 2 : 1) && block->n_notes < MT_LIVE_MOST_NOTES;
}

/* Return the segment, which may be named before any block is in it. */
static struct mt_live_block *noted(struct mt_live *live, const struct mt_event *event,
                                   uint64_t address)
{
    struct mt_live_block *block = address ? around(live, address) : NULL;
    bool may_be_cudas = event->kind == MT_NAMED || event->kind == MT_HOST_REQUEST;
    return block || !may_be_cudas ? block : *find(live, address, MT_CUDA_MALLOC);
}

static uint64_t place_of(const struct mt_event *label)
{
    return label->kind == MT_NODE_NEW ? label->NODE_NEW.address : label->address;
}

/* Keep a label of a block. */
static int note(struct mt_live *live, const struct mt_event *label)
{
    struct mt_live_block *block = noted(live, label, place_of(label));
    if (!block || !is_new(block, label))
        return 0;
    struct mt_event *notes = realloc(block->note, (block->n_notes + 1) * sizeof *notes);
    if (!notes)
        return -ENOMEM;
    block->note = notes;
    notes[block->n_notes++] = *label;
    return 0;
}

bool mt_live_has_block(struct mt_live *live, const struct mt_event *label)
{
    uint64_t address = place_of(label);
    return !address || *find(live, address, MT_ALLOC);
}

bool mt_live_is_news(struct mt_live *live, const struct mt_event *label)
{
    const struct mt_live_block *block = noted(live, label, place_of(label));
    return !block || is_new(block, label);
}

/* Return its labels to a storage that has memory again. */
static int resize(struct mt_live *live, const struct mt_event *event)
{
    struct mt_live_block *block = noted(live, event, event->address);
    struct mt_event label;
    uint32_t i = 0;
    int rc = 0;
    if (block && !event->RESIZE.size)
        return mt_live_storage_empty(&live->storages, event, block->note, block->n_notes);
    while (!rc && mt_live_storage_next(&live->storages, event, &i, &label))
        rc = note(live, &label);
    return rc;
}

static void note_totals(struct mt_live *live, const struct mt_event *event)
{
    unsigned slot = mt_live_device_slot(event->device);
    live->total[slot].allocated = event->ALLOC.allocated;
    live->total[slot].reserved = event->ALLOC.reserved;
}

/* Return the event that represents all of a place and kind, or NULL if there is none yet. */
static struct mt_event *unknown_of(struct mt_live *live, const struct mt_event *event)
{
    for (size_t i = 0; i < live->n_unknown; i++)
        if (live->unknown[i].stack == event->stack &&
            live->unknown[i].UNKNOWN_VALUE.what == event->UNKNOWN_VALUE.what)
            return &live->unknown[i];
    return NULL;
}

/* Count the values that are not simulated, by place and kind. Beyond the limit, places are dropped.
 */
static int count_unknown(struct mt_live *live, struct mt_event event)
{
    uint64_t count = event.UNKNOWN_VALUE.count + !event.UNKNOWN_VALUE.count;
    struct mt_event *known = unknown_of(live, &event);
    if (!known && live->n_unknown >= MT_LIVE_MOST_UNKNOWN) {
        event.stack = 0;
        known = unknown_of(live, &event);
    }
    if (!known) {
        known = realloc(live->unknown, (live->n_unknown + 1) * sizeof *known);
        if (!known)
            return -ENOMEM;
        live->unknown = known;
        known += live->n_unknown++;
        *known = event;
        known->UNKNOWN_VALUE.count = 0;
    }
    known->UNKNOWN_VALUE.count += count;
    return 0;
}

int mt_live_event(struct mt_live *live, const struct mt_event *event)
{
    if (event->kind == MT_ALLOC || event->kind == MT_FREE)
        note_totals(live, event);
    for (size_t i = 0; i < sizeof lives / sizeof *lives; i++) {
        if (event->kind == lives[i].kind)
            return begin_life(live, event, lives[i].sort);
        if (event->kind != lives[i].end)
            continue;
        if (event->kind == MT_CUDA_UNMAP)
            end_mappings(live, event);
        else
            end_life(live, event, lives[i].sort);
        return 0;
    }
    switch (event->kind) {
    case MT_CUDA_FREE_FAILED:
        return undo_free(live, event);
    case MT_RESIZE:
        return resize(live, event);
    case MT_HOST_REQUEST:
        return note(live, event);
    case MT_NODE_NEW:
        mt_live_nodes_make(&live->nodes, event);
        return note(live, event);
    case MT_NODE_BEGIN:
        mt_live_nodes_begin(&live->nodes, event);
        return 0;
    case MT_NODE_END:
        mt_live_nodes_end(&live->nodes, event);
        return 0;
    case MT_UNKNOWN_VALUE:
        return count_unknown(live, *event);
    case MT_LOST:
        mt_live_nodes_forget_running(&live->nodes, event->thread); /* its ends may have been lost */
        return 0;
    }
    unsigned about = mt_kind_about[event->kind];
    return about == MT_ABOUT_LABEL || about == MT_ABOUT_NAME
               ? note(live, event)
               : mt_live_ranges_event(&live->ranges, event);
}

void mt_live_pass(struct mt_live *live, const struct mt_event *event)
{
    if (event->kind == MT_ALLOC || event->kind == MT_FREE)
        note_totals(live, event);
    else if (event->kind == MT_NODE_NEW)
        mt_live_nodes_make(&live->nodes, event);
}

int mt_live_recall(struct mt_live *live, const struct mt_event *event)
{
    return event->kind == MT_ALLOC ? begin_life(live, event, MT_ALLOC) : note(live, event);
}

bool mt_live_find_node(struct mt_live *live, uint64_t address, uint32_t *stack)
{
    return mt_live_nodes_find(&live->nodes, address, stack);
}
