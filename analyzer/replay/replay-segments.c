/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of CUDA's allocations are segments of PyTorch's allocator; all others are libraries' or the
 * program's. A block proves it: its memory is its segment. PyTorch holds its allocator's lock from
 * CUDA's call to the block's event, so a whole trace has each segment's block next, and PyTorch's
 * own total grows by the segment. Where the total grows without such a block (a light recording or
 * a compact copy lacks it), the newest allocations that may be segments are.
 */
#include "replay-parts.h"
#include "segments.h"

#include "analyzer/support/grow.h"
#include "analyzer/support/search.h"

#include <stdlib.h>
#include <string.h>

/* Return whether a call hands out memory that PyTorch's allocator cuts into blocks. Memory of a
 * pool of CUDA's is a block itself. */
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
           (is_their_call || memory->api == MT_API_CU_MEM_MAP);
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
static int mark(struct mt_replay *replay, struct mt_block *memory)
{
    struct mt_new_segments *new = &replay->reserved.new;
    struct mt_cuda_level *cuda = &replay->cuda;
    bool is_piece = memory->api == MT_API_CU_MEM_MAP;
    memory->evidence |= MT_SAW_SEGMENT;
    replay->reserved.known[mt_device_slot(memory->device)] += memory->size;
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

void mt_replay_segment_ends(struct mt_replay *replay, const struct mt_block *memory)
{
    if (memory->evidence & MT_SAW_SEGMENT)
        replay->reserved.known[mt_device_slot(memory->device)] -= memory->size;
}

/* Mark the memory of a block: one allocation, or the pieces that it spans. */
static int mark_memory_of(struct mt_replay *replay, const struct mt_block *made)
{
    uint64_t at = made->address, end = at + made->size;
    struct mt_block *memory;
    while (at < end && (memory = mt_heap_around(&replay->cuda.mapped, at))) {
        if (!(memory->evidence & MT_SAW_SEGMENT) && mark(replay, memory))
            return -ENOMEM;
        at = memory->address + memory->size;
    }
    memory = at == made->address ? mt_heap_around(&replay->cuda.heap, at) : NULL;
    if (!memory || !hands_out_segments(memory) || memory->evidence & MT_SAW_SEGMENT)
        return 0;
    replay->reserved.api = memory->api + 1;
    return mark(replay, memory);
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

/* Mark the newest allocations that may be segments, up to these bytes. by_frames: only those that
 * PyTorch's native frames requested. */
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
            rc = mark(replay, found.memory[i]);
        }
    free(found.memory);
    return rc;
}

/* Return what is reserved beyond the segments that are known. */
static uint64_t lacking(const struct mt_reserve *reserve, unsigned slot, uint64_t reserved)
{
    return reserved > reserve->known[slot] ? reserved - reserve->known[slot] : 0;
}

int mt_replay_find_segments(struct mt_replay *replay, unsigned slot, const struct mt_event *event,
                            const struct mt_block *made)
{
    struct mt_reserve *reserve = &replay->reserved;
    uint64_t reserved = event->ALLOC.reserved;
    bool is_first = !replay->of_torch.now[slot].event; /* what it lacks is from before the trace */
    if (made && mark_memory_of(replay, made))
        return -ENOMEM;
    reserve->is_asked &= !made;
    for (int by_frames = 1; by_frames >= is_first; by_frames--) {
        uint64_t lacks = lacking(reserve, slot, reserved);
        if (lacks > reserve->lacks[slot] &&
            mark_newest(replay, slot, lacks - reserve->lacks[slot], by_frames))
            return -ENOMEM;
    }
    reserve->lacks[slot] = lacking(reserve, slot, reserved);
    return 0;
}
