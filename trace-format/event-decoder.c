/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decode column by column, in stretches of records that stay in the processor's cache: each column
 * has a tight loop. Values that depend on the order between kinds (totals, running nodes) are
 * computed from the stored numbers at a stretch's end.
 */
#include "cuda-apis.h"
#include "decoder.h"

#include <stdbool.h>
#include <string.h>

/* Open the columns. The payload begins with a directory: the number of columns, then the id and
 * size of each. Columns unknown to this version are skipped. */
static int open_columns(struct mt_event_decoder *decoder, struct mt_cursor payload)
{
    uint64_t count, id[256], bytes[256];
    if (mt_cursor_get(&payload, &count) || count > 256)
        return -EINVAL;
    for (uint64_t i = 0; i < count; i++)
        if (mt_cursor_get(&payload, &id[i]) || mt_cursor_get(&payload, &bytes[i]))
            return -EINVAL;
    for (uint64_t i = 0; i < count; i++) {
        if (bytes[i] > (size_t)(payload.end - payload.at))
            return -EINVAL;
        if (id[i] < MT_COLUMNS && decoder->column[id[i]].at)
            return -EINVAL; /* it occurs twice */
        if (id[i] < MT_COLUMNS)
            decoder->column[id[i]] = (struct mt_cursor){payload.at, payload.at + bytes[i]};
        payload.at += bytes[i];
    }
    return 0;
}

/* Return where a stretch continues in a column; a column that is left out is all zeros. */
static struct mt_cursor begin_column(const struct mt_event_decoder *decoder, unsigned column)
{
    static const unsigned char zeros[MT_STRETCH * MT_VARINT_SIZE]; /* roomy */
    const struct mt_cursor *cursor = &decoder->column[column];
    return cursor->at ? *cursor : (struct mt_cursor){zeros, zeros + sizeof zeros};
}

static void end_column(struct mt_event_decoder *decoder, unsigned column, struct mt_cursor cursor)
{
    if (decoder->column[column].at)
        decoder->column[column] = cursor;
}

/* Read eight bytes in native order. (gcc does not turn mt_get64 within an "or" into one load.) */
static inline uint64_t eight(const unsigned char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* Return whether each of n bytes is below a limit, which is at most 128. */
static bool are_below(const unsigned char *at, unsigned n, unsigned limit)
{
    const uint64_t ones = 0x0101010101010101u;
    uint64_t any = 0, more = ones * (128 - limit);
    for (; n >= 8; n -= 8, at += 8)
        any |= eight(at) | ((eight(at) & ones * 127) + more);
    for (; n; n--, at++)
        any |= *at | ((*at & 127u) + (128 - limit));
    return !(any & ones * 128);
}

/* Return whether the next n values have one byte each, as in most columns. */
static bool all_are_bytes(struct mt_cursor cursor, unsigned n)
{
    return (size_t)(cursor.end - cursor.at) >= n && are_below(cursor.at, n, 128);
}

/* Return whether n values of any length lie within a column. */
static bool is_roomy(struct mt_cursor cursor, unsigned n)
{
    return (size_t)(cursor.end - cursor.at) >= (size_t)n * MT_VARINT_SIZE;
}

/* Read the next value. roomy: is_roomy was true for the column. */
static inline __attribute__((always_inline)) bool read_value(struct mt_cursor *cursor, int roomy,
                                                             uint64_t *value)
{
    const unsigned char *next = roomy ? mt_varint_get_quickly(cursor->at, value)
                                      : mt_varint_get_slowly(cursor->at, cursor->end, value);
    cursor->at = next;
    return !next;
}

typedef void put_value(struct mt_event *event, uint64_t value);

static inline void put_thread(struct mt_event *event, uint64_t value)
{
    event->thread = (uint32_t)value;
}

static inline void put_stack(struct mt_event *event, uint64_t value)
{
    event->stack = (uint32_t)value;
}

static inline void put_device(struct mt_event *event, uint64_t value)
{
    event->device = (int16_t)(value - 1);
}

static inline void put_time(struct mt_event *event, uint64_t value)
{
    event->time_ns = value;
}

/* Read a column's next value for each record of the stretch. limit is the highest allowed, 2^k - 1
 * and at least 127. Inline, so that each column has its own loop. */
static inline __attribute__((always_inline)) int
read_values(struct mt_event_decoder *decoder, unsigned column, uint64_t limit, put_value *put)
{
    struct mt_cursor cursor = begin_column(decoder, column);
    struct mt_event *events = decoder->events;
    unsigned n = decoder->n_events;
    uint64_t any = 0, value;
    int roomy = is_roomy(cursor, n);
    if (all_are_bytes(cursor, n)) {
#pragma GCC unroll 8
        for (unsigned i = 0; i < n; i++)
            put(&events[i], cursor.at[i]);
        cursor.at += n;
    } else {
        for (unsigned i = 0; i < n; i++) {
            if (roomy ? read_value(&cursor, 1, &value) : read_value(&cursor, 0, &value))
                return -EINVAL;
            any |= value;
            put(&events[i], value);
        }
    }
    end_column(decoder, column, cursor);
    return any > limit ? -EINVAL : 0;
}

static void put_kind(struct mt_event_decoder *decoder, unsigned kind, unsigned half, unsigned i)
{
    decoder->events[i].kind = (uint16_t)kind;
    decoder->by_kind[kind][half][decoder->n_of_kind[kind][half]++] = (uint16_t)i;
}

static int read_kinds(struct mt_event_decoder *decoder)
{
    struct mt_cursor *kinds = &decoder->column[MT_COLUMN_KIND];
    unsigned n = decoder->n_events, half = n / 2;
    const unsigned char *at = kinds->at;
    if ((size_t)(kinds->end - at) < n || !are_below(at, n, MT_KIND_LIMIT))
        return -EINVAL;
    memset(decoder->n_of_kind, 0, sizeof decoder->n_of_kind);
    for (unsigned i = 0; i < half; i++) {
        put_kind(decoder, at[i], 0, i);
        put_kind(decoder, at[half + i], 1, half + i);
    }
    if (n % 2)
        put_kind(decoder, at[n - 1], 1, n - 1);
    for (unsigned kind = 0; kind < MT_KIND_LIMIT; kind++)
        if ((decoder->n_of_kind[kind][0] || decoder->n_of_kind[kind][1]) && !mt_kinds[kind].name)
            return -EINVAL;
    kinds->at += n;
    return 0;
}

/* Read the ns since the previous record: its lowest byte and the rest, together in version 1. */
static int read_times(struct mt_event_decoder *decoder)
{
    static const unsigned char zeros[MT_STRETCH];
    unsigned n = decoder->n_events, shift = decoder->version < 2 ? 0 : 8;
    struct mt_cursor *column = &decoder->column[MT_COLUMN_TIME];
    const unsigned char *low = zeros;
    if (read_values(decoder, shift ? MT_COLUMN_TIME_HIGH : MT_COLUMN_TIME, UINT64_MAX >> shift,
                    put_time))
        return -EINVAL;
    if (shift && column->at) {
        if ((size_t)(column->end - column->at) < n)
            return -EINVAL;
        low = column->at;
        column->at += n;
    }
    uint64_t time_ns = decoder->time_ns;
    for (unsigned i = 0; i < n; i++)
        decoder->events[i].time_ns = time_ns += decoder->events[i].time_ns << shift | low[i];
    decoder->time_ns = time_ns;
    return 0;
}

/* Read the columns that all kinds have. */
static int read_common(struct mt_event_decoder *decoder)
{
    return read_times(decoder) || read_values(decoder, MT_COLUMN_THREAD, UINT32_MAX, put_thread) ||
                   read_values(decoder, MT_COLUMN_DEVICE, INT16_MAX, put_device) ||
                   read_values(decoder, MT_COLUMN_STACK, UINT32_MAX, put_stack)
               ? -EINVAL
               : 0;
}

/* Read all arguments of a kind's records, as stored if their codes use other kinds. Fields of a
 * record are read side by side so that the columns do not wait for each other. Inline, so that each
 * number of fields has its own loop. */
static inline __attribute__((always_inline)) int
take_fields(struct mt_event_decoder *decoder, unsigned kind, unsigned n_fields, int roomy)
{
    uint64_t *last = decoder->predictor.last[kind];
    uint64_t is_delta[MT_EVENT_ARGS];
    struct mt_cursor column[MT_EVENT_ARGS];
    for (unsigned field = 0; field < n_fields; field++) {
        column[field] = begin_column(decoder, mt_arg_column(kind, field));
        is_delta[field] = decoder->code[kind][field] == MT_CODE_DELTA;
    }
    for (unsigned half = 0; half < 2; half++) {
        const uint16_t *index = decoder->by_kind[kind][half];
        for (unsigned i = 0, n = decoder->n_of_kind[kind][half]; i < n; i++) {
            uint64_t *arg = decoder->events[index[i]].arg;
#pragma GCC unroll 4
            for (unsigned field = 0; field < n_fields; field++) {
                uint64_t value;
                if (read_value(&column[field], roomy, &value))
                    return -EINVAL;
                if (is_delta[field])
                    value = last[field] += mt_unzigzag(value);
                arg[field] = value;
            }
#pragma GCC unroll 4
            for (unsigned field = n_fields; field < MT_EVENT_ARGS; field++)
                arg[field] = 0;
        }
    }
    for (unsigned field = 0; field < n_fields; field++)
        end_column(decoder, mt_arg_column(kind, field), column[field]);
    return 0;
}

static int take_arguments_of(struct mt_event_decoder *decoder, unsigned kind, unsigned n)
{
    unsigned n_fields = mt_kind_fields[kind];
    while (n_fields && !decoder->column[mt_arg_column(kind, n_fields - 1)].at)
        n_fields--; /* columns left out are all zeros, mostly totals */
    int roomy = 1;
    for (unsigned field = 0; field < n_fields; field++)
        roomy &= is_roomy(begin_column(decoder, mt_arg_column(kind, field)), n);
    switch (n_fields) {
    case 1:
        return roomy ? take_fields(decoder, kind, 1, 1) : take_fields(decoder, kind, 1, 0);
    case 2:
        return roomy ? take_fields(decoder, kind, 2, 1) : take_fields(decoder, kind, 2, 0);
    case 3:
        return roomy ? take_fields(decoder, kind, 3, 1) : take_fields(decoder, kind, 3, 0);
    case 4:
        return roomy ? take_fields(decoder, kind, 4, 1) : take_fields(decoder, kind, 4, 0);
    }
    return take_fields(decoder, kind, 0, 0);
}

static int take_arguments(struct mt_event_decoder *decoder)
{
    for (unsigned kind = 0; kind < MT_KIND_LIMIT; kind++) {
        unsigned n = decoder->n_of_kind[kind][0] + decoder->n_of_kind[kind][1];
        if (n && take_arguments_of(decoder, kind, n))
            return -EINVAL;
    }
    return 0;
}

static bool looks_at_others(enum mt_code code)
{
    return code != MT_CODE_PLAIN && code != MT_CODE_DELTA;
}

/* Find the codes. A kind's fields whose codes use other kinds are consecutive. */
static void find_codes(struct mt_event_decoder *decoder)
{
    for (unsigned kind = 0; kind < MT_KIND_LIMIT; kind++)
        for (unsigned field = 0; field < mt_kind_fields[kind]; field++) {
            enum mt_code code = mt_code_of(decoder->version, kind, field);
            decoder->code[kind][field] = (uint8_t)code;
            if (!looks_at_others(code))
                continue;
            if (!decoder->ordered[kind].end)
                decoder->ordered[kind].begin = (uint8_t)field;
            decoder->ordered[kind].end = (uint8_t)(field + 1);
        }
}

/* Predict totals as mt_predicted does, for the two most frequent kinds. */
static void follow_totals(struct mt_predictor *predictor, struct mt_event *event)
{
    unsigned device = (uint16_t)event->device % MT_DEVICE_SLOTS;
    uint64_t change = event->kind == MT_ALLOC ? event->ALLOC.size : -event->FREE.size;
    event->ALLOC.allocated = predictor->allocated[device] +=
        change + mt_unzigzag(event->ALLOC.allocated);
    event->ALLOC.reserved = predictor->reserved[device] += mt_unzigzag(event->ALLOC.reserved);
}

/* Find the node that runs. */
static void follow_node(struct mt_predictor *predictor, struct mt_event *event)
{
    uint64_t number = mt_exchange_pending(predictor, event->NODE_BEGIN.node);
    event->NODE_BEGIN.node = predictor->met + mt_unzigzag(number);
    mt_run_pending(predictor, event);
}

static void follow_order(struct mt_event_decoder *decoder)
{
    for (unsigned i = 0; i < decoder->n_events; i++) {
        struct mt_event *event = &decoder->events[i];
        if (event->kind == MT_ALLOC || event->kind == MT_FREE) {
            follow_totals(&decoder->predictor, event);
            continue;
        }
        if (event->kind == MT_NODE_NEW)
            mt_add_pending(&decoder->predictor, event->NODE_NEW.node);
        unsigned end = decoder->ordered[event->kind].end;
        for (unsigned field = decoder->ordered[event->kind].begin; field < end; field++) {
            enum mt_code code = (enum mt_code)decoder->code[event->kind][field];
            if (code == MT_CODE_PENDING) {
                follow_node(&decoder->predictor, event);
                continue;
            }
            event->arg[field] = *mt_predicted(&decoder->predictor, event, field, code) +=
                mt_unzigzag(event->arg[field]);
        }
    }
}

/* Set the API of version 1, which knows cudaMalloc (number 0) and cudaFree only. */
static void set_apis(struct mt_event_decoder *decoder)
{
    for (unsigned i = 0; i < decoder->n_events; i++) {
        struct mt_event *event = &decoder->events[i];
        if (event->kind == MT_CUDA_FREE)
            event->CUDA_FREE.api = MT_API_CUDA_FREE;
        else if (event->kind == MT_CUDA_FREE_FAILED)
            event->CUDA_FREE_FAILED.api = MT_API_CUDA_FREE;
    }
}

static int take_stretch(struct mt_event_decoder *decoder, struct mt_event *events, unsigned n)
{
    decoder->events = events;
    decoder->n_events = n;
    if (read_kinds(decoder) || read_common(decoder) || take_arguments(decoder))
        return -EINVAL;
    follow_order(decoder);
    if (decoder->version < 2)
        set_apis(decoder);
    return 0;
}

int mt_decode_events_begin(struct mt_event_decoder *decoder, const unsigned char *raw, size_t size,
                           unsigned version, uint64_t base_time_ns)
{
    memset(decoder, 0, offsetof(struct mt_event_decoder, events));
    decoder->version = version;
    decoder->time_ns = base_time_ns;
    if (open_columns(decoder, (struct mt_cursor){raw, raw + size}))
        return -EINVAL;
    find_codes(decoder);
    return 0;
}

int mt_decode_events(struct mt_event_decoder *decoder, size_t records, struct mt_event *out)
{
    for (size_t done = 0; done < records; done += decoder->n_events)
        if (take_stretch(decoder, out + done,
                         records - done < MT_STRETCH ? (unsigned)(records - done) : MT_STRETCH))
            return -EINVAL;
    return 0;
}
