/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of holders, and the tree of what they hold. */
#include "analyzer/holders/holder-words.h"
#include "device-fixture.h"
#include "scenarios.h"
#include "tests/support/run-tests.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BASE 0x7f0000000000ull

static struct mt_holder_tree tree;
static char text[MT_HOLDER_TEXT];

static void end_tree(void)
{
    mt_holder_tree_clear(&tree);
    end();
}

/* Adds a block at the next address, and its holder to the list that `close_list` ends. */
static uint64_t next = BASE;
static struct {
    uint64_t address;
    const char *path;
    enum mt_holder_root root;
} waiting[64];
static unsigned n_waiting;

static uint64_t block(uint64_t bytes)
{
    uint64_t address = next;
    next += 64 * MT_MIB;
    mt_build_on(builder, 0, 1, mt_build_stack(builder, "/u/t.py:7 main", NULL));
    mt_build_alloc(builder, address, bytes);
    return address;
}

static void held(uint64_t address, const char *path)
{
    waiting[n_waiting].address = address;
    waiting[n_waiting].root = MT_HOLDER_GLOBAL;
    waiting[n_waiting++].path = path;
}

static void close_list(unsigned events_ago)
{
    for (unsigned i = 0; i < n_waiting; i++)
        mt_build_event4(builder, MT_HOLDER, waiting[i].address,
                        mt_build_string(builder, waiting[i].path), waiting[i].root, 0);
    mt_build_event4(builder, MT_HOLDERS, MT_HOLDERS_REQUESTED, MT_HOLDERS_COMPLETE, 7,
                    (n_waiting + 1 + events_ago) * 1000000ull - 500000);
    n_waiting = 0;
}

static const struct mt_device *build_tree(void)
{
    mt_build_end(builder);
    const struct mt_device *device = analyze();
    ck_assert_int_eq(mt_held_tree(&tree, device, device->verdicts, device->n_verdicts), 0);
    return device;
}

static const char *run(size_t at)
{
    return mt_holder_run_text(text, sizeof text, &tree, at, mt_holder_run_end(&tree, at));
}

START_TEST(steps_that_paths_share_are_one)
{
    held(block(8 * MT_MIB), "local variable `a` of f()\n.x\n.data");
    held(block(4 * MT_MIB), "local variable `a` of f()\n.x\n.grad");
    held(block(2 * MT_MIB), "local variable `a` of f()\n.y");
    held(block(1 * MT_MIB), "local variable `ab` of f()");
    close_list(0);
    build_tree();
    ck_assert_uint_eq(tree.bytes, 15 * MT_MIB);
    ck_assert_uint_eq(tree.n, 6);
    ck_assert_str_eq(run(0), "local variable `a` of f()");
    ck_assert_uint_eq(tree.step[0].bytes, 14 * MT_MIB);
    ck_assert_uint_eq(tree.step[0].blocks, 3);
    ck_assert_str_eq(run(1), ".x");
    ck_assert_uint_eq(tree.step[1].bytes, 12 * MT_MIB);
    ck_assert_str_eq(run(2), ".data");
    ck_assert_str_eq(run(4), ".y");
    ck_assert_str_eq(run(5), "local variable `ab` of f()");
    ck_assert_uint_eq(tree.step[5].own, MT_MIB);
}
END_TEST

START_TEST(elements_are_one_step)
{
    held(block(MT_MIB), "global `l`\n[0]\n.grad_fn\nsaved by MulBackward0");
    held(block(MT_MIB), "global `l`\n[2]\n.grad_fn\nsaved by MulBackward0");
    held(block(MT_MIB), "global `l`\n[1]\n.grad_fn\nsaved by MulBackward0");
    held(block(MT_MIB), "global `d`\n['10']");
    held(block(MT_MIB), "global `d`\n['12']");
    held(block(MT_MIB / 2), "global `e`\n['loss']");
    held(block(MT_MIB / 4), "global `f`\n[18446744073709551616]");
    close_list(0);
    build_tree();
    ck_assert_str_eq(run(0), "global `l` -> [0..2].grad_fn -> saved by MulBackward0");
    ck_assert_uint_eq(tree.step[3].blocks, 3);
    ck_assert_str_eq(run(4), "global `d` -> ['10'..'12', 2 of these]");
    ck_assert_str_eq(run(6), "global `e` -> ['loss']");
    ck_assert_str_eq(run(8), "global `f` -> [18446744073709551616]");
}
END_TEST

/* What several paths lead to is freed only where they part, or above. */
START_TEST(only_here_is_what_has_no_other_path)
{
    uint64_t twice = block(8 * MT_MIB), shared = block(4 * MT_MIB);
    held(twice, "global `a`");
    held(twice, "global `b`\n.x");
    held(shared, "global `a`\n.x\n.y");
    held(shared, "global `a`\n.z");
    close_list(0);
    build_tree();
    ck_assert_uint_eq(tree.step[0].bytes, 12 * MT_MIB);
    ck_assert_uint_eq(tree.step[0].only, 4 * MT_MIB);
    ck_assert_str_eq(run(1), ".x.y");
    ck_assert_uint_eq(tree.step[1].only, 0);
}
END_TEST

START_TEST(paths_that_are_none_still_count)
{
    static char deep[2 * 1000 + 1], none[] = "\n\n";
    for (unsigned i = 0; i < 1000; i++)
        memcpy(deep + 2 * (size_t)i, "a\n", 3);
    held(block(4 * MT_MIB), deep);
    held(block(2 * MT_MIB), none);
    held(block(1 * MT_MIB), "");
    close_list(0);
    build_tree();
    ck_assert_uint_eq(tree.bytes, 7 * MT_MIB);
    ck_assert_uint_eq(tree.n, MT_HOLDER_DEPTH + 1);
    ck_assert_uint_eq(tree.step[MT_HOLDER_DEPTH - 1].length, 3);
    ck_assert_uint_eq(tree.step[MT_HOLDER_DEPTH].bytes, 3 * MT_MIB);
    ck_assert_str_eq(run(MT_HOLDER_DEPTH), "?");
}
END_TEST

/* The list of what was live is read after some of it is freed, and its addresses are used again. */
START_TEST(a_list_is_of_its_moment)
{
    uint64_t stays = block(8 * MT_MIB), goes = block(4 * MT_MIB);
    held(stays, "global `stays`");
    held(goes, "global `goes`");
    mt_build_free(builder, goes);
    mt_build_on(builder, 0, 1, mt_build_stack(builder, "/u/t.py:9 main", NULL));
    mt_build_alloc(builder, goes, 16 * MT_MIB);
    close_list(2);
    const struct mt_device *device = build_tree();
    ck_assert_uint_eq(device->at.allocated, 24 * MT_MIB);
    ck_assert_uint_eq(tree.n, 1);
    ck_assert_str_eq(run(0), "global `stays`");
    mt_analysis_destroy(&analysis);
    mt_holder_tree_clear(&tree);
    question.moment.kind = MT_AT_HOLDERS;
    device = analyze();
    ck_assert_uint_eq(device->at.allocated, 12 * MT_MIB);
    ck_assert_int_eq(mt_held_tree(&tree, device, device->verdicts, device->n_verdicts), 0);
    ck_assert_uint_eq(tree.n, 2);
    ck_assert_str_eq(run(1), "global `goes`");
}
END_TEST

/* The peak's blocks have the holders of a later list, unless they were freed before it. */
START_TEST(the_nearest_list_counts)
{
    uint64_t early = block(8 * MT_MIB);
    held(early, "global `old`");
    close_list(0);
    uint64_t peak = block(32 * MT_MIB), freed = block(64 * MT_MIB);
    mt_build_free(builder, freed);
    held(early, "global `new`");
    held(peak, "global `peak`");
    held(freed, "global `wrong`");
    close_list(0);
    build_tree();
    ck_assert_uint_eq(tree.n, 2);
    ck_assert_str_eq(run(0), "global `peak`");
    ck_assert_str_eq(run(1), "global `new`");
}
END_TEST

START_TEST(of_many_lists_the_last_are_kept)
{
    uint64_t address = block(8 * MT_MIB);
    char path[32];
    for (unsigned i = 0; i < 2 * MT_HOLDER_LISTS; i++) {
        snprintf(path, sizeof path, "global `a%u`", i);
        held(address, path);
        close_list(0);
    }
    question.moment = (struct mt_moment){MT_AT_END, 0};
    build_tree();
    const struct mt_holders *holders = &analysis.replay.holders;
    ck_assert_uint_eq(holders->n, MT_HOLDER_LISTS);
    ck_assert_uint_eq(holders->n_ever, 2 * MT_HOLDER_LISTS);
    ck_assert_str_eq(run(0), "global `a31`");
}
END_TEST

START_TEST(growth_names_its_holder)
{
    mt_scenario_held(builder);
    const struct mt_device *device = analyze();
    ck_assert_uint_eq(device->growth.n, 1);
    const struct mt_held_most *most = &device->growth.site[0].held;
    ck_assert_uint_eq(most->blocks, 6);
    ck_assert_uint_eq(most->root, MT_HOLDER_GLOBAL);
    ck_assert_str_eq(mt_held_most_text(text, sizeof text, most, most->bytes),
                     "6 blocks held by global `losses` of module __main__ -> [1..6].grad_fn -> "
                     "saved by MulBackward0");
    ck_assert_str_eq(mt_held_most_text(text, sizeof text, most, most->bytes + 1),
                     "192.00 MiB in 6 blocks held by global `losses` of module __main__ -> "
                     "[1..6].grad_fn -> saved by MulBackward0");
}
END_TEST

int main(void)
{
    TCase *holders = tcase_create("holders");
    tcase_add_checked_fixture(holders, begin, end_tree);
    tcase_add_test(holders, steps_that_paths_share_are_one);
    tcase_add_test(holders, elements_are_one_step);
    tcase_add_test(holders, only_here_is_what_has_no_other_path);
    tcase_add_test(holders, paths_that_are_none_still_count);
    tcase_add_test(holders, a_list_is_of_its_moment);
    tcase_add_test(holders, the_nearest_list_counts);
    tcase_add_test(holders, of_many_lists_the_last_are_kept);
    tcase_add_test(holders, growth_names_its_holder);
    return RUN_TESTS(holders);
}
