/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Column by column, a stretch of records at a time that stays in the processor's cache: a tight
 * loop for each column, instead of a way through all of them for each record. What depends on the
 * order between kinds (the totals, the nodes that run) is made of the stored numbers at a stretch's
 * end.
 */
#include "columns.h"
#include "cuda-apis.h"
#include "cursor.h"
#include "decoder.h"

#include <string.h>

#define STRETCH 512u

struct decoding {
    struct mt_cursor column[MT_COLUMNS];
    unsigned version;
    struct mt_predictor predictor;
    uint64_t time_ns;                           /* of the last record */
    uint8_t code[MT_KIND_LIMIT][MT_EVENT_ARGS]; /* enum mt_code, in this version */
    struct {
        uint8_t begin, end;
    } ordered[MT_KIND_LIMIT]; /* fields whose codes look at other kinds' records */
    /* of this stretch */
    struct mt_event *events;
    unsigned n_events;
    unsigned n_of_kind[MT_KIND_LIMIT];
    uint16_t by_kind[MT_KIND_LIMIT][STRETCH]; /* the records' indices */
    const unsigned char *kinds;
    uint64_t elapsed[STRETCH], thread[STRETCH], device[STRETCH], stack[STRETCH];
};

/* The payload begins with a directory: the number of columns, then id and size of each. A column
 * that this version does not know is passed over. */
static int open_columns(struct decoding *decoding, struct mt_cursor payload)
{
    uint64_t count, id[256], bytes[256];
    if (mt_take(&payload, &count) || count > 256)
        return -EINVAL;
    for (uint64_t i = 0; i < count; i++)
        if (mt_take(&payload, &id[i]) || mt_take(&payload, &bytes[i]))
            return -EINVAL;
    for (uint64_t i = 0; i < count; i++) {
        if (bytes[i] > (size_t)(payload.end - payload.at))
            return -EINVAL;
        if (id[i] < MT_COLUMNS)
            decoding->column[id[i]] = (struct mt_cursor){payload.at, payload.at + bytes[i]};
        payload.at += bytes[i];
    }
    return 0;
}

/* Values from a column's next eight bytes, if each is one: most are. */
static int take_eight(const unsigned char *at, uint64_t value[8])
{
    if (mt_get64(at) & 0x8080808080808080u)
        return 0;
    for (unsigned i = 0; i < 8; i++)
        value[i] = at[i];
    return 1;
}

/* Where a stretch goes on in a column; one that is not there is all zeros. */
static struct mt_cursor begin_column(const struct decoding *decoding, unsigned column)
{
    static const unsigned char zeros[STRETCH];
    const struct mt_cursor *cursor = &decoding->column[column];
    return cursor->at ? *cursor : (struct mt_cursor){zeros, zeros + sizeof zeros};
}

static void end_column(struct decoding *decoding, unsigned column, struct mt_cursor cursor)
{
    if (decoding->column[column].at)
        decoding->column[column] = cursor;
}

/* The next n values of a column, none above the limit, which is 2^k - 1. */
static int take_values(struct decoding *decoding, unsigned column, unsigned n, uint64_t limit,
                       uint64_t *value)
{
    struct mt_cursor cursor = begin_column(decoding, column);
    uint64_t any = 0;
    for (unsigned i = 0; i < n;) {
        if (n - i >= 8 && cursor.end - cursor.at >= 8 && take_eight(cursor.at, value + i)) {
            cursor.at += 8;
            i += 8;
            continue;
        }
        if (mt_take(&cursor, &value[i]))
            return -EINVAL;
        any |= value[i++];
    }
    end_column(decoding, column, cursor);
    return any > limit ? -EINVAL : 0;
}

static int take_kinds(struct decoding *decoding)
{
    struct mt_cursor *kinds = &decoding->column[MT_COLUMN_KIND];
    unsigned n = decoding->n_events, *n_of_kind = decoding->n_of_kind;
    if ((size_t)(kinds->end - kinds->at) < n)
        return -EINVAL;
    memset(n_of_kind, 0, sizeof decoding->n_of_kind);
    for (unsigned i = 0; i < n; i++) {
        unsigned kind = kinds->at[i];
        if (kind >= MT_KIND_LIMIT)
            return -EINVAL;
        decoding->by_kind[kind][n_of_kind[kind]++] = (uint16_t)i;
    }
    for (unsigned kind = 0; kind < MT_KIND_LIMIT; kind++)
        if (n_of_kind[kind] && !mt_kinds[kind].name)
            return -EINVAL;
    decoding->kinds = kinds->at;
    kinds->at += n;
    return 0;
}

/* ns since the record before: the rest of the time and its lowest byte, in version 1 together. */
static int take_times(struct decoding *decoding)
{
    unsigned n = decoding->n_events;
    if (decoding->version < 2)
        return take_values(decoding, MT_COLUMN_TIME, n, UINT64_MAX, decoding->elapsed);
    if (take_values(decoding, MT_COLUMN_TIME_HIGH, n, UINT64_MAX >> 8, decoding->elapsed))
        return -EINVAL;
    struct mt_cursor *low = &decoding->column[MT_COLUMN_TIME];
    if (low->at && (size_t)(low->end - low->at) < n)
        return -EINVAL;
    for (unsigned i = 0; i < n; i++)
        decoding->elapsed[i] = decoding->elapsed[i] << 8 | (low->at ? low->at[i] : 0);
    if (low->at)
        low->at += n;
    return 0;
}

/* What all kinds have. */
static int take_common(struct decoding *decoding)
{
    unsigned n = decoding->n_events;
    if (take_times(decoding) ||
        take_values(decoding, MT_COLUMN_THREAD, n, UINT32_MAX, decoding->thread) ||
        take_values(decoding, MT_COLUMN_DEVICE, n, INT16_MAX, decoding->device) ||
        take_values(decoding, MT_COLUMN_STACK, n, UINT32_MAX, decoding->stack))
        return -EINVAL;
    for (unsigned i = 0; i < n; i++)
        decoding->events[i] =
            (struct mt_event){.time_ns = decoding->time_ns += decoding->elapsed[i],
                              .thread = (uint32_t)decoding->thread[i],
                              .stack = (uint32_t)decoding->stack[i],
                              .kind = decoding->kinds[i],
                              .device = (int16_t)((int)decoding->device[i] - 1)};
    return 0;
}

/* All arguments of all records of a kind; as they are stored, where their codes look at other
 * kinds. Field by field in each record: the columns do not wait for each other. Inline, so that
 * each number of fields has a loop of its own. */
static inline __attribute__((always_inline)) int take_fields(struct decoding *decoding,
                                                             unsigned kind, unsigned n_fields)
{
    uint64_t *last = decoding->predictor.last[kind];
    const uint16_t *index = decoding->by_kind[kind];
    uint64_t is_delta[MT_EVENT_ARGS];
    struct mt_cursor column[MT_EVENT_ARGS];
    for (unsigned field = 0; field < n_fields; field++) {
        column[field] = begin_column(decoding, mt_arg_column(kind, field));
        is_delta[field] = decoding->code[kind][field] == MT_CODE_DELTA;
    }
    for (unsigned i = 0, n = decoding->n_of_kind[kind]; i < n; i++) {
        uint64_t *arg = decoding->events[index[i]].arg;
#pragma GCC unroll 4
        for (unsigned field = 0; field < n_fields; field++) {
            uint64_t value;
            column[field].at = mt_varint_get(column[field].at, column[field].end, &value);
            if (!column[field].at)
                return -EINVAL;
            if (is_delta[field])
                value = last[field] += mt_unzigzag(value);
            arg[field] = value;
        }
    }
    for (unsigned field = 0; field < n_fields; field++)
        end_column(decoding, mt_arg_column(kind, field), column[field]);
    return 0;
}

static int take_arguments_of(struct decoding *decoding, unsigned kind)
{
    switch (mt_kinds[kind].n_fields) {
    case 1:
        return take_fields(decoding, kind, 1);
    case 2:
        return take_fields(decoding, kind, 2);
    case 3:
        return take_fields(decoding, kind, 3);
    case 4:
        return take_fields(decoding, kind, 4);
    }
    return 0;
}

static int take_arguments(struct decoding *decoding)
{
    for (unsigned kind = 0; kind < MT_KIND_LIMIT; kind++)
        if (decoding->n_of_kind[kind] && take_arguments_of(decoding, kind))
            return -EINVAL;
    return 0;
}

static int looks_at_others(enum mt_code code)
{
    return code != MT_CODE_PLAIN && code != MT_CODE_DELTA;
}

/* The fields of a kind whose codes look at other kinds stand together. */
static void find_codes(struct decoding *decoding)
{
    for (unsigned kind = 0; kind < MT_KIND_LIMIT; kind++)
        for (unsigned field = 0; field < mt_kinds[kind].n_fields; field++) {
            enum mt_code code = mt_code_of(decoding->version, kind, field);
            decoding->code[kind][field] = (uint8_t)code;
            if (!looks_at_others(code))
                continue;
            if (!decoding->ordered[kind].end)
                decoding->ordered[kind].begin = (uint8_t)field;
            decoding->ordered[kind].end = (uint8_t)(field + 1);
        }
}

static void follow_order(struct decoding *decoding)
{
    for (unsigned i = 0; i < decoding->n_events; i++) {
        struct mt_event *event = &decoding->events[i];
        unsigned end = decoding->ordered[event->kind].end;
        for (unsigned field = decoding->ordered[event->kind].begin; field < end; field++) {
            enum mt_code code = (enum mt_code)decoding->code[event->kind][field];
            event->arg[field] = *mt_predicted(&decoding->predictor, event, field, code) +=
                mt_unzigzag(event->arg[field]);
        }
    }
}

/* Version 1 knows cudaMalloc, which is number 0, and cudaFree. */
static void say_apis(struct decoding *decoding)
{
    for (unsigned i = 0; i < decoding->n_events; i++) {
        struct mt_event *event = &decoding->events[i];
        if (event->kind == MT_CUDA_FREE)
            event->arg[1] = MT_API_CUDA_FREE;
        else if (event->kind == MT_CUDA_FREE_FAILED)
            event->arg[2] = MT_API_CUDA_FREE;
    }
}

static int take_stretch(struct decoding *decoding, struct mt_event *events, unsigned n)
{
    decoding->events = events;
    decoding->n_events = n;
    if (take_kinds(decoding) || take_common(decoding) || take_arguments(decoding))
        return -EINVAL;
    follow_order(decoding);
    if (decoding->version < 2)
        say_apis(decoding);
    return 0;
}

int mt_decode_events(const unsigned char *raw, size_t size, unsigned version, uint64_t base_time_ns,
                     size_t records, struct mt_event *out)
{
    struct decoding decoding = {.version = version, .time_ns = base_time_ns};
    if (open_columns(&decoding, (struct mt_cursor){raw, raw + size}))
        return -EINVAL;
    find_codes(&decoding);
    for (size_t done = 0; done < records; done += decoding.n_events)
        if (take_stretch(&decoding, out + done,
                         records - done < STRETCH ? (unsigned)(records - done) : STRETCH))
            return -EINVAL;
    return 0;
}
