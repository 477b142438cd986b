/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that fork, become others, and end in all ways. */
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

START_TEST(a_process_without_cuda_leaves_nothing)
{
    struct outcome o = run(ARGS("/bin/true"), NULL);
    ck_assert(ended_with(&o, 0));
    ck_assert_str_eq(o.errors, "");
    ck_assert_int_eq(o.n_files, 0);
    remove_outcome(&o);
}
END_TEST

START_TEST(output_and_exit_code_are_the_program_s)
{
    struct outcome o = run(ARGS("fork-child", "code"), NULL);
    ck_assert(ended_with(&o, 7));
    ck_assert_str_eq(o.output, "the program's own output\n");
    ck_assert_ptr_nonnull(strstr(o.errors, "memtap: 5 events in memtap-fork-child-"));
    remove_outcome(&o);
}
END_TEST

/* Read the last info record of this key, with a value after it; "": none. */
static void read_info(const struct outcome *outcome, const char *file, const char *key,
                      char value[256])
{
    char path[600];
    struct mt_reader *reader;
    struct mt_batch batch = {0};
    struct mt_trace_error error;
    snprintf(path, sizeof path, "%s/%s", outcome->directory, file);
    ck_assert_int_eq(mt_reader_open(&reader, path, &error), 0);
    *value = '\0';
    while (mt_reader_next(reader, &batch, &error) > 0)
        for (size_t i = 0; i < batch.n_definitions; i++) {
            const struct mt_definition *definition = &batch.definitions[i];
            size_t n = strlen(key);
            if (definition->kind == MT_DEF_INFO && definition->text_size > n &&
                !memcmp(definition->text, key, n))
                snprintf(value, 256, "%.*s", (int)(definition->text_size - n),
                         definition->text + n);
        }
    mt_reader_close(reader);
}

START_TEST(a_killed_child_has_the_name_of_who_did_it)
{
    char how[256], pid[256], expected[300];
    struct outcome o = run(ARGS("fork-child", "kill"), QUIET);
    ck_assert(ended_with(&o, 0));
    ck_assert_int_eq(o.n_files, 3); /* a tail is left of the child's */
    unsigned child = read_counts(&o, o.file[0]).is_complete ? 1 : 0; /* its tail comes behind it */
    read_info(&o, o.file[child ? 0 : 2], "pid=", pid); /* the child may end before it has written */
    read_info(&o, o.file[child], "ended=", how);
    snprintf(expected, sizeof expected, "signal 9 from ancestor %s", pid);
    ck_assert_str_eq(how, expected);
    remove_outcome(&o);
}
END_TEST

START_TEST(a_program_may_change_its_title_and_directory)
{
    char title[256];
    struct outcome o = run(ARGS("goes-elsewhere", "1000"), NULL);
    ck_assert(ended_with(&o, 0));
    ck_assert_ptr_nonnull(strstr(o.errors, "memtap: 2001 events in memtap--"));
    ck_assert_int_eq(o.n_files, 1); /* no tail is left */
    ck_assert(read_counts(&o, o.file[0]).is_complete);
    read_info(&o, o.file[0], "title=", title);
    ck_assert(strspn(title, "/") > 10); /* as far as its name was long */
    remove_outcome(&o);
}
END_TEST

START_TEST(a_process_ends_with_its_last_thread)
{
    struct outcome o = run(ARGS("main-ends"), QUIET);
    ck_assert(ended_with(&o, 0));
    has_complete_trace(&o, 2000);
}
END_TEST

START_TEST(with_the_exit_code_of_its_first_thread)
{
    struct outcome o = run(ARGS("main-ends", "code"), QUIET);
    ck_assert(ended_with(&o, 7));
    has_complete_trace(&o, 1000);
}
END_TEST

START_TEST(so_it_does_without_proc)
{
    struct outcome o = run(ARGS("main-ends", "no-proc"), QUIET);
    if (!ended_with(&o, 77)) { /* who may have file systems of its own */
        ck_assert(ended_with(&o, 0));
        ck_assert_str_eq(o.errors, "memtap: the program's first thread has ended, and the others "
                                   "cannot be counted without /proc; recording stopped\n");
        struct counts c = read_counts(&o, o.file[0]);
        ck_assert(c.is_complete);
        ck_assert_uint_eq(c.kind[MT_CUDA_MALLOC], 2000);
    }
    remove_outcome(&o);
}
END_TEST

static const struct {
    const char *mode;
    uint64_t mallocs; /* of the child */
} forks[] = {{"cuda", 10}, {"handler", 11}};

START_TEST(a_forked_child_has_its_own_trace)
{
    struct outcome o = run(ARGS("fork-child", forks[_i].mode), QUIET);
    ck_assert(ended_with(&o, 0));
    ck_assert_int_eq(o.n_files, 2);
    struct counts a = read_counts(&o, o.file[0]), b = read_counts(&o, o.file[1]);
    ck_assert(a.is_complete && b.is_complete);
    ck_assert_uint_eq(a.kind[MT_CUDA_MALLOC] + b.kind[MT_CUDA_MALLOC], 5 + forks[_i].mallocs);
    ck_assert_uint_eq(a.kind[MT_CUDA_MALLOC] * b.kind[MT_CUDA_MALLOC], 5 * forks[_i].mallocs);
    remove_outcome(&o);
}
END_TEST

START_TEST(so_has_one_whose_fork_was_not_reported)
{
    struct outcome o = run(ARGS("fork-child", "bare"), QUIET);
    ck_assert(ended_with(&o, 0));
    ck_assert_int_eq(o.n_files, 2);
    struct counts a = read_counts(&o, o.file[0]), b = read_counts(&o, o.file[1]);
    ck_assert(a.is_complete && b.is_complete);
    ck_assert_uint_eq(a.kind[MT_CUDA_MALLOC] + b.kind[MT_CUDA_MALLOC] + a.lost + b.lost, 40005);
    remove_outcome(&o);
}
END_TEST

START_TEST(a_forked_child_without_cuda_leaves_none)
{
    struct outcome o = run(ARGS("fork-child", "plain"), QUIET);
    ck_assert(ended_with(&o, 0));
    ck_assert_int_eq(o.n_files, 1);
    ck_assert_uint_eq(read_counts(&o, o.file[0]).kind[MT_CUDA_MALLOC], 5);
    remove_outcome(&o);
}
END_TEST

START_TEST(a_child_waits_for_no_lock_of_its_parent_s)
{
    struct outcome o = run(ARGS("fork-locked"), QUIET);
    ck_assert(ended_with(&o, 0));
    ck_assert_int_gt(atoi(o.output), 5);
    ck_assert_int_eq(o.n_files, 1); /* the parent's: it has removed the others */
    ck_assert(read_counts(&o, o.file[0]).is_complete);
    remove_outcome(&o);
}
END_TEST

START_TEST(a_child_forked_while_a_library_is_loaded_has_one_too)
{
    struct outcome o = run(ARGS("fork-loading", _i ? "first" : NULL), QUIET);
    ck_assert(ended_with(&o, 0));
    ck_assert_str_eq(o.errors, "");
    ck_assert_int_eq(o.n_files, 5 + _i);
    for (int i = 0; i < o.n_files; i++) {
        struct counts c = read_counts(&o, o.file[i]);
        ck_assert(c.is_complete);
        ck_assert_uint_eq(c.kind[MT_CUDA_MALLOC], 1);
    }
    remove_outcome(&o);
}
END_TEST

static const char *const execs[] = {"execve",  "execv", "execvp", "execvpe",
                                    "fexecve", "execl", "execlp", "execle"};

START_TEST(a_program_that_becomes_another_one_was_not_killed)
{
    struct outcome o = run(ARGS("becomes", execs[_i]), ARGS("MEMTAP_OUTPUT=t.mtap"));
    ck_assert(ended_with(&o, 0));
    ck_assert_str_eq(o.output, "it is set\n");
    ck_assert_str_eq(o.errors, "");
    struct counts c = read_counts(&o, "t.mtap");
    ck_assert_int_eq(c.state, MT_TRACE_EXECUTED);
    ck_assert_uint_eq(c.kind[MT_CUDA_MALLOC], 5);
    remove_outcome(&o);
}
END_TEST

/* It could not load us: its loader would end it. */
START_TEST(a_program_for_musl_is_started_without_us)
{
    char program[512];
    snprintf(program, sizeof program, "%s/for-musl", getenv("MEMTAP_TEST_BUILD"));
    struct outcome o = run(ARGS("becomes", "musl", program), ARGS("MEMTAP_OUTPUT=t.mtap"));
    ck_assert(ended_with(&o, 0));
    ck_assert_str_eq(o.output, "nothing\nnothing\n:libm.so.6\nnothing\n");
    struct counts c = read_counts(&o, "t.mtap");
    ck_assert_int_eq(c.state, MT_TRACE_EXECUTED);
    remove_outcome(&o);
}
END_TEST

static const struct {
    const char *how, *output;
    unsigned mallocs;
} goings_on[] = {{"fails", "", 10}, {"vfork", "it is set\n", 5}, {"quick_exit", "", 5}};

START_TEST(one_that_does_not_ends_as_ever)
{
    struct outcome o =
        run(ARGS("becomes", goings_on[_i].how), ARGS("MEMTAP_OUTPUT=t.mtap", "MEMTAP_QUIET=1"));
    ck_assert(ended_with(&o, 0));
    ck_assert_str_eq(o.output, goings_on[_i].output);
    struct counts c = read_counts(&o, "t.mtap");
    ck_assert_int_eq(c.state, MT_TRACE_CLOSED);
    ck_assert_uint_eq(c.kind[MT_CUDA_MALLOC], goings_on[_i].mallocs);
    remove_outcome(&o);
}
END_TEST

/* The harness does not wait for the daemon, whose trace may be there or not. */
START_TEST(a_daemon_s_parent_closes_its_trace)
{
    struct outcome o =
        run(ARGS("becomes", "daemon"), ARGS("MEMTAP_OUTPUT=t.mtap", "MEMTAP_QUIET=1"));
    ck_assert(ended_with(&o, 0));
    struct counts c = read_counts(&o, "t.mtap");
    ck_assert_int_eq(c.state, MT_TRACE_CLOSED);
    ck_assert_uint_eq(c.kind[MT_CUDA_MALLOC], 5);
    remove_outcome(&o);
}
END_TEST

static const struct {
    const char *end;
    int signal; /* that it ends by; 0: it exits */
} ends[] = {{"_exit", 0}, {"abort", SIGABRT}, {"interrupt", SIGINT}};

START_TEST(an_end_that_was_none_is_passed_over)
{
    static const char *const ways[] = {"abort", "init"};
    struct outcome o = run(ARGS("survives", ways[_i]), QUIET);
    if (!ended_with(&o, 77)) { /* there may be no namespaces here */
        ck_assert(ended_with(&o, 0));
        ck_assert_int_eq(o.n_files, 1);
        ck_assert_uint_eq(read_counts(&o, o.file[0]).kind[MT_CUDA_MALLOC], 10);
    }
    remove_outcome(&o);
}
END_TEST

/* The recording ends before, or goes on without a thread of ours. */
static const struct {
    const char *way, *says;
    uint64_t mallocs;
} limits[] = {{"filter", "the program restricts its system calls (seccomp)", 5},
              {"strict", "the program restricts its system calls (seccomp)", 5},
              {"clock", "the program disables reading of the clock (PR_SET_TSC)", 5},
              {"trapped", "cannot", 0},
              {"user", "", 10},
              {"enters", "", 10},
              {"exceptions", "", 10},
              {"poor", "Cannot allocate memory", 0},
              {"root", "", 10}};
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
#define N_LIMITS 0 /* the sanitizer's runtime makes system calls of its own after them */
#else
#define N_LIMITS (sizeof limits / sizeof *limits)
#endif

START_TEST(what_a_program_forbids_itself_is_not_done)
{
    struct outcome plain = run(ARGS("survives", limits[_i].way), ARGS("LD_PRELOAD="));
    struct outcome idle = run(ARGS("survives", limits[_i].way), ARGS("MEMTAP_OUTPUT=/dev/null"));
    struct outcome o = run(ARGS("survives", limits[_i].way), QUIET);
    ck_assert_int_eq(o.status, plain.status);
    ck_assert_int_eq(idle.status, plain.status);
    ck_assert_int_eq(plain.n_files, 0);
    if (ended_with(&plain, 0)) { /* what is asked for may not be possible here */
        ck_assert_ptr_nonnull(strstr(o.errors, limits[_i].says));
        ck_assert_int_eq(o.n_files, limits[_i].mallocs != 0);
    }
    if (ended_with(&plain, 0) && o.n_files)
        has_complete_trace(&o, limits[_i].mallocs);
    else
        remove_outcome(&o);
    remove_outcome(&plain);
    remove_outcome(&idle);
}
END_TEST

START_TEST(an_end_of_its_own_loses_nothing)
{
    struct outcome o = run(ARGS("alloc-threads", "2", "1000", ends[_i].end), QUIET);
    ck_assert_int_eq(WIFSIGNALED(o.status) ? WTERMSIG(o.status) : 0, ends[_i].signal);
    has_complete_trace(&o, 2000);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("processes");
    tcase_add_test(tests, output_and_exit_code_are_the_program_s);
    tcase_add_test(tests, a_program_may_change_its_title_and_directory);
    tcase_add_loop_test(tests, a_forked_child_has_its_own_trace, 0, sizeof forks / sizeof *forks);
    tcase_add_test(tests, a_killed_child_has_the_name_of_who_did_it);
    tcase_add_test(tests, a_forked_child_without_cuda_leaves_none);
    if (!IS_SANITIZED)
        tcase_add_test(tests, a_program_for_musl_is_started_without_us);
    tcase_add_loop_test(tests, one_that_does_not_ends_as_ever, 0,
                        sizeof goings_on / sizeof *goings_on);
    tcase_add_test(tests, a_daemon_s_parent_closes_its_trace);
    tcase_add_loop_test(tests, an_end_of_its_own_loses_nothing, 0, sizeof ends / sizeof *ends);
    tcase_add_loop_test(tests, what_a_program_forbids_itself_is_not_done, 0, N_LIMITS);
    if (!IS_SANITIZED) {
        tcase_add_loop_test(tests, an_end_that_was_none_is_passed_over, 0, 2);
        tcase_add_test(tests, a_process_ends_with_its_last_thread); /* TSan has one of its own */
        tcase_add_test(tests, with_the_exit_code_of_its_first_thread);
        tcase_add_test(tests, so_it_does_without_proc);
        tcase_add_test(tests, so_has_one_whose_fork_was_not_reported);
        tcase_add_test(tests, a_process_without_cuda_leaves_nothing);
        tcase_add_loop_test(tests, a_program_that_becomes_another_one_was_not_killed, 0,
                            sizeof execs / sizeof *execs);
        tcase_add_test(tests, a_child_waits_for_no_lock_of_its_parent_s);
        tcase_add_loop_test(tests, a_child_forked_while_a_library_is_loaded_has_one_too, 0, 2);
    }
    return RUN_TESTS(tests);
}
