/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace's beginning says of its process, as text. */
#include "analyzer/support/room.h"
#include "analyzer/support/text.h"
#include "memtap-reader.h"
#include "quota.h"
#include "trace-format/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Put a text in one line: control characters and backslashes as they stand in C. */
static void put_escaped(FILE *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\n')
            fputs("\\n", out);
        else if (c == '\\')
            fputs("\\\\", out);
        else if (c < ' ' || c == 127)
            fprintf(out, "\\x%02x", c);
        else
            putc(c, out);
    }
    putc('\n', out);
}

static void put_trace(FILE *out, const struct mt_reader *reader)
{
    const struct mt_end *end = mt_reader_end(reader);
    fprintf(out, "trace.state=%s\ntrace.version=%u\ntrace.bytes=%" PRIu64 "\n",
            mt_trace_state_names[mt_reader_state(reader)], mt_reader_version(reader),
            mt_reader_file_size(reader));
    if (end)
        fprintf(out,
                "trace.events=%" PRIu64 "\ntrace.lost=%" PRIu64 "\ntrace.length_ns=%" PRIu64 "\n",
                end->events, end->lost, end->time_ns);
}

static int put_infos(FILE *out, struct mt_reader *reader, struct mt_quota *quota,
                     struct mt_trace_error *error)
{
    struct mt_batch batch;
    off_t before = 0;
    int rc;
    while ((rc = mt_reader_next(reader, &batch, error)) > 0 && batch.type == MT_BATCH_DEFINITIONS) {
        for (size_t i = 0; i < batch.n_definitions; i++)
            if (batch.definitions[i].kind == MT_DEF_INFO)
                put_escaped(out, batch.definitions[i].text, batch.definitions[i].text_size);
        if (mt_quota_count(quota, (uint64_t)(ftello(out) - before)))
            return -MEMTAP_READER_TOO_MUCH;
        before = ftello(out);
    }
    /* Later faults are reported by the tables. */
    return rc == -ENOMEM || error->fault == MT_FAULT_SYSTEM ? rc : 0;
}

/* Return 0 with *text, to be freed, or a negative errno. */
static int describe(const char *path, char **text, struct mt_quota *quota,
                    struct mt_trace_error *error)
{
    struct mt_reader *reader;
    size_t length;
    int rc = mt_reader_open(&reader, path, error);
    if (rc)
        return rc;
    mt_room_input(path);
    FILE *out = open_memstream(text, &length);
    if (out) {
        put_trace(out, reader);
        rc = put_infos(out, reader, quota, error);
    }
    if (!out || mt_close_memory(out))
        rc = -ENOMEM;
    mt_reader_close(reader);
    return rc;
}

__attribute__((visibility("default"))) char *memtap_reader_about(const char *path, char *error,
                                                                 size_t size)
{
    struct mt_trace_error wrong = {0};
    struct mt_quota quota;
    char *text = NULL;
    if (mt_quota_begin(&quota, error, size))
        return NULL;
    mt_quota_use(&quota);
    int rc = describe(path, &text, &quota, &wrong);
    mt_quota_use(NULL);
    if (!rc)
        return text;
    free(text);
    if (quota.is_used_up || rc == -MEMTAP_READER_TOO_MUCH)
        mt_quota_describe(&quota, error, size);
    else
        snprintf(error, size, "%s", *wrong.text ? wrong.text : "out of memory");
    return NULL;
}
