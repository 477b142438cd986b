/* SPDX-License-Identifier: Apache-2.0 */
/* Runs beside each other: what is matched, what is noise, what has happened, and who is to blame.
 */
#include "nightly/diff/diff-words.h"
#include "nightly/history/read-all.h"
#include "scenarios.h"
#include "tests/support/run-tests.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BASE 0x7f0000000000ull
#define SLOT (1ull << 32)
#define MOST_RUNS 8

static struct mt_builder *builder;
static struct mt_digest runs[MOST_RUNS]; /* the old ones, then the new ones */
static size_t n_runs, n_old;
static struct mt_diff diff;
static uint64_t next_address;

static void begin_run(void)
{
    builder = mt_builder_create();
    mt_build_info(builder, "command=python train.py");
    next_address = BASE;
}

/* So many blocks of a size from a line, for good. */
static void keep(const char *line, uint64_t size, unsigned blocks)
{
    mt_build_on(builder, 0, 1, mt_build_stack(builder, line, NULL));
    for (unsigned i = 0; i < blocks; i++, next_address += SLOT)
        mt_build_alloc(builder, next_address, size);
}

/* The same, and freed. */
static void pass(const char *line, uint64_t size, unsigned blocks)
{
    mt_build_on(builder, 0, 1, mt_build_stack(builder, line, NULL));
    for (unsigned i = 0; i < blocks; i++) {
        mt_build_alloc(builder, BASE - SLOT, size);
        mt_build_free(builder, BASE - SLOT);
    }
}

static void end_run(void)
{
    char path[64];
    struct mt_trace_error error;
    snprintf(path, sizeof path, "diff-%d-%zu.mtap", (int)getpid(), n_runs);
    mt_build_end(builder);
    mt_builder_write(builder, path);
    mt_builder_destroy(builder);
    ck_assert_msg(!mt_digest_read(&runs[n_runs++], path, NULL, &error), "%s", error.text);
}

static void simple_run(const char *line, uint64_t size)
{
    begin_run();
    keep(line, size, 1);
    end_run();
}

/* Those before are old. */
static void end_old(void)
{
    n_old = n_runs;
}

static const struct mt_diff_device *compare(void)
{
    ck_assert(!mt_diff_make(&diff, runs, n_old, runs + n_old, n_runs - n_old));
    return mt_diff_main_device(&diff);
}

static void end(void)
{
    mt_diff_clear(&diff);
    for (size_t i = 0; i < n_runs; i++) {
        unlink(runs[i].path);
        mt_digest_clear(&runs[i]);
    }
}

static const char *verdict(void)
{
    static char text[MT_WORDS];
    mt_diff_verdict(text, sizeof text, &diff);
    return text;
}

static const struct mt_diff_site *site_of(const struct mt_diff_device *device, const char *function,
                                          uint32_t line)
{
    for (size_t i = 0; i < device->n_sites; i++)
        if (!strcmp(device->site[i].line->function, function) && device->site[i].line->line == line)
            return &device->site[i];
    ck_abort_msg("there is no site %s:%u", function, line);
}

START_TEST(equal_runs_have_no_difference)
{
    simple_run("/u/t.py:3 main", MT_MIB);
    end_old();
    simple_run("/u/t.py:3 main", MT_MIB);
    const struct mt_diff_device *device = compare();
    ck_assert(mt_diff_is_same(device));
    ck_assert_str_eq(verdict(), "no difference: peak 1.00 MiB allocated, 2.00 MiB reserved");
}
END_TEST

START_TEST(lines_that_have_moved_are_the_same)
{
    begin_run();
    keep("/u/t.py:10 main", MT_MIB, 1);
    keep("/u/t.py:11 main", 3 * MT_MIB, 2);
    keep("/u/t.py:12 main", 5 * MT_MIB, 3);
    end_run();
    end_old();
    begin_run();
    keep("/u/t.py:10 main", 512, 1); /* a new first line: all others stand one further */
    keep("/u/t.py:11 main", MT_MIB, 1);
    keep("/u/t.py:12 main", 3 * MT_MIB, 2);
    keep("/u/t.py:13 main", 7 * MT_MIB, 3);
    end_run();
    const struct mt_diff_device *device = compare();
    ck_assert_uint_eq(device->n_sites, 4);
    ck_assert_int_eq(site_of(device, "main", 10)->kind, MT_DIFF_NEW);
    ck_assert_int_eq(site_of(device, "main", 11)->kind, MT_DIFF_SAME);
    ck_assert_int_eq(site_of(device, "main", 12)->kind, MT_DIFF_SAME);
    ck_assert_uint_eq(site_of(device, "main", 12)->line->old_line, 11);
    const struct mt_diff_site *grown = site_of(device, "main", 13);
    ck_assert_int_eq(grown->kind, MT_DIFF_GROWN);
    ck_assert_int_eq(mt_change_of(&grown->bytes), 6 * MT_MIB);
    ck_assert_ptr_eq(grown, device->site);
}
END_TEST

START_TEST(files_and_functions_may_have_new_names)
{
    begin_run();
    keep("/u/net.py:10 Net.forward", MT_MIB, 3);
    keep("/u/net.py:20 Net.other", 2 * MT_MIB, 1);
    end_run();
    end_old();
    begin_run();
    keep("/w/model.py:15 Model.forward", MT_MIB, 3);
    keep("/w/net.py:20 Net.other", 2 * MT_MIB, 1); /* only another folder */
    end_run();
    char text[256];
    const struct mt_diff_device *device = compare();
    const struct mt_diff_site *renamed = site_of(device, "Model.forward", 15);
    ck_assert_int_eq(renamed->kind, MT_DIFF_SAME);
    mt_renamed_text(text, sizeof text, renamed);
    ck_assert_str_eq(text, "was net.py Net.forward");
    const struct mt_diff_site *moved = site_of(device, "Net.other", 20);
    ck_assert_int_eq(moved->kind, MT_DIFF_SAME);
    mt_renamed_text(text, sizeof text, moved);
    ck_assert_str_eq(text, "");
    ck_assert(mt_diff_is_same(device));
}
END_TEST

START_TEST(code_that_was_moved_is_paired_by_its_size)
{
    begin_run();
    keep("/u/t.py:10 main", MT_MIB, 1);
    keep("/u/t.py:50 main", 8 * MT_MIB, 1);
    end_run();
    end_old();
    begin_run();
    keep("/u/t.py:10 main", MT_MIB, 1);
    keep("/u/helpers.py:4 make", 8 * MT_MIB, 1);
    end_run();
    char text[256];
    const struct mt_diff_device *device = compare();
    ck_assert_uint_eq(device->n_sites, 2);
    mt_renamed_text(text, sizeof text, site_of(device, "make", 4));
    ck_assert_str_eq(text, "was t.py:50 main");
}
END_TEST

START_TEST(what_is_new_and_what_is_gone_is_said)
{
    simple_run("/u/t.py:3 main", MT_MIB);
    end_old();
    begin_run();
    keep("/u/x.py:7 other", 64 * MT_MIB, 1);
    end_run();
    const struct mt_diff_device *device = compare();
    ck_assert_int_eq(site_of(device, "other", 7)->kind, MT_DIFF_NEW);
    ck_assert_int_eq(site_of(device, "main", 3)->kind, MT_DIFF_GONE);
    ck_assert_str_eq(verdict(), "peak +63.00 MiB (+6300 %): other +64.00 MiB at x.py:7 other, new");
}
END_TEST

START_TEST(what_is_freed_later_is_no_growth)
{
    begin_run();
    pass("/u/t.py:5 load", MT_MIB, 4);
    keep("/u/t.py:9 main", 8 * MT_MIB, 1);
    end_run();
    end_old();
    begin_run();
    keep("/u/t.py:5 load", MT_MIB, 4);
    keep("/u/t.py:9 main", 8 * MT_MIB, 1);
    end_run();
    const struct mt_diff_device *device = compare();
    ck_assert_int_eq(site_of(device, "load", 5)->kind, MT_DIFF_LONGER);
    ck_assert_int_eq(site_of(device, "main", 9)->kind, MT_DIFF_SAME);
}
END_TEST

START_TEST(more_allocations_are_growth)
{
    begin_run();
    keep("/u/t.py:5 load", MT_MIB, 4);
    end_run();
    end_old();
    begin_run();
    keep("/u/t.py:5 load", MT_MIB, 6);
    end_run();
    ck_assert_int_eq(site_of(compare(), "load", 5)->kind, MT_DIFF_GROWN);
}
END_TEST

START_TEST(what_runs_differ_by_themselves_is_noise)
{
    simple_run("/u/t.py:3 main", 100 * MT_MIB);
    simple_run("/u/t.py:3 main", 102 * MT_MIB);
    simple_run("/u/t.py:3 main", 101 * MT_MIB);
    end_old();
    simple_run("/u/t.py:3 main", 102 * MT_MIB);
    simple_run("/u/t.py:3 main", 103 * MT_MIB);
    const struct mt_diff_device *device = compare();
    ck_assert_uint_eq(device->allocated.old, 101 * MT_MIB);
    ck_assert_uint_eq(device->allocated.now, 102 * MT_MIB + MT_MIB / 2);
    ck_assert_uint_eq(device->allocated.spread, 2 * MT_MIB);
    ck_assert(device->allocated.is_noise);
    ck_assert(site_of(device, "main", 3)->bytes.is_noise);
    ck_assert(mt_diff_is_same(device));
}
END_TEST

START_TEST(what_is_more_than_noise_is_told)
{
    simple_run("/u/t.py:3 main", 100 * MT_MIB);
    simple_run("/u/t.py:3 main", 102 * MT_MIB);
    end_old();
    simple_run("/u/t.py:3 main", 110 * MT_MIB);
    const struct mt_diff_device *device = compare();
    ck_assert(!device->allocated.is_noise);
    ck_assert_int_eq(mt_change_of(&device->allocated), 9 * MT_MIB);
    ck_assert(!mt_diff_is_same(device));
}
END_TEST

static void rank_run(int rank, uint64_t size)
{
    char text[32];
    begin_run();
    snprintf(text, sizeof text, "env.RANK=%d", rank);
    mt_build_info(builder, text);
    mt_build_info(builder, rank < 3 ? "env.WORLD_SIZE=3" : "env.WORLD_SIZE=4");
    keep("/u/t.py:3 main", size, 1);
    end_run();
}

START_TEST(ranks_are_compared_with_themselves)
{
    rank_run(0, 10 * MT_MIB);
    rank_run(1, 20 * MT_MIB);
    end_old();
    rank_run(1, 21 * MT_MIB);
    rank_run(0, 10 * MT_MIB);
    const struct mt_diff_device *device = compare();
    ck_assert_uint_eq(diff.n_devices, 2);
    ck_assert_int_eq(device->rank, 1);
    ck_assert_int_eq(mt_change_of(&device->allocated), MT_MIB);
    ck_assert_int_eq(mt_change_of(&diff.device[0].allocated), 0);
    char *doubts = mt_diff_doubts(&diff);
    ck_assert_str_eq(doubts, "");
    free(doubts);
}
END_TEST

START_TEST(jobs_of_other_sizes_are_doubtful)
{
    rank_run(0, 10 * MT_MIB);
    end_old();
    begin_run();
    mt_build_info(builder, "env.RANK=0");
    mt_build_info(builder, "env.WORLD_SIZE=4");
    mt_build_info(builder, "env.CUDASIM_GPU=h100");
    keep("/u/t.py:3 main", MT_MIB, 1);
    end_run();
    rank_run(3, 10 * MT_MIB);
    compare();
    ck_assert_uint_eq(diff.n_devices, 1);
    char *doubts = mt_diff_doubts(&diff);
    ck_assert_str_eq(doubts, "different devices: none before, h100 now\n"
                             "jobs of different sizes: 3 processes before, 4 now\n"
                             "rank 3 exists only now\n");
    free(doubts);
}
END_TEST

START_TEST(without_a_common_rank_the_highest_are_compared)
{
    simple_run("/u/t.py:3 main", 5 * MT_MIB);
    end_old();
    rank_run(0, 4 * MT_MIB);
    rank_run(1, 6 * MT_MIB);
    const struct mt_diff_device *device = compare();
    ck_assert_uint_eq(diff.n_devices, 1);
    ck_assert_int_eq(mt_change_of(&device->allocated), MT_MIB);
}
END_TEST

/* Parameters with gradients and an optimizer's state of so many bytes each. */
static void train(uint64_t parameters, uint64_t state)
{
    begin_run();
    mt_build_on(builder, 0, 1, mt_build_stack(builder, "/u/t.py:3 main", NULL));
    mt_build_alloc(builder, BASE, parameters);
    mt_build_event(builder, MT_SET_DATA, BASE, 0, 0);
    mt_build_on(builder, 0, 1, mt_build_stack(builder, "/u/t.py:5 main", NULL));
    mt_build_alloc(builder, BASE + SLOT, parameters);
    mt_build_event(builder, MT_GRADIENT, BASE + SLOT, 0, 0);
    mt_build_on(builder, 0, 1,
                mt_build_stack(
                    builder, "/u/t.py:6 main",
                    "/v/lib/python3.11/site-packages/torch/optim/adam.py:9 Adam.__init__", NULL));
    mt_build_alloc(builder, BASE + 2 * SLOT, state);
    end_run();
}

START_TEST(state_that_follows_parameters_is_their_doing)
{
    train(10 * MT_MIB, 20 * MT_MIB);
    end_old();
    train(11 * MT_MIB, 22 * MT_MIB);
    const struct mt_diff_device *device = compare();
    ck_assert_int_eq(device->site[0].category, MT_CATEGORY_PARAMETERS);
    ck_assert_int_eq(device->following, 3 * MT_MIB);
    ck_assert_str_eq(verdict(),
                     "peak +4.00 MiB (+10.0 %): parameters +1.00 MiB at t.py:3 main, and "
                     "with it gradients and optimizer state +3.00 MiB");
}
END_TEST

START_TEST(state_that_grows_alone_is_to_blame)
{
    train(10 * MT_MIB, 20 * MT_MIB);
    end_old();
    train(10 * MT_MIB, 40 * MT_MIB);
    const struct mt_diff_device *device = compare();
    ck_assert_int_eq(device->site[0].category, MT_CATEGORY_OPTIMIZER_STATE);
    ck_assert_int_eq(device->following, 0);
}
END_TEST

static void two_layers(uint64_t first, uint64_t second)
{
    begin_run();
    keep("/u/net.py:9 Net.forward|Net|layers.0", first, 1);
    keep("/u/net.py:9 Net.forward|Net|layers.1", second, 1);
    end_run();
}

START_TEST(a_line_of_several_modules_is_one_site)
{
    two_layers(MT_MIB, MT_MIB);
    end_old();
    two_layers(2 * MT_MIB, 3 * MT_MIB);
    const struct mt_diff_device *device = compare();
    ck_assert_uint_eq(device->n_sites, 1);
    ck_assert_int_eq(mt_change_of(&device->site[0].bytes), 3 * MT_MIB);
    ck_assert_str_eq(device->site[0].module, "");
    ck_assert_uint_eq(device->modules.n, 2);
    ck_assert_str_eq(device->modules.share[1].name, "layers.1");
    ck_assert_int_eq(mt_change_of(&device->modules.share[1].bytes), 2 * MT_MIB);
}
END_TEST

START_TEST(the_one_module_that_has_changed_is_told)
{
    two_layers(MT_MIB, MT_MIB);
    end_old();
    two_layers(MT_MIB, 3 * MT_MIB);
    ck_assert_str_eq(compare()->site[0].module, "layers.1");
}
END_TEST

START_TEST(a_smaller_peak_is_told_by_what_is_less)
{
    begin_run();
    keep("/u/t.py:3 main", 10 * MT_MIB, 1);
    keep("/u/t.py:5 main", 10 * MT_MIB, 1);
    end_run();
    end_old();
    begin_run();
    keep("/u/t.py:3 main", 12 * MT_MIB, 1);
    keep("/u/t.py:5 main", 6 * MT_MIB, 1);
    end_run();
    const struct mt_diff_device *device = compare();
    ck_assert_uint_eq(device->site[0].line->line, 5);
    ck_assert_uint_eq(device->site[1].line->line, 3);
    ck_assert_double_lt(device->site[0].blame, 2.01 * MT_MIB);
    ck_assert_double_eq(device->site[1].blame, 0);
}
END_TEST

/* A leak of a kilobyte, while the same megabytes are told by another line. */
START_TEST(what_is_taken_back_elsewhere_is_not_to_blame)
{
    begin_run();
    keep("/u/t.py:3 main", 8 * MT_MIB, 1);
    keep("/u/t.py:5 main", 2 * MT_MIB, 3);
    keep("/u/t.py:9 main", MT_MIB, 1);
    end_run();
    end_old();
    begin_run();
    keep("/u/t.py:3 main", 6 * MT_MIB, 1);
    keep("/u/t.py:5 main", 2 * MT_MIB, 4);
    keep("/u/t.py:9 main", MT_MIB, 1);
    keep("/u/t.py:11 main", 1024, 1);
    end_run();
    const struct mt_diff_device *device = compare();
    ck_assert_uint_eq(device->site[0].line->line, 11);
    ck_assert_double_eq(device->site[0].blame, 1024);
    ck_assert_uint_eq(device->site[1].line->line, 5); /* then what goes the peak's way */
    ck_assert_double_eq(device->site[1].blame, 0);
    ck_assert_uint_eq(device->site[3].line->line, 3);
}
END_TEST

/* Cached blocks of three lines that were exchanged. */
START_TEST(slack_of_the_allocator_is_not_to_blame)
{
    begin_run();
    keep("/u/t.py:3 main", 20 * MT_MIB, 1);
    keep("/u/t.py:5 main", 21 * MT_MIB, 1);
    keep("/u/t.py:9 main", 22 * MT_MIB, 1);
    keep("/u/t.py:11 main", 512, 1);
    end_run();
    end_old();
    begin_run();
    keep("/u/t.py:3 main", 20 * MT_MIB + 700 * MT_KIB, 1);
    keep("/u/t.py:5 main", 21 * MT_MIB - 300 * MT_KIB, 1);
    keep("/u/t.py:9 main", 22 * MT_MIB - 400 * MT_KIB, 1);
    keep("/u/t.py:11 main", 512, 3);
    end_run();
    ck_assert_uint_eq(compare()->site[0].line->line, 11);
}
END_TEST

#define TORCH "/venv/lib/python3.11/site-packages/torch/"

/* A run that has so much at first, in forward and in the optimizer's step of each iteration. */
static void phases_run(uint64_t first, uint64_t forward, uint64_t step)
{
    begin_run();
    pass("/u/t.py:3 main", first, 1);
    for (int i = 0; i < 3; i++) {
        mt_build_on(builder, 0, 1,
                    mt_build_stack(builder, "/u/t.py:9 main",
                                   TORCH "nn/modules/module.py:1750 Module._call_impl", NULL));
        mt_build_alloc(builder, BASE, forward);
        mt_build_free(builder, BASE);
        mt_build_on(builder, 0, 1,
                    mt_build_stack(builder, "/u/t.py:12 main",
                                   TORCH "optim/optimizer.py:485 "
                                         "Optimizer.profile_hook_step.<locals>.wrapper",
                                   TORCH "optim/adam.py:236 Adam.step", NULL));
        mt_build_alloc(builder, BASE, step);
        mt_build_free(builder, BASE);
    }
    end_run();
}

/* Compares once more where it is wanted. */
static const struct mt_diff_device *compare_in(enum mt_phase phase)
{
    const struct mt_question question = {.no_labels = 0};
    ck_assert_int_eq(compare()->in_phase, -1);
    ck_assert_int_eq(mt_diff_wants_phase(&diff), phase);
    mt_diff_clear(&diff);
    ck_assert_int_gt(mt_read_in_phase(runs, n_runs, phase, &question), 0);
    const struct mt_diff_device *device = compare();
    ck_assert_int_eq(device->in_phase, phase);
    ck_assert_int_eq(mt_diff_wants_phase(&diff), -1);
    return device;
}

START_TEST(a_peak_that_moved_is_compared_with_its_phase_before)
{
    phases_run(MT_MIB, 4 * MT_MIB, 6 * MT_MIB);
    end_old();
    phases_run(MT_MIB, 10 * MT_MIB, 6 * MT_MIB);
    const struct mt_diff_device *device = compare_in(MT_PHASE_FORWARD);
    ck_assert(device->peak_moved);
    ck_assert_uint_eq(device->allocated.old, 6 * MT_MIB);
    ck_assert_uint_eq(device->compared.old, 4 * MT_MIB);
    ck_assert_uint_eq(device->n_sites, 1);
    ck_assert_int_eq(site_of(device, "main", 9)->kind, MT_DIFF_GROWN);
    ck_assert_int_eq(mt_change_of(&site_of(device, "main", 9)->bytes), 6 * MT_MIB);
    ck_assert_str_eq(verdict(), "peak +4.00 MiB (+66.7 %) and moved to the forward: temporaries "
                                "+6.00 MiB at t.py:9 main");
}
END_TEST

START_TEST(where_the_peak_is_the_same_another_phase_is_told)
{
    phases_run(64 * MT_MIB, 4 * MT_MIB, 6 * MT_MIB);
    end_old();
    phases_run(64 * MT_MIB, 4 * MT_MIB, 9 * MT_MIB);
    const struct mt_diff_device *device = compare_in(MT_PHASE_STEP);
    ck_assert(!device->peak_moved && !mt_diff_is_same(device));
    ck_assert_str_eq(verdict(), "peak unchanged at 64.00 MiB, optimizer step +3.00 MiB (+50.0 %): "
                                "temporaries +3.00 MiB at t.py:12 main");
}
END_TEST

/* 64 KiB more at the peak, which the allocator may round up, and 8 MiB elsewhere. */
START_TEST(where_the_peak_is_about_the_same_too)
{
    phases_run(64 * MT_MIB, 4 * MT_MIB, 6 * MT_MIB);
    end_old();
    phases_run(64 * MT_MIB + 64 * MT_KIB, 12 * MT_MIB, 6 * MT_MIB);
    compare_in(MT_PHASE_FORWARD);
    ck_assert_str_eq(verdict(), "peak +64.00 KiB (+0.1 %), forward +8.00 MiB (+200.0 %): "
                                "temporaries +8.00 MiB at t.py:9 main");
}
END_TEST

START_TEST(a_larger_peak_is_told_by_what_is_live_there)
{
    phases_run(64 * MT_MIB, 4 * MT_MIB, 6 * MT_MIB);
    end_old();
    phases_run(65 * MT_MIB, 12 * MT_MIB, 6 * MT_MIB);
    ck_assert_int_eq(compare()->in_phase, -1);
    ck_assert_int_eq(mt_diff_wants_phase(&diff), -1);
}
END_TEST

START_TEST(a_run_without_memory_counts_as_nothing)
{
    begin_run();
    end_run();
    end_old();
    simple_run("/u/t.py:3 main", MT_MIB);
    compare();
    ck_assert_str_eq(verdict(), "peak +1.00 MiB: other +1.00 MiB at t.py:3 main, new");
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("diff");
    tcase_add_checked_fixture(cases, NULL, end);
    tcase_add_test(cases, equal_runs_have_no_difference);
    tcase_add_test(cases, lines_that_have_moved_are_the_same);
    tcase_add_test(cases, a_peak_that_moved_is_compared_with_its_phase_before);
    tcase_add_test(cases, where_the_peak_is_the_same_another_phase_is_told);
    tcase_add_test(cases, where_the_peak_is_about_the_same_too);
    tcase_add_test(cases, a_larger_peak_is_told_by_what_is_live_there);
    tcase_add_test(cases, files_and_functions_may_have_new_names);
    tcase_add_test(cases, code_that_was_moved_is_paired_by_its_size);
    tcase_add_test(cases, what_is_new_and_what_is_gone_is_said);
    tcase_add_test(cases, what_is_freed_later_is_no_growth);
    tcase_add_test(cases, more_allocations_are_growth);
    tcase_add_test(cases, what_runs_differ_by_themselves_is_noise);
    tcase_add_test(cases, what_is_more_than_noise_is_told);
    tcase_add_test(cases, ranks_are_compared_with_themselves);
    tcase_add_test(cases, jobs_of_other_sizes_are_doubtful);
    tcase_add_test(cases, without_a_common_rank_the_highest_are_compared);
    tcase_add_test(cases, state_that_follows_parameters_is_their_doing);
    tcase_add_test(cases, slack_of_the_allocator_is_not_to_blame);
    tcase_add_test(cases, state_that_grows_alone_is_to_blame);
    tcase_add_test(cases, what_is_taken_back_elsewhere_is_not_to_blame);
    tcase_add_test(cases, a_line_of_several_modules_is_one_site);
    tcase_add_test(cases, the_one_module_that_has_changed_is_told);
    tcase_add_test(cases, a_smaller_peak_is_told_by_what_is_less);
    tcase_add_test(cases, a_run_without_memory_counts_as_nothing);
    return RUN_TESTS(cases);
}
