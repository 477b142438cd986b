/* SPDX-License-Identifier: Apache-2.0 */
#include "live-physical.h"
#include "trace-format/cuda-apis.h"

#include <stdbool.h>

bool mt_live_makes_physical(const struct mt_event *event)
{
    return event->kind == MT_CUDA_MALLOC && event->CUDA_MALLOC.api == MT_API_CU_MEM_CREATE;
}

bool mt_live_adds_handle(const struct mt_event *event)
{
    return event->kind == MT_CUDA_MALLOC && (event->CUDA_MALLOC.api == MT_API_CU_MEM_RETAIN ||
                                             event->CUDA_MALLOC.api == MT_API_CU_MEM_IMPORT);
}

void mt_live_handle(struct mt_live_physical *physical, const struct mt_event *event, int by)
{
    if (by > 0 || physical->handles)
        physical->handles += (uint32_t)by;
    physical->last = *event;
}

/* Return a handle's events. A release comes after all mappings, which needed a handle. */
size_t mt_live_handle_events(const struct mt_live_physical *physical, struct mt_event *out)
{
    size_t n = 0;
    struct mt_event event = physical->last;
    if (physical->handles == 1)
        return 0;
    if (!physical->handles)
        event = (struct mt_event){.time_ns = event.time_ns,
                                  .CUDA_FREE = {event.address, MT_API_CU_MEM_RELEASE},
                                  .thread = event.thread,
                                  .kind = MT_CUDA_FREE,
                                  .device = event.device};
    else
        event = (struct mt_event){.time_ns = event.time_ns,
                                  .CUDA_MALLOC = {event.address, 0, 0, MT_API_CU_MEM_RETAIN},
                                  .thread = event.thread,
                                  .kind = MT_CUDA_MALLOC,
                                  .device = event.device};
    do
        out[n++] = event;
    while (n < MT_LIVE_HANDLES && n + 1 < physical->handles);
    return n;
}
