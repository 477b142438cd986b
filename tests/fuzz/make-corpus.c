/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make-corpus FOLDER: writes the first inputs of the harnesses that read made traces
 * (made-trace.h), from the scenarios that other tests use, and of those that read files. tools/fuzz
 * makes them smaller and keeps what reaches something.
 */
#include "made-trace.h"
#include "scenarios.h"
#include "trace-format/block.h"
#include "trace-format/encoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#define BASE 0x7f0000000000ull /* of the scenarios' addresses */

static const char *folder;

static void write_file(const char *harness, const char *name, const void *bytes, size_t size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, harness);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/%s", folder, harness, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
        exit(fprintf(stderr, "%s: cannot be written\n", path) < 0 ? 2 : 1);
}

struct input {
    uint8_t bytes[1 << 16];
    size_t size;
    uint64_t time_ns;
};

static uint8_t *next_record(struct input *input)
{
    uint8_t *record = input->bytes + input->size;
    if (input->size + 64 * MT_MADE_RECORD > sizeof input->bytes)
        return NULL;
    memset(record, 0, MT_MADE_RECORD);
    input->size += MT_MADE_RECORD;
    return record;
}

static void set(uint8_t *record, unsigned i, uint64_t number)
{
    unsigned code = mt_made_code(number >= BASE ? number - BASE + (1 << 20) : number);
    record[MT_MADE_ARGS + 2 * i] = (uint8_t)code;
    record[MT_MADE_ARGS + 2 * i + 1] = (uint8_t)(code >> 8);
}

static void put_event(struct input *input, const struct mt_event *event)
{
    uint8_t *record = next_record(input);
    if (!record)
        return;
    uint64_t step = event->time_ns - input->time_ns, shift = 0;
    while (step >> 5 * shift > 31)
        shift++;
    record[MT_MADE_OP] = (uint8_t)(event->kind - 1);
    record[MT_MADE_WHERE] = (uint8_t)((event->thread & 7) | ((event->device + 1) & 7) << 3);
    record[MT_MADE_STACK] = (uint8_t)event->stack;
    record[MT_MADE_TIME] = (uint8_t)(step >> 5 * shift | shift << 5);
    for (unsigned i = 0; i < mt_kind_fields[event->kind]; i++)
        set(record, i, event->arg[i]);
    input->time_ns = event->time_ns;
}

static void put_text(struct input *input, uint8_t *record, const struct mt_definition *definition)
{
    size_t size = definition->text_size < 255 ? definition->text_size : 255;
    record[MT_MADE_STACK] = MT_MADE_TEXTS;
    record[MT_MADE_TIME] = (uint8_t)size;
    for (size_t at = 0; at < size; at += MT_MADE_RECORD) {
        uint8_t *to = next_record(input);
        size_t n = size - at < MT_MADE_RECORD ? size - at : MT_MADE_RECORD;
        if (to)
            memcpy(to, definition->text + at, n);
    }
}

static void put_definition(struct input *input, const struct mt_definition *d)
{
    uint8_t *record = next_record(input);
    if (!record)
        return;
    record[MT_MADE_OP] = (uint8_t)(MT_MADE_DEFINITIONS + d->kind - 1);
    set(record, 0, d->id);
    switch (d->kind) {
    case MT_DEF_SUMMARY:
        set(record, 1, (uint64_t)(d->device + 1));
        put_text(input, record, d);
        break;
    case MT_DEF_THREAD:
        set(record, 1, d->os_thread);
        /* fallthrough */
    case MT_DEF_STRING:
    case MT_DEF_INFO:
        put_text(input, record, d);
        break;
    case MT_DEF_STACK:
        set(record, 1, d->stack.parent);
        set(record, 2, d->stack.frame);
        break;
    case MT_DEF_IMAGE:
        set(record, 1, d->image.build_id);
        set(record, 2, d->image.path);
        break;
    case MT_DEF_NATIVE:
        set(record, 1, d->native.image);
        set(record, 2, d->native.address);
        break;
    default:
        set(record, 1, d->frame.function);
        set(record, 2, d->frame.file);
        set(record, 3, d->frame.line);
        record[MT_MADE_STACK] = (uint8_t)d->frame.root;
        record[MT_MADE_TIME] = (uint8_t)d->frame.path;
    }
}

/* Payloads of its first blocks. */
static void write_payloads(const unsigned char *bytes, size_t size, const char *scenario)
{
    static unsigned char input[1 << 16];
    struct mt_block_header header;
    size_t at = MT_FILE_HEADER_SIZE;
    for (unsigned i = 0; i < 3 && !mt_block_header_get(bytes + at, &header, MT_FORMAT_VERSION);
         i++) {
        const unsigned char *payload = bytes + at + MT_BLOCK_HEADER_SIZE;
        char name[64];
        input[0] = header.type == MT_BLOCK_DEFINITIONS ? 1 : 2;
        input[1] = (unsigned char)(header.records < 250 ? header.records : 249);
        size_t n = header.raw_size;
        if (header.codec == MT_CODEC_RAW)
            memcpy(input + 2, payload, n);
        else if (ZSTD_decompress(input + 2, sizeof input - 2, payload, header.stored_size) != n)
            abort();
        snprintf(name, sizeof name, "%s-%u", scenario, i);
        write_file("decoder", name, input, n + 2);
        at += MT_BLOCK_HEADER_SIZE + header.stored_size;
        if (at + MT_BLOCK_HEADER_SIZE > size)
            return;
    }
}

/* As a file, and as records. */
static void convert(struct input *input, struct mt_builder *builder, const char *name)
{
    char path[] = "/tmp/memtap-corpus-XXXXXX";
    struct mt_reader *reader;
    struct mt_trace_error error;
    struct mt_batch batch;
    size_t size;
    const unsigned char *bytes = mt_builder_bytes(builder, &size);
    write_file("reader", name, bytes, size);
    write_payloads(bytes, size, name);
    int fd = mkstemp(path);
    if (fd < 0 || close(fd))
        abort();
    mt_builder_write(builder, path);
    if (mt_reader_open(&reader, path, &error))
        abort();
    *input = (struct input){.size = MT_MADE_HEADER};
    while (mt_reader_next(reader, &batch, &error) > 0) {
        for (size_t i = 0; i < batch.n_definitions; i++)
            put_definition(input, &batch.definitions[i]);
        for (size_t i = 0; i < batch.n_events; i++)
            put_event(input, &batch.events[i]);
    }
    mt_reader_close(reader);
    unlink(path);
}

static void training(struct mt_builder *builder)
{
    mt_scenario_training(builder, 3);
}

static void keeping(struct mt_builder *builder)
{
    mt_scenario_keeping(builder, 5);
}

static void night(struct mt_builder *builder)
{
    mt_scenario_night(builder, 3, 5 << 20);
}

static void rank(struct mt_builder *builder)
{
    mt_scenario_rank(builder, 1);
}

static const struct {
    const char *name;
    void (*make)(struct mt_builder *builder);
} scenarios[] = {
    {"training", training},
    {"keeping", keeping},
    {"mixed", mt_scenario_mixed},
    {"layers", mt_scenario_layers},
    {"c-program", mt_scenario_c_program},
    {"phases", mt_scenario_phases},
    {"copies", mt_scenario_copies},
    {"native", mt_scenario_native},
    {"oom", mt_scenario_oom},
    {"oom-in-backward", mt_scenario_oom_in_backward},
    {"oom-in-library", mt_scenario_oom_in_library},
    {"fragmented", mt_scenario_fragmented},
    {"balance", mt_scenario_balance},
    {"night", night},
    {"rank", rank},
    {"idle", mt_scenario_idle},
};
#define SCENARIOS (sizeof scenarios / sizeof *scenarios)

static void write_pair(const struct input *a, const struct input *b, const char *name)
{
    static uint8_t both[1 << 17];
    size_t half = a->size > b->size ? a->size : b->size;
    memset(both, MT_MADE_BATCHES, 2 * half); /* what fills up ends batches */
    memcpy(both, a->bytes, a->size);
    memcpy(both + half, b->bytes, b->size);
    write_file("diff", name, both, 2 * half);
}

int main(int argc, char **argv)
{
    static struct input input[SCENARIOS];
    if (argc != 2)
        return 2;
    folder = argv[1];
    mkdir(folder, 0777);
    for (size_t i = 0; i < SCENARIOS; i++) {
        struct mt_builder *builder = mt_builder_create();
        scenarios[i].make(builder);
        convert(&input[i], builder, scenarios[i].name);
        mt_builder_destroy(builder);
        for (uint8_t choice = 0; choice < 12; choice++) {
            char name[64];
            snprintf(name, sizeof name, "%s-%u", scenarios[i].name, choice);
            input[i].bytes[3] = choice;
            input[i].bytes[4] = choice % 7;
            input[i].bytes[7] = (uint8_t)(choice * 37);
            if (choice < 2) /* each input is a child */
                write_file("commands", name, input[i].bytes, input[i].size);
            write_file("replay", name, input[i].bytes, input[i].size);
            write_file("plan", name, input[i].bytes, input[i].size);
            write_file("export", name, input[i].bytes, input[i].size);
            write_file("page", name, input[i].bytes, input[i].size);
        }
        write_file("compact", scenarios[i].name, input[i].bytes, input[i].size);
        write_file("tail", scenarios[i].name, input[i].bytes, input[i].size);
    }
    for (size_t i = 0; i < SCENARIOS; i++)
        for (uint8_t choice = 0; choice < 3; choice++) {
            char name[64];
            snprintf(name, sizeof name, "%s-%u", scenarios[i].name, choice);
            input[i].bytes[3] = choice;
            input[i].bytes[4] = (uint8_t)i;
            input[i].bytes[5] = (uint8_t)(i * 5);
            write_pair(&input[i], &input[(i + choice) % SCENARIOS], name);
        }
    return 0;
}
