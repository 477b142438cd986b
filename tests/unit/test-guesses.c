/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace does not tell of a change (enum mt_guess), and what it tells twice: views of one
 * block, nodes at one address. */
#include "planner/changes/changes.h"
#include "planner/changes/edits.h"
#include "planner/changes/kinds.h"
#include "recorded.h"
#include "tests/support/run-tests.h"

#include <errno.h>
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
static uint32_t softmax, linear, cat, pad, clone, attention, recurrent, distance; /* strings */

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
    softmax = mt_build_string(builder, "N5torch8autograd9generated16SoftmaxBackward0E");
    linear = mt_build_string(builder, "N5torch8autograd9generated11MmBackward0E");
    distance = mt_build_string(builder, "N5torch8autograd9generated14CdistBackward0E");
    recurrent = mt_build_string(builder, "N5torch8autograd9generated17CudnnRnnBackward0E");
    pad = mt_build_string(builder, "N5torch8autograd9generated22ConstantPadNdBackward0E");
    clone = mt_build_string(builder, "N5torch8autograd9generated14CloneBackward0E");
    attention = mt_build_string(
        builder, "N5torch8autograd9generated43ScaledDotProductEfficientAttentionBackward0E");
    cat = mt_build_string(builder, "N5torch8autograd9generated12CatBackward0E");
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

/* Return the bytes that a block has under autocast. */
static uint64_t autocast_size(const struct mt_recorded_block *block)
{
    struct mt_edits edits;
    struct mt_modelled change = {0};
    ck_assert_int_eq(mt_edits_begin(&edits, &recording), 0);
    ck_assert_int_eq(mt_change_apply(&edits, "precision:autocast", &change), 0);
    uint64_t size = edits.block[block - recording.block].size;
    mt_edits_clear(&edits);
    return size;
}

/* Return the node that ran in the newest step. */
static struct mt_recorded_node *newest_node(void)
{
    return &recording.node[recording.n_nodes - 1];
}

/* A node gives up what it saved before gradients are added up, and so the copy. */
START_TEST(copies_end_as_the_node_gives_them_up)
{
    unsigned guesses;
    mt_recorded_at(&recording, recording.save[newest_node()->first_save])->end =
        newest_node()->begin + 1;
    ck_assert_double_eq(peak("offload:activations", 0, &guesses), 66 - 24);
}
END_TEST

/* The program's variable holds it: it stays, and its node has a copy besides. */
START_TEST(what_the_program_holds_is_not_offloaded)
{
    unsigned guesses;
    mt_recorded_at(&recording, recording.save[newest_node()->first_save])->end =
        recording.step[1].end;
    ck_assert_double_eq(peak("offload:activations", 0, &guesses), 66);
}
END_TEST

/* What is put side by side has the type of its parts, which are smaller. */
START_TEST(parts_show_the_type_of_the_whole)
{
    struct mt_recorded_block *part[3];
    for (size_t i = 0; i < 3; i++)
        part[i] = mt_recorded_at(&recording, recording.node[i].output);
    recording.node[1].name = recording.node[0].name;
    part[1]->output_of = part[0]->output_of;
    part[0]->end = MT_EVER;
    part[2]->size = 8 * MIB;
    recording.node[2].name = cat;
    recording.node[2].n_saves = 0;
    ck_assert_uint_eq(autocast_size(part[2]), 4 * MIB);
    part[0]->output_of = 0; /* unknown: it may have 32 bits */
    ck_assert_uint_eq(autocast_size(part[2]), 8 * MIB);
}
END_TEST

/* What cuDNN keeps of a recurrent network is bytes, and of the network's type. */
START_TEST(reserves_have_the_type_of_their_network)
{
    struct mt_recorded_block *reserve =
        mt_recorded_at(&recording, recording.save[newest_node()->first_save]);
    reserve->dtype = 1;
    ck_assert_uint_eq(autocast_size(reserve), 16 * MIB);
    newest_node()->name = recurrent;
    ck_assert_uint_eq(autocast_size(reserve), 8 * MIB);
}
END_TEST

/* What is padded has the type of what was there. */
START_TEST(padding_keeps_the_type)
{
    struct mt_recorded_block *part = mt_recorded_at(&recording, recording.node[1].output),
                             *whole = mt_recorded_at(&recording, recording.node[2].output);
    recording.node[1].name = recording.node[0].name;
    part->output_of = recording.node[0].name;
    recording.node[2].name = pad;
    recording.node[2].n_saves = 0;
    whole->size = 8 * MIB;
    ck_assert_uint_eq(autocast_size(whole), 4 * MIB);
    part->output_of = 0; /* nothing is padded that is known */
    ck_assert_uint_eq(autocast_size(whole), 8 * MIB);
}
END_TEST

/* Flash attention lays its output out as its queries, where no mask is saved. */
START_TEST(copies_of_attention_go)
{
    const struct mt_recorded_block *copy = mt_recorded_at(&recording, recording.node[2].output);
    recording.node[1].name = attention;
    recording.node[2].name = clone;
    recording.node[2].n_saves = 0;
    ck_assert_uint_eq(autocast_size(copy), 0);
    recording.node[1].n_saves = 6;
    recording.node[1].first_save = 0;
    ck_assert_uint_gt(autocast_size(copy), 0);
}
END_TEST

/* A product's node saved a slice of 16 MiB: the slice's gradient has 8. One that is as large as the
 * weight is the weight's. MmBackward makes the weight's first. */
START_TEST(slices_are_as_large_as_their_gradient)
{
    struct mt_edits edits;
    struct mt_recorded_node *node = newest_node();
    const struct mt_recorded_block *block =
        mt_recorded_at(&recording, recording.save[node->first_save]);
    uint64_t made = block->begin;
    ck_assert_int_eq(mt_edits_begin(&edits, &recording), 0);
    ck_assert_uint_eq(mt_saved_bytes(&edits, node, block), 16 * MIB);
    recording.save[node->first_save + 1] = recording.block[0].begin; /* the weight */
    ck_assert_uint_eq(mt_saved_bytes(&edits, node, block), 16 * MIB);
    recording.block[0].size = 12 * MIB;
    ck_assert_uint_eq(mt_saved_bytes(&edits, node, block), 8 * MIB);
    mt_edits_clear(&edits);
    for (size_t i = 0; i < recording.n; i++)
        if (recording.block[i].size == 2 * MIB)
            recording.block[i].begin = node->end - 1;
    mt_recording_sort(&recording);
    block = mt_recorded_at(&recording, made);
    ck_assert_int_eq(mt_edits_begin(&edits, &recording), 0);
    ck_assert_uint_eq(mt_saved_bytes(&edits, node, block), 8 * MIB);
    node->name = linear;
    ck_assert_uint_eq(mt_saved_bytes(&edits, node, block), 2 * MIB);
    mt_edits_clear(&edits);
}
END_TEST

/* The bias's gradient comes last, and is small. */
START_TEST(sums_of_biases_follow_the_products)
{
    struct mt_recorded_node *node = newest_node();
    ck_assert_uint_eq(mt_sum_begins(&recording, node), MT_EVER);
    for (size_t i = 0; i < recording.n; i++)
        if (recording.block[i].size == 2 * MIB) {
            recording.block[i].size = MIB;
            recording.block[i].begin = node->end - 1;
        }
    mt_recording_sort(&recording);
    ck_assert_uint_eq(mt_sum_begins(&recording, node), node->end - 1);
}
END_TEST

/* Only a node's run in backward names its operator: before one, nothing is known to be linear. */
START_TEST(adapters_need_names)
{
    struct mt_edits edits;
    struct mt_modelled change = {0};
    for (size_t i = 0; i < recording.n_nodes; i++)
        recording.node[i].name = 0;
    ck_assert_int_eq(mt_edits_begin(&edits, &recording), 0);
    ck_assert_int_eq(mt_change_apply(&edits, "lora:16", &change), -ENOENT);
    ck_assert_str_eq(change.why_not, "no backward was recorded, so operators are unknown");
    mt_edits_clear(&edits);
}
END_TEST

/* Before any backward the sizes show a linear layer: 4096 rows * 1024, 1024 * 2048, 4096 * 2048. */
START_TEST(sizes_show_a_product)
{
    struct mt_recorded_node *node = newest_node();
    struct mt_recorded_block *output = mt_recorded_at(&recording, node->output);
    const struct mt_recorded_block *input =
        mt_recorded_at(&recording, recording.save[node->first_save]);
    for (size_t i = 0; i < recording.n_nodes; i++)
        recording.node[i].name = 0;
    recording.save[node->first_save + 1] = recording.block[0].begin; /* the weight, 8 MiB */
    for (uint64_t mib = 4; mib <= 32; mib += 28) {
        struct mt_of_batch of;
        output->size = mib * MIB;
        ck_assert_int_eq(mt_of_batch_find(&of, &recording), 0);
        ck_assert_int_eq(mt_is_of_batch(&of, input), mib == 32);
        ck_assert_int_eq(mt_is_of_batch(&of, output), mib == 32);
        mt_of_batch_clear(&of);
    }
}
END_TEST

/* Of a weight that a forward uses twice autocast makes one copy. */
START_TEST(a_weight_is_cast_once)
{
    struct mt_edits edits;
    struct mt_modelled change = {0};
    for (size_t i = 0; i < 3; i++) {
        recording.save[recording.node[i].first_save] = recording.block[0].begin;
        recording.node[i].n_saves = 1;
    }
    recording.node[0].end = recording.node[2].end;
    ck_assert_int_eq(mt_edits_begin(&edits, &recording), 0);
    ck_assert_int_eq(mt_change_apply(&edits, "precision:autocast", &change), 0);
    unsigned copies = 0;
    for (size_t i = recording.n; i < edits.n; i++)
        copies += edits.block[i].as == MT_ADDED_SAVED && edits.block[i].size == 4 * MIB;
    ck_assert_uint_eq(copies, 1);
    mt_edits_clear(&edits);
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

/* A product of a weight has a bound; one of two activations, as of each with each other one of a
 * batch, has none: it may grow with the square of the batch. */
START_TEST(products_of_activations_have_no_bound)
{
    struct mt_modelled change;
    ck_assert_int_eq(mt_modelled_of(&change, &recording, "batch:2"), 0);
    ck_assert(!change.is_untried);
    for (size_t i = 0; i < recording.n_nodes; i++)
        recording.save[recording.node[i].first_save + 1] = recording.node[i].output;
    ck_assert_int_eq(mt_modelled_of(&change, &recording, "batch:2"), 0);
    ck_assert(change.is_untried);
    ck_assert_int_eq(mt_modelled_of(&change, &recording, "sequence:1/2"), 0);
    ck_assert_ptr_nonnull(change.why_not);
    ck_assert_int_eq(mt_modelled_of(&change, &recording, "optimizer:sgd"), 0);
    ck_assert(!change.is_untried);
}
END_TEST

/* Return the bytes that a block has with twice the batch, without some guesses. */
static uint64_t doubled_size(const struct mt_recorded_block *block, unsigned without)
{
    struct mt_edits edits;
    struct mt_modelled change = {0};
    ck_assert_int_eq(mt_edits_begin(&edits, &recording), 0);
    edits.without = without;
    ck_assert_int_eq(mt_change_apply(&edits, "batch:2", &change), 0);
    uint64_t size = edits.block[block - recording.block].size;
    mt_edits_clear(&edits);
    return size;
}

/* A product of rows with these rows, or distances, have an element for each pair, if what goes
 * through weights has not as many: these have 4 MiB. */
START_TEST(pairs_grow_with_the_square)
{
    struct mt_recorded_block *output = mt_recorded_at(&recording, newest_node()->output);
    newest_node()->name = _i ? distance : linear;
    ck_assert_uint_eq(doubled_size(output, 0), 8 * MIB);
    output->size = 8 * MIB;
    ck_assert_uint_eq(doubled_size(output, 0), 32 * MIB);
    ck_assert_uint_eq(doubled_size(output, MT_GUESS_OTHERS), 8 * MIB);
    output->dtype = 0; /* pairs of 4 bytes, or rows of 8 */
    ck_assert_uint_eq(doubled_size(output, 0), 32 * MIB);
}
END_TEST

/* Make rows and scores of both steps of training, of so many MiB. */
static void make_scores(const unsigned mib[4])
{
    struct mt_recorded_block *of[4] = {0};
    unsigned n = 0;
    for (size_t i = 0; i < recording.n_nodes; i++)
        if (recording.node[i].begin) {
            struct mt_recorded_block *out = mt_recorded_at(&recording, recording.node[i].output);
            recording.node[i].name = softmax;
            of[n++] = out - 1;
            of[n++] = out;
        }
    ck_assert_uint_eq(n, 4);
    for (n = 0; n < 4; n++) {
        of[n]->size = mib[n] * MIB;
        of[n]->output_of = n % 2 ? softmax : linear;
        of[n]->module = of[0]->module;
    }
}

/* What a softmax makes grows with the square of the length, but within windows as rows do: two
 * recorded lengths tell, one does not. */
START_TEST(lengths_show_how_scores_grow)
{
    static const struct {
        unsigned mib[4];
        bool is_known;
    } cases[] = {{{32, 12, 32, 12}, false}, {{64, 48, 32, 12}, true}, {{64, 24, 32, 12}, true}};
    unsigned guesses, unused;
    make_scores(cases[_i].mib);
    double square = peak("sequence:1/2", 0, &guesses);
    double rows = peak("sequence:1/2", MT_GUESS_SCORES, &unused);
    ck_assert_int_eq((guesses & MT_GUESS_SCORES) != 0, !cases[_i].is_known);
    ck_assert_int_eq(rows > square, !cases[_i].is_known);
}
END_TEST

int main(void)
{
    TCase *test = tcase_create("guesses");
    tcase_add_checked_fixture(test, begin, end);
    tcase_add_test(test, evaluations_may_not_be_checkpointed);
    tcase_add_test(test, stores_may_not_be_of_the_batch);
    tcase_add_test(test, views_of_one_block_count_once);
    tcase_add_test(test, copies_end_as_the_node_gives_them_up);
    tcase_add_test(test, what_the_program_holds_is_not_offloaded);
    tcase_add_test(test, parts_show_the_type_of_the_whole);
    tcase_add_test(test, reserves_have_the_type_of_their_network);
    tcase_add_test(test, padding_keeps_the_type);
    tcase_add_test(test, copies_of_attention_go);
    tcase_add_test(test, slices_are_as_large_as_their_gradient);
    tcase_add_test(test, sums_of_biases_follow_the_products);
    tcase_add_test(test, adapters_need_names);
    tcase_add_test(test, sizes_show_a_product);
    tcase_add_test(test, a_weight_is_cast_once);
    tcase_add_test(test, a_node_keeps_its_own_run);
    tcase_add_test(test, products_of_activations_have_no_bound);
    tcase_add_loop_test(test, pairs_grow_with_the_square, 0, 2);
    tcase_add_loop_test(test, lengths_show_how_scores_grow, 0, 3);
    return RUN_TESTS(test);
}
