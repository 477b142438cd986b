/* SPDX-License-Identifier: Apache-2.0 */
/* torch.nn modules as a tree: what each has with all its parts, layers that are alike, deep names.
 */
#include "analyzed.h"
#include "analyzer/query/module-tree.h"
#include "scenarios.h"
#include "tests/support/run-tests.h"

#include <string.h>

static struct mt_builder *builder;
static struct mt_analysis analysis;
static struct mt_question question;
static struct mt_module_tree modules;

static void begin(void)
{
    builder = mt_builder_create();
}

static void end(void)
{
    mt_modules_clear(&modules);
    mt_analysis_destroy(&analysis);
    mt_builder_destroy(builder);
}

static void collect(void)
{
    mt_analyze(&analysis, builder, &question);
    const struct mt_device *device = mt_analysis_main_device(&analysis);
    ck_assert_int_eq(mt_modules_collect(&modules, analysis.replay.definitions, device->verdicts,
                                        device->n_verdicts),
                     0);
}

/* The part with that name. */
static uint32_t part(uint32_t of, const char *name)
{
    uint32_t at = modules.tree.node[of].first;
    while (at && strcmp(mt_tree_name(&modules.tree, at), name))
        at = modules.tree.node[at].next;
    return at;
}

#define NODE_OF(at) modules.tree.node[at]
#define FACTS_OF(at) modules.facts[at]

START_TEST(layers_that_are_alike_are_one)
{
    mt_scenario_layers(builder);
    collect();
    uint32_t layers = part(part(MT_TREE_ROOT, "Net"), "layers");
    uint32_t first = part(layers, "0");
    ck_assert_uint_eq(FACTS_OF(first).last, 1);
    ck_assert_uint_eq(NODE_OF(first).bytes, 2 * (MT_MIB + 320 * MT_KIB));
    ck_assert_uint_eq(NODE_OF(first).blocks, 6);
    ck_assert_uint_eq(NODE_OF(part(first, "fc")).bytes, 2 * (MT_MIB + 256 * MT_KIB));
    ck_assert_uint_eq(FACTS_OF(part(first, "norm")).category[MT_CATEGORY_ACTIVATIONS],
                      2 * 64 * MT_KIB);
    ck_assert_uint_eq(part(layers, "1"), 0);
    ck_assert_uint_eq(FACTS_OF(part(layers, "2")).last, 0);
    ck_assert_uint_eq(NODE_OF(part(part(layers, "2"), "fc")).bytes, 2 * MT_MIB + 256 * MT_KIB);
    ck_assert_uint_eq(FACTS_OF(part(part(layers, "3"), "fc")).category[MT_CATEGORY_GRADIENTS],
                      256 * MT_KIB);
    ck_assert_uint_eq(NODE_OF(part(MT_TREE_ROOT, "CrossEntropyLoss")).bytes, 512);
    ck_assert_uint_eq(modules.unknown, 256 * MT_KIB); /* the optimizer's */
}
END_TEST

/* A block is up to 1 MiB larger than its tensor: 12 layers in one row. What differs by more is not.
 */
START_TEST(layers_that_differ_by_rounding_are_one)
{
    char frame[128];
    uint64_t at = UINT64_C(0x7f0000000000), all = 0;
    for (unsigned i = 0; i < 14; i++) {
        snprintf(frame, sizeof frame,
                 "/v/torch/nn/modules/module.py:1787 Module._call_impl|Net|layers.%u", i);
        mt_build_on(builder, 0, 1, mt_build_stack(builder, frame, NULL));
        uint64_t size = i == 12   ? 4 * MT_MIB + 1536 * MT_KIB /* a larger tensor */
                        : i == 13 ? MT_MIB
                                  : 4 * MT_MIB + (i * 7 % 12) * 64 * MT_KIB;
        mt_build_alloc(builder, at, size);
        mt_build_alloc(builder, at + 8 * MT_MIB, 64 * MT_KIB);
        at += 16 * MT_MIB;
        if (i < 12)
            all += size + 64 * MT_KIB;
    }
    mt_build_end(builder);
    collect();
    uint32_t layers = part(part(MT_TREE_ROOT, "Net"), "layers");
    uint32_t first = part(layers, "0");
    ck_assert_uint_eq(FACTS_OF(first).last, 11);
    ck_assert_uint_eq(NODE_OF(first).blocks, 24);
    ck_assert_uint_eq(NODE_OF(first).bytes, all);
    ck_assert_uint_eq(FACTS_OF(part(layers, "12")).last, 0);
    ck_assert_uint_eq(FACTS_OF(part(layers, "13")).last, 0);
}
END_TEST

/* One for a layer's parameter, and one for all parameters together under the name of one. */
START_TEST(state_is_its_parameters)
{
    enum { STATE = 0x7e0000000000, FLAT = 0x7e0000400000, WEIGHT = 0x7d0000000000 };
    uint32_t call = mt_build_stack(
        builder, "/v/torch/nn/modules/module.py:1787 Module._call_impl|Net|layers.1", NULL);
    uint32_t step = mt_build_stack(
        builder, "/v/torch/optim/optimizer.py:480 Optimizer.profile_hook_step.<locals>.wrapper",
        NULL);
    mt_build_alloc(builder, WEIGHT, 4096);
    mt_build_event4(builder, MT_REQUIRES_GRAD, WEIGHT, 1, 7, 1000);
    mt_build_on(builder, 0, 1, call);
    mt_build_event(builder, MT_LEAF, WEIGHT, 0, 0);
    mt_build_on(builder, 0, 1, step);
    mt_build_alloc(builder, STATE, 4096);
    mt_build_alloc(builder, FLAT, 1 << 20);
    mt_build_on(builder, 0, 1, 0);
    uint32_t name = mt_build_string(builder, "exp_avg");
    mt_build_event4(builder, MT_STATE, STATE, WEIGHT, name, 1000);
    mt_build_event4(builder, MT_STATE, FLAT, WEIGHT, name, 100000);
    mt_build_end(builder);
    collect();
    uint32_t layer = part(part(part(MT_TREE_ROOT, "Net"), "layers"), "1");
    ck_assert_uint_eq(FACTS_OF(layer).category[MT_CATEGORY_OPTIMIZER_STATE], 4096);
    ck_assert_uint_eq(modules.unknown, 1 << 20);
    for (size_t i = 0; i < analysis.devices[0].n_verdicts; i++) {
        const struct mt_verdict *verdict = &analysis.devices[0].verdicts[i];
        if (verdict->block->address != WEIGHT) {
            ck_assert_str_eq(verdict->rule->name, "in an optimizer's state");
            ck_assert_str_eq(mt_string(analysis.replay.definitions, verdict->block->name),
                             "exp_avg");
        }
    }
}
END_TEST

static const char *rule_at(uint64_t address)
{
    for (size_t i = 0; i < analysis.devices[0].n_verdicts; i++)
        if (analysis.devices[0].verdicts[i].block->address == address)
            return analysis.devices[0].verdicts[i].rule->name;
    return "none";
}

/* What a module is seen to have is known at other times by its line and size. */
START_TEST(what_modules_make_anew_is_known_again)
{
    enum { WEIGHT = 0x7d0000000000, FIRST = 0x7d0000400000, NEXT = 0x7d0000800000 };
    uint32_t line =
        mt_build_stack(builder, "/home/user/net.py:10 Net.forward",
                       "/v/torch/nn/modules/module.py:1787 Module._call_impl|Net|", NULL);
    mt_build_alloc(builder, WEIGHT, 4096);
    mt_build_event(builder, MT_MEMBER, WEIGHT, 1, 0);
    mt_build_on(builder, 0, 1, line);
    mt_build_alloc(builder, FIRST, 4096);
    mt_build_event(builder, MT_MEMBER, FIRST, 0, 0);
    mt_build_alloc(builder, NEXT, 4096);
    mt_build_alloc(builder, NEXT + 4096, 8192);
    mt_build_end(builder);
    collect();
    ck_assert_str_eq(rule_at(WEIGHT), "one of a module's parameters");
    ck_assert_str_eq(rule_at(FIRST), "one of a module's buffers");
    ck_assert_str_eq(rule_at(NEXT), "allocated where a module's buffer was before");
    ck_assert_str_eq(rule_at(NEXT + 4096), "allocated in forward, outlived it");
}
END_TEST

/* A task's weights: gradients adapt them, and the module has them for a call. */
START_TEST(what_a_graph_makes_is_no_parameter)
{
    enum { WEIGHT = 0x7d0000000000, ADAPTED = 0x7d0000400000, NODE = 0x5550 };
    mt_build_alloc(builder, WEIGHT, 4096);
    mt_build_event(builder, MT_MEMBER, WEIGHT, 1, 0);
    mt_build_alloc(builder, ADAPTED, 4096);
    mt_build_event(builder, MT_NODE_NEW, NODE, ADAPTED, 0);
    mt_build_event(builder, MT_MEMBER, ADAPTED, 1, 0);
    mt_build_end(builder);
    collect();
    ck_assert_str_eq(rule_at(WEIGHT), "one of a module's parameters");
    ck_assert_str_eq(rule_at(ADAPTED), "has a grad_fn");
}
END_TEST

/* FSDP gives the memory of unsharded parameters back and takes some again. */
START_TEST(storages_stay_what_they_are)
{
    enum { FIRST = 0x7d0000000000, NEXT = 0x7d0000400000, OTHER = 0x7d0000800000 };
    enum { STORAGE = 0x5550, SIZE = 1200000, ROUNDED = 2 << 20 };
    uint32_t line =
        mt_build_stack(builder, "/home/user/net.py:10 Net.forward",
                       "/v/torch/nn/modules/module.py:1787 Module._call_impl|Net|", NULL);
    mt_build_on(builder, 0, 1, line);
    mt_build_alloc(builder, FIRST, ROUNDED);
    mt_build_event(builder, MT_MEMBER, FIRST, 1, 0);
    mt_build_event(builder, MT_RESIZE, FIRST, STORAGE, 0);
    mt_build_free(builder, FIRST);
    mt_build_alloc(builder, FIRST, SIZE); /* somebody else's */
    mt_build_alloc(builder, NEXT, SIZE);
    mt_build_event(builder, MT_RESIZE, NEXT, STORAGE, SIZE);
    mt_build_alloc(builder, OTHER, 8 * SIZE);
    mt_build_event(builder, MT_RESIZE, OTHER, STORAGE, 8 * SIZE); /* another storage at its place */
    mt_build_end(builder);
    collect();
    ck_assert_str_eq(rule_at(FIRST), "allocated in forward, outlived it");
    ck_assert_str_eq(rule_at(NEXT), "one of a module's parameters");
    ck_assert_str_eq(rule_at(OTHER), "allocated in forward, outlived it");
}
END_TEST

/* An optimizer works on a copy of one parameter, or on a flat one of several: state, both. */
START_TEST(masters_are_state)
{
    enum { WEIGHT = 0x7d0000000000, COPY = 0x7d0000400000, FLAT = 0x7d0000800000 };
    mt_build_alloc(builder, WEIGHT, 2048);
    mt_build_event(builder, MT_SET_DATA, WEIGHT, 0, 1000);
    mt_build_alloc(builder, COPY, 4096);
    mt_build_event4(builder, MT_STATE, COPY, COPY, 0, 1000);
    mt_build_alloc(builder, FLAT, 8192);
    mt_build_event4(builder, MT_STATE, FLAT, FLAT, 0, 1999);
    mt_build_end(builder);
    collect();
    ck_assert_str_eq(rule_at(COPY), "updated by an optimizer instead of parameters");
    ck_assert_str_eq(rule_at(FLAT), "updated by an optimizer instead of parameters");
}
END_TEST

START_TEST(names_without_end_are_borne)
{
    char frame[200 + 2 * 100] = "/v/torch/nn/modules/module.py:1787 Module._call_impl|Net|a";
    for (int i = 0; i < 100; i++)
        strcat(frame, ".a");
    mt_build_on(builder, 0, 1, mt_build_stack(builder, frame, NULL));
    mt_build_alloc(builder, 0x7f0000000000, 4096);
    mt_build_end(builder);
    collect();
    uint32_t node = MT_TREE_ROOT;
    unsigned depth = 0;
    for (; modules.tree.node[node].first; node = modules.tree.node[node].first)
        depth++;
    ck_assert_uint_ge(depth, 32);
    ck_assert_uint_le(depth, 100);
    ck_assert_uint_eq(NODE_OF(node).bytes, 4096);
    ck_assert_uint_eq(NODE_OF(MT_TREE_ROOT).bytes, 4096);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("modules");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, layers_that_are_alike_are_one);
    tcase_add_test(tests, layers_that_differ_by_rounding_are_one);
    tcase_add_test(tests, state_is_its_parameters);
    tcase_add_test(tests, what_modules_make_anew_is_known_again);
    tcase_add_test(tests, what_a_graph_makes_is_no_parameter);
    tcase_add_test(tests, storages_stay_what_they_are);
    tcase_add_test(tests, masters_are_state);
    tcase_add_test(tests, names_without_end_are_borne);
    return RUN_TESTS(tests);
}
