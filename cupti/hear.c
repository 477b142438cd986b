/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handle a callback, in the thread that calls CUDA. CUPTI reports a call when it begins and when it
 * has ended, and the calls that it makes in between. Like the hooks, record the outermost call, and
 * each call that makes a context or loads a CUDA module. A call that was running when the
 * subscription began only reports its end.
 */
#include "calls.h"
#include "forms.h"

#include <stdbool.h>
#include <string.h>

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
