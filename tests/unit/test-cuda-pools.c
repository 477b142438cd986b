/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA's own memory pools: what they keep, and what the reports say of it. */
#include "analyzed.h"
#include "analyzer/findings/oom.h"
#include "analyzer/report/oom-report.h"
#include "analyzer/report/report.h"
#include "scenarios.h"
#include "tests/support/run-tests.h"
#include "trace-format/cuda-apis.h"

#include <stdlib.h>
#include <string.h>

#define BASE 0x7f0000000000ull
#define KEEPS_SOME (5 * MT_MIB)

static struct mt_builder *builder;
static struct mt_analysis analysis;
static struct mt_question question;
static char *text;

static void begin(void)
{
    builder = mt_builder_create();
    question = (struct mt_question){0};
}

static void end(void)
{
    mt_analysis_destroy(&analysis);
    mt_builder_destroy(builder);
    free(text);
    text = NULL;
}

/* MiB are added to an address. */
static void get(unsigned at, unsigned mib)
{
    mt_build_event4(builder, MT_CUDA_MALLOC_ASYNC, BASE + at * MT_MIB, mib * MT_MIB, 0,
                    MT_API_CUDA_MALLOC_ASYNC);
}

static void give(unsigned at)
{
    mt_build_event(builder, MT_CUDA_FREE_ASYNC, BASE + at * MT_MIB, 0, MT_API_CUDA_FREE_ASYNC);
}

static void get_outside(unsigned mib, unsigned result)
{
    mt_build_event4(builder, MT_CUDA_MALLOC, result ? 0 : 2 * BASE, mib * MT_MIB, result,
                    MT_API_CUDA_MALLOC);
}

static void report(uint64_t pool, uint64_t threshold, unsigned reserved, unsigned used)
{
    mt_build_event4(builder, MT_CUDA_POOL, pool, threshold, reserved * MT_MIB, used * MT_MIB);
}

static const struct mt_cuda_pool *analyze(void)
{
    mt_analyze(&analysis, builder, &question);
    return analysis.replay.cuda_pools.pool;
}

static const char *headline(void)
{
    size_t size;
    FILE *out = open_memstream(&text, &size);
    mt_headline(&analysis, out);
    fclose(out);
    return text;
}

START_TEST(what_it_keeps_is_bounded_by_its_threshold)
{
    report(0, KEEPS_SOME, 0, 0);
    get(0, 4);
    get(4, 3);
    give(0);
    give(4);
    get(8, 1);
    get_outside(9, 0);
    const struct mt_cuda_pool *pool = analyze();
    ck_assert_uint_eq(analysis.replay.cuda_pools.n, 1);
    ck_assert_uint_eq(pool->kept.bytes, 4 * MT_MIB);
    ck_assert_uint_eq(pool->kept.wanted, 9 * MT_MIB);
    ck_assert(!pool->kept.is_exact);
    ck_assert_ptr_nonnull(
        strstr(headline(), "At least 4.00 MiB was free in CUDA's default memory pool when 9.00 MiB "
                           "was requested from CUDA. The pool's release threshold is 5.00 MiB; "
                           "cudaMemPoolTrimTo returns the memory.\n"));
}
END_TEST

START_TEST(without_a_threshold_it_keeps_nothing)
{
    report(0, 0, 0, 0);
    get(0, 4);
    give(0);
    get_outside(9, 0);
    ck_assert_uint_eq(analyze()->kept.bytes, 0);
    ck_assert_ptr_null(strstr(headline(), "pool"));
}
END_TEST

START_TEST(the_driver_may_have_taken_it_back)
{
    report(0, UINT64_MAX, 0, 0);
    get(0, 4);
    get_outside(1, 0); /* 4 are in use */
    give(0);
    report(0, UINT64_MAX, 4, 0);
    report(0, UINT64_MAX, 1, 0); /* trimmed */
    get_outside(9, 0);
    get_outside(9, 0); /* the one before may have taken all */
    ck_assert_uint_eq(analyze()->kept.bytes, 1 * MT_MIB);
}
END_TEST

/* Their blocks cannot be told from those of the default pool. */
START_TEST(with_own_pools_only_cuda_knows)
{
    report(0, UINT64_MAX, 0, 0);
    get(0, 4);
    give(0);
    get_outside(9, 0);
    report(0x5000, UINT64_MAX, 7, 2);
    mt_build_event4(builder, MT_CUDA_POOL_HIGH, 0x5000, 8 * MT_MIB, 6 * MT_MIB, 0);
    const struct mt_cuda_pool *pool = analyze();
    ck_assert_uint_eq(analysis.replay.cuda_pools.n, 2);
    ck_assert_uint_eq(pool[0].kept.bytes, 0);
    ck_assert_uint_eq(pool[1].last.reserved, 7 * MT_MIB);
    ck_assert_uint_eq(pool[1].most_reserved, 8 * MT_MIB);
    ck_assert_uint_eq(pool[1].most_used, 6 * MT_MIB);
}
END_TEST

START_TEST(a_graphs_memory_is_not_the_pools)
{
    report(0, UINT64_MAX, 0, 0);
    uint32_t domain = mt_build_string(builder, "CUDA"), name = mt_build_string(builder, "graph 1");
    mt_build_event(builder, MT_RANGE_PUSH, name, domain, 0);
    get(0, 4);
    give(0);
    mt_build_event(builder, MT_RANGE_POP, domain, 0, 0);
    get_outside(9, 0);
    ck_assert_uint_eq(analyze()->kept.bytes, 0);
}
END_TEST

static const char *summary(void)
{
    static const struct mt_style style = {0};
    struct mt_oom_story story;
    size_t size;
    ck_assert_int_eq(mt_oom_explain(&story, &analysis), 0);
    FILE *out = open_memstream(&text, &size);
    mt_oom_summary(&story, &analysis, out, &style);
    fclose(out);
    return text;
}

START_TEST(when_memory_runs_out_a_pool_may_be_the_remedy)
{
    static const struct {
        unsigned wanted;
        bool helps;
    } cases[] = {{6, true}, {8, false}};
    for (unsigned i = 0; i < 2; i++) {
        question.moment.kind = MT_AT_OOM;
        get(0, 1);
        report(0x5000, UINT64_MAX, 7, 1);
        get_outside(cases[i].wanted, 2);
        const struct mt_cuda_pool *pool = analyze();
        ck_assert_uint_eq(pool->kept.bytes, 6 * MT_MIB);
        ck_assert(pool->kept.is_exact);
        const char *says = summary();
        ck_assert_msg(!strstr(says, "cudaMemPoolTrimTo before it: 6.00 MiB is free in a CUDA") ==
                          !cases[i].helps,
                      "%s", says);
        ck_assert_msg(!strstr(says, "request less") == cases[i].helps, "%s", says);
        end();
        begin();
    }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("cuda pools");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, what_it_keeps_is_bounded_by_its_threshold);
    tcase_add_test(tests, without_a_threshold_it_keeps_nothing);
    tcase_add_test(tests, the_driver_may_have_taken_it_back);
    tcase_add_test(tests, with_own_pools_only_cuda_knows);
    tcase_add_test(tests, a_graphs_memory_is_not_the_pools);
    tcase_add_test(tests, when_memory_runs_out_a_pool_may_be_the_remedy);
    return RUN_TESTS(tests);
}
