/* SPDX-License-Identifier: Apache-2.0 */
/* Modelled changes of a program of two layers, of which everything is known by hand. */
#include "planner/changes/changes.h"
#include "planner/changes/edits.h"
#include "recorded.h"
#include "tests/support/run-tests.h"

#include <errno.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)
#define BASE UINT64_C(0x7f0000000000)
#define USER "/home/u/train.py"
#define TORCH "/v/torch/"
#define FLOAT32 7u

static struct mt_builder *builder;
static struct mt_analysis analysis;
static struct mt_recording recording;
static struct mt_modelled_changes changes;

static uint64_t at(unsigned place)
{
    return BASE + place * 64 * MIB;
}

enum { WEIGHT, STATE = 2, WIDE = 4, OUT = 6, GRADIENT = 8, PASSING = 10, SEARCH = 12 };

/* What empties the cache after a workspace: nothing, cuDNN's search, the program's own line. */
static enum { NOBODY, CUDNN, PROGRAM } empties;

static uint32_t layer_stack(unsigned layer)
{
    char frame[96];
    snprintf(frame, sizeof frame, TORCH "nn/modules/module.py:1787 Module._call_impl|Net|layers.%u",
             layer);
    return mt_build_stack(builder, USER ":9 main", frame, NULL);
}

static void workspace(unsigned layer)
{
    mt_build_alloc(builder, at(SEARCH), 1024 * MIB);
    mt_build_free(builder, at(SEARCH));
    mt_build_alloc(builder, at(SEARCH), 512 * MIB);
    mt_build_event(builder, MT_WORKSPACE, at(SEARCH), 0, 0);
    mt_build_free(builder, at(SEARCH));
    if (empties == PROGRAM)
        mt_build_on(
            builder, 0, 1,
            mt_build_stack(builder, USER ":9 main", TORCH "cuda/memory.py:5 empty_cache", NULL));
    mt_build_event(builder, MT_CUDA_FREE, at(SEARCH), 0, 0);
    mt_build_event(builder, MT_EMPTY_CACHE, 1, 0, 0);
    mt_build_on(builder, 0, 1, layer_stack(layer));
}

/* 8 MiB are saved for backward, 4 MiB go on, 2 MiB are gone at once. */
static void forward(unsigned layer)
{
    mt_build_on(builder, 0, 1, layer_stack(layer));
    mt_build_event(builder, MT_LEAF, at(WEIGHT + layer), FLOAT32, 0);
    if (empties)
        workspace(layer);
    mt_build_alloc(builder, at(WIDE + layer), 8 * MIB);
    mt_build_event(builder, MT_SAVED, at(WIDE + layer), 0, FLOAT32);
    mt_build_alloc(builder, at(PASSING), 2 * MIB);
    mt_build_free(builder, at(PASSING));
    mt_build_alloc(builder, at(OUT + layer), 4 * MIB);
    mt_build_event(builder, MT_NODE_NEW, 0x1000 + layer, at(OUT + layer), 0);
}

static void backward(unsigned layer, uint32_t node)
{
    mt_build_on(
        builder, 0, 1,
        mt_build_stack(builder, USER ":10 main", TORCH "_tensor.py:5 Tensor.backward", NULL));
    mt_build_event(builder, MT_NODE_BEGIN, 0x1000 + layer, node, 0);
    mt_build_alloc(builder, at(GRADIENT + layer), 16 * MIB);
    mt_build_event4(builder, MT_GRADIENT, at(GRADIENT + layer), FLOAT32, at(WEIGHT + layer), 0);
    mt_build_free(builder, at(WIDE + layer));
    mt_build_free(builder, at(OUT + layer));
    mt_build_event(builder, MT_NODE_END, 0x1000 + layer, 0, 0);
}

/* Of the backward nodes' type; 0: "AddmmBackward0". A trace may hold ids without a string. */
static uint32_t unknown_type;

/* Two steps of training: 32 MiB of weights, as much of gradients, and of the optimizer's state. */
static void begin(void)
{
    builder = mt_builder_create();
    uint32_t node = unknown_type
                        ? unknown_type
                        : mt_build_string(builder, "N5torch8autograd9generated14AddmmBackward0E");
    uint32_t step = mt_build_stack(
        builder, USER ":11 main",
        TORCH "optim/optimizer.py:485 Optimizer.profile_hook_step.<locals>.wrapper",
        TORCH "optim/adam.py:228 Adam.step", TORCH "optim/adam.py:173 Adam._init_group", NULL);
    uint32_t outside = mt_build_stack(builder, USER ":12 main", NULL);
    for (unsigned layer = 0; layer < 2; layer++) {
        mt_build_on(builder, 0, 1, outside);
        mt_build_alloc(builder, at(WEIGHT + layer), 16 * MIB);
        mt_build_event(builder, MT_SET_DATA, at(WEIGHT + layer), FLOAT32, 4 * MIB);
    }
    for (unsigned iteration = 0; iteration < 2; iteration++) {
        forward(0);
        forward(1);
        backward(1, node);
        backward(0, node);
        mt_build_on(builder, 0, 1, step);
        mt_build_event(builder, MT_STEP, 0, 0, 0);
        for (unsigned layer = 0; layer < 2; layer++) {
            if (!iteration)
                mt_build_alloc(builder, at(STATE + layer), 16 * MIB);
            mt_build_event4(builder, MT_STATE, at(STATE + layer), at(WEIGHT + layer), 0, 4 * MIB);
        }
        mt_build_on(builder, 0, 1, outside);
        for (unsigned layer = 0; layer < 2; layer++)
            mt_build_free(builder, at(GRADIENT + layer));
    }
    mt_record_built(&recording, &analysis, builder);
}

static void begin_with_unknown_types(void)
{
    unknown_type = UINT32_MAX - 1;
    begin();
    unknown_type = 0;
}

static void end(void)
{
    mt_modelled_clear(&changes);
    mt_recording_clear(&recording);
    mt_analysis_destroy(&analysis);
    mt_builder_destroy(builder);
}

/* The peak with the change, in MiB. */
static double peak(const char *name)
{
    mt_modelled_clear(&changes);
    ck_assert_int_eq(mt_modelled_add(&changes, &recording, name), 0);
    ck_assert_msg(!changes.change->why_not, "%s: %s", name, changes.change->why_not);
    ck_assert_uint_eq(changes.peak, analysis.replay.of_torch.peak[1].allocated);
    ck_assert_int_eq(changes.change->saves, (int64_t)changes.peak - (int64_t)changes.change->peak);
    return (double)changes.change->peak / MIB;
}

/* Weights and state 64, gradients 32; the last layer's gradient meets both layers' 12, the first's
 * comes when 12 are left. */
START_TEST(the_peak_moves)
{
    ck_assert_double_eq(peak("batch:1"), 64 + 32 + 12);
    ck_assert_double_eq(peak("batch:1/2"), 64 + 32 + 6);
    ck_assert_double_eq(peak("batch:2"), 64 + 16 + 48);
    ck_assert_double_eq(peak("sequence:0.5"), 64 + 32 + 6);
}
END_TEST

START_TEST(optimizers_have_their_own_state)
{
    ck_assert_double_eq(peak("optimizer:sgd"), 32 + 32 + 12);
    ck_assert_double_eq(peak("offload:optimizer"), 32 + 32 + 12);
    ck_assert_double_eq(peak("optimizer:adamw-fused"), 96 + 32 + 12 + 2 * 512.0 / MIB);
    ck_assert_double_eq(peak("optimizer:adamw"), 96 + 32 + 32);
    ck_assert_double_eq(peak("zero1:2"), 32 + 32 + 12 + 16 + 32); /* and DDP's buckets */
    ck_assert_double_eq(peak("zero1:1"), 64 + 32 + 12);
}
END_TEST

/* Layer 1 saves nothing over its forward, layer 0 neither: 8 are there in backward of one only. */
START_TEST(checkpoints_run_again)
{
    ck_assert_double_eq(peak("checkpoint:layers.*"), 64 + 32 + 8 + 4);
    ck_assert_double_eq(peak("checkpoint:layers.1"), 64 + 32 + 8 + 4);
    ck_assert_uint_eq(changes.change->operators, 2 * 1);
}
END_TEST

/* What goes into a call is there until it runs again, though no operator of it saves it. */
START_TEST(inputs_of_checkpoints_stay)
{
    struct mt_edits edits;
    struct mt_modelled change = {0};
    struct mt_recorded_block *input = recording.block; /* the last output before the second step */
    const struct mt_recorded_node *node = &recording.node[2];
    for (size_t i = 0; recording.block[i].begin < recording.step[0].end; i++)
        input = &recording.block[i];
    input->output_of = node->name;
    input->phase = MT_PHASE_FORWARD;
    input->end = recording.node[3].made; /* layer 1 is at work */
    ck_assert_int_eq(mt_edits_begin(&edits, &recording), 0);
    ck_assert_int_eq(mt_change_apply(&edits, "checkpoint:layers.0", &change), 0);
    uint64_t now = edits.block[input - recording.block].end >> MT_WITHIN_BITS;
    ck_assert_uint_gt(now, recording.node[3].begin);
    ck_assert_uint_le(now, node->begin + 2);
    mt_edits_clear(&edits);
}
END_TEST

/* Let what comes and goes at once in forward be a library's workspace. */
static void make_workspaces(uint64_t bytes)
{
    for (size_t i = 0; i < recording.n; i++)
        if (recording.block[i].size == 2 * MIB) {
            recording.block[i].category = MT_CATEGORY_WORKSPACE;
            recording.block[i].size = bytes;
        }
}

static double edited_peak(const char *name)
{
    struct mt_modelled change;
    ck_assert_int_eq(mt_modelled_of(&change, &recording, name), 0);
    ck_assert_ptr_null(change.why_not);
    return (double)change.peak / MIB;
}

/* It is taken again where forward runs again, and for the products of adapters: a second product
 * and it are there at once, then without it what the product is added to. */
START_TEST(workspaces_are_allocated_again)
{
    make_workspaces(64 * MIB);
    for (size_t i = 0; i < recording.n; i++) /* something is saved after it */
        recording.block[i].saved += recording.block[i].size == 8 * MIB ? 2 : 0;
    ck_assert_double_eq(edited_peak("checkpoint:layers.*"), 64 + 16 + 8 + 4 + 64);
    for (size_t i = 0; i < recording.n_nodes; i++)
        recording.save[recording.node[i].first_save] = recording.block[i % 2].begin;
    double with = edited_peak("lora:1");
    for (size_t i = 0; i < recording.n; i++)
        recording.block[i].size -= recording.block[i].size == 64 * MIB ? 62 * MIB : 0;
    ck_assert_double_eq(with - edited_peak("lora:1"), (64 + 4) - (4 + 4));
}
END_TEST

/* A workspace is as large for 16 bits. */
START_TEST(workspaces_stay_as_wide)
{
    for (size_t i = 0; i < recording.n; i++)
        if (recording.block[i].category == MT_CATEGORY_GRADIENTS) {
            recording.block[i].category = MT_CATEGORY_WORKSPACE;
            recording.block[i].size = 64 * MIB;
        }
    ck_assert_double_eq(edited_peak("precision:autocast"), 64 + 2 * 64 + 12.0 / 2);
}
END_TEST

static void begin_with_workspaces(int of)
{
    end();
    empties = of ? PROGRAM : CUDNN;
    begin();
    empties = NOBODY;
}

/* What cuDNN searches in goes, and what was requested for it in vain. On a card, the algorithm that
 * is used without a search may need as much. */
START_TEST(searches_need_workspaces)
{
    struct mt_modelled change;
    begin_with_workspaces(_i);
    ck_assert_int_eq(mt_modelled_of(&change, &recording, "no-benchmark"), 0);
    if (_i) {
        ck_assert_str_eq(change.why_not,
                         "no search of torch.backends.cudnn.benchmark was recorded");
        return;
    }
    for (size_t i = 0; i < recording.n; i++)
        recording.block[i].was_caught = recording.block[i].size == 1024 * MIB;
    ck_assert_int_eq(mt_modelled_of(&change, &recording, "no-benchmark"), 0);
    ck_assert_uint_eq(change.peak, (64 + 32 + 12) * MIB);
    ck_assert_uint_gt(change.other_peak, 1024 * MIB);
}
END_TEST

START_TEST(sixteen_bits_are_half)
{
    ck_assert_double_eq(peak("precision:bf16"), (64 + 32 + 12) / 2);
}
END_TEST

START_TEST(types_may_be_unknown)
{
    ck_assert_double_le(peak("precision:autocast"), 64 + 32 + 12);
    ck_assert_int_eq(mt_modelled_add_usual(&changes, &recording), 0);
}
END_TEST

START_TEST(what_makes_no_sense_is_refused)
{
    static const char *const wrong[] = {"",
                                        "zero3",
                                        "zero3:",
                                        "zero3:0",
                                        "zero3:-1",
                                        "zero9:2",
                                        "batch:0",
                                        "batch:1/0",
                                        "batch:half",
                                        "optimizer:best",
                                        "lora:0",
                                        "offload:x",
                                        "checkpoint:",
                                        "precision:8",
                                        "zero3:8x",
                                        "zero1:99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(mt_modelled_add(&changes, &recording, wrong[i]) == -EINVAL, "%s", wrong[i]);
    ck_assert_int_eq(mt_modelled_add(&changes, &recording, "checkpoint:none.*"), 0);
    ck_assert_str_eq(changes.change->why_not, "no such module was called");
    ck_assert_int_eq(mt_modelled_add_usual(&changes, &recording), 0);
    mt_modelled_sort(&changes);
    ck_assert_uint_gt(changes.n, 8);
    for (size_t i = 1; i + 1 < changes.n; i++)
        ck_assert_int_ge(changes.change[i - 1].saves, changes.change[i].saves);
    ck_assert_ptr_nonnull(changes.change[changes.n - 1].why_not);
}
END_TEST

int main(void)
{
    TCase *test = tcase_create("modelled");
    tcase_add_checked_fixture(test, begin, end);
    tcase_add_test(test, the_peak_moves);
    tcase_add_test(test, optimizers_have_their_own_state);
    tcase_add_test(test, checkpoints_run_again);
    tcase_add_test(test, inputs_of_checkpoints_stay);
    tcase_add_test(test, workspaces_are_allocated_again);
    tcase_add_test(test, workspaces_stay_as_wide);
    tcase_add_loop_test(test, searches_need_workspaces, 0, 2);
    tcase_add_test(test, sixteen_bits_are_half);
    tcase_add_test(test, what_makes_no_sense_is_refused);
    TCase *unknown = tcase_create("unknown");
    tcase_add_checked_fixture(unknown, begin_with_unknown_types, end);
    tcase_add_test(unknown, types_may_be_unknown);
    return RUN_TESTS(test, unknown);
}
