/* SPDX-License-Identifier: Apache-2.0 */
#include "forms.h"
#include "preload/cuda/cuda-image.h"
#include "preload/cuda/cuda-sizes.h"

/* Both begin the definition of a form's function; *at: the call's parameters. */
#define BEGIN(form)                                                                                \
    static void begin_##form(const struct mt_cupti_moment *moment,                                 \
                             const struct mt_form_##form *at);                                     \
    static void run_begin_##form(const struct mt_cupti_moment *moment)                             \
    {                                                                                              \
        begin_##form(moment, moment->parameters);                                                  \
    }                                                                                              \
    static void begin_##form(const struct mt_cupti_moment *moment, const struct mt_form_##form *at)
#define END(form)                                                                                  \
    static void end_##form(const struct mt_cupti_moment *moment, const struct mt_form_##form *at); \
    static void run_end_##form(const struct mt_cupti_moment *moment)                               \
    {                                                                                              \
        end_##form(moment, moment->parameters);                                                    \
    }                                                                                              \
    static void end_##form(const struct mt_cupti_moment *moment, const struct mt_form_##form *at)

static void allocated(const struct mt_cupti_moment *moment, const void *address, uint64_t size)
{
    moment->recorder->allocated(moment->call, moment->result, address, size);
}

END(alloc)
{
    allocated(moment, at->address, at->size);
}

END(async)
{
    moment->recorder->allocated_async(moment->call, moment->result, at->address, at->size,
                                      at->stream);
}

END(pool)
{
    moment->recorder->allocated_async(moment->call, moment->result, at->address, at->size,
                                      at->stream);
}

END(pitch)
{
    allocated(moment, at->address, (moment->result ? at->width : *at->pitch) * at->height);
}

END(box)
{
    allocated(moment, &at->out->address,
              (moment->result ? at->extent.width : at->out->pitch) * at->extent.height *
                  at->extent.depth);
}

END(array)
{
    struct mt_extent extent = {at->width, at->height, 0};
    allocated(moment, at->array, mt_cuda_array_bytes(at->texel, extent, 1));
}

END(array_3d)
{
    allocated(moment, at->array, mt_cuda_array_bytes(at->texel, at->extent, 1));
}

END(mipmapped)
{
    allocated(moment, at->array, mt_cuda_array_bytes(at->texel, at->extent, at->levels));
}

END(register)
{
    allocated(moment, &at->address, at->size);
}

/* Only its owner knows its size. */
END(import)
{
    allocated(moment, at->address, 0);
}

END(buffer)
{
    allocated(moment, at->address, moment->result ? 0 : at->buffer->size);
}

END(flat)
{
    allocated(moment, at->array, mt_cuda_flat_bytes(at->wanted));
}

END(deep)
{
    allocated(moment, at->array, mt_cuda_deep_bytes(at->wanted, 1));
}

END(deep_levels)
{
    allocated(moment, at->array, mt_cuda_deep_bytes(at->wanted, at->levels));
}

END(physical)
{
    struct mt_cuda_call call = moment->call;
    if (at->wanted && at->wanted->location_type == MT_LOCATION_DEVICE)
        call.told = at->wanted->location + 1;
    moment->recorder->allocated(call, moment->result, at->handle, at->size);
}

END(map)
{
    moment->recorder->mapped(moment->call, moment->result, at->address, at->size, at->handle);
}

BEGIN(unmap)
{
    moment->recorder->unmapping(moment->call, at->address, at->size);
}

/* Not on the device of the current context. */
static struct mt_cuda_call call_on(const struct mt_cupti_moment *moment, int device)
{
    return (struct mt_cuda_call){.api = moment->call.api, .told = device + 1};
}

END(team)
{
    moment->recorder->allocated(call_on(moment, -1), moment->result, at->object,
                                at->wanted ? at->wanted->size : 0);
}

END(bind)
{
    moment->recorder->bound(call_on(moment, -1), moment->result, at->object + at->at, at->size,
                            at->handle);
}

END(bind_address)
{
    moment->recorder->bound(call_on(moment, -1), moment->result, at->object + at->at, at->size,
                            at->address);
}

BEGIN(unbind)
{
    moment->recorder->unbinding(call_on(moment, at->device), at->object + at->at, at->size);
}

static void freed(const struct mt_cupti_moment *moment)
{
    moment->recorder->freed(moment->free, moment->result);
}

BEGIN(free)
{
    *moment->free = moment->recorder->freeing(moment->call, at->address);
}

BEGIN(free_async)
{
    *moment->free = moment->recorder->freeing_async(moment->call, at->address, at->stream);
}

END(made)
{
    moment->recorder->object_made(moment->call, moment->result, at->object, 0);
}

/* Use the code that CUPTI reported within the call if the image's size is unknown: code may come to
 * the device later, too. */
static void module_made(const struct mt_cupti_moment *moment, const void *object, uint64_t bytes)
{
    moment->recorder->object_made(moment->call, moment->result, object,
                                  bytes ? bytes : moment->code);
}

END(made_of)
{
    module_made(moment, at->object, moment->result ? 0 : mt_cuda_image_bytes(at->image));
}

END(made_by)
{
    module_made(moment, at->object, moment->result ? 0 : mt_cuda_file_bytes(at->path));
}

BEGIN(ending)
{
    moment->recorder->object_ending(moment->call, at->handle);
}

BEGIN(ending_device)
{
    moment->recorder->object_ending(moment->call, (uint64_t)at->device);
}

static void begin_reset(const struct mt_cupti_moment *moment)
{
    moment->recorder->object_ending(moment->call, 0);
}

#define ALLOCATION(form) const struct mt_form mt_form_of_##form = {.end = run_end_##form};
ALLOCATION(alloc)
ALLOCATION(async)
ALLOCATION(pool)
ALLOCATION(pitch)
ALLOCATION(box)
ALLOCATION(array)
ALLOCATION(array_3d)
ALLOCATION(mipmapped)
ALLOCATION(register)
ALLOCATION(import)
ALLOCATION(buffer)
ALLOCATION(flat)
ALLOCATION(deep)
ALLOCATION(deep_levels)
ALLOCATION(physical)
ALLOCATION(map)
ALLOCATION(team)
ALLOCATION(bind)
ALLOCATION(bind_address)

const struct mt_form mt_form_of_unbind = {.begin = run_begin_unbind};
const struct mt_form mt_form_of_unmap = {.begin = run_begin_unmap};
const struct mt_form mt_form_of_free = {.begin = run_begin_free, .end = freed};
const struct mt_form mt_form_of_free_async = {.begin = run_begin_free_async, .end = freed};
const struct mt_form mt_form_of_made = {.end = run_end_made, .is_object = 1};
const struct mt_form mt_form_of_made_of = {.end = run_end_made_of, .is_object = 1};
const struct mt_form mt_form_of_made_by = {.end = run_end_made_by, .is_object = 1};
const struct mt_form mt_form_of_ending = {.begin = run_begin_ending, .is_object = 1};
const struct mt_form mt_form_of_ending_device = {.begin = run_begin_ending_device, .is_object = 1};
const struct mt_form mt_form_of_reset = {.begin = begin_reset, .is_object = 1};
