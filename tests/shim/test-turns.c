/* SPDX-License-Identifier: Apache-2.0 */
/* Without a thread of memtap's the program's own calls write the trace (preload/write/turns.h):
 * what holds with the thread holds without. */
#include "harness.h"
#include "tests/support/run-tests.h"
#include "trace-format/tail.h"

#include <check.h>
#include <stdio.h>
#include <sys/resource.h>

#define ALONE "MEMTAP_QUIET=1", "MEMTAP_THREAD=0", "MEMTAP_OUTPUT=t.mtap"

static const char *const kept[] = {"MEMTAP_KEEP=all", "MEMTAP_KEEP=1M"};

START_TEST(every_event_arrives)
{
    struct outcome o = run(ARGS("alloc-threads", "4", "100000"), ARGS(ALONE, kept[_i]));
    ck_assert(ended_with(&o, 0));
    ck_assert_str_eq(o.errors, "");
    struct counts c = read_counts(&o, "t.mtap");
    ck_assert(c.is_complete && c.is_ordered);
    if (!_i)
        ck_assert_uint_eq(c.kind[MT_CUDA_MALLOC] + c.kind[MT_CUDA_FREE] + c.lost, 800000);
    remove_outcome(&o);
}
END_TEST

/* What each thread had counted is in the trace, or in its tail. */
START_TEST(a_kill_loses_nothing)
{
    struct outcome o = run_and_kill(ARGS("alloc-threads", "3", "100000000"),
                                    ARGS(ALONE, "ALLOC_COUNTS=counts"), 60000, 1000u * _i);
    struct tally tally = read_tally(&o);
    struct counts c = read_counts(&o, "t.mtap");
    uint64_t sum = c.kind[MT_CUDA_MALLOC] + c.kind[MT_CUDA_FREE] + c.lost;
    ck_assert_int_eq(c.state, MT_TRACE_KILLED);
    ck_assert(c.is_ordered);
    ck_assert_uint_ge(sum, tally.sum);
    ck_assert_uint_le(sum, tally.sum + 3 + (c.lost ? 64 : 0));
    remove_outcome(&o);
}
END_TEST

/* Where files may be so short only, there is no tail: the last 16th of a ring is missing at most.
 */
START_TEST(without_a_tail_a_kill_loses_little)
{
    const struct rlimit limit = {1 << 20, 1 << 20};
    const uint64_t least_words = 3, piece = MT_RING_WORDS / 16 / least_words;
    setrlimit(RLIMIT_FSIZE, &limit);
    struct outcome o = run(ARGS("alloc-threads", "1", "20000", "kill"), ARGS(ALONE));
    struct counts c = read_counts(&o, "t.mtap");
    uint64_t sum = c.kind[MT_CUDA_MALLOC] + c.kind[MT_CUDA_FREE];
    ck_assert_int_eq(o.n_files, 1);
    ck_assert(c.is_gapless);
    ck_assert_uint_lt(sum, 40000);
    ck_assert_uint_gt(sum, 40000 - piece);
    remove_outcome(&o);
}
END_TEST

START_TEST(a_full_disk_ends_the_trace_only)
{
    const struct rlimit limit = {200000, 200000};
    setrlimit(RLIMIT_FSIZE, &limit);
    struct outcome o = run(ARGS("alloc-threads", "2", "100000"), ARGS(ALONE));
    ck_assert(ended_with(&o, 0));
    ck_assert_str_eq(o.errors, "memtap: cannot write t.mtap: File too large; recording stopped, "
                               "the program continues\n");
    ck_assert(!read_counts(&o, "t.mtap").is_complete);
    remove_outcome(&o);
}
END_TEST

/* The thread counts as one of the program's, or may not be made. */
static const struct {
    const char *program, *way;
    uint64_t mallocs;
} places[] = {{"survives", "user", 10}, {"main-ends", "alone", 1000}, {"main-ends", NULL, 2000}};

START_TEST(there_is_no_thread)
{
    struct outcome o =
        run(ARGS(places[_i].program, places[_i].way), ARGS("MEMTAP_QUIET=1", "MEMTAP_THREAD=0"));
    if (ended_with(&o, 77)) { /* who may do so */
        remove_outcome(&o);
        return;
    }
    ck_assert(ended_with(&o, 0));
    ck_assert_str_eq(o.errors, "");
    has_complete_trace(&o, places[_i].mallocs);
}
END_TEST

/* The calls that a filter must allow are those of the list. */
START_TEST(a_filter_that_allows_memtap_s_calls_does_no_harm)
{
    struct outcome o =
        run(ARGS("survives", "unseen"), ARGS("MEMTAP_QUIET=1", "MEMTAP_STACKS=none",
                                             _i ? "MEMTAP_THREAD=1" : "MEMTAP_THREAD=0"));
    ck_assert(ended_with(&o, 0));
    ck_assert_str_eq(o.errors, "");
    struct counts c = read_counts(&o, o.file[0]);
    ck_assert(c.is_complete);
    ck_assert_uint_eq(c.kind[MT_CUDA_MALLOC] + c.lost, 100005);
    remove_outcome(&o);
}
END_TEST

START_TEST(where_no_thread_can_be_made_it_goes_without)
{
    struct outcome o = run(ARGS("main-ends", "alone"), QUIET);
    ck_assert(ended_with(&o, 0) || ended_with(&o, 77)); /* who may do so */
    ck_assert_str_eq(o.errors, "");
    if (ended_with(&o, 0))
        has_complete_trace(&o, 1000);
    else
        remove_outcome(&o);
}
END_TEST

START_TEST(a_forked_child_has_its_own_trace)
{
    struct outcome o = run(ARGS("fork-child", "cuda"), ARGS("MEMTAP_QUIET=1", "MEMTAP_THREAD=0"));
    ck_assert(ended_with(&o, 0));
    ck_assert_int_eq(o.n_files, 2);
    for (int i = 0; i < 2; i++)
        ck_assert(read_counts(&o, o.file[i]).is_complete);
    remove_outcome(&o);
}
END_TEST

/* Turns have a stack of their own. */
START_TEST(little_of_a_thread_s_stack_is_used)
{
    unsigned first, new, of_thread, of_thread_new;
    struct outcome o = run(ARGS("small-stacks"), ARGS(ALONE));
    ck_assert(ended_with(&o, 0));
    ck_assert_int_eq(sscanf(o.output, "%u %u %u %u", &first, &new, &of_thread, &of_thread_new), 4);
    ck_assert_uint_lt(first, 10000);
    ck_assert_uint_lt(new, 4096);
    ck_assert_uint_lt(of_thread, 4096);
    ck_assert_uint_lt(of_thread_new, 4096);
    remove_outcome(&o);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("turns");
    tcase_add_loop_test(tests, every_event_arrives, 0, 2);
    tcase_add_test(tests, a_full_disk_ends_the_trace_only);
    tcase_add_loop_test(tests, there_is_no_thread, 0, IS_SANITIZED ? 2 : 3); /* as in processes */
    tcase_add_test(tests, where_no_thread_can_be_made_it_goes_without);
    tcase_add_test(tests, a_forked_child_has_its_own_trace);
    if (!IS_SANITIZED) {
        tcase_add_loop_test(tests, a_filter_that_allows_memtap_s_calls_does_no_harm, 0, 2);
        tcase_add_loop_test(tests, a_kill_loses_nothing, 0, 10);
        tcase_add_test(tests, without_a_tail_a_kill_loses_little);
        tcase_add_test(tests, little_of_a_thread_s_stack_is_used);
    }
    return RUN_TESTS(tests);
}
