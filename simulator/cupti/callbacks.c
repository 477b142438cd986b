/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The callback interface: one subscriber at a time. It hears of calls that allocate or free, and of
 * contexts, streams and modules, in the form of CUPTI's headers.
 */
#include <stdlib.h>
#include <string.h>

#include "core/device/device.h"
#include "core/streams/stream.h"
#include "result.h"

/* The domains of CUPTI that can have callbacks here. */
static CUpti_CallbackDomain domains[] = {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API,
                                         CUPTI_CB_DOMAIN_RESOURCE};

/* Return a subscriber. They are few, and a call may still use one that has left: keep them. */
static struct sim_listener *of_handle(CUpti_SubscriberHandle handle)
{
    struct sim_listener *listener = (struct sim_listener *)handle;
    return listener && listener == sim_listener ? listener : NULL;
}

static uint32_t context_id(const struct sim_context *context)
{
    return context ? (uint32_t)context->device + 1 : 0;
}

static void report_resource(CUpti_CallbackFunc function, void *data, const struct sim_call *call)
{
    CUpti_ResourceData report = {.context = (CUcontext)call->result};
    if (call->id == SIM_MODULE_LOADED)
        report.resourceDescriptor = (void *)(uintptr_t)call->parameters;
    else
        report.resourceHandle.stream = (CUstream)(uintptr_t)call->parameters;

    function(data, CUPTI_CB_DOMAIN_RESOURCE, call->id, &report);
}

static void hear(const struct sim_listener *listener, struct sim_call *call)
{
    CUpti_CallbackFunc function = (CUpti_CallbackFunc)(uintptr_t)listener->function;
    CUpti_CallbackData report = {.callbackSite = call->after ? CUPTI_API_EXIT : CUPTI_API_ENTER,
                                 .functionName = call->name,
                                 .functionParams = call->parameters,
                                 .functionReturnValue = call->after ? call->result : NULL,
                                 .context = (CUcontext)sim_thread.context,
                                 .contextUid = context_id(sim_thread.context),
                                 .correlationData = &call->data,
                                 .correlationId = call->number};
    if (call->domain == SIM_RESOURCE)
        report_resource(function, listener->data, call);
    else
        function(listener->data, (CUpti_CallbackDomain)call->domain, call->id, &report);
}

static CUptiResult subscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback,
                             void *data)
{
    if (!handle || !callback)
        return CUPTI_ERROR_INVALID_PARAMETER;
    struct sim_listener *listener = calloc(1, sizeof(*listener));
    if (!listener)
        return CUPTI_ERROR_OUT_OF_MEMORY;
    listener->hear = hear;
    listener->function = (void *)(uintptr_t)callback;
    listener->data = data;
    if (sim_listen(listener)) {
        free(listener);
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    }
    *handle = (CUpti_SubscriberHandle)listener;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback, void *data)
{
    return cupti_result(subscribe(handle, callback, data));
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback,
                              void *data, CUpti_SubscriberParams *parameters)
{
    CUptiResult result = subscribe(handle, callback, data);
    if (result && parameters && parameters->oldSubscriberName && parameters->oldSubscriberSize)
        parameters->oldSubscriberName[0] = '\0';
    return cupti_result(result);
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
    return cupti_result(sim_unlisten((struct sim_listener *)handle) ? CUPTI_ERROR_INVALID_PARAMETER
                                                                    : CUPTI_SUCCESS);
}

CUptiResult cuptiFinalize(void)
{
    sim_unlisten(sim_listener);
    return CUPTI_SUCCESS;
}

static CUptiResult enable(uint32_t wanted, CUpti_SubscriberHandle handle, unsigned domain,
                          unsigned first, unsigned end)
{
    struct sim_listener *listener = of_handle(handle);
    if (!listener || domain == CUPTI_CB_DOMAIN_INVALID || domain >= SIM_DOMAINS ||
        end > SIM_CALLS_MAX)
        return CUPTI_ERROR_INVALID_PARAMETER;
    for (unsigned id = first; id < end; id++)
        listener->wanted[domain][id] = wanted != 0;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t wanted, CUpti_SubscriberHandle handle,
                                CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    return cupti_result(enable(wanted, handle, domain, id, id < SIM_CALLS_MAX ? id + 1 : id));
}

CUptiResult cuptiEnableDomain(uint32_t wanted, CUpti_SubscriberHandle handle,
                              CUpti_CallbackDomain domain)
{
    return cupti_result(enable(wanted, handle, domain, 1, SIM_CALLS_MAX));
}

CUptiResult cuptiEnableAllDomains(uint32_t wanted, CUpti_SubscriberHandle handle)
{
    CUptiResult result = CUPTI_SUCCESS;
    for (unsigned domain = 1; !result && domain < SIM_DOMAINS; domain++)
        result = enable(wanted, handle, domain, 1, SIM_CALLS_MAX);
    return cupti_result(result);
}

CUptiResult cuptiGetCallbackState(uint32_t *enabled, CUpti_SubscriberHandle handle,
                                  CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    const struct sim_listener *listener = of_handle(handle);
    if (!enabled || !listener || (unsigned)domain >= SIM_DOMAINS || id >= SIM_CALLS_MAX)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    *enabled = listener->wanted[domain][id];
    return CUPTI_SUCCESS;
}

CUptiResult cuptiSupportedDomains(size_t *count, CUpti_DomainTable *table)
{
    if (!count || !table)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    *count = sizeof(domains) / sizeof(domains[0]);
    *table = domains;
    return CUPTI_SUCCESS;
}

static const char *const names[][SIM_CALLS_MAX] = {
#define SIM_CALLBACK(domain, name)                                                                 \
    [CUPTI_CB_DOMAIN_##domain##_API][CUPTI_##domain##_TRACE_CBID_##name] = #name,
#include "callbacks.inc"
#undef SIM_CALLBACK
};

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char **name)
{
    if (!name || (unsigned)domain >= sizeof(names) / sizeof(names[0]) || id >= SIM_CALLS_MAX ||
        !names[domain][id])
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    *name = names[domain][id];
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetContextId(CUcontext context, uint32_t *id)
{
    if (!context || !id)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    *id = context_id((const struct sim_context *)context);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetDeviceId(CUcontext handle, uint32_t *id)
{
    const struct sim_context *context = handle ? (struct sim_context *)handle : sim_thread.context;
    if (!context || !id)
        return cupti_result(CUPTI_ERROR_INVALID_CONTEXT);
    *id = (uint32_t)context->device;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread, uint32_t *id)
{
    (void)context;
    (void)per_thread;
    if (!id)
        return cupti_result(CUPTI_ERROR_INVALID_PARAMETER);
    *id = (uint32_t)sim_stream(stream)->id;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t *id)
{
    return cuptiGetStreamIdEx(context, stream, 0, id);
}
