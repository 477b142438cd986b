/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing runs: which lines are to blame, and in which phase. */
#include "compare/check/check.h"
#include "compared.h"

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
    ck_assert_str_eq(verdict(), "peak +4.00 MiB (+10.0 %): parameters +1.00 MiB at t.py:3 main, "
                                "with gradients and optimizer state +3.00 MiB");
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

START_TEST(the_one_changed_module_is_reported)
{
    two_layers(MT_MIB, MT_MIB);
    end_old();
    two_layers(MT_MIB, 3 * MT_MIB);
    ck_assert_str_eq(compare()->site[0].module, "layers.1");
}
END_TEST

START_TEST(a_smaller_peak_is_explained_by_what_shrank)
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

/* One source file: the numbers of its lines say which is which, whatever they take. */
START_TEST(lines_of_equal_files_are_paired_by_number)
{
    static const struct {
        uint32_t line;
        uint64_t before, now;
    } cases[][3] = {
        {{31, 8, 33}, {33, 34, 34}, {35, 2, 2}},
        {{19, 4, 16}, {22, 16, 16}, {24, 4, 4}},
        {{13, 16, 64}, {14, 64, 64}, {15, 0, 8}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int is_new = 0; is_new < 2; is_new++) {
            begin_run();
            for (size_t j = 0; j < 3; j++) {
                char line[32];
                uint64_t size = is_new ? cases[i][j].now : cases[i][j].before;
                snprintf(line, sizeof line, "/u/t.py:%u main", cases[i][j].line);
                if (size)
                    keep(line, size * MT_MIB, 1);
            }
            end_run();
            if (!is_new)
                end_old();
        }
        const struct mt_diff_device *device = compare();
        ck_assert_uint_eq(device->site[0].line->line, cases[i][0].line);
        ck_assert_uint_eq(mt_change_of(&site_of(device, "main", cases[i][1].line)->bytes), 0);
        end();
        memset(runs, 0, sizeof runs);
        n_runs = n_old = 0;
    }
}
END_TEST

/* A renamed file, of which all lines take other sizes. */
START_TEST(lines_of_a_renamed_file_are_not_crossed)
{
    static const uint64_t sizes[2][3] = {{12, 10, 3}, {11, 13, 4}};
    for (int is_new = 0; is_new < 2; is_new++) {
        begin_run();
        for (unsigned i = 0; i < 3; i++) {
            char line[32];
            snprintf(line, sizeof line, "/u/%s.py:%u main", is_new ? "new" : "old", 10 + i);
            keep(line, sizes[is_new][i] * MT_MIB, 1);
        }
        end_run();
        if (!is_new)
            end_old();
    }
    const struct mt_diff_device *device = compare();
    for (unsigned i = 0; i < 3; i++) {
        const struct mt_diff_site *site = site_of(device, "main", 10 + i);
        ck_assert_uint_eq(site->line->old_line, 10 + i);
        ck_assert_uint_eq(site->bytes.old, sizes[0][i] * MT_MIB);
    }
}
END_TEST

static void batch_of(unsigned batch, uint64_t extra)
{
    char line[32];
    begin_run();
    for (unsigned i = 0; i < 20; i++) {
        snprintf(line, sizeof line, "/u/net.py:%u Net.forward", 10 + i);
        keep(line, (i % 7 ? 1 : batch) * batch * 4096ull * (1 + i), 1);
    }
    keep("/u/net.py:50 Net.forward", MT_MIB + extra, 1);
    end_run();
}

START_TEST(a_larger_batch_is_one_row)
{
    batch_of(40, 0);
    end_old();
    batch_of(50, 0);
    const struct mt_diff_device *device = compare();
    ck_assert_double_eq_tol(device->scale, 1.25, 0.01);
    ck_assert_uint_eq(device->n_scaled, 20);
    ck_assert_ptr_nonnull(strstr(verdict(), ": batch or length × 1.25 (20 lines) +"));
    const struct mt_limit peak = {.subject = MT_OF_PEAK};
    const struct mt_blame blame = mt_blame_find(&peak, "", device->now, device);
    ck_assert_double_eq(blame.scale, device->scale);
    ck_assert_uint_eq(blame.n_scaled, 20);
}
END_TEST

/* A line that keeps rows of the length and matrices of its square; another one, more blocks. */
static void length_of(unsigned length, unsigned others)
{
    begin_run();
    keep("/u/net.py:10 Net.forward", length * 40960ull, 9);
    keep("/u/net.py:11 Net.forward", length * 20480ull, 4);
    keep("/u/net.py:12 Net.forward", length * 40960ull, 2);
    keep("/u/net.py:12 Net.forward", length * length * 1024ull, 1);
    keep("/u/net.py:20 Net.forward", 40960, others);
    end_run();
}

START_TEST(a_longer_sequence_is_one_row)
{
    length_of(40, 1);
    end_old();
    length_of(50, 1);
    const struct mt_diff_device *device = compare();
    ck_assert_double_eq_tol(device->scale, 1.25, 0.0001);
    ck_assert_uint_eq(device->n_scaled, 3);
}
END_TEST

START_TEST(more_blocks_are_no_longer_sequence)
{
    length_of(40, 10);
    end_old();
    length_of(50, 14); /* within the factor and its square */
    ck_assert_uint_eq(compare()->n_scaled, 3);
}
END_TEST

/* Twelve blocks of which so much is not requested each, and another line's. */
static void unused_of(uint64_t unused, uint64_t other)
{
    begin_run();
    mt_build_on(builder, 0, 1, mt_build_stack(builder, "/u/t.py:3 main", NULL));
    for (unsigned i = 0; i < 12; i++, next_address += SLOT) {
        if (unused)
            mt_build_event(builder, MT_REQUEST, unused, 0, 0);
        mt_build_alloc(builder, next_address, 4 * MT_MIB + unused);
    }
    keep("/u/t.py:5 main", other, 1);
    end_run();
}

START_TEST(what_was_not_requested_is_not_to_blame)
{
    char text[64];
    unused_of(0, MT_MIB);
    end_old();
    unused_of(MT_MIB / 2, MT_MIB + 4096);
    const struct mt_diff_device *device = compare();
    ck_assert_uint_eq(device->site[0].line->line, 5);
    ck_assert_int_eq(device->unused, 6 * MT_MIB);
    ck_assert_double_eq(device->site[1].blame, 0);
    mt_blame_text(text, sizeof text, &device->site[1]);
    ck_assert_str_eq(text, "not requested: larger blocks");
    ck_assert_str_eq(verdict(), "peak +6.00 MiB (+12.3 %), +6.00 MiB of it in blocks larger than "
                                "requested: other +4.00 KiB at t.py:5 main");
}
END_TEST

START_TEST(one_larger_line_is_no_larger_batch)
{
    batch_of(40, 0);
    end_old();
    batch_of(40, MT_MIB);
    const struct mt_diff_device *device = compare();
    ck_assert(!device->scale);
    ck_assert_uint_eq(device->site[0].line->line, 50);
    const struct mt_limit peak = {.subject = MT_OF_PEAK};
    ck_assert(!mt_blame_find(&peak, "", device->now, device).scale);
}
END_TEST

/* A leak of a kilobyte, while another line allocates the same megabytes. */
START_TEST(what_is_offset_elsewhere_is_not_to_blame)
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
    char text[64]; /* a row says why it does not stand where its change belongs */
    mt_blame_text(text, sizeof text, &device->site[0]);
    ck_assert_str_eq(text, "");
    mt_blame_text(text, sizeof text, &device->site[1]);
    ck_assert_str_eq(text, "offset by other changes");
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
    ck_assert_str_eq(
        verdict(),
        "peak +4.00 MiB (+66.7 %) and moved to the forward pass of iteration 1: temporaries "
        "+6.00 MiB at t.py:9 main");
}
END_TEST

START_TEST(at_an_equal_peak_another_phase_is_reported)
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

START_TEST(a_larger_peak_is_explained_by_what_is_live_there)
{
    phases_run(64 * MT_MIB, 4 * MT_MIB, 6 * MT_MIB);
    end_old();
    phases_run(65 * MT_MIB, 12 * MT_MIB, 6 * MT_MIB);
    ck_assert_int_eq(compare()->in_phase, -1);
    ck_assert_int_eq(mt_diff_wants_phase(&diff), -1);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("blame");
    tcase_add_checked_fixture(cases, NULL, end);
    tcase_add_test(cases, state_that_follows_parameters_is_their_doing);
    tcase_add_test(cases, state_that_grows_alone_is_to_blame);
    tcase_add_test(cases, a_line_of_several_modules_is_one_site);
    tcase_add_test(cases, the_one_changed_module_is_reported);
    tcase_add_test(cases, a_smaller_peak_is_explained_by_what_shrank);
    tcase_add_test(cases, lines_of_equal_files_are_paired_by_number);
    tcase_add_test(cases, lines_of_a_renamed_file_are_not_crossed);
    tcase_add_test(cases, a_larger_batch_is_one_row);
    tcase_add_test(cases, a_longer_sequence_is_one_row);
    tcase_add_test(cases, more_blocks_are_no_longer_sequence);
    tcase_add_test(cases, what_was_not_requested_is_not_to_blame);
    tcase_add_test(cases, one_larger_line_is_no_larger_batch);
    tcase_add_test(cases, what_is_offset_elsewhere_is_not_to_blame);
    tcase_add_test(cases, slack_of_the_allocator_is_not_to_blame);
    tcase_add_test(cases, a_peak_that_moved_is_compared_with_its_phase_before);
    tcase_add_test(cases, at_an_equal_peak_another_phase_is_reported);
    tcase_add_test(cases, where_the_peak_is_about_the_same_too);
    tcase_add_test(cases, a_larger_peak_is_explained_by_what_is_live_there);
    return RUN_TESTS(cases);
}
