/* SPDX-License-Identifier: Apache-2.0 */
#include "used-blocks.h"

#include <stdlib.h>
#include <string.h>

/* Addresses of 2 MiB have one list of the blocks that begin there, in the order of addresses. */
#define GRANULE_BITS 21
#define MOST_GRANULES 65536u /* that a block may cover */
#define FIRST_GRANULES 1024u
/* Threads within nodes of autograd that are known at once. */
#define MOST_THREADS 256u
#define MOST_UNSEEN 64u
#define IDLE_SHARE 4u

struct use {
    uint64_t time_ns;
    uint32_t stack, name, thread;
    bool is_in_backward, is_of_graph;
};

struct block {
    uint64_t address, size;
    int16_t device;
    bool is_used, is_read, is_captured, is_passed;
    struct use first, last, before, after; /* before and after the longest pause */
    uint64_t pause_ns;
};

struct granule {
    uint64_t number;        /* plus 1; 0: free */
    struct block *covering; /* begins in an earlier one */
    struct block **block;
    uint32_t n, room;
};

/* The blocks of one allocator. */
struct map {
    struct granule *granule;
    size_t mask, used;
};

struct mt_used_blocks {
    struct map torch, cuda;
    struct use graph; /* the last launch of a captured graph */
    struct {
        uint32_t thread, depth;
    } running[MOST_THREADS];
    struct {
        uint32_t name;
        uint64_t count;
    } unseen[MOST_UNSEEN];
};

static size_t place_of(const struct map *map, uint64_t number)
{
    size_t at = (size_t)(number * UINT64_C(0x9e3779b97f4a7c15) >> 20) & map->mask;
    while (map->granule[at].number && map->granule[at].number != number + 1)
        at = (at + 1) & map->mask;
    return at;
}

static struct granule *find_granule(const struct map *map, uint64_t number)
{
    struct granule *granule = map->granule ? &map->granule[place_of(map, number)] : NULL;
    return granule && granule->number ? granule : NULL;
}

/* Granules stay: programs use the same addresses again. */
static bool grow(struct map *map)
{
    size_t old = map->granule ? map->mask + 1 : 0, entries = old ? 2 * old : FIRST_GRANULES;
    struct map next = {calloc(entries, sizeof *next.granule), entries - 1, map->used};
    if (!next.granule)
        return false;
    for (size_t i = 0; i < old; i++)
        if (map->granule[i].number)
            next.granule[place_of(&next, map->granule[i].number - 1)] = map->granule[i];
    free(map->granule);
    *map = next;
    return true;
}

static struct granule *need_granule(struct map *map, uint64_t number)
{
    if ((!map->granule || 2 * map->used > map->mask) && !grow(map))
        return NULL;
    struct granule *granule = &map->granule[place_of(map, number)];
    map->used += !granule->number;
    granule->number = number + 1;
    return granule;
}

/* Return the place of the first block of a granule behind an address. */
static uint32_t behind(const struct granule *granule, uint64_t address)
{
    uint32_t low = 0, high = granule->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (granule->block[middle]->address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Return the block around an address, or NULL. */
static struct block *around(const struct map *map, uint64_t address)
{
    const struct granule *granule = find_granule(map, address >> GRANULE_BITS);
    if (!granule)
        return NULL;
    uint32_t at = behind(granule, address);
    struct block *block = at ? granule->block[at - 1] : granule->covering;
    return block && address - block->address < block->size ? block : NULL;
}

static uint64_t last_granule(const struct block *block)
{
    uint64_t first = block->address >> GRANULE_BITS;
    uint64_t last = (block->address + block->size - 1) >> GRANULE_BITS;
    return last - first > MOST_GRANULES ? first + MOST_GRANULES : last;
}

static void cover(struct map *map, const struct block *block, struct block *covering)
{
    uint64_t first = block->address >> GRANULE_BITS;
    for (uint64_t number = first + 1; number <= last_granule(block); number++) {
        struct granule *granule = need_granule(map, number);
        if (granule && (covering || granule->covering == block))
            granule->covering = covering;
    }
}

static void insert(struct map *map, struct block *block)
{
    struct granule *granule = need_granule(map, block->address >> GRANULE_BITS);
    uint32_t room = granule && granule->n == granule->room ? 2 * granule->room + 4 : 0;
    struct block **grown = room ? realloc(granule->block, room * sizeof(struct block *)) : NULL;
    if (!granule || (room && !grown)) {
        free(block);
        return;
    }
    if (grown) {
        granule->block = grown;
        granule->room = room;
    }
    uint32_t at = behind(granule, block->address);
    memmove(granule->block + at + 1, granule->block + at,
            (granule->n++ - at) * sizeof(struct block *));
    granule->block[at] = block;
    cover(map, block, block);
}

/* Remove the block that begins at an address. Return it, or NULL. */
static struct block *take(struct map *map, uint64_t address)
{
    struct granule *granule = find_granule(map, address >> GRANULE_BITS);
    uint32_t at = granule ? behind(granule, address) : 0;
    if (!at || granule->block[at - 1]->address != address)
        return NULL;
    struct block *block = granule->block[at - 1];
    memmove(granule->block + at - 1, granule->block + at,
            (granule->n-- - at) * sizeof(struct block *));
    cover(map, block, NULL);
    return block;
}

static void clear(struct map *map)
{
    for (size_t i = 0; map->granule && i <= map->mask; i++) {
        for (uint32_t j = 0; j < map->granule[i].n; j++)
            free(map->granule[i].block[j]);
        free(map->granule[i].block);
    }
    free(map->granule);
}

struct mt_used_blocks *mt_used_blocks_create(void)
{
    return calloc(1, sizeof(struct mt_used_blocks));
}

void mt_used_blocks_destroy(struct mt_used_blocks *blocks)
{
    if (!blocks)
        return;
    clear(&blocks->torch);
    clear(&blocks->cuda);
    free(blocks);
}

static void begin(struct map *map, const struct mt_event *event)
{
    free(take(map, event->address));
    struct block *block = event->size ? calloc(1, sizeof *block) : NULL;
    if (!block)
        return;
    block->address = event->address;
    block->size = event->size;
    block->device = event->device;
    insert(map, block);
}

/* --- uses --------------------------------------------------------------------------------------
 */

static uint32_t *depth_of(struct mt_used_blocks *blocks, uint32_t thread)
{
    for (unsigned i = 0; i < MOST_THREADS; i++) {
        if (!blocks->running[i].thread)
            blocks->running[i].thread = thread;
        if (blocks->running[i].thread == thread)
            return &blocks->running[i].depth;
    }
    return NULL;
}

static void run_node(struct mt_used_blocks *blocks, const struct mt_event *event)
{
    uint32_t *depth = depth_of(blocks, event->thread);
    if (depth && event->kind == MT_NODE_BEGIN)
        ++*depth;
    else if (depth && *depth)
        --*depth;
}

static struct use use_of(struct mt_used_blocks *blocks, const struct mt_event *event)
{
    const uint32_t *depth = depth_of(blocks, event->thread);
    return (struct use){event->time_ns, event->stack,    (uint32_t)event->USE.name,
                        event->thread,  depth && *depth, event->USE.how & MT_USE_OF_GRAPH};
}

static void note(struct block *block, const struct use *use)
{
    uint64_t pause = block->is_used ? use->time_ns - block->last.time_ns : 0;
    if (!block->is_used)
        block->first = *use;
    if (pause > block->pause_ns) {
        block->pause_ns = pause;
        block->before = block->last;
        block->after = *use;
    }
    block->last = *use;
    block->is_used = true;
}

static void use_block(struct mt_used_blocks *blocks, const struct mt_event *event)
{
    struct use use = use_of(blocks, event);
    struct block *block = around(&blocks->torch, event->address);
    block = block ? block : around(&blocks->cuda, event->address);
    if (!block)
        return;
    if (event->USE.how & MT_USE_PASSED) {
        block->is_passed = true;
        return;
    }
    block->is_read |= !(event->USE.how & MT_USE_WRITES);
    block->is_captured |= event->USE.how & MT_USE_CAPTURED ? true : false;
    note(block, &use);
}

/* Count unseen work. Return whether it is to be written: the first of its name. */
static bool is_news(struct mt_used_blocks *blocks, uint32_t name)
{
    for (unsigned i = 0; i < MOST_UNSEEN; i++) {
        if (blocks->unseen[i].count && blocks->unseen[i].name != name)
            continue;
        blocks->unseen[i].name = name;
        return !blocks->unseen[i].count++;
    }
    return false;
}

static unsigned note_use(struct mt_used_blocks *blocks, const struct mt_event *event,
                         struct mt_event *out)
{
    if (event->USE.how & MT_USE_OF_GRAPH) {
        blocks->graph = use_of(blocks, event);
    } else if (!(event->USE.how & MT_USE_UNSEEN)) {
        use_block(blocks, event);
    } else if (is_news(blocks, (uint32_t)event->USE.name)) {
        *out = *event;
        out->kind = MT_UNSEEN_WORK;
        memset(out->arg, 0, sizeof out->arg);
        out->UNSEEN_WORK.name = event->USE.name;
        out->UNSEEN_WORK.count = 1;
        return 1;
    }
    return 0;
}

static void put(struct mt_event *out, const struct block *block, const struct use *use,
                uint64_t time_ns, unsigned which)
{
    which |= use->is_of_graph ? MT_USES_OF_GRAPH : 0;
    which |= use->is_in_backward ? MT_USES_IN_BACKWARD : 0;
    which |= block->is_used && !block->is_read ? MT_USES_ONLY_WRITTEN : 0;
    which |= block->is_passed ? MT_USES_PASSED : 0;
    uint64_t ago = which & MT_USES_NONE || use->time_ns > time_ns ? 0 : time_ns - use->time_ns;
    *out = (struct mt_event){.time_ns = time_ns,
                             .kind = MT_USES,
                             .device = block->device,
                             .thread = use->thread,
                             .stack = use->stack,
                             .USES = {block->address, ago, use->name, which}};
}

/* Write the uses of a block, as of a moment. Return how many events that are. */
static unsigned list(const struct mt_used_blocks *blocks, const struct block *from,
                     uint64_t time_ns, struct mt_event out[static MT_USES_OF_BLOCK])
{
    struct block block = *from;
    unsigned n = 0;
    if (block.is_captured && blocks->graph.time_ns)
        block.pause_ns = 0; /* any launch of a graph may have used it */
    if (block.is_captured && blocks->graph.time_ns > block.last.time_ns)
        block.last = blocks->graph;
    if (!block.is_used) {
        put(&out[n++], &block, &(struct use){0}, time_ns, MT_USES_NONE);
        return n;
    }
    bool is_one = block.first.time_ns == block.last.time_ns;
    if (block.pause_ns && block.pause_ns * IDLE_SHARE >= time_ns - block.first.time_ns) {
        put(&out[n++], &block, &block.before, time_ns,
            MT_USES_BEFORE_IDLE |
                (block.before.time_ns == block.first.time_ns ? MT_USES_FIRST : 0u));
        put(&out[n++], &block, &block.after, time_ns,
            MT_USES_AFTER_IDLE | (block.after.time_ns == block.last.time_ns ? MT_USES_LAST : 0u));
    }
    bool has_first = n && out[0].USES.which & MT_USES_FIRST;
    bool has_last = n && out[1].USES.which & MT_USES_LAST;
    if (!has_first)
        put(&out[n++], &block, &block.first, time_ns, MT_USES_FIRST | (is_one ? MT_USES_LAST : 0u));
    if (!has_last && !is_one)
        put(&out[n++], &block, &block.last, time_ns, MT_USES_LAST);
    return n;
}

static unsigned end(struct mt_used_blocks *blocks, struct map *map, const struct mt_event *event,
                    struct mt_event *out)
{
    struct block *block = take(map, event->address);
    unsigned n = block ? list(blocks, block, event->time_ns, out) : 0;
    free(block);
    return n;
}

unsigned mt_used_blocks_event(struct mt_used_blocks *blocks, const struct mt_event *event,
                              struct mt_event out[static MT_USES_OF_BLOCK], bool *is_hidden)
{
    *is_hidden = event->kind == MT_USE;
    switch (event->kind) {
    case MT_USE:
        return note_use(blocks, event, out);
    case MT_ALLOC:
        begin(&blocks->torch, event);
        return 0;
    case MT_FREE:
        return end(blocks, &blocks->torch, event, out);
    case MT_CUDA_MALLOC:
        if (!event->CUDA_MALLOC.result)
            begin(&blocks->cuda, event);
        return 0;
    case MT_CUDA_MALLOC_ASYNC:
        begin(&blocks->cuda, event);
        return 0;
    case MT_CUDA_FREE:
    case MT_CUDA_FREE_ASYNC:
        return end(blocks, &blocks->cuda, event, out);
    case MT_NODE_BEGIN:
    case MT_NODE_END:
        run_node(blocks, event);
        return 0;
    default:
        return 0;
    }
}

static void each_of(struct mt_used_blocks *blocks, const struct map *map, uint64_t time_ns,
                    void (*each)(struct mt_event *event, unsigned n))
{
    struct mt_event out[MT_USES_OF_BLOCK];
    for (size_t i = 0; map->granule && i <= map->mask; i++)
        for (uint32_t j = 0; j < map->granule[i].n; j++)
            each(out, list(blocks, map->granule[i].block[j], time_ns, out));
}

void mt_used_blocks_each(struct mt_used_blocks *blocks, uint64_t time_ns,
                         void (*each)(struct mt_event *event, unsigned n))
{
    each_of(blocks, &blocks->torch, time_ns, each);
    each_of(blocks, &blocks->cuda, time_ns, each);
}
