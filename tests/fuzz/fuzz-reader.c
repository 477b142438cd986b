/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace file through the reader: blocks' checksums are made right before, so that what is damaged
 * gets past them. The file is one of memory, and one for all inputs.
 */
#include "target.h"
#include "trace-format/block.h"
#include "trace-format/encoder.h"
#include "trace-format/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Every second input keeps what it says of checksums. */
static void mend(uint8_t *bytes, size_t size)
{
    static struct mt_crc crc;
    struct mt_block_header header;
    const unsigned version = size > 9 ? bytes[8] : 0;
    const size_t head = mt_block_header_size(version);
    struct mt_chain chain =
        mt_chain_begin(size >= MT_FILE_HEADER_SIZE ? mt_get64(bytes + 16) : 0, 0, version);
    size_t at = MT_FILE_HEADER_SIZE;
    if (!crc.table[0][1])
        mt_crc_init(&crc);
    while (at + head <= size && !mt_block_header_get(bytes + at, &header, version) &&
           header.stored_size <= size - at - head) {
        mt_chain_link(&chain, &header);
        mt_block_header_put(bytes + at, &header, bytes + at + head, version, &crc);
        mt_chain_add(&chain, &header);
        at += head + header.stored_size;
    }
}

static void check_batch(const struct mt_batch *batch)
{
    for (size_t i = 0; i < batch->n_events; i++)
        if (!batch->events[i].kind || batch->events[i].kind >= MT_KIND_LIMIT)
            abort();
    for (size_t i = 0; i < batch->n_definitions; i++) {
        const struct mt_definition *definition = &batch->definitions[i];
        volatile char last =
            definition->text_size ? definition->text[definition->text_size - 1] : 0;
        (void)last;
        if (definition->kind < MT_DEF_STRING || definition->kind >= MT_DEF_LIMIT)
            abort();
    }
}

static void read_all(const char *path)
{
    struct mt_reader *reader;
    struct mt_trace_error error;
    struct mt_batch batch;
    int rc = mt_reader_open(&reader, path, &error);
    if (rc) {
        if (!error.fault || !*error.text)
            abort();
        return;
    }
    uint64_t before = 0;
    while ((rc = mt_reader_next(reader, &batch, &error)) > 0) {
        check_batch(&batch);
        if (mt_reader_offset(reader) < before)
            abort();
        before = mt_reader_offset(reader);
    }
    if ((rc < 0) != (error.fault != MT_FAULT_NONE) || (rc < 0 && !*error.text))
        abort();
    mt_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static char path[32];
    static int file = -1;
    static uint8_t copy[1 << 16];
    if (file < 0) {
        file = memfd_create("trace", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    if (size > sizeof copy)
        size = sizeof copy;
    memcpy(copy, bytes, size);
    if (size && !(bytes[size - 1] & 1))
        mend(copy, size);
    if (file < 0 || pwrite(file, copy, size, 0) != (ssize_t)size || ftruncate(file, (off_t)size))
        abort();
    read_all(path);
    return 0;
}
