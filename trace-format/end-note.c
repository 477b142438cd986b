/* SPDX-License-Identifier: Apache-2.0 */
#include "end-note.h"
#include "block.h"
#include "decoder.h"
#include "encoder.h"
#include "tail-reader.h"
#include "tail-request.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

/* The trace, block by block. Only headers and definitions are read. */
struct trace {
    int fd;
    uint64_t size, at; /* bytes: the file's size, and where the next block begins */
    uint64_t trace_id;
    uint64_t end_at;       /* of the end block; 0: none */
    struct mt_chain links; /* of the blocks, without the end */
    struct mt_end end;
    long pid, parent;         /* from info records; -1: none */
    char ended[MT_NOTED_END]; /* the last such info record; "": none */
    unsigned char *stored, *raw;
    struct mt_definition *definitions;
};

static int get(const struct trace *trace, void *out, size_t size, uint64_t from)
{
    return pread(trace->fd, out, size, (off_t)from) == (ssize_t)size ? 0 : -EIO;
}

static long number(const struct mt_definition *definition, size_t from)
{
    char text[24];
    snprintf(text, sizeof text, "%.*s", (int)(definition->text_size - from),
             definition->text + from);
    return strtol(text, NULL, 10);
}

static bool has_key(const struct mt_definition *definition, const char *key)
{
    return definition->text_size >= strlen(key) && !memcmp(definition->text, key, strlen(key));
}

static void keep_definition(struct trace *trace, const struct mt_definition *definition)
{
    const size_t ended = sizeof MT_ENDED_INFO - 1;
    if (definition->kind != MT_DEF_INFO)
        return;
    if (has_key(definition, "pid="))
        trace->pid = number(definition, 4);
    else if (has_key(definition, "parent_pid="))
        trace->parent = number(definition, 11);
    else if (has_key(definition, MT_ENDED_INFO))
        snprintf(trace->ended, sizeof trace->ended, "%.*s", (int)(definition->text_size - ended),
                 definition->text + ended);
}

static int unpack(struct trace *trace, const struct mt_block_header *header)
{
    if (header->codec == MT_CODEC_RAW && header->stored_size == header->raw_size) {
        memcpy(trace->raw, trace->stored, header->raw_size);
        return 0;
    }
    size_t size = ZSTD_decompress(trace->raw, header->raw_size, trace->stored, header->stored_size);
    return header->codec == MT_CODEC_ZSTD && size == header->raw_size ? 0 : -EINVAL;
}

/* Make room for a block's bytes and its definitions. */
static int make_room(struct trace *trace, const struct mt_block_header *header)
{
    free(trace->stored);
    free(trace->raw);
    free(trace->definitions);
    trace->stored = malloc(header->stored_size + 1u);
    trace->raw = malloc(header->raw_size + 1u);
    trace->definitions = calloc(header->records + 1u, sizeof *trace->definitions);
    return trace->stored && trace->raw && trace->definitions ? 0 : -ENOMEM;
}

static int read_definitions(struct trace *trace, const struct mt_block_header *header)
{
    int rc = header->records > header->raw_size ? -EINVAL : make_room(trace, header);
    if (!rc)
        rc = get(trace, trace->stored, header->stored_size, trace->at + MT_BLOCK_HEADER_SIZE);
    if (!rc)
        rc = unpack(trace, header);
    if (!rc)
        rc = mt_decode_definitions(trace->raw, header->raw_size, header->records,
                                   trace->definitions);
    for (size_t i = 0; !rc && i < header->records; i++)
        keep_definition(trace, &trace->definitions[i]);
    return rc;
}

static int read_end(struct trace *trace, const struct mt_block_header *header)
{
    unsigned char payload[3 * 10];
    if (header->codec != MT_CODEC_RAW || header->stored_size > sizeof payload)
        return -EINVAL;
    int rc = get(trace, payload, header->stored_size, trace->at + MT_BLOCK_HEADER_SIZE);
    trace->end_at = trace->at;
    return rc ? rc : mt_decode_end(payload, header->stored_size, &trace->end);
}

/* Read blocks up to a byte of the file, where a block must end. */
static int read_blocks(struct trace *trace, uint64_t until)
{
    struct mt_block_header header;
    int rc = 0;
    while (!rc && trace->at < until) {
        if (trace->end_at ||
            mt_block_header_at(trace->fd, trace->at, &header, MT_FORMAT_VERSION) <= 0 ||
            header.stored_size + MT_BLOCK_HEADER_SIZE > until - trace->at)
            return -EINVAL;
        if (header.type == MT_BLOCK_DEFINITIONS)
            rc = read_definitions(trace, &header);
        else if (header.type == MT_BLOCK_END)
            rc = read_end(trace, &header);
        if (!trace->links.blocks)
            trace->links.events = header.events;
        if (header.type != MT_BLOCK_END)
            mt_chain_add(&trace->links, &header);
        trace->at += header.stored_size + MT_BLOCK_HEADER_SIZE;
    }
    return rc;
}

static int read_header(struct trace *trace)
{
    unsigned char header[MT_FILE_HEADER_SIZE];
    struct stat status;
    if (fstat(trace->fd, &status) || !S_ISREG(status.st_mode) ||
        get(trace, header, sizeof header, 0) || memcmp(header, MT_FILE_MAGIC, MT_FILE_MAGIC_SIZE) ||
        mt_get16(header + 8) != MT_FORMAT_VERSION || mt_get16(header + 10) < sizeof header)
        return -EINVAL;
    trace->size = (uint64_t)status.st_size;
    trace->at = mt_get16(header + 10);
    trace->trace_id = mt_get64(header + 16);
    trace->links = mt_chain_begin(trace->trace_id, 0, MT_FORMAT_VERSION);
    return 0;
}

/* --- in the trace itself -------------------------------------------------------------------- */

/* Write the note and the end block after it in one call, so that no reader sees a part. */
static int write_note(struct trace *trace, struct mt_encoder *encoder, const char *how)
{
    char text[sizeof trace->ended + sizeof MT_ENDED_INFO];
    unsigned char bytes[512];
    const unsigned char *block;
    size_t size, n;
    struct mt_definition info = {.kind = MT_DEF_INFO, .text = text};
    info.text_size = (size_t)snprintf(text, sizeof text, MT_ENDED_INFO "%s", how);
    mt_encoder_follow(encoder, &trace->links);
    int rc = mt_encoder_definition(encoder, &info);
    if (!rc)
        rc = mt_encoder_finish(encoder, &block, &n);
    if (rc || n > sizeof bytes)
        return rc ? rc : -E2BIG;
    memcpy(bytes, block, n);
    if (trace->end_at) {
        rc = mt_encoder_end(encoder, &trace->end, &block, &size);
        if (rc || n + size > sizeof bytes)
            return rc ? rc : -E2BIG;
        memcpy(bytes + n, block, size);
        n += size;
    }
    uint64_t at = trace->end_at ? trace->end_at : trace->size;
    return pwrite(trace->fd, bytes, n, (off_t)at) == (ssize_t)n ? 0 : -EIO;
}

/* Call after reading the blocks. */
static int note_in_trace(struct trace *trace, pid_t pid, pid_t parent, const char *how)
{
    if (trace->pid != pid || (parent != MT_ANY_PARENT && trace->parent != parent))
        return -ESRCH;
    if (!strcmp(trace->ended, how))
        return 0;
    struct mt_encoder *encoder = mt_encoder_create(1);
    int rc = encoder ? write_note(trace, encoder, how) : -ENOMEM;
    mt_encoder_destroy(encoder);
    return rc;
}

/* --- in its tail ---------------------------------------------------------------------------- */

/* Do not write into the tail of a trace with an end block: the tail may be another trace's. */
static int note(struct trace *trace, const char *path, pid_t pid, pid_t parent, const char *how)
{
    int rc = read_header(trace), tail, noted = -EINVAL;
    if (rc)
        return rc;
    rc = read_blocks(trace, trace->size);
    if (!rc && trace->end_at)
        return note_in_trace(trace, pid, parent, how);
    tail = mt_tail_file(path, O_RDWR);
    if (tail >= 0) {
        noted = mt_tail_end_put(tail, trace->trace_id, pid, how);
        close(tail);
    }
    return noted == -EINVAL && !rc ? note_in_trace(trace, pid, parent, how) : noted;
}

static void open_trace(struct trace *trace, const char *path, int flags)
{
    *trace = (struct trace){
        .fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), .pid = -1, .parent = -1};
}

static void close_trace(struct trace *trace)
{
    free(trace->stored);
    free(trace->raw);
    free(trace->definitions);
    close(trace->fd);
}

int mt_note_end(const char *path, pid_t pid, pid_t parent, const char *how)
{
    struct trace trace;
    open_trace(&trace, path, O_RDWR);
    if (trace.fd < 0)
        return -errno;
    int rc = note(&trace, path, pid, parent, how);
    close_trace(&trace);
    return rc;
}

int mt_noted_end(const char *path, char out[MT_NOTED_END])
{
    struct trace trace;
    *out = '\0';
    open_trace(&trace, path, O_RDONLY);
    if (trace.fd < 0)
        return -errno;
    int rc = read_header(&trace);
    if (!rc)
        rc = read_blocks(&trace, trace.size);
    if (!rc)
        memcpy(out, trace.ended, sizeof trace.ended);
    close_trace(&trace);
    return rc;
}
