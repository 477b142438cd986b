/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda-level.h"
#include "analyzer/support/grow.h"
#include "trace-format/cuda-apis.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static void touches_clear(struct mt_touches *touches)
{
    free(touches->touch);
    *touches = (struct mt_touches){0};
}

static int touch(struct mt_touches *touches, struct mt_heap *heap, uint64_t address,
                 uint64_t time_ns)
{
    const struct mt_block *block = mt_heap_around(heap, address);
    if (!block)
        return 0; /* the host's, or unknown */
    uint32_t index = mt_heap_index(heap, block);
    if (mt_grow(&touches->touch, &touches->n, index + (size_t)1, sizeof *touches->touch))
        return -ENOMEM;
    struct mt_touch *mine = &touches->touch[index];
    if (!mine->is_seen)
        mine->first_ns = time_ns;
    mine->last_ns = time_ns;
    mine->is_seen = true;
    return 0;
}

/* Note that a copy or a memset touches the blocks at its addresses. 0 or -ENOMEM. */
static int touches_event(struct mt_touches *touches, struct mt_heap *heap,
                         const struct mt_event *event)
{
    int rc = touch(touches, heap, event->address, event->time_ns);
    if (!rc && event->kind == MT_CUDA_COPY)
        rc = touch(touches, heap, event->CUDA_COPY.from, event->time_ns);
    return rc;
}

/* Forget a record's touches, since the record is reused. */
static void touches_forget(struct mt_touches *touches, uint32_t index)
{
    if (index < touches->n)
        touches->touch[index] = (struct mt_touch){0};
}

struct mt_touch mt_touches_of(const struct mt_touches *touches, uint32_t index)
{
    return index < touches->n ? touches->touch[index] : (struct mt_touch){0};
}

static void physical_clear(struct mt_physical *physical)
{
    free(physical->use);
    free(physical->handle);
    *physical = (struct mt_physical){0};
}

/* Note the record of new memory. 0 or -ENOMEM. */
static int physical_made(struct mt_physical *physical, uint32_t memory)
{
    if (mt_grow(&physical->use, &physical->n_uses, memory + (size_t)1, sizeof *physical->use))
        return -ENOMEM;
    physical->use[memory] = (struct mt_physical_use){.handles = 1};
    return 0;
}

/* Note the record of a piece of the memory with this handle. 0 or -ENOMEM. */
static int physical_mapped(struct mt_physical *physical, uint32_t memory, uint64_t handle,
                           uint32_t piece)
{
    if (mt_grow(&physical->handle, &physical->n_handles, piece + (size_t)1,
                sizeof *physical->handle))
        return -ENOMEM;
    physical->handle[piece] = handle;
    physical->use[memory].maps++;
    return 0;
}

uint64_t mt_physical_handle(const struct mt_physical *physical, uint32_t piece)
{
    return physical->handle[piece];
}

/* Note an import. A process that opens the same memory several times gets one address. */
static int on_import(struct mt_heap *heap, const struct mt_event *event)
{
    if (!event->address || mt_heap_at(heap, event->address))
        return 1;
    struct mt_block *block = mt_heap_add(heap, event);
    if (!block)
        return -ENOMEM;
    block->api = (uint8_t)event->CUDA_MALLOC.api;
    return 1;
}

/* Handle an event in a heap of imported memory. Return 1, 0 if the event is not about imported
 * memory, or -ENOMEM. Imported memory may be freed by any call. */
static int imported_event(struct mt_heap *heap, const struct mt_event *event)
{
    struct mt_block *block;
    switch (event->kind) {
    case MT_CUDA_MALLOC:
        if (mt_cuda_api_space(event->CUDA_MALLOC.api) == MT_SPACE_IMPORTED &&
            event->CUDA_MALLOC.api != MT_API_CU_MEM_RETAIN)
            return on_import(heap, event);
        return 0;
    case MT_CUDA_FREE:
        block = mt_heap_at(heap, event->address);
        if (block)
            mt_heap_end(heap, block);
        return block != NULL;
    }
    return 0;
}

struct mt_imported mt_imported_find(const struct mt_heap *heap, unsigned slot)
{
    struct mt_imported found = {0};
    for (uint32_t i = 1; i < heap->n_records; i++) {
        const struct mt_block *block = mt_heap_record(heap, i);
        if (!mt_heap_is_remembered(heap, block) || mt_device_slot(block->device) != slot)
            continue;
        found.bytes += block->size;
        found.blocks++;
        found.unsized += !block->size;
    }
    return found;
}

void mt_cuda_clear(struct mt_cuda_level *level)
{
    mt_heap_clear(&level->heap);
    mt_heap_clear(&level->mapped);
    mt_heap_clear(&level->imported);
    physical_clear(&level->physical);
    touches_clear(&level->touches);
    mt_sums_clear(&level->twice);
    mt_sums_clear(&level->by_others);
    mt_address_map_clear(&level->freed);
    free(level->gone);
    memset(level, 0, sizeof *level);
}

/* Return whether a call allocates device memory that is counted nowhere else. */
static bool is_counted(uint64_t api)
{
    switch (mt_cuda_api_space(api)) {
    case MT_SPACE_DEVICE:
    case MT_SPACE_MANAGED:
    case MT_SPACE_ARRAY:
    case MT_SPACE_PHYSICAL:
        return true;
    default:
        return false;
    }
}

static int end(struct mt_cuda_level *level, struct mt_block *block,
               const struct mt_cuda_change *change)
{
    int rc = change->ends ? change->ends(change->data, block) : 0;
    mt_heap_end(&level->heap, block);
    return rc;
}

static int on_malloc(struct mt_cuda_level *level, const struct mt_event *event,
                     struct mt_cuda_change *change)
{
    int rc = 0;
    if (!event->address)
        return 0; /* the call failed */
    struct mt_block *old = mt_heap_at(&level->heap, event->address);
    if (old) {
        level->replaced++;
        rc = end(level, old, change);
    }
    struct mt_block *block = rc ? NULL : mt_heap_add(&level->heap, event);
    if (!block)
        return -ENOMEM;
    change->made = block;
    block->api = (uint8_t)event->CUDA_MALLOC.api;
    uint32_t index = mt_heap_index(&level->heap, block);
    touches_forget(&level->touches, index);
    if (block->api == MT_API_CU_MEM_CREATE)
        return physical_made(&level->physical, index);
    return 0;
}

uint64_t mt_cuda_piece(const struct mt_cuda_level *level, const struct mt_event *unmap)
{
    const struct mt_block *piece = mt_heap_at(&level->mapped, unmap->address);
    return piece && piece->size <= unmap->size ? piece->size : 0;
}

static uint64_t handle_of_piece(const struct mt_cuda_level *level, const struct mt_block *piece)
{
    return mt_physical_handle(&level->physical, mt_heap_index(&level->mapped, piece));
}

static struct mt_physical_use *use_of(const struct mt_cuda_level *level,
                                      const struct mt_block *memory)
{
    return &level->physical.use[mt_heap_index(&level->heap, memory)];
}

/* Return a piece's memory if nothing else holds it. */
static struct mt_block *last_of(const struct mt_cuda_level *level, const struct mt_block *piece)
{
    struct mt_block *memory = mt_heap_at(&level->heap, handle_of_piece(level, piece));
    if (!memory || memory->api != MT_API_CU_MEM_CREATE)
        return NULL; /* a damaged trace */
    const struct mt_physical_use *use = use_of(level, memory);
    return !use->handles && use->maps == 1 ? memory : NULL;
}

static int end_piece(struct mt_cuda_level *level, struct mt_block *piece,
                     const struct mt_cuda_change *change)
{
    struct mt_block *memory = last_of(level, piece);
    int rc = 0;
    if (memory) {
        rc = end(level, memory, change);
    } else if ((memory = mt_heap_at(&level->heap, handle_of_piece(level, piece))) &&
               memory->api == MT_API_CU_MEM_CREATE) {
        struct mt_physical_use *use = use_of(level, memory);
        use->maps -= use->maps > 0;
    }
    mt_heap_end(&level->mapped, piece);
    return rc;
}

/* Return a handle. Memory that is bound to a multicast object by address is found by its mapping.
 */
static uint64_t handle_of(const struct mt_cuda_level *level, const struct mt_event *map)
{
    if (map->CUDA_MAP.api != MT_API_CU_MULTICAST_BIND_ADDRESS)
        return map->CUDA_MAP.handle;
    const struct mt_block *piece = mt_heap_at(&level->mapped, map->CUDA_MAP.handle);
    return piece ? handle_of_piece(level, piece) : 0;
}

/* Map memory. The handle gives its device; any device may be current at the call. */
static int on_map(struct mt_cuda_level *level, const struct mt_event *event,
                  const struct mt_cuda_change *change)
{
    const struct mt_block *memory = mt_heap_at(&level->heap, handle_of(level, event));
    struct mt_block *old = mt_heap_at(&level->mapped, event->address);
    struct mt_event map = *event;
    if (!memory || memory->api != MT_API_CU_MEM_CREATE)
        return 0; /* imported: it belongs to another process */
    if (old && end_piece(level, old, change))
        return -ENOMEM;
    map.device = memory->device;
    struct mt_block *piece = mt_heap_add(&level->mapped, &map);
    if (!piece)
        return -ENOMEM;
    piece->api = (uint8_t)event->CUDA_MALLOC.api;
    piece->name = memory->name;
    piece->range = memory->range;
    return physical_mapped(&level->physical, mt_heap_index(&level->heap, memory), memory->address,
                           mt_heap_index(&level->mapped, piece));
}

/* Unmap; one call may unmap several neighbours. */
static int on_unmap(struct mt_cuda_level *level, const struct mt_event *event,
                    const struct mt_cuda_change *change)
{
    struct mt_event left = *event;
    int rc = 0;
    for (uint64_t size; !rc && (size = mt_cuda_piece(level, &left));) {
        rc = end_piece(level, mt_heap_at(&level->mapped, left.address), change);
        left.address += size;
        left.size -= size;
    }
    return rc;
}

/* Return the block that a free ends; NULL: none. Physical memory stays while it is mapped or has
 * another handle. */
static struct mt_block *ended_by_free(const struct mt_cuda_level *level, uint64_t address)
{
    struct mt_block *block = mt_heap_at(&level->heap, address);
    if (!block || block->api != MT_API_CU_MEM_CREATE)
        return block;
    const struct mt_physical_use *use = use_of(level, block);
    return use->maps || use->handles > 1 ? NULL : block;
}

static int remember(struct mt_cuda_level *level, const struct mt_block *block)
{
    uint32_t place = MT_PLACE_OF(&level->freed, block->address, level->gone, level->gone_capacity,
                                 level->n_gone);
    if (!place)
        return -ENOMEM;
    level->gone[place - 1] = (struct mt_gone){.bytes = block->size, .stack = block->stack};
    return 0;
}

/* Handle a free of unknown memory. The call fails, and its failure must not revive anything. */
static int on_bad_free(struct mt_cuda_level *level, uint64_t address)
{
    uint32_t place = mt_address_map_get(&level->freed, address);
    for (unsigned i = 0; i < MT_CUDA_RECENT; i++)
        if (level->recent[i].address == address)
            level->recent[i].kind = 0;
    if (place)
        return mt_sums_count(&level->twice, level->gone[place - 1].stack,
                             level->gone[place - 1].bytes);
    level->unknown++;
    return 0;
}

static int end_freed(struct mt_cuda_level *level, struct mt_block *block,
                     const struct mt_cuda_change *change)
{
    level->recent[level->next_recent++ % MT_CUDA_RECENT] =
        (struct mt_event){.time_ns = mt_block_time(block),
                          .CUDA_MALLOC = {block->address, block->size, 0, block->api},
                          .thread = block->birth->thread,
                          .stack = block->stack,
                          .kind = MT_CUDA_MALLOC,
                          .device = block->device};
    return end(level, block, change);
}

/* Return the memory of a handle created here; NULL: imported or released. */
static struct mt_block *memory_of(const struct mt_cuda_level *level, uint64_t handle)
{
    struct mt_block *memory = mt_heap_at(&level->heap, handle);
    return memory && memory->api == MT_API_CU_MEM_CREATE ? memory : NULL;
}

/* Add a reference to memory: it needs one more release. */
static void on_retain(struct mt_cuda_level *level, uint64_t handle)
{
    const struct mt_block *memory = memory_of(level, handle);
    if (memory)
        use_of(level, memory)->handles++;
}

/* Release a handle. Older traces lack retain calls, so there may be one release too many. */
static int on_release(struct mt_cuda_level *level, uint64_t handle,
                      const struct mt_cuda_change *change)
{
    struct mt_block *memory = memory_of(level, handle);
    if (!memory)
        return 0;
    struct mt_physical_use *use = use_of(level, memory);
    if (ended_by_free(level, handle))
        return end_freed(level, memory, change);
    use->handles -= use->handles > 0;
    return 0;
}

static int on_free(struct mt_cuda_level *level, const struct mt_event *event,
                   const struct mt_cuda_change *change)
{
    if (!event->address)
        return 0; /* allowed: does nothing */
    struct mt_block *block = mt_heap_at(&level->heap, event->address);
    if (!block)
        return on_bad_free(level, event->address);
    if (remember(level, block) || (block->birth->thread != event->thread &&
                                   mt_sums_count(&level->by_others, block->stack, block->size)))
        return -ENOMEM;
    return end_freed(level, block, change);
}

/* Undo a failed free: the memory last freed there is still live, unless something else is there
 * now. */
static int on_free_failed(struct mt_cuda_level *level, const struct mt_event *event,
                          struct mt_cuda_change *change)
{
    if (event->CUDA_FREE_FAILED.api == MT_API_CU_MEM_RELEASE)
        on_retain(level, event->address);
    for (unsigned i = 1; i <= MT_CUDA_RECENT; i++) {
        struct mt_event *made = &level->recent[(level->next_recent - i) % MT_CUDA_RECENT];
        if (!made->kind || made->address != event->address)
            continue;
        made->kind = 0;
        if (mt_heap_at(&level->heap, made->address))
            return 0;
        return on_malloc(level, made, change);
    }
    return 0;
}

/* Return whether the handle was created by this process, so that an import is another handle to its
 * own memory. */
static bool is_own(const struct mt_cuda_level *level, const struct mt_event *event)
{
    return mt_heap_at(&level->heap, event->address) != NULL;
}

int mt_cuda_event(struct mt_cuda_level *level, const struct mt_event *event,
                  struct mt_cuda_change *change)
{
    change->made = NULL;
    int imported = is_own(level, event) ? 0 : imported_event(&level->imported, event);
    if (imported)
        return imported < 0 ? imported : 0;
    switch (event->kind) {
    case MT_CUDA_MALLOC:
    case MT_CUDA_MALLOC_ASYNC:
        if (event->CUDA_MALLOC.api == MT_API_CU_MEM_RETAIN ||
            event->CUDA_MALLOC.api == MT_API_CU_MEM_IMPORT)
            on_retain(level, event->address);
        return is_counted(event->CUDA_MALLOC.api) ? on_malloc(level, event, change) : 0;
    case MT_CUDA_FREE:
        if (event->CUDA_FREE.api != MT_API_CU_MEM_RELEASE)
            return is_counted(event->CUDA_FREE.api) ? on_free(level, event, change) : 0;
        return on_release(level, event->address, change);
    case MT_CUDA_FREE_ASYNC:
        return on_free(level, event, change);
    case MT_CUDA_FREE_FAILED:
        return on_free_failed(level, event, change);
    case MT_CUDA_COPY:
    case MT_CUDA_SET:
        return touches_event(&level->touches, &level->heap, event);
    case MT_CUDA_MAP:
        return on_map(level, event, change);
    case MT_CUDA_UNMAP:
        return on_unmap(level, event, change);
    }
    return 0;
}
