/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Find which of CUDA's allocations are segments of PyTorch's allocator; all others belong to
 * libraries or the program. A block within an allocation proves it. PyTorch holds its allocator's
 * lock from the CUDA call to the block's event, so in a complete trace each segment's block comes
 * next, and PyTorch's own total grows by the segment. If the total grows without such a block (in
 * light recordings and compact copies), the newest candidates are taken for the segments.
 */
#include "replay-parts.h"
#include "segments.h"

#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"

#include <stdlib.h>
#include <string.h>

/* Return whether a call allocates memory that PyTorch's allocator splits into blocks. Memory from a
 * CUDA pool is itself a block. */
static bool hands_out_segments(const struct mt_block *memory)
{
    switch (memory->api) {
    case MT_API_CUDA_MALLOC_ASYNC:
    case MT_API_CUDA_MALLOC_FROM_POOL_ASYNC:
    case MT_API_CU_MEM_ALLOC_ASYNC:
    case MT_API_CU_MEM_ALLOC_FROM_POOL_ASYNC:
        return false;
    }
    return memory->api == MT_API_CU_MEM_MAP || mt_cuda_api_space(memory->api) == MT_SPACE_DEVICE ||
           mt_cuda_api_space(memory->api) == MT_SPACE_MANAGED;
}

bool mt_may_be_segment(const struct mt_replay *replay, const struct mt_block *memory)
{
    bool is_their_call = !replay->reserved.api || replay->reserved.api == memory->api + 1;
    return hands_out_segments(memory) && memory->size % MT_SMALL_SEGMENT == 0 &&
           (is_their_call || memory->api == MT_API_CU_MEM_MAP) &&
           !mt_is_of_library(replay->definitions, memory->stack);
}

static bool comes_from_pytorch(const struct mt_definitions *d, uint32_t stack)
{
    for (; stack; stack = mt_stack(d, stack)->parent) {
        const struct mt_frame *frame = mt_stack_frame(d, stack);
        if (!frame->is_native)
            return false;
        if (strstr(mt_trace_image(d, frame->image).path, "/libc10_cuda."))
            return true;
    }
    return false;
}

/* Mark memory as a segment. Memory without an address of its own is marked with its piece. */
static int mark(struct mt_replay *replay, struct mt_block *memory, uint16_t pool)
{
    struct mt_reserve *reserve = &replay->reserved;
    struct mt_new_segments *new = &replay->reserved.new;
    struct mt_cuda_level *cuda = &replay->cuda;
    bool is_piece = memory->api == MT_API_CU_MEM_MAP;
    memory->evidence |= MT_SAW_SEGMENT;
    reserve->known[mt_device_slot(memory->device)] += memory->size;
    if (pool)
        mt_stream_pool_got(&reserve->pools.pool[pool], memory);
    if (reserve->pools.n &&
        mt_block_requests_set(is_piece ? &reserve->of_pieces : &reserve->of_segments,
                              mt_heap_index(is_piece ? &cuda->mapped : &cuda->heap, memory),
                              (struct mt_block_request){.pool = pool}))
        return -ENOMEM;
    if (is_piece) {
        struct mt_block *physical = mt_heap_at(
            &cuda->heap, mt_physical_handle(&cuda->physical, mt_heap_index(&cuda->mapped, memory)));
        if (physical)
            physical->evidence |= MT_SAW_SEGMENT;
    }
    if (new->event != replay->events)
        new->n = 0;
    new->event = replay->events;
    return MT_APPEND(new->call, new->capacity, new->n,
                     (struct mt_event){.time_ns = mt_block_time(memory),
                                       .address = memory->address,
                                       .size = memory->size,
                                       .stack = memory->stack,
                                       .thread = memory->birth->thread,
                                       .kind = is_piece ? MT_CUDA_MAP : MT_CUDA_MALLOC,
                                       .device = memory->device});
}

/* Reduce PyTorch's total, which is only reported with the next block, if any. */
static int reserve_less(struct mt_replay *replay, unsigned slot, uint64_t bytes)
{
    struct mt_totals *now = &replay->of_torch.now[slot];
    if (!now->event || now->reserved < now->allocated + bytes)
        return 0;
    if (mt_replay_reach(replay, slot, replay->blocks.total[slot].bytes))
        return -ENOMEM;
    now->reserved -= bytes;
    mt_timeline_reserve(&replay->timeline[slot], -bytes, replay->events);
    return 0;
}

int mt_replay_segment_ends(struct mt_replay *replay, const struct mt_block *memory)
{
    struct mt_reserve *reserve = &replay->reserved;
    bool is_piece = memory->api == MT_API_CU_MEM_MAP;
    if (!(memory->evidence & MT_SAW_SEGMENT))
        return 0;
    unsigned slot = mt_device_slot(memory->device);
    uint32_t index = mt_heap_index(is_piece ? &replay->cuda.mapped : &replay->cuda.heap, memory);
    uint16_t pool =
        mt_block_request_of(is_piece ? &reserve->of_pieces : &reserve->of_segments, index).pool;
    if (pool)
        mt_stream_pool_lost(&reserve->pools.pool[pool], memory->size);
    reserve->known[slot] -= memory->size;
    return reserve_less(replay, slot, memory->size);
}

int mt_replay_request(struct mt_replay *replay, unsigned slot, uint32_t index, uint64_t size)
{
    struct mt_reserve *reserve = &replay->reserved;
    struct mt_request_stream *of = mt_requests_of(&replay->present.thread->requests, slot);
    replay->present.pool = 0;
    if (of && !of->number && mt_stream_pools_number(&reserve->pools, of, &of->number))
        return -ENOMEM;
    if (of && of->number) {
        replay->present.pool = of->number;
        reserve->pools.pool[of->number].allocated += size;
    }
    uint64_t unused = replay->present.unused < size ? replay->present.unused : 0;
    if (!reserve->pools.n && !unused && !reserve->of_blocks.n)
        return 0;
    return mt_block_requests_set(
        &reserve->of_blocks, index,
        (struct mt_block_request){.unused = unused < UINT32_MAX ? (uint32_t)unused : UINT32_MAX,
                                  .pool = replay->present.pool});
}

int mt_replay_request_ends(struct mt_replay *replay, uint32_t index, const struct mt_block *block)
{
    struct mt_reserve *reserve = &replay->reserved;
    uint16_t number = mt_block_request_of(&reserve->of_blocks, index).pool;
    if (!number)
        return 0;
    struct mt_stream_pool *pool = &reserve->pools.pool[number];
    pool->allocated -= block->size < pool->allocated ? block->size : pool->allocated;
    if (!replay->present.waits)
        return 0;
    pool->waiting += block->size / MT_BLOCK_UNIT * MT_BLOCK_UNIT;
    return mt_address_map_put(&reserve->waiting, block->address,
                              (uint32_t)(block->size / MT_BLOCK_UNIT));
}

/* Return the segment or mapped piece around an address, with its data. */
static const struct mt_block *segment_around(struct mt_replay *replay, uint64_t address,
                                             struct mt_block_request *request)
{
    const struct mt_block *memory = mt_heap_around(&replay->cuda.mapped, address);
    if (memory) {
        *request = mt_block_request_of(&replay->reserved.of_pieces,
                                       mt_heap_index(&replay->cuda.mapped, memory));
        return memory;
    }
    memory = mt_heap_around(&replay->cuda.heap, address);
    if (memory)
        *request = mt_block_request_of(&replay->reserved.of_segments,
                                       mt_heap_index(&replay->cuda.heap, memory));
    return memory;
}

void mt_replay_request_done(struct mt_replay *replay, uint64_t address)
{
    struct mt_reserve *reserve = &replay->reserved;
    uint64_t bytes = (uint64_t)mt_address_map_take(&reserve->waiting, address) * MT_BLOCK_UNIT;
    struct mt_block_request request = {0};
    if (!bytes || !segment_around(replay, address, &request) || !request.pool)
        return;
    struct mt_stream_pool *pool = &reserve->pools.pool[request.pool];
    pool->waiting -= bytes < pool->waiting ? bytes : pool->waiting;
}

/* Mark the memory of a block: one allocation, or the pieces that it spans. */
static int mark_memory_of(struct mt_replay *replay, const struct mt_block *made)
{
    uint64_t at = made->address, end = at + made->size;
    struct mt_block *memory;
    while (at < end && (memory = mt_heap_around(&replay->cuda.mapped, at))) {
        if (!(memory->evidence & MT_SAW_SEGMENT) && mark(replay, memory, replay->present.pool))
            return -ENOMEM;
        at = memory->address + memory->size;
    }
    memory = at == made->address ? mt_heap_around(&replay->cuda.heap, at) : NULL;
    if (!memory || !hands_out_segments(memory) || memory->evidence & MT_SAW_SEGMENT)
        return 0;
    replay->reserved.api = memory->api + 1;
    return mark(replay, memory, replay->present.pool);
}

int mt_replay_segment_from_before(struct mt_replay *replay, const struct mt_event *event)
{
    struct mt_block *memory = mt_heap_at(&replay->cuda.heap, event->address);
    struct mt_request_stream *of =
        mt_requests_of(&replay->present.thread->requests, mt_device_slot(event->device));
    if (of && !of->number && mt_stream_pools_number(&replay->reserved.pools, of, &of->number))
        return -ENOMEM;
    if (!memory || !hands_out_segments(memory))
        return 0;
    replay->reserved.api = memory->api + 1;
    return mark(replay, memory, of ? of->number : 0);
}

struct found {
    struct mt_block **memory;
    size_t n, capacity;
};

static int newest_first(const void *left, const void *right)
{
    uint64_t a = mt_block_time(*(struct mt_block *const *)left);
    uint64_t b = mt_block_time(*(struct mt_block *const *)right);
    return (a < b) - (a > b);
}

static int collect(struct found *found, const struct mt_replay *replay, const struct mt_heap *heap,
                   unsigned slot, bool by_frames)
{
    for (uint32_t i = 1; i < heap->n_records; i++) {
        struct mt_block *memory = mt_heap_record(heap, i);
        if (memory->state != MT_BLOCK_LIVE || mt_device_slot(memory->device) != slot ||
            memory->evidence & MT_SAW_SEGMENT || !mt_may_be_segment(replay, memory) ||
            (by_frames && !comes_from_pytorch(replay->definitions, memory->stack)))
            continue;
        if (MT_APPEND(found->memory, found->capacity, found->n, memory))
            return -ENOMEM;
    }
    return 0;
}

/* Mark the newest candidates as segments, up to this many bytes. by_frames: only those requested by
 * PyTorch's native frames. */
static int mark_newest(struct mt_replay *replay, unsigned slot, uint64_t bytes, bool by_frames)
{
    struct found found = {0};
    int rc = collect(&found, replay, &replay->cuda.heap, slot, by_frames);
    if (!rc)
        rc = collect(&found, replay, &replay->cuda.mapped, slot, by_frames);
    if (found.n)
        qsort(found.memory, found.n, sizeof *found.memory, newest_first);
    for (size_t i = 0; i < found.n && !rc; i++)
        if (found.memory[i]->size <= bytes) {
            bytes -= found.memory[i]->size;
            rc = mark(replay, found.memory[i], 0);
        }
    free(found.memory);
    return rc;
}

/* Return the bytes reserved beyond the known segments. */
static uint64_t lacking(const struct mt_reserve *reserve, unsigned slot, uint64_t reserved)
{
    return reserved > reserve->known[slot] ? reserved - reserve->known[slot] : 0;
}

int mt_replay_find_segments(struct mt_replay *replay, unsigned slot, const struct mt_event *event,
                            const struct mt_block *made)
{
    struct mt_reserve *reserve = &replay->reserved;
    uint64_t reserved = event->ALLOC.reserved;
    bool is_first = !replay->of_torch.now[slot].event; /* the difference is from before the trace */
    if (made && mark_memory_of(replay, made))
        return -ENOMEM;
    reserve->has_grown &= !made;
    for (int by_frames = 1; by_frames >= is_first; by_frames--) {
        uint64_t lacks = lacking(reserve, slot, reserved);
        if (lacks > reserve->lacks[slot] &&
            mark_newest(replay, slot, lacks - reserve->lacks[slot], by_frames))
            return -ENOMEM;
    }
    reserve->lacks[slot] = lacking(reserve, slot, reserved);
    return 0;
}

static bool may_serve(const struct mt_block *memory, unsigned slot)
{
    return memory->state == MT_BLOCK_LIVE && memory->evidence & MT_SAW_SEGMENT &&
           memory->api != MT_API_CU_MEM_CREATE && memory->size != MT_SMALL_SEGMENT &&
           mt_device_slot(memory->device) == slot;
}

/* Add the free bytes of segments, or of their pieces. used: bytes by record. */
static void add_free(struct mt_free_of_pool *found, const struct mt_replay *replay, bool in_pieces,
                     const uint64_t *used, const struct mt_block *made)
{
    const struct mt_reserve *reserve = &replay->reserved;
    const struct mt_heap *heap = in_pieces ? &replay->cuda.mapped : &replay->cuda.heap;
    const struct mt_block_requests *requests =
        in_pieces ? &reserve->of_pieces : &reserve->of_segments;
    for (uint32_t i = 1; i < heap->n_records; i++) {
        const struct mt_block *memory = mt_heap_record(heap, i);
        if (!may_serve(memory, mt_device_slot(made->device)) ||
            mt_block_request_of(requests, i).pool != replay->present.pool)
            continue;
        if (used[i])
            found->in_pieces += memory->size > used[i] ? memory->size - used[i] : 0;
        else
            found->whole += memory->size;
    }
}

/* Add a block to the use of its segment, or of the pieces that it spans. */
static void add_used(struct mt_replay *replay, const struct mt_block *block, uint64_t *of_segments,
                     uint64_t *of_pieces)
{
    uint64_t at = block->address, end = at + block->size;
    struct mt_block *memory;
    while (at < end && (memory = mt_heap_around(&replay->cuda.mapped, at))) {
        uint64_t to = memory->address + memory->size < end ? memory->address + memory->size : end;
        of_pieces[mt_heap_index(&replay->cuda.mapped, memory)] += to - at;
        at = to;
    }
    memory = at == block->address ? mt_heap_around(&replay->cuda.heap, at) : NULL;
    if (memory)
        of_segments[mt_heap_index(&replay->cuda.heap, memory)] += block->size;
}

int mt_replay_free_of_pool(struct mt_replay *replay, const struct mt_block *made,
                           struct mt_free_of_pool *found)
{
    uint64_t *of_segments = calloc(replay->cuda.heap.n_records + 1, sizeof *of_segments);
    uint64_t *of_pieces = calloc(replay->cuda.mapped.n_records + 1, sizeof *of_pieces);
    *found = (struct mt_free_of_pool){0};
    for (uint32_t i = 1; of_segments && of_pieces && i < replay->blocks.n_records; i++) {
        const struct mt_block *block = mt_heap_record(&replay->blocks, i);
        if (block->state == MT_BLOCK_LIVE && block != made && block->size > MT_SMALL_BLOCK &&
            block->device == made->device)
            add_used(replay, block, of_segments, of_pieces);
    }
    if (of_segments && of_pieces) {
        add_free(found, replay, false, of_segments, made);
        add_free(found, replay, true, of_pieces, made);
    }
    int rc = of_segments && of_pieces ? 0 : -ENOMEM;
    free(of_segments);
    free(of_pieces);
    return rc;
}
