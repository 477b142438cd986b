/* SPDX-License-Identifier: Apache-2.0 */
/* speedscope's JSON: for each device of each trace a profile whose samples are stacks, and weights
 * bytes. */
#include "analyzer/findings/job.h"
#include "analyzer/query/texts.h"
#include "analyzer/support/by-id.h"
#include "analyzer/support/text.h"
#include "shares.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct speedscope {
    struct mt_sink *sink;
    struct mt_sink *frame;  /* room for one */
    struct mt_texts frames; /* each as its JSON */
    struct mt_by_id found;  /* of this trace, frames' ids in frames + 1 */
    bool has_profile;
};

/* Set the frame's place among all. (Names are at most MT_TEXT_LIMIT bytes: they fit a sink.) */
static int place_frame(struct speedscope *to, const char *name, const char *file, uint32_t line,
                       uint32_t *place)
{
    struct mt_sink *sink = to->frame;
    sink->used = 0;
    mt_sink_text(sink, "{\"name\":");
    mt_sink_json(sink, name);
    if (file) {
        mt_sink_text(sink, ",\"file\":");
        mt_sink_json(sink, file);
    }
    if (line) {
        mt_sink_text(sink, ",\"line\":");
        mt_sink_number(sink, line);
    }
    mt_sink_put(sink, "}", 2); /* with its end */
    return mt_texts_add(&to->frames, (const char *)sink->room, place);
}

/* Find the place of a frame of the trace. Its texts are interned only once. */
static int place_of(struct speedscope *to, const struct mt_definitions *d, uint32_t id,
                    uint32_t *place)
{
    uint32_t *found = mt_by_id(&to->found, id);
    if (!*found || !mt_by_id_has(&to->found, id)) {
        const struct mt_frame *frame = mt_named_frame(d, id);
        int rc = place_frame(to, frame->function, strcmp(frame->file, "?") ? frame->file : NULL,
                             frame->line, place);
        if (rc)
            return rc;
        *found = *place + 1;
    }
    *place = *found - 1;
    return 0;
}

/* Write the stack, from the outermost frame (the category) inwards. */
static int put_stack(struct speedscope *to, const struct mt_definitions *d,
                     const struct mt_sum *share)
{
    uint32_t stack = share->key[MT_SHARE_STACK], depth = mt_stack(d, stack)->depth, place;
    uint32_t *places = calloc((size_t)depth + 1, sizeof *places);
    int rc = places ? place_frame(to, mt_categories[share->key[MT_SHARE_CATEGORY]].label, NULL, 0,
                                  places)
                    : -ENOMEM;
    for (uint32_t i = depth; i > 0 && !rc; i--, stack = mt_stack(d, stack)->parent) {
        rc = place_of(to, d, mt_stack(d, stack)->frame, &place);
        places[i] = place;
    }
    for (uint32_t i = 0; i <= depth && !rc; i++) {
        mt_sink_byte(to->sink, i ? ',' : '[');
        mt_sink_number(to->sink, places[i]);
    }
    mt_sink_byte(to->sink, ']');
    free(places);
    return rc;
}

static void put_head(struct speedscope *to, const struct mt_analysis *analysis,
                     const struct mt_device *device, const char *path)
{
    char name[64], device_name[MT_SIZE_TEXT];
    long rank = mt_rank(analysis);
    const char *slash = strrchr(path, '/');
    mt_sink_text(to->sink, to->has_profile ? "," : "");
    mt_sink_text(to->sink, "{\"type\":\"sampled\",\"unit\":\"bytes\",\"startValue\":0,\"name\":");
    to->has_profile = true;
    char *whole = NULL;
    snprintf(name, sizeof name, rank >= 0 ? "rank %ld, " : "", rank);
    if (asprintf(&whole, "%s%s of %s", name, mt_device_text(device_name, device->device),
                 slash ? slash + 1 : path) < 0)
        whole = NULL;
    mt_sink_json(to->sink, whole ? whole : device_name);
    free(whole);
}

static int put_device(struct speedscope *to, const struct mt_analysis *analysis,
                      const struct mt_device *device, const char *path)
{
    struct mt_sums shares;
    uint64_t bytes = 0;
    int rc = mt_live_shares(&shares, analysis, device);
    put_head(to, analysis, device, path);
    mt_sink_text(to->sink, ",\"samples\":[");
    for (size_t i = 0; i < shares.n && !rc; i++) {
        mt_sink_text(to->sink, i ? "," : "");
        rc = put_stack(to, analysis->replay.definitions, &shares.sum[i]);
    }
    mt_sink_text(to->sink, "],\"weights\":[");
    for (size_t i = 0; i < shares.n && !rc; i++) {
        mt_sink_text(to->sink, i ? "," : "");
        mt_sink_number(to->sink, (int64_t)shares.sum[i].bytes);
        bytes += shares.sum[i].bytes;
    }
    mt_sink_text(to->sink, "],\"endValue\":");
    mt_sink_number(to->sink, (int64_t)bytes);
    mt_sink_byte(to->sink, '}');
    mt_sums_clear(&shares);
    return rc;
}

static int show(void *data, const struct mt_analysis *analysis, const char *path)
{
    struct speedscope *to = data;
    mt_by_id_clear(&to->found);
    int rc = mt_by_id_make(&to->found, mt_definitions_frame_limit(analysis->replay.definitions),
                           sizeof(uint32_t));
    for (size_t i = 0; i < analysis->n_devices && !rc; i++)
        rc = put_device(to, analysis, &analysis->devices[i], path);
    return rc;
}

int mt_export_speedscope(const struct mt_export *export, struct mt_sink *sink,
                         struct mt_export_error *error)
{
    struct speedscope to = {.sink = sink, .frame = calloc(1, sizeof *to.frame)};
    if (!to.frame)
        return -ENOMEM;
    mt_sink_text(sink, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                       "\"exporter\":\"memtap\",\"profiles\":[");
    int rc = mt_export_each(export, show, &to, error);
    mt_sink_text(sink, "],\"shared\":{\"frames\":[");
    for (size_t i = 0; i < to.frames.n; i++) {
        mt_sink_text(sink, i ? "," : "");
        mt_sink_text(sink, to.frames.text[i]);
    }
    mt_sink_text(sink, "]}}\n");
    mt_texts_clear(&to.frames);
    mt_by_id_clear(&to.found);
    free(to.frame);
    return rc;
}
