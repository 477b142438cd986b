/* SPDX-License-Identifier: Apache-2.0 */
/* rename-texts IN OUT TEXT: a copy of a trace in which each name but the framework's has TEXT at
 * its begin, at its end, and after each '/'. */
#include "analyzer/support/write.h"
#include "trace-format/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void need(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "rename-texts: %s\n", what);
    exit(1);
}

/* Returns how many bytes. */
static size_t rename_text(char *out, const char *name, const char *text)
{
    char *to = stpcpy(out, text);
    for (; *name; name++) {
        *to++ = *name;
        if (*name == '/')
            to = stpcpy(to, text);
    }
    return (size_t)(stpcpy(to, text) - out);
}

static void take(FILE *to, struct mt_encoder *encoder, struct mt_definition definition,
                 const char *text)
{
    char name[4096], out[MT_TEXT_LIMIT];
    snprintf(name, sizeof name, "%.*s", (int)definition.text_size,
             definition.text ? definition.text : "");
    if (definition.kind == MT_DEF_INFO) {
        char *equals = strchr(name, '=');
        need(equals != NULL, "an info record without '='");
        *equals = '\0';
        definition.text_size = (size_t)sprintf(out, "%s=", name);
        definition.text_size += rename_text(out + definition.text_size, equals + 1, text);
        definition.text = out;
    } else if (definition.text && !strstr(name, "torch") && strncmp(name, "N5", 2)) {
        definition.text_size = rename_text(out, name, text);
        definition.text = out;
    }
    need(!mt_write_definition(to, encoder, &definition), "a name is too long");
}

int main(int argc, char **argv)
{
    struct mt_reader *reader;
    struct mt_trace_error error;
    struct mt_batch batch;
    unsigned char header[MT_FILE_HEADER_SIZE];
    need(argc == 4, "IN OUT TEXT");
    need(!mt_reader_open(&reader, argv[1], &error), error.text);
    FILE *out = fopen(argv[2], "wb");
    struct mt_encoder *encoder = mt_encoder_create(3);
    need(out && encoder, "cannot be written");
    mt_encode_file_header(header, 4711, 0);
    mt_encoder_begin(encoder, 4711);
    mt_write_bytes(out, header, sizeof header);
    while (mt_reader_next(reader, &batch, &error) > 0) {
        for (size_t i = 0; i < batch.n_definitions; i++)
            take(out, encoder, batch.definitions[i], argv[3]);
        for (size_t i = 0; i < batch.n_events; i++)
            need(!mt_write_event(out, encoder, &batch.events[i]), "cannot be written");
        need(!mt_write_block(out, encoder), "cannot be written");
        if (batch.type == MT_BATCH_END)
            need(!mt_write_end(out, encoder, &batch.end), "cannot be written");
    }
    need(!error.fault, error.text);
    mt_reader_close(reader);
    mt_encoder_destroy(encoder);
    return fclose(out) != 0;
}
