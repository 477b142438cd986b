/* SPDX-License-Identifier: Apache-2.0 */
/* Tables by ids of a trace: every id has a place. */
#include "analyzer/support/by-id.h"
#include "tests/support/run-tests.h"

static struct mt_by_id table;

static void clear(void)
{
    mt_by_id_clear(&table);
}

START_TEST(ids_beyond_share_the_place_of_none)
{
    ck_assert_int_eq(mt_by_id_make(&table, 3, sizeof(uint64_t)), 0);
    for (uint32_t id = 0; id < 3; id++)
        *(uint64_t *)mt_by_id(&table, id) = 10 + id;
    ck_assert_uint_eq(*(uint64_t *)mt_by_id(&table, 2), 12);
    ck_assert_uint_eq(*(uint64_t *)mt_by_id(&table, 3), 10);
    ck_assert_uint_eq(*(uint64_t *)mt_by_id(&table, UINT32_MAX), 10);
    ck_assert(mt_by_id_has(&table, 2) && !mt_by_id_has(&table, 3) && !mt_by_id_has(&table, 0));
}
END_TEST

START_TEST(a_table_of_no_ids_has_a_place)
{
    ck_assert_int_eq(mt_by_id_make(&table, 0, sizeof(uint32_t)), 0);
    ck_assert_uint_eq(*(uint32_t *)mt_by_id(&table, 17), 0);
}
END_TEST

START_TEST(places_are_made_below_the_limit)
{
    *(uint32_t *)mt_by_id_reach(&table, 5, MT_THREAD_LIMIT, sizeof(uint32_t)) = 50;
    *(uint32_t *)mt_by_id_reach(&table, UINT32_MAX, MT_THREAD_LIMIT, sizeof(uint32_t)) = 1;
    ck_assert_uint_eq(table.n, 6);
    ck_assert_uint_eq(*(uint32_t *)mt_by_id(&table, 5), 50);
    ck_assert_uint_eq(*(uint32_t *)mt_by_id(&table, 0), 1);
    ck_assert_uint_eq(*(uint32_t *)mt_by_id_reach(&table, 1000, MT_THREAD_LIMIT, sizeof(uint32_t)),
                      0);
    ck_assert_uint_eq(*(uint32_t *)mt_by_id(&table, 5), 50);
}
END_TEST

int main(void)
{
    TCase *test = tcase_create("by id");
    tcase_add_checked_fixture(test, NULL, clear);
    tcase_add_test(test, ids_beyond_share_the_place_of_none);
    tcase_add_test(test, a_table_of_no_ids_has_a_place);
    tcase_add_test(test, places_are_made_below_the_limit);
    return RUN_TESTS(test);
}
