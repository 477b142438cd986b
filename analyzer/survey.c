/* SPDX-License-Identifier: Apache-2.0 */
#include "survey.h"
#include "cuda-level.h"
#include "scan.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

struct pass {
    struct mt_survey *survey;
    struct mt_definitions *definitions;
    struct mt_cuda_level cuda;
};

static void see_total(struct mt_peak *peak, const struct mt_event *event, uint64_t number,
                      uint64_t allocated, uint64_t reserved)
{
    if (peak->event && allocated <= peak->allocated)
        return;
    *peak = (struct mt_peak){number, event->time_ns, allocated, reserved};
}

static void see_block(struct mt_survey *survey, const struct mt_event *event)
{
    unsigned slot = mt_device_slot(event->device);
    see_total(&survey->pytorch[slot], event, survey->events, event->arg[2], event->arg[3]);
    if (survey->most_reserved[slot] < event->arg[3])
        survey->most_reserved[slot] = event->arg[3];
}

static int see_cuda(struct pass *pass, const struct mt_event *event)
{
    int rc = mt_cuda_event(&pass->cuda, event);
    if (rc || event->kind != MT_CUDA_MALLOC || event->arg[2] != 0)
        return rc;
    unsigned slot = mt_device_slot(event->device);
    see_total(&pass->survey->cuda[slot], event, pass->survey->events,
              pass->cuda.heap.total[slot].bytes, 0);
    return 0;
}

static int see_event(struct pass *pass, const struct mt_event *event)
{
    struct mt_survey *survey = pass->survey;
    survey->events++;
    if (event->kind < MT_KIND_LIMIT)
        survey->kinds[event->kind]++;
    if (survey->last_time_ns < event->time_ns)
        survey->last_time_ns = event->time_ns;
    switch (event->kind) {
    case MT_ALLOC:
    case MT_FREE:
        see_block(survey, event);
        return 0;
    case MT_CUDA_MALLOC:
    case MT_CUDA_FREE:
    case MT_CUDA_FREE_FAILED:
        return see_cuda(pass, event);
    case MT_LOST:
        survey->lost += event->arg[0];
        return 0;
    }
    return 0;
}

static int define(struct mt_definitions *definitions, const struct mt_batch *batch)
{
    for (size_t i = 0; definitions && i < batch->n_definitions; i++)
        if (mt_definitions_add(definitions, &batch->definitions[i]) == -ENOMEM)
            return -ENOMEM;
    return 0;
}

static int handle(void *data, const struct mt_batch *batch)
{
    struct pass *pass = data;
    switch (batch->type) {
    case MT_BATCH_DEFINITIONS:
        return define(pass->definitions, batch);
    case MT_BATCH_EVENTS:
        for (size_t i = 0; i < batch->n_events; i++)
            if (see_event(pass, &batch->events[i]))
                return -ENOMEM;
        return 0;
    case MT_BATCH_END:
        pass->survey->complete = 1;
        pass->survey->end = batch->end;
        return 0;
    }
    return 0;
}

int mt_survey(const char *path, struct mt_survey *survey, struct mt_definitions *definitions,
              struct mt_trace_error *error)
{
    struct pass pass = {.survey = survey, .definitions = definitions};
    struct stat status;
    memset(survey, 0, sizeof *survey);
    if (!stat(path, &status))
        survey->bytes = (uint64_t)status.st_size;
    int rc = mt_scan(path, handle, &pass, error);
    mt_cuda_clear(&pass.cuda);
    return rc;
}

uint64_t mt_survey_lost(const struct mt_survey *survey)
{
    return survey->complete && survey->end.lost > survey->lost ? survey->end.lost : survey->lost;
}

uint64_t mt_survey_length_ns(const struct mt_survey *survey)
{
    return survey->complete && survey->end.time_ns > survey->last_time_ns ? survey->end.time_ns
                                                                          : survey->last_time_ns;
}
