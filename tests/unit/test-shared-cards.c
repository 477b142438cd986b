/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that used one card while both ran are found, and their peaks added. */
#include "analyzer/findings/job.h"
#include "tests/support/run-tests.h"

#include <check.h>

START_TEST(trainer_and_engine)
{
    static char host[] = "a", other[] = "b", none[] = "", first[] = "0", second[] = "1";
    struct mt_card_share share;
    struct mt_job_rank ranks[] = {{.has_device = true,
                                   .host = host,
                                   .visible = none,
                                   .device = 0,
                                   .allocated = 10,
                                   .begin_ns = 100,
                                   .last_ns = 200},
                                  {.has_device = true,
                                   .host = host,
                                   .visible = none,
                                   .device = 1,
                                   .allocated = 20,
                                   .begin_ns = 100,
                                   .last_ns = 200},
                                  {.has_device = true,
                                   .host = host,
                                   .visible = none,
                                   .device = 0,
                                   .allocated = 40,
                                   .begin_ns = 150,
                                   .last_ns = 300}};
    ck_assert(mt_card_share_find(&share, ranks, 3, 0));
    ck_assert_uint_eq(share.n, 2);
    ck_assert_uint_eq(share.peaks, 50);
    ck_assert(!mt_card_share_find(&share, ranks, 3, 1)); /* alone on its card */
    ck_assert(!mt_card_share_find(&share, ranks, 3, 2)); /* named with the first one */
    ranks[2].begin_ns = 200;                             /* one after the other */
    ck_assert(!mt_card_share_find(&share, ranks, 3, 0));
    ranks[2].begin_ns = 150;
    ranks[2].host = other;
    ck_assert(!mt_card_share_find(&share, ranks, 3, 0));
    ranks[2].host = host;
    ranks[0].visible = first; /* each one's device 0 is another card */
    ranks[2].visible = second;
    ck_assert(!mt_card_share_find(&share, ranks, 3, 0));
    ranks[2].visible = first;
    ck_assert(mt_card_share_find(&share, ranks, 3, 0));
    ranks[2].has_device = false;
    ck_assert(!mt_card_share_find(&share, ranks, 3, 0));
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("shared cards");
    tcase_add_test(tests, trainer_and_engine);
    return RUN_TESTS(tests);
}
