/* SPDX-License-Identifier: Apache-2.0 */
/* From a trace to verdicts: totals, peaks, evidence, rules, call sites. */
#include "analysis-fixture.h"
#include "analyzer/findings/analysis.h"
#include "scenarios.h"
#include "tests/support/run-tests.h"
#include "trace-format/cuda-apis.h"

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define A 0x7f0000000000ull
#define B (A + 64 * MT_MIB)

static void analyze(void)
{
    mt_analyze(&analysis, builder, &question);
}

static uint64_t bytes_of(enum mt_category category)
{
    return mt_analysis_main_device(&analysis)->category[category].bytes;
}

/* The category of the one block that is live at the peak. */
static enum mt_category verdict(void)
{
    analyze();
    const struct mt_device *device = mt_analysis_main_device(&analysis);
    ck_assert_ptr_nonnull(device);
    for (unsigned i = 0; i < mt_n_categories; i++)
        if (device->category[i].blocks)
            return (enum mt_category)i;
    ck_abort_msg("no block");
    return MT_CATEGORY_ROOM;
}

#define TORCH "/v/lib/python3.11/site-packages/torch/"
#define LIBRARY "/v/site-packages/lib/"

static uint32_t call_stack(void)
{
    return mt_build_stack(builder, "/u/t.py:1 main",
                          TORCH "nn/modules/module.py:1 Module._call_impl", NULL);
}

static uint32_t user_stack(void)
{
    return mt_build_stack(builder, "/u/t.py:2 main", NULL);
}

static uint32_t step_stack(const char *innermost)
{
    return mt_build_stack(builder, "/u/t.py:3 main",
                          TORCH "optim/optimizer.py:9 Optimizer.profile_hook_step.<locals>.wrapper",
                          innermost, NULL);
}

static void a_parameter_exists(void)
{
    mt_build_alloc(builder, B, 512);
    mt_build_event(builder, MT_SET_DATA, B, 0, 0);
    mt_build_free(builder, B);
}

START_TEST(training_is_recognized)
{
    mt_scenario_training(builder, 3);
    analyze();
    const struct mt_device *device = mt_analysis_main_device(&analysis);
    uint64_t sum = 0;
    ck_assert_uint_eq(bytes_of(MT_CATEGORY_PARAMETERS), MT_TRAINING_PARAMETERS);
    ck_assert_uint_eq(bytes_of(MT_CATEGORY_BUFFERS), MT_TRAINING_BUFFERS);
    ck_assert_uint_eq(bytes_of(MT_CATEGORY_GRADIENTS), MT_TRAINING_GRADIENTS);
    ck_assert_uint_eq(bytes_of(MT_CATEGORY_OPTIMIZER_STATE), MT_TRAINING_OPTIMIZER);
    ck_assert_uint_eq(bytes_of(MT_CATEGORY_ACTIVATIONS), MT_TRAINING_ACTIVATIONS);
    ck_assert_uint_eq(bytes_of(MT_CATEGORY_INPUTS), MT_TRAINING_INPUTS);
    ck_assert_uint_eq(bytes_of(MT_CATEGORY_TEMPORARIES), MT_TRAINING_TEMPORARIES);
    for (unsigned i = 0; i < mt_n_categories; i++)
        sum += device->category[i].bytes;
    ck_assert_uint_eq(sum, device->peak.allocated);
    ck_assert_uint_eq(device->unseen, 0);
    ck_assert_uint_eq(device->cached, device->peak.reserved - device->peak.allocated);
    ck_assert_uint_eq(device->peak.cuda_bytes, 64 * MT_MIB);
    ck_assert_uint_eq(analysis.replay.tracker.phases.steps_ended, 3);
    ck_assert_uint_eq(analysis.replay.oddities.drift, 0);
    ck_assert_int_eq(analysis.replay.survey.complete, 1);
}
END_TEST

START_TEST(call_sites_are_the_users)
{
    mt_scenario_training(builder, 2);
    analyze();
    const struct mt_sites *sites = &mt_analysis_main_device(&analysis)->sites;
    const struct mt_definitions *d = analysis.replay.definitions;
    const struct mt_site *activation = NULL, *temporary = NULL;
    uint64_t sum = 0;
    for (size_t i = 0; i < sites->n; i++) {
        sum += sites->site[i].bytes;
        if (i)
            ck_assert_uint_ge(sites->site[i - 1].bytes, sites->site[i].bytes);
        if (sites->site[i].category == MT_CATEGORY_TEMPORARIES)
            temporary = &sites->site[i];
        else if (sites->site[i].category == MT_CATEGORY_ACTIVATIONS && !activation)
            activation = &sites->site[i];
    }
    ck_assert_uint_eq(sum, mt_analysis_main_device(&analysis)->peak.allocated);
    ck_assert_uint_eq(activation->blocks, 2);
    ck_assert_str_eq(mt_stack_frame(d, activation->stack)->function, "Net.forward");
    ck_assert_uint_eq(mt_stack_frame(d, mt_site_caller(d, activation))->line, 9);
    ck_assert_str_eq(mt_string(d, temporary->node_name),
                     "N5torch8autograd9generated14AddmmBackward0E");
    ck_assert_str_eq(mt_stack_frame(d, temporary->stack)->function, "Net.forward");
}
END_TEST

/* Return the line of the caller that is shown for a site below those frames; 0: none. */
static uint32_t caller_of(const char *outer, const char *middle, const char *inner)
{
    mt_build_on(builder, 0, 1, mt_build_stack(builder, outer, middle, inner, NULL));
    mt_build_alloc(builder, 0x1000, MT_MIB);
    analyze();
    const struct mt_definitions *d = analysis.replay.definitions;
    const struct mt_site *site = &analysis.devices[0].sites.site[0];
    return mt_stack_frame(d, mt_site_caller(d, site))->line;
}

START_TEST(a_console_script_stands_for_its_package)
{
    const char *script = "/v/bin/yolo:8 <module>";
    const char *other = "/v/lib/python3.11/site-packages/timm/layers.py:3 make";
    ck_assert_uint_eq(
        caller_of(script, "/v/lib/python3.11/site-packages/yolo/train.py:5 run", other), 5);
}
END_TEST

START_TEST(a_site_in_the_programs_package_has_no_caller)
{
    const char *module = "/v/lib/python3.11/site-packages/yolo/__main__.py:4 <module>";
    ck_assert_uint_eq(caller_of("<frozen runpy>:88 _run_code", module,
                                "/v/lib/python3.11/site-packages/yolo/train.py:5 run"),
                      0);
}
END_TEST

START_TEST(a_script_of_the_users_is_a_caller)
{
    ck_assert_uint_eq(caller_of("/u/bin/train.py:8 <module>",
                                "/v/lib/python3.11/site-packages/yolo/train.py:5 run",
                                "/v/lib/python3.11/site-packages/timm/layers.py:3 make"),
                      8);
}
END_TEST

START_TEST(the_first_of_equal_peaks_counts)
{
    mt_build_alloc(builder, A, 1024);
    mt_build_free(builder, A);
    mt_build_alloc(builder, B, 1024);
    analyze();
    ck_assert_uint_eq(mt_analysis_main_device(&analysis)->peak.event, 1);
    ck_assert_uint_eq(mt_analysis_main_device(&analysis)->peak.time_ns, 1000000);
    ck_assert_int_eq(analysis.replay.survey.complete, 0);
}
END_TEST

START_TEST(moments_have_names)
{
    static const struct {
        const char *text;
        struct mt_moment moment;
    } good[] = {{"peak", {MT_AT_PEAK, 0}},
                {"end", {MT_AT_END, 0}},
                {"oom", {MT_AT_OOM, 0}},
                {"1.5s", {MT_AT_TIME, 1500000000}},
                {"20.0000019ms", {MT_AT_TIME, 20000001}},
                {"7us", {MT_AT_TIME, 7000}},
                {"9223372036854775807ns", {MT_AT_TIME, INT64_MAX}},
                {"2min", {MT_AT_TIME, 120000000000}},
                {"1.5h", {MT_AT_TIME, 5400000000000}},
                {"event:12", {MT_AT_EVENT, 12}}};
    static const char *const bad[] = {"",
                                      "x",
                                      "5",
                                      "s",
                                      ".5s",
                                      "1.s5",
                                      "1.2.3s",
                                      "-1s",
                                      "event:",
                                      "event:1.5x",
                                      "1 s",
                                      "peaks",
                                      "1.5 s",
                                      "event:1s",
                                      "18446744073709551616ns",
                                      "99999999999s"};
    struct mt_moment moment;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ck_assert_int_eq(mt_moment_parse(good[i].text, &moment), 0);
        ck_assert_int_eq(moment.kind, good[i].moment.kind);
        ck_assert_uint_eq(moment.value, good[i].moment.value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(mt_moment_parse(bad[i], &moment) == -EINVAL, "%s", bad[i]);
}
END_TEST

/* What is live at a moment; evidence that comes after it counts. */
static void query(enum mt_moment_kind kind, uint64_t value, unsigned blocks, uint64_t allocated)
{
    question.moment = (struct mt_moment){kind, value};
    analyze();
    const struct mt_device *device = mt_analysis_main_device(&analysis);
    ck_assert_uint_eq(device->n_verdicts, blocks);
    ck_assert_uint_eq(device->at.allocated, allocated);
    uint64_t sum = 0;
    for (unsigned i = 0; i < blocks; i++)
        sum += device->verdicts[i].block->size;
    ck_assert_uint_eq(sum, allocated);
    ck_assert_uint_eq(device->peak.allocated, 1500);
    mt_analysis_destroy(&analysis);
}

START_TEST(any_moment_can_be_queried)
{
    mt_build_alloc(builder, A, 1000);              /* 1 ms */
    mt_build_alloc(builder, B, 500);               /* 2 ms */
    mt_build_free(builder, A);                     /* 3 ms */
    mt_build_event(builder, MT_OOM, 9999, 500, 0); /* 4 ms */
    mt_build_alloc(builder, A, 300);               /* 5 ms */
    mt_build_event(builder, MT_SET_DATA, A, 0, 0);
    mt_build_free(builder, B);
    query(MT_AT_PEAK, 0, 2, 1500);
    query(MT_AT_END, 0, 1, 300);
    query(MT_AT_OOM, 0, 1, 500);
    query(MT_AT_TIME, 999999, 0, 0);
    query(MT_AT_TIME, 1000000, 1, 1000);
    query(MT_AT_TIME, 2500000, 2, 1500);
    query(MT_AT_TIME, UINT64_MAX, 1, 300);
    query(MT_AT_EVENT, 0, 0, 0);
    query(MT_AT_EVENT, 3, 1, 500);
    query(MT_AT_EVENT, 5, 2, 800);
    question.moment = (struct mt_moment){MT_AT_EVENT, 5};
    analyze();
    ck_assert_uint_eq(bytes_of(MT_CATEGORY_PARAMETERS), 300);
}
END_TEST

START_TEST(each_device_has_its_peak)
{
    mt_build_on(builder, 0, 1, 0);
    mt_build_alloc(builder, A, 1000);
    mt_build_on(builder, 2, 1, 0);
    mt_build_alloc(builder, B, 5000);
    mt_build_on(builder, 0, 1, 0);
    mt_build_free(builder, A);
    analyze();
    ck_assert_uint_eq(analysis.n_devices, 2);
    ck_assert_int_eq(analysis.devices[0].device, 0);
    ck_assert_uint_eq(analysis.devices[0].category[MT_CATEGORY_OTHER].bytes, 1000);
    ck_assert_int_eq(analysis.devices[1].device, 2);
    ck_assert_uint_eq(analysis.devices[1].category[MT_CATEGORY_OTHER].bytes, 5000);
    ck_assert_ptr_eq(mt_analysis_main_device(&analysis), &analysis.devices[1]);
}
END_TEST

/* A block that is given to cuBLAS is its workspace, whatever size it has; what comes to its address
 * later is not. */
START_TEST(libraries_work_in_what_they_are_given)
{
    enum { GIVEN = 0x7e0000000000 };
    mt_build_alloc(builder, GIVEN, 64 * MT_MIB);
    mt_build_event(builder, MT_WORKSPACE, GIVEN + 256, 63 * MT_MIB, 0);
    mt_build_free(builder, GIVEN);
    mt_build_alloc(builder, GIVEN, MT_MIB);
    mt_build_end(builder);
    analyze();
    ck_assert_uint_eq(analysis.devices[0].category[MT_CATEGORY_WORKSPACE].bytes, 64 * MT_MIB);
    question.moment.kind = MT_AT_END;
    mt_analysis_destroy(&analysis);
    analyze();
    ck_assert_uint_eq(analysis.devices[0].category[MT_CATEGORY_OTHER].bytes, MT_MIB);
}
END_TEST

START_TEST(what_cuda_handed_out_counts_without_pytorch)
{
    mt_scenario_c_program(builder);
    analyze();
    const struct mt_device *device = mt_analysis_main_device(&analysis);
    ck_assert_int_eq(device->of_cuda, 1);
    ck_assert_uint_eq(device->peak.allocated, 11 * MT_MIB);
    ck_assert_uint_eq(device->category[MT_CATEGORY_OTHER].blocks, 2);
}
END_TEST

START_TEST(a_failed_cuda_free_changes_nothing)
{
    mt_build_event(builder, MT_CUDA_MALLOC, A, 1000, 0);
    mt_build_event(builder, MT_CUDA_FREE, A, MT_API_CUDA_FREE, 0);
    mt_build_event(builder, MT_CUDA_FREE_FAILED, A, 1, 0);
    mt_build_event(builder, MT_CUDA_MALLOC, B, 500, 0);
    mt_build_event(builder, MT_CUDA_FREE, 0, MT_API_CUDA_FREE, 0); /* cudaFree(NULL) */
    analyze();
    ck_assert_uint_eq(mt_analysis_main_device(&analysis)->peak.allocated, 1500);
    ck_assert_uint_eq(analysis.replay.cuda.unknown, 0);
}
END_TEST

START_TEST(a_late_start_is_reported)
{
    struct mt_event event = {.kind = MT_ALLOC, .thread = 1, .time_ns = 5};
    memcpy(event.arg, (uint64_t[]){A, 100, 1100, 4096}, sizeof event.arg);
    mt_build_raw(builder, &event);
    event.kind = MT_FREE;
    memcpy(event.arg, (uint64_t[]){B, 300, 800, 4096}, sizeof event.arg); /* made before */
    mt_build_raw(builder, &event);
    analyze();
    const struct mt_device *device = mt_analysis_main_device(&analysis);
    ck_assert_uint_eq(device->unseen, 1000);
    ck_assert_uint_eq(analysis.replay.unseen[mt_device_slot(0)], 1000);
    ck_assert_uint_eq(analysis.replay.oddities.unknown, 1);
    ck_assert_uint_eq(analysis.replay.oddities.drift, 0);
}
END_TEST

START_TEST(oddities_are_counted)
{
    struct mt_event event = {.kind = MT_ALLOC, .thread = 1};
    memcpy(event.arg, (uint64_t[]){A, 100, 100, 4096}, sizeof event.arg);
    mt_build_raw(builder, &event);
    event.arg[2] = 200;
    mt_build_raw(builder, &event); /* twice at one address */
    event.kind = MT_FREE;
    event.arg[1] = 60; /* another size, and PyTorch's total fell by 100 */
    event.arg[2] = 100;
    mt_build_raw(builder, &event);
    analyze();
    ck_assert_uint_eq(analysis.replay.oddities.replaced, 1);
    ck_assert_uint_eq(analysis.replay.oddities.wrong_size, 1);
    ck_assert_uint_eq(analysis.replay.oddities.drift, 1);
}
END_TEST

/* Addresses that the table's first factor puts into one slot: it moves while a block is added. */
START_TEST(a_table_that_moves_keeps_all_blocks)
{
    enum { N = 3000 };
    const uint64_t factor = 0x9e3779b97f4a7c15u;
    uint64_t inverse = factor;
    for (int i = 0; i < 6; i++)
        inverse *= 2 - factor * inverse;
    for (uint64_t i = 1; i <= N; i++)
        mt_build_alloc(builder, i * inverse, 512);
    analyze();
    ck_assert_uint_eq(mt_analysis_main_device(&analysis)->peak.allocated, N * 512);
}
END_TEST

START_TEST(losses_and_ooms_are_reported)
{
    mt_scenario_oom(builder);
    analyze();
    ck_assert_uint_eq(mt_survey_lost(&analysis.replay.survey), 3);
    ck_assert_uint_eq(analysis.replay.ooms.n, 1);
    ck_assert_uint_eq(analysis.replay.ooms.kept[0].wanted, 5000 * MT_MIB);
    ck_assert_int_eq(analysis.replay.ooms.kept[0].device, 1);
}
END_TEST

START_TEST(a_trace_without_memory_has_no_device)
{
    mt_scenario_idle(builder);
    analyze();
    ck_assert_uint_eq(analysis.n_devices, 0);
    ck_assert_ptr_null(mt_analysis_main_device(&analysis));
}
END_TEST

START_TEST(wrapped_in_parameter)
{
    uint32_t new = mt_build_stack(builder, "/u/t.py:1 main",
                                  TORCH "nn/parameter.py:60 Parameter.__new__", NULL);
    mt_build_alloc(builder, A, 512);
    mt_build_on(builder, 0, 1, new);
    mt_build_event(builder, MT_REQUIRES_GRAD, A, 0, 0); /* frozen ones too */
    ck_assert_int_eq(verdict(), MT_CATEGORY_PARAMETERS);
}
END_TEST

START_TEST(an_input_that_needs_a_gradient_is_no_parameter)
{
    a_parameter_exists();
    mt_build_on(builder, 0, 1, user_stack());
    mt_build_alloc(builder, A, 1024);
    mt_build_event(builder, MT_LEAF, A, 0, 0);
    mt_build_on(builder, 0, 1, step_stack("/u/lion.py:5 Lion.step"));
    mt_build_event(builder, MT_SAVED, B, 0, 0);
    mt_build_end(builder); /* it outlives the step, as the last iteration's input does */
    ck_assert_int_eq(verdict(), MT_CATEGORY_INPUTS);
}
END_TEST

START_TEST(a_leaf_of_two_graphs_is_a_parameter)
{
    a_parameter_exists();
    mt_build_alloc(builder, A, 1024);
    mt_build_event(builder, MT_LEAF, A, 0, 0);
    mt_build_event(builder, MT_LEAF, A, 0, 0);
    ck_assert_int_eq(verdict(), MT_CATEGORY_PARAMETERS);
}
END_TEST

START_TEST(a_leaf_without_other_knowledge_is_a_parameter)
{
    mt_build_alloc(builder, A, 1024);
    mt_build_event(builder, MT_LEAF, A, 0, 0);
    ck_assert_int_eq(verdict(), MT_CATEGORY_PARAMETERS);
}
END_TEST

START_TEST(a_view_of_a_parameter_does_not_make_it_an_activation)
{
    mt_build_alloc(builder, A, 1024);
    mt_build_event(builder, MT_LEAF, A, 0, 0);
    mt_build_event(builder, MT_NODE_NEW, 0x10, A + 512, 0);
    ck_assert_int_eq(verdict(), MT_CATEGORY_PARAMETERS);
}
END_TEST

START_TEST(a_detached_activation_stays_one)
{
    mt_build_alloc(builder, A, 1024);
    mt_build_event(builder, MT_NODE_NEW, 0x10, A, 0);
    mt_build_event(builder, MT_LEAF, A, 0, 0); /* checkpointing: a new graph begins */
    ck_assert_int_eq(verdict(), MT_CATEGORY_ACTIVATIONS);
}
END_TEST

START_TEST(evidence_after_the_peak_reaches_back)
{
    mt_build_alloc(builder, A, 1024);
    mt_build_alloc(builder, B, 1024); /* the peak */
    mt_build_free(builder, B);
    mt_build_event(builder, MT_GRADIENT, A, 0, 0);
    analyze();
    ck_assert_uint_eq(bytes_of(MT_CATEGORY_GRADIENTS), 1024);
    ck_assert_uint_eq(bytes_of(MT_CATEGORY_OTHER), 1024);
}
END_TEST

START_TEST(evidence_ends_with_the_block)
{
    mt_build_alloc(builder, A, 1024);
    mt_build_free(builder, A);
    mt_build_alloc(builder, A, 1000); /* another block at the address */
    mt_build_event(builder, MT_GRADIENT, A, 0, 0);
    ck_assert_int_eq(verdict(), MT_CATEGORY_OTHER);
}
END_TEST

START_TEST(an_optimizer_of_the_users_own_is_one)
{
    mt_build_on(builder, 0, 1, step_stack("/u/lion.py:5 Lion.step"));
    mt_build_alloc(builder, A, 1024);
    mt_build_on(builder, 0, 1, user_stack());
    mt_build_event(builder, MT_LEAF, B, 0, 0); /* the step is over */
    ck_assert_int_eq(verdict(), MT_CATEGORY_OPTIMIZER_STATE);
    ck_assert_uint_eq(analysis.replay.tracker.phases.steps_ended, 1);
}
END_TEST

START_TEST(what_dies_in_the_step_is_temporary)
{
    mt_build_on(builder, 0, 1, step_stack(TORCH "optim/adam.py:5 _multi_tensor_adam"));
    mt_build_alloc(builder, A, 1024);
    mt_build_free(builder, A);
    mt_build_end(builder);
    ck_assert_int_eq(verdict(), MT_CATEGORY_TEMPORARIES);
}
END_TEST

START_TEST(a_program_that_ends_after_the_step_keeps_its_state)
{
    mt_build_on(builder, 0, 1, step_stack(TORCH "optim/adam.py:5 _multi_tensor_adam"));
    mt_build_alloc(builder, A, 1024);
    mt_build_end(builder);
    ck_assert_int_eq(verdict(), MT_CATEGORY_OPTIMIZER_STATE);
}
END_TEST

START_TEST(a_trace_cut_in_the_step_goes_by_the_function)
{
    mt_build_on(builder, 0, 1, step_stack(TORCH "optim/adam.py:4 Adam._init_group"));
    mt_build_alloc(builder, A, 1024);
    mt_build_on(builder, 0, 1, step_stack(TORCH "optim/adam.py:5 _multi_tensor_adam"));
    mt_build_alloc(builder, B, 512);
    analyze();
    ck_assert_uint_eq(bytes_of(MT_CATEGORY_OPTIMIZER_STATE), 1024);
    ck_assert_uint_eq(bytes_of(MT_CATEGORY_TEMPORARIES), 512);
}
END_TEST

START_TEST(a_step_in_a_gradient_hook_ends_with_its_node)
{
    mt_build_on(builder, 0, 2, 0);
    mt_build_event(builder, MT_NODE_BEGIN, 0x10, 0, 0);
    mt_build_on(builder, 0, 2, step_stack(TORCH "optim/sgd.py:5 _multi_tensor_sgd"));
    mt_build_alloc(builder, A, 1024);
    mt_build_on(builder, 0, 2, 0);
    mt_build_event(builder, MT_NODE_END, 0x10, 0, 0);
    ck_assert_int_eq(verdict(), MT_CATEGORY_OPTIMIZER_STATE);
}
END_TEST

START_TEST(backward_makes_temporaries_unless_they_stay)
{
    uint32_t name = mt_build_string(builder, "12MulBackward0E");
    mt_build_on(builder, 0, 2, 0);
    mt_build_event(builder, MT_NODE_BEGIN, 0x10, name, 0);
    mt_build_alloc(builder, A, 1024);
    mt_build_event(builder, MT_NODE_END, 0x10, 0, 0);
    mt_build_alloc(builder, B, 512); /* after the node */
    analyze();
    ck_assert_uint_eq(bytes_of(MT_CATEGORY_TEMPORARIES), 1024);
    ck_assert_uint_eq(bytes_of(MT_CATEGORY_OTHER), 512);
}
END_TEST

START_TEST(what_backward_makes_and_keeps_is_a_gradient)
{
    mt_build_on(builder, 0, 2, 0);
    mt_build_event(builder, MT_NODE_BEGIN, 0x10, 0, 0);
    mt_build_event(builder, MT_NODE_BEGIN, 0x20, mt_build_string(builder, "3Mul"), 0);
    mt_build_on(builder, 0, 2, 0);
    mt_build_alloc(builder, A, 1024);
    mt_build_on(builder, 0, 1, step_stack("/u/lion.py:5 Lion.step"));
    mt_build_event(builder, MT_LEAF, B, 0, 0);
    mt_build_on(builder, 0, 1, user_stack());
    mt_build_event(builder, MT_LEAF, B, 0, 0);
    ck_assert_int_eq(verdict(), MT_CATEGORY_GRADIENTS);
}
END_TEST

START_TEST(an_accumulator_has_no_forward_line)
{
    uint32_t name = mt_build_string(builder, "N5torch8autograd14AccumulateGradE");
    mt_build_on(builder, 0, 1, user_stack());
    mt_build_event(builder, MT_NODE_NEW, 0x10, 0, 0); /* is gone later, its address reused */
    mt_build_on(builder, 0, 2, 0);
    mt_build_event(builder, MT_NODE_BEGIN, 0x10, name, 0);
    mt_build_alloc(builder, A, 1024);
    analyze();
    ck_assert_uint_eq(mt_analysis_main_device(&analysis)->sites.site[0].stack, 0);
    ck_assert_uint_eq(mt_analysis_main_device(&analysis)->sites.site[0].node_name, name);
}
END_TEST

START_TEST(saved_is_activation_or_input)
{
    uint32_t call = call_stack(), user = user_stack();
    mt_build_on(builder, 0, 1, user);
    mt_build_alloc(builder, A, 1000);
    mt_build_on(builder, 0, 1, call);
    mt_build_event(builder, MT_SAVED, A, 0, 0);
    mt_build_alloc(builder, B, 500);
    mt_build_event(builder, MT_SAVED, B, 0, 0);
    analyze();
    ck_assert_uint_eq(bytes_of(MT_CATEGORY_INPUTS), 1000);
    ck_assert_uint_eq(bytes_of(MT_CATEGORY_ACTIVATIONS), 500);
}
END_TEST

/* The tensors of a data set, which stay on the device: a graph saves the features, and not the
 * edges. */
START_TEST(what_a_line_makes_with_what_a_graph_saves_is_an_input)
{
    mt_build_on(builder, 0, 1, user_stack());
    mt_build_alloc(builder, A, 1000);
    if (_i)
        mt_build_on(builder, 0, 1, mt_build_child(builder, user_stack(), "/u/t.py:9 store"));
    mt_build_alloc(builder, B, 500);
    for (unsigned i = 0; i < 4; i++) {
        mt_build_on(builder, 0, 1, call_stack());
        mt_build_alloc(builder, B + 64 * MT_MIB, 512);
        mt_build_event(builder, MT_SAVED, A, 0, 0);
        mt_build_on(builder, 0, 1, mt_build_child(builder, user_stack(), "/u/t.py:12 train"));
        mt_build_free(builder, B + 64 * MT_MIB);
    }
    analyze();
    ck_assert_uint_eq(bytes_of(MT_CATEGORY_INPUTS), _i ? 1000 : 1500);
    ck_assert_uint_eq(bytes_of(MT_CATEGORY_PERSISTENT), _i ? 500 : 0);
}
END_TEST

/* A loss of a library: one function, at two lines, makes a mask and saves it. */
static void make_in_library(uint32_t caller)
{
    uint32_t line = mt_build_child(builder, caller, LIBRARY "loss.py:5 loss");
    mt_build_on(builder, 0, 1, mt_build_child(builder, line, LIBRARY "m.py:2 mask"));
    mt_build_alloc(builder, A, 1000);
    mt_build_on(builder, 0, 1, mt_build_child(builder, caller, LIBRARY "loss.py:6 loss"));
    mt_build_event(builder, MT_SAVED, A, 0, 0);
}

START_TEST(what_one_call_of_a_library_made_and_saved_is_an_activation)
{
    make_in_library(user_stack());
    ck_assert_int_eq(verdict(), MT_CATEGORY_ACTIVATIONS);
}
END_TEST

START_TEST(what_a_library_that_trains_made_and_saved_is_an_input)
{
    uint32_t caller = user_stack(),
             line = mt_build_child(builder, caller, LIBRARY "loss.py:9 loss");
    make_in_library(caller);
    mt_build_on(builder, 0, 1,
                mt_build_child(builder, line, TORCH "autograd/__init__.py:5 backward"));
    mt_build_alloc(builder, B, 512);
    ck_assert_int_eq(verdict(), MT_CATEGORY_INPUTS);
}
END_TEST

START_TEST(what_a_closure_of_a_step_makes_and_a_module_saves_is_an_input)
{
    mt_build_on(builder, 0, 1, step_stack("/u/t.py:5 closure"));
    mt_build_alloc(builder, A, 1000);
    mt_build_on(builder, 0, 1,
                mt_build_child(builder, step_stack("/u/t.py:6 closure"),
                               TORCH "nn/modules/module.py:1 Module._call_impl"));
    mt_build_event(builder, MT_SAVED, A, 0, 0);
    mt_build_on(builder, 0, 1, step_stack("/u/t.py:7 closure"));
    mt_build_free(builder, A);
    mt_build_on(builder, 0, 1, user_stack());
    mt_build_alloc(builder, B, 500);
    ck_assert_int_eq(verdict(), MT_CATEGORY_INPUTS);
}
END_TEST

START_TEST(what_a_cache_has_while_a_graph_is_made_is_an_activation)
{
    mt_build_on(builder, 0, 1, call_stack());
    mt_build_alloc(builder, A, 1000);
    mt_build_event(builder, MT_MEMBER, A, MT_MEMBER_OF_CACHE, 0);
    mt_build_event(builder, MT_SAVED, A, 0, 0);
    mt_build_event(builder, MT_NODE_NEW, 0x10, A, 0);
    ck_assert_int_eq(verdict(), MT_CATEGORY_ACTIVATIONS);
}
END_TEST

START_TEST(an_optimizer_around_another_makes_state_in_its_constructor)
{
    mt_build_on(builder, 0, 1,
                mt_build_child(builder, user_stack(),
                               "/v/site-packages/pytorch_optimizer/optimizer/lookahead.py:79 "
                               "Lookahead.init_group"));
    mt_build_alloc(builder, A, 1000);
    ck_assert_int_eq(verdict(), MT_CATEGORY_OPTIMIZER_STATE);
}
END_TEST

/* A module that calls itself several times without a graph, and never keeps it. */
static void call_again(uint32_t call)
{
    mt_build_on(builder, 0, 1, call);
    mt_build_alloc(builder, A, 1000);
    for (int i = 0; i < 5; i++) {
        mt_build_on(builder, 0, 1, user_stack());
        mt_build_alloc(builder, B, 500);
        mt_build_free(builder, B);
        mt_build_on(builder, 0, 1, call);
        mt_build_alloc(builder, B, 500);
        mt_build_free(builder, B);
    }
    mt_build_free(builder, A);
}

START_TEST(only_without_training_a_module_keeps_what_the_first_call_made)
{
    uint32_t user = user_stack();
    call_again(call_stack());
    analyze();
    ck_assert_uint_eq(bytes_of(MT_CATEGORY_BUFFERS), 1000);
    mt_build_on(builder, 0, 1,
                mt_build_child(builder, user, TORCH "autograd/__init__.py:5 backward"));
    mt_build_alloc(builder, B, 100);
    mt_build_free(builder, B);
    mt_analysis_destroy(&analysis);
    analyze();
    ck_assert_uint_eq(bytes_of(MT_CATEGORY_BUFFERS), 0);
    ck_assert_uint_eq(bytes_of(MT_CATEGORY_ACTIVATIONS), 1000);
}
END_TEST

START_TEST(the_last_rule_holds_for_all)
{
    struct mt_definitions *d = mt_definitions_create();
    struct mt_rule_context context = {d, 0};
    struct mt_block block = {.birth = &mt_no_birth};
    for (uint32_t evidence = 0; evidence < 1 << 12; evidence++) {
        block.evidence = evidence;
        ck_assert_uint_lt(mt_classify(&context, &block)->category, MT_CATEGORY_COUNT);
    }
    block.evidence = 0;
    ck_assert_ptr_eq(mt_classify(&context, &block), &mt_rules[mt_n_rules - 1]);
    mt_definitions_destroy(d);
}
END_TEST

static void define_stack(struct mt_definitions *d, uint32_t id, uint32_t parent, uint32_t frame)
{
    struct mt_definition definition = {MT_DEF_STACK, id, .stack = {parent, frame}};
    ck_assert_int_eq(mt_definitions_add(d, &definition), 0);
}

START_TEST(a_rule_looks_at_a_stack_once)
{
    static const char text[] = "other \"mine\" function=cache_*";
    const struct mt_definition names[] = {
        {MT_DEF_STRING, 1, .text = "main", .text_size = 4},
        {MT_DEF_STRING, 2, .text = "cache_put", .text_size = 9},
        {MT_DEF_FRAME, 1, .frame = {1, 0, 1, 0, 0}},
        {MT_DEF_FRAME, 2, .frame = {2, 0, 1, 0, 0}},
    };
    struct mt_user_rules *rules;
    struct mt_rules_error error;
    struct mt_rule_memo memo = {0};
    struct mt_definitions *d = mt_definitions_create();
    struct mt_rule_context context = {.definitions = d, .memo = &memo};
    struct mt_block block = {.birth = &mt_no_birth, .stack = 3};
    ck_assert_int_eq(mt_user_rules_parse(&rules, text, sizeof text - 1, &error), 0);
    context.user = rules;
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        ck_assert_int_eq(mt_definitions_add(d, &names[i]), 0);
    define_stack(d, 1, 0, 1);
    define_stack(d, 2, 1, 1);
    ck_assert(!mt_user_rule_holds(rules, 0, &context, &block)); /* nobody has defined it yet */
    define_stack(d, 3, 2, 2);
    define_stack(d, 4, 3, 1);
    ck_assert(mt_user_rule_holds(rules, 0, &context, &block));
    block.stack = 4;
    ck_assert(mt_user_rule_holds(rules, 0, &context, &block));
    block.stack = 2;
    ck_assert(!mt_user_rule_holds(rules, 0, &context, &block));
    unsigned char *known = mt_by_id(&memo.by_rule[0], 1);
    ck_assert(mt_by_id_has(&memo.by_rule[0], 1) && *known); /* with the one that was asked */
    *known = *(unsigned char *)mt_by_id(&memo.by_rule[0], 3);
    block.stack = 1;
    ck_assert(mt_user_rule_holds(rules, 0, &context, &block)); /* not matched again */
    mt_rule_memo_clear(&memo);
    mt_user_rules_destroy(rules);
    mt_definitions_destroy(d);
}
END_TEST

int main(void)
{
    TCase *totals = tcase_create("totals"), *rules = tcase_create("rules");
    tcase_add_checked_fixture(totals, begin, end);
    tcase_add_test(totals, training_is_recognized);
    tcase_add_test(totals, call_sites_are_the_users);
    tcase_add_test(totals, a_console_script_stands_for_its_package);
    tcase_add_test(totals, a_site_in_the_programs_package_has_no_caller);
    tcase_add_test(totals, a_script_of_the_users_is_a_caller);
    tcase_add_test(totals, the_first_of_equal_peaks_counts);
    tcase_add_test(totals, moments_have_names);
    tcase_add_test(totals, any_moment_can_be_queried);
    tcase_add_test(totals, each_device_has_its_peak);
    tcase_add_test(totals, what_cuda_handed_out_counts_without_pytorch);
    tcase_add_test(totals, libraries_work_in_what_they_are_given);
    tcase_add_test(totals, a_failed_cuda_free_changes_nothing);
    tcase_add_test(totals, a_late_start_is_reported);
    tcase_add_test(totals, oddities_are_counted);
    tcase_add_test(totals, a_table_that_moves_keeps_all_blocks);
    tcase_add_test(totals, losses_and_ooms_are_reported);
    tcase_add_test(totals, a_trace_without_memory_has_no_device);
    tcase_add_checked_fixture(rules, begin, end);
    tcase_add_test(rules, a_rule_looks_at_a_stack_once);
    tcase_add_test(rules, wrapped_in_parameter);
    tcase_add_test(rules, an_input_that_needs_a_gradient_is_no_parameter);
    tcase_add_test(rules, a_leaf_of_two_graphs_is_a_parameter);
    tcase_add_test(rules, a_leaf_without_other_knowledge_is_a_parameter);
    tcase_add_test(rules, a_view_of_a_parameter_does_not_make_it_an_activation);
    tcase_add_test(rules, a_detached_activation_stays_one);
    tcase_add_test(rules, evidence_after_the_peak_reaches_back);
    tcase_add_test(rules, evidence_ends_with_the_block);
    tcase_add_test(rules, an_optimizer_of_the_users_own_is_one);
    tcase_add_test(rules, what_dies_in_the_step_is_temporary);
    tcase_add_test(rules, a_program_that_ends_after_the_step_keeps_its_state);
    tcase_add_test(rules, a_trace_cut_in_the_step_goes_by_the_function);
    tcase_add_test(rules, a_step_in_a_gradient_hook_ends_with_its_node);
    tcase_add_test(rules, backward_makes_temporaries_unless_they_stay);
    tcase_add_test(rules, what_backward_makes_and_keeps_is_a_gradient);
    tcase_add_test(rules, an_accumulator_has_no_forward_line);
    tcase_add_test(rules, saved_is_activation_or_input);
    tcase_add_loop_test(rules, what_a_line_makes_with_what_a_graph_saves_is_an_input, 0, 2);
    tcase_add_test(rules, what_one_call_of_a_library_made_and_saved_is_an_activation);
    tcase_add_test(rules, what_a_library_that_trains_made_and_saved_is_an_input);
    tcase_add_test(rules, an_optimizer_around_another_makes_state_in_its_constructor);
    tcase_add_test(rules, what_a_closure_of_a_step_makes_and_a_module_saves_is_an_input);
    tcase_add_test(rules, what_a_cache_has_while_a_graph_is_made_is_an_activation);
    tcase_add_test(rules, only_without_training_a_module_keeps_what_the_first_call_made);
    tcase_add_test(rules, the_last_rule_holds_for_all);
    return RUN_TESTS(totals, rules);
}
