/* SPDX-License-Identifier: Apache-2.0 */
/* pprof's profile.proto, gzipped: what is live at a moment, by stack, with labels. */
#include "analyzer/findings/inspect.h"
#include "analyzer/findings/job.h"
#include "analyzer/query/texts.h"
#include "analyzer/support/by-id.h"
#include "analyzer/support/demangle.h"
#include "exchange/encode/proto.h"
#include "shares.h"
#include "trace-format/safe-text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

/* Fields of its messages. */
enum {
    SAMPLE_TYPE = 1,
    SAMPLE = 2,
    MAPPING = 3,
    LOCATION = 4,
    FUNCTION = 5,
    STRING = 6,
    TIME = 9,
    DEFAULT = 14
};
enum { MAPPING_FILE = 5, MAPPING_HAS_NAMES = 7, MAPPING_HAS_LINES = 9 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_TEXT = 2, LABEL_NUMBER = 3 };

struct pprof {
    struct mt_proto proto;
    struct mt_texts strings;   /* the first is "" */
    struct mt_texts functions; /* "name place, file place" */
    struct mt_texts locations; /* "function place, line" */
    struct mt_by_id found;     /* of this trace, frames' ids in locations */
    uint32_t program;          /* a string; 0: none yet */
    int rc;
};

static uint32_t place(struct pprof *to, struct mt_texts *texts, const char *text)
{
    uint32_t index = 0;
    if (mt_texts_add(texts, text, &index))
        to->rc = -ENOMEM;
    return index;
}

/* Intern a text, made safe: pprof prints texts to terminals as they are. */
static uint32_t string(struct pprof *to, const char *text)
{
    char *safe = strdup(text);
    uint32_t index = 0;
    if (safe) {
        mt_safe_in_place(safe, true);
        index = place(to, &to->strings, safe);
    } else {
        to->rc = -ENOMEM;
    }
    free(safe);
    return index;
}

/* Return a location's id, from 1. */
static uint32_t location(struct pprof *to, const struct mt_frame *frame)
{
    char key[64];
    snprintf(key, sizeof key, "%u %u", string(to, frame->function),
             string(to, strcmp(frame->file, "?") ? frame->file : ""));
    uint32_t function = place(to, &to->functions, key);
    snprintf(key, sizeof key, "%u %u", function + 1, frame->line);
    return place(to, &to->locations, key) + 1;
}

/* Return the location of a frame of the trace. Its texts are interned only once. */
static uint32_t location_of(struct pprof *to, const struct mt_definitions *d, uint32_t frame)
{
    uint32_t *found = mt_by_id(&to->found, frame);
    if (!*found || !mt_by_id_has(&to->found, frame))
        *found = location(to, mt_named_frame(d, frame));
    return *found;
}

static void label(struct pprof *to, const char *key, const char *text)
{
    if (!*text || !strcmp(text, "?"))
        return;
    uint32_t key_place = string(to, key), text_place = string(to, text);
    size_t begin = mt_proto_begin(&to->proto, SAMPLE_LABEL);
    mt_proto_number(&to->proto, LABEL_KEY, key_place);
    mt_proto_number(&to->proto, LABEL_TEXT, text_place);
    mt_proto_end(&to->proto, begin);
}

static void number_label(struct pprof *to, const char *key, long number)
{
    if (number < 0)
        return;
    uint32_t key_place = string(to, key);
    size_t begin = mt_proto_begin(&to->proto, SAMPLE_LABEL);
    mt_proto_number(&to->proto, LABEL_KEY, key_place);
    mt_proto_number(&to->proto, LABEL_NUMBER, (uint64_t)number);
    mt_proto_end(&to->proto, begin);
}

static void put_sample(struct pprof *to, const struct mt_definitions *d, int device,
                       const struct mt_sum *share)
{
    const uint32_t *key = share->key;
    char operator[256] = "";
    if (key[MT_SHARE_OPERATOR])
        mt_short_type_name(mt_string(d, key[MT_SHARE_OPERATOR]), operator, sizeof operator);
    size_t begin = mt_proto_begin(&to->proto, SAMPLE);
    size_t ids = mt_proto_begin(&to->proto, SAMPLE_LOCATION);
    if (!mt_stack(d, key[MT_SHARE_STACK])->depth) /* otherwise pprof does not show it anywhere */
        mt_proto_varint(&to->proto,
                        location(to, &(struct mt_frame){.function = "(no stack)", .file = "?"}));
    for (uint32_t stack = key[MT_SHARE_STACK]; mt_stack(d, stack)->depth;
         stack = mt_stack(d, stack)->parent)
        mt_proto_varint(&to->proto, location_of(to, d, mt_stack(d, stack)->frame));
    mt_proto_end(&to->proto, ids);
    size_t values = mt_proto_begin(&to->proto, SAMPLE_VALUE);
    mt_proto_varint(&to->proto, share->blocks);
    mt_proto_varint(&to->proto, share->bytes);
    mt_proto_end(&to->proto, values);
    label(to, "category", mt_categories[key[MT_SHARE_CATEGORY]].name);
    label(to, "phase", mt_phase_names[key[MT_SHARE_PHASE]].name);
    label(to, "module", mt_stack_module(d, key[MT_SHARE_MODULE]));
    label(to, "operator", operator);
    number_label(to, "device", device);
    number_label(to, "rank", mt_rank_in(d));
    mt_proto_end(&to->proto, begin);
}

/* Begin with a trace's samples. */
static void begin_trace(struct pprof *to, const struct mt_definitions *d)
{
    const char *command = mt_info(d, "command");
    if (!to->program)
        to->program = string(to, command && *command ? command : "memtap");
    mt_by_id_clear(&to->found);
    if (mt_by_id_make(&to->found, mt_definitions_frame_limit(d), sizeof(uint32_t)))
        to->rc = -ENOMEM;
}

static void put_shares(struct pprof *to, const struct mt_definitions *d, int device,
                       const struct mt_sums *shares)
{
    for (size_t i = 0; i < shares->n && !to->rc; i++)
        put_sample(to, d, device, &shares->sum[i]);
}

static int show(void *data, const struct mt_analysis *analysis, const char *path)
{
    struct pprof *to = data;
    (void)path;
    begin_trace(to, analysis->replay.definitions);
    for (size_t i = 0; i < analysis->n_devices && !to->rc; i++) {
        struct mt_sums shares;
        to->rc = mt_live_shares(&shares, analysis, &analysis->devices[i]);
        put_shares(to, analysis->replay.definitions, analysis->devices[i].device, &shares);
        mt_sums_clear(&shares);
    }
    return to->rc;
}

/* The device whose blocks are judged. */
struct now {
    struct pprof *to;
    int device;
};

static int show_now(void *data, const struct mt_naming *naming, const struct mt_verdict *verdicts,
                    size_t n)
{
    const struct now *now = data;
    struct mt_sums shares;
    int rc = mt_shares_of(&shares, naming, verdicts, n);
    if (!rc)
        put_shares(now->to, naming->definitions, now->device, &shares);
    mt_sums_clear(&shares);
    return rc ? rc : now->to->rc;
}

static void put_type(struct pprof *to, const char *type, const char *unit)
{
    uint32_t type_place = string(to, type), unit_place = string(to, unit);
    size_t begin = mt_proto_begin(&to->proto, SAMPLE_TYPE);
    mt_proto_number(&to->proto, 1, type_place);
    mt_proto_number(&to->proto, 2, unit_place);
    mt_proto_end(&to->proto, begin);
}

/* Write one mapping for all locations. pprof's heading names it, and pprof then does not search for
 * the program's symbols. */
static void put_mapping(struct pprof *to)
{
    size_t begin = mt_proto_begin(&to->proto, MAPPING);
    mt_proto_number(&to->proto, 1, 1);
    mt_proto_number(&to->proto, MAPPING_FILE, to->program);
    for (unsigned has = MAPPING_HAS_NAMES; has <= MAPPING_HAS_LINES; has++)
        mt_proto_number(&to->proto, has, 1);
    mt_proto_end(&to->proto, begin);
}

/* Write what samples refer to. */
static void put_definitions(struct pprof *to)
{
    struct mt_proto *proto = &to->proto;
    char *rest;
    put_mapping(to);
    for (size_t i = 0; i < to->locations.n; i++) {
        size_t begin = mt_proto_begin(proto, LOCATION);
        mt_proto_number(proto, 1, i + 1);
        mt_proto_number(proto, 2, 1);
        size_t line = mt_proto_begin(proto, 4);
        mt_proto_number(proto, 1, strtoull(to->locations.text[i], &rest, 10));
        mt_proto_number(proto, 2, strtoull(rest, NULL, 10));
        mt_proto_end(proto, line);
        mt_proto_end(proto, begin);
    }
    for (size_t i = 0; i < to->functions.n; i++) {
        size_t begin = mt_proto_begin(proto, FUNCTION);
        uint64_t name = strtoull(to->functions.text[i], &rest, 10);
        mt_proto_number(proto, 1, i + 1);
        mt_proto_number(proto, 2, name);
        mt_proto_number(proto, 3, name);
        mt_proto_number(proto, 4, strtoull(rest, NULL, 10));
        mt_proto_end(proto, begin);
    }
    for (size_t i = 0; i < to->strings.n; i++)
        mt_proto_text(proto, STRING, to->strings.text[i]);
}

static int put_gzipped(struct mt_sink *sink, const struct mt_proto *proto)
{
    z_stream stream = {.next_in = proto->bytes, .avail_in = (uInt)proto->n};
    if (proto->n > UINT32_MAX)
        return -EFBIG;
    if (deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return -ENOMEM;
    unsigned char out[16384];
    int rc = Z_OK;
    while (rc != Z_STREAM_END) {
        stream.next_out = out;
        stream.avail_out = sizeof out;
        rc = deflate(&stream, Z_FINISH);
        mt_sink_put(sink, out, sizeof out - stream.avail_out);
    }
    deflateEnd(&stream);
    return 0;
}

static void begin(struct pprof *to)
{
    string(to, "");
    put_type(to, "blocks", "count");
    put_type(to, "space", "bytes");
    mt_proto_number(&to->proto, DEFAULT, string(to, "space"));
}

/* Write it all out, unless something has failed before. */
static int end(struct pprof *to, struct mt_sink *sink, int rc)
{
    put_definitions(to);
    if (!rc)
        rc = to->proto.has_no_memory ? -ENOMEM : to->rc;
    if (!rc)
        rc = put_gzipped(sink, &to->proto);
    mt_proto_clear(&to->proto);
    mt_texts_clear(&to->strings);
    mt_texts_clear(&to->functions);
    mt_texts_clear(&to->locations);
    mt_by_id_clear(&to->found);
    return rc;
}

int mt_export_pprof(const struct mt_export *export, struct mt_sink *sink,
                    struct mt_export_error *error)
{
    struct pprof to = {.rc = 0};
    begin(&to);
    return end(&to, sink, mt_export_each(export, show, &to, error));
}

int mt_export_pprof_now(const struct mt_replay *const *replays, size_t n, uint64_t realtime_ns,
                        struct mt_sink *sink)
{
    struct pprof to = {.rc = 0};
    begin(&to);
    mt_proto_number(&to.proto, TIME, realtime_ns);
    for (size_t i = 0; i < n && !to.rc; i++) {
        begin_trace(&to, replays[i]->definitions);
        for (unsigned slot = 0; slot < MT_DEVICES && !to.rc; slot++) {
            struct now now = {&to, (int)slot - 1};
            if (mt_inspect_is_used(replays[i], slot) &&
                (!replays[i]->question.one_device || replays[i]->question.device == now.device))
                to.rc = mt_inspect_blocks(replays[i], slot, show_now, &now);
        }
    }
    return end(&to, sink, 0);
}
