/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI except its callbacks. Programs can request activities, and none is ever recorded, because
 * nothing runs: profilers of PyTorch see the host's side only.
 */
#include "core/streams/stream.h"
#include "result.h"

static _Thread_local CUptiResult last_error;

CUptiResult cupti_result(CUptiResult code)
{
    if (code)
        last_error = code;
    return code;
}

CUptiResult cuptiGetLastError(void)
{
    CUptiResult error = last_error;
    last_error = CUPTI_SUCCESS;
    return error;
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
    case CUPTI_ERROR_INVALID_CONTEXT:
        return "CUPTI_ERROR_INVALID_CONTEXT";
    case CUPTI_ERROR_OUT_OF_MEMORY:
        return "CUPTI_ERROR_OUT_OF_MEMORY";
    case CUPTI_ERROR_QUEUE_EMPTY:
        return "CUPTI_ERROR_QUEUE_EMPTY";
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

/* Profilers push marks of the host's work, and pop the same ones. */
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
