/* SPDX-License-Identifier: Apache-2.0 */
#include "columns.h"
#include "varint.h"

static unsigned device_slot(const struct mt_event *event)
{
    return (uint16_t)event->device % MT_DEVICE_SLOTS;
}

/* Where the value that a field's code starts from is kept; NULL: the code stores plain values. */
static uint64_t *expected(struct mt_predictor *state, const struct mt_event *event, unsigned field)
{
    switch (mt_kinds[event->kind].field[field].code) {
    case MT_CODE_PLAIN:
        return NULL;
    case MT_CODE_DELTA:
        return &state->last[event->kind][field];
    case MT_CODE_RUNNING:
        return state->version < 2 ? &state->last[event->kind][field]
                                  : &state->running[event->thread % MT_THREAD_SLOTS];
    case MT_CODE_RESERVED:
        return &state->reserved[device_slot(event)];
    case MT_CODE_ALLOCATED:
        break;
    }
    uint64_t *total = &state->allocated[device_slot(event)];
    if (event->kind == MT_ALLOC)
        *total += event->arg[1];
    else if (event->kind == MT_FREE)
        *total -= event->arg[1];
    return total;
}

uint64_t mt_predict_code(struct mt_predictor *state, const struct mt_event *event, unsigned field)
{
    uint64_t value = event->arg[field];
    uint64_t *base = expected(state, event, field);
    if (!base)
        return value;
    uint64_t difference = value - *base;
    *base = value;
    return mt_zigzag(difference);
}

uint64_t mt_predict_value(struct mt_predictor *state, const struct mt_event *event, unsigned field,
                          uint64_t stored)
{
    uint64_t *base = expected(state, event, field);
    if (!base)
        return stored;
    *base += mt_unzigzag(stored);
    return *base;
}
