/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader (trace-format/reader.h) of traces that are in memory, in the place of the one of
 * files: a harness that has it reads mt_made_traces, whatever it calls. And what is read ahead is
 * read at once (analyzer/support/ahead.h): no thread for an input.
 */
#include "analyzer/support/ahead.h"
#include "made-trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mt_reader {
    const struct mt_made_trace *trace;
    size_t next;
};

const char *const mt_trace_state_names[MT_TRACE_STATES] = {
    [MT_TRACE_CLOSED] = "closed", [MT_TRACE_RUNNING] = "running", [MT_TRACE_KILLED] = "killed",
    [MT_TRACE_OPEN] = "open",     [MT_TRACE_STOPPED] = "stopped", [MT_TRACE_EXECUTED] = "executed",
};

int mt_reader_open(struct mt_reader **out, const char *path, struct mt_trace_error *error)
{
    unsigned index = (unsigned)(*path - '0');
    memset(error, 0, sizeof *error);
    if (index >= MT_MADE_TRACES || !mt_made_traces[index]) {
        error->fault = MT_FAULT_SYSTEM;
        snprintf(error->text, sizeof error->text, "there is no such trace");
        return -ENOENT;
    }
    *out = calloc(1, sizeof **out);
    if (!*out)
        abort();
    (*out)->trace = mt_made_traces[index];
    return 0;
}

int mt_reader_next(struct mt_reader *reader, struct mt_batch *batch, struct mt_trace_error *error)
{
    memset(error, 0, sizeof *error);
    if (reader->next < reader->trace->n_batches) {
        *batch = reader->trace->batch[reader->next++];
        return 1;
    }
    error->fault = reader->trace->fault;
    if (!error->fault)
        return 0;
    error->offset = mt_reader_offset(reader);
    snprintf(error->text, sizeof error->text, "the made trace is wrong here");
    return -EINVAL;
}

void mt_reader_set_batch_size(struct mt_reader *reader, size_t events)
{
    (void)reader;
    (void)events;
}

const struct mt_end *mt_reader_end(const struct mt_reader *reader)
{
    return reader->trace->state == MT_TRACE_CLOSED ? &reader->trace->end : NULL;
}

enum mt_trace_state mt_reader_state(const struct mt_reader *reader)
{
    return reader->trace->state;
}

bool mt_reader_is_over(const struct mt_reader *reader)
{
    return reader->trace->state != MT_TRACE_RUNNING;
}

uint64_t mt_reader_offset(const struct mt_reader *reader)
{
    return 32 + 100 * reader->next;
}

uint64_t mt_reader_file_size(const struct mt_reader *reader)
{
    return 32 + 100 * reader->trace->n_batches;
}

unsigned mt_reader_version(const struct mt_reader *reader)
{
    (void)reader;
    return 2;
}

void mt_reader_close(struct mt_reader *reader)
{
    free(reader);
}

void mt_ahead_begin(struct mt_ahead *ahead, struct mt_reader *reader)
{
    *ahead = (struct mt_ahead){.reader = reader};
}

int mt_ahead_next(struct mt_ahead *ahead, struct mt_batch *batch, struct mt_trace_error *error)
{
    return mt_reader_next(ahead->reader, batch, error);
}

void mt_ahead_end(struct mt_ahead *ahead)
{
    (void)ahead;
}
