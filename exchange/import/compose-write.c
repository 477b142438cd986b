/* SPDX-License-Identifier: Apache-2.0 */
#include "compose-write.h"

void mt_compose_write(struct mt_composer *self, enum mt_kind kind, unsigned device, uint32_t thread,
                      uint32_t stack, const uint64_t arg[MT_EVENT_ARGS])
{
    struct mt_event event = {.time_ns = self->time_ns,
                             .kind = (uint16_t)kind,
                             .device = (int16_t)device,
                             .thread = thread,
                             .stack = stack};
    for (int i = 0; i < MT_EVENT_ARGS; i++)
        event.arg[i] = arg[i];
    if (self->is_writing)
        mt_script_event(self->script, &event);
}

const struct mt_whence *mt_compose_whence(const struct mt_composer *self, uint32_t number)
{
    return &self->records->whence[number < self->records->n_whence ? number : 0];
}

/* Return the thread. Autograd's threads have no Python frames: if frames were recorded, an event
 * without any belongs to them. Of what was there before the events, they were not recorded. */
uint32_t mt_compose_thread(const struct mt_composer *self, const struct mt_whence *whence)
{
    bool is_autograd = whence->is_autograd ||
                       ((whence->node || whence->forward) && !whence->stack) ||
                       (whence->is_empty && self->records->has_frames && !self->is_before);
    return is_autograd ? AUTOGRAD_THREAD : MAIN_THREAD;
}

void mt_compose_node(struct mt_composer *self, unsigned device, uint32_t thread,
                     const struct mt_whence *whence)
{
    bool is_in_autograd = thread == AUTOGRAD_THREAD;
    uint32_t name = is_in_autograd ? whence->node : 0,
             forward = is_in_autograd ? whence->forward : 0;
    uint64_t node = (uint64_t)forward << 32 | name;
    if (self->running == node)
        return;
    if (self->running)
        WRITE(self, MT_NODE_END, device, AUTOGRAD_THREAD, 0, self->running);
    if (forward)
        WRITE(self, MT_NODE_NEW, device, MAIN_THREAD, forward, node, 0);
    if (node)
        WRITE(self, MT_NODE_BEGIN, device, AUTOGRAD_THREAD, 0, node, name);
    self->running = node;
}

/* Write a request's details: its stream and pool if they changed, and how much smaller it was than
 * the block. */
static void write_request(struct mt_composer *self, const struct mt_import_extent *block,
                          uint32_t thread)
{
    uint32_t *now = &self->lane[thread][block->device];
    if (!block->lane)
        return;
    if (*now != block->lane)
        WRITE(self, MT_REQUEST_STREAM, block->device, thread, 0,
              self->records->lane[block->lane].stream, self->records->lane[block->lane].pool);
    *now = block->lane;
    if (block->requested && block->requested < block->size)
        WRITE(self, MT_REQUEST, block->device, thread, 0, block->size - block->requested);
}

void mt_compose_alloc(struct mt_composer *self, const struct mt_import_extent *block)
{
    const struct mt_whence *whence = mt_compose_whence(self, block->tag);
    uint32_t thread = mt_compose_thread(self, whence);
    uint64_t allocated = self->allocated[block->device] += block->size;
    if (self->is_writing && self->records->is_snapshot &&
        allocated > self->reserved[block->device] && allocated > self->summary->most_allocated) {
        self->summary->most_allocated = allocated;
        self->summary->in_reserved = self->reserved[block->device];
    }
    mt_compose_node(self, block->device, thread, whence);
    write_request(self, block, thread);
    WRITE(self, MT_ALLOC, block->device, thread, whence->stack, block->address, block->size,
          self->allocated[block->device], self->reserved[block->device]);
    if (whence->is_workspace)
        WRITE(self, MT_WORKSPACE, block->device, thread, whence->stack, block->address,
              block->size);
}

/* Write a page of an expandable segment, which has physical memory of its own. */
static void write_page(struct mt_composer *self, unsigned device, uint32_t thread, uint32_t stack,
                       uint64_t address, uint64_t size, bool is_map)
{
    uint64_t handle = address / PAGE | UINT64_C(1) << 62;
    if (is_map) {
        WRITE(self, MT_CUDA_MALLOC, device, thread, stack, handle, size, 0, MT_API_CU_MEM_CREATE);
        WRITE(self, MT_CUDA_MAP, device, thread, stack, address, size, handle, MT_API_CU_MEM_MAP);
    } else {
        WRITE(self, MT_CUDA_UNMAP, device, thread, stack, address, size, MT_API_CU_MEM_UNMAP);
        WRITE(self, MT_CUDA_FREE, device, thread, stack, handle, MT_API_CU_MEM_RELEASE);
    }
}

static void write_pinned(struct mt_composer *self, const struct mt_import_extent *segment,
                         uint32_t thread, uint32_t stack, bool is_free)
{
    unsigned nowhere = (unsigned)MT_NO_DEVICE;
    if (is_free)
        WRITE(self, MT_CUDA_FREE, nowhere, thread, stack, segment->address, MT_API_CUDA_FREE_HOST);
    else
        WRITE(self, MT_CUDA_MALLOC, nowhere, thread, stack, segment->address, segment->size, 0,
              MT_API_CUDA_HOST_ALLOC);
}

void mt_compose_segment(struct mt_composer *self, const struct mt_import_extent *segment,
                        uint32_t whence, bool is_free)
{
    uint32_t stack = mt_compose_whence(self, whence)->stack;
    uint32_t thread = mt_compose_thread(self, mt_compose_whence(self, whence));
    self->reserved[segment->device] += is_free ? -segment->size : segment->size;
    if (segment->device == MT_IMPORT_HOST)
        write_pinned(self, segment, thread, stack, is_free);
    else if (segment->is_pages)
        write_page(self, segment->device, thread, stack, segment->address, segment->size, !is_free);
    else if (is_free)
        WRITE(self, MT_CUDA_FREE, segment->device, thread, stack, segment->address,
              MT_API_CUDA_FREE);
    else
        WRITE(self, MT_CUDA_MALLOC, segment->device, thread, stack, segment->address, segment->size,
              0, MT_API_CUDA_MALLOC);
}
