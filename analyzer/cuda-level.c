/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda-level.h"
#include "grow.h"
#include "trace-format/cuda-apis.h"

#include <errno.h>
#include <string.h>

void mt_cuda_clear(struct mt_cuda_level *level)
{
    mt_heap_clear(&level->heap);
    mt_heap_clear(&level->mapped);
    mt_touches_clear(&level->touches);
    mt_origins_clear(&level->twice);
    mt_origins_clear(&level->by_others);
    mt_address_map_clear(&level->freed);
    free(level->gone);
    memset(level, 0, sizeof *level);
}

/* Whether it takes memory of a device that is counted nowhere else. */
static int is_counted(uint64_t api)
{
    switch (mt_cuda_api_space(api)) {
    case MT_SPACE_DEVICE:
    case MT_SPACE_MANAGED:
    case MT_SPACE_ARRAY:
    case MT_SPACE_PHYSICAL:
        return 1;
    default:
        return 0;
    }
}

static int end_block(struct mt_cuda_level *level, struct mt_block *block, uint32_t thread)
{
    unsigned slot = mt_device_slot(block->device);
    if (level->ending(level->data, block))
        return -ENOMEM;
    mt_heap_end(&level->heap, block);
    return level->ended(level->data, slot, thread);
}

/* One more handle, or mapping. */
static int refer(struct mt_cuda_level *level, uint64_t handle)
{
    return mt_address_map_put(&level->references, handle,
                              mt_address_map_get(&level->references, handle) + 1);
}

static int on_malloc(struct mt_cuda_level *level, const struct mt_event *event)
{
    if (!event->arg[0])
        return 0; /* the call failed */
    struct mt_block *old = mt_heap_at(&level->heap, event->arg[0]);
    if (old) {
        level->replaced++;
        if (end_block(level, old, event->thread))
            return -ENOMEM;
    }
    struct mt_block *block = mt_heap_add(&level->heap, event);
    if (!block)
        return -ENOMEM;
    block->api = (uint8_t)event->arg[3];
    mt_touches_forget(&level->touches, block);
    return block->api == MT_API_CU_MEM_CREATE
               ? mt_address_map_put(&level->references, block->address, 1)
               : 0;
}

static int remember(struct mt_cuda_level *level, const struct mt_block *block)
{
    uint32_t place = mt_address_map_get(&level->freed, block->address);
    if (!place) {
        if (mt_grow(&level->gone, &level->gone_capacity, level->n_gone + 1, sizeof *level->gone) ||
            mt_address_map_put(&level->freed, block->address, (uint32_t)level->n_gone + 1))
            return -ENOMEM;
        place = (uint32_t)++level->n_gone;
    }
    level->gone[place - 1] = (struct mt_origin){.bytes = block->size, .stack = block->stack};
    return 0;
}

/* Nothing is there. Should the call fail, which it does, nothing comes back to life. */
static int on_bad_free(struct mt_cuda_level *level, uint64_t address)
{
    uint32_t place = mt_address_map_get(&level->freed, address);
    for (unsigned i = 0; i < MT_CUDA_RECENT; i++)
        if (level->recent[i].arg[0] == address)
            level->recent[i].kind = 0;
    if (place)
        return mt_origins_add(&level->twice, level->gone[place - 1].stack,
                              level->gone[place - 1].bytes);
    level->unknown++;
    return 0;
}

/* A block is freed by the call of a thread. */
static int free_block(struct mt_cuda_level *level, struct mt_block *block, uint32_t thread)
{
    if (remember(level, block) ||
        (block->thread != thread && mt_origins_add(&level->by_others, block->stack, block->size)))
        return -ENOMEM;
    level->recent[level->next_recent++ % MT_CUDA_RECENT] =
        (struct mt_event){.time_ns = block->time_ns,
                          .arg = {block->address, block->size, 0, block->api},
                          .thread = block->thread,
                          .stack = block->stack,
                          .kind = MT_CUDA_MALLOC,
                          .device = block->device};
    return end_block(level, block, thread);
}

/* One handle or mapping less. */
static int let_go(struct mt_cuda_level *level, uint64_t handle, uint32_t thread)
{
    uint32_t references = mt_address_map_take(&level->references, handle);
    struct mt_block *block = mt_heap_at(&level->heap, handle);
    if (references > 1)
        return mt_address_map_put(&level->references, handle, references - 1);
    return references && block && block->api == MT_API_CU_MEM_CREATE
               ? free_block(level, block, thread)
               : 0;
}

/* Whose memory it is, its handle says; the call itself may be made with any device current. */
static int on_map(struct mt_cuda_level *level, const struct mt_event *event)
{
    const struct mt_block *memory = mt_heap_at(&level->heap, event->arg[2]);
    struct mt_block *old = mt_heap_at(&level->mapped, event->arg[0]);
    struct mt_event map = *event;
    if (!memory || memory->api != MT_API_CU_MEM_CREATE)
        return 0; /* imported: it belongs to another process */
    if (old)
        mt_heap_end(&level->mapped, old);
    map.device = memory->device;
    struct mt_block *block = mt_heap_add(&level->mapped, &map);
    if (!block)
        return -ENOMEM;
    block->handle = event->arg[2];
    return refer(level, block->handle);
}

/* One call may take the addresses of several neighbours. */
static int on_unmap(struct mt_cuda_level *level, const struct mt_event *event)
{
    uint64_t at = event->arg[0], left = event->arg[1];
    struct mt_block *block;
    int rc = 0;
    while (!rc && (block = mt_heap_at(&level->mapped, at)) && block->size && block->size <= left) {
        uint64_t handle = block->handle;
        at += block->size;
        left -= block->size;
        mt_heap_end(&level->mapped, block);
        rc = let_go(level, handle, event->thread);
    }
    return rc;
}

static int on_release(struct mt_cuda_level *level, const struct mt_event *event)
{
    return mt_address_map_get(&level->references, event->arg[0])
               ? let_go(level, event->arg[0], event->thread)
               : on_bad_free(level, event->arg[0]);
}

static int on_free(struct mt_cuda_level *level, const struct mt_event *event)
{
    if (!event->arg[0])
        return 0; /* allowed, and does nothing */
    struct mt_block *block = mt_heap_at(&level->heap, event->arg[0]);
    return block ? free_block(level, block, event->thread) : on_bad_free(level, event->arg[0]);
}

/* The memory is live after all, unless something else is there by now. */
static int on_free_failed(struct mt_cuda_level *level, const struct mt_event *event)
{
    if (event->arg[2] == MT_API_CU_MEM_RELEASE && mt_heap_at(&level->heap, event->arg[0]))
        return refer(level, event->arg[0]); /* mappings have kept it */
    for (unsigned i = 0; i < MT_CUDA_RECENT; i++) {
        struct mt_event *made = &level->recent[i];
        if (!made->kind || made->arg[0] != event->arg[0])
            continue;
        made->kind = 0;
        if (mt_heap_at(&level->heap, made->arg[0]))
            return 0;
        return on_malloc(level, made);
    }
    return 0;
}

static int is_malloc(const struct mt_event *event)
{
    return (event->kind == MT_CUDA_MALLOC || event->kind == MT_CUDA_MALLOC_ASYNC) &&
           is_counted(event->arg[3]);
}

struct mt_block *mt_cuda_made(const struct mt_cuda_level *level, const struct mt_event *event)
{
    return is_malloc(event) && event->arg[0] ? mt_heap_at(&level->heap, event->arg[0]) : NULL;
}

/* A handle to memory that is there already, or another process's. */
static int is_handle(const struct mt_event *event)
{
    return event->arg[0] &&
           (event->arg[3] == MT_API_CU_MEM_IMPORT || event->arg[3] == MT_API_CU_MEM_RETAIN);
}

int mt_cuda_event(struct mt_cuda_level *level, const struct mt_event *event)
{
    switch (event->kind) {
    case MT_CUDA_MALLOC:
    case MT_CUDA_MALLOC_ASYNC:
        if (is_handle(event))
            return refer(level, event->arg[0]);
        return is_counted(event->arg[3]) ? on_malloc(level, event) : 0;
    case MT_CUDA_FREE:
        if (event->arg[1] == MT_API_CU_MEM_RELEASE)
            return on_release(level, event);
        return is_counted(event->arg[1]) ? on_free(level, event) : 0;
    case MT_CUDA_FREE_ASYNC:
        return on_free(level, event);
    case MT_CUDA_FREE_FAILED:
        return on_free_failed(level, event);
    case MT_CUDA_COPY:
    case MT_CUDA_SET:
        return mt_touches_event(&level->touches, &level->heap, event);
    case MT_CUDA_MAP:
        return on_map(level, event);
    case MT_CUDA_UNMAP:
        return on_unmap(level, event);
    }
    return 0;
}
