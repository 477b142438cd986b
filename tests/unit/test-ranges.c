/* SPDX-License-Identifier: Apache-2.0 */
/* Phases and memory that the program has names for: which are open where, and the most in each. */
#include "analyzed.h"
#include "analyzer/support/glob.h"
#include "scenarios.h"
#include "tests/support/run-tests.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#define BASE 0x7f0000000000ull
#define TORCH "/v/lib/python3.11/site-packages/torch/"

static struct mt_builder *builder;
static struct mt_analysis analysis;
static struct mt_question question;
static unsigned blocks;

static void begin(void)
{
    builder = mt_builder_create();
}

static void end(void)
{
    mt_user_rules_destroy((struct mt_user_rules *)question.rules);
    mt_analysis_destroy(&analysis);
    mt_builder_destroy(builder);
}

static const struct mt_device *analyze(void)
{
    mt_analyze(&analysis, builder, &question);
    return mt_analysis_main_device(&analysis);
}

static void push(const char *name)
{
    mt_build_event(builder, MT_RANGE_PUSH, mt_build_string(builder, name), 0, 0);
}

static void pop(void)
{
    mt_build_event(builder, MT_RANGE_POP, 0, 0, 0);
}

/* The next block, 1 MiB. */
static void make(void)
{
    mt_build_alloc(builder, BASE + blocks++ * MT_MIB, MT_MIB);
}

/* The ranges that the block of this number was made in. */
static const char *made_in(unsigned block)
{
    static char text[256];
    const struct mt_device *device = mt_analysis_main_device(&analysis);
    ck_assert_uint_lt(block, device->n_verdicts);
    mt_range_text(text, sizeof text, analysis.replay.definitions, &analysis.replay.tracker.ranges,
                  device->verdicts[block].block->range);
    return text;
}

static uint64_t most(const char *path)
{
    char text[256];
    const struct mt_ranges *ranges = &analysis.replay.tracker.ranges;
    unsigned slot = mt_device_slot(0);
    for (uint32_t i = 1; i < ranges->device[slot].n; i++) {
        mt_range_text(text, sizeof text, analysis.replay.definitions, ranges, i);
        if (!strcmp(text, path))
            return ranges->device[slot].most[i].bytes;
    }
    return 0;
}

START_TEST(blocks_know_the_ranges_around_them)
{
    make();
    push("step");
    push("forward");
    make();
    pop();
    make();
    pop();
    make();
    analyze();
    ck_assert_str_eq(made_in(0), "no range");
    ck_assert_str_eq(made_in(1), "step > forward");
    ck_assert_str_eq(made_in(2), "step");
    ck_assert_str_eq(made_in(3), "no range");
}
END_TEST

START_TEST(a_domain_closes_its_own)
{
    uint32_t library = mt_build_string(builder, "fft"), plan = mt_build_string(builder, "plan");
    mt_build_event(builder, MT_RANGE_PUSH, plan, library, 0);
    push("step");
    make();
    mt_build_event(builder, MT_RANGE_POP, library, 0, 0);
    make();
    mt_build_event(builder, MT_RANGE_POP, library, 0, 0); /* none is left */
    make();
    analyze();
    ck_assert_str_eq(made_in(0), "fft: plan > step");
    ck_assert_str_eq(made_in(1), "step");
    ck_assert_str_eq(made_in(2), "step");
}
END_TEST

START_TEST(ranges_of_libraries_are_left_out)
{
    uint32_t library = mt_build_string(builder, "NCCL"), plan = mt_build_string(builder, "plan");
    mt_build_event(builder, MT_RANGE_PUSH, plan, library, 0);
    make();
    push("step");
    mt_build_event(builder, MT_RANGE_START, 7, plan, mt_build_string(builder, "CCCL"));
    mt_build_event(builder, MT_RANGE_MARK, plan, library, 0);
    make();
    mt_build_event(builder, MT_RANGE_POP, library, 0, 0);
    mt_build_event(builder, MT_RANGE_END, 7, 0, 0);
    make();
    analyze();
    ck_assert_str_eq(made_in(0), "no range");
    ck_assert_str_eq(made_in(1), "step");
    ck_assert_str_eq(made_in(2), "step");
    ck_assert_uint_eq(analysis.replay.tracker.ranges.n_marks, 0);
}
END_TEST

START_TEST(started_ranges_end_in_any_order_and_thread)
{
    mt_build_event(builder, MT_RANGE_START, 7, mt_build_string(builder, "a"), 0);
    mt_build_event(builder, MT_RANGE_START, 8, mt_build_string(builder, "b"), 0);
    make();
    mt_build_on(builder, 0, 2, 0);
    mt_build_event(builder, MT_RANGE_END, 7, 0, 0);
    make();
    mt_build_on(builder, 0, 1, 0);
    pop(); /* nothing was pushed */
    make();
    mt_build_event(builder, MT_RANGE_END, 8, 0, 0);
    mt_build_event(builder, MT_RANGE_END, 9, 0, 0); /* of before the recording */
    make();
    analyze();
    ck_assert_str_eq(made_in(0), "a > b");
    ck_assert_str_eq(made_in(1), "no range"); /* that thread's own */
    ck_assert_str_eq(made_in(2), "b");
    ck_assert_str_eq(made_in(3), "no range");
}
END_TEST

START_TEST(autograds_threads_are_inside_the_trainings_ranges)
{
    uint32_t forward = mt_build_stack(builder, "/u/t.py:1 main",
                                      TORCH "nn/modules/module.py:1 Module._call_impl", NULL);
    mt_build_definition(builder, &(struct mt_definition){.kind = MT_DEF_THREAD,
                                                         .id = 2,
                                                         .os_thread = 2,
                                                         .text = "pt_autograd_0",
                                                         .text_size = 13});
    push("step");
    mt_build_on(builder, 0, 1, forward);
    make();
    mt_build_on(builder, 0, 2, 0);
    make();
    push("mm");
    make();
    mt_build_on(builder, 0, 3, 0);
    make();
    analyze();
    ck_assert_str_eq(made_in(1), "step");
    ck_assert_str_eq(made_in(2), "step > mm");
    ck_assert_str_eq(made_in(3), "no range"); /* a thread like any other */
}
END_TEST

START_TEST(the_most_in_a_range_counts_for_those_around)
{
    push("step");
    make();
    push("forward");
    make();
    make();
    pop();
    mt_build_free(builder, BASE);
    pop();
    const struct mt_device *device = analyze();
    ck_assert_uint_eq(most("step > forward"), 3 * MT_MIB);
    ck_assert_uint_eq(most("step"), 3 * MT_MIB);
    ck_assert_uint_eq(device->at.range, 2);
    ck_assert_uint_eq(analysis.replay.tracker.ranges.range[2].times, 1);
}
END_TEST

START_TEST(what_cuda_gave_before_pytorch_does_not_count)
{
    push("start");
    mt_build_event(builder, MT_CUDA_MALLOC, BASE, 20 * MT_MIB, 0);
    pop();
    push("step");
    make();
    analyze();
    ck_assert_uint_eq(most("start"), 0);
    ck_assert_uint_eq(most("step"), MT_MIB);
}
END_TEST

START_TEST(marks_are_counted)
{
    uint32_t name = mt_build_string(builder, "now");
    for (unsigned i = 0; i < 3; i++)
        mt_build_event(builder, MT_RANGE_MARK, name, 0, 0);
    make();
    analyze();
    const struct mt_ranges *ranges = &analysis.replay.tracker.ranges;
    ck_assert_uint_eq(ranges->n_marks, 1);
    ck_assert_uint_eq(ranges->mark[0].times, 3);
    ck_assert_uint_lt(ranges->mark[0].first_ns, ranges->mark[0].last_ns);
}
END_TEST

START_TEST(a_name_lasts_as_long_as_its_block)
{
    uint32_t name = mt_build_string(builder, "velocity field");
    make();
    make();
    mt_build_event(builder, MT_NAMED, BASE + MT_MIB + 17, name, 0);
    mt_build_free(builder, BASE + MT_MIB);
    mt_build_alloc(builder, BASE + MT_MIB, MT_MIB / 2);
    make();
    mt_build_event(builder, MT_NAMED, BASE + 2 * MT_MIB, name, 0);
    mt_build_event(builder, MT_NAMED, BASE + 900 * MT_MIB, name, 0); /* nothing is there */
    const struct mt_device *device = analyze();
    ck_assert_uint_eq(device->verdicts[0].block->name, 0);
    ck_assert_uint_eq(device->verdicts[1].block->name, 0);
    ck_assert_uint_eq(device->verdicts[2].block->name, name);
    ck_assert_uint_eq(device->sites.n, 2); /* a site for each name */
}
END_TEST

START_TEST(rules_match_names_and_ranges)
{
    static const char text[] = "inputs \"a picture\" name=pic*\n"
                               "workspace \"of the solver\" range=solve size=1MiB\n";
    struct mt_user_rules *rules;
    struct mt_rules_error error;
    ck_assert_int_eq(mt_user_rules_parse(&rules, text, sizeof text - 1, &error), 0);
    question.rules = rules;
    push("solve");
    push("inner");
    make();
    pop();
    pop();
    make();
    mt_build_event(builder, MT_NAMED, BASE + MT_MIB, mt_build_string(builder, "picture 1"), 0);
    make();
    const struct mt_device *device = analyze();
    ck_assert_uint_eq(device->category[MT_CATEGORY_WORKSPACE].blocks, 1);
    ck_assert_uint_eq(device->category[MT_CATEGORY_INPUTS].blocks, 1);
    ck_assert_uint_eq(device->category[MT_CATEGORY_OTHER].blocks, 1);
}
END_TEST

/* What fnmatch does, but for its time: a thousand names of 60,000 bytes, and patterns that try
 * every begin. */
START_TEST(patterns_match_as_fnmatch_does)
{
    static const char *const patterns[] = {
        "",        "*",    "**",     "a",      "a*",    "*a",       "*a*",           "a*b*c",
        "?",       "??",   "*?",     "?*b",    "[ab]",  "[!a]*",    "*[a-c]",        "[]]",
        "[a",      "*[*]", "\\*",    "a\\?b",  "[[]x]", "*.py:f*",  "layers.?.mlp*", "*b?b*",
        "[a\\]]*", "*ab",  "a[b-]c", "*a*a*b", "b*a*",  "*[!b-c]b*"};
    static const char *const texts[] = {
        "",   "a",  "b",   "ab",  "abc", "a-c",    "aXbXc",          "]",    "[a",  "*",
        "x*", "\\", "a?b", "aab", "bab", "a.py:f", "layers.3.mlp.0", "aaab", "[]x]"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        for (size_t j = 0; j < sizeof texts / sizeof *texts; j++)
            ck_assert_msg(mt_glob(patterns[i], texts[j]) == !fnmatch(patterns[i], texts[j], 0),
                          "%s %s", patterns[i], texts[j]);
    ck_assert(mt_glob("?", "\xc3\xa9") &&
              mt_glob("*?b", "\xc3\xa9"
                             "b") &&
              !mt_glob("?", "\xc3\xa9"
                            "a"));
    static char name[60000], rule[1100];
    struct mt_user_rules *rules;
    struct mt_rules_error error;
    snprintf(rule, sizeof rule, "inputs \"x\" name=%.*d", 1001, 0);
    ck_assert_int_eq(mt_user_rules_parse(&rules, rule, strlen(rule), &error), -EINVAL);
    ck_assert_ptr_nonnull(strstr(error.text, "longer than 1000 bytes"));
    memset(name, 'a', sizeof name - 1);
    for (unsigned i = 0; i < 1000; i++)
        ck_assert(!mt_glob("*a*a*a*a*a*a*a*aab", name) && !mt_glob("*a*aaaaaaaaab*a*", name));
    ck_assert(!mt_glob("*a?a*a[a-b]a*a?a*a?b*", name));
}
END_TEST

/* Ranges that are never closed, in a loop: every one is inside the last. */
START_TEST(what_is_never_closed_does_not_grow_for_ever)
{
    for (unsigned i = 0; i < 5000; i++)
        push("leak");
    make();
    analyze();
    ck_assert_uint_le(analysis.replay.tracker.ranges.n_ranges, 4097);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("ranges");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, blocks_know_the_ranges_around_them);
    tcase_add_test(tests, a_domain_closes_its_own);
    tcase_add_test(tests, ranges_of_libraries_are_left_out);
    tcase_add_test(tests, started_ranges_end_in_any_order_and_thread);
    tcase_add_test(tests, autograds_threads_are_inside_the_trainings_ranges);
    tcase_add_test(tests, the_most_in_a_range_counts_for_those_around);
    tcase_add_test(tests, what_cuda_gave_before_pytorch_does_not_count);
    tcase_add_test(tests, marks_are_counted);
    tcase_add_test(tests, a_name_lasts_as_long_as_its_block);
    tcase_add_test(tests, rules_match_names_and_ranges);
    tcase_add_test(tests, patterns_match_as_fnmatch_does);
    tcase_add_test(tests, what_is_never_closed_does_not_grow_for_ever);
    return RUN_TESTS(tests);
}
