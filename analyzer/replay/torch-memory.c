/* SPDX-License-Identifier: Apache-2.0 */
#include "torch-memory.h"
#include "analyzer/support/search.h"

void mt_torch_memory_clear(struct mt_torch_memory *memory)
{
    free(memory->block);
    free(memory->segment);
    mt_address_map_clear(&memory->by_address);
    mt_address_map_clear(&memory->pools);
    memset(memory, 0, sizeof *memory);
}

/* Return the first segment at or after the address. */
static size_t find_segment(const struct mt_torch_memory *memory, uint64_t address)
{
    return MT_LEADING(i, memory->n_segments, memory->segment[i].address < address);
}

static int insert_segment(struct mt_torch_memory *memory, const struct mt_torch_segment *segment)
{
    size_t at = find_segment(memory, segment->address);
    if (at == memory->n_segments || memory->segment[at].address != segment->address) {
        if (MT_GROW(memory->segment, memory->segments_capacity, memory->n_segments))
            return -ENOMEM;
        memmove(&memory->segment[at + 1], &memory->segment[at],
                (memory->n_segments++ - at) * sizeof *segment);
    } /* else its free is missing */
    memory->segment[at] = *segment;
    return 0;
}

bool mt_torch_memory_has(const struct mt_torch_memory *memory, uint64_t address, uint64_t size)
{
    size_t at = find_segment(memory, address);
    if (at == memory->n_segments || memory->segment[at].address != address) {
        if (!at)
            return false;
        at--;
    }
    for (uint64_t from = address; at < memory->n_segments; at++) {
        const struct mt_torch_segment *segment = &memory->segment[at];
        uint64_t end = segment->address + segment->size;
        if (segment->address > from || end <= from)
            return false;
        if (end - address >= size)
            return true;
        from = end;
    }
    return false;
}

/* Note the segments shown by the event, which contain its block. */
static int add_segments(struct mt_torch_memory *memory, const struct mt_replay *replay,
                        const struct mt_torch_block *block)
{
    const struct mt_new_segments *new = &replay->reserved.new;
    int rc = 0;
    for (size_t i = 0; i < new->n &&new->event == replay->events && !rc; i++) {
        const struct mt_event *call = &new->call[i];
        const struct mt_torch_segment segment = {.address = call->address,
                                                 .size = call->size,
                                                 .stack = call->stack,
                                                 .stream = block->stream,
                                                 .pool = block->pool,
                                                 .pool_number = block->pool_number,
                                                 .slot = block->slot,
                                                 .is_expandable = call->kind == MT_CUDA_MAP};
        rc = insert_segment(memory, &segment);
        if (!rc && memory->watcher->got)
            rc = memory->watcher->got(memory->data, &segment, call);
    }
    return rc;
}

/* Return a pool's key, which includes the device since snapshots may reuse handles. */
static uint64_t key_of(uint64_t pool, unsigned slot)
{
    return pool * MT_DEVICES + slot;
}

static int number_pool(struct mt_torch_memory *memory, uint64_t pool, unsigned slot,
                       uint32_t *number)
{
    uint64_t key = key_of(pool, slot);
    *number = pool ? mt_address_map_get(&memory->pools, key) : 0;
    if (!pool || *number)
        return 0;
    *number = ++memory->n_pools[slot];
    return mt_address_map_put(&memory->pools, key, *number);
}

/* Note a segment that PyTorch had before the recording. */
static int on_segment(struct mt_torch_memory *memory, const struct mt_replay *replay,
                      const struct mt_event *event)
{
    unsigned slot = mt_device_slot(event->device);
    const struct mt_request_stream *of = mt_requests_of(&replay->present.thread->requests, slot);
    struct mt_torch_segment segment = {.address = event->address,
                                       .size = event->size,
                                       .stack = event->stack,
                                       .stream = of ? of->stream : 0,
                                       .pool = of ? of->pool : 0,
                                       .slot = (uint16_t)slot,
                                       .is_before = true};
    if (number_pool(memory, segment.pool, slot, &segment.pool_number) ||
        insert_segment(memory, &segment))
        return -ENOMEM;
    return memory->watcher->got ? memory->watcher->got(memory->data, &segment, event) : 0;
}

/* Return a new block, as requested; NULL: no memory. */
static struct mt_torch_block *make_block(struct mt_torch_memory *memory,
                                         const struct mt_replay *replay,
                                         const struct mt_event *event, uint64_t size,
                                         uint64_t unused)
{
    unsigned slot = mt_device_slot(event->device);
    const struct mt_request_stream *of = mt_requests_of(&replay->present.thread->requests, slot);
    uint32_t place = MT_TAKE_PLACE(memory->block, memory->blocks_capacity, memory->n_blocks,
                                   memory->free_block, size);
    struct mt_torch_block *block = &memory->block[place];
    if (!place)
        return NULL;
    *block = (struct mt_torch_block){.size = size,
                                     .unused = unused < size ? unused : 0,
                                     .event = replay->events,
                                     .stream = of ? of->stream : 0,
                                     .pool = of ? of->pool : 0,
                                     .number = place - 1,
                                     .stack = event->stack,
                                     .slot = (uint16_t)slot};
    return number_pool(memory, block->pool, slot, &block->pool_number) ? NULL : block;
}

static void drop_block(struct mt_torch_memory *memory, struct mt_torch_block *block)
{
    uint32_t next = memory->free_block;
    memory->free_block = block->number + 1;
    memory->n_waiting -= block->waits;
    *block = (struct mt_torch_block){.size = next};
}

static struct mt_torch_block *block_at(const struct mt_torch_memory *memory, uint64_t address)
{
    uint32_t place = mt_address_map_get(&memory->by_address, address);
    return place ? &memory->block[place] : NULL;
}

/* End a block at its address, by its free or the end of its wait. */
static int end_block(struct mt_torch_memory *memory, const struct mt_replay *replay,
                     struct mt_torch_block *block, const struct mt_event *event)
{
    int rc = (block->waits ? memory->watcher->completed
                           : memory->watcher->freed)(memory->data, replay, block, event);
    mt_address_map_take(&memory->by_address, block->address);
    drop_block(memory, block);
    return rc;
}

int mt_torch_memory_complete(struct mt_torch_memory *memory, const struct mt_replay *replay,
                             unsigned slot, const struct mt_event *event)
{
    int rc = 0;
    for (size_t i = 0; i < memory->n_blocks && memory->n_waiting && !rc; i++)
        if (memory->block[i].waits && memory->block[i].slot == slot)
            rc = end_block(memory, replay, &memory->block[i], event);
    return rc;
}

static int on_alloc(struct mt_torch_memory *memory, const struct mt_replay *replay,
                    const struct mt_event *event)
{
    struct mt_torch_block *block = block_at(memory, event->address);
    if (block && replay->present.is_before) /* it has been recorded */
        return 0;
    if (block && end_block(memory, replay, block, event)) /* its end is missing */
        return -ENOMEM;
    block = make_block(memory, replay, event, event->size, replay->present.unused);
    if (!block || mt_address_map_put(&memory->by_address, event->address, block->number + 1))
        return -ENOMEM;
    block->address = event->address;
    return add_segments(memory, replay, block) ||
                   memory->watcher->allocated(memory->data, replay, block, event)
               ? -ENOMEM
               : 0;
}

static int on_free(struct mt_torch_memory *memory, const struct mt_replay *replay,
                   const struct mt_event *event)
{
    struct mt_torch_block *block = block_at(memory, event->address);
    struct mt_torch_block unknown = {.address = event->address,
                                     .size = event->FREE.size,
                                     .slot = (uint16_t)mt_device_slot(event->device)};
    if (add_segments(memory, replay, block ? block : &unknown))
        return -ENOMEM;
    if (!block || block->waits)
        return memory->watcher->freed(memory->data, replay, &unknown, event);
    if (!replay->present.waits)
        return end_block(memory, replay, block, event);
    block->waits = true;
    memory->n_waiting++;
    return memory->watcher->freed(memory->data, replay, block, event);
}

static int on_oom(struct mt_torch_memory *memory, const struct mt_replay *replay,
                  const struct mt_event *event)
{
    struct mt_torch_block *block = make_block(memory, replay, event, event->OOM.size, 0);
    int rc = block ? memory->watcher->failed(memory->data, replay, block, event) : -ENOMEM;
    if (block)
        drop_block(memory, block);
    return rc;
}

/* Free a segment, or n adjacent pieces of an expandable one. */
static int give_back(struct mt_torch_memory *memory, const struct mt_replay *replay, size_t first,
                     size_t n, const struct mt_event *event)
{
    struct mt_torch_segment gone = memory->segment[first];
    uint64_t key = key_of(gone.pool, gone.slot);
    for (size_t i = 1; i < n; i++)
        gone.size += memory->segment[first + i].size;
    gone.ends_pool = gone.pool && mt_address_map_get(&memory->pools, key) == gone.pool_number;
    if (gone.ends_pool)
        mt_address_map_take(&memory->pools, key);
    memory->n_segments -= n;
    memmove(&memory->segment[first], &memory->segment[first + n],
            (memory->n_segments - first) * sizeof gone);
    return memory->watcher->gives_back(memory->data, replay, &gone, event);
}

/* Return how many segments from the first on an event of CUDA's frees or unmaps. */
static size_t count_gone(const struct mt_torch_memory *memory, size_t first,
                         const struct mt_event *event)
{
    const struct mt_torch_segment *segment = &memory->segment[first];
    size_t n = 0;
    if (event->kind == MT_CUDA_FREE)
        return first < memory->n_segments && segment->address == event->address &&
               !segment->is_expandable;
    while (first + n < memory->n_segments && segment[n].is_expandable &&
           segment[n].address - event->address < event->CUDA_UNMAP.size)
        n++;
    return n;
}

int mt_torch_memory_event(struct mt_torch_memory *memory, const struct mt_replay *replay,
                          const struct mt_event *event)
{
    struct mt_torch_block *block;
    size_t first, n;
    switch (event->kind) {
    case MT_ALLOC:
        return on_alloc(memory, replay, event);
    case MT_FREE:
        return on_free(memory, replay, event);
    case MT_FREE_DONE:
        block = block_at(memory, event->FREE_DONE.address);
        return block && block->waits ? end_block(memory, replay, block, event) : 0;
    case MT_OOM:
        return on_oom(memory, replay, event);
    case MT_CUDA_MALLOC:
        return replay->present.is_before ? on_segment(memory, replay, event) : 0;
    case MT_CUDA_FREE:
    case MT_CUDA_UNMAP:
        first = find_segment(memory, event->address);
        n = count_gone(memory, first, event);
        return n ? give_back(memory, replay, first, n, event) : 0;
    default:
        return 0;
    }
}
