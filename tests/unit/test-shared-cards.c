/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that used one card while both ran are found, their peaks are added, and the most that
 * they had at one time is found. */
#include "analyzer/findings/job.h"
#include "tests/support/run-tests.h"
#include "trace-builder.h"

#include <check.h>
#include <stdio.h>
#include <unistd.h>

#define MIB (1ull << 20)

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

/* Write a trace that begins so many ms after the first one, and take its analysis. An event comes
 * each ms: a number allocates so many MiB at its own place, a negative one frees that place. */
static void take(struct mt_job_rank *rank, char path[32], unsigned later, const int *events, int n)
{
    struct mt_builder *builder = mt_builder_create();
    struct mt_question question = {0};
    struct mt_analysis analysis;
    char start[64];
    snprintf(path, 32, "shared-%d-%u.mtap", (int)getpid(), later);
    snprintf(start, sizeof start, "start_realtime_ns=%llu", 5000000000ull + later * 1000000ull);
    mt_build_info(builder, "host=a");
    mt_build_info(builder, start);
    for (int i = 0; i < n; i++)
        if (events[i] > 0)
            mt_build_alloc(builder, (uint64_t)events[i] << 40, (uint64_t)events[i] * MIB);
        else
            mt_build_free(builder, (uint64_t)-events[i] << 40);
    mt_build_end(builder);
    mt_builder_write(builder, path);
    ck_assert_int_eq(mt_analysis_create(&analysis, path, &question), 0);
    ck_assert_int_eq(mt_job_rank_take(rank, &analysis, 0), 0);
    mt_analysis_destroy(&analysis);
    mt_builder_destroy(builder);
    rank->path = path;
}

/* One has 60 MiB early, the other 50 late: 60 and 10, then 20 and 50; never 110. */
START_TEST(most_at_one_time)
{
    static const int trainer[] = {60, 1, -60, 20, 2, 3, -2, -3}, engine[] = {10, 50, -50, -10};
    char paths[2][32];
    struct mt_job_rank ranks[2];
    struct mt_card_share share;
    take(&ranks[0], paths[0], 0, trainer, 8);
    take(&ranks[1], paths[1], 4, engine, 4); /* its 50 come with 1 + 20 + 2 + 3 */
    mt_job_follow_cards(ranks, 2);
    ck_assert(mt_card_share_find(&share, ranks, 2, 0));
    ck_assert_uint_eq(share.peaks, (61 + 60) * MIB);
    ck_assert_uint_eq(share.most, (26 + 60) * MIB);
    ck_assert_uint_eq(ranks[0].together, 26 * MIB);
    ck_assert_uint_eq(ranks[1].together, 60 * MIB);
    ck_assert_uint_eq(share.ns, 5000000000ull + 6 * 1000000ull);
    ranks[0].card_most = 0;
    ranks[1].has_every_level = false;
    mt_job_follow_cards(ranks, 2);
    ck_assert_uint_eq(ranks[0].card_most, 0);
    for (unsigned i = 0; i < 2; i++) {
        unlink(paths[i]);
        mt_job_rank_clear(&ranks[i]);
    }
}
END_TEST

/* What a process had is gone at its end. */
START_TEST(nothing_after_the_end)
{
    static const int first[] = {70, 1, 2}, second[] = {10, 50, 3, 4};
    char paths[2][32];
    struct mt_job_rank ranks[2];
    take(&ranks[0], paths[0], 0, first, 3);
    take(&ranks[1], paths[1], 1, second, 4);
    mt_job_follow_cards(ranks, 2);
    ck_assert_uint_eq(ranks[0].card_most, (73 + 10) * MIB);
    for (unsigned i = 0; i < 2; i++) {
        unlink(paths[i]);
        mt_job_rank_clear(&ranks[i]);
    }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("shared cards");
    tcase_add_test(tests, trainer_and_engine);
    tcase_add_test(tests, most_at_one_time);
    tcase_add_test(tests, nothing_after_the_end);
    return RUN_TESTS(tests);
}
