/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI, in its first form: one subscriber at a time, nothing is ever called back, and no activity
 * is recorded, because nothing runs. Profilers of PyTorch see the host's side only.
 */
#include <cupti.h>
#include <stdatomic.h>

#include "core/core.h"

static _Atomic(void *) subscriber;

static CUptiResult subscribe(CUpti_SubscriberHandle *handle)
{
    void *nobody = NULL, *fresh = sim_new_handle();

    if (!handle)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (!atomic_compare_exchange_strong(&subscriber, &nobody, fresh))
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    *handle = fresh;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback, void *data)
{
    (void)callback;
    (void)data;
    return subscribe(handle);
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback,
                              void *data, CUpti_SubscriberParams *parameters)
{
    (void)callback;
    (void)data;
    (void)parameters;
    return subscribe(handle);
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
    void *expected = handle;

    if (!handle || !atomic_compare_exchange_strong(&subscriber, &expected, NULL))
        return CUPTI_ERROR_INVALID_PARAMETER;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiFinalize(void)
{
    subscriber = NULL;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
    *timestamp = sim_now();
    return CUPTI_SUCCESS;
}

static const char *text_of(CUptiResult result)
{
    switch (result) {
    case CUPTI_SUCCESS:
        return "CUPTI_SUCCESS";
    case CUPTI_ERROR_INVALID_PARAMETER:
        return "CUPTI_ERROR_INVALID_PARAMETER";
    case CUPTI_ERROR_NOT_COMPATIBLE:
        return "CUPTI_ERROR_NOT_COMPATIBLE";
    case CUPTI_ERROR_MAX_LIMIT_REACHED:
        return "CUPTI_ERROR_MAX_LIMIT_REACHED";
    case CUPTI_ERROR_NOT_SUPPORTED:
        return "CUPTI_ERROR_NOT_SUPPORTED";
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
        return "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED";
    default:
        return "CUPTI_ERROR_UNKNOWN";
    }
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **text)
{
    *text = text_of(result);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetErrorMessage(CUptiResult result, const char **text)
{
    *text = text_of(result);
    return CUPTI_SUCCESS;
}

/* Profilers mark what the host does; what they pushed they get back. */
enum { MARKS = 64 };
static _Thread_local struct {
    uint64_t ids[CUPTI_EXTERNAL_CORRELATION_KIND_SIZE][MARKS];
    unsigned depth[CUPTI_EXTERNAL_CORRELATION_KIND_SIZE];
} marks;

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
    if ((unsigned)kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (marks.depth[kind] < MARKS)
        marks.ids[kind][marks.depth[kind]] = id;
    marks.depth[kind]++;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                                  uint64_t *last)
{
    if ((unsigned)kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (!marks.depth[kind])
        return CUPTI_ERROR_QUEUE_EMPTY;
    marks.depth[kind]--;
    if (last)
        *last = marks.depth[kind] < MARKS ? marks.ids[kind][marks.depth[kind]] : 0;
    return CUPTI_SUCCESS;
}
