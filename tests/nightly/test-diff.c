/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing runs: what is matched, what is noise, what has happened. */
#include "compared.h"

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

/* The old run, whose peak has nothing of what `load` allocates. */
static void load_passes(void)
{
    begin_run();
    pass("/u/t.py:5 load", MT_MIB, 4);
    keep("/u/t.py:9 main", 8 * MT_MIB, 1);
    end_run();
    end_old();
}

START_TEST(what_is_freed_later_is_no_growth)
{
    load_passes();
    begin_run();
    keep("/u/t.py:5 load", MT_MIB, 4);
    keep("/u/t.py:9 main", 8 * MT_MIB, 1);
    end_run();
    const struct mt_diff_device *device = compare();
    ck_assert_int_eq(site_of(device, "load", 5)->kind, MT_DIFF_LONGER);
    ck_assert_int_eq(site_of(device, "main", 9)->kind, MT_DIFF_SAME);
}
END_TEST

/* At another moment, and larger than all that the line ever had. */
START_TEST(larger_blocks_are_growth_where_there_were_none)
{
    load_passes();
    begin_run();
    pass("/u/t.py:5 load", 3 * MT_MIB, 3);
    keep("/u/t.py:9 main", 8 * MT_MIB, 1);
    keep("/u/t.py:5 load", 3 * MT_MIB, 1);
    end_run();
    ck_assert_int_eq(site_of(compare(), "load", 5)->kind, MT_DIFF_GROWN);
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

START_TEST(what_exceeds_noise_is_reported)
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
                             "rank 3 is new: 10.00 MiB now\n");
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

START_TEST(two_ranks_of_a_job_are_no_doubt)
{
    rank_run(0, 4 * MT_MIB);
    end_old();
    rank_run(1, 6 * MT_MIB);
    compare();
    char *doubts = mt_diff_doubts(&diff), *changes = mt_diff_changes(&diff);
    ck_assert_str_eq(doubts, "");
    ck_assert_str_eq(changes, "ranks: 0 before, 1 now\n");
    free(doubts);
    free(changes);
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

/* Of three lines with changes of 1 MiB, the first that has more and the one that has less are the
 * same blocks; so of two lines of another size. */
START_TEST(changes_of_one_size_are_paired_in_order)
{
    static const unsigned before[] = {1, 1, 2, 9, 4}, now[] = {2, 2, 1, 4, 9};
    char line[32];
    for (int is_new = 0; is_new < 2; is_new++) {
        begin_run();
        for (unsigned i = 0; i < 5; i++) {
            snprintf(line, sizeof line, "/u/t.py:%u f%u", 10 * (i + 1), i);
            keep(line, (is_new ? now : before)[i] * 4 * MT_MIB, 1);
        }
        end_run();
        if (!is_new)
            end_old();
    }
    const struct mt_diff_device *device = compare();
    ck_assert_uint_eq(device->n_sites, 5);
    for (size_t i = 0; i < device->n_sites; i++)
        ck_assert_int_eq(device->site[i].part != 0, device->site[i].line->line == 20);
}
END_TEST

START_TEST(truncated_stacks_are_reported)
{
    for (int is_new = 0; is_new < 2; is_new++) {
        begin_run();
        uint32_t stack = 0;
        for (unsigned i = 0; i < (is_new ? 257 : 256); i++)
            stack = mt_build_child(builder, stack, "/u/t.py:3 main");
        mt_build_on(builder, 0, 1, stack);
        mt_build_alloc(builder, next_address, MT_MIB);
        end_run();
        if (!is_new)
            end_old();
    }
    compare();
    char *doubts = mt_diff_doubts(&diff);
    ck_assert_ptr_nonnull(
        strstr(doubts, "1 deep stack is truncated: \"(N frames)\" marks what was left out\n"));
    ck_assert_uint_eq(runs[0].cut_stacks, 0);
    free(doubts);
}
END_TEST

START_TEST(equal_layers_are_one_row)
{
    static const struct mt_change more = {.old = 1024, .now = 3072}, less = {.old = 64},
                                  much = {.now = 1 << 20}, same = {.old = 7, .now = 7};
    static char name[][24] = {"blocks.0.mlp",
                              "blocks.1.mlp",
                              "blocks.10.mlp",
                              "blocks.2.mlp",
                              "blocks.3.experts.0",
                              "blocks.3.experts.1",
                              "blocks.3.mlp",
                              "blocks.4.experts.0",
                              "blocks.4.experts.1",
                              "head",
                              "norm.0"};
    struct mt_diff_share share[] = {{name[0], more}, {name[1], more}, {name[2], more},
                                    {name[3], more}, {name[4], much}, {name[5], much},
                                    {name[6], much}, {name[7], much}, {name[8], much},
                                    {name[9], same}, {name[10], less}};
    static const char *const names[] = {"blocks.3-4.experts.0-1", "blocks.3.mlp", "blocks.0-2.mlp",
                                        "blocks.10.mlp", "norm.0"};
    static const int64_t changes[] = {4 << 20, 1 << 20, 6144, 2048, -64};
    struct mt_diff_shares folded;
    ck_assert(
        !mt_diff_fold(&folded, &(struct mt_diff_shares){share, sizeof share / sizeof *share}));
    ck_assert_uint_eq(folded.n, sizeof names / sizeof *names);
    for (size_t i = 0; i < folded.n; i++) {
        ck_assert_str_eq(folded.share[i].name, names[i]);
        ck_assert_int_eq(mt_change_of(&folded.share[i].bytes), changes[i]);
    }
    mt_diff_shares_clear(&folded);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("diff");
    tcase_add_checked_fixture(cases, NULL, end);
    tcase_add_test(cases, equal_runs_have_no_difference);
    tcase_add_test(cases, lines_that_have_moved_are_the_same);
    tcase_add_test(cases, files_and_functions_may_have_new_names);
    tcase_add_test(cases, code_that_was_moved_is_paired_by_its_size);
    tcase_add_test(cases, what_is_new_and_what_is_gone_is_said);
    tcase_add_test(cases, what_is_freed_later_is_no_growth);
    tcase_add_test(cases, more_allocations_are_growth);
    tcase_add_test(cases, larger_blocks_are_growth_where_there_were_none);
    tcase_add_test(cases, what_runs_differ_by_themselves_is_noise);
    tcase_add_test(cases, what_exceeds_noise_is_reported);
    tcase_add_test(cases, ranks_are_compared_with_themselves);
    tcase_add_test(cases, jobs_of_other_sizes_are_doubtful);
    tcase_add_test(cases, without_a_common_rank_the_highest_are_compared);
    tcase_add_test(cases, two_ranks_of_a_job_are_no_doubt);
    tcase_add_test(cases, a_run_without_memory_counts_as_nothing);
    tcase_add_test(cases, changes_of_one_size_are_paired_in_order);
    tcase_add_test(cases, truncated_stacks_are_reported);
    tcase_add_test(cases, equal_layers_are_one_row);
    return RUN_TESTS(cases);
}
