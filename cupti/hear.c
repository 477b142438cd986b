/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handle a callback, in the thread that calls CUDA. CUPTI reports a call when it begins and when it
 * has ended, and the calls that it makes in between. Like the hooks, record the outermost call, and
 * each call that makes a context or loads a CUDA module. A call that was running when the
 * subscription began only reports its end.
 */
#include "calls.h"
#include "library.h"
#include "preload/cuda/cuda-sizes.h"

#include <stdbool.h>
#include <string.h>

/* Record calls of each form (types.h) when they begin and when they have ended. */

/* A call at its begin or end. */
struct mt_cupti_moment {
    const struct mt_cupti_recorder *recorder;
    struct mt_cuda_call call;
    const void *parameters;
    unsigned result;
    struct mt_cuda_free *free; /* kept from its begin to its end */
    uint64_t code;             /* bytes of CUDA modules that came to a device within the call */
};

struct mt_form {
    void (*begin)(const struct mt_cupti_moment *moment); /* NULL: nothing */
    void (*end)(const struct mt_cupti_moment *moment);
    bool is_object; /* a context or a CUDA module: recorded even within another call */
};

extern const struct mt_form mt_form_of_alloc, mt_form_of_async, mt_form_of_pool, mt_form_of_pitch,
    mt_form_of_box, mt_form_of_array, mt_form_of_array_3d, mt_form_of_mipmapped,
    mt_form_of_register, mt_form_of_import, mt_form_of_buffer, mt_form_of_flat, mt_form_of_deep,
    mt_form_of_deep_levels, mt_form_of_physical, mt_form_of_map, mt_form_of_unmap, mt_form_of_team,
    mt_form_of_bind, mt_form_of_bind_address, mt_form_of_unbind, mt_form_of_free,
    mt_form_of_free_async, mt_form_of_made, mt_form_of_made_of, mt_form_of_made_by,
    mt_form_of_ending, mt_form_of_ending_device, mt_form_of_reset;

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

/* Make a call that is not on the device of the current context. */
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

struct row {
    enum mt_cuda_api api;
    const struct mt_form *form; /* NULL: not asked for */
};

static const struct row rows[][MT_CUPTI_NUMBERS] = {
#define ROW(domain, name, number, api, form)                                                       \
    [MT_CUPTI_##domain][number] = {MT_API_##api, &mt_form_of_##form},
    MT_CUPTI_CALLS(ROW)};

/* The calls that this thread is in, as reported by this subscription. */
static _Thread_local struct {
    unsigned subscription;
    int calls, objects; /* begun and not ended */
    uint64_t code;      /* of CUDA modules that came to a device meanwhile */
    struct mt_cuda_free free;
} self;

static struct mt_cuda_call call_of(const struct mt_cupti_hearer *hearer, enum mt_cuda_api api,
                                   void *context)
{
    uint32_t device;
    struct mt_cuda_call call = {.api = api};
    bool is_of_device = context && mt_cuda_api_space(api) != MT_SPACE_HOST;
    if (is_of_device && !hearer->library->device_of(context, &device))
        call.told = (int)device + 1;
    return call;
}

static void begin(const struct mt_cupti_moment *moment, const struct mt_form *form,
                  unsigned subscription)
{
    bool is_outermost = !(form->is_object ? self.objects++ : self.calls++);
    if (is_outermost && form->is_object)
        self.code = 0;
    if (is_outermost && form->begin)
        form->begin(moment);
    if (is_outermost && !form->is_object)
        moment->recorder->tell(subscription);
}

static void end(const struct mt_cupti_moment *moment, const struct mt_form *form)
{
    int *begun = form->is_object ? &self.objects : &self.calls;
    if (!*begun || --*begun)
        return;
    if (!form->is_object)
        moment->recorder->tell(0);
    if (form->end)
        form->end(moment);
}

static void hear_call(const struct mt_cupti_hearer *hearer, const struct row *row,
                      const struct mt_cupti_call *told)
{
    struct mt_cupti_moment moment = {hearer->recorder, call_of(hearer, row->api, told->context),
                                     told->parameters, 0,
                                     &self.free,       self.code};
    if (told->site == MT_CUPTI_ENTER) {
        begin(&moment, row->form, hearer->subscription);
    } else if (told->result) {
        moment.result = *told->result;
        end(&moment, row->form);
    }
}

/* Skip contexts within calls that make or end one: these were recorded. */
static void hear_context(const struct mt_cupti_hearer *hearer, uint32_t number,
                         const struct mt_cupti_resource *told)
{
    void *context = told->context;
    if (self.objects)
        return;
    if (number == MT_CUPTI_CONTEXT_CREATED)
        hearer->recorder->object_made(call_of(hearer, MT_API_CU_PRIMARY_CTX_RETAIN, context), 0,
                                      &context, 0);
    else
        hearer->recorder->object_ending(call_of(hearer, MT_API_CU_PRIMARY_CTX_RELEASE, context),
                                        (uint64_t)(uintptr_t)context);
}

static void hear_stream(const struct mt_cupti_hearer *hearer, uint32_t number,
                        const struct mt_cupti_resource *told)
{
    void *stream = told->resource;
    if (number == MT_CUPTI_STREAM_CREATED)
        hearer->recorder->object_made(call_of(hearer, MT_API_CU_STREAM_CREATE, told->context), 0,
                                      &stream, 0);
    else
        hearer->recorder->object_ending(call_of(hearer, MT_API_CU_STREAM_DESTROY, told->context),
                                        (uint64_t)(uintptr_t)stream);
}

/* Count code that comes to a device within the call that loads it. The load call was already
 * recorded if code comes later, at the first launch of a kernel. */
static void hear_code(const struct mt_cupti_resource *told)
{
    struct mt_cupti_code code;
    if (!told->descriptor)
        return;
    memcpy(&code, told->descriptor, sizeof code);
    self.code += code.size;
}

static void hear_resource(const struct mt_cupti_hearer *hearer, uint32_t number,
                          const struct mt_cupti_resource *told)
{
    switch (number) {
    case MT_CUPTI_CONTEXT_CREATED:
    case MT_CUPTI_CONTEXT_DESTROYED:
        hear_context(hearer, number, told);
        break;
    case MT_CUPTI_STREAM_CREATED:
    case MT_CUPTI_STREAM_DESTROYED:
        hear_stream(hearer, number, told);
        break;
    case MT_CUPTI_MODULE_LOADED:
        hear_code(told);
    }
}

void mt_cupti_hear(void *data, unsigned domain, uint32_t number, const void *told)
{
    const struct mt_cupti_hearer *hearer = data;
    if (hearer->recorder->is_hooked())
        return;
    if (self.subscription != hearer->subscription) {
        memset(&self, 0, sizeof self);
        self.subscription = hearer->subscription;
    }
    if (domain == MT_CUPTI_RESOURCE)
        hear_resource(hearer, number, told);
    else if (domain < sizeof rows / sizeof *rows && number < MT_CUPTI_NUMBERS &&
             rows[domain][number].form)
        hear_call(hearer, &rows[domain][number], told);
}
