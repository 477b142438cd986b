/* SPDX-License-Identifier: Apache-2.0 */
/* What a program does is in its trace, whatever its threads do. */
#include "harness.h"
#include "tests/support/run-tests.h"

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A pair is 10 words of a ring, which has 2^18: nothing is lost, however slow the writer is. With
 * more, what is lost is counted. */
static const struct {
    const char *text;
    unsigned number;
} pairs[] = {{"25000", 25000}, {"100000", 100000}};

START_TEST(every_event_of_every_thread_arrives)
{
    struct outcome o = run(ARGS("alloc-threads", "4", pairs[_i].text), QUIET);
    ck_assert(ended_with(&o, 0));
    ck_assert_str_eq(o.errors, "");
    ck_assert_int_eq(o.n_files, 1);
    struct counts c = read_counts(&o, o.file[0]);
    ck_assert(c.is_complete);
    ck_assert(c.is_ordered);
    ck_assert(!c.lost || _i);
    ck_assert_uint_eq(c.kind[MT_CUDA_MALLOC] + c.kind[MT_CUDA_FREE] + c.lost,
                      8 * (uint64_t)pairs[_i].number);
    ck_assert_uint_eq(c.definitions[MT_DEF_THREAD], 4);
    remove_outcome(&o);
}
END_TEST

START_TEST(many_short_threads_are_given_back)
{
    for (int i = 0; i < 3; i++) {
        struct outcome o = run(ARGS("alloc-threads", "64", "10"), QUIET);
        ck_assert(ended_with(&o, 0));
        struct counts c = read_counts(&o, o.file[0]);
        ck_assert_uint_eq(c.kind[MT_CUDA_MALLOC], 640);
        ck_assert_uint_eq(c.definitions[MT_DEF_THREAD], 64);
        remove_outcome(&o);
    }
}
END_TEST

START_TEST(threads_that_come_and_go_take_little_room)
{
    struct outcome o =
        run(ARGS("short-threads", "3000"), ARGS("MEMTAP_QUIET=1", "MEMTAP_OUTPUT=t"));
    ck_assert(ended_with(&o, 0));
    ck_assert_int_lt(atoi(o.output), 1024); /* of 6,000 MiB for all at once */
    has_complete_trace(&o, 3000);
}
END_TEST

/* Each one's first event waits for those of all others. */
START_TEST(thousands_of_threads_at_once_lose_nothing)
{
    struct outcome o =
        run(ARGS("short-threads", "0", "2000"), ARGS("MEMTAP_QUIET=1", "MEMTAP_OUTPUT=t"));
    if (ended_with(&o, 77)) { /* there cannot be so many here */
        remove_outcome(&o);
        return;
    }
    ck_assert(ended_with(&o, 0));
    ck_assert_int_le(atoi(o.output), 520); /* of 4,000 MiB */
    has_complete_trace(&o, 2000);
}
END_TEST

START_TEST(each_caller_has_its_own_runtime)
{
    struct outcome o = run(ARGS("two-runtimes"), QUIET);
    ck_assert(ended_with(&o, 0));
    ck_assert_str_eq(o.output, "program 7, module 6, looked up 6 and 7, program 7\n");
    struct counts c = read_counts(&o, o.file[0]);
    ck_assert_uint_eq(c.kind[MT_CUDA_MALLOC], 5);
    ck_assert_uint_eq(c.kind[MT_CUDA_FREE_FAILED], 0);
    remove_outcome(&o);
}
END_TEST

START_TEST(failures_are_recorded_as_such)
{
    struct outcome o =
        run(ARGS("alloc-threads", "1", "130"), ARGS("MEMTAP_QUIET=1", "FAKE_FAIL=1"));
    struct counts c = read_counts(&o, o.file[0]);
    ck_assert_uint_eq(c.kind[MT_CUDA_MALLOC], 130);
    ck_assert_uint_eq(c.kind[MT_CUDA_FREE], 120);
    remove_outcome(&o);
}
END_TEST

START_TEST(a_thread_is_not_cancelled_in_a_hook)
{
    struct outcome o = run(ARGS("cancelled"), ARGS("MEMTAP_QUIET=1", "MEMTAP_STACKS=both"));
    ck_assert(ended_with(&o, 0));
    ck_assert_str_eq(o.errors, "");
    struct counts c = read_counts(&o, o.file[0]);
    ck_assert(c.is_complete);
    ck_assert_uint_eq(c.kind[MT_CUDA_MALLOC], 1);
    ck_assert_uint_eq(c.kind[MT_CUDA_FREE], 1);
    remove_outcome(&o);
}
END_TEST

static const char *const stack_settings[] = {"MEMTAP_STACKS=none", "MEMTAP_STACKS=both"};

/* At each place in which it might wait for itself: the handler's events are recorded, or counted;
 * but for a free of what was allocated before recording had begun. */
START_TEST(a_handler_does_not_wait_for_what_its_thread_holds)
{
    char number[16];
    int at = 0, places;
    do {
        snprintf(number, sizeof number, "%d", at);
        struct outcome o =
            run(ARGS("interrupted", number), ARGS("MEMTAP_QUIET=1", stack_settings[_i]));
        ck_assert_msg(ended_with(&o, 0), "at place %d", at);
        struct counts c = read_counts(&o, o.file[0]);
        uint64_t n = c.kind[MT_CUDA_MALLOC] + c.kind[MT_CUDA_FREE] + c.kind[MT_RANGE_PUSH] +
                     c.kind[MT_RANGE_POP] + c.lost;
        places = atoi(o.output);
        ck_assert(c.is_complete);
        /* A capture within one is none of its own. */
        ck_assert_uint_ge(n, c.lost ? 7 : at && at <= places ? 8 : 6);
        ck_assert_uint_le(n, 11); /* asking for the pool's number counts, too, where it is lost */
        remove_outcome(&o);
    } while (at++ <= places);
    ck_assert_int_gt(places, 15);
}
END_TEST

/* Whoever comes to the lock goes on without it: each event is there, or counted as lost. */
START_TEST(nobody_waits_for_a_thread_that_stands_still)
{
    char number[16];
    int at = 1, stands;
    do {
        snprintf(number, sizeof number, "%d", at);
        struct outcome o =
            run(ARGS("stands-still", number), ARGS("MEMTAP_QUIET=1", stack_settings[_i]));
        ck_assert_msg(ended_with(&o, 0), "at place %d", at);
        stands = atoi(o.output);
        struct counts c = read_counts(&o, o.file[0]);
        ck_assert_uint_eq(c.kind[MT_CUDA_MALLOC] + c.lost, stands ? 15 : 16);
        ck_assert(stands || (c.is_complete && !c.lost));
        remove_outcome(&o);
    } while (stands && at++);
    ck_assert_int_ge(at, 2);
}
END_TEST

/* However late it is cancelled, it leaves no lock behind. */
START_TEST(a_thread_is_not_cancelled_with_a_lock)
{
    char number[16];
    int at = 1, came;
    do {
        snprintf(number, sizeof number, "%d", at);
        struct outcome o = run(ARGS("stands-still", number, "cancelled"),
                               ARGS("MEMTAP_QUIET=1", stack_settings[_i]));
        ck_assert_msg(ended_with(&o, 0), "at place %d", at);
        ck_assert_str_eq(o.errors, "");
        came = atoi(o.output);
        struct counts c = read_counts(&o, o.file[0]);
        ck_assert_uint_ge(c.kind[MT_CUDA_MALLOC], 15);
        ck_assert(c.is_complete);
        remove_outcome(&o);
    } while (came && at++);
    ck_assert_int_ge(at, 2);
}
END_TEST

START_TEST(little_of_a_thread_s_stack_is_used)
{
    unsigned first, new, of_thread, of_thread_new;
    struct outcome o = run(ARGS("small-stacks", NULL), ARGS("MEMTAP_QUIET=1", stack_settings[_i]));
    ck_assert(ended_with(&o, 0));
    ck_assert_int_eq(sscanf(o.output, "%u %u %u %u", &first, &new, &of_thread, &of_thread_new), 4);
    ck_assert_uint_lt(first, 10000); /* 3,200 without us: the loader's */
    ck_assert_uint_lt(new, 4096);
    ck_assert_uint_lt(of_thread, 4096);
    ck_assert_uint_lt(of_thread_new, 4096);
    remove_outcome(&o);
}
END_TEST

START_TEST(a_thread_s_stack_may_be_the_smallest)
{
    struct outcome o = run(ARGS("small-stacks", _i / 2 ? "default" : "least"),
                           ARGS("MEMTAP_QUIET=1", stack_settings[_i % 2]));
    ck_assert(ended_with(&o, 0));
    has_complete_trace(&o, 4);
}
END_TEST

START_TEST(a_stack_may_make_room_for_a_smaller_one)
{
    struct outcome o = run(ARGS("moved-stacks"), ARGS("MEMTAP_QUIET=1", "MEMTAP_STACKS=native"));
    ck_assert(ended_with(&o, 0));
    has_complete_trace(&o, 3);
}
END_TEST

START_TEST(a_clock_that_stands_still_is_the_program_s_alone)
{
    struct outcome o = run(ARGS("stopped-clock", pairs[1].text), QUIET);
    ck_assert(ended_with(&o, 0));
    struct counts c = read_counts(&o, o.file[0]);
    ck_assert(c.is_complete);
    ck_assert_uint_eq(c.kind[MT_CUDA_MALLOC] + c.kind[MT_CUDA_FREE] + c.lost,
                      2 * (uint64_t)pairs[1].number);
    remove_outcome(&o);
}
END_TEST

/* What a thread was inside of is over, and counted; everything else is recorded. */
static const struct {
    const char *way;
    uint64_t mallocs; /* that return; 0: by chance */
    bool may_lose;
} ways[] = {{"start", 600, 0}, {"call", 400, 1},       {"hook", 0, 1},        {"cancel", 0, 1},
            {"exit", 400, 0},  {"coroutine", 1001, 0}, {"elsewhere", 800, 0}, {"arena", 600, 0}};
#define WAYS (int)(sizeof ways / sizeof *ways)

START_TEST(a_jump_out_of_a_call_ends_it)
{
    const char *way = ways[_i / 2].way;
    struct outcome o = run(ARGS("jumps", way), ARGS("MEMTAP_QUIET=1", stack_settings[_i % 2]));
    ck_assert_msg(ended_with(&o, 0), "%s", way);
    ck_assert_str_eq(o.errors, "");
    struct counts c = read_counts(&o, o.file[0]);
    ck_assert_msg(c.is_complete, "%s", way);
    if (ways[_i / 2].mallocs)
        ck_assert_uint_eq(c.kind[MT_CUDA_MALLOC], ways[_i / 2].mallocs);
    else
        ck_assert_uint_ge(c.kind[MT_CUDA_MALLOC], 400);
    if (!strcmp(way, "call"))
        ck_assert_uint_eq(c.lost, strtoull(o.output, NULL, 10));
    if (!strcmp(way, "arena"))
        ck_assert_int_le(atoi(o.output), 32); /* of 16,384 */
    if (!ways[_i / 2].may_lose)
        ck_assert_uint_eq(c.lost, 0);
    remove_outcome(&o);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("recording");
    tcase_add_loop_test(tests, every_event_of_every_thread_arrives, 0,
                        sizeof pairs / sizeof *pairs);
    tcase_add_test(tests, many_short_threads_are_given_back);
    tcase_add_test(tests, threads_that_come_and_go_take_little_room);
    tcase_add_test(tests, thousands_of_threads_at_once_lose_nothing);
    tcase_add_test(tests, each_caller_has_its_own_runtime);
    tcase_add_test(tests, failures_are_recorded_as_such);
    tcase_add_test(tests, a_thread_is_not_cancelled_in_a_hook);
    tcase_add_test(tests, a_clock_that_stands_still_is_the_program_s_alone);
    if (!IS_SANITIZED) {
        tcase_add_loop_test(tests, a_handler_does_not_wait_for_what_its_thread_holds, 0, 2);
        tcase_add_loop_test(tests, a_jump_out_of_a_call_ends_it, 0, 2 * WAYS);
        tcase_add_loop_test(tests, nobody_waits_for_a_thread_that_stands_still, 0, 2);
        tcase_add_loop_test(tests, a_thread_is_not_cancelled_with_a_lock, 0, 2);
        tcase_add_loop_test(tests, little_of_a_thread_s_stack_is_used, 0, 2);
        tcase_add_loop_test(tests, a_thread_s_stack_may_be_the_smallest, 0, 4);
        tcase_add_test(tests, a_stack_may_make_room_for_a_smaller_one);
    }
    return RUN_TESTS(tests);
}
