/* SPDX-License-Identifier: Apache-2.0 */
#include "reader-open.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Ensure room. Even for 0 bytes the pointer is not NULL: adding to NULL is undefined. */
static int ensure(struct mt_buffer *buffer, size_t need)
{
    if (need <= buffer->capacity && buffer->bytes)
        return 0;
    void *bytes = realloc(buffer->bytes, need ? need : 1);
    if (!bytes)
        return -ENOMEM;
    buffer->bytes = bytes;
    buffer->capacity = need;
    return 0;
}

static int cut(struct mt_reader *reader, struct mt_trace_error *error)
{
    return mt_reader_fail(
        error, MT_FAULT_CUT, reader->offset,
        "the trace is truncated in the block at byte %llu; everything before it is intact",
        (unsigned long long)reader->offset);
}

static int damaged(struct mt_reader *reader, struct mt_trace_error *error, const char *what)
{
    return mt_reader_fail(error, MT_FAULT_DAMAGED, reader->offset,
                          "the block at byte %llu is damaged (%s); everything before it is intact",
                          (unsigned long long)reader->offset, what);
}

static atomic_uint_fast64_t record_limit;
static const char *_Atomic limit_hint = "memtap --most-events NUMBER ...";

void mt_reader_limit_records(uint64_t records)
{
    record_limit = records;
}

void mt_reader_set_limit_hint(const char *what)
{
    limit_hint = what;
}

/* Bytes of payload that count as one record: none is larger, except for texts. */
#define RECORD_BYTES 64u

/* Count the block before it is decompressed. Return 0, or an error if it exceeds the limit. */
static int count(struct mt_reader *reader, struct mt_trace_error *error)
{
    const struct mt_block_header *header = &reader->block;
    uint64_t size = reader->offset > reader->file_size ? reader->offset : reader->file_size;
    uint64_t most = record_limit;
    if (!most)
        most = MT_READER_RECORDS + size * MT_READER_RECORDS_A_BYTE;
    uint32_t by_size = header->raw_size / RECORD_BYTES;
    reader->given += header->records > by_size ? header->records : by_size;
    if (reader->given <= most)
        return 0;
    return mt_reader_fail(error, MT_FAULT_ROOM, reader->offset,
                          "reading stopped at byte %llu: a file of this size expands to more than "
                          "%llu events; %s allows more",
                          (unsigned long long)reader->offset, (unsigned long long)most, limit_hint);
}

/* Read the header and payload of the next block, and allocate room for its content. Return 1, 0 at
 * the end of the file, or an error. */
static int read_block(struct mt_reader *reader, struct mt_trace_error *error)
{
    unsigned char head[MT_BLOCK_HEADER_SIZE];
    struct mt_block_header *header = &reader->block;
    const size_t head_size = mt_block_header_size(reader->version);
    errno = 0;
    ssize_t n = mt_reader_bytes(reader->fd, head, head_size);
    if (n < 0)
        return mt_reader_fail(error, MT_FAULT_SYSTEM, reader->offset, "%s", strerror(errno));
    if (n == 0)
        return 0;
    if ((size_t)n < head_size)
        return cut(reader, error);
    if (mt_block_header_get(head, header, reader->version))
        return damaged(reader, error, "invalid block header");
    if (ensure(&reader->stored, header->stored_size) ||
        ensure(&reader->raw[reader->raw_turn], header->raw_size))
        return mt_reader_no_memory(error, reader->offset);
    n = mt_reader_bytes(reader->fd, reader->stored.bytes, header->stored_size);
    if (n < 0)
        return mt_reader_fail(error, MT_FAULT_SYSTEM, reader->offset, "%s", strerror(errno));
    if ((size_t)n < header->stored_size)
        return cut(reader, error);
    if (!mt_block_sound(head, reader->stored.bytes, header->stored_size, reader->version,
                        &reader->crc))
        return damaged(reader, error, "checksum");
    return 1;
}

static int unpack(struct mt_reader *reader)
{
    const struct mt_block_header *header = &reader->block;
    void *raw = reader->raw[reader->raw_turn].bytes;
    if (header->codec == MT_CODEC_RAW && header->stored_size == header->raw_size) {
        if (header->raw_size)
            memcpy(raw, reader->stored.bytes, header->raw_size);
        return 0;
    }
    if (header->codec != MT_CODEC_ZSTD)
        return -EINVAL;
    size_t size = ZSTD_decompressDCtx(reader->zstd, raw, header->raw_size, reader->stored.bytes,
                                      header->stored_size);
    return ZSTD_isError(size) || size != header->raw_size ? -EINVAL : 0;
}

/* Decode events of the current block. */
static int decode_events(struct mt_reader *reader, struct mt_batch *batch)
{
    size_t n = reader->n_left < reader->batch_size ? reader->n_left : reader->batch_size;
    struct mt_buffer *to = &reader->records[reader->turn];
    if (ensure(to, n * sizeof(struct mt_event)))
        return -ENOMEM;
    batch->type = MT_BATCH_EVENTS;
    batch->is_carried = reader->block.type == MT_BLOCK_CARRIED;
    batch->events = to->bytes;
    batch->n_events = n;
    reader->n_left -= n;
    return mt_decode_events(&reader->decoder, n, to->bytes);
}

static int begin_events(struct mt_reader *reader, struct mt_batch *batch, const void *raw)
{
    const struct mt_block_header *header = &reader->block;
    if (mt_decode_events_begin(&reader->decoder, raw, header->raw_size, reader->version,
                               header->base_time_ns))
        return -EINVAL;
    reader->n_left = header->records;
    return decode_events(reader, batch);
}

static int decode_definitions(struct mt_reader *reader, struct mt_batch *batch, const void *raw)
{
    size_t n = reader->block.records;
    struct mt_buffer *to = &reader->records[reader->turn];
    if (ensure(to, n * sizeof(struct mt_definition)))
        return -ENOMEM;
    batch->type = MT_BATCH_DEFINITIONS;
    batch->definitions = to->bytes;
    batch->n_definitions = n;
    if (mt_decode_definitions(raw, reader->block.raw_size, n, to->bytes))
        return -EINVAL;
    for (size_t i = 0; i < n; i++)
        if ((batch->definitions[i].kind == MT_DEF_SUMMARY) !=
            (reader->block.type == MT_BLOCK_SUMMARY))
            return -EINVAL;
    return 0;
}

/* Return 0, -EINVAL if the payload is invalid, or -ENOMEM. */
static int decode(struct mt_reader *reader, struct mt_batch *batch)
{
    const struct mt_block_header *header = &reader->block;
    const void *raw = reader->raw[reader->raw_turn].bytes;
    if (header->records > header->raw_size) /* each has at least a byte */
        return -EINVAL;
    reader->raw_turn ^= 1;
    switch (header->type) {
    case MT_BLOCK_EVENTS:
    case MT_BLOCK_CARRIED:
        return begin_events(reader, batch, raw);
    case MT_BLOCK_DEFINITIONS:
    case MT_BLOCK_SUMMARY:
        return decode_definitions(reader, batch, raw);
    case MT_BLOCK_END:
        batch->type = MT_BATCH_END;
        return mt_decode_end(raw, header->raw_size, &batch->end);
    }
    return -EINVAL;
}

static int next_of_tail(struct mt_reader *reader, struct mt_batch *batch,
                        struct mt_trace_error *error)
{
    const struct mt_tail_content *tail = &reader->tail.content;
    batch->offset = reader->offset;
    batch->file_size = reader->file_size;
    batch->is_tail = true;
    if (reader->tail.next == TAIL_DEFINITIONS) {
        reader->tail.next = TAIL_EVENTS;
        batch->type = MT_BATCH_DEFINITIONS;
        batch->definitions = tail->definitions;
        batch->n_definitions = tail->n_definitions;
        if (tail->n_definitions)
            return 1;
    }
    if (reader->tail.next == TAIL_EVENTS) {
        reader->tail.next = TAIL_OVER;
        batch->type = MT_BATCH_EVENTS;
        batch->definitions = NULL;
        batch->events = tail->events;
        batch->n_events = tail->n_events;
        if (tail->n_events)
            return 1;
    }
    *error = tail->error;
    return error->fault ? -EINVAL : 0;
}

/* Read the next block. Return 1, 0 at the end of the file or of what counts, or an error. */
static int next_block(struct mt_reader *reader, struct mt_trace_error *error)
{
    int rc = read_block(reader, error);
    if (error->fault == MT_FAULT_CUT && reader->state == MT_TRACE_RUNNING) {
        memset(error, 0, sizeof *error); /* it is still being written */
        return 0;
    }
    if (rc == 0 && reader->tail.next)
        return mt_reader_fail(
            error, MT_FAULT_CUT, reader->offset,
            "the trace is truncated at byte %llu, but its tail begins at byte %llu; everything "
            "before it is intact",
            (unsigned long long)reader->offset,
            (unsigned long long)reader->tail.content.trace_size);
    return rc;
}

/* Read the older segment. Return 1, 0 at its end, or an error. The segment stays open, since its
 * last batch is still in use. */
static int next_of_older(struct mt_reader *reader, struct mt_batch *batch,
                         struct mt_trace_error *error)
{
    int rc = mt_reader_next(reader->older.reader, batch, error);
    batch->state = reader->state;
    batch->is_older = true;
    reader->older.is_read = rc <= 0;
    return rc;
}

/* Return the next batch of the block. rc is decode's result. A block counts as read once all of it
 * was returned. */
static int next_of_block(struct mt_reader *reader, struct mt_batch *batch,
                         struct mt_trace_error *error, int rc)
{
    batch->offset = reader->offset;
    batch->file_size = reader->file_size;
    if (rc)
        reader->n_left = 0;
    if (rc == -ENOMEM)
        return mt_reader_no_memory(error, reader->offset);
    if (rc)
        return damaged(reader, error, "content");
    if (reader->n_left)
        return 1;
    mt_chain_add(&reader->chain, &reader->block);
    reader->offset += mt_block_header_size(reader->version) + reader->block.stored_size;
    return 1;
}

/* Return whether a growing file has more. The last read may have ended within an incomplete block.
 */
static bool has_more(const struct mt_reader *reader)
{
    return reader->offset + mt_block_header_size(reader->version) <= reader->limit &&
           lseek(reader->fd, (off_t)reader->offset, SEEK_SET) == (off_t)reader->offset;
}

/* Return whether the older segment could not be read. A follower starts without it. */
static bool lacks_older(const struct mt_reader *reader)
{
    return reader->older.state != OLDER_USED && !reader->is_following;
}

/* Compare the number of events with the end block's, if nothing else shows that some are missing.
 * Return 1 or an error. */
static int check_count(struct mt_reader *reader, const struct mt_end *end,
                       struct mt_trace_error *error)
{
    uint64_t events = reader->chain.events;
    if (!reader->chain.is_bare || reader->older.id || events >= end->events)
        return 1;
    return mt_reader_fail_count(reader, error, end->events - events, end->events);
}

/* Return whether the trace has later events than its tail, of which nothing was returned yet. The
 * tail keeps an event until it counts the event's block, so this one was copied at an earlier time.
 * Threads without a ring in the tail are the exception. */
static bool is_tail_old(struct mt_reader *reader)
{
    const struct mt_tail_content *tail = &reader->tail.content;
    uint64_t kept_ns = tail->n_events ? tail->events[tail->n_events - 1].time_ns : 0, last_ns = 0;
    struct mt_trace_error error;
    struct mt_batch batch;
    if (!reader->rest || tail->slotless || tail->error.fault ||
        reader->tail.next != TAIL_DEFINITIONS)
        return false;
    while (mt_reader_next(reader->rest, &batch, &error) > 0)
        for (size_t i = 0; i < batch.n_events; i++)
            if (batch.events[i].time_ns > last_ns)
                last_ns = batch.events[i].time_ns;
    return last_ns > kept_ns;
}

/* Return the next batch of the file and its tail, with the events that replace the older segment.
 */
static int next_of_file(struct mt_reader *reader, struct mt_batch *batch,
                        struct mt_trace_error *error)
{
    memset(batch, 0, sizeof *batch);
    batch->state = reader->state;
    if (reader->n_left)
        return next_of_block(reader, batch, error, decode_events(reader, batch));
    if (reader->tail.next && reader->offset >= reader->tail.content.trace_size &&
        is_tail_old(reader)) {
        reader->tail.next = TAIL_NONE;
        reader->tail.fit = TAIL_OLD;
    }
    if (reader->tail.next && reader->offset >= reader->tail.content.trace_size)
        return next_of_tail(reader, batch, error);
    if (reader->is_following && !has_more(reader))
        return 0;
    int rc = next_block(reader, error);
    if (rc <= 0)
        return rc;
    if (reader->is_over)
        return damaged(reader, error, "it is after the end block");
    if (!mt_chain_fits(&reader->chain, &reader->block))
        return mt_reader_fail_gap(reader, error);
    reader->is_over = reader->block.type == MT_BLOCK_END;
    if ((rc = count(reader, error)))
        return rc;
    if (unpack(reader))
        return damaged(reader, error, "decompression");
    rc = next_of_block(reader, batch, error, decode(reader, batch));
    if (rc > 0 && reader->is_over && lacks_older(reader))
        return mt_reader_fail_older(reader, error);
    return rc > 0 && reader->is_over ? check_count(reader, &batch->end, error) : rc;
}

int mt_reader_next(struct mt_reader *reader, struct mt_batch *batch, struct mt_trace_error *error)
{
    memset(error, 0, sizeof *error);
    reader->turn ^= 1;
    if (reader->older.reader && !reader->older.is_read) {
        int rc = next_of_older(reader, batch, error);
        if (rc)
            return rc;
    }
    for (;;) {
        int rc = next_of_file(reader, batch, error);
        batch->version = reader->version;
        if (rc == 0 && lacks_older(reader))
            return mt_reader_fail_older(reader, error);
        if (rc == 0 && reader->tail.fit != TAIL_FITS && !reader->is_following)
            return mt_reader_fail_tail(reader, error);
        if (rc <= 0 || !batch->is_carried || !reader->skip_carried)
            return rc;
    }
}

void mt_reader_set_batch_size(struct mt_reader *reader, size_t events)
{
    reader->batch_size = events;
    if (reader->older.reader)
        reader->older.reader->batch_size = events;
}

const struct mt_end *mt_reader_end(const struct mt_reader *reader)
{
    return reader->state == MT_TRACE_CLOSED ? &reader->end : NULL;
}

enum mt_trace_state mt_reader_state(const struct mt_reader *reader)
{
    return reader->state;
}

bool mt_reader_is_over(const struct mt_reader *reader)
{
    return reader->sign == MT_AUTHOR_GONE || reader->state == MT_TRACE_STOPPED;
}

struct mt_chain mt_reader_chain(const struct mt_reader *reader)
{
    return reader->chain;
}

uint64_t mt_reader_offset(const struct mt_reader *reader)
{
    return reader->offset;
}

uint64_t mt_reader_file_size(const struct mt_reader *reader)
{
    return reader->file_size;
}

unsigned mt_reader_version(const struct mt_reader *reader)
{
    return reader->version;
}
