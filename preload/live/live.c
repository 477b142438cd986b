/* SPDX-License-Identifier: Apache-2.0 */
#include "live.h"
#include "live-physical.h"
#include "live-ranges.h"
#include "live-storages.h"
#include "trace-format/cuda-apis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NOTES 12u      /* of a block: later ones say nothing new, */
#define MOST_PARTS 1024u    /* but for parts of parameters, of which a flat one has many */
#define GRANULE_BITS 21     /* addresses of one granule are looked through one by one */
#define MOST_GRANULES 65536 /* that a block may reach over: 128 GiB */
#define MOST_RUNNING 64u    /* nodes inside each other on a thread */
#define DEVICES 64u
#define THREADS 1024u

/* What begins and ends a life, and the sort of life that it is: one event may end what another
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

struct block {
    struct mt_event made;
    uint16_t sort;
    struct mt_event *note; /* labels; before them, the node that ran */
    uint32_t n_notes;
    uint64_t node, node_name;            /* the node that ran on the thread; 0: none */
    uint32_t forward_stack;              /* where it was made */
    struct mt_live_physical *physical;   /* of physical memory */
    struct block *next, *before, *after; /* of its address's hash; of its granule's */
};

struct map {
    struct block **bucket;
    size_t mask, used;
};

struct running {
    uint64_t node[MOST_RUNNING], name[MOST_RUNNING];
    uint32_t depth;
};

struct node {
    uint64_t address;
    uint32_t stack; /* where it was made */
};

struct mt_live {
    struct map by_address, by_granule;
    uint64_t reach;          /* granules, at most, from a block of PyTorch's begin to its end */
    struct running *running; /* by thread */
    struct node *nodes;      /* a cache: by a hash of the address */
    struct block *freed;     /* by the last cudaFree, which may fail */
    struct mt_live_ranges ranges;
    struct mt_live_storages storages;
    struct {
        uint64_t allocated, reserved;
    } total[DEVICES];
};

#define NODES 65536u

static size_t hash(uint64_t number)
{
    return (size_t)((number * 0x9e3779b97f4a7c15u) >> 32);
}

static uint64_t granule(uint64_t address)
{
    return address >> GRANULE_BITS;
}

static unsigned device_slot(int device)
{
    return (unsigned)(device + 1) % DEVICES;
}

struct mt_live *mt_live_create(void)
{
    struct mt_live *live = calloc(1, sizeof *live);
    if (!live)
        return NULL;
    live->running = calloc(THREADS, sizeof *live->running);
    live->nodes = calloc(NODES, sizeof *live->nodes);
    live->by_address.bucket = calloc(1024, sizeof *live->by_address.bucket);
    live->by_granule.bucket = calloc(1024, sizeof *live->by_granule.bucket);
    live->by_address.mask = live->by_granule.mask = 1023;
    if (live->running && live->nodes && live->by_address.bucket && live->by_granule.bucket)
        return live;
    mt_live_destroy(live);
    return NULL;
}

static void free_block(struct block *block)
{
    if (block) {
        free(block->note);
        free(block->physical);
    }
    free(block);
}

void mt_live_destroy(struct mt_live *live)
{
    if (!live)
        return;
    for (size_t i = 0; live->by_address.bucket && i <= live->by_address.mask; i++)
        for (struct block *block = live->by_address.bucket[i], *next; block; block = next) {
            next = block->next;
            free_block(block);
        }
    free_block(live->freed);
    free(live->by_address.bucket);
    free(live->by_granule.bucket);
    free(live->running);
    free(live->nodes);
    mt_live_ranges_clear(&live->ranges);
    mt_live_storages_clear(&live->storages);
    free(live);
}

/* PyTorch's block of an address may begin where CUDA's does. */
static int is_at(const struct block *block, uint64_t address, uint16_t sort)
{
    return block->made.address == address && block->sort == sort;
}

static struct block **find(struct mt_live *live, uint64_t address, uint16_t sort)
{
    struct block **at = &live->by_address.bucket[hash(address) & live->by_address.mask];
    while (*at && !is_at(*at, address, sort))
        at = &(*at)->next;
    return at;
}

static void enter_granule(struct mt_live *live, struct block *block)
{
    struct block **first =
        &live->by_granule.bucket[hash(granule(block->made.address)) & live->by_granule.mask];
    block->before = NULL;
    block->after = *first;
    if (*first)
        (*first)->before = block;
    *first = block;
}

static void leave_granule(struct mt_live *live, struct block *block)
{
    struct block **first =
        &live->by_granule.bucket[hash(granule(block->made.address)) & live->by_granule.mask];
    if (block->before)
        block->before->after = block->after;
    else
        *first = block->after;
    if (block->after)
        block->after->before = block->before;
}

/* Doubles both tables. */
static int make_room(struct mt_live *live)
{
    size_t entries = 2 * (live->by_address.mask + 1), old = live->by_address.mask + 1;
    if (live->by_address.used < old)
        return 0;
    struct block **from = live->by_address.bucket;
    struct block **addresses = calloc(entries, sizeof *addresses);
    struct block **granules = calloc(entries, sizeof *granules);
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
        for (struct block *block = from[i], *next; block; block = next) {
            next = block->next;
            struct block **at = &addresses[hash(block->made.address) & (entries - 1)];
            block->next = *at;
            *at = block;
            enter_granule(live, block);
        }
    free(from);
    return 0;
}

/* Takes a block out of the tables; NULL: there is none. */
static struct block *take(struct mt_live *live, uint64_t address, uint16_t sort)
{
    struct block **at = find(live, address, sort), *block = *at;
    if (!block)
        return NULL;
    *at = block->next;
    leave_granule(live, block);
    live->by_address.used--;
    return block;
}

/* How far labels are looked for: each may be on memory that is in no block at all. */
static void note_reach(struct mt_live *live, const struct mt_event *made)
{
    uint64_t bytes = made->size, last = made->address + bytes - !!bytes;
    uint64_t reach = granule(last) - granule(made->address);
    if (reach > MOST_GRANULES)
        reach = MOST_GRANULES;
    if (made->kind == MT_ALLOC && reach > live->reach)
        live->reach = reach;
}

static int put(struct mt_live *live, struct block *block)
{
    if (make_room(live))
        return -ENOMEM;
    struct block **at = &live->by_address.bucket[hash(block->made.address) & live->by_address.mask];
    block->next = *at;
    *at = block;
    enter_granule(live, block);
    note_reach(live, &block->made);
    live->by_address.used++;
    return 0;
}

/* PyTorch's block that the address points into. */
static struct block *around(struct mt_live *live, uint64_t address)
{
    struct block *block = *find(live, address, MT_ALLOC), *best = NULL;
    if (block)
        return block;
    for (uint64_t i = 0, at = granule(address); i <= live->reach && i <= at && !best; i++) {
        block = live->by_granule.bucket[hash(at - i) & live->by_granule.mask];
        for (; block; block = block->after)
            if (block->made.kind == MT_ALLOC && granule(block->made.address) == at - i &&
                block->made.address <= address &&
                (!best || best->made.address < block->made.address))
                best = block;
    }
    return best && address - best->made.address < best->made.size ? best : NULL;
}

static struct running *running_on(struct mt_live *live, uint32_t thread)
{
    return &live->running[thread % THREADS];
}

static struct node *node_of(struct mt_live *live, uint64_t address)
{
    return &live->nodes[hash(address) % NODES];
}

/* The physical memory of a handle; NULL: it was not made here, or is gone. */
static struct block *memory_of(struct mt_live *live, uint64_t handle)
{
    struct block *block = *find(live, handle, MT_CUDA_MALLOC);
    return block && block->physical ? block : NULL;
}

static void end_if_unkept(struct mt_live *live, struct block *block)
{
    if (!mt_live_is_kept(block->physical))
        free_block(take(live, block->made.address, MT_CUDA_MALLOC));
}

/* Of what is bound to a multicast object by its address: that may be gone when this is told. */
static void name_memory(struct mt_live *live, struct mt_event *map)
{
    if (map->CUDA_MAP.api != MT_API_CU_MULTICAST_BIND_ADDRESS)
        return;
    const struct block *mapping = *find(live, map->CUDA_MAP.handle, MT_CUDA_MAP);
    if (mapping) {
        map->CUDA_MAP.handle = mapping->made.CUDA_MAP.handle;
        map->CUDA_MAP.api = MT_API_CU_MULTICAST_BIND_MEM;
    }
}

/* What a block of physical memory or a mapping of it has besides. */
static int begin_physical(struct mt_live *live, struct block *block)
{
    if (block->made.kind == MT_CUDA_MAP) {
        name_memory(live, &block->made);
        struct block *memory = memory_of(live, block->made.CUDA_MAP.handle);
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
    struct block *memory = mt_live_gives_handle(event) ? memory_of(live, event->address) : NULL;
    if (event->kind == MT_CUDA_MALLOC && event->CUDA_MALLOC.result)
        return 0; /* it failed */
    if (memory) {
        mt_live_handle(memory->physical, event, 1);
        return 0;
    }
    free_block(take(live, event->address, sort));
    struct block *block = calloc(1, sizeof *block);
    if (!block)
        return -ENOMEM;
    block->made = *event;
    block->sort = sort;
    const struct running *running = running_on(live, event->thread);
    if (running->depth && running->depth <= MOST_RUNNING) {
        block->node = running->node[running->depth - 1];
        block->node_name = running->name[running->depth - 1];
        const struct node *node = node_of(live, block->node);
        block->forward_stack = node->address == block->node ? node->stack : 0;
    }
    int rc = begin_physical(live, block);
    if (!rc)
        rc = put(live, block);
    if (rc)
        free_block(block);
    return rc;
}

/* A free of CUDA is known before it has succeeded. */
static void end_life(struct mt_live *live, const struct mt_event *event, uint16_t sort)
{
    struct block *memory = sort == MT_CUDA_MALLOC ? memory_of(live, event->address) : NULL;
    if (memory) {
        mt_live_handle(memory->physical, event, -1);
        if (mt_live_is_kept(memory->physical))
            return;
    }
    struct block *block = take(live, event->address, sort);
    if (block && sort == MT_CUDA_MALLOC) {
        free_block(live->freed);
        live->freed = block;
    } else {
        free_block(block);
    }
}

/* Several mappings may lie in a range that is unmapped. */
static void end_mappings(struct mt_live *live, const struct mt_event *event)
{
    uint64_t at = event->address, end = at + event->size;
    for (struct block *block; at < end && (block = take(live, at, MT_CUDA_MAP));) {
        struct block *memory = memory_of(live, block->made.CUDA_MAP.handle);
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
    struct block *block = memory_of(live, event->address);
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

static int is_new_part(const struct block *block, const struct mt_event *event)
{
    for (uint32_t i = 0; i < block->n_notes; i++)
        if (block->note[i].kind == MT_PART && block->note[i].PART.parameter == event->PART.parameter)
            return 0;
    return block->n_notes < MOST_PARTS;
}

/* A tensor may be a leaf of several graphs, and that is worth knowing. */
static int is_new(const struct block *block, const struct mt_event *event)
{
    unsigned same = 0;
    if (event->kind == MT_PART)
        return is_new_part(block, event);
    for (uint32_t i = 0; i < block->n_notes; i++)
        same += block->note[i].kind == event->kind &&
                (block->note[i].stack == event->stack || event->kind == MT_LEAF);
    return same < (event->kind == MT_LEAF ? 2 : 1) && block->n_notes < MOST_NOTES;
}

/* A segment has a name before any block is in it. */
static struct block *noted(struct mt_live *live, const struct mt_event *event, uint64_t address)
{
    struct block *block = address ? around(live, address) : NULL;
    return block || event->kind != MT_NAMED ? block : *find(live, address, MT_CUDA_MALLOC);
}

static int note(struct mt_live *live, const struct mt_event *event, uint64_t address)
{
    struct block *block = noted(live, event, address);
    if (!block || !is_new(block, event))
        return 0;
    struct mt_event *notes = realloc(block->note, (block->n_notes + 1) * sizeof *notes);
    if (!notes)
        return -ENOMEM;
    block->note = notes;
    notes[block->n_notes++] = *event;
    return 0;
}

/* A storage that has got memory again has what it had before. */
static int resize(struct mt_live *live, const struct mt_event *event)
{
    struct block *block = noted(live, event, event->address);
    struct mt_event label;
    uint32_t i = 0;
    int rc = 0;
    if (block && !event->RESIZE.size)
        return mt_live_storage_empty(&live->storages, event, block->note, block->n_notes);
    while (!rc && mt_live_storage_next(&live->storages, event, &i, &label))
        rc = note(live, &label, label.address);
    return rc;
}

static void begin_node(struct mt_live *live, const struct mt_event *event)
{
    struct running *running = running_on(live, event->thread);
    if (running->depth++ >= MOST_RUNNING)
        return;
    running->node[running->depth - 1] = event->NODE_BEGIN.node;
    running->name[running->depth - 1] = event->NODE_BEGIN.name;
}

static void end_node(struct mt_live *live, const struct mt_event *event)
{
    struct running *running = running_on(live, event->thread);
    if (running->depth)
        running->depth--;
}

static void note_totals(struct mt_live *live, const struct mt_event *event)
{
    unsigned slot = device_slot(event->device);
    live->total[slot].allocated = event->ALLOC.allocated;
    live->total[slot].reserved = event->ALLOC.reserved;
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
    case MT_NODE_NEW:
        *node_of(live, event->NODE_NEW.node) = (struct node){event->NODE_NEW.node, event->stack};
        return note(live, event, event->NODE_NEW.address);
    case MT_NODE_BEGIN:
        begin_node(live, event);
        return 0;
    case MT_NODE_END:
        end_node(live, event);
        return 0;
    case MT_LOST:
        running_on(live, event->thread)->depth = 0; /* its ends may be among what was lost */
        return 0;
    }
    unsigned about = mt_kind_about[event->kind];
    return about == MT_ABOUT_LABEL || about == MT_ABOUT_NAME
               ? note(live, event, event->address)
               : mt_live_ranges_event(&live->ranges, event);
}

struct list {
    struct mt_event *event;
    size_t n;
    int (*each)(const struct mt_event *event);
};

static void list_block(struct list *list, const struct block *block)
{
    struct mt_event context = block->made;
    if (block->node) { /* it runs again for the moment of the allocation */
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

/* Events of one time stay as they are listed. Not qsort, which allocates in this thread of ours
 * (own-malloc.h); there is room for n more in scratch. */
static void sort_by_time(struct mt_event **order, struct mt_event **scratch, size_t n)
{
    for (size_t run = 1; run < n; run *= 2) {
        for (size_t begin = 0, to = 0; begin < n; begin += 2 * run) {
            size_t middle = begin + run < n ? begin + run : n;
            size_t end = middle + run < n ? middle + run : n;
            size_t a = begin, b = middle;
            while (a < middle || b < end) {
                int is_b = a == middle || (b < end && order[b]->time_ns < order[a]->time_ns);
                scratch[to++] = order[is_b ? b++ : a++];
            }
        }
        memcpy(order, scratch, n * sizeof *order);
    }
}

/* PyTorch's totals as if there had never been anything else; what memtap has not seen comes first.
 */
static void make_totals(const struct mt_live *live, struct mt_event **order, size_t n)
{
    uint64_t now[DEVICES];
    for (unsigned i = 0; i < DEVICES; i++)
        now[i] = live->total[i].allocated;
    for (size_t i = 0; i < n; i++)
        if (order[i]->kind == MT_ALLOC)
            now[device_slot(order[i]->device)] -= order[i]->size;
    for (size_t i = 0; i < n; i++) {
        unsigned slot = device_slot(order[i]->device);
        if (order[i]->kind != MT_ALLOC)
            continue;
        now[slot] += order[i]->size;
        order[i]->ALLOC.allocated = now[slot];
        order[i]->ALLOC.reserved = live->total[slot].reserved;
    }
}

/* Nodes that run at this moment, as the last of all. */
static int tell_running(const struct mt_live *live, const struct list *list, uint64_t time_ns)
{
    for (uint32_t thread = 0; thread < THREADS; thread++) {
        const struct running *running = &live->running[thread];
        for (uint32_t i = 0; i < running->depth && i < MOST_RUNNING; i++) {
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

static int tell(const struct mt_live *live, struct list *list)
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
        rc = tell_running(live, list, list->n ? order[list->n - 1]->time_ns : 0);
    free(order);
    return rc;
}

int mt_live_each(struct mt_live *live, int (*each)(const struct mt_event *event))
{
    struct list list = {.event =
                            calloc(live->by_address.used * (4 + MOST_NOTES + MT_LIVE_HANDLES) + 1,
                                   sizeof *list.event),
                        .each = each};
    if (!list.event)
        return -ENOMEM;
    for (size_t i = 0; i <= live->by_address.mask; i++)
        for (const struct block *block = live->by_address.bucket[i]; block; block = block->next)
            list_block(&list, block);
    int rc = tell(live, &list);
    free(list.event);
    return rc ? rc : mt_live_ranges_each(&live->ranges, each);
}
