/* SPDX-License-Identifier: Apache-2.0 */
/* Which ranks of a made-up job differ (tools/memtap/fit/search/kinds.h). */
#include "tests/support/run-tests.h"
#include "tools/memtap/fit/search/ranks.h"

typedef uint64_t kind_of_rank(unsigned rank);

static struct mt_rank_kinds kinds;

/* Run what is wanted until nothing is. Return the number of runs. */
static unsigned find(kind_of_rank *kind)
{
    while (mt_rank_kinds_next(&kinds))
        for (unsigned i = 0; i < kinds.n_wanted; i++)
            mt_rank_kinds_learn(&kinds, (struct mt_rank_run){.rank = kinds.wanted[i],
                                                             .kind = kind(kinds.wanted[i])});
    return kinds.n_known;
}

/* Check every kind's number of ranks against all ranks of the job. */
static void check_counts(kind_of_rank *kind)
{
    unsigned sum = kinds.unknown;
    for (unsigned i = 0; i < kinds.n_kinds; i++) {
        unsigned wanted = 0;
        for (unsigned rank = 0; rank < kinds.world; rank++)
            wanted += kind(rank) == kinds.kind[i].first->kind;
        ck_assert_uint_eq(kinds.kind[i].stands, wanted);
        ck_assert_uint_eq(kind(kinds.kind[i].first->rank), kinds.kind[i].first->kind);
        sum += kinds.kind[i].stands;
    }
    ck_assert_uint_eq(sum, kinds.world);
}

static uint64_t all_alike(unsigned rank)
{
    (void)rank;
    return 7;
}

/* 4 stages outside, 16 replicas, 8 parts of each tensor: the stage matters. */
static uint64_t by_stage(unsigned rank)
{
    return rank / 128;
}

/* 8 stages within: the first, the last, and those between, which are alike. */
static uint64_t by_inner_stage(unsigned rank)
{
    return rank % 8 == 0 ? 1 : rank % 8 == 7 ? 2 : 3;
}

/* 1,000 rows over 300 ranks: 4 each, and then fewer. */
static uint64_t by_uneven_part(unsigned rank)
{
    return 1000 > 4 * rank ? (1000 - 4 * rank < 4 ? 1000 - 4 * rank : 4) : 0;
}

/* The head is divided unevenly, in the last stage alone. */
static uint64_t by_stage_and_part(unsigned rank)
{
    return rank / 128 == 3 && rank % 8 == 7 ? 9 : rank / 128;
}

/* Only one rank differs, the last on two axes that make no difference alone. */
static uint64_t by_corner(unsigned rank)
{
    return rank == 511;
}

static uint64_t by_itself(unsigned rank)
{
    return rank;
}

static void begin_mesh(void)
{
    mt_rank_kinds_begin(&kinds, 512);
    mt_rank_kinds_divide(&kinds, 128, 4);
    mt_rank_kinds_divide(&kinds, 8, 16);
    mt_rank_kinds_divide(&kinds, 1, 8);
    mt_rank_kinds_divide(&kinds, 1, 512);
}

START_TEST(groups_are_axes)
{
    static const unsigned strides[] = {1, 8, 128}, sizes[] = {8, 16, 4};

    begin_mesh();
    ck_assert_uint_eq(kinds.n_axes, 3);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_uint_eq(kinds.axis[i].stride, strides[i]);
        ck_assert_uint_eq(kinds.axis[i].size, sizes[i]);
    }
    mt_rank_kinds_divide(&kinds, 384, 2); /* the first and the last stage */
    mt_rank_kinds_divide(&kinds, 12, 2);
    ck_assert_uint_eq(kinds.n_axes, 3);
}
END_TEST

START_TEST(alike)
{
    begin_mesh();
    ck_assert_uint_le(find(all_alike), 14);
    ck_assert_uint_eq(kinds.n_kinds, 1);
    ck_assert_uint_eq(kinds.kind[0].runs, kinds.n_known);
    check_counts(all_alike);
}
END_TEST

START_TEST(stages)
{
    begin_mesh();
    ck_assert_uint_le(find(by_stage), 24);
    ck_assert_uint_eq(kinds.n_kinds, 4);
    check_counts(by_stage);
    mt_rank_kinds_begin(&kinds, 512);
    mt_rank_kinds_divide(&kinds, 1, 8);
    ck_assert_uint_le(find(by_inner_stage), 20);
    ck_assert_uint_eq(kinds.n_kinds, 3);
    check_counts(by_inner_stage);
}
END_TEST

START_TEST(uneven_parts)
{
    mt_rank_kinds_begin(&kinds, 300);
    ck_assert_uint_le(find(by_uneven_part), 24);
    ck_assert_uint_eq(kinds.n_kinds, 2);
    check_counts(by_uneven_part);
}
END_TEST

START_TEST(two_axes_together)
{
    begin_mesh();
    ck_assert_uint_le(find(by_stage_and_part), 32);
    ck_assert_uint_eq(kinds.n_kinds, 5);
    check_counts(by_stage_and_part);
    begin_mesh();
    find(by_corner);
    ck_assert_uint_eq(kinds.n_kinds, 2);
    check_counts(by_corner);
}
END_TEST

START_TEST(too_many)
{
    unsigned sum = 0;
    mt_rank_kinds_begin(&kinds, 4096);
    ck_assert_uint_eq(find(by_itself), MT_MOST_RANK_RUNS);
    for (unsigned i = 0; i < kinds.n_kinds; i++)
        sum += kinds.kind[i].stands;
    ck_assert_uint_eq(sum + kinds.unknown, 4096);
    ck_assert_uint_ge(kinds.unknown, 4096 - MT_MOST_RANK_RUNS);
}
END_TEST

START_TEST(small)
{
    for (unsigned world = 1; world < 6; world++) {
        mt_rank_kinds_begin(&kinds, world);
        ck_assert_uint_eq(find(by_itself), world);
        ck_assert_uint_eq(kinds.n_kinds, world);
        check_counts(by_itself);
    }
}
END_TEST

int main(void)
{
    TCase *test = tcase_create("rank kinds");
    tcase_add_test(test, groups_are_axes);
    tcase_add_test(test, alike);
    tcase_add_test(test, stages);
    tcase_add_test(test, uneven_parts);
    tcase_add_test(test, two_axes_together);
    tcase_add_test(test, too_many);
    tcase_add_test(test, small);
    return RUN_TESTS(test);
}
