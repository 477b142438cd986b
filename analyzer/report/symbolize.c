/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/address-map.h"
#include "analyzer/support/hash.h"
#include "analyzer/support/write.h"
#include "analyzer/trace/definitions.h"
#include "analyzer/trace/scan.h"
#include "report.h"
#include "trace-format/block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL 3 /* zstd's */

struct work {
    struct mt_definitions *definitions;
    uint64_t end_offset; /* offset of the end block, before which names are inserted; 0: none */
    struct mt_end end;
    struct mt_chain chain;
    struct mt_encoder *encoder;
    struct mt_address_map strings; /* a text's hash -> id of its new definition */
    uint32_t last_string;
    FILE *out;
};

static int read_batch(void *data, const struct mt_batch *batch)
{
    struct work *work = data;
    for (size_t i = 0; i < batch->n_definitions; i++)
        if (mt_definitions_add(work->definitions, &batch->definitions[i]) == -ENOMEM)
            return -ENOMEM;
    if (batch->type == MT_BATCH_END) {
        work->end_offset = batch->offset;
        work->end = batch->end;
    }
    return 0;
}

/* Copy the file's bytes from one offset to another, or to its end. */
static int copy(struct work *work, FILE *in, uint64_t from, uint64_t to)
{
    char buffer[1 << 16];
    if (fseeko(in, (off_t)from, SEEK_SET))
        return -errno;
    while (from < to) {
        uint64_t want = to - from < sizeof buffer ? to - from : sizeof buffer;
        size_t n = fread(buffer, 1, want, in);
        if (!n)
            return ferror(in) ? -EIO : 0;
        int rc = mt_write_bytes(work->out, buffer, n);
        if (rc)
            return rc;
        from += n;
    }
    return 0;
}

/* Return the id of a text; define it if it is new. */
static int string_id(struct work *work, const char *text, uint32_t *id)
{
    uint64_t hash = mt_hash_text(MT_HASH_SEED, text);
    size_t size = strlen(text);
    *id = mt_address_map_get(&work->strings, hash);
    if (*id)
        return 0;
    *id = ++work->last_string;
    struct mt_definition string = {.kind = MT_DEF_STRING,
                                   .id = *id,
                                   .text = text,
                                   .text_size = size < MT_TEXT_LIMIT ? size : MT_TEXT_LIMIT};
    int rc = mt_address_map_put(&work->strings, hash, *id);
    return rc ? rc : mt_write_definition(work->out, work->encoder, &string);
}

static int name_frame(struct work *work, uint32_t id, struct mt_symbolized *result)
{
    const struct mt_frame *frame = mt_frame(work->definitions, id);
    const char *module = frame->file;
    if (!frame->is_native)
        return 0;
    result->frames++;
    if (frame->is_named) {
        result->before++;
        return 0;
    }
    frame = mt_named_frame(work->definitions, id);
    if (!frame->is_named)
        return 0;
    result->named++;
    struct mt_definition symbol = {.kind = MT_DEF_SYMBOL, .id = id};
    symbol.frame.line = frame->line;
    int rc = string_id(work, frame->function, &symbol.frame.function);
    if (!rc && frame->file != module)
        rc = string_id(work, frame->file, &symbol.frame.file);
    return rc ? rc : mt_write_definition(work->out, work->encoder, &symbol);
}

static int write_names(struct work *work, struct mt_symbolized *result)
{
    int rc = 0;
    work->last_string = mt_definitions_string_limit(work->definitions);
    for (uint32_t id = 1; !rc && id < mt_definitions_frame_limit(work->definitions); id++)
        rc = name_frame(work, id, result);
    return rc ? rc : mt_write_block(work->out, work->encoder);
}

static int rewrite(struct work *work, const char *path, struct mt_symbolized *result)
{
    FILE *in = fopen(path, "rb");
    if (!in)
        return -errno;
    uint64_t end = work->end_offset ? work->end_offset : UINT64_MAX;
    int rc = copy(work, in, 0, end);
    if (!rc)
        rc = mt_chain_read(&work->chain, fileno(in), end);
    mt_encoder_follow(work->encoder, &work->chain);
    if (!rc)
        rc = write_names(work, result);
    if (!rc && work->end_offset)
        rc = mt_write_end(work->out, work->encoder, &work->end);
    fclose(in);
    return rc;
}

int mt_symbolize(const char *path, FILE *out, struct mt_symbolized *result,
                 struct mt_trace_error *error)
{
    struct work work = {
        .definitions = mt_definitions_create(), .encoder = mt_encoder_create(LEVEL), .out = out};
    *result = (struct mt_symbolized){0};
    int rc = work.definitions && work.encoder ? mt_scan(path, read_batch, &work, error) : -ENOMEM;
    if (!rc && error->fault)
        rc = -EINVAL;
    if (!rc)
        rc = rewrite(&work, path, result);
    if (!rc && fflush(out))
        rc = -errno;
    mt_address_map_clear(&work.strings);
    mt_encoder_destroy(work.encoder);
    mt_definitions_destroy(work.definitions);
    return rc;
}
