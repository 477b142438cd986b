/* SPDX-License-Identifier: Apache-2.0 */
/* A trace goes on in its tail; what is wrong with a tail is said. */
#include "preload/record/intern.h"
#include "preload/record/tail.h"
#include "preload/record/threads.h"
#include "tail-builder.h"
#include "tests/support/run-tests.h"
#include "trace-format/encoder.h"
#include "trace-format/reader.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID 4711u

static char folder[32], path[64], tail_path[80];

/* A trace of nothing but a header. */
static void make_trace(void)
{
    unsigned char header[MT_FILE_HEADER_SIZE];
    snprintf(folder, sizeof folder, "/tmp/memtap-tail-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/t.mtap", folder);
    snprintf(tail_path, sizeof tail_path, "%s" MT_TAIL_SUFFIX, path);
    mt_encode_file_header(header, ID, 0);
    FILE *file = fopen(path, "wb");
    ck_assert_uint_eq(fwrite(header, 1, sizeof header, file), sizeof header);
    fclose(file);
}

static void remove_trace(void)
{
    unlink(path);
    unlink(tail_path);
    rmdir(folder);
}

struct content {
    struct mt_event event[1000];
    size_t n_events, n_definitions[MT_DEF_INFO + 1];
    char text[64]; /* of the last string */
    enum mt_trace_state state;
    struct mt_trace_error error;
};

static void read_trace(struct content *c)
{
    struct mt_reader *reader;
    struct mt_batch batch;
    memset(c, 0, sizeof *c);
    ck_assert_int_eq(mt_reader_open(&reader, path, &c->error), 0);
    while (mt_reader_next(reader, &batch, &c->error) > 0) {
        for (size_t i = 0; i < batch.n_events && c->n_events < 1000; i++)
            c->event[c->n_events++] = batch.events[i];
        for (size_t i = 0; i < batch.n_definitions; i++) {
            const struct mt_definition *d = &batch.definitions[i];
            c->n_definitions[d->kind]++;
            if (d->kind == MT_DEF_STRING)
                snprintf(c->text, sizeof c->text, "%.*s", (int)d->text_size, d->text);
        }
    }
    c->state = mt_reader_state(reader);
    mt_reader_close(reader);
}

/* Threads take turns; each event says its number. */
static struct mt_tail_builder *build(uint64_t before)
{
    struct mt_tail_builder *b = mt_tail_builder_create(ID, MT_FILE_HEADER_SIZE, 3, before);
    mt_tail_build_definition(
        b, &(struct mt_definition){MT_DEF_STRING, 1, .text = "f()", .text_size = 3});
    for (uint64_t i = 0; i < 300; i++)
        mt_tail_build_event(b, &(struct mt_event){.time_ns = 1000 + i / 2,
                                                  .thread = 1 + (uint32_t)(i % 3),
                                                  .kind = i % 5 ? MT_LEAF : MT_ALLOC,
                                                  .stack = 7,
                                                  .arg = {i}});
    return b;
}

/* Each case begins at another number of words: the last ones go around the ring's end. */
static const uint64_t befores[] = {0,
                                   1,
                                   MT_RING_WORDS - 7,
                                   9 * (uint64_t)MT_RING_WORDS - 100,
                                   MT_JOURNAL_SIZE - 3,
                                   ((uint64_t)1 << 40) - 2};

START_TEST(a_tail_is_read_in_the_order_of_times)
{
    static struct content c;
    make_trace();
    struct mt_tail_builder *b = build(befores[_i]);
    mt_tail_builder_ring(b, 2)->lost = 4;
    mt_tail_builder_write(b, path);
    read_trace(&c);
    ck_assert_int_eq(c.error.fault, MT_FAULT_NONE);
    ck_assert_int_eq(c.state, MT_TRACE_KILLED);
    ck_assert_uint_eq(c.n_events, 301);
    uint64_t lost = 0, last[4] = {0};
    for (size_t i = 0; i < c.n_events; i++) {
        const struct mt_event *event = &c.event[i];
        ck_assert(!i || event->time_ns >= event[-1].time_ns);
        if (event->kind == MT_LOST) {
            lost += event->arg[0];
            continue;
        }
        ck_assert_uint_eq(event->time_ns, 1000 + event->arg[0] / 2);
        ck_assert_uint_eq(event->thread, 1 + event->arg[0] % 3);
        ck_assert(!last[event->thread] || event->arg[0] == last[event->thread] + 3);
        last[event->thread] = event->arg[0];
    }
    ck_assert_uint_eq(lost, 4);
    ck_assert_uint_eq(c.n_definitions[MT_DEF_THREAD], 3);
    ck_assert_uint_eq(c.n_definitions[MT_DEF_STRING], 1);
    ck_assert_str_eq(c.text, "f()");
    ck_assert_uint_eq(c.n_definitions[MT_DEF_INFO], 3); /* the trace has none */
    mt_tail_builder_destroy(b);
    remove_trace();
}
END_TEST

START_TEST(only_what_is_not_safe_is_read)
{
    static struct content c;
    make_trace();
    struct mt_tail_builder *b = build(0);
    struct mt_tail_header *header = mt_tail_builder_header(b);
    header->turn = 1; /* the other mark */
    header->mark[1] = (struct mt_tail_mark){MT_FILE_HEADER_SIZE, ID, header->journal_put, 2, 0};
    for (uint32_t i = 1; i <= 3; i++)
        mt_tail_builder_ring(b, i)->safe[1] = mt_tail_builder_ring(b, i)->put;
    mt_tail_builder_ring(b, 3)->safe[1] = 0;
    mt_tail_builder_ring(b, 1)->thread = 0; /* it has ended */
    mt_tail_builder_write(b, path);
    read_trace(&c);
    ck_assert_int_eq(c.error.fault, MT_FAULT_NONE);
    ck_assert_uint_eq(c.n_events, 100);
    ck_assert_uint_eq(c.event[0].thread, 3);
    ck_assert_uint_eq(c.n_definitions[MT_DEF_THREAD], 1);
    ck_assert_uint_eq(c.n_definitions[MT_DEF_STRING], 0);
    mt_tail_builder_destroy(b);
    remove_trace();
}
END_TEST

static void cut_words(struct mt_tail_builder *b)
{
    mt_tail_builder_ring(b, 1)->put -= 1;
}

static void no_such_kind(struct mt_tail_builder *b)
{
    mt_tail_builder_ring(b, 2)->word[0] = mt_ring_head(MT_KIND_LIMIT, 0, 0);
}

static void no_such_device(struct mt_tail_builder *b)
{
    mt_tail_builder_ring(b, 2)->word[0] = mt_ring_head(MT_LEAF, -2, 0);
}

static void far_put(struct mt_tail_builder *b)
{
    mt_tail_builder_ring(b, 2)->put = UINT64_MAX;
}

static void far_journal(struct mt_tail_builder *b)
{
    mt_tail_builder_header(b)->journal_put = (uint64_t)1 << 50;
}

static void bad_journal(struct mt_tail_builder *b)
{
    size_t size;
    mt_tail_builder_bytes(b, &size)[MT_TAIL_JOURNAL] = 77;
}

static void many_slots(struct mt_tail_builder *b)
{
    mt_tail_builder_header(b)->slots = UINT32_MAX;
}

static void (*const damages[])(struct mt_tail_builder *) = {
    cut_words, no_such_kind, no_such_device, far_put, far_journal, bad_journal, many_slots};

START_TEST(damage_is_said_and_the_rest_is_read)
{
    static struct content c;
    make_trace();
    struct mt_tail_builder *b = build(0);
    damages[_i](b);
    mt_tail_builder_write(b, path);
    read_trace(&c);
    ck_assert_int_eq(c.error.fault, MT_FAULT_DAMAGED);
    ck_assert_ptr_nonnull(strstr(c.error.text, "byte"));
    ck_assert_uint_ge(c.n_events, 200);
    mt_tail_builder_destroy(b);
    remove_trace();
}
END_TEST

/* Which takes no room on the disk, but would take a reader hours. */
START_TEST(a_hole_is_not_read_as_rings)
{
    static struct content c;
    char tail[sizeof path + sizeof MT_TAIL_SUFFIX];
    make_trace();
    struct mt_tail_builder *b = build(0);
    mt_tail_builder_header(b)->slots = MT_TAIL_SLOTS + 1;
    mt_tail_builder_write(b, path);
    snprintf(tail, sizeof tail, "%s" MT_TAIL_SUFFIX, path);
    ck_assert_int_eq(truncate(tail, (off_t)mt_tail_ring_at(MT_TAIL_SLOTS + 1)), 0);
    read_trace(&c);
    ck_assert_int_eq(c.error.fault, MT_FAULT_DAMAGED);
    ck_assert_uint_ge(c.n_events, 200);
    mt_tail_builder_destroy(b);
    remove_trace();
}
END_TEST

START_TEST(a_tail_of_another_trace_is_passed_over)
{
    static struct content c;
    make_trace();
    struct mt_tail_builder *b = build(0);
    mt_tail_builder_header(b)->mark[0].trace_id++;
    mt_tail_builder_write(b, path);
    read_trace(&c);
    ck_assert_int_eq(c.state, MT_TRACE_OPEN);
    ck_assert_uint_eq(c.n_events, 0);
    mt_tail_builder_destroy(b);
    remove_trace();
}
END_TEST

START_TEST(a_tail_of_a_newer_version_is_named)
{
    struct mt_reader *reader;
    struct mt_trace_error error;
    make_trace();
    struct mt_tail_builder *b = build(0);
    mt_tail_builder_header(b)->version = MT_TAIL_VERSION + 1;
    mt_tail_builder_write(b, path);
    ck_assert_int_lt(mt_reader_open(&reader, path, &error), 0);
    ck_assert_ptr_null(reader);
    ck_assert_int_eq(error.fault, MT_FAULT_VERSION);
    mt_tail_builder_destroy(b);
    remove_trace();
}
END_TEST

START_TEST(a_trace_that_is_shorter_than_its_tail_says_is_cut)
{
    static struct content c;
    make_trace();
    struct mt_tail_builder *b = build(0);
    mt_tail_builder_header(b)->mark[0].trace_size = 1000;
    mt_tail_builder_write(b, path);
    read_trace(&c);
    ck_assert_int_eq(c.error.fault, MT_FAULT_CUT);
    ck_assert_uint_eq(c.n_events, 0);
    mt_tail_builder_destroy(b);
    remove_trace();
}
END_TEST

/* The recorder's own. */
START_TEST(definitions_and_events_are_safe_at_once)
{
    static struct content c;
    struct stat status;
    make_trace();
    mt_tail_open(path, mt_now());
    mt_tail_turn(&(struct mt_tail_mark){.trace_size = MT_FILE_HEADER_SIZE, .trace_id = ID});
    ck_assert_str_eq(mt_tail_status(), "yes");
    ck_assert_int_eq(stat(tail_path, &status), 0);
    mode_t mask = umask(0);
    umask(mask);
    ck_assert_uint_eq(status.st_mode & 0777, 0666 & ~mask);
    struct mt_thread *self = mt_threads_add(4711);
    mt_intern_lock();
    uint32_t name = mt_intern_string("my_function", 11);
    uint32_t stack = mt_intern_stack(0, mt_intern_frame(name, 0, 12));
    mt_intern_unlock();
    mt_record(self, MT_ALLOC, 0, stack, MT_ARGS(512, 64, 64, 2 << 20));
    read_trace(&c);
    ck_assert_int_eq(c.state, MT_TRACE_RUNNING); /* it is us who have the lock */
    ck_assert_uint_eq(c.n_events, 1);
    ck_assert_uint_eq(c.event[0].stack, stack);
    ck_assert_uint_eq(c.event[0].arg[3], 2 << 20);
    ck_assert_uint_eq(c.n_definitions[MT_DEF_STACK], 1);
    ck_assert_uint_eq(c.n_definitions[MT_DEF_FRAME], 1);
    ck_assert_uint_eq(c.n_definitions[MT_DEF_THREAD], 1);
    ck_assert_str_eq(c.text, "my_function");
    mt_tail_remove();
    ck_assert_int_ne(stat(tail_path, &status), 0);
    remove_trace();
}
END_TEST

START_TEST(a_journal_that_is_full_leaves_out)
{
    static struct content c;
    static char text[20000];
    make_trace();
    mt_tail_open(path, mt_now());
    mt_tail_turn(&(struct mt_tail_mark){.trace_size = MT_FILE_HEADER_SIZE, .trace_id = ID});
    for (uint32_t i = 1; i <= 200; i++) { /* four times what fits */
        memset(text, 'a' + (int)(i % 26), sizeof text);
        mt_intern_lock();
        ck_assert_uint_gt(mt_intern_string(text, sizeof text - i), 0);
        mt_intern_unlock();
    }
    read_trace(&c);
    ck_assert_int_eq(c.error.fault, MT_FAULT_NONE);
    ck_assert_uint_ge(c.n_definitions[MT_DEF_STRING], 50);
    ck_assert_uint_lt(c.n_definitions[MT_DEF_STRING], 200);
    mt_tail_remove();
    remove_trace();
}
END_TEST

START_TEST(a_slot_is_used_again)
{
    struct stat status;
    make_trace();
    mt_tail_open(path, mt_now());
    for (int i = 0; i < 100; i++)
        mt_threads_drop(mt_threads_add(i));
    ck_assert_int_eq(stat(tail_path, &status), 0);
    ck_assert_uint_eq((uint64_t)status.st_size, mt_tail_ring_at(1));
    mt_tail_remove();
    remove_trace();
}
END_TEST

/* Its pages are there already; what it knew is not. */
START_TEST(an_ended_threads_memory_is_the_next_ones)
{
    make_trace();
    mt_tail_open(path, mt_now());
    struct mt_thread *thread = mt_threads_add(1);
    thread->frames.words[3].frame = 1234;
    thread->frames.n = 3;
    mt_record(thread, MT_FREE, 0, 0, MT_ARGS(1));
    mt_threads_drop(thread);
    ck_assert_uint_eq(thread->ring.shared.thread, 0);
    ck_assert_ptr_eq(mt_threads_add(2), thread);
    ck_assert_uint_eq(thread->frames.words[3].frame, 1234);
    ck_assert_uint_eq(thread->frames.n, 0);
    ck_assert_uint_eq(thread->id, 2);
    ck_assert_uint_eq(thread->ring.shared.thread, 2);
    ck_assert_uint_eq(thread->ring.shared.put, 0);
    ck_assert_uint_eq(mt_ring_used(&thread->ring), 0);
    mt_tail_remove();
    remove_trace();
}
END_TEST

START_TEST(without_room_there_is_none)
{
    struct rlimit limit = {MT_TAIL_RINGS + 1000, MT_TAIL_RINGS + 1000};
    make_trace();
    if (_i)
        limit.rlim_cur = limit.rlim_max = 1000;
    setrlimit(RLIMIT_FSIZE, &limit);
    mt_tail_open(path, mt_now());
    struct mt_thread *self = mt_threads_add(1);
    mt_record(self, MT_LEAF, 0, 0, MT_ARGS(1)); /* in plain memory */
    ck_assert_str_eq(mt_tail_status(), _i ? "no: File too large" : "partly: File too large");
    ck_assert_int_eq(access(tail_path, F_OK), _i ? -1 : 0);
    remove_trace();
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("tail");
    tcase_add_loop_test(tests, a_tail_is_read_in_the_order_of_times, 0,
                        sizeof befores / sizeof *befores);
    tcase_add_test(tests, only_what_is_not_safe_is_read);
    tcase_add_loop_test(tests, damage_is_said_and_the_rest_is_read, 0,
                        sizeof damages / sizeof *damages);
    tcase_add_test(tests, a_hole_is_not_read_as_rings);
    tcase_add_test(tests, a_tail_of_another_trace_is_passed_over);
    tcase_add_test(tests, a_tail_of_a_newer_version_is_named);
    tcase_add_test(tests, a_trace_that_is_shorter_than_its_tail_says_is_cut);
    tcase_add_test(tests, definitions_and_events_are_safe_at_once);
    tcase_add_test(tests, a_journal_that_is_full_leaves_out);
    tcase_add_test(tests, a_slot_is_used_again);
    tcase_add_test(tests, an_ended_threads_memory_is_the_next_ones);
    tcase_add_loop_test(tests, without_room_there_is_none, 0, 2);
    return RUN_TESTS(tests);
}
