/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block's payload through the decoder: what it takes for records must come back from the encoder
 * and the decoder as it is. The first byte chooses definitions or events and the version, the
 * second is the number of records.
 */
#include "target.h"
#include "trace-format/block.h"
#include "trace-format/decoder.h"
#include "trace-format/encoder.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define MOST 1024u

static unsigned char raw[1 << 22];

/* The payload of the block that was begun. */
static struct mt_block_header finish(struct mt_encoder *encoder)
{
    struct mt_block_header header;
    const unsigned char *block;
    size_t size;
    if (mt_encoder_finish(encoder, &block, &size) ||
        mt_block_header_get(block, &header, MT_FORMAT_VERSION))
        abort();
    const unsigned char *payload = block + MT_BLOCK_HEADER_SIZE;
    if (header.raw_size > sizeof raw)
        abort();
    if (header.codec == MT_CODEC_RAW)
        memcpy(raw, payload, header.raw_size);
    else if (ZSTD_decompress(raw, sizeof raw, payload, header.stored_size) != header.raw_size)
        abort();
    return header;
}

static bool is_same_event(const struct mt_event *a, const struct mt_event *b)
{
    return a->time_ns == b->time_ns && !memcmp(a->arg, b->arg, sizeof a->arg) &&
           a->thread == b->thread && a->stack == b->stack && a->kind == b->kind &&
           a->device == b->device;
}

static void go_round(struct mt_encoder *encoder, const struct mt_event *events, size_t n)
{
    static struct mt_event again[MOST];
    struct mt_event_decoder decoder;
    for (size_t i = 0; i < n; i++)
        if (mt_encoder_event(encoder, &events[i]))
            abort();
    struct mt_block_header header = finish(encoder);
    if (header.records != n ||
        mt_decode_events_begin(&decoder, raw, header.raw_size, MT_FORMAT_VERSION,
                               header.base_time_ns) ||
        mt_decode_events(&decoder, n, again))
        abort();
    for (size_t i = 0; i < n; i++)
        if (!is_same_event(&events[i], &again[i]))
            abort();
}

static void go_round_definitions(struct mt_encoder *encoder, const struct mt_definition *in,
                                 size_t n)
{
    static struct mt_definition again[MOST];
    for (size_t i = 0; i < n; i++)
        if ((in[i].kind == MT_DEF_SUMMARY) != (in[0].kind == MT_DEF_SUMMARY))
            return; /* no block has both */
    for (size_t i = 0; i < n; i++)
        if (mt_encoder_definition(encoder, &in[i]))
            abort();
    struct mt_block_header header = finish(encoder);
    if (header.records != n || mt_decode_definitions(raw, header.raw_size, n, again))
        abort();
    for (size_t i = 0; i < n; i++)
        if (in[i].kind != again[i].kind || in[i].id != again[i].id ||
            memcmp(&in[i].frame, &again[i].frame, sizeof in[i].frame) ||
            in[i].text_size != again[i].text_size ||
            (in[i].text_size && memcmp(in[i].text, again[i].text, in[i].text_size)))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct mt_encoder *encoder;
    static struct mt_event events[MOST];
    static struct mt_definition definitions[MOST];
    static struct mt_event_decoder decoder;
    if (!encoder)
        encoder = mt_encoder_create(1);
    if (!encoder)
        abort();
    if (size < 2)
        return 0;
    size_t n = bytes[1] < 250 ? bytes[1] : (bytes[1] - 249u) * 128;
    const unsigned char *payload = bytes + 2;
    size -= 2;
    if (!n || n > size)
        return 0;
    if (bytes[0] & 1) {
        if (!mt_decode_definitions(payload, size, n, definitions))
            go_round_definitions(encoder, definitions, n);
    } else if (!mt_decode_events_begin(&decoder, payload, size, 1 + (bytes[0] >> 1 & 1),
                                       (uint64_t)(bytes[0] >> 2) << (bytes[0] >> 2)) &&
               !mt_decode_events(&decoder, n, events)) {
        go_round(encoder, events, n);
    }
    return 0;
}
