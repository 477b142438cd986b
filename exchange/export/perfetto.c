/* SPDX-License-Identifier: Apache-2.0 */
/* Perfetto's traces: a process for each trace, in it a group of tracks for each device. */
#include "perfetto.h"
#include "analyzer/support/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t number_of(const struct mt_pass *pass, const char *key)
{
    const char *text = mt_info(pass->replay.definitions, key);
    return text ? strtoull(text, NULL, 10) : 0;
}

/* Make the process "rank 3: python train.py". */
static void make_process(struct mt_perfetto_process *process)
{
    const struct mt_definitions *d = process->pass->replay.definitions;
    const char *command = mt_info(d, "command"), *rank = mt_info(d, "rank");
    char name[512];
    snprintf(name, sizeof name, "%s%s%s%.400s", rank && *rank ? "rank " : "",
             rank && *rank ? rank : "", rank && *rank ? ": " : "", command ? command : "memtap");
    process->start_ns = number_of(process->pass, "start_realtime_ns");
    process->pid = number_of(process->pass, "pid");
    mt_perfetto_sequence(process->to, process->start_ns);
    process->track = mt_perfetto_process(process->to, process->pid, name);
    process->ranges = (struct mt_perfetto_lanes){.name = "ranges", .parent = process->track};
}

static void make_device(struct mt_perfetto_process *process, unsigned slot)
{
    const struct mt_replay *replay = &process->pass->replay;
    const struct mt_question *question = &process->export->question;
    struct mt_perfetto_device *device = &process->device[slot];
    char name[MT_SIZE_TEXT];
    device->of_cuda = !replay->of_torch.peak[slot].event;
    const struct mt_totals *peak = &mt_replay_level(replay, device->of_cuda)->peak[slot];
    if (!peak->event || (question->one_device && mt_device_slot(question->device) != slot))
        return;
    device->is_shown = true;
    device->large = peak->allocated / MT_PERFETTO_LARGE + 1;
    device->track =
        mt_perfetto_track(process->to, process->track, mt_device_text(name, (int)slot - 1));
    device->allocated = mt_perfetto_counter(process->to, device->track, "allocated");
    if (!device->of_cuda)
        device->reserved = mt_perfetto_counter(process->to, device->track, "reserved");
    device->blocks = (struct mt_perfetto_lanes){.name = "large blocks", .parent = device->track};
}

static const char *span_name(const struct mt_span *span)
{
    return mt_span_evaluates(span) ? "evaluation"
           : !span->iteration      ? "start-up"
                                   : mt_phase_names[span->phase].name;
}

static void put_slice(struct mt_perfetto *to, uint64_t track, const char *name, uint64_t from,
                      uint64_t until)
{
    mt_perfetto_event(to, MT_PERFETTO_BEGIN, track, name, from);
    mt_perfetto_event(to, MT_PERFETTO_END, track, NULL, until);
}

/* Write the phases. An iteration covers all of its spans, but not an evaluation next to it. */
static void perfetto_phases(struct mt_perfetto_process *process)
{
    const struct mt_replay *replay = &process->pass->replay;
    for (unsigned slot = 0; slot < MT_DEVICES; slot++) {
        const struct mt_spans *spans = &replay->spans[slot];
        if (!process->device[slot].is_shown || !spans->n)
            continue;
        uint64_t parent = process->device[slot].track, start = process->start_ns;
        uint64_t phases = mt_perfetto_track(process->to, parent, "phases");
        uint64_t iterations = mt_perfetto_track(process->to, parent, "iterations");
        for (size_t i = 0, first = 0; i < spans->n; i++) {
            const struct mt_span *span = &spans->span[i];
            bool is_last = i + 1 == spans->n;
            uint64_t end = start + (is_last ? replay->time_ns : span[1].time_ns);
            put_slice(process->to, phases, span_name(span), start + span->time_ns, end);
            if (!is_last && span[1].iteration == span->iteration &&
                mt_span_is_beside(spans, span + 1) == mt_span_is_beside(spans, span))
                continue;
            char name[32];
            snprintf(name, sizeof name, "iteration %u", span->iteration);
            if (span->iteration && !mt_span_is_beside(spans, span))
                put_slice(process->to, iterations, name, start + spans->span[first].time_ns, end);
            first = i + 1;
        }
    }
}

static void clear_process(struct mt_perfetto_process *process)
{
    for (unsigned slot = 0; slot < MT_DEVICES; slot++)
        mt_perfetto_lanes_clear(&process->device[slot].blocks);
    mt_perfetto_lanes_clear(&process->ranges);
    mt_by_id_clear(&process->threads);
    free(process);
}

static int put_trace(struct mt_perfetto *to, const struct mt_export *export, const char *path,
                     uint64_t *start_ns, struct mt_export_error *error)
{
    int rc;
    struct mt_perfetto_process *process = calloc(1, sizeof *process);
    struct mt_pass *pass = mt_pass_open(export, path, &rc, error);
    if (!process)
        rc = -ENOMEM;
    if (!rc) {
        process->to = to;
        process->export = export;
        process->pass = pass;
        make_process(process);
        *start_ns = process->start_ns;
        for (unsigned slot = 0; slot < MT_DEVICES; slot++)
            make_device(process, slot);
        to->is_apart = true;
        perfetto_phases(process);
        to->is_apart = false;
        rc = mt_perfetto_events(process, path, error);
    }
    mt_pass_close(pass);
    if (process)
        clear_process(process);
    return rc ? rc : to->rc;
}

int mt_export_perfetto(const struct mt_export *export, struct mt_sink *sink,
                       struct mt_export_error *error)
{
    struct mt_perfetto to = {.sink = sink};
    uint64_t start_ns = 0;
    int rc = 0;
    for (size_t i = 0; i < export->n_paths && !rc; i++)
        rc = put_trace(&to, export, export->paths[i], &start_ns, error);
    if (!rc && export->with)
        rc = mt_perfetto_join(&to, export->with, start_ns, error);
    mt_perfetto_clear(&to);
    return rc ? rc : to.rc;
}
