/* SPDX-License-Identifier: Apache-2.0 */
/* Reading ahead gives what reading gives: the same batches and the same last word, on one processor
 * (where there is no thread) and on several; and it may be ended at any batch. */
#include "analyzer/support/ahead.h"
#include "tests/support/run-tests.h"
#include "trace-builder.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The time that all comparisons take grows with the square. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define ROUNDS 12u
#else
#define ROUNDS 40u
#endif

struct digest {
    uint64_t sum;
    size_t batches;
    int rc;
    struct mt_trace_error error;
};

static char path[] = "/tmp/memtap-ahead-XXXXXX";
static size_t trace_size;

static void make_trace(void)
{
    struct mt_builder *builder = mt_builder_create();
    char text[32];
    for (unsigned i = 0; i < ROUNDS; i++) {
        snprintf(text, sizeof text, "string %u", i);
        mt_build_string(builder, text);
        for (unsigned j = 0; j < 3000; j++)
            mt_build_event(builder, MT_LEAF, 512 * (3000 * i + j + 1), 0, 0);
    }
    mt_build_end(builder);
    mt_builder_bytes(builder, &trace_size);
    close(mkstemp(path));
    mt_builder_write(builder, path);
    mt_builder_destroy(builder);
}

static void remove_trace(void)
{
    unlink(path);
    memcpy(path + strlen(path) - 6, "XXXXXX", 6);
}

static uint64_t add(uint64_t sum, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ at[i]) * 0x100000001b3u;
    return sum;
}

static void digest_batch(struct digest *digest, const struct mt_batch *batch)
{
    digest->batches++;
    digest->sum = add(digest->sum, &batch->type, sizeof batch->type);
    digest->sum = add(digest->sum, &batch->offset, sizeof batch->offset);
    for (size_t i = 0; i < batch->n_definitions; i++)
        digest->sum = add(digest->sum, batch->definitions[i].text, batch->definitions[i].text_size);
    for (size_t i = 0; i < batch->n_events; i++)
        digest->sum = add(digest->sum, batch->events[i].arg, sizeof batch->events[i].arg);
}

/* Up to so many batches, plainly or ahead. */
static struct digest read_trace(bool is_ahead, size_t most)
{
    struct mt_reader *reader;
    struct mt_ahead ahead;
    struct mt_batch batch;
    struct digest digest = {.rc = 1};
    ck_assert_int_eq(mt_reader_open(&reader, path, &digest.error), 0);
    mt_reader_set_batch_size(reader, MT_AHEAD_EVENTS);
    if (is_ahead)
        mt_ahead_begin(&ahead, reader);
    while (digest.batches < most) {
        digest.rc = is_ahead ? mt_ahead_next(&ahead, &batch, &digest.error)
                             : mt_reader_next(reader, &batch, &digest.error);
        if (digest.rc <= 0)
            break;
        digest_batch(&digest, &batch);
    }
    if (is_ahead)
        mt_ahead_end(&ahead);
    mt_reader_close(reader);
    return digest;
}

static void compare(void)
{
    for (size_t most = 0; most < 2 * ROUNDS + 4; most++) {
        struct digest plain = read_trace(0, most), ahead = read_trace(1, most);
        ck_assert_uint_eq(plain.batches, ahead.batches);
        ck_assert_uint_eq(plain.sum, ahead.sum);
        ck_assert_int_eq(plain.rc, ahead.rc);
        ck_assert_int_eq(plain.error.fault, ahead.error.fault);
        ck_assert_str_eq(plain.error.text, ahead.error.text);
    }
}

START_TEST(complete_and_truncated_traces_give_the_same)
{
    make_trace();
    ck_assert_uint_gt(read_trace(0, SIZE_MAX).batches, 2 * ROUNDS);
    compare();
    ck_assert_int_eq(truncate(path, (off_t)(trace_size * 2 / 3)), 0);
    ck_assert_int_eq(read_trace(0, SIZE_MAX).error.fault, MT_FAULT_CUT);
    compare();
    remove_trace();
}
END_TEST

START_TEST(one_processor_is_enough)
{
    cpu_set_t all, one;
    struct mt_ahead ahead;
    ck_assert_int_eq(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; !CPU_COUNT(&one); cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    mt_ahead_begin(&ahead, NULL);
    ck_assert(!ahead.has_thread);
    mt_ahead_end(&ahead);
    make_trace();
    compare();
    remove_trace();
    ck_assert_int_eq(sched_setaffinity(0, sizeof all, &all), 0);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("ahead");
    tcase_add_test(tests, complete_and_truncated_traces_give_the_same);
    tcase_add_test(tests, one_processor_is_enough);
    return RUN_TESTS(tests);
}
