/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the encoder and the decoder of event blocks: the columns, and the state from which the
 * codes predict values. Both start from zero in every block, so each block decodes on its own. The
 * last part, for encoder.c, turns events into columns.
 */
#ifndef MT_TRACE_COLUMNS_H
#define MT_TRACE_COLUMNS_H

#include "model.h"
#include "varint.h"

#include <stdbool.h>

enum mt_column {
    MT_COLUMN_KIND,      /* one byte a record */
    MT_COLUMN_TIME,      /* difference from the previous record (the first: the block's
                          * base time): its lowest byte (version 1: all of it) */
    MT_COLUMN_THREAD,    /* thread id */
    MT_COLUMN_DEVICE,    /* device index + 1; 0: not known */
    MT_COLUMN_STACK,     /* stack id */
    MT_COLUMN_TIME_HIGH, /* the rest of the time; noise and pattern compress better separately */
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
#define MT_PENDING_SCANNED 8u

struct mt_predictor {
    uint64_t running[MT_THREAD_SLOTS];
    uint64_t last[MT_KIND_LIMIT][MT_EVENT_ARGS];
    uint64_t allocated[MT_DEVICE_SLOTS];
    uint64_t reserved[MT_DEVICE_SLOTS];
    uint64_t met; /* the last node to run that was not the newest pending one */
    unsigned n_pending;
    uint64_t pending[MT_MOST_PENDING]; /* new nodes that have not run yet, oldest first */
};

/* Return a field's code in a version of the format. */
static inline enum mt_code mt_code_of(unsigned version, unsigned kind, unsigned field)
{
    enum mt_code code = mt_kinds[kind].field[field].code;
    if (code == MT_CODE_PENDING && version < 4)
        code = MT_CODE_RUNNING;
    return code == MT_CODE_RUNNING && version < 2 ? MT_CODE_DELTA : code;
}

/* Keep a new node until it runs. A full list starts over. */
static inline void mt_add_pending(struct mt_predictor *state, uint64_t node)
{
    unsigned n = state->n_pending;
    if (n && state->pending[n - 1] == node)
        return; /* another output of it */
    n = n < MT_MOST_PENDING ? n : 0;
    state->pending[n] = node;
    state->n_pending = n + 1;
}

/* Swap the number 0 with that of the newest pending node, since backward runs the newest node
 * first. A number is the zigzag difference from `met`. */
static inline uint64_t mt_exchange_pending(const struct mt_predictor *state, uint64_t number)
{
    unsigned n = state->n_pending;
    uint64_t newest = n ? mt_zigzag(state->pending[n - 1] - state->met) : 0;
    return number == newest ? 0 : number ? number : newest;
}

/* Remove a node that runs, and newer ones: they were created for nothing. */
static inline void mt_run_pending(struct mt_predictor *state, const struct mt_event *event)
{
    uint64_t node = event->NODE_BEGIN.node;
    unsigned n = state->n_pending, least = n > MT_PENDING_SCANNED ? n - MT_PENDING_SCANNED : 0;
    state->running[event->thread % MT_THREAD_SLOTS] = node;
    if (!n || state->pending[n - 1] != node)
        state->met = node;
    while (n > least && state->pending[n - 1] != node)
        n--;
    if (n > least)
        state->n_pending = n - 1;
}

/* Return the value that a field's code starts from; NULL if the code stores plain values. */
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

#define MT_ENCODER_STRETCH 128u /* events encoded at a time, column by column */

/* One column's numbers. Address space for a whole block is reserved; only what is used costs
 * memory. */
struct mt_column_bytes {
    unsigned char *bytes; /* NULL: no event of its kind was seen yet */
    size_t used;
    bool is_written; /* false: only zeros so far, counted but not stored */
};

/* For the encoder only. */
struct mt_event_encoder {
    struct mt_column_bytes column[MT_COLUMNS];
    uint64_t kinds;   /* that have columns, a bit each */
    uint64_t time_ns; /* of the last event */
    struct mt_predictor predictor;
    /* the current stretch */
    struct mt_event *events;
    unsigned n_events;
    uint64_t number[MT_ENCODER_STRETCH]; /* of a column */
    /* Where the events of each kind begin, in bytes, and where those begin whose codes use events
     * of other kinds. */
    uint16_t n_of_kind[MT_KIND_LIMIT], n_ordered;
    uint16_t by_kind[MT_KIND_LIMIT][MT_ENCODER_STRETCH], in_order[MT_ENCODER_STRETCH];
};

/* Create the columns for events. Return 0, -ENOMEM, or -EINVAL if a kind is not in the table. */
int mt_event_encoder_make(struct mt_event_encoder *encoder, const struct mt_event *events,
                          size_t n);

/* Return whether a kind has columns. */
static inline bool mt_event_encoder_has(const struct mt_event_encoder *encoder, unsigned kind)
{
    return kind < MT_KIND_LIMIT && encoder->kinds >> kind & 1;
}

/* Begin a block whose first event has this time. mt_event_encoder_put adds events whose columns
 * exist, at most MT_BLOCK_RECORDS; it overwrites their arguments with the coded numbers. */
void mt_event_encoder_begin(struct mt_event_encoder *encoder, uint64_t time_ns);
void mt_event_encoder_put(struct mt_event_encoder *encoder, struct mt_event *events, size_t n);

/* Empty the columns, or free them. */
void mt_event_encoder_clear(struct mt_event_encoder *encoder);
void mt_event_encoder_destroy(struct mt_event_encoder *encoder);

#endif
