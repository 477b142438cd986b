/* SPDX-License-Identifier: Apache-2.0 */
/* A trace is followed while it is written: nothing is given twice, nothing is missed, and at the
 * end it is what a reader gives of the finished trace. */
#include "analyzer/findings/analysis.h"
#include "analyzer/findings/inspect.h"
#include "analyzer/replay/follow.h"
#include "scenarios.h"
#include "tail-builder.h"
#include "tests/support/run-tests.h"
#include "trace-format/block.h"
#include "trace-format/encoder.h"
#include "trace-format/follow/follower.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[32], path[64], older_path[80], tail_path[80];

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/memtap-follow-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/t.mtap", folder);
    snprintf(older_path, sizeof older_path, "%s" MT_OLDER_SUFFIX, path);
    snprintf(tail_path, sizeof tail_path, "%s" MT_TAIL_SUFFIX, path);
}

static void remove_folder(void)
{
    unlink(path);
    unlink(older_path);
    unlink(tail_path);
    rmdir(folder);
}

static void put(int fd, const void *bytes, size_t size)
{
    ck_assert_int_eq(write(fd, bytes, size), (ssize_t)size);
}

static struct mt_chain chain; /* of the file that was begun last */

/* A trace that this process writes. */
static int begin_file(const char *name, uint64_t id, uint64_t older_id)
{
    unsigned char header[MT_LIVE_HEADER_SIZE];
    struct mt_author author;
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    mt_author_sign(&author, fd);
    mt_encode_live_header(header, id, older_id, &author);
    chain = mt_chain_begin(id, older_id ? chain.events - chain.of_older : 0, MT_FORMAT_VERSION);
    put(fd, header, sizeof header);
    return fd;
}

START_TEST(a_trace_that_begins_while_it_is_opened_is_sound)
{
    const unsigned beginnings = 3000;
    struct mt_follower *follower;
    struct mt_trace_error error;
    make_folder();
    pid_t writer = fork();
    ck_assert_int_ge(writer, 0);
    for (unsigned i = 0; i < beginnings && !writer; i++) {
        close(begin_file(path, i + 1, 0));
        unlink(path);
    }
    if (!writer)
        _exit(0);
    while (!waitpid(writer, NULL, WNOHANG)) {
        int rc = mt_follower_open(&follower, path, &error);
        if (!rc)
            mt_follower_close(follower);
        else if (rc != -ENOENT && error.fault != MT_FAULT_EMPTY)
            ck_abort_msg("%s", error.text);
    }
    remove_folder();
}
END_TEST

/* What was given: how much, and a sum over all that it says, in order. */
struct given {
    uint64_t sum;
    size_t events, definitions, ends;
    enum mt_trace_state state;
    struct mt_trace_error error;
};

static void add(struct given *given, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        given->sum = (given->sum ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
}

static void take(struct given *given, const struct mt_batch *batch)
{
    for (size_t i = 0; i < batch->n_definitions; i++) {
        const struct mt_definition *definition = &batch->definitions[i];
        add(given, &definition->kind, sizeof definition->kind);
        add(given, &definition->id, sizeof definition->id);
        add(given, definition->text, definition->text_size);
    }
    for (size_t i = 0; i < batch->n_events; i++) {
        const struct mt_event *event = &batch->events[i];
        add(given, &event->time_ns, sizeof event->time_ns);
        add(given, &event->kind, sizeof event->kind);
        add(given, event->arg, sizeof event->arg);
    }
    given->definitions += batch->n_definitions;
    given->events += batch->n_events;
    given->ends += batch->type == MT_BATCH_END;
}

/* All that is new. */
static int take_new(struct given *given, struct mt_follower *follower)
{
    struct mt_batch batch;
    int rc;
    while ((rc = mt_follower_next(follower, &batch, &given->error)) > 0)
        take(given, &batch);
    given->state = mt_follower_state(follower);
    return rc;
}

static struct given read_finished(void)
{
    struct given given = {0};
    struct mt_reader *reader;
    struct mt_batch batch;
    ck_assert_int_eq(mt_reader_open(&reader, path, &given.error), 0);
    while (mt_reader_next(reader, &batch, &given.error) > 0)
        take(&given, &batch);
    given.state = mt_reader_state(reader);
    mt_reader_close(reader);
    return given;
}

static void compare(const struct given *given)
{
    struct given finished = read_finished();
    ck_assert_uint_eq(given->events, finished.events);
    ck_assert_uint_eq(given->definitions, finished.definitions);
    ck_assert_uint_eq(given->ends, finished.ends);
    ck_assert_uint_eq(given->sum, finished.sum);
    ck_assert_int_eq(given->state, finished.state);
    ck_assert_int_eq(given->error.fault, finished.error.fault);
}

static struct mt_follower *must_follow(void)
{
    struct mt_follower *follower;
    struct mt_trace_error error;
    ck_assert_int_eq(mt_follower_open(&follower, path, &error), 0);
    return follower;
}

/* A trace of several blocks without its header; the builder's. */
static const unsigned char *blocks_of(struct mt_builder *builder, size_t *size)
{
    const unsigned char *bytes = mt_builder_bytes(builder, size);
    *size -= MT_FILE_HEADER_SIZE;
    return bytes + MT_FILE_HEADER_SIZE;
}

struct bytes {
    char *at;
    size_t size;
};

static void finish_block(struct mt_encoder *encoder, FILE *out)
{
    const unsigned char *bytes;
    size_t size;
    ck_assert_int_eq(mt_encoder_finish(encoder, &bytes, &size), 0);
    if (size)
        ck_assert_uint_eq(fwrite(bytes, 1, size, out), size);
}

/* A batch in blocks of a few records each. */
static void encode(struct mt_encoder *encoder, const struct mt_batch *batch, FILE *out)
{
    for (size_t i = 0; i < batch->n_definitions; i++) {
        ck_assert_int_eq(mt_encoder_definition(encoder, &batch->definitions[i]), 0);
        if (i % 7 == 6)
            finish_block(encoder, out);
    }
    finish_block(encoder, out);
    for (size_t i = 0; i < batch->n_events; i++) {
        ck_assert_int_eq(mt_encoder_event(encoder, &batch->events[i]), 0);
        if (i % 7 == 6)
            finish_block(encoder, out);
    }
    finish_block(encoder, out);
}

/* The blocks of a program that trains; to be freed. */
static struct bytes training(void)
{
    struct bytes bytes;
    struct mt_reader *reader;
    struct mt_batch batch;
    struct mt_trace_error error;
    const unsigned char *end;
    size_t size;
    FILE *out = open_memstream(&bytes.at, &bytes.size);
    struct mt_builder *builder = mt_builder_create();
    struct mt_encoder *encoder = mt_encoder_create(1);
    mt_scenario_training(builder, 40);
    mt_builder_write(builder, path);
    chain = mt_chain_begin(MT_BUILDER_TRACE_ID, 0, MT_FORMAT_VERSION);
    mt_encoder_follow(encoder, &chain);
    ck_assert_int_eq(mt_reader_open(&reader, path, &error), 0);
    while (mt_reader_next(reader, &batch, &error) > 0)
        encode(encoder, &batch, out);
    ck_assert_int_eq(mt_encoder_end(encoder, mt_reader_end(reader), &end, &size), 0);
    ck_assert_uint_eq(fwrite(end, 1, size, out), size);
    fclose(out);
    mt_reader_close(reader);
    mt_builder_destroy(builder);
    mt_encoder_destroy(encoder);
    return bytes;
}

static const size_t pieces[] = {5, 64, 1000, 1 << 20};

START_TEST(a_trace_that_grows_is_read_once)
{
    struct given given = {0};
    size_t before = 0, times = 0;
    make_folder();
    struct bytes blocks = training();
    int fd = begin_file(path, MT_BUILDER_TRACE_ID, 0);
    struct mt_follower *follower = must_follow();
    for (size_t at = 0; at < blocks.size; at += pieces[_i]) {
        put(fd, blocks.at + at, blocks.size - at < pieces[_i] ? blocks.size - at : pieces[_i]);
        if (at + pieces[_i] >= blocks.size)
            break;
        ck_assert_int_eq(take_new(&given, follower), 0);
        ck_assert_int_eq(given.state, MT_TRACE_RUNNING);
        ck_assert(!mt_follower_is_over(follower));
        times += given.events > before;
        before = given.events;
    }
    ck_assert_int_eq(take_new(&given, follower), 0);
    ck_assert(mt_follower_is_over(follower));
    ck_assert(times > 3 || _i == 3); /* in the first three cases: in many pieces */
    compare(&given);
    ck_assert_int_eq(take_new(&given, follower), 0); /* nothing more comes */
    compare(&given);
    ck_assert(given.state == MT_TRACE_CLOSED && given.ends == 1);
    mt_follower_close(follower);
    free(blocks.at);
    close(fd);
    remove_folder();
}
END_TEST

/* A child that is the author of the trace until it is killed. */
static pid_t begin_by_child(void)
{
    int ready[2];
    char byte = 0;
    ck_assert_int_eq(pipe(ready), 0);
    pid_t child = fork();
    if (!child) {
        begin_file(path, MT_BUILDER_TRACE_ID, 0);
        if (write(ready[1], &byte, 1) != 1)
            _exit(1);
        pause();
        _exit(0);
    }
    ck_assert_int_eq(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

static void write_tail(uint64_t trace_size, uint64_t events)
{
    struct mt_tail_builder *tail = mt_tail_builder_create(MT_BUILDER_TRACE_ID, trace_size, 2, 0);
    for (uint64_t i = 0; i < events; i++)
        mt_tail_build_event(tail, &(struct mt_event){.time_ns = 900000000 + i,
                                                     .thread = 1 + (uint32_t)(i % 2),
                                                     .kind = MT_LEAF,
                                                     .arg = {i}});
    mt_tail_builder_write(tail, path);
    mt_tail_builder_destroy(tail);
}

START_TEST(the_tail_follows_when_the_process_was_killed)
{
    struct given given = {0};
    size_t size, events;
    make_folder();
    struct mt_builder *builder = mt_builder_create();
    mt_scenario_mixed_steps(builder); /* which has no end */
    const unsigned char *blocks = blocks_of(builder, &size);
    pid_t child = begin_by_child();
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    struct mt_follower *follower = must_follow();
    write_tail(MT_LIVE_HEADER_SIZE, 10);
    put(fd, blocks, size);
    ck_assert_int_eq(take_new(&given, follower), 0);
    ck_assert_uint_eq(given.events, 0); /* its events are in the tail still */
    if (_i) {
        write_tail(MT_LIVE_HEADER_SIZE + size, 3);
        ck_assert_int_eq(take_new(&given, follower), 0);
        ck_assert_uint_gt(given.events, 0);
        put(fd, "unfinished", 10);
    }
    ck_assert_int_eq(take_new(&given, follower), 0);
    ck_assert(!mt_follower_is_over(follower));
    events = given.events;
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    ck_assert_int_eq(take_new(&given, follower), 0);
    ck_assert(mt_follower_is_over(follower));
    ck_assert_uint_eq(given.events, events + (_i ? 3 : 10));
    ck_assert_int_eq(given.state, MT_TRACE_KILLED);
    compare(&given);
    mt_follower_close(follower);
    mt_builder_destroy(builder);
    close(fd);
    remove_folder();
}
END_TEST

/* A block of so many events, of whose last number is `last`. */
static void put_events(int fd, uint64_t last, unsigned n, bool is_carried)
{
    struct mt_encoder *encoder = mt_encoder_create(1);
    const unsigned char *bytes;
    size_t size;
    mt_encoder_follow(encoder, &chain);
    for (uint64_t i = last - n + 1; i <= last; i++) {
        struct mt_event event = {.time_ns = i, .thread = 1, .kind = MT_LEAF, .arg = {i}};
        ck_assert_int_eq(is_carried ? mt_encoder_carried(encoder, &event)
                                    : mt_encoder_event(encoder, &event),
                         0);
    }
    ck_assert_int_eq(mt_encoder_finish(encoder, &bytes, &size), 0);
    put(fd, bytes, size);
    mt_encoder_destroy(encoder);
}

static void put_end(int fd)
{
    struct mt_encoder *encoder = mt_encoder_create(1);
    const unsigned char *bytes;
    size_t size;
    mt_encoder_follow(encoder, &chain);
    ck_assert_int_eq(mt_encoder_end(encoder, &(struct mt_end){.events = 1}, &bytes, &size), 0);
    put(fd, bytes, size);
    mt_encoder_destroy(encoder);
}

/* What has the trace's name becomes the older segment, and the next one takes its place. */
static int next_segment(uint64_t id, uint64_t older_id)
{
    char name[96];
    snprintf(name, sizeof name, "%s.next", path);
    int fd = begin_file(name, id, older_id);
    ck_assert_int_eq(rename(path, older_path), 0);
    ck_assert_int_eq(rename(name, path), 0);
    return fd;
}

START_TEST(segments_follow_each_other)
{
    struct given given = {0};
    make_folder();
    int first = begin_file(path, 1, 0);
    put_events(first, 10, 10, 0);
    struct mt_follower *follower = must_follow();
    ck_assert_int_eq(take_new(&given, follower), 0);
    ck_assert_uint_eq(given.events, 10);
    put_events(first, 15, 5, 0); /* not read before the next one begins */
    int second = next_segment(2, 1);
    put_events(second, 8, 4, 1);
    ck_assert_int_eq(take_new(&given, follower), 0);
    ck_assert_uint_eq(given.events, 15);
    ck_assert(!mt_follower_is_over(follower));
    put_events(second, 20, 5, 0);
    put_end(second);
    ck_assert_int_eq(take_new(&given, follower), 0);
    ck_assert(mt_follower_is_over(follower));
    ck_assert_uint_eq(given.events, 20);
    compare(&given);
    mt_follower_close(follower);
    close(first);
    close(second);
    remove_folder();
}
END_TEST

START_TEST(a_missed_segment_is_reported)
{
    struct given given = {0};
    make_folder();
    int first = begin_file(path, 1, 0);
    put_events(first, 10, 10, 0);
    struct mt_follower *follower = must_follow();
    ck_assert_int_eq(take_new(&given, follower), 0);
    int second = next_segment(2, 1), third = next_segment(3, 2);
    put_events(third, 30, 3, 1);
    ck_assert_int_eq(take_new(&given, follower), -ESTALE);
    ck_assert(strstr(given.error.text, "dropped"));
    mt_follower_close(follower);
    close(first);
    close(second);
    close(third);
    remove_folder();
}
END_TEST

static void compare_replays(struct mt_follow *follow)
{
    struct mt_replay whole, *replay = mt_follow_replay(follow);
    struct mt_trace_error error;
    ck_assert_int_eq(mt_replay_end(replay), 0);
    ck_assert_int_eq(mt_replay(path, &(struct mt_question){0}, &whole, &error), 0);
    ck_assert_uint_eq(replay->events, whole.events);
    ck_assert_int_eq(memcmp(replay->of_torch.peak, whole.of_torch.peak, sizeof whole.of_torch.peak),
                     0);
    ck_assert_int_eq(memcmp(replay->of_torch.now, whole.of_torch.now, sizeof whole.of_torch.now),
                     0);
    ck_assert_int_eq(memcmp(&replay->oddities, &whole.oddities, sizeof whole.oddities), 0);
    ck_assert_uint_eq(replay->spans[1].n, whole.spans[1].n);
    ck_assert_uint_eq(replay->spans[1].iterations, whole.spans[1].iterations);
    ck_assert_uint_eq(replay->timeline[1].points, whole.timeline[1].points);
    ck_assert_int_eq(replay->survey.state, whole.survey.state);
    ck_assert_int_eq(replay->survey.complete, whole.survey.complete);
    mt_replay_clear(&whole);
}

START_TEST(a_replay_that_follows_is_the_replay)
{
    struct mt_follow *follow;
    struct mt_trace_error error;
    make_folder();
    struct bytes blocks = training();
    int fd = begin_file(path, MT_BUILDER_TRACE_ID, 0);
    ck_assert_int_eq(mt_follow_open(&follow, path, &(struct mt_question){0}, &error), 0);
    for (size_t at = 0; at < blocks.size; at += 300) {
        ck_assert(!mt_follow_is_over(follow));
        ck_assert_int_eq(mt_follow_ended(follow).how, at ? MT_ENDED_RUNNING : MT_ENDED_OPEN);
        put(fd, blocks.at + at, blocks.size - at < 300 ? blocks.size - at : 300);
        while (mt_follow_poll(follow, 10, &error) > 0)
            mt_spans_number(&mt_follow_replay(follow)->spans[1], 1);
        ck_assert_int_eq(error.fault, MT_FAULT_NONE);
    }
    ck_assert(mt_follow_is_over(follow));
    ck_assert_int_eq(mt_follow_ended(follow).how, MT_ENDED_WHOLE);
    compare_replays(follow);
    ck_assert_uint_eq(mt_follow_restarts(follow), 0);
    mt_follow_close(follow);
    free(blocks.at);
    close(fd);
    remove_folder();
}
END_TEST

START_TEST(a_replay_begins_anew_where_events_were_dropped)
{
    struct mt_follow *follow;
    struct mt_trace_error error;
    make_folder();
    int first = begin_file(path, 1, 0);
    put_events(first, 10, 10, 0);
    ck_assert_int_eq(mt_follow_open(&follow, path, &(struct mt_question){0}, &error), 0);
    while (mt_follow_poll(follow, 1000, &error) > 0)
        ;
    ck_assert_uint_eq(mt_follow_replay(follow)->events, 10);
    int second = next_segment(2, 1), third = next_segment(3, 2);
    put_events(third, 30, 3, 1);
    put_events(third, 35, 5, 0);
    put_end(third);
    while (mt_follow_poll(follow, 1000, &error) > 0)
        ;
    ck_assert_int_eq(error.fault, MT_FAULT_NONE);
    ck_assert_uint_eq(mt_follow_restarts(follow), 1);
    ck_assert_uint_eq(mt_follow_replay(follow)->events, 5); /* the second segment has no events */
    ck_assert(mt_follow_is_over(follow));
    mt_follow_close(follow);
    close(first);
    close(second);
    close(third);
    remove_folder();
}
END_TEST

static void train(struct mt_builder *builder)
{
    mt_scenario_training(builder, 5);
}

static void (*const scenarios[])(struct mt_builder *) = {train,
                                                         mt_scenario_mixed,
                                                         mt_scenario_mixed_steps,
                                                         mt_scenario_layers,
                                                         mt_scenario_c_program,
                                                         mt_scenario_balance,
                                                         mt_scenario_idle};

typedef int inspector(struct mt_inspection *live, const struct mt_replay *replay, unsigned slot);

/* Several times, as it leaves the replay as it is. */
static void compare_inspections(const struct mt_analysis *end, const struct mt_replay *replay,
                                inspector *inspect)
{
    for (size_t i = 0; i < 3 * end->n_devices; i++) {
        struct mt_inspection live;
        const struct mt_device *device = &end->devices[i % end->n_devices];
        ck_assert_int_eq(inspect(&live, replay, mt_device_slot(device->device)), 0);
        ck_assert_uint_eq(live.now.allocated, device->at.allocated);
        ck_assert_uint_eq(live.blocks, device->n_verdicts);
        ck_assert_uint_eq(live.unseen, device->unseen);
        for (unsigned j = 0; j < MT_CATEGORY_COUNT; j++)
            ck_assert_uint_eq(live.category[j], device->category[j].bytes);
        ck_assert_uint_eq(live.sites.n, device->sites.n);
        for (size_t j = 0; j < live.sites.n; j++) {
            ck_assert_uint_eq(live.sites.site[j].bytes, device->sites.site[j].bytes);
            ck_assert_uint_eq(live.sites.site[j].stack, device->sites.site[j].stack);
        }
        mt_inspection_clear(&live);
    }
}

START_TEST(a_look_is_a_report)
{
    struct mt_follow *follow;
    struct mt_trace_error error;
    struct mt_analysis end, peak;
    make_folder();
    struct mt_builder *builder = mt_builder_create();
    scenarios[_i](builder);
    mt_builder_write(builder, path);
    ck_assert_int_eq(
        mt_analysis_create(&end, path, &(struct mt_question){.moment = {.kind = MT_AT_END}}), 0);
    ck_assert_int_eq(mt_analysis_create(&peak, path, &(struct mt_question){0}), 0);
    ck_assert_int_eq(mt_follow_open(&follow, path, &(struct mt_question){0}, &error), 0);
    while (mt_follow_poll(follow, 7, &error) > 0) /* looks on the way change nothing */
        for (unsigned slot = 0; slot < MT_DEVICES; slot++) {
            struct mt_inspection live;
            ck_assert_int_eq(mt_inspect_device(&live, mt_follow_replay(follow), slot), 0);
            mt_inspection_clear(&live);
            ck_assert_int_eq(mt_inspect_peak(&live, mt_follow_replay(follow), slot), 0);
            mt_inspection_clear(&live);
        }
    ck_assert_int_eq(mt_definitions_finish(mt_follow_replay(follow)->definitions), 0);
    compare_inspections(&end, mt_follow_replay(follow), mt_inspect_device);
    compare_inspections(&peak, mt_follow_replay(follow), mt_inspect_peak);
    mt_follow_close(follow);
    mt_analysis_destroy(&end);
    mt_analysis_destroy(&peak);
    mt_builder_destroy(builder);
    remove_folder();
}
END_TEST

START_TEST(damage_ends_it_in_words)
{
    struct mt_follow *follow;
    struct mt_trace_error error;
    make_folder();
    int fd = begin_file(path, 1, 0);
    put_events(fd, 10, 10, 0);
    ck_assert_int_eq(mt_follow_open(&follow, path, &(struct mt_question){0}, &error), 0);
    put(fd, "this is not a block of a trace, whatever may read it", 52);
    int rc;
    while ((rc = mt_follow_poll(follow, 1000, &error)) > 0)
        ;
    ck_assert_int_lt(rc, 0);
    ck_assert_int_eq(error.fault, MT_FAULT_DAMAGED);
    ck_assert_uint_eq(mt_follow_replay(follow)->events, 10);
    ck_assert_int_lt(mt_follow_poll(follow, 1000, &error), 0);
    ck_assert_int_eq(error.fault, MT_FAULT_DAMAGED);
    ck_assert_int_eq(mt_follow_ended(follow).how, MT_ENDED_CUT);
    mt_follow_close(follow);
    close(fd);
    ck_assert_int_eq(mt_follow_open(&follow, folder, &(struct mt_question){0}, &error), -EISDIR);
    ck_assert_int_eq(mt_follow_open(&follow, "/nothing/there", &(struct mt_question){0}, &error),
                     -ENOENT);
    remove_folder();
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("follow");
    tcase_add_test(tests, a_trace_that_begins_while_it_is_opened_is_sound);
    tcase_add_loop_test(tests, a_trace_that_grows_is_read_once, 0, sizeof pieces / sizeof *pieces);
    tcase_add_loop_test(tests, the_tail_follows_when_the_process_was_killed, 0, 2);
    tcase_add_test(tests, segments_follow_each_other);
    tcase_add_test(tests, a_missed_segment_is_reported);
    tcase_add_test(tests, a_replay_that_follows_is_the_replay);
    tcase_add_test(tests, a_replay_begins_anew_where_events_were_dropped);
    tcase_add_loop_test(tests, a_look_is_a_report, 0, sizeof scenarios / sizeof *scenarios);
    tcase_add_test(tests, damage_ends_it_in_words);
    return RUN_TESTS(tests);
}
