/* SPDX-License-Identifier: Apache-2.0 */
/* Decode a block's payload into records. Pure functions, safe on untrusted input. */
#ifndef MT_TRACE_DECODER_H
#define MT_TRACE_DECODER_H

#include "columns.h"
#include "varint.h"

#define MT_STRETCH 512u

/* The state between the records of an event block. For the decoder only. */
struct mt_event_decoder {
    struct mt_cursor column[MT_COLUMNS];
    unsigned version;
    struct mt_predictor predictor;
    uint64_t time_ns;                           /* of the last record */
    uint8_t code[MT_KIND_LIMIT][MT_EVENT_ARGS]; /* enum mt_code, in this version */
    struct {
        uint8_t begin, end;
    } ordered[MT_KIND_LIMIT]; /* fields whose codes use records of other kinds */
    /* the current stretch */
    struct mt_event *events;
    unsigned n_events;
    /* The records of each kind, one list for each half of the stretch: filling both at once halves
     * the wait for the counts. */
    unsigned n_of_kind[MT_KIND_LIMIT][2];
    uint16_t by_kind[MT_KIND_LIMIT][2][MT_STRETCH / 2];
};

/* mt_decode_events_begin starts on an event block's raw payload, which must outlive the decoder;
 * version is the file's. mt_decode_events decodes the next `records` records into `out`; multiples
 * of MT_STRETCH are fastest. Both return 0, or -EINVAL if the bytes are invalid. */
int mt_decode_events_begin(struct mt_event_decoder *decoder, const unsigned char *raw, size_t size,
                           unsigned version, uint64_t base_time_ns);
int mt_decode_events(struct mt_event_decoder *decoder, size_t records, struct mt_event *out);

/* Decode exactly `records` records of the raw payload into `out`. Return 0, or -EINVAL if the bytes
 * are invalid. The texts of definitions point into raw. */
int mt_decode_definitions(const unsigned char *raw, size_t size, size_t records,
                          struct mt_definition *out);

/* Decode the definition at *at and advance *at past it. */
int mt_decode_definition(const unsigned char **at, const unsigned char *end,
                         struct mt_definition *out);
int mt_decode_end(const unsigned char *raw, size_t size, struct mt_end *out);

#endif
