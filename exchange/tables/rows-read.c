/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of events and of stacks. */
#include "analyzer/trace/scan.h"
#include "rows-parts.h"

#include <errno.h>
#include <string.h>

struct table_pass {
    const struct mt_rows *rows;
    mt_row_taker *take;
    void *data;
    int rc;
};

/* Which of a kind's fields are the columns address and size: place + 1; 0: none. */
static unsigned field_of(unsigned kind, const char *name)
{
    for (unsigned i = 0; i < mt_kind_fields[kind]; i++)
        if (!strcmp(mt_kinds[kind].field[i].name, name))
            return i + 1;
    return 0;
}

struct events_pass {
    struct table_pass pass;
    uint64_t number;
    struct kind_columns {
        unsigned char address, size, allocated, reserved;
    } kind[MT_KIND_LIMIT];
};

static void put_field(struct mt_row *row, unsigned column, const struct mt_event *event,
                      unsigned field)
{
    mt_row_put(row, column, field ? (int64_t)event->arg[field - 1] : 0, field > 0);
}

static void event_row(const struct events_pass *pass, const struct mt_event *event,
                      struct mt_row *row)
{
    const struct mt_rows *rows = pass->pass.rows;
    const struct kind_columns *kind = &pass->kind[event->kind];
    row->nulls = 0;
    mt_row_put(row, MT_EVENTS_RANK, rows->rank, rows->rank >= 0);
    mt_row_put(row, MT_EVENTS_EVENT, (int64_t)pass->number, true);
    mt_row_put(row, MT_EVENTS_TIME_NS, (int64_t)event->time_ns, true);
    mt_row_put_text(rows, row, MT_EVENTS_KIND, MT_DICTIONARY_KIND, event->kind);
    mt_row_put(row, MT_EVENTS_DEVICE, event->device, event->device != MT_NO_DEVICE);
    mt_row_put(row, MT_EVENTS_THREAD, event->thread, true);
    mt_row_put(row, MT_EVENTS_STACK, event->stack, event->stack > 0);
    put_field(row, MT_EVENTS_ADDRESS, event, kind->address);
    put_field(row, MT_EVENTS_SIZE, event, kind->size);
    put_field(row, MT_EVENTS_ALLOCATED, event, kind->allocated);
    put_field(row, MT_EVENTS_RESERVED, event, kind->reserved);
}

static int take_events(void *data, const struct mt_batch *batch)
{
    struct events_pass *pass = data;
    struct mt_row row;
    for (size_t i = 0; i < batch->n_events && !pass->pass.rc; i++) {
        const struct mt_event *event = &batch->events[i];
        pass->number++;
        if (!mt_rows_has_device(pass->pass.rows, event->device))
            continue;
        event_row(pass, event, &row);
        pass->pass.rc = pass->pass.take(pass->pass.data, &row);
    }
    return pass->pass.rc ? -ECANCELED : 0;
}

static int read_events(const struct table_pass *pass, struct mt_trace_error *fault)
{
    struct events_pass events = {.pass = *pass};
    for (unsigned kind = 1; kind < MT_KIND_LIMIT; kind++)
        events.kind[kind] = (struct kind_columns){
            (unsigned char)field_of(kind, "address"), (unsigned char)field_of(kind, "size"),
            (unsigned char)field_of(kind, "allocated"), (unsigned char)field_of(kind, "reserved")};
    int rc = mt_scan(pass->rows->path, take_events, &events, fault);
    return events.pass.rc ? events.pass.rc : rc;
}

static int read_stacks(const struct table_pass *pass)
{
    const struct mt_rows *rows = pass->rows;
    const struct mt_definitions *d = rows->replay.definitions;
    uint32_t limit = mt_definitions_stack_limit(d);
    int rc = 0;
    for (uint32_t id = 1; id < limit && !rc; id++) {
        const struct mt_stack *stack = mt_stack(d, id);
        struct mt_row row = {0};
        if (!stack->depth)
            continue;
        uint32_t line = mt_frame(d, stack->frame)->line;
        mt_row_put(&row, MT_STACKS_RANK, rows->rank, rows->rank >= 0);
        mt_row_put(&row, MT_STACKS_STACK, id, true);
        mt_row_put(&row, MT_STACKS_PARENT, stack->parent, stack->parent > 0);
        mt_row_put(&row, MT_STACKS_DEPTH, stack->depth, true);
        mt_row_put_text(rows, &row, MT_STACKS_FUNCTION, MT_DICTIONARY_FUNCTION, stack->frame);
        mt_row_put_text(rows, &row, MT_STACKS_FILE, MT_DICTIONARY_FILE, stack->frame);
        mt_row_put(&row, MT_STACKS_LINE, line, line > 0);
        mt_row_put_text(rows, &row, MT_STACKS_MODULE, MT_DICTIONARY_MODULE, id);
        rc = pass->take(pass->data, &row);
    }
    return rc;
}

int mt_rows_read(struct mt_rows *rows, enum mt_table_id table, mt_row_taker *take, void *data,
                 struct mt_trace_error *fault)
{
    struct table_pass pass = {rows, take, data, 0};
    return table == MT_TABLE_BLOCKS   ? mt_rows_read_blocks(rows, take, data, fault)
           : table == MT_TABLE_EVENTS ? read_events(&pass, fault)
                                      : read_stacks(&pass);
}
