/* SPDX-License-Identifier: Apache-2.0 */
/* Tables by which many ranks are compared: samples over the run, and what grows. */
#include "analyzer/replay/timeline.h"
#include "source.h"

#include <stdlib.h>

struct sample {
    size_t number;
    uint64_t event;
    const struct mt_timeline_at *at;
    const struct mt_span *span;
};

static void put_sample(const struct mt_rows *rows, struct mt_columns *columns,
                       const struct mt_device *device, const struct sample *sample,
                       unsigned category)
{
    if (!mt_columns_row(columns))
        return;
    mt_rows_put_rank(rows, columns, MT_SAMPLES_RANK);
    mt_rows_put_device(columns, MT_SAMPLES_DEVICE, device->device);
    mt_columns_put(columns, MT_SAMPLES_SAMPLE, (int64_t)sample->number);
    mt_columns_put(columns, MT_SAMPLES_EVENT, (int64_t)sample->event);
    if (sample->span) {
        mt_columns_put(columns, MT_SAMPLES_SPAN_NS, (int64_t)sample->span->time_ns);
        mt_rows_put_phase(columns, MT_SAMPLES_PHASE, sample->span->phase);
    }
    mt_columns_put_some(columns, MT_SAMPLES_ITERATION, sample->at->iterations);
    mt_rows_put_category(columns, MT_SAMPLES_CATEGORY, category);
    mt_columns_put(columns, MT_SAMPLES_BYTES, (int64_t)sample->at->category[category]);
    mt_columns_put(columns, MT_SAMPLES_ALLOCATED, (int64_t)mt_timeline_sum(sample->at));
    if (!device->of_cuda)
        mt_columns_put(columns, MT_SAMPLES_RESERVED, (int64_t)sample->at->reserved);
}

static void put_timeline(const struct mt_rows *rows, struct mt_columns *columns,
                         const struct mt_device *device, struct mt_timeline_at *at)
{
    const struct mt_timeline *timeline = device->timeline;
    size_t points = timeline->points, n = points < MT_TABLES_SAMPLES ? points : MT_TABLES_SAMPLES;
    n = mt_timeline_columns(timeline, 0, points, n, at);
    for (size_t i = 0; i < n; i++) {
        uint64_t event =
            timeline->begin + ((uint64_t)((i * points + n - 1) / n) << timeline->shift);
        struct sample sample = {i, event, &at[i], mt_spans_until(device->spans, event)};
        for (unsigned category = 0; category < mt_n_categories; category++)
            if (at[i].category[category])
                put_sample(rows, columns, device, &sample, category);
    }
}

int mt_put_samples(struct mt_moment_rows *self, struct mt_columns *columns)
{
    struct mt_timeline_at *at = calloc(MT_TABLES_SAMPLES, sizeof *at);
    if (!at) {
        columns->lacks_memory = true;
        return 0;
    }
    for (size_t i = 0; i < self->analyzed->analysis.n_devices; i++)
        if (self->analyzed->analysis.devices[i].timeline &&
            self->analyzed->analysis.devices[i].timeline->change)
            put_timeline(&self->rows, columns, &self->analyzed->analysis.devices[i], at);
    free(at);
    return 0;
}

int mt_put_growth(struct mt_moment_rows *self, struct mt_columns *columns)
{
    const struct mt_definitions *d = self->analyzed->analysis.replay.definitions;
    for (size_t i = 0; i < self->analyzed->analysis.n_devices; i++) {
        const struct mt_device *device = &self->analyzed->analysis.devices[i];
        for (size_t k = 0; k < device->growth.n; k++) {
            const struct mt_growth_site *site = &device->growth.site[k];
            if (!mt_columns_row(columns))
                return 0;
            mt_rows_put_rank(&self->rows, columns, MT_GROWING_RANK);
            mt_rows_put_device(columns, MT_GROWING_DEVICE, device->device);
            mt_rows_put_category(columns, MT_GROWING_CATEGORY, site->category);
            mt_rows_put_frame(columns, MT_GROWING_FUNCTION, d, mt_stack(d, site->line)->frame);
            mt_columns_put(columns, MT_GROWING_ITERATIONS, site->iterations);
            mt_columns_put(columns, MT_GROWING_BYTES, (int64_t)site->bytes);
            mt_columns_text(columns, MT_GROWING_CERTAINTY, mt_certainty_name(site->certainty));
        }
    }
    return 0;
}
