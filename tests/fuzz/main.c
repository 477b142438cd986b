/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main [COUNT [FIRST]]: the fuzz target without libFuzzer, over COUNT mutated traces from number
 * FIRST on. A number always stands for the same trace. Four ways take turns: bytes of the file;
 * bytes inside blocks whose checksums then fit again; traces of random records, which are sound in
 * form and senseless; and tails, of random records and with numbers of their heads changed.
 */
#include "fuzz-trace.h"
#include "scenarios.h"
#include "tail-builder.h"
#include "trace-format/block.h"
#include "trace-format/encoder.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include <zstd.h>

#define SIZE (1u << 20)

static uint64_t state;
static struct mt_crc crc;
static volatile unsigned long current;

static uint64_t any(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

/* Mostly small, at times at the edge. */
static uint64_t any_number(void)
{
    static const uint64_t edges[] = {0, 1, 127, 128, UINT32_MAX, 1ull << 47, INT64_MAX, UINT64_MAX};
    return any(8) ? any(40) : edges[any(sizeof edges / sizeof *edges)];
}

static void mutate(uint8_t *bytes, size_t *size, size_t from)
{
    for (uint64_t n = 1 + any(4); n && *size > from; n--) {
        size_t at = from + any(*size - from);
        switch (any(5)) {
        case 0:
            bytes[at] ^= (uint8_t)(1u << any(8));
            break;
        case 1:
            bytes[at] = (uint8_t)any_number();
            break;
        case 2:
            *size = at;
            break;
        case 3: { /* a piece comes a second time */
            size_t piece = 1 + any(*size - at);
            if (*size + piece > SIZE)
                break;
            memmove(bytes + at + piece, bytes + at, *size - at);
            *size += piece;
            break;
        }
        default:
            memset(bytes + at, (int)any(256), 1 + any(*size - at < 8 ? *size - at : 8));
        }
    }
}

/* Mutates one block's contents, stores it uncompressed and with a checksum that fits. */
static size_t mutate_block(const uint8_t *in, size_t in_size, uint8_t *out)
{
    static uint8_t raw[SIZE];
    size_t from = MT_FILE_HEADER_SIZE, to = from;
    uint64_t victim = any(4);
    memcpy(out, in, from);
    for (uint64_t i = 0; from + MT_BLOCK_HEADER_SIZE <= in_size; i++) {
        struct mt_block_header header;
        if (mt_block_header_get(in + from, &header))
            break;
        const uint8_t *payload = in + from + MT_BLOCK_HEADER_SIZE;
        size_t whole = MT_BLOCK_HEADER_SIZE + header.stored_size, raw_size = header.raw_size;
        memcpy(out + to, in + from, whole);
        from += whole;
        if (i != victim) {
            to += whole;
            continue;
        }
        if (header.codec == MT_CODEC_RAW)
            memcpy(raw, payload, header.stored_size);
        else if (ZSTD_isError(ZSTD_decompress(raw, sizeof raw, payload, header.stored_size)))
            abort();
        mutate(raw, &raw_size, 0);
        header.codec = MT_CODEC_RAW;
        header.raw_size = header.stored_size = (uint32_t)raw_size;
        if (!any(4))
            header.records = (uint32_t)any_number();
        memcpy(out + to + MT_BLOCK_HEADER_SIZE, raw, raw_size);
        mt_block_header_put(out + to, &header, raw, &crc);
        to += MT_BLOCK_HEADER_SIZE + raw_size;
    }
    return to;
}

static struct mt_definition random_definition(void)
{
    static const char *const texts[] = {
        "main", "/u/a.py",   "torch/optim/optimizer.py", "wrapper", "N5torch3FooE", "pid=1", "=",
        "",     "\xff\xc0\n"};
    const char *text = texts[any(sizeof texts / sizeof *texts)];
    struct mt_definition definition = {.kind = (enum mt_definition_kind)(1 + any(MT_DEF_LIMIT - 1)),
                                       .id = (uint32_t)any_number(),
                                       .text = text,
                                       .text_size = strlen(text)};
    if (definition.kind == MT_DEF_FRAME || definition.kind == MT_DEF_SYMBOL ||
        definition.kind == MT_DEF_CALL) {
        definition.frame.function = (uint32_t)any_number();
        definition.frame.file = (uint32_t)any_number();
        definition.frame.line = (uint32_t)any_number();
        definition.frame.root = (uint32_t)any_number();
        definition.frame.path = (uint32_t)any_number();
    } else if (definition.kind == MT_DEF_STACK) {
        definition.stack.parent = (uint32_t)any_number();
        definition.stack.frame = (uint32_t)any_number();
    } else if (definition.kind == MT_DEF_MODULE) {
        definition.module.build_id = (uint32_t)any_number();
        definition.module.path = (uint32_t)any_number();
    } else if (definition.kind == MT_DEF_NATIVE) {
        definition.native.module = (uint32_t)any_number();
        definition.native.address = any_number();
    }
    return definition;
}

static struct mt_event random_event(void)
{
    struct mt_event event = {.time_ns = any_number(),
                             .thread = (uint32_t)(any(20) ? any(4) : any_number()),
                             .stack = (uint32_t)any_number(),
                             .kind = (uint16_t)(1 + any(MT_KIND_LIMIT - 1)),
                             .device = (int16_t)(any(4) ? 0 : (int)any(130) - 1)};
    for (unsigned i = 0; i < mt_kind_fields[event.kind]; i++)
        event.arg[i] = any_number();
    return event;
}

static void random_trace(struct mt_builder *builder)
{
    for (uint64_t i = any(600); i; i--)
        if (any(5)) {
            struct mt_event event = random_event();
            mt_build_raw(builder, &event);
        } else {
            struct mt_definition definition = random_definition();
            mt_build_definition(builder, &definition);
        }
    if (any(2))
        mt_build_end(builder);
}

/* Numbers of the writer: the header's, and the first ring's and its first words. */
static void change_numbers(struct mt_tail_builder *builder)
{
    size_t size;
    uint8_t *bytes = mt_tail_builder_bytes(builder, &size);
    for (uint64_t n = any(4); n; n--) {
        size_t at = any(2) ? any(sizeof(struct mt_tail_header) / 8) * 8
                           : mt_tail_ring_at(0) + any(12) * 8 + (any(2) ? MT_TAIL_PAGE : 0);
        uint64_t number = any_number();
        memcpy(bytes + at + any(2) * 4, &number, any(2) ? 8 : 4);
    }
}

static void run_tail(void)
{
    uint64_t before = any(2) ? 0 : any_number() / 2;
    struct mt_tail_builder *builder =
        mt_tail_builder_create(4711, MT_FILE_HEADER_SIZE, 1 + (uint32_t)any(2), before);
    size_t size;
    for (uint64_t i = any(300); i; i--) {
        struct mt_definition definition = random_definition();
        struct mt_event event = random_event();
        event.thread = 1;
        mt_tail_build_event(builder, &event);
        if (!any(5))
            mt_tail_build_definition(builder, &definition);
    }
    change_numbers(builder);
    uint8_t *bytes = mt_tail_builder_bytes(builder, &size);
    mt_fuzz_tail(bytes, any(8) ? size : any(size));
    mt_tail_builder_destroy(builder);
}

static void run(unsigned long number)
{
    static uint8_t bytes[4 * SIZE];
    size_t size;
    state = (number + 1) * 0x9e3779b97f4a7c15u;
    any(2);
    if (number % 4 == 3) {
        run_tail();
        return;
    }
    struct mt_builder *builder = mt_builder_create();
    if (number % 4 == 2)
        random_trace(builder);
    else if (any(2))
        mt_scenario_training(builder, (unsigned)(1 + any(5)));
    else if (any(2))
        mt_scenario_fragmented(builder);
    else if (any(2))
        mt_scenario_native(builder);
    else
        mt_scenario_oom(builder);
    const uint8_t *trace = mt_builder_bytes(builder, &size);
    memcpy(bytes, trace, size);
    if (number % 4 == 0)
        mutate(bytes, &size, any(4) ? MT_FILE_HEADER_SIZE : 0);
    else if (number % 4 == 1)
        size = mutate_block(trace, size, bytes);
    LLVMFuzzerTestOneInput(bytes, size);
    mt_builder_destroy(builder);
}

static void tell(int signal_number)
{
    char text[80];
    int n = snprintf(text, sizeof text, "signal %d in trace %lu; again: main 1 %lu\n",
                     signal_number, current, current);
    if (write(STDERR_FILENO, text, (size_t)n) == n)
        _exit(1);
    _exit(2);
}

int main(int argc, char **argv)
{
    const struct itimerval most = {.it_value.tv_sec = 20}; /* of processor time */
    mt_crc_init(&crc);
    unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 3000;
    unsigned long first = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    signal(SIGSEGV, tell);
    signal(SIGABRT, tell);
    signal(SIGPROF, tell); /* a trace that takes ever so long */
    for (current = first; current < first + count; current++) {
        setitimer(ITIMER_PROF, &most, NULL);
        run(current);
    }
    printf("%lu traces\n", count);
    return 0;
}
