/* SPDX-License-Identifier: Apache-2.0 */
/* Tables with few rows: categories, phases, ranks. */
#include "analyzer/trace/definitions.h"
#include "source.h"

#include <stdlib.h>

int mt_put_categories(struct mt_moment_rows *self, struct mt_columns *columns)
{
    for (size_t i = 0; i < self->analyzed->analysis.n_devices; i++) {
        const struct mt_device *device = &self->analyzed->analysis.devices[i];
        for (unsigned category = 0; category < mt_n_categories; category++) {
            if (!mt_columns_row(columns))
                return 0;
            mt_rows_put_rank(&self->rows, columns, MT_CATEGORIES_RANK);
            mt_rows_put_device(columns, MT_CATEGORIES_DEVICE, device->device);
            mt_rows_put_level(columns, MT_CATEGORIES_LEVEL, device->of_cuda);
            mt_rows_put_category(columns, MT_CATEGORIES_CATEGORY, category);
            mt_columns_put(columns, MT_CATEGORIES_BYTES, (int64_t)device->category[category].bytes);
            mt_columns_put(columns, MT_CATEGORIES_BLOCKS,
                           (int64_t)device->category[category].blocks);
            mt_columns_put(columns, MT_CATEGORIES_TIME_NS, (int64_t)device->at.time_ns);
            mt_columns_put(columns, MT_CATEGORIES_EVENT, (int64_t)device->at.event);
        }
    }
    return 0;
}

static void put_phase(const struct mt_rows *rows, struct mt_columns *columns,
                      const struct mt_device *device, const struct mt_span *span)
{
    if (!mt_columns_row(columns))
        return;
    mt_rows_put_rank(rows, columns, MT_PHASES_RANK);
    mt_rows_put_device(columns, MT_PHASES_DEVICE, device->device);
    mt_rows_put_phase(columns, MT_PHASES_PHASE, span->phase);
    mt_columns_put_some(columns, MT_PHASES_ITERATION, span->iteration);
    mt_columns_text(columns, MT_PHASES_PART,
                    mt_span_is_beside(device->spans, span) ? "evaluation" : "run");
    mt_columns_put(columns, MT_PHASES_TIME_NS, (int64_t)span->time_ns);
    mt_columns_put(columns, MT_PHASES_EVENT, (int64_t)span->event);
    mt_columns_put(columns, MT_PHASES_LEAST, (int64_t)span->least);
    mt_columns_put(columns, MT_PHASES_MOST, (int64_t)span->most);
    mt_columns_put(columns, MT_PHASES_MOST_NS, (int64_t)span->most_time_ns);
    mt_columns_put(columns, MT_PHASES_MOST_EVENT, (int64_t)span->most_event);
    mt_columns_put(columns, MT_PHASES_MOST_RESERVED, (int64_t)span->most_reserved);
}

int mt_put_phases(struct mt_moment_rows *self, struct mt_columns *columns)
{
    for (; self->device < self->analyzed->analysis.n_devices; self->device++, self->next = 0) {
        const struct mt_device *device = &self->analyzed->analysis.devices[self->device];
        for (; self->next < device->spans->n; self->next++) {
            if (mt_columns_are_full(columns))
                return 1;
            put_phase(&self->rows, columns, device, &device->spans->span[self->next]);
        }
    }
    return 0;
}

static void put_number(struct mt_columns *columns, unsigned column, const char *text)
{
    if (text && *text)
        mt_columns_put(columns, column, strtoll(text, NULL, 10));
}

static void put_process(const struct mt_moment_rows *self, struct mt_columns *columns)
{
    const struct mt_replay *replay = &self->analyzed->analysis.replay;
    const struct mt_definitions *d = replay->definitions;
    struct mt_ended ended = mt_analysis_ended(&self->analyzed->analysis);
    mt_rows_put_rank(&self->rows, columns, MT_RANKS_RANK);
    put_number(columns, MT_RANKS_WORLD_SIZE, mt_world_size_text(d));
    mt_columns_text(columns, MT_RANKS_PATH, self->rows.path);
    mt_columns_text(columns, MT_RANKS_HOST, mt_info(d, "host"));
    put_number(columns, MT_RANKS_PID, mt_info(d, "pid"));
    mt_columns_text(columns, MT_RANKS_COMMAND, mt_info(d, "command"));
    mt_columns_text(columns, MT_RANKS_TORCH, mt_info(d, "torch"));
    mt_columns_text(columns, MT_RANKS_ENDED, mt_ended_name(ended.how));
    mt_columns_put(columns, MT_RANKS_EVENTS, (int64_t)replay->survey.events);
    mt_columns_put(columns, MT_RANKS_LOST, (int64_t)mt_survey_lost(&replay->survey));
    mt_columns_put(columns, MT_RANKS_LENGTH_NS, (int64_t)mt_survey_length_ns(&replay->survey));
    put_number(columns, MT_RANKS_STARTED_UNIX_NS, mt_info(d, "start_realtime_ns"));
    put_number(columns, MT_RANKS_STANDS_FOR, mt_stands_for_text(d));
}

/* Write how near the device is to being full, and what grows. */
static void put_room(const struct mt_replay *replay, struct mt_columns *columns,
                     const struct mt_device *device)
{
    unsigned slot = mt_device_slot(device->device);
    const struct mt_balance *balance = &device->balance;
    if (!device->of_cuda)
        mt_columns_put(columns, MT_RANKS_MOST_RESERVED,
                       (int64_t)replay->reserved.most[slot].reserved);
    mt_columns_put_some(columns, MT_RANKS_MEMORY, (int64_t)replay->samples.last[slot].total);
    if (balance->known && balance->used >= balance->pytorch)
        mt_columns_put(columns, MT_RANKS_OUTSIDE, (int64_t)(balance->used - balance->pytorch));
    mt_columns_put(columns, MT_RANKS_GROWTH, (int64_t)device->growth.per_iteration);
}

static void put_peak(struct mt_columns *columns, const struct mt_device *device)
{
    mt_rows_put_device(columns, MT_RANKS_DEVICE, device->device);
    mt_rows_put_level(columns, MT_RANKS_LEVEL, device->of_cuda);
    mt_columns_put(columns, MT_RANKS_PEAK, (int64_t)device->peak.allocated);
    mt_columns_put(columns, MT_RANKS_PEAK_NS, (int64_t)device->peak.time_ns);
    mt_columns_put(columns, MT_RANKS_PEAK_EVENT, (int64_t)device->peak.event);
    mt_columns_put(columns, MT_RANKS_ITERATIONS, device->spans->iterations);
    if (!device->of_cuda)
        mt_columns_put(columns, MT_RANKS_PEAK_RESERVED, (int64_t)device->peak.reserved);
    if (!device->span)
        return;
    mt_rows_put_phase(columns, MT_RANKS_PEAK_PHASE, device->span->phase);
    mt_columns_put_some(columns, MT_RANKS_PEAK_ITERATION, device->span->iteration);
}

int mt_put_ranks(struct mt_moment_rows *self, struct mt_columns *columns)
{
    size_t n = self->analyzed->analysis.n_devices;
    for (size_t i = 0; i < (n ? n : 1); i++) {
        if (!mt_columns_row(columns))
            return 0;
        put_process(self, columns);
        if (!n)
            break;
        put_peak(columns, &self->analyzed->analysis.devices[i]);
        put_room(&self->analyzed->analysis.replay, columns, &self->analyzed->analysis.devices[i]);
    }
    return 0;
}
