/* SPDX-License-Identifier: Apache-2.0 */
/* What is written is read back; what is cut or damaged is said, and what stands before it is read.
 */
#include "tests/support/run-tests.h"
#include "trace-format/block.h"
#include "trace-format/encoder.h"
#include "trace-format/reader.h"
#include "trace-format/varint.h"

#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define N_EVENTS 5000

/* A small trace in memory, and the places of its blocks. */
static unsigned char trace[1 << 20];
static size_t trace_size, block_at[8], n_blocks;
static struct mt_event events[N_EVENTS];

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

static struct mt_event random_event(uint64_t time)
{
    struct mt_event event = {.time_ns = time};
    event.kind = (uint16_t)(1 + next_random() % (MT_KIND_LIMIT - 1));
    event.thread = (uint32_t)(next_random() % 5);
    event.device = (int16_t)(next_random() % 18 - 1);
    event.stack = (uint32_t)next_random() >> (next_random() % 32);
    for (unsigned i = 0; i < mt_kind_fields[event.kind]; i++)
        event.arg[i] = next_random() >> (next_random() % 64);
    if (mt_kind_about[event.kind] == MT_ABOUT_NODE && next_random() % 8)
        event.arg[0] = 0x7f0000001000 + 64 * (next_random() % 6); /* known, met again, or neither */
    return event;
}

static bool is_same(const struct mt_event *a, const struct mt_event *b)
{
    return a->time_ns == b->time_ns && a->thread == b->thread && a->stack == b->stack &&
           a->kind == b->kind && a->device == b->device && !memcmp(a->arg, b->arg, sizeof a->arg);
}

static void add_block(const unsigned char *bytes, size_t size)
{
    ck_assert_uint_le(trace_size + size, sizeof trace);
    block_at[n_blocks++] = trace_size;
    memcpy(trace + trace_size, bytes, size);
    trace_size += size;
}

static void finish(struct mt_encoder *encoder)
{
    const unsigned char *bytes;
    size_t size;
    ck_assert_int_eq(mt_encoder_finish(encoder, &bytes, &size), 0);
    add_block(bytes, size);
}

static void define(struct mt_encoder *encoder, struct mt_definition definition)
{
    ck_assert_int_eq(mt_encoder_definition(encoder, &definition), 0);
}

/* Definitions, events, events, end. */
static void make_trace(void)
{
    const unsigned char *bytes;
    size_t size;
    struct mt_encoder *encoder = mt_encoder_create(1);
    mt_encode_file_header(trace, 4711, 0);
    mt_encoder_begin(encoder, 4711);
    trace_size = MT_FILE_HEADER_SIZE;
    n_blocks = 0;
    define(encoder, (struct mt_definition){.kind = MT_DEF_INFO, .text = "pid=1", .text_size = 5});
    define(encoder,
           (struct mt_definition){.kind = MT_DEF_STRING, .id = 1, .text = "f", .text_size = 1});
    define(encoder, (struct mt_definition){.kind = MT_DEF_FRAME, .id = 1, .frame = {1, 0, 77}});
    define(encoder, (struct mt_definition){.kind = MT_DEF_STACK, .id = 1, .stack = {0, 1}});
    define(encoder, (struct mt_definition){.kind = MT_DEF_THREAD, .id = 1, .os_thread = 4711});
    define(encoder, (struct mt_definition){.kind = MT_DEF_IMAGE, .id = 1, .image = {1, 2}});
    define(encoder,
           (struct mt_definition){.kind = MT_DEF_NATIVE, .id = 2, .native = {UINT64_MAX - 5, 1}});
    define(encoder, (struct mt_definition){.kind = MT_DEF_SYMBOL, .id = 2, .frame = {1, 2, 3}});
    define(encoder,
           (struct mt_definition){.kind = MT_DEF_CALL, .id = 3, .frame = {1, 2, 78, 300, 4}});
    finish(encoder);
    uint64_t time = 1000;
    for (int i = 0; i < N_EVENTS; i++) {
        events[i] = random_event(time += next_random() % 100000);
        ck_assert_int_eq(mt_encoder_event(encoder, &events[i]), 0);
        if (i == N_EVENTS / 2)
            finish(encoder);
    }
    finish(encoder);
    struct mt_end end = {time, N_EVENTS, 3};
    ck_assert_int_eq(mt_encoder_end(encoder, &end, &bytes, &size), 0);
    add_block(bytes, size);
    mt_encoder_destroy(encoder);
}

/* How many blocks a file of these bytes gives, and the reader's last word. */
static int read_blocks(const unsigned char *bytes, size_t size, int *blocks,
                       struct mt_trace_error *error)
{
    char path[] = "/tmp/memtap-unit-XXXXXX";
    struct mt_reader *reader;
    struct mt_batch batch;
    int fd = mkstemp(path), rc;
    ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
    close(fd);
    *blocks = 0;
    rc = mt_reader_open(&reader, path, error);
    unlink(path);
    if (rc)
        return rc;
    for (uint64_t last = 0; (rc = mt_reader_next(reader, &batch, error)) > 0; last = batch.offset)
        *blocks += batch.offset != last;
    mt_reader_close(reader);
    return rc;
}

START_TEST(numbers_come_back)
{
    for (int i = 0; i < 100000; i++) {
        uint64_t value = next_random() >> (i % 64), back;
        unsigned char bytes[MT_VARINT_SIZE];
        unsigned char *end = mt_varint_put(bytes, value);
        ck_assert_ptr_eq(mt_varint_get(bytes, end, &back), end);
        ck_assert_uint_eq(back, value);
        ck_assert_uint_eq(mt_unzigzag(mt_zigzag(value)), value);
        ck_assert_ptr_null(mt_varint_get(bytes, end - 1, &back));
        unsigned char same[MT_VARINT_SIZE];
        ck_assert_int_eq(mt_varint_put_quickly(same, value) - same, end - bytes);
        ck_assert_mem_eq(same, bytes, (size_t)(end - bytes));
    }
    const unsigned char wide[] = {255, 255, 255, 255, 255, 255, 255, 255, 255, 2};
    uint64_t back;
    ck_assert_ptr_null(mt_varint_get(wide, wide + sizeof wide, &back));
}
END_TEST

START_TEST(records_come_back)
{
    make_trace();
    char path[] = "/tmp/memtap-unit-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_eq(write(fd, trace, trace_size), (ssize_t)trace_size);
    close(fd);
    struct mt_reader *reader;
    struct mt_batch batch;
    struct mt_trace_error error;
    ck_assert_int_eq(mt_reader_open(&reader, path, &error), 0);
    ck_assert_uint_eq(mt_reader_file_size(reader), trace_size);
    ck_assert_uint_eq(mt_reader_version(reader), MT_FORMAT_VERSION);

    ck_assert_int_eq(mt_reader_next(reader, &batch, &error), 1);
    ck_assert_int_eq(batch.type, MT_BATCH_DEFINITIONS);
    ck_assert_uint_eq(batch.n_definitions, 9);
    ck_assert_mem_eq(batch.definitions[0].text, "pid=1", 5);
    ck_assert_uint_eq(batch.definitions[2].frame.line, 77);
    ck_assert_uint_eq(batch.definitions[3].stack.frame, 1);
    ck_assert_uint_eq(batch.definitions[4].os_thread, 4711);
    ck_assert_uint_eq(batch.definitions[5].image.build_id, 1);
    ck_assert_uint_eq(batch.definitions[5].image.path, 2);
    ck_assert_uint_eq(batch.definitions[6].native.image, 1);
    ck_assert_uint_eq(batch.definitions[6].native.address, UINT64_MAX - 5);
    ck_assert_int_eq(batch.definitions[7].kind, MT_DEF_SYMBOL);
    ck_assert_uint_eq(batch.definitions[7].frame.line, 3);
    ck_assert_int_eq(batch.definitions[8].kind, MT_DEF_CALL);
    ck_assert_uint_eq(batch.definitions[8].frame.line, 78);
    ck_assert_uint_eq(batch.definitions[8].frame.root, 300);
    ck_assert_uint_eq(batch.definitions[8].frame.path, 4);

    size_t done = 0;
    while (done < N_EVENTS) {
        ck_assert_int_eq(mt_reader_next(reader, &batch, &error), 1);
        ck_assert_int_eq(batch.type, MT_BATCH_EVENTS);
        for (size_t i = 0; i < batch.n_events; i++, done++)
            ck_assert(is_same(&batch.events[i], &events[done]));
    }
    ck_assert_int_eq(mt_reader_next(reader, &batch, &error), 1);
    ck_assert_int_eq(batch.type, MT_BATCH_END);
    ck_assert_uint_eq(batch.end.events, N_EVENTS);
    ck_assert_uint_eq(batch.end.lost, 3);
    ck_assert_int_eq(mt_reader_next(reader, &batch, &error), 0);
    mt_reader_close(reader);
    unlink(path);
}
END_TEST

/* Return the size of a block of new nodes, of which some run, the newest first. */
static size_t size_of_nodes(unsigned n_new, unsigned n_run)
{
    static uint64_t node[10000];
    struct mt_encoder *encoder = mt_encoder_create(1);
    const unsigned char *bytes;
    size_t size;
    random_state = 88172645463325252u;
    for (unsigned i = 0; i < n_new; i++) {
        struct mt_event event = {.kind = MT_NODE_NEW, .NODE_NEW = {next_random() >> 16, 0}};
        node[i] = event.NODE_NEW.node;
        ck_assert_int_eq(mt_encoder_event(encoder, &event), 0);
        ck_assert_int_eq(mt_encoder_event(encoder, &event), 0); /* of another output */
    }
    for (unsigned i = 0; i < n_run; i++) {
        struct mt_event event = {.kind = MT_NODE_BEGIN, .NODE_BEGIN = {node[n_new - 1 - i], 0}};
        ck_assert_int_eq(mt_encoder_event(encoder, &event), 0);
    }
    ck_assert_int_eq(mt_encoder_finish(encoder, &bytes, &size), 0);
    mt_encoder_destroy(encoder);
    return size;
}

START_TEST(nodes_that_run_newest_first_take_no_room)
{
    ck_assert_uint_le(size_of_nodes(2000, 2000), size_of_nodes(2000, 0) + 50);
    ck_assert_uint_gt(size_of_nodes(9000, 2000), size_of_nodes(9000, 0) + 2000); /* a full list */
}
END_TEST

START_TEST(a_cut_trace_is_read_up_to_the_cut)
{
    make_trace();
    for (size_t size = 0; size < trace_size; size += size < 200 ? 1 : 997) {
        int blocks, whole = 0;
        struct mt_trace_error error;
        int rc = read_blocks(trace, size, &blocks, &error);
        size_t end = MT_FILE_HEADER_SIZE;
        for (size_t i = 0; i < n_blocks; i++) {
            size_t next = i + 1 < n_blocks ? block_at[i + 1] : trace_size;
            if (next <= size) {
                whole++;
                end = next;
            }
        }
        ck_assert_int_eq(blocks, whole);
        if (size == end) {
            ck_assert_int_eq(rc, 0);
            continue;
        }
        ck_assert_int_lt(rc, 0);
        ck_assert_int_eq(error.fault, size ? MT_FAULT_CUT : MT_FAULT_EMPTY);
        ck_assert_uint_eq(error.offset, size < MT_FILE_HEADER_SIZE ? size : end);
    }
}
END_TEST

START_TEST(a_changed_byte_is_found)
{
    make_trace();
    for (size_t at = 0; at < trace_size; at += at < 300 ? 1 : 211) {
        int blocks;
        struct mt_trace_error error = {0};
        /* The file header's zeros are nobody's. */
        if (at >= 12 && at < MT_FILE_HEADER_SIZE)
            continue;
        trace[at] ^= 0x10; /* of byte 11: a header that is larger than the file */
        int rc = read_blocks(trace, trace_size, &blocks, &error);
        trace[at] ^= 0x10;
        ck_assert_msg(rc < 0, "byte %zu", at);
        ck_assert_int_ne(error.fault, MT_FAULT_NONE);
        ck_assert_uint_gt(strlen(error.text), 10);
    }
}
END_TEST

START_TEST(foreign_and_newer_files_are_named)
{
    int blocks;
    struct mt_trace_error error;
    ck_assert_int_lt(read_blocks((const unsigned char *)"#!/bin/sh\necho", 14, &blocks, &error), 0);
    ck_assert_int_eq(error.fault, MT_FAULT_FOREIGN);
    make_trace();
    mt_put16(trace + 8, MT_FORMAT_VERSION + 1);
    ck_assert_int_lt(read_blocks(trace, trace_size, &blocks, &error), 0);
    ck_assert_int_eq(error.fault, MT_FAULT_VERSION);
    struct mt_reader *reader;
    ck_assert_int_eq(mt_reader_open(&reader, "/no/such/file", &error), -ENOENT);
    ck_assert_int_eq(error.fault, MT_FAULT_SYSTEM);
    ck_assert_int_eq(mt_reader_open(&reader, "/tmp", &error), -EISDIR);
}
END_TEST

static struct mt_chain chain; /* of what add_raw has added */

/* A whole block, as it stands in a file. */
static void add_raw(unsigned type, unsigned codec, const unsigned char *payload, size_t size)
{
    unsigned char block[MT_BLOCK_HEADER_SIZE + 64];
    struct mt_crc crc;
    mt_crc_init(&crc);
    struct mt_block_header header = {.type = (uint8_t)type,
                                     .codec = (uint8_t)codec,
                                     .stored_size = (uint32_t)size,
                                     .raw_size = (uint32_t)size,
                                     .records = type == MT_BLOCK_END ? 0 : 1};
    mt_chain_link(&chain, &header);
    mt_block_header_put(block, &header, payload, MT_FORMAT_VERSION, &crc);
    mt_chain_add(&chain, &header);
    memcpy(block + MT_BLOCK_HEADER_SIZE, payload, size);
    add_block(block, MT_BLOCK_HEADER_SIZE + size);
}

#define RAW(...) (const unsigned char[]){__VA_ARGS__}, sizeof((const unsigned char[]){__VA_ARGS__})

/* What FORMAT.md says of what a reader does not know: blocks whose checksums are right. */
static const struct {
    const char *what;
    unsigned type, codec;
    unsigned char payload[16];
    size_t size;
    bool is_borne;
} unknown[] = {
    {"a kind of block", 5, 0, {1}, 1, 0},
    {"a codec", MT_BLOCK_DEFINITIONS, 2, {5, 0, 0}, 3, 0},
    {"a kind of definition", MT_BLOCK_DEFINITIONS, 0, {MT_DEF_LIMIT, 0}, 2, 0},
    {"a kind of event", MT_BLOCK_EVENTS, 0, {1, 0, 1, MT_KIND_LIMIT}, 4, 0},
    {"a column", MT_BLOCK_EVENTS, 0, {2, 0, 1, 6, 2, MT_LEAF, 1, 2}, 8, 1},
    {"a column with a large number",
     MT_BLOCK_EVENTS,
     0,
     {2, 0, 1, 0x80, 0x7d, 1, MT_LEAF, 1},
     8,
     1},
    {"a column twice", MT_BLOCK_EVENTS, 0, {2, 0, 1, 0, 1, MT_LEAF, MT_ALLOC}, 7, 0},
    {"a column that is too short", MT_BLOCK_EVENTS, 0, {2, 0, 1, 1, 0, MT_LEAF}, 6, 0},
    {"a column that is too long", MT_BLOCK_EVENTS, 0, {1, 0, 2, MT_LEAF, MT_LEAF}, 5, 1},
    {"bytes after the columns", MT_BLOCK_EVENTS, 0, {1, 0, 1, MT_LEAF, 9}, 5, 1},
    {"bytes after the definitions", MT_BLOCK_DEFINITIONS, 0, {5, 0, 1, 'k', 9}, 5, 1},
    {"a thread beyond 32 bits",
     MT_BLOCK_EVENTS,
     0,
     {2, 0, 1, 2, 5, MT_LEAF, 0x80, 0x80, 0x80, 0x80, 0x10},
     11,
     0},
    {"a device beyond 15 bits", MT_BLOCK_EVENTS, 0, {2, 0, 1, 3, 3, MT_LEAF, 0x80, 0x80, 2}, 9, 0},
};

START_TEST(what_is_not_known_is_borne_or_refused)
{
    int blocks;
    struct mt_trace_error error;
    mt_encode_file_header(trace, 4711, 0);
    chain = mt_chain_begin(4711, 0, MT_FORMAT_VERSION);
    trace_size = MT_FILE_HEADER_SIZE;
    n_blocks = 0;
    add_raw(MT_BLOCK_DEFINITIONS, 0, RAW(MT_DEF_INFO, 0, 3, 'a', '=', 'b'));
    size_t at = trace_size;
    add_raw(unknown[_i].type, unknown[_i].codec, unknown[_i].payload, unknown[_i].size);
    add_raw(MT_BLOCK_END, 0, RAW(0, 1, 0));
    int rc = read_blocks(trace, trace_size, &blocks, &error);
    ck_assert_msg((rc == 0) == unknown[_i].is_borne, "%s", unknown[_i].what);
    ck_assert_int_eq(blocks, unknown[_i].is_borne ? 3 : 1);
    if (rc) {
        ck_assert_int_eq(error.fault, MT_FAULT_DAMAGED);
        ck_assert_uint_eq(error.offset, at);
    }
}
END_TEST

START_TEST(nothing_comes_after_the_end)
{
    int blocks;
    struct mt_trace_error error;
    make_trace();
    size_t end = trace_size;
    add_raw(MT_BLOCK_END, 0, RAW(0, 1, 0));
    ck_assert_int_lt(read_blocks(trace, trace_size, &blocks, &error), 0);
    ck_assert_int_eq(error.fault, MT_FAULT_DAMAGED);
    ck_assert_uint_eq(error.offset, end);
}
END_TEST

START_TEST(a_fifo_is_not_waited_for)
{
    char folder[] = "/tmp/memtap-unit-XXXXXX", path[64];
    struct mt_reader *reader;
    struct mt_trace_error error;
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/fifo", folder);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_lt(mt_reader_open(&reader, path, &error), 0);
    ck_assert_int_eq(error.fault, MT_FAULT_SYSTEM);
    unlink(path);
    rmdir(folder);
}
END_TEST

START_TEST(bad_records_are_refused_and_change_nothing)
{
    const unsigned char *bytes;
    size_t size;
    static char text[MT_TEXT_LIMIT + 1];
    struct mt_encoder *encoder = mt_encoder_create(1);
    ck_assert_int_eq(mt_encoder_event(encoder, &(struct mt_event){.kind = 0}), -EINVAL);
    ck_assert_int_eq(mt_encoder_event(encoder, &(struct mt_event){.kind = MT_KIND_LIMIT}), -EINVAL);
    ck_assert_int_eq(mt_encoder_definition(encoder, &(struct mt_definition){.kind = MT_DEF_LIMIT}),
                     -EINVAL);
    struct mt_definition longest = {MT_DEF_STRING, 1, .text = text, .text_size = sizeof text};
    ck_assert_int_eq(mt_encoder_definition(encoder, &longest), -EINVAL);
    ck_assert_int_eq(mt_encoder_finish(encoder, &bytes, &size), 0);
    ck_assert_uint_eq(size, 0);
    ck_assert_int_eq(mt_encoder_event(encoder, &(struct mt_event){.kind = MT_LEAF}), 0);
    longest.text_size--;
    ck_assert_int_eq(mt_encoder_definition(encoder, &longest), -EINVAL); /* events have begun */
    ck_assert_int_eq(mt_encoder_finish(encoder, &bytes, &size), 0);
    ck_assert_int_eq(mt_encoder_definition(encoder, &longest), 0);
    mt_encoder_destroy(encoder);
}
END_TEST

/* Make events that a block has first: of small numbers, zeros, one thread; then any. */
static struct mt_event next_event(uint64_t time, int i)
{
    struct mt_event event = random_event(time);
    if (i >= N_EVENTS / 2)
        return event;
    event.thread = event.stack = 0;
    event.device = 0;
    for (unsigned field = 0; field < mt_kind_fields[event.kind]; field++)
        event.arg[field] = i < N_EVENTS / 4 ? 0 : event.arg[field] % 1000;
    return event;
}

START_TEST(events_at_once_are_as_one_by_one)
{
    const unsigned char *bytes[2];
    size_t size[2];
    struct mt_encoder *encoder[] = {mt_encoder_create(1), mt_encoder_create(1)};
    uint64_t time = 0;
    for (int i = 0; i < N_EVENTS; i++)
        events[i] = next_event(time += next_random() % 1000 * (i % 2), i);
    for (size_t i = 0, n; i < N_EVENTS; i += n) {
        n = next_random() % 600;
        n = n < N_EVENTS - i ? n : N_EVENTS - i;
        for (size_t k = i; k < i + n; k++)
            ck_assert_int_eq(mt_encoder_event(encoder[0], &events[k]), 0);
        if (n == 1) /* between those at once, too */
            ck_assert_int_eq(mt_encoder_event(encoder[1], &events[i]), 0);
        else
            ck_assert_int_eq(mt_encoder_events(encoder[1], &events[i], n), 0);
    }
    ck_assert_uint_eq(mt_encoder_room(encoder[1]), MT_BLOCK_RECORDS - N_EVENTS);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(mt_encoder_finish(encoder[i], &bytes[i], &size[i]), 0);
    ck_assert_uint_eq(size[0], size[1]);
    ck_assert_mem_eq(bytes[0], bytes[1], size[0]);
    for (int i = 0; i < 2; i++)
        mt_encoder_destroy(encoder[i]);
}
END_TEST

START_TEST(more_events_than_fit_are_refused)
{
    struct mt_encoder *encoder = mt_encoder_create(1);
    for (int i = 0; i < N_EVENTS; i++)
        events[i] = (struct mt_event){.time_ns = 1, .kind = MT_LEAF};
    while (mt_encoder_room(encoder) > N_EVENTS)
        ck_assert_int_eq(mt_encoder_events(encoder, events, N_EVENTS), 0);
    size_t room = mt_encoder_room(encoder);
    ck_assert_int_eq(mt_encoder_events(encoder, events, room + 1), -EINVAL);
    ck_assert_int_eq(mt_encoder_full(encoder), 0);
    ck_assert_int_eq(mt_encoder_events(encoder, events, room), 0);
    ck_assert_int_eq(mt_encoder_full(encoder), 1);
    ck_assert_int_eq(mt_encoder_event(encoder, events), -EINVAL);
    mt_encoder_destroy(encoder);
}
END_TEST

/* A steady training step repeats itself, and must cost little. */
START_TEST(repetition_is_cheap)
{
    const unsigned char *bytes;
    size_t size, total = 0, n = 0;
    struct mt_encoder *encoder = mt_encoder_create(1);
    for (int step = 0; step < 20; step++)
        for (uint64_t i = 0; i < 1000; i++, n++) {
            struct mt_event event = {
                .time_ns = n * 1700 + next_random() % 400,
                .kind = i % 2 ? MT_FREE : MT_ALLOC,
                .thread = 1,
                .stack = (uint32_t)(i * 7919 % 500),
                .arg = {0x7f0000000000 + i / 2 * 65536, 512 * (i / 2), 0, 1 << 30}};
            event.arg[2] = i % 2 ? 1 << 20 : (1 << 20) + event.arg[1];
            ck_assert_int_eq(mt_encoder_event(encoder, &event), 0);
        }
    ck_assert_int_eq(mt_encoder_finish(encoder, &bytes, &size), 0);
    total += size;
    ck_assert_msg(total < 3 * n, "%zu bytes for %zu events", total, n);
    mt_encoder_destroy(encoder);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("trace-format");
    tcase_add_test(tests, numbers_come_back);
    tcase_add_test(tests, records_come_back);
    tcase_add_test(tests, nodes_that_run_newest_first_take_no_room);
    tcase_add_test(tests, a_cut_trace_is_read_up_to_the_cut);
    tcase_add_test(tests, a_changed_byte_is_found);
    tcase_add_test(tests, foreign_and_newer_files_are_named);
    tcase_add_loop_test(tests, what_is_not_known_is_borne_or_refused, 0,
                        sizeof unknown / sizeof *unknown);
    tcase_add_test(tests, nothing_comes_after_the_end);
    tcase_add_test(tests, a_fifo_is_not_waited_for);
    tcase_add_test(tests, bad_records_are_refused_and_change_nothing);
    tcase_add_test(tests, events_at_once_are_as_one_by_one);
    tcase_add_test(tests, more_events_than_fit_are_refused);
    tcase_add_test(tests, repetition_is_cheap);
    return RUN_TESTS(tests);
}
