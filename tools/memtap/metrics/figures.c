/* SPDX-License-Identifier: Apache-2.0 */
#include "figures.h"
#include "analyzer/findings/inspect.h"
#include "analyzer/trace/definitions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void copy_text(char out[MT_FIGURES_TEXT], const char *text)
{
    snprintf(out, MT_FIGURES_TEXT, "%s", text ? text : "");
}

static void take_run(struct mt_figures *figures, const struct mt_replay *replay,
                     const struct mt_ended *ended)
{
    const struct mt_definitions *definitions = replay->definitions;
    const char *start = mt_info(definitions, "start_realtime_ns");
    copy_text(figures->rank, mt_rank_text(definitions));
    copy_text(figures->host, mt_info(definitions, "host"));
    copy_text(figures->pid, mt_info(definitions, "pid"));
    copy_text(figures->command, mt_info(definitions, "command"));
    figures->ended = *ended;
    figures->events = replay->survey.events;
    figures->lost = mt_survey_lost(&replay->survey);
    figures->ooms = mt_survey_ooms(&replay->survey);
    figures->start_ns = start ? strtoull(start, NULL, 10) : 0;
    figures->length_ns = mt_survey_length_ns(&replay->survey);
}

/* Collect what both modes have in the replay. The spans are numbered. */
static void take_device(struct mt_device_figures *device, const struct mt_replay *replay,
                        unsigned slot)
{
    const struct mt_spans *spans = &replay->spans[slot];
    device->device = (int)slot - 1;
    device->most_reserved = replay->reserved.most[slot].reserved;
    device->iterations = spans->iterations;
    device->growth = mt_spans_growth(spans);
    device->sample = replay->samples.last[slot];
    for (int phase = 0; phase < MT_PHASE_COUNT; phase++)
        device->phase_peak[phase] = mt_spans_most(spans, (enum mt_phase)phase);
}

/* Return a new, zeroed device; NULL: no memory. */
static struct mt_device_figures *add_device(struct mt_figures *figures)
{
    size_t room = figures->n_devices;
    return MT_GROW(figures->devices, room, room) ? NULL : &figures->devices[figures->n_devices++];
}

void mt_figures_clear(struct mt_figures *figures)
{
    free(figures->devices);
    figures->devices = NULL;
    figures->n_devices = 0;
}

static void take_parts(struct mt_by_category *parts, const struct mt_device *device)
{
    for (unsigned i = 0; i < mt_n_categories; i++)
        parts->category[i] = device->category[i].bytes;
    parts->unseen = device->unseen;
}

static int take_end(struct mt_figures *figures, const struct mt_analysis *analysis)
{
    struct mt_ended ended = mt_analysis_ended(analysis);
    take_run(figures, &analysis->replay, &ended);
    for (size_t i = 0; i < analysis->n_devices; i++) {
        const struct mt_device *from = &analysis->devices[i];
        struct mt_device_figures *device = add_device(figures);
        if (!device)
            return -ENOMEM;
        take_device(device, &analysis->replay, mt_device_slot(from->device));
        device->of_cuda = from->of_cuda;
        device->now = from->at;
        device->peak = from->peak;
        take_parts(&device->at_now, from);
    }
    return 0;
}

/* Read the peak. A trace that is being written may have more devices by now. */
static int take_peak(struct mt_figures *figures, const struct mt_analysis *analysis)
{
    for (size_t i = 0; i < analysis->n_devices; i++)
        for (size_t j = 0; j < figures->n_devices; j++) {
            struct mt_device_figures *device = &figures->devices[j];
            if (device->device != analysis->devices[i].device)
                continue;
            device->peak = analysis->devices[i].peak;
            device->has_peak_parts = true;
            take_parts(&device->at_peak, &analysis->devices[i]);
        }
    return 0;
}

int mt_figures_read(struct mt_figures *figures, const char *path, const struct mt_user_rules *rules,
                    struct mt_trace_error *fault)
{
    static const struct {
        enum mt_moment_kind kind;
        int (*take)(struct mt_figures *figures, const struct mt_analysis *analysis);
    } passes[] = {{MT_AT_END, take_end}, {MT_AT_PEAK, take_peak}};
    int rc = 0;
    memset(figures, 0, sizeof *figures);
    figures->path = path;
    for (size_t i = 0; i < sizeof passes / sizeof *passes && !rc; i++) {
        struct mt_analysis analysis;
        const struct mt_question question = {
            .moment.kind = passes[i].kind, .rules = rules, .folds_spans = true};
        rc = mt_analysis_create(&analysis, path, &question);
        if (!rc)
            rc = passes[i].take(figures, &analysis);
        *fault = analysis.fault;
        mt_analysis_destroy(&analysis);
    }
    return rc;
}

static void add_live(struct mt_by_category *parts, const struct mt_inspection *live)
{
    memcpy(parts->category, live->category, sizeof live->category);
    parts->unseen = live->unseen;
}

static int follow_device(struct mt_device_figures *device, struct mt_replay *replay, unsigned slot)
{
    struct mt_inspection live;
    if (!device)
        return -ENOMEM;
    int rc = mt_inspect_device(&live, replay, slot);
    mt_spans_number(&replay->spans[slot], true);
    take_device(device, replay, slot);
    device->of_cuda = live.of_cuda;
    device->now = live.now;
    device->peak = live.peak;
    add_live(&device->at_now, &live);
    mt_inspection_clear(&live);
    if (rc)
        return rc;
    rc = mt_inspect_peak(&live, replay, slot);
    device->has_peak_parts = true;
    add_live(&device->at_peak, &live);
    mt_inspection_clear(&live);
    return rc;
}

int mt_figures_follow(struct mt_figures *figures, struct mt_followed *trace)
{
    struct mt_replay *replay = mt_follow_replay(trace->follow);
    struct mt_ended ended = mt_follow_ended(trace->follow);
    memset(figures, 0, sizeof *figures);
    figures->path = trace->path;
    take_run(figures, replay, &ended);
    int rc = mt_followed_define(trace);
    for (unsigned slot = 0; slot < MT_DEVICES && !rc; slot++)
        if (mt_inspect_is_used(replay, slot))
            rc = follow_device(add_device(figures), replay, slot);
    return rc;
}
