/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What encoder and decoder of an event block share: the columns, and the state that the codes
 * predict from. Each starts from zero in every block, so that a block decodes by itself.
 */
#ifndef MT_TRACE_COLUMNS_H
#define MT_TRACE_COLUMNS_H

#include "model.h"

enum mt_column {
    MT_COLUMN_KIND,      /* one byte a record */
    MT_COLUMN_TIME,      /* difference to the record before; the first: to the block's base time:
                          * its lowest byte (version 1: all of it) */
    MT_COLUMN_THREAD,    /* thread id */
    MT_COLUMN_DEVICE,    /* device index + 1; 0: not known */
    MT_COLUMN_STACK,     /* stack id */
    MT_COLUMN_TIME_HIGH, /* the rest of the time; noise and pattern apart compress better */
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

struct mt_predictor {
    unsigned version; /* of the format */
    uint64_t running[MT_THREAD_SLOTS];
    uint64_t last[MT_KIND_LIMIT][MT_EVENT_ARGS];
    uint64_t allocated[MT_DEVICE_SLOTS];
    uint64_t reserved[MT_DEVICE_SLOTS];
};

/* The number to store for argument `field` of the event; moves the state on. The event's earlier
 * arguments must be known. */
uint64_t mt_predict_code(struct mt_predictor *state, const struct mt_event *event, unsigned field);

/* The other way: the argument's value from the stored number. */
uint64_t mt_predict_value(struct mt_predictor *state, const struct mt_event *event, unsigned field,
                          uint64_t stored);

#endif
