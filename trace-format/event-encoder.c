/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encode column by column, in stretches of events that stay in the processor's cache, as
 * event-decoder.c decodes: each column has a tight loop without branches on the kind. Codes that
 * depend on the order between kinds (totals, running nodes) are computed first, in event order.
 */
#include "columns.h"
#include "encoder.h"

#include <stdlib.h>
#include <string.h>

#define COLUMN_ROOM ((size_t)MT_BLOCK_RECORDS * MT_VARINT_SIZE)

_Static_assert(MT_KIND_LIMIT <= 64, "a bit for each kind");
#define BIT(id, number, name, about, fields) | 1ull << (number)
static const uint64_t known_kinds = 0 MT_EVENT_KINDS(BIT, );
#undef BIT

static const unsigned char codes[MT_KIND_LIMIT][MT_EVENT_ARGS] = {
#define CODE(name, code) MT_CODE_##code,
#define CODES(id, number, name, about, fields) [number] = {fields},
    MT_EVENT_KINDS(CODES, CODE)
#undef CODE
#undef CODES
};

static bool is_ordered(unsigned code)
{
    return code > MT_CODE_DELTA;
}

/* Kinds with codes that use other kinds' events, and node_new, which those use. */
#define OR_ORDERED(name, code) || MT_CODE_##code > MT_CODE_DELTA
#define ORDERED(id, number, name, about, fields) | (uint64_t)(0 fields) << (number)
static const uint64_t ordered_kinds = 1ull << MT_NODE_NEW MT_EVENT_KINDS(ORDERED, OR_ORDERED);
#undef OR_ORDERED
#undef ORDERED

static int make_column(struct mt_column_bytes *column)
{
    if (!column->bytes)
        column->bytes = malloc(COLUMN_ROOM);
    return column->bytes ? 0 : -ENOMEM;
}

/* Create the columns of a kind seen for the first time, and the common ones. */
static int make_columns(struct mt_event_encoder *encoder, unsigned kind)
{
    int rc = 0;
    for (unsigned i = 0; i < MT_COLUMN_COMMON && !rc; i++)
        rc = make_column(&encoder->column[i]);
    for (unsigned i = 0; i < mt_kind_fields[kind] && !rc; i++)
        rc = make_column(&encoder->column[mt_arg_column(kind, i)]);
    if (!rc)
        encoder->kinds |= 1ull << kind;
    return rc;
}

int mt_event_encoder_make(struct mt_event_encoder *encoder, const struct mt_event *events, size_t n)
{
    uint64_t kinds = 0;
    int rc = 0;
    for (size_t i = 0; i < n; i++) {
        if (events[i].kind >= MT_KIND_LIMIT || events[i].device < -1)
            return -EINVAL;
        kinds |= 1ull << events[i].kind;
    }
    if (kinds & ~known_kinds)
        return -EINVAL;
    for (kinds &= ~encoder->kinds; kinds && !rc; kinds &= kinds - 1)
        rc = make_columns(encoder, (unsigned)__builtin_ctzll(kinds));
    return rc;
}

/* Return where the next bytes go, of which at least one is not zero. */
static unsigned char *begin_bytes(struct mt_column_bytes *column)
{
    if (!column->is_written)
        memset(column->bytes, 0, column->used);
    column->is_written = true;
    return column->bytes + column->used;
}

static void put_zeros(struct mt_column_bytes *column, unsigned n)
{
    if (column->is_written)
        memset(column->bytes + column->used, 0, n);
    column->used += n;
}

/* Put the stretch's numbers. any is all of them, joined by "or". */
static void put_numbers(struct mt_event_encoder *encoder, struct mt_column_bytes *column,
                        unsigned n, uint64_t any)
{
    if (!any) {
        put_zeros(column, n);
        return;
    }
    unsigned char *at = begin_bytes(column);
    const uint64_t *number = encoder->number;
    if (any < 0x80)
        for (unsigned i = 0; i < n; i++)
            *at++ = (unsigned char)number[i];
    else if (any < 0x4000)
        for (unsigned i = 0; i < n; i++) {
            unsigned is_more = number[i] > 0x7f;
            at[0] = (unsigned char)((number[i] & 0x7f) | is_more << 7);
            at[1] = (unsigned char)(number[i] >> 7); /* the next number may overwrite it */
            at += 1 + is_more;
        }
    else
        for (unsigned i = 0; i < n; i++)
            at = mt_varint_put_quickly(at, number[i]);
    column->used = (size_t)(at - column->bytes);
}

/* Put one number that all events of the stretch share, as threads and devices mostly do. */
static void put_same(struct mt_event_encoder *encoder, struct mt_column_bytes *column,
                     uint64_t number)
{
    unsigned n = encoder->n_events;
    if (!number) {
        put_zeros(column, n);
    } else if (number < 0x80) {
        memset(begin_bytes(column), (int)number, n);
        column->used += n;
    } else {
        for (unsigned i = 0; i < n; i++)
            encoder->number[i] = number;
        put_numbers(encoder, column, n, number);
    }
}

/* Put a number of each event of the stretch: an expression of `event`. */
#define PUT_EACH(encoder, id, value)                                                               \
    do {                                                                                           \
        const struct mt_event *event = (encoder)->events;                                          \
        const unsigned n = (encoder)->n_events;                                                    \
        uint64_t any = 0;                                                                          \
        for (unsigned i = 0; i < n; i++, event++)                                                  \
            any |= (encoder)->number[i] = (value);                                                 \
        put_numbers(encoder, &(encoder)->column[id], n, any);                                      \
    } while (0)

/* Return the event at a byte offset from another one. */
static inline struct mt_event *event_at(struct mt_event *events, uint16_t at)
{
    return (struct mt_event *)((char *)events + at);
}

/* The result of a scan of a stretch's events: numbers joined by "or", and the bits in which they
 * differ from the first one. */
struct stretch_summary {
    uint64_t kinds; /* a bit for each */
    uint64_t low, high;
    uint32_t threads, stacks, devices;
};

/* Read the time and the kind of each event, and list the events by kind. */
static struct stretch_summary scan(struct mt_event_encoder *encoder,
                                   unsigned char low[MT_ENCODER_STRETCH])
{
    const struct mt_event *event = encoder->events, *first = event;
    struct mt_column_bytes *kinds = &encoder->column[MT_COLUMN_KIND];
    unsigned char *kind = begin_bytes(kinds);
    uint64_t last = encoder->time_ns;
    struct stretch_summary all = {0};
    unsigned n = encoder->n_events, n_ordered = 0;
    memset(encoder->n_of_kind, 0, sizeof encoder->n_of_kind);
    for (unsigned i = 0; i < n; i++, event++) {
        uint16_t at = (uint16_t)(i * sizeof *event);
        uint64_t elapsed = event->time_ns - last;
        last = event->time_ns;
        low[i] = (unsigned char)elapsed;
        all.low |= (unsigned char)elapsed;
        all.high |= encoder->number[i] = elapsed >> 8;
        all.threads |= event->thread ^ first->thread;
        all.stacks |= event->stack ^ first->stack;
        all.devices |= (uint16_t)(event->device ^ first->device);
        kind[i] = (unsigned char)event->kind;
        all.kinds |= 1ull << event->kind;
        encoder->by_kind[event->kind][encoder->n_of_kind[event->kind]++] = at;
        encoder->in_order[n_ordered] = at;
        n_ordered += ordered_kinds >> event->kind & 1;
    }
    kinds->used += n;
    encoder->n_ordered = (uint16_t)n_ordered;
    encoder->time_ns = last;
    return all;
}

/* Put the columns of all kinds. Return the kinds, a bit for each. */
static uint64_t put_common(struct mt_event_encoder *encoder)
{
    const struct mt_event *first = encoder->events;
    struct mt_column_bytes *column = encoder->column, *time = &column[MT_COLUMN_TIME];
    unsigned char low[MT_ENCODER_STRETCH];
    struct stretch_summary all = scan(encoder, low);
    put_numbers(encoder, &column[MT_COLUMN_TIME_HIGH], encoder->n_events, all.high);
    if (all.low || time->is_written)
        memcpy(begin_bytes(time), low, encoder->n_events);
    time->used += encoder->n_events;
    if (all.threads)
        PUT_EACH(encoder, MT_COLUMN_THREAD, event->thread);
    else
        put_same(encoder, &column[MT_COLUMN_THREAD], first->thread);
    if (all.devices)
        PUT_EACH(encoder, MT_COLUMN_DEVICE, (uint64_t)(event->device + 1));
    else
        put_same(encoder, &column[MT_COLUMN_DEVICE], (uint64_t)(first->device + 1));
    if (all.stacks)
        PUT_EACH(encoder, MT_COLUMN_STACK, event->stack);
    else
        put_same(encoder, &column[MT_COLUMN_STACK], first->stack);
    return all.kinds;
}

/* Return the number to store for an argument whose code uses other kinds' events. */
static uint64_t predict(struct mt_predictor *state, const struct mt_event *event, unsigned field,
                        enum mt_code code)
{
    uint64_t value = event->arg[field];
    if (code == MT_CODE_PENDING) {
        uint64_t number = mt_exchange_pending(state, mt_zigzag(value - state->met));
        mt_run_pending(state, event);
        return number;
    }
    uint64_t *base = mt_predicted(state, event, field, code);
    uint64_t difference = value - *base;
    *base = value;
    return mt_zigzag(difference);
}

/* Predict PyTorch's totals, which half of a training's events have. */
static void predict_totals(struct mt_predictor *state, struct mt_event *event)
{
    unsigned device = (uint16_t)event->device % MT_DEVICE_SLOTS;
    uint64_t size = event->kind == MT_ALLOC ? event->ALLOC.size : 0 - event->ALLOC.size;
    uint64_t allocated = event->ALLOC.allocated, reserved = event->ALLOC.reserved;
    event->ALLOC.allocated = mt_zigzag(allocated - state->allocated[device] - size);
    event->ALLOC.reserved = mt_zigzag(reserved - state->reserved[device]);
    state->allocated[device] = allocated;
    state->reserved[device] = reserved;
}

static void predict_ordered(struct mt_event_encoder *encoder)
{
    struct mt_predictor *state = &encoder->predictor;
    for (unsigned i = 0; i < encoder->n_ordered; i++) {
        struct mt_event *event = event_at(encoder->events, encoder->in_order[i]);
        if (event->kind == MT_ALLOC || event->kind == MT_FREE) {
            predict_totals(state, event);
        } else if (event->kind == MT_NODE_NEW) {
            mt_add_pending(state, event->NODE_NEW.node);
        } else {
            for (unsigned field = 0; field < mt_kind_fields[event->kind]; field++)
                if (is_ordered(codes[event->kind][field]))
                    event->arg[field] =
                        predict(state, event, field, (enum mt_code)codes[event->kind][field]);
        }
    }
}

static void put_field(struct mt_event_encoder *encoder, unsigned kind, unsigned field)
{
    const uint16_t *at = encoder->by_kind[kind];
    unsigned n = encoder->n_of_kind[kind], code = codes[kind][field];
    struct mt_event *events = encoder->events;
    uint64_t *number = encoder->number, any = 0;
    if (code == MT_CODE_DELTA) {
        uint64_t last = encoder->predictor.last[kind][field];
        for (unsigned i = 0; i < n; i++) {
            uint64_t value = event_at(events, at[i])->arg[field];
            any |= number[i] = mt_zigzag(value - last);
            last = value;
        }
        encoder->predictor.last[kind][field] = last;
    } else {
        for (unsigned i = 0; i < n; i++)
            any |= number[i] = event_at(events, at[i])->arg[field];
    }
    put_numbers(encoder, &encoder->column[mt_arg_column(kind, field)], n, any);
}

static void put_stretch(struct mt_event_encoder *encoder)
{
    uint64_t kinds = put_common(encoder);
    if (encoder->n_ordered)
        predict_ordered(encoder);
    for (; kinds; kinds &= kinds - 1) {
        unsigned kind = (unsigned)__builtin_ctzll(kinds);
        for (unsigned field = 0; field < mt_kind_fields[kind]; field++)
            put_field(encoder, kind, field);
    }
}

void mt_event_encoder_begin(struct mt_event_encoder *encoder, uint64_t time_ns)
{
    encoder->time_ns = time_ns;
    memset(&encoder->predictor, 0, offsetof(struct mt_predictor, pending));
}

void mt_event_encoder_put(struct mt_event_encoder *encoder, struct mt_event *events, size_t n)
{
    for (; n; n -= encoder->n_events, events += encoder->n_events) {
        encoder->events = events;
        encoder->n_events = n < MT_ENCODER_STRETCH ? (unsigned)n : MT_ENCODER_STRETCH;
        put_stretch(encoder);
    }
}

void mt_event_encoder_clear(struct mt_event_encoder *encoder)
{
    for (unsigned i = 0; i < MT_COLUMNS; i++) {
        encoder->column[i].used = 0;
        encoder->column[i].is_written = false;
    }
}

void mt_event_encoder_destroy(struct mt_event_encoder *encoder)
{
    for (unsigned i = 0; i < MT_COLUMNS; i++)
        free(encoder->column[i].bytes);
}
