/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters by precision: bytes for each of them by what they are for. */
#include "analysis-fixture.h"
#include "analyzer/report/oom-report.h"
#include "scenarios.h"
#include "tests/support/run-tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BASE 0x7f0000000000ull
enum { FLOAT32 = 7, BFLOAT16 = 16 }; /* trace-format/dtypes.h */

static const struct mt_precision *find(void)
{
    mt_analyze(&analysis, builder, &question);
    return &mt_analysis_main_device(&analysis)->precision;
}

static void weight(unsigned index, uint64_t bytes, uint64_t dtype, uint64_t elements)
{
    uint64_t address = BASE + index * 64 * MT_MIB;
    mt_build_alloc(builder, address, bytes);
    mt_build_event(builder, MT_SET_DATA, address, dtype, elements);
}

START_TEST(sixteen_bytes_a_parameter_can_be_read_off)
{
    static const struct {
        enum mt_role role;
        unsigned dtype, width;
        uint64_t blocks;
    } wanted[] = {{MT_ROLE_WEIGHTS, BFLOAT16, 2, 2},
                  {MT_ROLE_GRADIENTS, BFLOAT16, 2, 2},
                  {MT_ROLE_MASTERS, 0, 4, 2},
                  {MT_ROLE_STATE, 0, 4, 4}};
    const uint64_t parameters = MT_MIXED_MATRIX + MT_MIXED_BIAS;
    mt_scenario_mixed(builder);
    const struct mt_precision *precision = find();
    ck_assert_uint_eq(precision->parameters, parameters);
    ck_assert_uint_eq(precision->bytes, 16 * parameters);
    ck_assert(precision->is_mixed);
    ck_assert_uint_eq(precision->n, 4);
    for (unsigned i = 0; i < 4; i++) {
        const struct mt_precision_row *row = &precision->row[i];
        ck_assert_uint_eq(row->role, wanted[i].role);
        ck_assert_uint_eq(row->dtype, wanted[i].dtype);
        ck_assert_uint_eq(row->width, wanted[i].width);
        ck_assert_uint_eq(row->blocks, wanted[i].blocks);
        ck_assert_uint_eq(row->bytes, parameters * wanted[i].width * wanted[i].blocks / 2);
    }
    const struct mt_device *device = mt_analysis_main_device(&analysis);
    ck_assert_uint_eq(precision->bytes + precision->rounding,
                      device->at.allocated - device->category[MT_CATEGORY_ACTIVATIONS].bytes);
}
END_TEST

START_TEST(one_precision_is_not_mixed)
{
    weight(0, 4 * MT_MIB, FLOAT32, MT_MIB);
    const struct mt_precision *precision = find();
    ck_assert_uint_eq(precision->parameters, MT_MIB);
    ck_assert(!precision->is_mixed);
}
END_TEST

/* What no replay in one piece serves is not for the pieces; a request that is served is no run. */
static void check_cause_and_reach(struct mt_oom_story story)
{
    const struct mt_style style = {0};
    char text[300], *summary;
    size_t size;
    FILE *out = open_memstream(&summary, &size);
    story.is_in_pieces = true;
    story.more = 6 * MT_MIB;
    mt_oom_cause(&story, &analysis, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "6.00 MiB more would have served this request"));
    story.would_fit_expandable = true;
    mt_oom_cause(&story, &analysis, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "fragmentation"));
    story.left = story.segment; /* less than the request is no cause */
    mt_oom_cause(&story, &analysis, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "fragmentation"));
    story.left = 2 * story.segment;
    mt_oom_cause(&story, &analysis, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "left behind 2.00 GiB of the "));
    story.advice[0] = (struct mt_advice){
        .what = "halve the batch", .served = MT_SERVED_YES, .reach = MT_REACH_REQUEST};
    story.n_advice = 1;
    mt_oom_summary(&story, &analysis, out, &style);
    fclose(out);
    ck_assert_ptr_nonnull(
        strstr(summary, "(modelled: serves this request; what follows is unknown)"));
    free(summary);
}

START_TEST(an_out_of_memory_reports_them_too)
{
    struct mt_oom_story story;
    struct mt_style style = {0};
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    question.moment.kind = MT_AT_OOM;
    mt_scenario_mixed_steps(builder);
    mt_build_event(builder, MT_OOM, 1024 * MT_MIB, 64 * MT_MIB, 64 * MT_MIB);
    mt_build_end(builder);
    ck_assert(find()->is_mixed);
    ck_assert_int_eq(mt_oom_explain(&story, &analysis), 0);
    check_cause_and_reach(story);
    mt_oom_text(&story, &analysis, out, &style);
    fclose(out);
    ck_assert_ptr_nonnull(strstr(text, " bytes each\n  weights          bfloat16"));
    free(text);
}
END_TEST

/* A flat block has the parameters that fit into it, whatever each of them says. */
START_TEST(parameters_that_share_a_block_are_all_counted)
{
    weight(0, 8 * MT_MIB, BFLOAT16, MT_MIB);
    mt_build_event(builder, MT_SET_DATA, BASE + 2 * MT_MIB, BFLOAT16, 3 * MT_MIB);
    ck_assert_uint_eq(find()->parameters, 4 * MT_MIB);
}
END_TEST

START_TEST(rounding_of_512_bytes_is_none_of_a_parameter)
{
    weight(0, 512, BFLOAT16, 1);
    weight(1, 1024, FLOAT32, 129);
    const struct mt_precision *precision = find();
    ck_assert_uint_eq(precision->parameters, 130);
    ck_assert_uint_eq(precision->bytes, 2 + 129 * 4);
    ck_assert_uint_eq(precision->rounding, 1536 - 2 - 129 * 4);
    ck_assert(precision->is_mixed);
}
END_TEST

enum { STORAGE = 0x5000, OBJECT = 0x6000 };

/* Of one parameter this process has a quarter; what is gathered of it comes and goes. */
START_TEST(a_parameter_counts_once_whatever_is_here_of_it)
{
    const uint64_t whole = BASE + 64 * MT_MIB;
    weight(0, 4 * MT_MIB, FLOAT32, MT_MIB);
    mt_build_event4(builder, MT_PART, BASE, OBJECT, 4 * MT_MIB - 3, FLOAT32);
    mt_build_event4(builder, MT_PART, BASE, OBJECT, 4 * MT_MIB - 3, FLOAT32); /* looked at again */
    weight(1, 8 * MT_MIB, BFLOAT16, 4 * MT_MIB);
    mt_build_event(builder, MT_RESIZE, whole, STORAGE, 0);
    const struct mt_precision *precision = find();
    ck_assert_uint_eq(precision->parameters, 4 * MT_MIB - 3);
    ck_assert_uint_eq(precision->here, MT_MIB);
    ck_assert(!precision->lacks_others);
    ck_assert_uint_eq(precision->n, 2);
    ck_assert_int_eq(precision->row[1].role, MT_ROLE_GATHERED);
    ck_assert_uint_eq(precision->row[1].bytes, 8 * MT_MIB);
}
END_TEST

START_TEST(where_others_have_a_rest_that_is_not_known_it_is_said)
{
    weight(0, 4 * MT_MIB, FLOAT32, MT_MIB);
    weight(1, 8 * MT_MIB, BFLOAT16, 4 * MT_MIB);
    mt_build_event(builder, MT_RESIZE, BASE + 64 * MT_MIB, STORAGE, 0);
    const struct mt_precision *precision = find();
    ck_assert_uint_eq(precision->parameters, MT_MIB);
    ck_assert(precision->lacks_others);
}
END_TEST

/* Of a flat block with parts of several parameters all count; a part that moves takes its number
 * along. */
START_TEST(parts_of_several_parameters_may_share_a_block)
{
    weight(0, 4 * MT_MIB, FLOAT32, MT_MIB);
    weight(1, 4 * MT_MIB, FLOAT32, MT_MIB);
    mt_build_event4(builder, MT_PART, BASE, OBJECT, 2 * MT_MIB, FLOAT32);
    mt_build_event4(builder, MT_PART, BASE + MT_MIB, OBJECT + 1, 3 * MT_MIB, FLOAT32);
    mt_build_event4(builder, MT_PART, BASE, OBJECT + 2, 3 * MT_MIB, FLOAT32);
    mt_build_event4(builder, MT_PART, BASE + 64 * MT_MIB, OBJECT + 2, 3 * MT_MIB, FLOAT32);
    mt_build_event4(builder, MT_PART, BASE, OBJECT + 3, UINT64_MAX, FLOAT32); /* damaged */
    ck_assert_uint_eq(find()->parameters, 8 * MT_MIB);
}
END_TEST

START_TEST(what_an_optimizer_alone_works_on_is_a_master)
{
    const uint64_t master = BASE + 64 * MT_MIB;
    weight(0, 2 * MT_MIB, BFLOAT16, MT_MIB);
    mt_build_event(builder, MT_LEAF, BASE, BFLOAT16, 0);
    mt_build_alloc(builder, master, 4 * MT_MIB);
    mt_build_event(builder, MT_MEMBER, master, 1, 0);
    mt_build_event4(builder, MT_REQUIRES_GRAD, master, 1, FLOAT32, MT_MIB);
    mt_build_event4(builder, MT_STATE, master, master, 0, MT_MIB);
    const struct mt_precision *precision = find();
    ck_assert_uint_eq(precision->parameters, MT_MIB);
    ck_assert_uint_eq(precision->n, 2);
    ck_assert_int_eq(precision->row[1].role, MT_ROLE_MASTERS);
}
END_TEST

START_TEST(damaged_counts_of_elements_do_not_count)
{
    weight(0, MT_MIB, BFLOAT16, UINT64_MAX / 2 + 2);
    ck_assert_uint_eq(find()->parameters, MT_MIB / 2);
}
END_TEST

START_TEST(without_types_nothing_is_said)
{
    weight(0, MT_MIB, 0, 0);
    const struct mt_precision *precision = find();
    ck_assert_uint_eq(precision->parameters, 0);
    ck_assert_uint_eq(precision->n, 0);
    ck_assert(!precision->is_mixed);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("precision");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, sixteen_bytes_a_parameter_can_be_read_off);
    tcase_add_test(tests, an_out_of_memory_reports_them_too);
    tcase_add_test(tests, one_precision_is_not_mixed);
    tcase_add_test(tests, parameters_that_share_a_block_are_all_counted);
    tcase_add_test(tests, rounding_of_512_bytes_is_none_of_a_parameter);
    tcase_add_test(tests, damaged_counts_of_elements_do_not_count);
    tcase_add_test(tests, a_parameter_counts_once_whatever_is_here_of_it);
    tcase_add_test(tests, where_others_have_a_rest_that_is_not_known_it_is_said);
    tcase_add_test(tests, parts_of_several_parameters_may_share_a_block);
    tcase_add_test(tests, what_an_optimizer_alone_works_on_is_a_master);
    tcase_add_test(tests, without_types_nothing_is_said);
    return RUN_TESTS(tests);
}
