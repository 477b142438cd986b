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
    void (*begin)(const struct mt_cupti_moment *moment);
    void (*end)(const struct mt_cupti_moment *moment);
    enum { CALL, OBJECT } kind;
};

/* Make a call that is not on the device of the current context. */
static struct mt_cuda_call call_on(const struct mt_cupti_moment *moment, int device)
{
    return (struct mt_cuda_call){.api = moment->call.api, .device_plus_1 = device + 1};
}

static struct mt_cuda_call call_of_physical(const struct mt_cupti_moment *moment,
                                            const struct mt_physical_properties *wanted)
{
    return wanted && wanted->location_type == MT_LOCATION_DEVICE ? call_on(moment, wanted->location)
                                                                 : moment->call;
}

/* Use the code that CUPTI reported within the call if the image's size is unknown: code may come to
 * the device later, too. */
static void module_made(const struct mt_cupti_moment *moment, const void *object, uint64_t bytes)
{
    moment->recorder->object_made(moment->call, moment->result, object,
                                  bytes ? bytes : moment->code);
}

/* What is recorded of a form's calls when they begin, and when they have ended. */
#define DO(what, ...) moment->recorder->what(__VA_ARGS__)
#define BEGIN_ALLOCATED(address, size)
#define END_ALLOCATED(address, size) DO(allocated, moment->call, moment->result, address, size)
#define BEGIN_ALLOCATED_ASYNC(address, size, stream)
#define END_ALLOCATED_ASYNC(address, size, stream)                                                 \
    DO(allocated_async, moment->call, moment->result, address, size, stream)
#define BEGIN_ALLOCATED_ON(device, object, size)
#define END_ALLOCATED_ON(device, object, size)                                                     \
    DO(allocated, call_on(moment, device), moment->result, object, size)
#define BEGIN_ALLOCATED_PHYSICAL(wanted, handle, size)
#define END_ALLOCATED_PHYSICAL(wanted, handle, size)                                               \
    DO(allocated, call_of_physical(moment, wanted), moment->result, handle, size)
#define BEGIN_MAPPED(address, size, handle)
#define END_MAPPED(address, size, handle)                                                          \
    DO(mapped, moment->call, moment->result, address, size, handle)
#define BEGIN_UNMAPPED(address, size) DO(unmapping, moment->call, address, size)
#define END_UNMAPPED(address, size)
#define BEGIN_BOUND(place, size, memory)
#define END_BOUND(place, size, memory)                                                             \
    DO(bound, call_on(moment, -1), moment->result, place, size, memory)
#define BEGIN_UNBOUND(device, place, size) DO(unbinding, call_on(moment, device), place, size)
#define END_UNBOUND(device, place, size)
#define BEGIN_FREED(address) *moment->free = DO(freeing, moment->call, address)
#define END_FREED(address) DO(freed, moment->free, moment->result)
#define BEGIN_FREED_ASYNC(address, stream)                                                         \
    *moment->free = DO(freeing_async, moment->call, address, stream)
#define END_FREED_ASYNC(address, stream) DO(freed, moment->free, moment->result)
#define BEGIN_MADE(object)
#define END_MADE(object) DO(object_made, moment->call, moment->result, object, 0)
#define BEGIN_MADE_OF(object, bytes)
#define END_MADE_OF(object, bytes) module_made(moment, object, moment->result ? 0 : bytes)
#define BEGIN_ENDED(handle) DO(object_ending, moment->call, (uint64_t)(handle))
#define END_ENDED(handle)

#define FORM(form, kind, members, record)                                                          \
    static void begin_##form(const struct mt_cupti_moment *moment)                                 \
    {                                                                                              \
        const struct mt_form_##form *at = moment->parameters;                                      \
        (void)at;                                                                                  \
        BEGIN_##record;                                                                            \
    }                                                                                              \
    static void end_##form(const struct mt_cupti_moment *moment)                                   \
    {                                                                                              \
        const struct mt_form_##form *at = moment->parameters;                                      \
        (void)at;                                                                                  \
        END_##record;                                                                              \
    }                                                                                              \
    static const struct mt_form form_of_##form = {begin_##form, end_##form, kind};
MT_CUPTI_FORMS(FORM)

struct row {
    enum mt_cuda_api api;
    const struct mt_form *form; /* NULL: not asked for */
};

static const struct row rows[][MT_CUPTI_NUMBERS] = {
#define ROW(domain, name, number, api, form)                                                       \
    [MT_CUPTI_##domain][number] = {MT_API_##api, &form_of_##form},
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
        call.device_plus_1 = (int)device + 1;
    return call;
}

static void begin(const struct mt_cupti_moment *moment, const struct mt_form *form,
                  unsigned subscription)
{
    if (form->kind == OBJECT ? self.objects++ : self.calls++)
        return;
    if (form->kind == OBJECT)
        self.code = 0;
    form->begin(moment);
    if (form->kind == CALL)
        moment->recorder->report(subscription);
}

static void end(const struct mt_cupti_moment *moment, const struct mt_form *form)
{
    int *begun = form->kind == OBJECT ? &self.objects : &self.calls;
    if (!*begun || --*begun)
        return;
    if (form->kind == CALL)
        moment->recorder->report(0);
    form->end(moment);
}

static void hear_call(const struct mt_cupti_hearer *hearer, const struct row *row,
                      const struct mt_cupti_call *info)
{
    struct mt_cupti_moment moment = {hearer->recorder, call_of(hearer, row->api, info->context),
                                     info->parameters, 0,
                                     &self.free,       self.code};
    if (info->site == MT_CUPTI_ENTER) {
        begin(&moment, row->form, hearer->subscription);
    } else if (info->result) {
        moment.result = *info->result;
        end(&moment, row->form);
    }
}

/* Skip contexts within calls that make or end one: these were recorded. */
static void hear_context(const struct mt_cupti_hearer *hearer, uint32_t number,
                         const struct mt_cupti_resource *info)
{
    void *context = info->context;
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
                        const struct mt_cupti_resource *info)
{
    void *stream = info->resource;
    if (number == MT_CUPTI_STREAM_CREATED)
        hearer->recorder->object_made(call_of(hearer, MT_API_CU_STREAM_CREATE, info->context), 0,
                                      &stream, 0);
    else
        hearer->recorder->object_ending(call_of(hearer, MT_API_CU_STREAM_DESTROY, info->context),
                                        (uint64_t)(uintptr_t)stream);
}

/* Count code that comes to a device within the call that loads it. The load call was already
 * recorded if code comes later, at the first launch of a kernel. */
static void hear_code(const struct mt_cupti_resource *info)
{
    struct mt_cupti_code code;
    if (!info->descriptor)
        return;
    memcpy(&code, info->descriptor, sizeof code);
    self.code += code.size;
}

static void hear_resource(const struct mt_cupti_hearer *hearer, uint32_t number,
                          const struct mt_cupti_resource *info)
{
    switch (number) {
    case MT_CUPTI_CONTEXT_CREATED:
    case MT_CUPTI_CONTEXT_DESTROYED:
        hear_context(hearer, number, info);
        break;
    case MT_CUPTI_STREAM_CREATED:
    case MT_CUPTI_STREAM_DESTROYED:
        hear_stream(hearer, number, info);
        break;
    case MT_CUPTI_MODULE_LOADED:
        hear_code(info);
    }
}

void mt_cupti_hear(void *data, unsigned domain, uint32_t number, const void *info)
{
    const struct mt_cupti_hearer *hearer = data;
    if (hearer->recorder->is_hooked())
        return;
    if (self.subscription != hearer->subscription) {
        memset(&self, 0, sizeof self);
        self.subscription = hearer->subscription;
    }
    if (domain == MT_CUPTI_RESOURCE)
        hear_resource(hearer, number, info);
    else if (domain < sizeof rows / sizeof *rows && number < MT_CUPTI_NUMBERS &&
             rows[domain][number].form)
        hear_call(hearer, &rows[domain][number], info);
}
