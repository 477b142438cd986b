/* SPDX-License-Identifier: Apache-2.0 */
#include "end-note.h"
#include "block.h"
#include "decoder.h"
#include "encoder.h"
#include "tail-reader.h"
#include "tail-request.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

/* The trace, block by block. Only headers and definitions are read. */
struct chain {
    int fd;
    uint64_t size, at; /* bytes: the file's size, and where the next block begins */
    uint64_t trace_id;
    uint64_t end_at; /* of the end block; 0: none */
    struct mt_end end;
    long pid, parent;         /* from info records; -1: none */
    char ended[MT_NOTED_END]; /* the last such info record; "": none */
    unsigned char *stored, *raw;
    struct mt_definition *definitions;
};

static int get(const struct chain *chain, void *out, size_t size, uint64_t from)
{
    return pread(chain->fd, out, size, (off_t)from) == (ssize_t)size ? 0 : -EIO;
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

static void take(struct chain *chain, const struct mt_definition *definition)
{
    const size_t ended = sizeof MT_ENDED_INFO - 1;
    if (definition->kind != MT_DEF_INFO)
        return;
    if (has_key(definition, "pid="))
        chain->pid = number(definition, 4);
    else if (has_key(definition, "parent_pid="))
        chain->parent = number(definition, 11);
    else if (has_key(definition, MT_ENDED_INFO))
        snprintf(chain->ended, sizeof chain->ended, "%.*s", (int)(definition->text_size - ended),
                 definition->text + ended);
}

static int unpack(struct chain *chain, const struct mt_block_header *header)
{
    if (header->codec == MT_CODEC_RAW && header->stored_size == header->raw_size) {
        memcpy(chain->raw, chain->stored, header->raw_size);
        return 0;
    }
    size_t size = ZSTD_decompress(chain->raw, header->raw_size, chain->stored, header->stored_size);
    return header->codec == MT_CODEC_ZSTD && size == header->raw_size ? 0 : -EINVAL;
}

/* Make room for a block's bytes and its definitions. */
static int make_room(struct chain *chain, const struct mt_block_header *header)
{
    free(chain->stored);
    free(chain->raw);
    free(chain->definitions);
    chain->stored = malloc(header->stored_size + 1u);
    chain->raw = malloc(header->raw_size + 1u);
    chain->definitions = calloc(header->records + 1u, sizeof *chain->definitions);
    return chain->stored && chain->raw && chain->definitions ? 0 : -ENOMEM;
}

static int read_definitions(struct chain *chain, const struct mt_block_header *header)
{
    int rc = header->records > header->raw_size ? -EINVAL : make_room(chain, header);
    if (!rc)
        rc = get(chain, chain->stored, header->stored_size, chain->at + MT_BLOCK_HEADER_SIZE);
    if (!rc)
        rc = unpack(chain, header);
    if (!rc)
        rc = mt_decode_definitions(chain->raw, header->raw_size, header->records,
                                   chain->definitions);
    for (size_t i = 0; !rc && i < header->records; i++)
        take(chain, &chain->definitions[i]);
    return rc;
}

static int read_end(struct chain *chain, const struct mt_block_header *header)
{
    unsigned char payload[3 * 10];
    if (header->codec != MT_CODEC_RAW || header->stored_size > sizeof payload)
        return -EINVAL;
    int rc = get(chain, payload, header->stored_size, chain->at + MT_BLOCK_HEADER_SIZE);
    chain->end_at = chain->at;
    return rc ? rc : mt_decode_end(payload, header->stored_size, &chain->end);
}

/* Read blocks up to a byte of the file, where a block must end. */
static int read_blocks(struct chain *chain, uint64_t until)
{
    unsigned char head[MT_BLOCK_HEADER_SIZE];
    struct mt_block_header header;
    int rc = 0;
    while (!rc && chain->at < until) {
        if (chain->end_at || get(chain, head, sizeof head, chain->at) ||
            mt_block_header_get(head, &header) ||
            header.stored_size + sizeof head > until - chain->at)
            return -EINVAL;
        if (header.type == MT_BLOCK_DEFINITIONS)
            rc = read_definitions(chain, &header);
        else if (header.type == MT_BLOCK_END)
            rc = read_end(chain, &header);
        chain->at += header.stored_size + sizeof head;
    }
    return rc;
}

static int read_header(struct chain *chain)
{
    unsigned char header[MT_FILE_HEADER_SIZE];
    struct stat status;
    if (fstat(chain->fd, &status) || !S_ISREG(status.st_mode) ||
        get(chain, header, sizeof header, 0) || memcmp(header, MT_FILE_MAGIC, MT_FILE_MAGIC_SIZE) ||
        mt_get16(header + 8) != MT_FORMAT_VERSION || mt_get16(header + 10) < sizeof header)
        return -EINVAL;
    chain->size = (uint64_t)status.st_size;
    chain->at = mt_get16(header + 10);
    chain->trace_id = mt_get64(header + 16);
    return 0;
}

/* --- in the trace itself -------------------------------------------------------------------- */

/* Write the note, and the end block after it, at once, so that no reader finds a part of it. */
static int write_note(const struct chain *chain, struct mt_encoder *encoder, const char *how)
{
    char text[sizeof chain->ended + sizeof MT_ENDED_INFO];
    unsigned char bytes[512];
    const unsigned char *block;
    size_t size, n;
    struct mt_definition info = {.kind = MT_DEF_INFO, .text = text};
    info.text_size = (size_t)snprintf(text, sizeof text, MT_ENDED_INFO "%s", how);
    int rc = mt_encoder_definition(encoder, &info);
    if (!rc)
        rc = mt_encoder_finish(encoder, &block, &n);
    if (rc || n > sizeof bytes)
        return rc ? rc : -E2BIG;
    memcpy(bytes, block, n);
    if (chain->end_at) {
        rc = mt_encoder_end(encoder, &chain->end, &block, &size);
        if (rc || n + size > sizeof bytes)
            return rc ? rc : -E2BIG;
        memcpy(bytes + n, block, size);
        n += size;
    }
    uint64_t at = chain->end_at ? chain->end_at : chain->size;
    return pwrite(chain->fd, bytes, n, (off_t)at) == (ssize_t)n ? 0 : -EIO;
}

/* Call after reading the blocks. */
static int note_in_trace(struct chain *chain, pid_t pid, pid_t parent, const char *how)
{
    if (chain->pid != pid || (parent != MT_ANY_PARENT && chain->parent != parent))
        return -ESRCH;
    if (!strcmp(chain->ended, how))
        return 0;
    struct mt_encoder *encoder = mt_encoder_create(1);
    int rc = encoder ? write_note(chain, encoder, how) : -ENOMEM;
    mt_encoder_destroy(encoder);
    return rc;
}

/* --- in its tail ---------------------------------------------------------------------------- */

/* Write no note into the tail of a trace with an end block: it may be another trace's. */
static int note(struct chain *chain, const char *path, pid_t pid, pid_t parent, const char *how)
{
    int rc = read_header(chain), tail, noted = -EINVAL;
    if (rc)
        return rc;
    rc = read_blocks(chain, chain->size);
    if (!rc && chain->end_at)
        return note_in_trace(chain, pid, parent, how);
    tail = mt_tail_file(path, O_RDWR);
    if (tail >= 0) {
        noted = mt_tail_end_put(tail, chain->trace_id, pid, how);
        close(tail);
    }
    return noted == -EINVAL && !rc ? note_in_trace(chain, pid, parent, how) : noted;
}

static void open_chain(struct chain *chain, const char *path, int flags)
{
    *chain = (struct chain){
        .fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), .pid = -1, .parent = -1};
}

static void close_chain(struct chain *chain)
{
    free(chain->stored);
    free(chain->raw);
    free(chain->definitions);
    close(chain->fd);
}

int mt_note_end(const char *path, pid_t pid, pid_t parent, const char *how)
{
    struct chain chain;
    open_chain(&chain, path, O_RDWR);
    if (chain.fd < 0)
        return -errno;
    int rc = note(&chain, path, pid, parent, how);
    close_chain(&chain);
    return rc;
}

int mt_noted_end(const char *path, char out[MT_NOTED_END])
{
    struct chain chain;
    *out = '\0';
    open_chain(&chain, path, O_RDONLY);
    if (chain.fd < 0)
        return -errno;
    int rc = read_header(&chain);
    if (!rc)
        rc = read_blocks(&chain, chain.size);
    if (!rc)
        memcpy(out, chain.ended, sizeof chain.ended);
    close_chain(&chain);
    return rc;
}
