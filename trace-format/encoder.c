/* SPDX-License-Identifier: Apache-2.0 */
#include "encoder.h"
#include "block.h"
#include "columns.h"
#include "varint.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

struct buffer {
    unsigned char *bytes;
    size_t used, capacity;
};

struct mt_encoder {
    ZSTD_CCtx *zstd;
    struct mt_crc crc;
    struct mt_chain *chain, own_chain;
    int level;
    enum mt_block_type type; /* of the block under construction, once it has a record */
    uint32_t records;
    uint64_t base_time_ns;
    struct mt_event_encoder events;
    struct buffer definitions;
    struct buffer raw;   /* the columns, joined */
    struct buffer block; /* the result */
    /* Events added one by one, waiting for a full stretch. */
    struct mt_event waiting[MT_ENCODER_STRETCH];
    unsigned n_waiting;
};

static int buffer_reserve(struct buffer *buffer, size_t more)
{
    size_t need = buffer->used + more;
    if (need <= buffer->capacity)
        return 0;
    size_t capacity = buffer->capacity ? buffer->capacity : 4096;
    while (capacity < need)
        capacity *= 2;
    unsigned char *bytes = realloc(buffer->bytes, capacity);
    if (!bytes)
        return -ENOMEM;
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return 0;
}

/* Put bytes into reserved space. */
static void put(struct buffer *buffer, uint64_t value)
{
    buffer->used = (size_t)(mt_varint_put(buffer->bytes + buffer->used, value) - buffer->bytes);
}

static void put_bytes(struct buffer *buffer, const void *bytes, size_t size)
{
    if (size)
        memcpy(buffer->bytes + buffer->used, bytes, size);
    buffer->used += size;
}

void mt_encode_file_header(unsigned char out[MT_FILE_HEADER_SIZE], uint64_t trace_id,
                           uint64_t older_id)
{
    memset(out, 0, MT_FILE_HEADER_SIZE);
    memcpy(out, MT_FILE_MAGIC, MT_FILE_MAGIC_SIZE);
    mt_put16(out + 8, MT_FORMAT_VERSION);
    mt_put16(out + 10, MT_FILE_HEADER_SIZE);
    mt_put64(out + 16, trace_id);
    mt_put64(out + 24, older_id);
}

void mt_encode_live_header(unsigned char out[MT_LIVE_HEADER_SIZE], uint64_t trace_id,
                           uint64_t older_id, const struct mt_author *author)
{
    mt_encode_file_header(out, trace_id, older_id);
    mt_put16(out + 10, MT_LIVE_HEADER_SIZE);
    mt_author_put(out + MT_FILE_HEADER_SIZE, author);
}

struct mt_encoder *mt_encoder_create(int level)
{
    struct mt_encoder *encoder = calloc(1, sizeof *encoder);
    if (!encoder)
        return NULL;
    encoder->level = level;
    encoder->chain = &encoder->own_chain;
    mt_crc_init(&encoder->crc);
    encoder->zstd = ZSTD_createCCtx();
    if (!encoder->zstd) {
        free(encoder);
        return NULL;
    }
    return encoder;
}

void mt_encoder_begin(struct mt_encoder *encoder, uint64_t trace_id)
{
    encoder->own_chain = mt_chain_begin(trace_id, 0, MT_FORMAT_VERSION);
    encoder->chain = &encoder->own_chain;
}

void mt_encoder_follow(struct mt_encoder *encoder, struct mt_chain *chain)
{
    encoder->chain = chain;
}

void mt_encoder_destroy(struct mt_encoder *encoder)
{
    if (!encoder)
        return;
    mt_event_encoder_destroy(&encoder->events);
    free(encoder->definitions.bytes);
    free(encoder->raw.bytes);
    free(encoder->block.bytes);
    ZSTD_freeCCtx(encoder->zstd);
    free(encoder);
}

static int begin_record(struct mt_encoder *encoder, enum mt_block_type type)
{
    if (encoder->records && encoder->type != type)
        return -EINVAL;
    encoder->type = type;
    return 0;
}

static void put_waiting(struct mt_encoder *encoder)
{
    mt_event_encoder_put(&encoder->events, encoder->waiting, encoder->n_waiting);
    encoder->n_waiting = 0;
}

static int begin_events(struct mt_encoder *encoder, const struct mt_event *events, size_t n,
                        enum mt_block_type type)
{
    int rc = begin_record(encoder, type);
    if (!rc && n > mt_encoder_room(encoder))
        rc = -EINVAL;
    if (!rc)
        rc = mt_event_encoder_make(&encoder->events, events, n);
    if (!rc && n && !encoder->records) {
        encoder->base_time_ns = events->time_ns;
        mt_event_encoder_begin(&encoder->events, events->time_ns);
    }
    if (!rc)
        encoder->records += (uint32_t)n;
    return rc;
}

static int add_event(struct mt_encoder *encoder, const struct mt_event *event,
                     enum mt_block_type type)
{
    bool is_usual = encoder->records && encoder->type == type && event->device >= -1 &&
                    mt_event_encoder_has(&encoder->events, event->kind);
    if (!is_usual || encoder->records == MT_BLOCK_RECORDS) {
        int rc = begin_events(encoder, event, 1, type);
        if (rc)
            return rc;
    } else {
        encoder->records++;
    }
    /* Copy word by word, as the event was written: a processor does not forward two stores to one
     * load, and this keeps the compiler from joining the loads. */
    struct mt_event *copy = &encoder->waiting[encoder->n_waiting++];
    copy->time_ns = event->time_ns;
    for (unsigned i = 0; i < MT_EVENT_ARGS; i++)
        copy->arg[i] = __atomic_load_n(&event->arg[i], __ATOMIC_RELAXED);
    copy->thread = event->thread;
    copy->stack = event->stack;
    copy->kind = event->kind;
    copy->device = event->device;
    if (encoder->n_waiting == MT_ENCODER_STRETCH)
        put_waiting(encoder);
    return 0;
}

int mt_encoder_events(struct mt_encoder *encoder, struct mt_event *events, size_t n)
{
    int rc = begin_events(encoder, events, n, MT_BLOCK_EVENTS);
    if (rc)
        return rc;
    put_waiting(encoder);
    mt_event_encoder_put(&encoder->events, events, n);
    return 0;
}

int mt_encoder_event(struct mt_encoder *encoder, const struct mt_event *event)
{
    return add_event(encoder, event, MT_BLOCK_EVENTS);
}

int mt_encoder_carried(struct mt_encoder *encoder, const struct mt_event *event)
{
    return add_event(encoder, event, MT_BLOCK_CARRIED);
}

static void put_definition(struct buffer *out, const struct mt_definition *definition)
{
    put(out, definition->kind);
    put(out, definition->id);
    switch (definition->kind) {
    case MT_DEF_FRAME:
    case MT_DEF_SYMBOL:
    case MT_DEF_CALL:
        put(out, definition->frame.function);
        put(out, definition->frame.file);
        put(out, definition->frame.line);
        if (definition->kind == MT_DEF_CALL) {
            put(out, definition->frame.root);
            put(out, definition->frame.path);
        }
        return;
    case MT_DEF_STACK:
        put(out, definition->stack.parent);
        put(out, definition->stack.frame);
        return;
    case MT_DEF_IMAGE:
        put(out, definition->image.build_id);
        put(out, definition->image.path);
        return;
    case MT_DEF_NATIVE:
        put(out, definition->native.image);
        put(out, definition->native.address);
        return;
    case MT_DEF_THREAD:
        put(out, definition->os_thread);
        break;
    case MT_DEF_SUMMARY:
        put(out, (uint64_t)(definition->device + 1));
        break;
    case MT_DEF_STRING:
    case MT_DEF_INFO:
    case MT_DEF_LIMIT:
        break;
    }
    put(out, definition->text_size);
    put_bytes(out, definition->text, definition->text_size);
}

size_t mt_encode_definition(unsigned char out[MT_DEFINITION_SIZE],
                            const struct mt_definition *definition)
{
    struct buffer buffer = {out, 0, MT_DEFINITION_SIZE};
    put_definition(&buffer, definition);
    return buffer.used;
}

int mt_encoder_definition(struct mt_encoder *encoder, const struct mt_definition *definition)
{
    if (definition->kind < MT_DEF_STRING || definition->kind >= MT_DEF_LIMIT ||
        definition->text_size > MT_TEXT_LIMIT)
        return -EINVAL;
    int rc = begin_record(encoder, definition->kind == MT_DEF_SUMMARY ? MT_BLOCK_SUMMARY
                                                                      : MT_BLOCK_DEFINITIONS);
    if (rc)
        return rc;
    if (buffer_reserve(&encoder->definitions, 7 * MT_VARINT_SIZE + definition->text_size))
        return -ENOMEM;
    put_definition(&encoder->definitions, definition);
    encoder->records++;
    return 0;
}

bool mt_encoder_full(const struct mt_encoder *encoder)
{
    return encoder->records >= MT_BLOCK_RECORDS || encoder->definitions.used >= MT_BLOCK_BYTES;
}

size_t mt_encoder_room(const struct mt_encoder *encoder)
{
    return MT_BLOCK_RECORDS - encoder->records;
}

/* Return the column at a place of the block. The time columns come last, each in its own frame:
 * their nearly random bytes would spoil the statistics of the others. */
static unsigned column_at(unsigned place)
{
    static const unsigned last[] = {MT_COLUMN_TIME_HIGH, MT_COLUMN_TIME};
    if (place >= MT_COLUMNS - 2)
        return last[place - (MT_COLUMNS - 2)];
    place += place >= MT_COLUMN_TIME;
    return place + (place >= MT_COLUMN_TIME_HIGH);
}

/* Join the directory and the columns. A column that is left out is all zeros (columns.h). */
static int join_columns(struct mt_encoder *encoder)
{
    struct buffer *raw = &encoder->raw;
    struct mt_column_bytes *columns = encoder->events.column;
    unsigned count = 0;
    size_t bytes = 0;
    for (unsigned i = 0; i < MT_COLUMNS; i++) {
        if (!columns[i].is_written)
            columns[i].used = 0;
        count += columns[i].used != 0;
        bytes += columns[i].used;
    }
    if (buffer_reserve(raw, (1 + 2 * (size_t)count) * MT_VARINT_SIZE + bytes))
        return -ENOMEM;
    put(raw, count);
    for (unsigned i = 0; i < MT_COLUMNS; i++) {
        const struct mt_column_bytes *column = &columns[column_at(i)];
        if (column->used) {
            put(raw, column_at(i));
            put(raw, column->used);
        }
    }
    for (unsigned i = 0; i < MT_COLUMNS; i++) {
        const struct mt_column_bytes *column = &columns[column_at(i)];
        put_bytes(raw, column->bytes, column->used);
    }
    return 0;
}

/* Compress the payload from byte `from` on, without the last `but`, and append the frame. */
static int add_frame(struct mt_encoder *encoder, const struct buffer *payload, size_t from,
                     size_t but)
{
    struct buffer *block = &encoder->block;
    size_t size = payload->used - but - from;
    if (!size)
        return 0;
    if (buffer_reserve(block, ZSTD_compressBound(size)))
        return -ENOMEM;
    size =
        ZSTD_compressCCtx(encoder->zstd, block->bytes + block->used, block->capacity - block->used,
                          payload->bytes + from, size, encoder->level);
    if (ZSTD_isError(size))
        return -ENOMEM;
    block->used += size;
    return 0;
}

static bool is_of_events(const struct mt_encoder *encoder)
{
    return encoder->type == MT_BLOCK_EVENTS || encoder->type == MT_BLOCK_CARRIED;
}

static int add_frames(struct mt_encoder *encoder, const struct buffer *payload)
{
    if (!is_of_events(encoder))
        return add_frame(encoder, payload, 0, 0);
    size_t low = encoder->events.column[MT_COLUMN_TIME].used;
    size_t high = encoder->events.column[MT_COLUMN_TIME_HIGH].used;
    return add_frame(encoder, payload, 0, high + low) ||
                   add_frame(encoder, payload, payload->used - high - low, low) ||
                   add_frame(encoder, payload, payload->used - low, 0)
               ? -ENOMEM
               : 0;
}

/* Compress the payload into encoder->block, after the header. */
static int make_block(struct mt_encoder *encoder, const struct buffer *payload)
{
    struct buffer *block = &encoder->block;
    const unsigned version = encoder->chain->is_bare ? MT_BLOCK_LINKED - 1 : MT_FORMAT_VERSION;
    const size_t head = mt_block_header_size(version);
    struct mt_block_header header = {.type = (uint8_t)encoder->type,
                                     .codec = MT_CODEC_ZSTD,
                                     .raw_size = (uint32_t)payload->used,
                                     .records = encoder->records,
                                     .base_time_ns = encoder->base_time_ns};
    block->used = 0;
    if (buffer_reserve(block, head + payload->used))
        return -ENOMEM;
    block->used = head;
    /* Readers find the end block from the file's end, so it is not compressed. */
    int rc = encoder->type == MT_BLOCK_END ? 0 : add_frames(encoder, payload);
    if (rc)
        return rc;
    size_t size = block->used - head;
    if (size == 0 || size >= payload->used) {
        header.codec = MT_CODEC_RAW;
        block->used = head;
        put_bytes(block, payload->bytes, payload->used);
        size = payload->used;
    }
    header.stored_size = (uint32_t)size;
    mt_chain_link(encoder->chain, &header);
    mt_block_header_put(block->bytes, &header, block->bytes + head, version, &encoder->crc);
    mt_chain_add(encoder->chain, &header);
    return 0;
}

static void start_over(struct mt_encoder *encoder)
{
    encoder->records = 0;
    encoder->base_time_ns = 0;
    encoder->n_waiting = 0;
    mt_event_encoder_clear(&encoder->events);
    encoder->definitions.used = 0;
    encoder->raw.used = 0;
}

int mt_encoder_finish(struct mt_encoder *encoder, const unsigned char **out, size_t *size)
{
    *out = NULL;
    *size = 0;
    if (!encoder->records)
        return 0;
    int events = is_of_events(encoder);
    put_waiting(encoder);
    int rc = events ? join_columns(encoder) : 0;
    if (!rc)
        rc = make_block(encoder, events ? &encoder->raw : &encoder->definitions);
    start_over(encoder);
    if (rc)
        return rc;
    *out = encoder->block.bytes;
    *size = encoder->block.used;
    return 0;
}

int mt_encoder_end(struct mt_encoder *encoder, const struct mt_end *end, const unsigned char **out,
                   size_t *size)
{
    start_over(encoder);
    if (buffer_reserve(&encoder->raw, 3 * MT_VARINT_SIZE))
        return -ENOMEM;
    encoder->type = MT_BLOCK_END;
    put(&encoder->raw, end->time_ns);
    put(&encoder->raw, end->events);
    put(&encoder->raw, end->lost);
    int rc = make_block(encoder, &encoder->raw);
    start_over(encoder);
    *out = encoder->block.bytes;
    *size = rc ? 0 : encoder->block.used;
    return rc;
}
