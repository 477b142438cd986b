/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies traces under other names, as if other processes had recorded them: each line of stdin has
 * a trace, the copy's path, and info records that replace the trace's own ("rank=7"), all with tabs
 * between.
 */
#include "trace-format/encoder.h"
#include "trace-format/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_INFOS 32

struct copy {
    struct mt_encoder *encoder;
    FILE *out;
    char *info[MOST_INFOS];
    size_t n_infos;
    int holds; /* what the block under construction has: a batch's type, or SUMMARIES */
    bool has_infos;
};

#define NOTHING (-1)
#define SUMMARIES (MT_BATCH_END + 1)

static int finish(struct copy *copy)
{
    const unsigned char *bytes;
    size_t size;
    int rc = mt_encoder_finish(copy->encoder, &bytes, &size);
    if (!rc && fwrite(bytes, 1, size, copy->out) != size)
        rc = -EIO;
    copy->holds = NOTHING;
    return rc;
}

static int turn_to(struct copy *copy, int what)
{
    int rc = 0;
    if (copy->holds != NOTHING && (copy->holds != what || mt_encoder_full(copy->encoder)))
        rc = finish(copy);
    copy->holds = what;
    return rc;
}

static int put_infos(struct copy *copy)
{
    int rc = turn_to(copy, MT_BATCH_DEFINITIONS);
    for (size_t i = 0; i < copy->n_infos && !rc; i++) {
        struct mt_definition definition = {
            .kind = MT_DEF_INFO, .text = copy->info[i], .text_size = strlen(copy->info[i])};
        rc = mt_encoder_definition(copy->encoder, &definition);
    }
    copy->has_infos = true;
    return rc;
}

static bool is_replaced(const struct copy *copy, const struct mt_definition *definition)
{
    for (size_t i = 0; definition->kind == MT_DEF_INFO && i < copy->n_infos; i++) {
        size_t key = strcspn(copy->info[i], "=") + 1;
        if (definition->text_size >= key && !memcmp(definition->text, copy->info[i], key))
            return true;
    }
    return false;
}

static int put_definitions(struct copy *copy, const struct mt_batch *batch)
{
    int rc = copy->has_infos ? 0 : put_infos(copy);
    for (size_t i = 0; i < batch->n_definitions && !rc; i++) {
        const struct mt_definition *definition = &batch->definitions[i];
        if (is_replaced(copy, definition))
            continue;
        rc = turn_to(copy, definition->kind == MT_DEF_SUMMARY ? SUMMARIES : MT_BATCH_DEFINITIONS);
        if (!rc)
            rc = mt_encoder_definition(copy->encoder, definition);
    }
    return rc;
}

static int put_batch(struct copy *copy, const struct mt_batch *batch)
{
    const unsigned char *bytes;
    size_t size;
    int rc = 0;
    if (batch->type == MT_BATCH_DEFINITIONS)
        return put_definitions(copy, batch);
    for (size_t i = 0; batch->type == MT_BATCH_EVENTS && i < batch->n_events && !rc; i++) {
        rc = turn_to(copy, MT_BATCH_EVENTS);
        if (!rc)
            rc = mt_encoder_event(copy->encoder, &batch->events[i]);
    }
    if (batch->type != MT_BATCH_END || rc)
        return rc;
    if (copy->holds != NOTHING)
        rc = finish(copy);
    if (!rc)
        rc = mt_encoder_end(copy->encoder, &batch->end, &bytes, &size);
    return rc ? rc : fwrite(bytes, 1, size, copy->out) == size ? 0 : -EIO;
}

static int copy_trace(const char *from, struct copy *copy, uint64_t id)
{
    unsigned char header[MT_FILE_HEADER_SIZE];
    struct mt_trace_error error;
    struct mt_reader *reader;
    struct mt_batch batch;
    int rc = mt_reader_open(&reader, from, &error);
    if (rc) {
        fprintf(stderr, "%s: %s\n", from, error.text);
        return rc;
    }
    mt_encode_file_header(header, id, 0);
    mt_encoder_begin(copy->encoder, id);
    rc = fwrite(header, sizeof header, 1, copy->out) == 1 ? 1 : -EIO;
    while (rc > 0 && (rc = mt_reader_next(reader, &batch, &error)) > 0) {
        int put = put_batch(copy, &batch);
        rc = put ? put : rc;
    }
    mt_reader_close(reader);
    return rc;
}

static int do_line(char *line, uint64_t id)
{
    struct copy copy = {.holds = NOTHING};
    char *rest = NULL, *from = strtok_r(line, "\t\n", &rest), *to = strtok_r(NULL, "\t\n", &rest),
         *info;
    while (to && (info = strtok_r(NULL, "\t\n", &rest)) && copy.n_infos < MOST_INFOS)
        copy.info[copy.n_infos++] = info;
    copy.out = to ? fopen(to, "wb") : NULL;
    copy.encoder = mt_encoder_create(1);
    int rc = copy.out && copy.encoder ? copy_trace(from, &copy, id) : -EINVAL;
    mt_encoder_destroy(copy.encoder);
    if (copy.out && fclose(copy.out) && !rc)
        rc = -EIO;
    return rc;
}

int main(void)
{
    char *line = NULL;
    size_t size = 0;
    uint64_t id = UINT64_C(0x5eed000000000000);
    int rc = 0;
    while (!rc && getline(&line, &size, stdin) > 0)
        rc = do_line(line, ++id);
    free(line);
    if (rc)
        fprintf(stderr, "make-ranks: %s\n", strerror(-rc));
    return rc ? 1 : 0;
}
