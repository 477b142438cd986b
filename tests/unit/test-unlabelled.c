/* SPDX-License-Identifier: Apache-2.0 */
/* What blocks are taken for where autograd said nothing: by the frames that made them, and by what
 * else there is. */
#include "analyzed.h"
#include "scenarios.h"
#include "tests/support/run-tests.h"

#include <stdlib.h>

#define BASE 0x7f0000000000ull
#define PACKAGES "/v/lib/python3.11/site-packages/"
#define TORCH PACKAGES "torch/"
#define ZERO PACKAGES "deepspeed/runtime/zero/"

static struct mt_builder *builder;
static struct mt_analysis analysis;

static void begin(void)
{
    builder = mt_builder_create();
}

static void end(void)
{
    mt_analysis_destroy(&analysis);
    mt_builder_destroy(builder);
}

static uint64_t place(unsigned i)
{
    return BASE + i * 64 * MT_MIB;
}

static void by(const char *caller, const char *innermost)
{
    mt_build_on(builder, 0, 1, mt_build_stack(builder, "/u/t.py:1 main", caller, innermost, NULL));
}

static void forward(void)
{
    by(TORCH "nn/modules/module.py:1787 Module._call_impl", "/u/t.py:2 Net.forward");
    mt_build_alloc(builder, place(100), 512);
    mt_build_free(builder, place(100));
}

/* It makes so many blocks that outlive it, if any, and one that does not. */
static void backward(unsigned keeps, unsigned first)
{
    by(TORCH "autograd/__init__.py:353 backward", TORCH "autograd/graph.py:1 _engine_run_backward");
    mt_build_alloc(builder, place(100), 2 * MT_MIB);
    for (unsigned i = 0; i < keeps; i++)
        mt_build_alloc(builder, place(first + i), 4 * MT_MIB);
    mt_build_free(builder, place(100));
}

/* Of all devices' blocks at a moment the one there. */
static enum mt_category category_at(enum mt_moment_kind moment, unsigned i)
{
    struct mt_question question = {.no_labels = 1, .moment = {.kind = moment}};
    if (!analysis.n_devices) {
        mt_build_end(builder);
        mt_analyze(&analysis, builder, &question);
    }
    const struct mt_device *device = mt_analysis_main_device(&analysis);
    for (size_t j = 0; j < device->n_verdicts; j++)
        if (device->verdicts[j].block->address == place(i))
            return device->verdicts[j].rule->category;
    ck_abort_msg("there is no block at %u", i);
    return MT_CATEGORY_OTHER;
}

static enum mt_category category_of(unsigned i)
{
    return category_at(MT_AT_END, i);
}

START_TEST(frames_of_libraries_say_what_is_made)
{
    static const struct {
        const char *caller, *innermost;
        enum mt_category category;
    } rows[] = {
        {TORCH
         "distributed/fsdp/_fully_shard/_fsdp_param_group.py:541 FSDPParamGroup.wait_for_unshard",
         TORCH "distributed/fsdp/_fully_shard/_fsdp_param.py:1393 alloc_storage",
         MT_CATEGORY_PARAMETERS},
        {TORCH "distributed/fsdp/_fully_shard/_fsdp_param.py:889 FSDPParam.init_all_gather_outputs",
         TORCH "distributed/fsdp/_fully_shard/_fsdp_param.py:890 "
               "FSDPParam.init_all_gather_outputs.<locals>.<listcomp>",
         MT_CATEGORY_PARAMETERS},
        {TORCH
         "distributed/fsdp/_flat_param.py:1408 FlatParamHandle._alloc_padded_unsharded_flat_param",
         TORCH "storage.py:1280 TypedStorage._resize_", MT_CATEGORY_PARAMETERS},
        {TORCH "distributed/fsdp/_fully_shard/_fsdp_collectives.py:9 foreach_all_gather",
         TORCH "distributed/fsdp/_fully_shard/_fsdp_collectives.py:3 allocate",
         MT_CATEGORY_COMMUNICATION},
        {ZERO "stage_1_and_2.py:505 DeepSpeedZeroOptimizer.__init__",
         TORCH "_utils.py:612 _flatten_dense_tensors", MT_CATEGORY_PARAMETERS},
        {PACKAGES "deepspeed/runtime/engine.py:3516 DeepSpeedEngine._take_model_step",
         ZERO "stage_1_and_2.py:3118 DeepSpeedZeroOptimizer.step", MT_CATEGORY_GRADIENTS},
        {ZERO "stage3.py:763 DeepSpeedZeroOptimizer_Stage3._setup_for_real_optimizer",
         ZERO "stage3.py:1172 DeepSpeedZeroOptimizer_Stage3._create_fp32_partitions",
         MT_CATEGORY_OPTIMIZER_STATE},
        {ZERO "stage3.py:757 DeepSpeedZeroOptimizer_Stage3.__init__",
         ZERO "stage3.py:950 DeepSpeedZeroOptimizer_Stage3."
              "_create_fp16_partitions_with_defragmentation",
         MT_CATEGORY_PARAMETERS},
        {PACKAGES "deepspeed/runtime/engine.py:1900 DeepSpeedEngine._configure_zero_optimizer",
         ZERO "stage_1_and_2.py:560 DeepSpeedZeroOptimizer.__init__", MT_CATEGORY_OPTIMIZER_STATE},
        {ZERO "stage_1_and_2.py:505 DeepSpeedZeroOptimizer.__init__",
         ZERO "stage_1_and_2.py:1399 DeepSpeedZeroOptimizer.flatten_dense_tensors_aligned",
         MT_CATEGORY_PARAMETERS},
        {ZERO "stage3.py:499 DeepSpeedZeroOptimizer_Stage3.__init__",
         ZERO "stage3.py:791 DeepSpeedZeroOptimizer_Stage3._setup_for_real_optimizer",
         MT_CATEGORY_GRADIENTS},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        by(rows[i].caller, rows[i].innermost);
        mt_build_alloc(builder, place(i), 4 * MT_MIB);
    }
    forward();
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(category_of(i) == rows[i].category, "%s", rows[i].innermost);
}
END_TEST

/* Blocks 0 to 2 are parameters, 3 a buffer. What an RNN's weights become, is made by a function of
 * its own. */
static void move_module(void)
{
    mt_build_on(builder, 0, 1,
                mt_build_stack(builder, TORCH "nn/modules/module.py:936 Module._apply",
                               TORCH "nn/modules/rnn.py:200 RNNBase._apply",
                               TORCH "nn/modules/rnn.py:250 RNNBase.flatten_parameters", NULL));
    mt_build_alloc(builder, place(9), 4 * MT_MIB);
    for (unsigned i = 0; i < 4; i++) {
        by(i < 3 ? TORCH "nn/modules/module.py:966 Module._apply"
                 : TORCH "nn/modules/module.py:1036 Module._apply",
           TORCH "nn/modules/module.py:1156 Module.cuda.<locals>.<lambda>");
        mt_build_alloc(builder, place(i), 4 * MT_MIB);
    }
}

START_TEST(buffers_are_moved_by_a_line_of_their_own)
{
    move_module();
    forward();
    for (unsigned i = 0; i < 3; i++)
        ck_assert_int_eq(category_of(i), MT_CATEGORY_PARAMETERS);
    ck_assert_int_eq(category_of(9), MT_CATEGORY_PARAMETERS);
    ck_assert_int_eq(category_of(3), MT_CATEGORY_BUFFERS);
}
END_TEST

/* 4: a bucket of DDP's; 5, 6: what the program made, as large as all parameters. */
static void train(unsigned keeps)
{
    move_module();
    by(TORCH "nn/parallel/distributed.py:900 DistributedDataParallel.__init__",
       TORCH "nn/parallel/distributed.py:1200 DistributedDataParallel._ddp_init_helper");
    mt_build_alloc(builder, place(4), 16 * MT_MIB);
    mt_build_on(builder, 0, 1, mt_build_stack(builder, "/u/t.py:7 main", NULL));
    mt_build_alloc(builder, place(5), 16 * MT_MIB);
    mt_build_alloc(builder, place(6), 16 * MT_MIB);
    for (unsigned i = 0; i < 4; i++) {
        forward();
        backward(i == 3 ? keeps : 0, 16);
    }
    forward();
}

START_TEST(where_backward_keeps_none_gradients_have_memory_of_before)
{
    train(0);
    ck_assert_int_eq(category_of(4), MT_CATEGORY_GRADIENTS);
    ck_assert_int_eq(category_of(5), MT_CATEGORY_GRADIENTS);
    ck_assert_int_eq(category_of(6), MT_CATEGORY_OPTIMIZER_STATE);
}
END_TEST

START_TEST(where_backward_keeps_gradients_buckets_are_communication)
{
    train(3);
    ck_assert_int_eq(category_of(4), MT_CATEGORY_COMMUNICATION);
    ck_assert_int_eq(category_of(5), MT_CATEGORY_OPTIMIZER_STATE);
    ck_assert_int_eq(category_of(6), MT_CATEGORY_OPTIMIZER_STATE);
    ck_assert_int_eq(category_of(16), MT_CATEGORY_GRADIENTS);
}
END_TEST

/* Copies of all parameters: where they are made says for what. */
START_TEST(copies_that_are_made_after_backward_are_put_aside)
{
    move_module();
    for (unsigned i = 0; i < 3; i++) {
        forward();
        backward(3, 11 + 3 * i);
    }
    mt_build_on(builder, 0, 1, mt_build_stack(builder, "/u/t.py:9 main", NULL));
    for (unsigned i = 0; i < 3; i++)
        mt_build_alloc(builder, place(30 + i), 4 * MT_MIB);
    forward();
    backward(0, 0);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_int_eq(category_of(30 + i), MT_CATEGORY_OPTIMIZER_STATE);
}
END_TEST

/* Without an optimizer's class: what the step leaves behind, of any size. A batch that is fetched
 * ahead, is there in two backwards. */
START_TEST(what_a_step_by_hand_leaves_is_state)
{
    move_module();
    forward();
    backward(3, 11);
    mt_build_on(builder, 0, 1, mt_build_stack(builder, "/u/t.py:9 step", NULL));
    mt_build_alloc(builder, place(30), MT_MIB);
    for (unsigned i = 1; i < 4; i++) {
        forward();
        backward(3, 11 + 3 * i);
        mt_build_on(builder, 0, 1, mt_build_stack(builder, "/u/t.py:12 main", NULL));
        mt_build_alloc(builder, place(30 + i), MT_MIB);
    }
    ck_assert_int_eq(category_of(30), MT_CATEGORY_OPTIMIZER_STATE);
    ck_assert_int_eq(category_of(31), MT_CATEGORY_INPUTS);
}
END_TEST

/* Iterations, before which the program made blocks of its own at 30 and 31. Return the stack. */
static uint32_t keep(const char *caller, const char *innermost, uint64_t bytes)
{
    uint32_t stack = mt_build_stack(builder, "/u/t.py:1 main", caller, innermost, NULL);
    move_module();
    mt_build_on(builder, 0, 1, stack);
    mt_build_alloc(builder, place(30), bytes);
    mt_build_alloc(builder, place(31), 9 * MT_MIB);
    for (unsigned i = 0; i < 4; i++) {
        forward();
        backward(3, 11 + 3 * i);
    }
    return stack;
}

START_TEST(what_a_checkpoint_holds_of_a_parameters_size_is_a_copy)
{
    keep(TORCH "serialization.py:1530 load", TORCH "_utils.py:100 _cuda", 4 * MT_MIB);
    ck_assert_int_eq(category_of(30), MT_CATEGORY_COPIES);
    ck_assert_int_ne(category_of(31), MT_CATEGORY_COPIES);
}
END_TEST

START_TEST(what_is_deeply_copied_of_a_parameters_size_is_a_copy)
{
    keep("/v/lib/python3.11/copy.py:128 deepcopy", TORCH "_tensor.py:100 Tensor.__deepcopy__",
         4 * MT_MIB);
    ck_assert_int_eq(category_of(30), MT_CATEGORY_COPIES);
    ck_assert_int_ne(category_of(31), MT_CATEGORY_COPIES);
}
END_TEST

static void cache_cast(const char *function)
{
    move_module();
    by(TORCH "nn/modules/module.py:1787 Module._call_impl", "/u/t.py:2 Net.forward");
    mt_build_alloc(builder, place(40), 64 * MT_MIB);
    by("/u/t.py:5 evaluate", function);
    mt_build_free(builder, place(40));
    forward();
}

START_TEST(what_autocast_drops_is_a_copy)
{
    cache_cast(TORCH "amp/autocast_mode.py:400 autocast.__exit__");
    ck_assert_int_eq(category_at(MT_AT_PEAK, 40), MT_CATEGORY_COPIES);
}
END_TEST

START_TEST(what_the_program_drops_is_no_copy_of_autocasts)
{
    cache_cast("/u/t.py:6 drop");
    ck_assert_int_ne(category_at(MT_AT_PEAK, 40), MT_CATEGORY_COPIES);
}
END_TEST

START_TEST(what_is_there_before_the_first_forward_and_stays_is_persistent)
{
    keep("/u/t.py:7 main", "/u/t.py:8 make_store", MT_MIB);
    ck_assert_int_eq(category_of(30), MT_CATEGORY_PERSISTENT);
}
END_TEST

/* The program keeps its first batch, and no other one. */
START_TEST(what_a_line_makes_for_each_forward_is_a_batch)
{
    uint32_t stack = keep("/u/t.py:7 main", "/u/t.py:8 load", MT_MIB);
    mt_build_on(builder, 0, 1, stack);
    mt_build_alloc(builder, place(32), MT_MIB);
    forward();
    mt_build_on(builder, 0, 1, stack);
    mt_build_free(builder, place(32));
    ck_assert_int_eq(category_of(30), MT_CATEGORY_INPUTS);
}
END_TEST

START_TEST(without_stack_and_label_there_is_no_category)
{
    move_module();
    forward();
    mt_build_on(builder, 0, 1, 0);
    mt_build_alloc(builder, place(30), MT_MIB);
    forward();
    backward(3, 11);
    mt_build_on(builder, 0, 1, 0);
    mt_build_alloc(builder, place(31), MT_MIB);
    forward();
    ck_assert_int_eq(category_of(30), MT_CATEGORY_OTHER);
    ck_assert_int_eq(category_of(31), MT_CATEGORY_OTHER);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("unlabelled");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, frames_of_libraries_say_what_is_made);
    tcase_add_test(tests, buffers_are_moved_by_a_line_of_their_own);
    tcase_add_test(tests, where_backward_keeps_none_gradients_have_memory_of_before);
    tcase_add_test(tests, where_backward_keeps_gradients_buckets_are_communication);
    tcase_add_test(tests, copies_that_are_made_after_backward_are_put_aside);
    tcase_add_test(tests, what_a_step_by_hand_leaves_is_state);
    tcase_add_test(tests, what_a_checkpoint_holds_of_a_parameters_size_is_a_copy);
    tcase_add_test(tests, what_is_deeply_copied_of_a_parameters_size_is_a_copy);
    tcase_add_test(tests, what_autocast_drops_is_a_copy);
    tcase_add_test(tests, what_the_program_drops_is_no_copy_of_autocasts);
    tcase_add_test(tests, what_is_there_before_the_first_forward_and_stays_is_persistent);
    tcase_add_test(tests, what_a_line_makes_for_each_forward_is_a_batch);
    tcase_add_test(tests, without_stack_and_label_there_is_no_category);
    return RUN_TESTS(tests);
}
