/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/ahead.h"
#include "source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_FIELD MT_EVENT_ARGS

struct event_rows {
    struct mt_rows rows;
    struct mt_reader *reader;
    struct mt_batch batch;
    size_t next;     /* of the batch's events */
    uint64_t events; /* so far */
    /* Where each kind has what is a column; NO_FIELD: it does not. */
    uint8_t address[MT_KIND_LIMIT], size[MT_KIND_LIMIT], allocated[MT_KIND_LIMIT],
        reserved[MT_KIND_LIMIT];
};

static void find_fields(uint8_t field[MT_KIND_LIMIT], const char *name)
{
    for (unsigned kind = 0; kind < MT_KIND_LIMIT; kind++) {
        field[kind] = NO_FIELD;
        for (uint8_t i = 0; i < mt_kind_fields[kind]; i++)
            if (!strcmp(mt_kinds[kind].field[i].name, name))
                field[kind] = i;
    }
}

static void put_field(struct mt_columns *columns, unsigned column, const struct mt_event *event,
                      uint8_t field)
{
    if (field != NO_FIELD)
        mt_columns_put(columns, column, (int64_t)event->arg[field]);
}

static void put_event(const struct event_rows *self, struct mt_columns *columns,
                      const struct mt_event *event)
{
    unsigned kind = event->kind;
    mt_rows_put_rank(&self->rows, columns, MT_EVENTS_RANK);
    mt_columns_put(columns, MT_EVENTS_EVENT, (int64_t)self->events);
    mt_columns_put(columns, MT_EVENTS_TIME_NS, (int64_t)event->time_ns);
    if (!mt_columns_again(columns, MT_EVENTS_KIND, kind))
        mt_columns_name(columns, MT_EVENTS_KIND, kind, mt_kinds[kind].name);
    mt_rows_put_device(columns, MT_EVENTS_DEVICE, event->device);
    mt_columns_put(columns, MT_EVENTS_THREAD, event->thread);
    mt_columns_put_some(columns, MT_EVENTS_STACK, event->stack);
    put_field(columns, MT_EVENTS_ADDRESS, event, self->address[kind]);
    put_field(columns, MT_EVENTS_SIZE, event, self->size[kind]);
    put_field(columns, MT_EVENTS_ALLOCATED, event, self->allocated[kind]);
    put_field(columns, MT_EVENTS_RESERVED, event, self->reserved[kind]);
}

/* Find the next batch that has events: 1, 0 at the end, or a negative errno. */
static int next_events(struct event_rows *self, struct mt_trace_error *error)
{
    for (;;) {
        int rc = mt_reader_next(self->reader, &self->batch, error);
        if (rc <= 0)
            return rc == 0 || rc == -ENOMEM ? rc : -EBADMSG;
        for (size_t i = 0; i < self->batch.n_definitions; i++)
            mt_rows_note_rank(&self->rows, &self->batch.definitions[i]);
        self->next = 0;
        if (self->batch.type == MT_BATCH_EVENTS)
            return 1;
        self->batch.n_events = 0;
    }
}

static int fill(struct mt_rows *rows, struct mt_columns *columns, struct mt_trace_error *error)
{
    struct event_rows *self = (struct event_rows *)rows;
    while (columns->n < MT_COLUMNS_ROWS) {
        if (self->next == self->batch.n_events) {
            int rc = next_events(self, error);
            if (rc <= 0)
                return rc;
        }
        const struct mt_event *event = &self->batch.events[self->next++];
        self->events++;
        if (!mt_rows_have_device(rows, event->device) ||
            !mt_rows_have_time(rows, event->time_ns, event->time_ns))
            continue;
        if (!mt_columns_row(columns))
            return -ENOMEM;
        put_event(self, columns, event);
    }
    return columns->lacks_memory ? -ENOMEM : 1;
}

static void close_events(struct mt_rows *rows)
{
    struct event_rows *self = (struct event_rows *)rows;
    mt_reader_close(self->reader);
    free(self);
}

int mt_rows_events(struct mt_rows **out, const char *path, struct mt_trace_error *error)
{
    struct event_rows *self = calloc(1, sizeof *self);
    if (!self)
        return -ENOMEM;
    int rc = mt_reader_open(&self->reader, path, error);
    if (rc) {
        free(self);
        return rc;
    }
    mt_reader_set_batch_size(self->reader, MT_AHEAD_EVENTS);
    find_fields(self->address, "address");
    find_fields(self->size, "size");
    find_fields(self->allocated, "allocated");
    find_fields(self->reserved, "reserved");
    self->rows = (struct mt_rows){.fill = fill, .close = close_events};
    *out = &self->rows;
    return 0;
}
