/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace does not tell of a change (enum mt_guess), and what it tells twice: views of one
 * block, nodes at one address. */
#include "planner/changes/changes.h"
#include "planner/changes/edits.h"
#include "recorded.h"
#include "tests/support/run-tests.h"

#include <string.h>

#define MIB (UINT64_C(1) << 20)
#define BASE UINT64_C(0x7f0000000000)
#define USER "/home/u/train.py"
#define TORCH "/v/torch/"
#define FLOAT32 7u
#define NODE 0x1000u

static struct mt_builder *builder;
static struct mt_analysis analysis;
static struct mt_recording recording;

static uint64_t at(unsigned place)
{
    return BASE + place * 64 * MIB;
}

enum { WEIGHT, STATE, SAVED, OUT, GRADIENT, EVALUATED, STORED, LOSS = STORED + 2 };

/* Of 16 MiB, saved twice by one node (two views of it), and what goes on. */
static void forward(const char *line, unsigned saved, unsigned out)
{
    mt_build_on(builder, 0, 1,
                mt_build_stack(builder, line,
                               TORCH "nn/modules/module.py:1787 Module._call_impl|Net|layers.0",
                               NULL));
    mt_build_event(builder, MT_LEAF, at(WEIGHT), FLOAT32, 0);
    mt_build_alloc(builder, at(saved), 16 * MIB);
    mt_build_event(builder, MT_SAVED, at(saved), 0, FLOAT32);
    mt_build_event(builder, MT_SAVED, at(saved), 0, FLOAT32);
    mt_build_alloc(builder, at(out), 4 * MIB);
    mt_build_event(builder, MT_NODE_NEW, NODE + out, at(out), 0);
}

static void iterate(bool is_first, uint32_t node, uint32_t step)
{
    mt_build_on(builder, 0, 1, mt_build_stack(builder, USER ":9 main", NULL)); /* the loss */
    mt_build_alloc(builder, at(LOSS), MIB);
    mt_build_free(builder, at(LOSS));
    mt_build_on(
        builder, 0, 1,
        mt_build_stack(builder, USER ":10 main", TORCH "_tensor.py:5 Tensor.backward", NULL));
    mt_build_event(builder, MT_NODE_BEGIN, NODE + OUT, node, 0);
    mt_build_alloc(builder, at(GRADIENT), 8 * MIB);
    mt_build_event4(builder, MT_GRADIENT, at(GRADIENT), FLOAT32, at(WEIGHT), 0);
    mt_build_free(builder, at(SAVED));
    mt_build_free(builder, at(OUT));
    mt_build_event(builder, MT_NODE_END, NODE + OUT, 0, 0);
    uint32_t accumulates = mt_build_string(builder, "N5torch8autograd14AccumulateGradE");
    mt_build_event(builder, MT_NODE_BEGIN, NODE + OUT, accumulates, 0);
    mt_build_event(builder, MT_NODE_END, NODE + OUT, 0, 0);
    mt_build_on(builder, 0, 1, step);
    mt_build_event(builder, MT_STEP, 0, 0, 0);
    if (is_first)
        mt_build_alloc(builder, at(STATE), 8 * MIB);
    mt_build_event4(builder, MT_STATE, at(STATE), at(WEIGHT), 0, 2 * MIB);
    mt_build_on(builder, 0, 1, mt_build_stack(builder, USER ":12 main", NULL));
    mt_build_free(builder, at(GRADIENT));
}

/* A step of training; then an evaluation, from another line, whose graph the program keeps; then a
 * step. */
static void begin(void)
{
    builder = mt_builder_create();
    uint32_t node = mt_build_string(builder, "N5torch8autograd9generated14AddmmBackward0E");
    uint32_t step = mt_build_stack(
        builder, USER ":11 main",
        TORCH "optim/optimizer.py:485 Optimizer.profile_hook_step.<locals>.wrapper",
        TORCH "optim/adam.py:228 Adam.step", TORCH "optim/adam.py:173 Adam._init_group", NULL);
    mt_build_on(builder, 0, 1, mt_build_stack(builder, USER ":8 main", NULL));
    mt_build_alloc(builder, at(WEIGHT), 8 * MIB);
    mt_build_event(builder, MT_SET_DATA, at(WEIGHT), FLOAT32, 2 * MIB);
    forward(USER ":9 main", SAVED, OUT);
    iterate(true, node, step);
    forward(USER ":20 evaluate", EVALUATED, STORED);
    mt_build_on(builder, 0, 1, mt_build_stack(builder, USER ":21 main", NULL));
    mt_build_alloc(builder, at(STORED + 1), 2 * MIB);
    forward(USER ":9 main", SAVED, OUT);
    iterate(false, node, step);
    mt_record_built(&recording, &analysis, builder);
}

static void end(void)
{
    mt_recording_clear(&recording);
    mt_analysis_destroy(&analysis);
    mt_builder_destroy(builder);
}

/* The peak in MiB without some guesses; *guesses has those that matter. */
static double peak(const char *name, unsigned without, unsigned *guesses)
{
    struct mt_edits edits;
    struct mt_modelled change = {0};
    uint64_t bytes, moment;
    ck_assert_int_eq(mt_edits_begin(&edits, &recording), 0);
    edits.without = without;
    ck_assert_int_eq(mt_change_apply(&edits, name, &change), 0);
    ck_assert_int_eq(mt_edits_peak(&edits, &bytes, &moment), 0);
    *guesses = edits.guesses;
    mt_edits_clear(&edits);
    return (double)bytes / MIB;
}

/* As recorded: 16 of the model and its state, 20 that the evaluation left, 2 beside it, 28 of the
 * second step. In its backward a call's 16 are made again; those of the evaluation are not, if it
 * is checkpointed. */
START_TEST(evaluations_may_not_be_checkpointed)
{
    unsigned guesses;
    ck_assert_double_eq(peak("checkpoint:layers.*", 0, &guesses), 66 - 16);
    ck_assert_uint_eq(guesses, MT_GUESS_CALLS);
    ck_assert_double_eq(peak("checkpoint:layers.*", MT_GUESS_CALLS, &guesses), 66);
    ck_assert_uint_eq(guesses, MT_GUESS_CALLS);
}
END_TEST

/* Half of 20 + 2 + 20, or of the last 20 alone: what the program keeps may not be of the batch. */
START_TEST(stores_may_not_be_of_the_batch)
{
    unsigned guesses;
    ck_assert_double_eq(peak("batch:1/2", 0, &guesses), 66 - 21);
    ck_assert_uint_eq(guesses & MT_GUESS_STORES, MT_GUESS_STORES);
    ck_assert_double_eq(peak("batch:1/2", MT_GUESS_STORES | MT_GUESS_INPUTS, &guesses), 66 - 10);
}
END_TEST

/* What a node saved comes back once for its run, though two views of it were saved. */
START_TEST(views_of_one_block_count_once)
{
    unsigned guesses;
    ck_assert_double_eq(peak("offload:activations", 0, &guesses), 66 - 16);
    for (size_t i = 0; i < recording.n_nodes; i++) {
        const struct mt_recorded_node *node = &recording.node[i];
        ck_assert_uint_eq(node->n_saves, 2);
        ck_assert_ptr_nonnull(mt_node_saved(&recording, node, 0));
        ck_assert_ptr_null(mt_node_saved(&recording, node, 1));
    }
}
END_TEST

/* What accumulates gradients lay where a node had been: it is not that node. */
START_TEST(a_node_keeps_its_own_run)
{
    ck_assert_uint_eq(recording.n_nodes, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct mt_recorded_node *node = &recording.node[i];
        if (!node->begin)
            continue; /* of the evaluation */
        ck_assert_ptr_nonnull(strstr(mt_string(recording.definitions, node->name), "Addmm"));
        ck_assert_uint_gt(node->end, node->begin + 3);
    }
}
END_TEST

int main(void)
{
    TCase *test = tcase_create("guesses");
    tcase_add_checked_fixture(test, begin, end);
    tcase_add_test(test, evaluations_may_not_be_checkpointed);
    tcase_add_test(test, stores_may_not_be_of_the_batch);
    tcase_add_test(test, views_of_one_block_count_once);
    tcase_add_test(test, a_node_keeps_its_own_run);
    return RUN_TESTS(test);
}
