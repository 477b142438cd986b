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

/* The events' numbers in a column. It has room for a whole block; the system provides only what is
 * used. */
struct column {
    unsigned char *bytes; /* NULL: no event of its kind was seen yet */
    size_t used;
};
#define COLUMN_ROOM ((size_t)MT_BLOCK_RECORDS * MT_VARINT_SIZE)

struct mt_encoder {
    ZSTD_CCtx *zstd;
    struct mt_crc crc;
    int level;
    unsigned char has_columns[MT_KIND_LIMIT];
    enum mt_block_type type; /* of the block under construction, once it has a record */
    uint32_t records;
    uint64_t base_time_ns, last_time_ns;
    struct mt_predictor predictor;
    struct column column[MT_COLUMNS]; /* events */
    struct buffer definitions;
    struct buffer raw;   /* columns put together */
    struct buffer block; /* the result */
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

/* Put bytes into reserved room. */
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
    mt_crc_init(&encoder->crc);
    encoder->zstd = ZSTD_createCCtx();
    if (!encoder->zstd) {
        free(encoder);
        return NULL;
    }
    return encoder;
}

void mt_encoder_destroy(struct mt_encoder *encoder)
{
    if (!encoder)
        return;
    for (unsigned i = 0; i < MT_COLUMNS; i++)
        free(encoder->column[i].bytes);
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

static int make_column(struct column *column)
{
    if (!column->bytes)
        column->bytes = malloc(COLUMN_ROOM);
    return column->bytes ? 0 : -ENOMEM;
}

/* Make the columns of a kind seen for the first time, and the common ones. */
static int make_columns(struct mt_encoder *encoder, unsigned kind)
{
    int rc = 0;
    for (unsigned i = 0; i < MT_COLUMN_COMMON && !rc; i++)
        rc = make_column(&encoder->column[i]);
    for (unsigned i = 0; i < mt_kind_fields[kind] && !rc; i++)
        rc = make_column(&encoder->column[mt_arg_column(kind, i)]);
    encoder->has_columns[kind] = !rc;
    return rc;
}

static inline void put_byte(struct column *column, unsigned char byte)
{
    column->bytes[column->used++] = byte;
}

static inline void put_number(struct column *column, uint64_t value)
{
    unsigned char *at = column->bytes + column->used;
    column->used = (size_t)(mt_varint_put(at, value) - column->bytes);
}

/* Return the number to store for an argument. The event's earlier arguments come first. */
static inline uint64_t predict(struct mt_predictor *state, const struct mt_event *event,
                               unsigned field)
{
    static const unsigned char codes[MT_KIND_LIMIT][MT_EVENT_ARGS] = {
#define CODE(name, code) MT_CODE_##code,
#define CODES(id, number, name, about, fields) [number] = {fields},
        MT_EVENT_KINDS(CODES, CODE)
#undef CODE
#undef CODES
    };
    uint64_t value = event->arg[field];
    enum mt_code code = (enum mt_code)codes[event->kind][field];
    if (code == MT_CODE_PLAIN)
        return value;
    if (code == MT_CODE_PENDING) {
        uint64_t number = mt_exchange_pending(state, mt_zigzag(value - state->met));
        mt_run_pending(state, event);
        return number;
    }
    uint64_t *base = mt_predicted(state, event, field, code);
    if (!base)
        return value;
    uint64_t difference = value - *base;
    *base = value;
    return mt_zigzag(difference);
}

static int add_event(struct mt_encoder *encoder, const struct mt_event *event,
                     enum mt_block_type type)
{
    if (event->kind >= MT_KIND_LIMIT || !mt_kinds[event->kind].name || event->device < -1)
        return -EINVAL;
    int rc = begin_record(encoder, type);
    if (!rc && encoder->records >= MT_BLOCK_RECORDS)
        rc = -EINVAL;
    if (!rc && !encoder->has_columns[event->kind])
        rc = make_columns(encoder, event->kind);
    if (rc)
        return rc;
    if (!encoder->records++) {
        encoder->base_time_ns = event->time_ns;
        encoder->last_time_ns = event->time_ns;
        memset(&encoder->predictor, 0, offsetof(struct mt_predictor, pending));
    }
    uint64_t elapsed = event->time_ns - encoder->last_time_ns;
    struct column *column = encoder->column, *argument = &column[mt_arg_column(event->kind, 0)];
    put_byte(&column[MT_COLUMN_KIND], (unsigned char)event->kind);
    put_byte(&column[MT_COLUMN_TIME], (unsigned char)elapsed);
    put_number(&column[MT_COLUMN_TIME_HIGH], elapsed >> 8);
    put_number(&column[MT_COLUMN_THREAD], event->thread);
    put_number(&column[MT_COLUMN_DEVICE], (uint64_t)(event->device + 1));
    put_number(&column[MT_COLUMN_STACK], event->stack);
    for (unsigned i = 0, n = mt_kind_fields[event->kind]; i < n; i++)
        put_number(&argument[i], predict(&encoder->predictor, event, i));
    if (event->kind == MT_NODE_NEW)
        mt_add_pending(&encoder->predictor, event->NODE_NEW.node);
    encoder->last_time_ns = event->time_ns;
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

int mt_encoder_full(const struct mt_encoder *encoder)
{
    return encoder->records >= MT_BLOCK_RECORDS || encoder->definitions.used >= MT_BLOCK_BYTES;
}

/* Return a column by its order in a block. The time's are last, each in a frame of its own: nearly
 * random bytes would spoil the statistics of the others. */
static unsigned column_at(unsigned place)
{
    static const unsigned last[] = {MT_COLUMN_TIME_HIGH, MT_COLUMN_TIME};
    if (place >= MT_COLUMNS - 2)
        return last[place - (MT_COLUMNS - 2)];
    place += place >= MT_COLUMN_TIME;
    return place + (place >= MT_COLUMN_TIME_HIGH);
}

static bool is_all_zeros(const struct column *column)
{
    const unsigned char *bytes = column->bytes;
    return !column->used || (!bytes[0] && !memcmp(bytes, bytes + 1, column->used - 1));
}

/* Join a directory and the columns; a missing column is all zeros (columns.h). */
static int join_columns(struct mt_encoder *encoder)
{
    struct buffer *raw = &encoder->raw;
    unsigned count = 0;
    size_t bytes = 0;
    for (unsigned i = 0; i < MT_COLUMNS; i++) {
        if (is_all_zeros(&encoder->column[i]))
            encoder->column[i].used = 0;
        count += encoder->column[i].used != 0;
        bytes += encoder->column[i].used;
    }
    if (buffer_reserve(raw, (1 + 2 * (size_t)count) * MT_VARINT_SIZE + bytes))
        return -ENOMEM;
    put(raw, count);
    for (unsigned i = 0; i < MT_COLUMNS; i++) {
        const struct column *column = &encoder->column[column_at(i)];
        if (column->used) {
            put(raw, column_at(i));
            put(raw, column->used);
        }
    }
    for (unsigned i = 0; i < MT_COLUMNS; i++) {
        const struct column *column = &encoder->column[column_at(i)];
        put_bytes(raw, column->bytes, column->used);
    }
    return 0;
}

/* Compress the payload's bytes from `from` on, without the last `but`, and append the frame. */
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
    size_t low = encoder->column[MT_COLUMN_TIME].used;
    size_t high = encoder->column[MT_COLUMN_TIME_HIGH].used;
    return add_frame(encoder, payload, 0, high + low) ||
                   add_frame(encoder, payload, payload->used - high - low, low) ||
                   add_frame(encoder, payload, payload->used - low, 0)
               ? -ENOMEM
               : 0;
}

/* Compress the payload into encoder->block, and put the header before it. */
static int make_block(struct mt_encoder *encoder, const struct buffer *payload)
{
    struct buffer *block = &encoder->block;
    struct mt_block_header header = {.type = (uint8_t)encoder->type,
                                     .codec = MT_CODEC_ZSTD,
                                     .raw_size = (uint32_t)payload->used,
                                     .records = encoder->records,
                                     .base_time_ns = encoder->base_time_ns};
    block->used = 0;
    if (buffer_reserve(block, MT_BLOCK_HEADER_SIZE + payload->used))
        return -ENOMEM;
    block->used = MT_BLOCK_HEADER_SIZE;
    /* Readers find the end block from the file's end, so do not compress it. */
    int rc = encoder->type == MT_BLOCK_END ? 0 : add_frames(encoder, payload);
    if (rc)
        return rc;
    size_t size = block->used - MT_BLOCK_HEADER_SIZE;
    if (size == 0 || size >= payload->used) {
        header.codec = MT_CODEC_RAW;
        block->used = MT_BLOCK_HEADER_SIZE;
        put_bytes(block, payload->bytes, payload->used);
        size = payload->used;
    }
    header.stored_size = (uint32_t)size;
    mt_block_header_put(block->bytes, &header, block->bytes + MT_BLOCK_HEADER_SIZE, &encoder->crc);
    return 0;
}

static void start_over(struct mt_encoder *encoder)
{
    encoder->records = 0;
    encoder->base_time_ns = 0;
    for (unsigned i = 0; i < MT_COLUMNS; i++)
        encoder->column[i].used = 0;
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
