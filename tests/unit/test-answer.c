/* SPDX-License-Identifier: Apache-2.0 */
/* What makes a job fit a card (planner/answer): of a program of which everything is known by hand.
 */
#include "analyzed.h"
#include "planner/advice/answer.h"
#include "planner/advice/oom-advice.h"
#include "planner/advice/remedies.h"
#include "planner/rest/cut.h"
#include "tests/support/run-tests.h"

#include <errno.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)
#define BASE UINT64_C(0x7f0000000000)
#define USER "/home/u/train.py"
#define TORCH "/v/torch/"
#define FLOAT32 7u
#define LAYERS 4u

static struct mt_builder *builder;
static struct mt_analysis analysis;
static struct mt_advisor advisor;
static const struct mt_requests *requests;
static struct mt_plan plan;
static struct mt_modelled_changes changes;
static struct mt_plan_answer answer;

static uint64_t at(unsigned kind, unsigned layer)
{
    return BASE + (kind * LAYERS + layer) * 64 * MIB;
}

enum { WEIGHT, STATE, SAVED, GRADIENT };

static uint32_t layer_stack(unsigned layer)
{
    char frame[96];
    snprintf(frame, sizeof frame, TORCH "nn/modules/module.py:1787 Module._call_impl|Net|layers.%u",
             layer);
    return mt_build_stack(builder, USER ":9 main", frame, NULL);
}

static void iterate(unsigned iteration, uint32_t node, uint32_t back, uint32_t step)
{
    for (unsigned layer = 0; layer < LAYERS; layer++) {
        mt_build_on(builder, 0, 1, layer_stack(layer));
        mt_build_event(builder, MT_LEAF, at(WEIGHT, layer), FLOAT32, 0);
        mt_build_alloc(builder, at(SAVED, layer), 40 * MIB);
        mt_build_event(builder, MT_SAVED, at(SAVED, layer), 0, FLOAT32);
        mt_build_event(builder, MT_NODE_NEW, 0x1000 + layer, at(SAVED, layer), 0);
    }
    mt_build_on(builder, 0, 1, back);
    for (unsigned layer = LAYERS; layer--;) {
        mt_build_event(builder, MT_NODE_BEGIN, 0x1000 + layer, node, 0);
        mt_build_alloc(builder, at(GRADIENT, layer), 20 * MIB);
        mt_build_event4(builder, MT_GRADIENT, at(GRADIENT, layer), FLOAT32, at(WEIGHT, layer), 0);
        mt_build_free(builder, at(SAVED, layer));
        mt_build_event(builder, MT_NODE_END, 0x1000 + layer, 0, 0);
    }
    mt_build_on(builder, 0, 1, step);
    mt_build_event(builder, MT_STEP, 0, 0, 0);
    for (unsigned layer = 0; layer < LAYERS; layer++) {
        if (!iteration)
            mt_build_alloc(builder, at(STATE, layer), 40 * MIB);
        mt_build_event4(builder, MT_STATE, at(STATE, layer), at(WEIGHT, layer), 0, 10 * MIB);
    }
    mt_build_on(builder, 0, 1, mt_build_stack(builder, USER ":12 main", NULL));
    for (unsigned layer = 0; layer < LAYERS; layer++)
        mt_build_free(builder, at(GRADIENT, layer));
}

/* Four layers: 80 MiB of weights, 160 of state, 80 of gradients, 160 that are saved; two steps. */
static void begin(void)
{
    size_t n;
    builder = mt_builder_create();
    mt_build_info(builder, "torch=2.15.0");
    uint32_t node = mt_build_string(builder, "N5torch8autograd9generated14AddmmBackward0E");
    uint32_t step = mt_build_stack(
        builder, USER ":11 main",
        TORCH "optim/optimizer.py:485 Optimizer.profile_hook_step.<locals>.wrapper",
        TORCH "optim/adam.py:228 Adam.step", TORCH "optim/adam.py:173 Adam._init_group", NULL);
    uint32_t back =
        mt_build_stack(builder, USER ":10 main", TORCH "_tensor.py:5 Tensor.backward", NULL);
    for (unsigned layer = 0; layer < LAYERS; layer++) {
        mt_build_on(builder, 0, 1, mt_build_stack(builder, USER ":8 main", NULL));
        mt_build_alloc(builder, at(WEIGHT, layer), 20 * MIB);
        mt_build_event(builder, MT_SET_DATA, at(WEIGHT, layer), FLOAT32, 5 * MIB);
    }
    for (unsigned iteration = 0; iteration < 2; iteration++)
        iterate(iteration, node, back, step);
    mt_build_end(builder);
    struct mt_question question = {0};
    ck_assert_int_eq(mt_advisor_watch(&advisor, &question), 0);
    mt_analyze(&analysis, builder, &question);
    requests = mt_gathering_finish(advisor.gathering, &n);
    ck_assert_uint_eq(n, 1);
    ck_assert_int_eq(mt_recording_finish(&advisor.recording, &analysis.replay, 0), 0);
}

static void clear(void)
{
    mt_answer_clear(&answer);
    mt_modelled_clear(&changes);
    mt_plan_clear(&plan);
}

static void end(void)
{
    clear();
    mt_advisor_clear(&advisor);
    mt_analysis_destroy(&analysis);
    mt_builder_destroy(builder);
}

static void make_plan(const struct mt_requests *of, uint64_t card)
{
    struct mt_alloc_conf_error error;
    size_t wrong;
    struct mt_plan_question question = {.torch = "2.15.0", .card = {"a card", card}};
    ck_assert_int_eq(mt_plan_make(&plan, of, &question, &wrong, &error), 0);
}

/* Asks about a card of that many MiB, with these changes, separated by spaces. */
static void query(unsigned card, const char *names)
{
    char name[MT_CHANGE_NAME];
    clear();
    make_plan(requests, card * MIB);
    for (int used; sscanf(names, "%127s%n", name, &used) == 1; names += used)
        ck_assert_int_eq(mt_modelled_add(&changes, &advisor.recording, name), 0);
    mt_modelled_sort(&changes);
    ck_assert_int_eq(mt_answer_make(&answer, &plan, NULL, &advisor.recording, &changes), 0);
}

static bool offers(const char *change)
{
    for (size_t i = 0; i < answer.n; i++)
        if (!strcmp(answer.way[i].change, change) && answer.way[i].served == MT_SERVED_YES)
            return true;
    return false;
}

#define ALL "optimizer:sgd batch:1/2 checkpoint:layers.* zero3:8"

/* 80 + 160 + 160 and a gradient of 20 are live at once. */
START_TEST(it_fits_as_it_is)
{
    query(1000, ALL);
    ck_assert_int_eq(answer.fits, MT_SERVED_YES);
    ck_assert(mt_answer_is_found(&answer));
    ck_assert_uint_le(answer.free, (1000 - 420) * MIB);
    ck_assert_uint_ge(answer.free, (1000 - 520) * MIB);
    for (size_t i = 0; i < answer.n; i++)
        ck_assert_str_eq(answer.way[i].change, "");
}
END_TEST

/* Of those that are enough what costs time comes before what costs cards and exactness. */
START_TEST(a_change_makes_it_fit)
{
    query(375, ALL);
    ck_assert_int_eq(answer.fits, MT_SERVED_NO);
    ck_assert(offers("batch:1/2"));
    ck_assert(offers("optimizer:sgd"));
    ck_assert(!strchr(answer.way[0].change, '+'));
    ck_assert_int_eq(mt_remedy_cost(answer.way[0].change), MT_COSTS_TIME);
    for (size_t i = 0; i < answer.n; i++) {
        ck_assert_uint_le(answer.way[i].peak_reserved + answer.way[i].free, 375 * MIB);
        ck_assert(!answer.way[i].is_replayed);
        ck_assert_uint_gt(answer.way[i].error, 0);
        if (i && answer.way[i].served == answer.way[i - 1].served)
            ck_assert_uint_ge(mt_remedy_cost(answer.way[i].change),
                              mt_remedy_cost(answer.way[i - 1].change));
    }
}
END_TEST

/* Without the state, and with half of what is saved, 80 + 80 + 20 are left, or 80 + 80. */
START_TEST(only_two_changes_make_it_fit)
{
    query(240, "optimizer:sgd batch:1/2");
    ck_assert(!offers("optimizer:sgd"));
    ck_assert(!offers("batch:1/2"));
    ck_assert(offers("optimizer:sgd+batch:1/2") || offers("batch:1/2+optimizer:sgd"));
    struct mt_way_words words;
    mt_way_words(&words, &answer, &answer.way[0]);
    ck_assert_str_eq(words.costs, "exactness");
    ck_assert_uint_ge(words.n, 2);
}
END_TEST

START_TEST(nothing_makes_it_fit)
{
    query(100, "optimizer:sgd batch:1/2");
    ck_assert(!mt_answer_is_found(&answer));
    ck_assert_uint_eq(answer.n, 0);
    ck_assert_uint_gt(answer.missing, 40 * MIB);
    ck_assert_uint_lt(answer.missing, 150 * MIB);
    query(100, "");
    ck_assert_uint_gt(answer.missing, 300 * MIB);
}
END_TEST

/* What two changes rebuild in common is not modelled twice. */
START_TEST(some_changes_exclude_each_other)
{
    ck_assert(mt_changes_go_together("optimizer:sgd", "batch:1/2"));
    ck_assert(mt_changes_go_together("zero3:8", "optimizer:adamw-fused"));
    ck_assert(!mt_changes_go_together("optimizer:sgd", "optimizer:adafactor"));
    ck_assert(!mt_changes_go_together("offload:optimizer", "zero1:2"));
    ck_assert(!mt_changes_go_together("offload:activations", "checkpoint:layers.*"));
    ck_assert(!mt_changes_go_together("precision:autocast", "offload:activations"));
    ck_assert(mt_changes_go_together("precision:bf16", "offload:activations"));
    struct mt_modelled both;
    ck_assert_int_eq(mt_modelled_of(&both, &advisor.recording, "batch:1/2+sequence:1/2"), 0);
    ck_assert_ptr_nonnull(both.why_not);
    ck_assert_int_eq(mt_modelled_of(&both, &advisor.recording, "batch:1/2+"), -EINVAL);
}
END_TEST

/* In whichever order they are named: 80 of weights, an eighth of half of the state. */
START_TEST(what_comes_later_edits_what_came_before)
{
    struct mt_modelled one, other;
    ck_assert_int_eq(mt_modelled_of(&one, &advisor.recording, "zero1:4+optimizer:sgd-momentum"), 0);
    ck_assert_int_eq(mt_modelled_of(&other, &advisor.recording, "optimizer:sgd-momentum+zero1:4"),
                     0);
    ck_assert_uint_eq(one.peak, other.peak);
    ck_assert_uint_eq(one.peak, (80 + 20 + 160 + 20 + 80) * MIB);
    ck_assert_uint_eq(one.error, 50);
    ck_assert_int_eq(
        mt_modelled_of(&one, &advisor.recording, "precision:bf16+optimizer:sgd-momentum"), 0);
    ck_assert_uint_eq(one.peak, (40 + 40 + 80 + 10) * MIB);
}
END_TEST

static struct mt_request take(uint32_t block, uint64_t size)
{
    return (struct mt_request){.kind = MT_REQUEST_ALLOCATE, .block = block, .size = size};
}

static struct mt_request give(uint32_t block)
{
    return (struct mt_request){.kind = MT_REQUEST_FREE, .block = block};
}

/* Two of 30 MiB leave two segments with 9 MiB too much in each: 45 MiB more do not fit, in one
 * piece. */
START_TEST(only_a_setting_makes_it_fit)
{
    struct mt_request run[] = {take(0, 30 * MIB), take(1, 30 * MIB), give(0),
                               take(2, 21 * MIB), give(1),           take(3, 21 * MIB),
                               take(4, 45 * MIB)};
    struct mt_request_totals recorded[7];
    memset(recorded, 0, sizeof recorded);
    for (unsigned i = 0; i < 7; i++)
        recorded[i].event = i + 1;
    struct mt_requests fragmented = {.request = run,
                                     .recorded = recorded,
                                     .n = 7,
                                     .allocs = 5,
                                     .frees = 2,
                                     .card = 200 * MIB,
                                     .knows_others = true,
                                     .peak_allocated = 87 * MIB};
    make_plan(&fragmented, 100 * MIB);
    ck_assert_int_eq(mt_answer_make(&answer, &plan, NULL, NULL, NULL), 0);
    ck_assert(plan.is_exact);
    ck_assert_int_eq(answer.fits, MT_SERVED_NO);
    ck_assert(mt_answer_is_found(&answer));
    ck_assert_str_eq(answer.way[0].conf, "expandable_segments:True");
    ck_assert(answer.way[0].is_replayed);
    ck_assert_uint_eq(answer.way[0].free, 100 * MIB - answer.way[0].peak_reserved);
    clear();
    make_plan(&fragmented, 70 * MIB);
    ck_assert_int_eq(mt_answer_make(&answer, &plan, NULL, NULL, NULL), 0);
    ck_assert(!mt_answer_is_found(&answer));
    ck_assert_uint_ge(answer.missing, 17 * MIB);
    ck_assert_str_eq(answer.nearest.change, "");
}
END_TEST

int main(void)
{
    TCase *test = tcase_create("answer");
    tcase_add_checked_fixture(test, begin, end);
    tcase_add_test(test, it_fits_as_it_is);
    tcase_add_test(test, a_change_makes_it_fit);
    tcase_add_test(test, only_two_changes_make_it_fit);
    tcase_add_test(test, nothing_makes_it_fit);
    tcase_add_test(test, some_changes_exclude_each_other);
    tcase_add_test(test, what_comes_later_edits_what_came_before);
    tcase_add_test(test, only_a_setting_makes_it_fit);
    return RUN_TESTS(test);
}
