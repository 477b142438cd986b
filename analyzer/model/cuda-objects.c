/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda-objects.h"
#include "analyzer/support/grow.h"
#include "trace-format/cuda-apis.h"

#include <errno.h>
#include <string.h>

void mt_cuda_objects_clear(struct mt_cuda_objects *objects)
{
    mt_address_map_clear(&objects->by_handle);
    free(objects->object);
    memset(objects, 0, sizeof *objects);
}

static void count(struct mt_cuda_objects *objects, const struct mt_cuda_object *object, int by)
{
    struct mt_cuda_object_counts *now = &objects->now[object->slot];
    uint64_t *number = object->space == MT_SPACE_CONTEXT        ? &now->contexts
                       : object->space == MT_SPACE_MODULE       ? &now->modules
                       : object->space == MT_SPACE_COMMUNICATOR ? &now->communicators
                                                                : &now->streams;
    *number += (uint64_t)by;
    now->code += by > 0 ? object->code : -object->code;
}

static void end(struct mt_cuda_objects *objects, uint64_t handle)
{
    uint32_t place = mt_address_map_take(&objects->by_handle, handle);
    if (!place)
        return;
    count(objects, &objects->object[place], -1);
    objects->object[place].next = objects->first_free;
    objects->first_free = place;
}

/* Ignore a known handle: a context that is retained again, or a library that is loaded by a runtime
 * call and by the driver call within. */
static int on_made(struct mt_cuda_objects *objects, const struct mt_event *event,
                   enum mt_space space)
{
    if (mt_address_map_get(&objects->by_handle, event->CUDA_OBJECT.handle))
        return 0;
    uint32_t place =
        MT_TAKE_PLACE(objects->object, objects->capacity, objects->n, objects->first_free, next);
    if (!place)
        return -ENOMEM;
    struct mt_cuda_object *object = &objects->object[place];
    *object = (struct mt_cuda_object){.code = event->CUDA_OBJECT.size,
                                      .space = (uint8_t)space,
                                      .slot = (uint8_t)mt_device_slot(event->device)};
    count(objects, object, 1);
    return mt_address_map_put(&objects->by_handle, event->CUDA_OBJECT.handle, place);
}

/* End all objects of the device, with its context. */
static void on_reset(struct mt_cuda_objects *objects, unsigned slot)
{
    for (size_t i = 0; i < objects->by_handle.capacity;) {
        const struct mt_address_slot *at = &objects->by_handle.slots[i];
        const struct mt_cuda_object *object = at->value ? &objects->object[at->value] : NULL;
        if (object && object->slot == slot)
            end(objects, at->address); /* another entry may move here */
        else
            i++;
    }
}

/* Note that a context was released. A primary context stays until each holder has released it. */
static void on_gone(struct mt_cuda_objects *objects, const struct mt_event *event)
{
    switch (event->CUDA_OBJECT.api) {
    case MT_API_CU_PRIMARY_CTX_RELEASE:
        return;
    case MT_API_CU_PRIMARY_CTX_RESET:
        on_reset(objects, mt_device_slot((int)event->CUDA_OBJECT_GONE.handle));
        return;
    case MT_API_CUDA_DEVICE_RESET:
        on_reset(objects, mt_device_slot(event->device));
        return;
    }
    end(objects, event->CUDA_OBJECT.handle);
}

int mt_cuda_objects_event(struct mt_cuda_objects *objects, const struct mt_event *event)
{
    enum mt_space space = mt_cuda_api_space(event->CUDA_OBJECT.api);
    if (event->kind == MT_CUDA_OBJECT_GONE)
        on_gone(objects, event);
    else if (space == MT_SPACE_CONTEXT || space == MT_SPACE_MODULE || space == MT_SPACE_STREAM ||
             space == MT_SPACE_COMMUNICATOR)
        return on_made(objects, event, space);
    return 0;
}

struct mt_cuda_object_counts mt_cuda_objects_on(const struct mt_cuda_objects *objects,
                                                unsigned slot)
{
    struct mt_cuda_object_counts on = objects->now[slot];
    const struct mt_cuda_object_counts *any = &objects->now[mt_device_slot(MT_NO_DEVICE)];
    if (slot != mt_device_slot(MT_NO_DEVICE)) {
        on.modules += any->modules;
        on.streams += any->streams;
        on.communicators += any->communicators;
        on.code += any->code;
    }
    return on;
}
