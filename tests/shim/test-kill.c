/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever ends a program: what a hook had returned from is in the trace and its tail. The program
 * counts in shared memory, after each call. */
#include "harness.h"
#include "tests/support/run-tests.h"
#include "tests/support/seed.h"
#include "trace-format/tail.h"

#include <check.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNTED "MEMTAP_QUIET=1", "ALLOC_COUNTS=counts", "MEMTAP_OUTPUT=t.mtap"

static bool has_file(const struct outcome *outcome, const char *name)
{
    for (int i = 0; i < outcome->n_files; i++)
        if (!strcmp(outcome->file[i], name))
            return true;
    return false;
}

static uint64_t size_of(const struct outcome *outcome, const char *name)
{
    char path[600];
    struct stat status;
    snprintf(path, sizeof path, "%s/%s", outcome->directory, name);
    return stat(path, &status) ? 0 : (uint64_t)status.st_size;
}

/* Each thread has in the trace what it had counted, and at most the call that it was in. */
static void compare_threads(const struct tally *tally, const struct counts *counts)
{
    for (unsigned i = 0; i < 64; i++) {
        ck_assert_uint_ge(counts->thread[i].mallocs, tally->of[i][0]);
        ck_assert_uint_le(counts->thread[i].mallocs, tally->of[i][0] + 1);
        ck_assert_uint_ge(counts->thread[i].frees, tally->of[i][1]);
        ck_assert_uint_le(counts->thread[i].frees, tally->of[i][1] + 1);
    }
}

static void nothing_is_missing(const struct outcome *outcome)
{
    struct tally tally = read_tally(outcome);
    ck_assert_msg(tally.sum, "the program was killed before it did anything");
    ck_assert(has_file(outcome, "t.mtap"));
    struct counts counts = read_counts(outcome, "t.mtap");
    ck_assert_int_eq(counts.state, MT_TRACE_KILLED);
    ck_assert(counts.is_ordered);
    if (counts.lost) { /* the machine was so busy that rings were full for long */
        uint64_t sum = counts.kind[MT_CUDA_MALLOC] + counts.kind[MT_CUDA_FREE] + counts.lost;
        ck_assert_uint_ge(sum, tally.sum);
        ck_assert_uint_le(sum, tally.sum + 64);
        return;
    }
    ck_assert(counts.is_gapless);
    compare_threads(&tally, &counts);
}

static struct outcome kill_at(unsigned after_calls, unsigned moment, const char *threads)
{
    struct outcome o = run_and_kill(ARGS("alloc-threads", threads, "100000000"), ARGS(COUNTED),
                                    after_calls, moment);
    ck_assert_int_eq(WIFSIGNALED(o.status) ? WTERMSIG(o.status) : 0, SIGKILL);
    return o;
}

/* Some in the middle of its start, ever later until it has done something; the others in the middle
 * of its work. */
START_TEST(nothing_is_lost_to_sigkill)
{
    unsigned moment = by_chance(_i, 50000);
    struct outcome o = kill_at(_i % 8 < 2 ? 0 : 1, moment, _i % 2 ? "4" : "2");
    while (!read_tally(&o).sum) {
        remove_outcome(&o);
        moment = 2 * moment + 1000;
        o = kill_at(0, moment, _i % 2 ? "4" : "2");
    }
    nothing_is_missing(&o);
    remove_outcome(&o);
}
END_TEST

/* The slowest compression: all rings are full when the kill comes. */
START_TEST(nothing_is_lost_of_full_rings)
{
    struct outcome o = run_and_kill(ARGS("alloc-threads", "4", "100000000"),
                                    ARGS(COUNTED, "MEMTAP_LEVEL=19"), 400000, 0);
    nothing_is_missing(&o);
    remove_outcome(&o);
}
END_TEST

static const struct {
    const char *end;
    int signal;
} ends[] = {{"fault", SIGSEGV}, {"kill", SIGKILL}};

START_TEST(nothing_is_lost_to_a_crash)
{
    struct outcome o =
        run(ARGS("alloc-threads", "3", "100000000", ends[_i].end, "500000"), ARGS(COUNTED));
    ck_assert_int_eq(WIFSIGNALED(o.status) ? WTERMSIG(o.status) : 0, ends[_i].signal);
    nothing_is_missing(&o);
    remove_outcome(&o);
}
END_TEST

START_TEST(a_proper_end_leaves_no_tail)
{
    static const char *const proper[] = {"return", "_exit", "abort", "interrupt"};
    struct outcome o = run(ARGS("alloc-threads", "3", "1000", proper[_i]), ARGS(COUNTED));
    ck_assert(has_file(&o, "t.mtap"));
    ck_assert(!has_file(&o, "t.mtap.tail"));
    struct counts counts = read_counts(&o, "t.mtap");
    ck_assert_int_eq(counts.state, MT_TRACE_CLOSED);
    ck_assert_uint_eq(counts.kind[MT_CUDA_MALLOC], 3000);
    remove_outcome(&o);
}
END_TEST

/* The trace cannot grow any more; what had not been written is in the tail, without a gap. */
START_TEST(a_full_disk_loses_nothing_that_was_recorded)
{
    struct rlimit limit = {8 << 20, 8 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    struct outcome o = run(ARGS("alloc-threads", "2", "5000000"), ARGS(COUNTED));
    ck_assert(WIFEXITED(o.status) && WEXITSTATUS(o.status) == 0);
    ck_assert_str_eq(o.errors, "memtap: cannot write t.mtap: File too large; recording stopped, "
                               "the program continues\n");
    struct counts counts = read_counts(&o, "t.mtap");
    ck_assert_int_eq(counts.state, MT_TRACE_STOPPED);
    ck_assert(counts.lost || counts.is_gapless);
    ck_assert_uint_gt(counts.kind[MT_CUDA_MALLOC], 500000);
    remove_outcome(&o);
}
END_TEST

/* Room for one thread's ring. What the others had not got into the trace is gone, and counted. */
START_TEST(threads_that_begin_on_a_full_disk_lose_nothing_unsaid)
{
    rlim_t room = MT_TAIL_RINGS + sizeof(struct mt_ring) + 65536;
    struct rlimit limit = {room, room};
    setrlimit(RLIMIT_FSIZE, &limit);
    struct outcome o = run_and_kill(ARGS("alloc-threads", "3", "100000000"), ARGS(COUNTED),
                                    30000 + 7919 * (uint64_t)_i, 1000);
    struct tally tally = read_tally(&o);
    struct counts counts = read_counts(&o, "t.mtap");
    uint64_t sum = counts.kind[MT_CUDA_MALLOC] + counts.kind[MT_CUDA_FREE] + counts.lost;
    ck_assert_int_eq(counts.state, MT_TRACE_KILLED);
    ck_assert_uint_ge(sum, tally.sum);
    ck_assert_uint_le(sum, tally.sum + 6);
    remove_outcome(&o);
}
END_TEST

START_TEST(a_disk_without_room_for_the_tail_is_borne)
{
    struct rlimit limit = {200000, 200000};
    setrlimit(RLIMIT_FSIZE, &limit);
    struct outcome o = run(ARGS("alloc-threads", "2", "1000"), ARGS(COUNTED));
    ck_assert_str_eq(o.errors, "");
    ck_assert(!has_file(&o, "t.mtap.tail"));
    struct counts counts = read_counts(&o, "t.mtap");
    ck_assert_int_eq(counts.state, MT_TRACE_CLOSED);
    ck_assert_uint_eq(counts.kind[MT_CUDA_MALLOC], 2000);
    remove_outcome(&o);
}
END_TEST

/* Its tail may be the last that is left of an older trace of that name. */
START_TEST(a_tail_is_never_overwritten)
{
    struct outcome o = run(ARGS("fork-child", "stale"), ARGS("MEMTAP_OUTPUT=t.mtap"));
    ck_assert_ptr_nonnull(strstr(o.errors, "memtap: t.mtap.tail exists; writing t.1.mtap"));
    ck_assert(has_file(&o, "t.mtap.tail"));
    ck_assert(!has_file(&o, "t.mtap"));
    ck_assert_int_eq(read_counts(&o, "t.1.mtap").state, MT_TRACE_CLOSED);
    remove_outcome(&o);
}
END_TEST

/* The newest part, whose first block may be what stands for the past. */
static void compare_ends(const struct outcome *outcome)
{
    struct tally tally = read_tally(outcome);
    struct counts counts = read_counts(outcome, "t.mtap");
    if (counts.lost)
        return;
    ck_assert(counts.is_gapless);
    for (unsigned i = 0; i < 64; i++) {
        ck_assert_uint_ge(counts.thread[i].turns, tally.of[i][0]);
        ck_assert_uint_le(counts.thread[i].turns, tally.of[i][0] + 1);
    }
}

START_TEST(the_newest_is_kept_and_no_more)
{
    struct outcome o = run(ARGS("alloc-threads", "1", "5000000"), ARGS(COUNTED, "MEMTAP_KEEP=1M"));
    ck_assert_str_eq(o.errors, "");
    ck_assert_int_eq(o.n_files, 3);
    ck_assert(has_file(&o, "t.mtap.0"));
    ck_assert_uint_le(size_of(&o, "t.mtap"), 2 << 20);
    ck_assert_uint_le(size_of(&o, "t.mtap.0"), 2 << 20);
    struct counts counts = read_counts(&o, "t.mtap");
    ck_assert(counts.is_complete);
    ck_assert_uint_gt(counts.kind[MT_CUDA_MALLOC], 100000);
    ck_assert_uint_lt(counts.kind[MT_CUDA_MALLOC], 4000000);
    compare_ends(&o);
    remove_outcome(&o);
}
END_TEST

START_TEST(a_kill_between_segments_loses_nothing)
{
    unsigned moment = by_chance(_i, 200000);
    struct outcome o = run_and_kill(ARGS("alloc-threads", "2", "100000000"),
                                    ARGS(COUNTED, "MEMTAP_KEEP=1M"), 1000000, moment);
    ck_assert(has_file(&o, "t.mtap"));
    compare_ends(&o);
    remove_outcome(&o);
}
END_TEST

START_TEST(a_size_that_is_none_keeps_all)
{
    static const char *const cases[][2] = {
        {"1", "is too small; give 1M or more, or all"},
        {"-5M", "is not a size; give one such as 64M, 1.5 GiB or 65536"},
        {"5X", "is not a size; give one such as 64M, 1.5 GiB or 65536"},
        {"5MM", "is not a size; did you mean '5M'?"},
        {"99999999999999T", "is too large"},
        {"0", "is too small; give 1M or more, or all"},
    };
    char variable[64], message[160];
    snprintf(variable, sizeof variable, "MEMTAP_KEEP=%s", cases[_i][0]);
    snprintf(message, sizeof message, "memtap: MEMTAP_KEEP '%s' %s (using all)\n", cases[_i][0],
             cases[_i][1]);
    struct outcome o = run(ARGS("alloc-threads", "1", "10"), ARGS(COUNTED, variable));
    ck_assert_str_eq(o.errors, message);
    ck_assert_uint_eq(read_counts(&o, "t.mtap").kind[MT_CUDA_MALLOC], 10);
    remove_outcome(&o);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("kill");
    begin_seed();
    tcase_add_loop_test(tests, nothing_is_lost_to_sigkill, 0, 50);
    tcase_add_test(tests, nothing_is_lost_of_full_rings);
    tcase_add_loop_test(tests, nothing_is_lost_to_a_crash, 0, sizeof ends / sizeof *ends);
    tcase_add_loop_test(tests, a_proper_end_leaves_no_tail, 0, 4);
    tcase_add_test(tests, a_full_disk_loses_nothing_that_was_recorded);
    tcase_add_loop_test(tests, threads_that_begin_on_a_full_disk_lose_nothing_unsaid, 0, 5);
    tcase_add_test(tests, a_disk_without_room_for_the_tail_is_borne);
    tcase_add_test(tests, a_tail_is_never_overwritten);
    tcase_add_test(tests, the_newest_is_kept_and_no_more);
    tcase_add_loop_test(tests, a_kill_between_segments_loses_nothing, 0, 20);
    tcase_add_loop_test(tests, a_size_that_is_none_keeps_all, 0, 6);
    return RUN_TESTS(tests);
}
