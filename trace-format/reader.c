/* SPDX-License-Identifier: Apache-2.0 */
#include "reader.h"
#include "author/author.h"
#include "block.h"
#include "decoder.h"
#include "encoder.h"
#include "tail-reader.h"
#include "varint.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

/* Of an event block this much is given at once by default: it is used while it is in the
 * processor's second cache. A multiple of MT_STRETCH. */
#define EVENTS_AT_ONCE 1024u

#define MOST_TRIES 10 /* at a file that another takes the place of */

struct mt_buffer {
    void *bytes;
    size_t capacity;
};

struct mt_reader {
    int fd;
    unsigned version;
    uint64_t trace_id, older_id; /* 0: none */
    struct mt_reader *older;     /* the segment before, that is read first; NULL: none */
    int older_is_read, skip_carried, is_over; /* is_over: its end block was given */
    struct mt_author author; /* zeros: not known */
    enum mt_author_sign sign;
    enum mt_trace_state state;
    struct mt_end end; /* where the state is MT_TRACE_CLOSED */
    struct mt_tail_content tail;
    enum { TAIL_NONE, TAIL_DEFINITIONS, TAIL_EVENTS, TAIL_OVER } tail_next;
    uint64_t offset, file_size, header_size; /* bytes */
    ZSTD_DCtx *zstd;
    struct mt_crc crc;
    struct mt_buffer stored;
    struct mt_buffer raw[2];     /* the last two blocks, decompressed, in turn */
    struct mt_buffer records[2]; /* events or definitions of the last two batches, in turn */
    unsigned raw_turn, turn;
    /* the block that the next events are of */
    struct mt_block_header block;
    struct mt_event_decoder decoder;
    size_t n_left;  /* events; 0: it has been given */
    size_t at_once; /* the most events in a batch */
};

__attribute__((format(printf, 4, 5))) static int fail(struct mt_trace_error *error,
                                                      enum mt_trace_fault fault, uint64_t offset,
                                                      const char *format, ...)
{
    int rc = fault == MT_FAULT_SYSTEM && errno ? -errno : -EINVAL;
    error->fault = fault;
    error->offset = offset;
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    return rc;
}

static int no_memory(struct mt_trace_error *error, uint64_t offset)
{
    errno = ENOMEM;
    return fail(error, MT_FAULT_SYSTEM, offset, "out of memory at byte %llu of the trace",
                (unsigned long long)offset);
}

/* Bytes read: less than size only at the end of the file; -1 with errno. */
static ssize_t read_all(int fd, void *into, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = read(fd, (char *)into + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

static int ensure(struct mt_buffer *buffer, size_t need)
{
    if (need <= buffer->capacity)
        return 0;
    void *bytes = realloc(buffer->bytes, need);
    if (!bytes)
        return -ENOMEM;
    buffer->bytes = bytes;
    buffer->capacity = need;
    return 0;
}

static int read_file_header(struct mt_reader *reader, struct mt_trace_error *error)
{
    unsigned char header[MT_LIVE_HEADER_SIZE];
    const size_t least = 16; /* of version 1 */
    errno = 0;
    ssize_t n = read_all(reader->fd, header, sizeof header);
    if (n < 0)
        return fail(error, MT_FAULT_SYSTEM, 0, "%s", strerror(errno));
    if (n == 0)
        return fail(error, MT_FAULT_EMPTY, 0,
                    "the file is empty; the program was stopped before anything was recorded, or "
                    "the disk was full");
    size_t magic = (size_t)n < MT_FILE_MAGIC_SIZE ? (size_t)n : MT_FILE_MAGIC_SIZE;
    if (memcmp(header, MT_FILE_MAGIC, magic))
        return fail(error, MT_FAULT_FOREIGN, 0,
                    "not a memtap trace (byte 0); give a file that memtap wrote (*.mtap)");
    size_t needed = (size_t)n < least || mt_get16(header + 8) < 2 ? least : MT_FILE_HEADER_SIZE;
    if ((size_t)n < needed)
        return fail(error, MT_FAULT_CUT, (uint64_t)n, "the trace is cut at byte %zd, in its header",
                    n);
    reader->version = mt_get16(header + 8);
    if (reader->version > MT_FORMAT_VERSION)
        return fail(error, MT_FAULT_VERSION, 8,
                    "the trace has format version %u and this memtap reads up to %u; use a newer "
                    "memtap",
                    reader->version, MT_FORMAT_VERSION);
    unsigned size = mt_get16(header + 10);
    if (reader->version >= 2)
        reader->trace_id = mt_get64(header + 16);
    if (reader->version >= 2)
        reader->older_id = mt_get64(header + 24);
    if (reader->version >= 2 && size >= sizeof header && (size_t)n == sizeof header)
        mt_author_get(header + MT_FILE_HEADER_SIZE, &reader->author);
    if (reader->version < 1 || size < needed || size > reader->file_size ||
        lseek(reader->fd, (off_t)size, SEEK_SET) != (off_t)size)
        return fail(error, MT_FAULT_DAMAGED, 8, "the trace's header is damaged (byte 8)");
    reader->offset = reader->header_size = size;
    return 0;
}

static int open_file(struct mt_reader *reader, const char *path, struct mt_trace_error *error)
{
    struct stat status;
    reader->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO would be waited for */
    if (reader->fd < 0 || fstat(reader->fd, &status))
        return fail(error, MT_FAULT_SYSTEM, 0, "%s", strerror(errno));
    if (!S_ISREG(status.st_mode)) {
        errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
        return fail(error, MT_FAULT_SYSTEM, 0, "not a regular file; give a trace (*.mtap)");
    }
    reader->file_size = (uint64_t)status.st_size;
    return read_file_header(reader, error);
}

/* It is the last block, and stored as it is. */
static int find_end(struct mt_reader *reader)
{
    unsigned char bytes[MT_BLOCK_HEADER_SIZE + 3 * MT_VARINT_SIZE];
    uint64_t room = reader->file_size > reader->offset ? reader->file_size - reader->offset : 0;
    size_t size = room < sizeof bytes ? (size_t)room : sizeof bytes;
    struct mt_block_header header;
    if (pread(reader->fd, bytes, size, (off_t)(reader->file_size - size)) != (ssize_t)size)
        return 0;
    for (size_t payload = 3; MT_BLOCK_HEADER_SIZE + payload <= size; payload++) {
        const unsigned char *head = bytes + size - payload - MT_BLOCK_HEADER_SIZE;
        const unsigned char *stored = head + MT_BLOCK_HEADER_SIZE;
        if (!mt_block_header_get(head, &header) && header.type == MT_BLOCK_END &&
            header.codec == MT_CODEC_RAW && header.stored_size == payload &&
            mt_block_sound(head, stored, payload, &reader->crc))
            return !mt_decode_end(stored, payload, &reader->end);
    }
    return 0;
}

const char *const mt_trace_state_names[MT_TRACE_STATES] = {
    [MT_TRACE_CLOSED] = "closed", [MT_TRACE_RUNNING] = "running", [MT_TRACE_KILLED] = "killed",
    [MT_TRACE_OPEN] = "open",     [MT_TRACE_STOPPED] = "stopped", [MT_TRACE_EXECUTED] = "executed",
};

/* As its tail has it. A process that is about to become another program lives. */
static enum mt_trace_state state_of(const struct mt_tail_content *tail, int is_read,
                                    enum mt_author_sign sign)
{
    if (is_read && tail->end == MT_TAIL_STOPPED)
        return MT_TRACE_STOPPED;
    if (sign == MT_AUTHOR_LIVES)
        return MT_TRACE_RUNNING;
    if (is_read)
        return tail->end == MT_TAIL_EXECUTED ? MT_TRACE_EXECUTED : MT_TRACE_KILLED;
    return MT_TRACE_OPEN;
}

static enum mt_author_sign look_for_author(const struct mt_reader *reader)
{
    struct stat status;
    const struct mt_tail_content *tail = &reader->tail;
    if (fstat(reader->fd, &status))
        return MT_AUTHOR_UNSEEN;
    uint64_t written_ns =
        (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
    struct mt_author_evidence evidence = {
        .is_locked = tail->is_locked || mt_author_is_locked(reader->fd),
        .is_other = tail->end == MT_TAIL_EXECUTED,
        .last_sign_ns = tail->alive_ns > written_ns ? tail->alive_ns : written_ns,
        .device = status.st_dev,
        .inode = status.st_ino};
    return mt_author_look(&reader->author, &evidence);
}

/* How the recording ended, and its tail. */
static int find_state(struct mt_reader *reader, const char *path, struct mt_trace_error *error)
{
    if (find_end(reader)) {
        reader->state = MT_TRACE_CLOSED;
        reader->sign = MT_AUTHOR_GONE;
        return 0;
    }
    const struct mt_tail_of trace = {path, reader->trace_id, reader->header_size};
    int rc = mt_tail_read(&reader->tail, &trace);
    reader->sign = look_for_author(reader);
    reader->state = state_of(&reader->tail, rc > 0, reader->sign);
    reader->tail_next = rc > 0 ? TAIL_DEFINITIONS : TAIL_NONE;
    if (rc == -EPROTO)
        return fail(error, MT_FAULT_VERSION, 8,
                    "its tail (*" MT_TAIL_SUFFIX ") has a version that this memtap does not know; "
                    "use a newer memtap");
    return rc < 0 ? no_memory(error, 0) : 0;
}

/* A file, whatever it belongs to. */
static int open_reader(struct mt_reader **out, const char *path, struct mt_trace_error *error)
{
    *out = NULL;
    memset(error, 0, sizeof *error);
    struct mt_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return no_memory(error, 0);
    reader->fd = -1;
    reader->at_once = EVENTS_AT_ONCE;
    mt_crc_init(&reader->crc);
    int rc = open_file(reader, path, error);
    if (!rc) {
        reader->zstd = ZSTD_createDCtx();
        if (!reader->zstd)
            rc = no_memory(error, 0);
    }
    if (rc) {
        mt_reader_close(reader);
        return rc;
    }
    *out = reader;
    return 0;
}

/* The older segment, if the one beside the trace is that. */
static struct mt_reader *open_older(const struct mt_reader *reader, const char *path)
{
    char real[PATH_MAX], name[PATH_MAX + sizeof MT_OLDER_SUFFIX];
    struct mt_trace_error error;
    struct mt_reader *older;
    snprintf(name, sizeof name, "%s" MT_OLDER_SUFFIX, realpath(path, real) ? real : path);
    if (!reader->older_id || open_reader(&older, name, &error))
        return NULL;
    if (older->trace_id == reader->older_id)
        return older;
    mt_reader_close(older);
    return NULL;
}

/* Whether the file was closed, or another segment took its place, while its author was looked for.
 */
static int has_gone_on(const struct mt_reader *reader, const char *path)
{
    struct stat ours, there;
    return !fstat(reader->fd, &ours) && !stat(path, &there) &&
           (ours.st_dev != there.st_dev || ours.st_ino != there.st_ino ||
            (uint64_t)ours.st_size != reader->file_size);
}

int mt_reader_open(struct mt_reader **out, const char *path, struct mt_trace_error *error)
{
    for (int tries = MOST_TRIES;; tries--) {
        int rc = open_reader(out, path, error);
        if (!rc)
            rc = find_state(*out, path, error);
        int is_moving = !rc && tries && (*out)->state != MT_TRACE_CLOSED &&
                        (*out)->state != MT_TRACE_RUNNING && has_gone_on(*out, path);
        if (!rc && !is_moving)
            break;
        mt_reader_close(*out);
        *out = NULL;
        if (rc)
            return rc;
    }
    (*out)->older = open_older(*out, path);
    (*out)->skip_carried = (*out)->older != NULL;
    return 0;
}

static int cut(struct mt_reader *reader, struct mt_trace_error *error)
{
    return fail(error, MT_FAULT_CUT, reader->offset,
                "the trace is cut in the block at byte %llu; everything before it is sound",
                (unsigned long long)reader->offset);
}

static int damaged(struct mt_reader *reader, struct mt_trace_error *error, const char *what)
{
    return fail(error, MT_FAULT_DAMAGED, reader->offset,
                "the block at byte %llu is damaged (%s); everything before it is sound",
                (unsigned long long)reader->offset, what);
}

/* Reads header and payload of the next block and makes room for its content. 1, 0 at the end
 * of the file, or an error. */
static int read_block(struct mt_reader *reader, struct mt_trace_error *error)
{
    unsigned char head[MT_BLOCK_HEADER_SIZE];
    struct mt_block_header *header = &reader->block;
    errno = 0;
    ssize_t n = read_all(reader->fd, head, sizeof head);
    if (n < 0)
        return fail(error, MT_FAULT_SYSTEM, reader->offset, "%s", strerror(errno));
    if (n == 0)
        return 0;
    if ((size_t)n < sizeof head)
        return cut(reader, error);
    if (mt_block_header_get(head, header))
        return damaged(reader, error, "no block header");
    if (ensure(&reader->stored, header->stored_size) ||
        ensure(&reader->raw[reader->raw_turn], header->raw_size))
        return no_memory(error, reader->offset);
    n = read_all(reader->fd, reader->stored.bytes, header->stored_size);
    if (n < 0)
        return fail(error, MT_FAULT_SYSTEM, reader->offset, "%s", strerror(errno));
    if ((size_t)n < header->stored_size)
        return cut(reader, error);
    if (!mt_block_sound(head, reader->stored.bytes, header->stored_size, &reader->crc))
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

/* Of the block that was begun. */
static int decode_events(struct mt_reader *reader, struct mt_batch *batch)
{
    size_t n = reader->n_left < reader->at_once ? reader->n_left : reader->at_once;
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
    return mt_decode_definitions(raw, reader->block.raw_size, n, to->bytes);
}

/* 0, -EINVAL where the payload is no such records, -ENOMEM. */
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
    const struct mt_tail_content *tail = &reader->tail;
    batch->offset = reader->offset;
    batch->file_size = reader->file_size;
    batch->is_tail = 1;
    if (reader->tail_next == TAIL_DEFINITIONS) {
        reader->tail_next = TAIL_EVENTS;
        batch->type = MT_BATCH_DEFINITIONS;
        batch->definitions = tail->definitions;
        batch->n_definitions = tail->n_definitions;
        if (tail->n_definitions)
            return 1;
    }
    if (reader->tail_next == TAIL_EVENTS) {
        reader->tail_next = TAIL_OVER;
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

/* 1, or 0 where the file ends, or what counts of it. */
static int next_block(struct mt_reader *reader, struct mt_trace_error *error)
{
    int rc = read_block(reader, error);
    if (error->fault == MT_FAULT_CUT && reader->state == MT_TRACE_RUNNING) {
        memset(error, 0, sizeof *error); /* it is being written just now */
        return 0;
    }
    if (rc == 0 && reader->tail_next)
        return fail(error, MT_FAULT_CUT, reader->offset,
                    "the trace is cut at byte %llu, and its tail begins at byte %llu; everything "
                    "before it is sound",
                    (unsigned long long)reader->offset,
                    (unsigned long long)reader->tail.trace_size);
    return rc;
}

/* 1, 0 where it has been read, or an error. It stays open: its last batch is still in use. */
static int next_of_older(struct mt_reader *reader, struct mt_batch *batch,
                         struct mt_trace_error *error)
{
    int rc = mt_reader_next(reader->older, batch, error);
    batch->state = reader->state;
    batch->is_older = 1;
    reader->older_is_read = rc <= 0;
    return rc;
}

/* rc: of decoding. A block counts as read when all of it was given. */
static int next_of_block(struct mt_reader *reader, struct mt_batch *batch,
                         struct mt_trace_error *error, int rc)
{
    batch->offset = reader->offset;
    batch->file_size = reader->file_size;
    if (rc)
        reader->n_left = 0;
    if (rc == -ENOMEM)
        return no_memory(error, reader->offset);
    if (rc)
        return damaged(reader, error, "content");
    if (!reader->n_left)
        reader->offset += MT_BLOCK_HEADER_SIZE + reader->block.stored_size;
    return 1;
}

/* The next of the file and its tail, what stands for the older segment included. */
static int next_of_file(struct mt_reader *reader, struct mt_batch *batch,
                        struct mt_trace_error *error)
{
    memset(batch, 0, sizeof *batch);
    batch->state = reader->state;
    if (reader->n_left)
        return next_of_block(reader, batch, error, decode_events(reader, batch));
    if (reader->tail_next && reader->offset >= reader->tail.trace_size)
        return next_of_tail(reader, batch, error);
    int rc = next_block(reader, error);
    if (rc <= 0)
        return rc;
    if (reader->is_over)
        return damaged(reader, error, "it comes after the end");
    reader->is_over = reader->block.type == MT_BLOCK_END;
    if (unpack(reader))
        return damaged(reader, error, "decompression");
    return next_of_block(reader, batch, error, decode(reader, batch));
}

int mt_reader_next(struct mt_reader *reader, struct mt_batch *batch, struct mt_trace_error *error)
{
    memset(error, 0, sizeof *error);
    reader->turn ^= 1;
    if (reader->older && !reader->older_is_read) {
        int rc = next_of_older(reader, batch, error);
        if (rc)
            return rc;
    }
    for (;;) {
        int rc = next_of_file(reader, batch, error);
        if (rc <= 0 || !batch->is_carried || !reader->skip_carried)
            return rc;
    }
}

void mt_reader_give_at_once(struct mt_reader *reader, size_t events)
{
    reader->at_once = events;
    if (reader->older)
        reader->older->at_once = events;
}

const struct mt_end *mt_reader_end(const struct mt_reader *reader)
{
    return reader->state == MT_TRACE_CLOSED ? &reader->end : NULL;
}

enum mt_trace_state mt_reader_state(const struct mt_reader *reader)
{
    return reader->state;
}

int mt_reader_is_over(const struct mt_reader *reader)
{
    return reader->sign == MT_AUTHOR_GONE || reader->state == MT_TRACE_STOPPED;
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

void mt_reader_close(struct mt_reader *reader)
{
    if (!reader)
        return;
    if (reader->fd >= 0)
        close(reader->fd);
    mt_reader_close(reader->older);
    ZSTD_freeDCtx(reader->zstd);
    mt_tail_clear(&reader->tail);
    free(reader->stored.bytes);
    for (unsigned i = 0; i < 2; i++) {
        free(reader->raw[i].bytes);
        free(reader->records[i].bytes);
    }
    free(reader);
}
