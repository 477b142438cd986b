/* SPDX-License-Identifier: Apache-2.0 */
#include "compact.h"
#include "analyzer/support/write.h"
#include "analyzer/trace/redact.h"
#include "analyzer/trace/scan.h"
#include "analyzer/trace/survey.h"
#include "trace-format/end-note.h"

#include <errno.h>
#include <string.h>

#define LEVEL 19 /* zstd's level, high since a copy is written once */

struct work {
    const struct mt_keep_plan *plan;
    struct mt_encoder *definitions, *events; /* definitions precede their use */
    uint64_t number;                         /* of the last event */
    struct mt_redaction redaction;
    FILE *out;
    struct mt_chain chain;
};

static int end_events(struct work *work)
{
    int rc = mt_write_block(work->out, work->definitions);
    return rc ? rc : mt_write_block(work->out, work->events);
}

/* Turn the event into an empty free, PyTorch's (with the totals after it) or CUDA's. */
static void empty(struct mt_event *event)
{
    switch (event->kind) {
    case MT_ALLOC:
    case MT_FREE:
        event->kind = MT_FREE;
        event->address = event->size = 0;
        break;
    case MT_CUDA_MALLOC:
    case MT_CUDA_MALLOC_ASYNC:
    case MT_CUDA_FREE:
    case MT_CUDA_FREE_ASYNC:
    case MT_CUDA_FREE_FAILED:
        event->kind = MT_CUDA_FREE;
        memset(event->arg, 0, sizeof event->arg);
        break;
    }
}

/* Write an event without its block, unless the block is kept. */
static int write_event(struct work *work, const struct mt_event *event)
{
    struct mt_event kept = *event;
    if (mt_kept_has(work->plan->kept.totals, work->number))
        empty(&kept);
    int rc = mt_encoder_event(work->events, &kept);
    return rc || !mt_encoder_full(work->events) ? rc : end_events(work);
}

static int handle(void *data, const struct mt_batch *batch)
{
    struct work *work = data;
    int rc = 0;
    for (size_t i = 0; !rc && i < batch->n_definitions; i++) {
        struct mt_definition redacted;
        rc = mt_redact(&work->redaction, &batch->definitions[i], &redacted);
        if (!rc)
            rc = mt_write_definition(work->out, work->definitions, &redacted);
    }
    for (size_t i = 0; !rc && i < batch->n_events; i++)
        if (mt_kept_has(work->plan->kept.bits, ++work->number))
            rc = write_event(work, &batch->events[i]);
    return rc;
}

static int write_info(struct work *work, const char *text)
{
    struct mt_definition info = {.kind = MT_DEF_INFO, .text = text, .text_size = strlen(text)};
    return mt_write_definition(work->out, work->definitions, &info);
}

static int write_summary(struct work *work, const struct mt_summary_part *part)
{
    struct mt_definition summary = {.kind = MT_DEF_SUMMARY,
                                    .id = part->what,
                                    .device = part->device,
                                    .text = (const char *)part->bytes,
                                    .text_size = part->size};
    return mt_write_definition(work->out, work->definitions, &summary);
}

static int write_begin(struct work *work)
{
    char text[96];
    int rc = mt_write_begin(work->out, work->definitions, work->events, &work->chain);
    snprintf(text, sizeof text, "compact=%llu events, %llu bytes",
             (unsigned long long)work->plan->events, (unsigned long long)work->plan->bytes);
    if (!rc)
        rc = write_info(work, text);
    snprintf(text, sizeof text, MT_STATE_INFO "%s", mt_trace_state_names[work->plan->state]);
    if (!rc && work->plan->lacks_only_its_end)
        rc = write_info(work, text);
    if (!rc && work->plan->ended.is_unnumbered)
        rc = write_info(work, MT_UNNUMBERED_INFO "yes");
    if (!rc && work->plan->ended.how == MT_ENDED_RUNNING) /* not visible in the copy itself */
        rc = write_info(work, MT_ENDED_INFO "running");
    for (size_t i = 0; !rc && i < work->plan->summaries.n; i++)
        rc = write_summary(work, &work->plan->summaries.part[i]);
    return rc;
}

static int write_end(struct work *work)
{
    struct mt_end end = work->plan->end;
    int rc = end_events(work);
    if (rc || !work->plan->is_complete)
        return rc;
    end.events = work->plan->kept.n;
    return mt_write_end(work->out, work->definitions, &end);
}

int mt_compact(const char *path, const struct mt_keep_plan *plan, FILE *out,
               struct mt_trace_error *error)
{
    struct work work = {.plan = plan,
                        .definitions = mt_encoder_create(LEVEL),
                        .events = mt_encoder_create(LEVEL),
                        .out = out};
    int rc = work.definitions && work.events ? write_begin(&work) : -ENOMEM;
    if (!rc)
        rc = mt_scan(path, handle, &work, error);
    if (!rc)
        rc = write_end(&work);
    if (!rc && fflush(out))
        rc = -errno;
    mt_redaction_clear(&work.redaction);
    mt_encoder_destroy(work.definitions);
    mt_encoder_destroy(work.events);
    return rc;
}
