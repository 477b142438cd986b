/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the encoder and the decoder of an event block: the columns, and the state from which
 * the codes predict. Both start from zero in every block, so that a block decodes by itself. At the
 * end, for encoder.c: events into columns.
 */
#ifndef MT_TRACE_COLUMNS_H
#define MT_TRACE_COLUMNS_H

#include "model.h"
#include "varint.h"

#include <stdbool.h>

enum mt_column {
    MT_COLUMN_KIND,      /* one byte a record */
    MT_COLUMN_TIME,      /* difference to the record before; the first: to the block's base time:
                          * its lowest byte (version 1: all of it) */
    MT_COLUMN_THREAD,    /* thread id */
    MT_COLUMN_DEVICE,    /* device index + 1; 0: not known */
    MT_COLUMN_STACK,     /* stack id */
    MT_COLUMN_TIME_HIGH, /* the rest of the time; noise and pattern compress better apart */
    MT_COLUMN_COMMON,
    MT_COLUMN_FIRST_ARG = 8, /* then MT_EVENT_ARGS for each kind, by its number */
    MT_COLUMNS = MT_COLUMN_FIRST_ARG + MT_EVENT_ARGS * MT_KIND_LIMIT,
};

static inline unsigned mt_arg_column(unsigned kind, unsigned field)
{
    return MT_COLUMN_FIRST_ARG + MT_EVENT_ARGS * kind + field;
}

#define MT_DEVICE_SLOTS 16u
#define MT_THREAD_SLOTS 16u
#define MT_MOST_PENDING 8192u
#define MT_PENDING_LOOKS 8u

struct mt_predictor {
    uint64_t running[MT_THREAD_SLOTS];
    uint64_t last[MT_KIND_LIMIT][MT_EVENT_ARGS];
    uint64_t allocated[MT_DEVICE_SLOTS];
    uint64_t reserved[MT_DEVICE_SLOTS];
    uint64_t met; /* the last node that ran and was not the newest pending one */
    unsigned n_pending;
    uint64_t pending[MT_MOST_PENDING]; /* nodes that are new and have not run, oldest first */
};

/* Return a field's code in a version of the format. */
static inline enum mt_code mt_code_of(unsigned version, unsigned kind, unsigned field)
{
    enum mt_code code = mt_kinds[kind].field[field].code;
    if (code == MT_CODE_PENDING && version < 4)
        code = MT_CODE_RUNNING;
    return code == MT_CODE_RUNNING && version < 2 ? MT_CODE_DELTA : code;
}

/* Keep a new node until it runs. A full list begins anew. */
static inline void mt_add_pending(struct mt_predictor *state, uint64_t node)
{
    unsigned n = state->n_pending;
    if (n && state->pending[n - 1] == node)
        return; /* another output of it */
    n = n < MT_MOST_PENDING ? n : 0;
    state->pending[n] = node;
    state->n_pending = n + 1;
}

/* Exchange two numbers, 0 and the one that the newest pending node has: backward runs the newest
 * node first. A number is the zigzag difference to the last node that was met otherwise. */
static inline uint64_t mt_exchange_pending(const struct mt_predictor *state, uint64_t number)
{
    unsigned n = state->n_pending;
    uint64_t newest = n ? mt_zigzag(state->pending[n - 1] - state->met) : 0;
    return number == newest ? 0 : number ? number : newest;
}

/* Follow a node that runs: what is newer than it was made for nothing. */
static inline void mt_run_pending(struct mt_predictor *state, const struct mt_event *event)
{
    uint64_t node = event->NODE_BEGIN.node;
    unsigned n = state->n_pending, least = n > MT_PENDING_LOOKS ? n - MT_PENDING_LOOKS : 0;
    state->running[event->thread % MT_THREAD_SLOTS] = node;
    if (!n || state->pending[n - 1] != node)
        state->met = node;
    while (n > least && state->pending[n - 1] != node)
        n--;
    if (n > least)
        state->n_pending = n - 1;
}

/* Return the value from which a field's code starts; NULL: the code stores plain values. */
static inline uint64_t *mt_predicted(struct mt_predictor *state, const struct mt_event *event,
                                     unsigned field, enum mt_code code)
{
    unsigned device = (uint16_t)event->device % MT_DEVICE_SLOTS;
    switch (code) {
    case MT_CODE_PLAIN:
    case MT_CODE_PENDING:
        return NULL;
    case MT_CODE_DELTA:
        return &state->last[event->kind][field];
    case MT_CODE_RUNNING:
        return &state->running[event->thread % MT_THREAD_SLOTS];
    case MT_CODE_RESERVED:
        return &state->reserved[device];
    case MT_CODE_ALLOCATED:
        break;
    }
    uint64_t *total = &state->allocated[device];
    if (event->kind == MT_ALLOC)
        *total += event->ALLOC.size;
    else if (event->kind == MT_FREE)
        *total -= event->FREE.size;
    return total;
}

/* --- encoding ---------------------------------------------------------------------------- */

#define MT_ENCODER_STRETCH 128u /* events that are encoded column by column */

/* The events' numbers in a column. It has room for a whole block; the system provides only what is
 * used. */
struct mt_column_bytes {
    unsigned char *bytes; /* NULL: no event of its kind was seen yet */
    size_t used;
    bool is_written; /* false: all are zeros so far, and only counted */
};

/* The members are for the encoder only. */
struct mt_event_encoder {
    struct mt_column_bytes column[MT_COLUMNS];
    uint64_t kinds;   /* that have columns: a bit for each */
    uint64_t time_ns; /* of the last event */
    struct mt_predictor predictor;
    /* the current stretch */
    struct mt_event *events;
    unsigned n_events;
    uint64_t number[MT_ENCODER_STRETCH]; /* of a column */
    /* Where its events of each kind begin, in bytes, and those of kinds with codes that use other
     * kinds' events. */
    uint16_t n_of_kind[MT_KIND_LIMIT], n_ordered;
    uint16_t by_kind[MT_KIND_LIMIT][MT_ENCODER_STRETCH], in_order[MT_ENCODER_STRETCH];
};

/* Make columns for events: 0, -ENOMEM, or -EINVAL for one that is in no table. */
int mt_event_encoder_make(struct mt_event_encoder *encoder, const struct mt_event *events,
                          size_t n);

/* Return whether a kind has columns. */
static inline bool mt_event_encoder_has(const struct mt_event_encoder *encoder, unsigned kind)
{
    return kind < MT_KIND_LIMIT && encoder->kinds >> kind & 1;
}

/* Begin a block whose first event has this time; then put events whose columns were made, at most
 * MT_BLOCK_RECORDS. Coded numbers take the place of their arguments. */
void mt_event_encoder_begin(struct mt_event_encoder *encoder, uint64_t time_ns);
void mt_event_encoder_put(struct mt_event_encoder *encoder, struct mt_event *events, size_t n);

/* Empty the columns; free them. */
void mt_event_encoder_clear(struct mt_event_encoder *encoder);
void mt_event_encoder_destroy(struct mt_event_encoder *encoder);

#endif
