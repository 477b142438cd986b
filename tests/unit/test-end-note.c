/* SPDX-License-Identifier: Apache-2.0 */
/* How a process ended is noted in its trace by its parent; nothing else in it changes. */
#include "analyzer/trace/ended.h"
#include "tail-builder.h"
#include "tests/support/run-tests.h"
#include "trace-format/encoder.h"
#include "trace-format/end-note.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID 4711u
#define PID 77
#define PARENT 76

static char folder[32], path[64];
static struct mt_encoder *encoder;
static FILE *file;

static void begin(void)
{
    unsigned char header[MT_FILE_HEADER_SIZE];
    snprintf(folder, sizeof folder, "/tmp/memtap-end-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/t.mtap", folder);
    file = fopen(path, "wb");
    encoder = mt_encoder_create(1);
    mt_encode_file_header(header, ID, 0);
    mt_encoder_begin(encoder, ID);
    fwrite(header, 1, sizeof header, file);
}

static void put(const unsigned char *bytes, size_t size)
{
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
}

static void put_block(void)
{
    const unsigned char *bytes;
    size_t size;
    ck_assert_int_eq(mt_encoder_finish(encoder, &bytes, &size), 0);
    put(bytes, size);
}

static void put_info(const char *text)
{
    ck_assert_int_eq(
        mt_encoder_definition(
            encoder,
            &(struct mt_definition){.kind = MT_DEF_INFO, .text = text, .text_size = strlen(text)}),
        0);
    put_block();
}

static void put_event(unsigned kind)
{
    ck_assert_int_eq(mt_encoder_event(encoder, &(struct mt_event){.kind = (uint16_t)kind,
                                                                  .time_ns = 1,
                                                                  .arg = {4096, 512, 512, 512}}),
                     0);
    put_block();
}

static void put_end(void)
{
    const unsigned char *bytes;
    size_t size;
    ck_assert_int_eq(mt_encoder_end(encoder, &(struct mt_end){1, 1, 0}, &bytes, &size), 0);
    put(bytes, size);
}

static void finish(void)
{
    mt_encoder_destroy(encoder);
    fclose(file);
}

static void make(const char *ended, unsigned kind, bool is_closed)
{
    begin();
    put_info("pid=77");
    put_info("parent_pid=76");
    if (kind)
        put_event(kind);
    if (ended)
        put_info(ended);
    if (is_closed)
        put_end();
    finish();
}

static void clear(void)
{
    char tail[80];
    snprintf(tail, sizeof tail, "%s.tail", path);
    unlink(tail);
    unlink(path);
    rmdir(folder);
}

static long long size_of(void)
{
    struct stat status;
    return stat(path, &status) ? -1 : (long long)status.st_size;
}

static struct mt_ended ended(void)
{
    struct mt_survey survey;
    struct mt_trace_error error = {0};
    ck_assert_int_eq(mt_survey(path, &survey, NULL, &error), 0);
    return mt_ended_of(&survey, &error);
}

static void is_said(enum mt_ended_how how, const char *words)
{
    char text[MT_ENDED_TEXT];
    struct mt_ended end = ended();
    ck_assert_str_eq(mt_ended_text(text, &end), words);
    ck_assert_int_eq(end.how, how);
}

START_TEST(in_a_closed_trace)
{
    char how[MT_NOTED_END];
    make(NULL, MT_ALLOC, 1);
    is_said(MT_ENDED_WHOLE, "whole");
    ck_assert_int_eq(mt_note_end(path, PID, PARENT, "signal 11"), 0);
    is_said(MT_ENDED_KILLED, "killed by signal 11 (SIGSEGV)");
    ck_assert_int_eq(mt_noted_end(path, how), 0);
    ck_assert_str_eq(how, "signal 11");
    struct mt_survey survey;
    struct mt_trace_error error;
    ck_assert_int_eq(mt_survey(path, &survey, NULL, &error), 0);
    ck_assert(survey.complete && survey.events == 1 && survey.end.events == 1);
    long long size = size_of();
    ck_assert_int_eq(mt_note_end(path, PID, PARENT, "signal 11"), 0);
    ck_assert_int_eq(size_of(), size); /* it is known */
    ck_assert_int_eq(mt_note_end(path, PID, PARENT, "exit code 3"), 0);
    is_said(MT_ENDED_EXIT, "exit code 3"); /* the last word counts */
    clear();
}
END_TEST

START_TEST(behind_a_trace_that_was_not_closed)
{
    make(NULL, MT_ALLOC, 0);
    is_said(MT_ENDED_OPEN, "the recording was not closed");
    ck_assert_int_eq(mt_note_end(path, PID, PARENT, "signal 9"), 0);
    is_said(MT_ENDED_KILLED, "killed by signal 9 (SIGKILL); the recording was not closed");
    ck_assert_int_eq(truncate(path, size_of() - 3), 0); /* now it is cut: to be left alone */
    long long size = size_of();
    ck_assert_int_lt(mt_note_end(path, PID, PARENT, "signal 6"), 0);
    ck_assert_int_eq(size_of(), size);
    ck_assert_int_eq(ended().how, MT_ENDED_CUT);
    clear();
    make("ended=signal 9 from ancestor 76", MT_ALLOC, 0);
    is_said(MT_ENDED_KILLED,
            "terminated by process 76, which started it (SIGKILL); the recording was not closed");
    clear();
    make("ended=signal 9 from 5", MT_ALLOC, 0);
    is_said(MT_ENDED_KILLED, "killed by signal 9 (SIGKILL); the recording was not closed");
    clear();
}
END_TEST

START_TEST(in_a_tail)
{
    make(NULL, 0, 0);
    struct mt_tail_builder *b = mt_tail_builder_create(ID, (uint64_t)size_of(), 1, 0);
    mt_tail_builder_header(b)->pid = PID;
    mt_tail_build_event(b, &(struct mt_event){.time_ns = 5, .thread = 1, .kind = MT_OOM});
    mt_tail_builder_write(b, path);
    is_said(MT_ENDED_OUT_OF_MEMORY, "out of memory, not caught");
    ck_assert_int_eq(mt_note_end(path, PID + 1, PARENT, "signal 9"), -ESRCH);
    ck_assert_int_eq(mt_note_end(path, PID, PARENT, "signal 6"), 0);
    is_said(MT_ENDED_OUT_OF_MEMORY, "out of memory, not caught; killed by signal 6 (SIGABRT)");
    ck_assert_int_eq(mt_note_end(path, PID, PARENT, "signal 9"), -EBUSY); /* it is said already */
    mt_tail_builder_header(b)->end = MT_TAIL_EXECUTED;
    strcpy(mt_tail_builder_header(b)->why, "/bin/sh");
    mt_tail_builder_write(b, path);
    ck_assert_int_eq(mt_note_end(path, PID, PARENT, "exit code 1"), -EBUSY);
    is_said(MT_ENDED_EXECUTED, "the process executed another program (/bin/sh); memory "
                               "ran out once, and the program continued");
    mt_tail_builder_destroy(b);
    clear();
}
END_TEST

START_TEST(not_in_another_ones_trace)
{
    make(NULL, MT_ALLOC, 1);
    long long size = size_of();
    ck_assert_int_eq(mt_note_end(path, PID + 1, PARENT, "signal 9"), -ESRCH);
    ck_assert_int_eq(mt_note_end(path, PID, PARENT + 1, "signal 9"), -ESRCH);
    ck_assert_int_eq(size_of(), size);
    ck_assert_int_eq(truncate(path, 20), 0);
    ck_assert_int_lt(mt_note_end(path, PID, PARENT, "signal 9"), 0);
    ck_assert_int_eq(truncate(path, 0), 0);
    ck_assert_int_lt(mt_note_end(path, PID, PARENT, "signal 9"), 0);
    clear();
    ck_assert_int_lt(mt_note_end(path, PID, PARENT, "signal 9"), 0);
}
END_TEST

/* Without an exit code, as older traces are, memory that ran out last is how it ended. */
START_TEST(what_is_not_known_is_taken_from_the_rest)
{
    static const struct {
        const char *info;
        unsigned kind;
        enum mt_ended_how how;
        const char *text;
    } cases[] = {
        {NULL, MT_OOM, MT_ENDED_OUT_OF_MEMORY, "out of memory, not caught"},
        {"ended=exit code 0", MT_OOM, MT_ENDED_WHOLE,
         "whole; memory ran out once, and the program continued"},
        {"ended=exit code 1", MT_OOM, MT_ENDED_OUT_OF_MEMORY,
         "out of memory, not caught; exit code 1"},
        {"ended=exit code 256256256", MT_ALLOC, MT_ENDED_WHOLE, "whole"}, /* nobody writes that */
        {"ended=nonsense", MT_ALLOC, MT_ENDED_WHOLE, "whole"},
        {"ended=cut", MT_ALLOC, MT_ENDED_CUT, "the trace is truncated"},
        {"recovered=7 events from the tail", MT_ALLOC, MT_ENDED_KILLED, "killed, recovered"},
        {"recovered=the trace is cut at byte 9; it is so", MT_ALLOC, MT_ENDED_CUT,
         "the trace is cut at byte 9, recovered"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make(cases[i].info, cases[i].kind, 1);
        is_said(cases[i].how, cases[i].text);
        clear();
    }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("end note");
    tcase_add_test(tests, in_a_closed_trace);
    tcase_add_test(tests, behind_a_trace_that_was_not_closed);
    tcase_add_test(tests, in_a_tail);
    tcase_add_test(tests, not_in_another_ones_trace);
    tcase_add_test(tests, what_is_not_known_is_taken_from_the_rest);
    return RUN_TESTS(tests);
}
