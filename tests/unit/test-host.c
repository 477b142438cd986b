/* SPDX-License-Identifier: Apache-2.0 */
/* Page-locked memory of the host; and which answer of the device the balance takes. */
#include "analyzed.h"
#include "scenarios.h"
#include "tests/support/run-tests.h"
#include "trace-format/cuda-apis.h"

#define HOST 0x10000000ull
#define BASE 0x7f0000000000ull

static struct mt_builder *builder;
static struct mt_analysis analysis;
static struct mt_question question;

static void begin(void)
{
    builder = mt_builder_create();
}

static void end(void)
{
    mt_analysis_destroy(&analysis);
    mt_builder_destroy(builder);
}

static void pin(uint64_t address, uint64_t bytes)
{
    mt_build_event4(builder, MT_CUDA_MALLOC, address, bytes, 0, MT_API_CUDA_HOST_ALLOC);
}

static void unpin(uint64_t address)
{
    mt_build_event(builder, MT_CUDA_FREE, address, MT_API_CUDA_FREE_HOST, 0);
}

static void analyze(void)
{
    mt_analyze(&analysis, builder, &question);
}

START_TEST(its_own_most_is_shown)
{
    pin(HOST, 100);
    pin(HOST + 1000, 50);
    unpin(HOST);
    mt_build_event(builder, MT_CUDA_MALLOC, BASE, 4 * MT_MIB, 0); /* the device's peak */
    pin(HOST + 2000, 60);
    analyze();
    ck_assert_uint_eq(analysis.host.bytes, 150);
    ck_assert_uint_eq(analysis.host.blocks, 2);
    ck_assert_uint_eq(analysis.replay.host.most_event, 2);
    ck_assert_uint_eq(analysis.replay.host.heap.total[0].bytes, 110);
    ck_assert_uint_eq(mt_analysis_main_device(&analysis)->at.allocated, 4 * MT_MIB);
}
END_TEST

START_TEST(another_moment_can_be_queried)
{
    pin(HOST, 100);
    pin(HOST + 1000, 50);
    unpin(HOST);
    question.moment = (struct mt_moment){MT_AT_END, 0};
    analyze();
    ck_assert_uint_eq(analysis.host.bytes, 50);
    ck_assert_uint_eq(analysis.replay.host.most, 150);
}
END_TEST

START_TEST(what_failed_changes_nothing)
{
    mt_build_event4(builder, MT_CUDA_MALLOC, 0, 900, 2, MT_API_CUDA_HOST_ALLOC);
    pin(HOST, 100);
    unpin(HOST + 8); /* of before the recording */
    unpin(HOST);
    mt_build_event(builder, MT_CUDA_FREE_FAILED, HOST, 1, MT_API_CUDA_FREE_HOST);
    question.moment = (struct mt_moment){MT_AT_END, 0};
    analyze();
    ck_assert_uint_eq(analysis.host.bytes, 100);
    ck_assert_uint_eq(analysis.replay.host.most, 100);
}
END_TEST

static void pin_for(uint64_t address, uint64_t bytes, uint64_t requested)
{
    pin(address, bytes);
    mt_build_event(builder, MT_HOST_REQUEST, address, requested, 0);
}

/* A request belongs to one block: not to the next one at its address; and to it again, if its free
 * failed. More than the block has is no request of it. */
START_TEST(requests_are_of_their_blocks)
{
    pin_for(HOST, 64, 33);
    unpin(HOST);
    pin(HOST, 64);
    pin_for(HOST + 1000, 100, 100);
    pin_for(HOST + 2000, 32, 17);
    unpin(HOST + 2000);
    mt_build_event(builder, MT_CUDA_FREE_FAILED, HOST + 2000, 1, MT_API_CUDA_FREE_HOST);
    pin_for(HOST + 3000, 8, 9);
    mt_build_event(builder, MT_HOST_REQUEST, HOST + 4000, 5, 0); /* nothing is there */
    analyze();
    struct mt_host_rounding of = mt_host_rounding_find(&analysis.replay.host);
    ck_assert_uint_eq(of.known, 100 + 32);
    ck_assert_uint_eq(of.requested, 100 + 17);
    ck_assert_uint_eq(of.powers, 64 + 8);
    ck_assert_uint_eq(of.n_powers, 2);
}
END_TEST

/* CUDA pads rows: what was requested of a device's memory is of that block only. */
START_TEST(padding_was_not_requested)
{
    mt_build_event4(builder, MT_CUDA_MALLOC, BASE, 1000, 0, MT_API_CUDA_MALLOC_PITCH);
    mt_build_event(builder, MT_HOST_REQUEST, BASE, 600, 0);
    mt_build_event4(builder, MT_CUDA_MALLOC, 2 * BASE, 500, 0, MT_API_CUDA_MALLOC);
    analyze();
    ck_assert_uint_eq(mt_analysis_main_device(&analysis)->unused, 400);
    mt_analysis_destroy(&analysis);
    mt_build_event(builder, MT_CUDA_FREE, BASE, MT_API_CUDA_FREE, 0);
    mt_build_event4(builder, MT_CUDA_MALLOC, BASE, 2000, 0, MT_API_CUDA_MALLOC);
    analyze();
    ck_assert_uint_eq(mt_analysis_main_device(&analysis)->unused, 0);
}
END_TEST

START_TEST(memory_of_devices_is_none)
{
    mt_build_event(builder, MT_CUDA_MALLOC, BASE, 4 * MT_MIB, 0);
    mt_build_event4(builder, MT_CUDA_MALLOC, BASE * 2, MT_MIB, 0, MT_API_CUDA_MALLOC_MANAGED);
    analyze();
    ck_assert_uint_eq(analysis.host.bytes, 0);
    ck_assert_uint_eq(analysis.replay.host.most, 0);
}
END_TEST

/* What this process and others have, in MiB. */
static void sample(uint64_t own, uint64_t others)
{
    mt_build_event4(builder, MT_DEVICE_MEMORY, 1000 * MT_MIB, 500 * MT_MIB, own * MT_MIB,
                    others * MT_MIB);
}

static void pass(unsigned events)
{
    while (events--)
        mt_build_event(builder, MT_RANGE_MARK, 0, 0, 0);
}

START_TEST(the_nearest_answer_counts)
{
    static const struct {
        unsigned before, after, others;
    } cases[] = {{1, 5, 1}, {5, 1, 2}, {3, 3, 2}};
    for (unsigned i = 0; i < 3; i++) {
        mt_build_event(builder, MT_CUDA_MALLOC, BASE, 10 * MT_MIB, 0);
        sample(100, 1);
        pass(cases[i].before);
        mt_build_event(builder, MT_CUDA_MALLOC, BASE + 64 * MT_MIB, 10 * MT_MIB, 0);
        pass(cases[i].after);
        sample(110, 2);
        sample(110, 3);
        analyze();
        const struct mt_balance *balance = &mt_analysis_main_device(&analysis)->balance;
        ck_assert_uint_eq(balance->others, cases[i].others * MT_MIB);
        ck_assert_uint_eq(balance->cuda, 20 * MT_MIB);
        end();
        begin();
    }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("host");
    tcase_add_checked_fixture(tests, begin, end);
    tcase_add_test(tests, its_own_most_is_shown);
    tcase_add_test(tests, another_moment_can_be_queried);
    tcase_add_test(tests, what_failed_changes_nothing);
    tcase_add_test(tests, requests_are_of_their_blocks);
    tcase_add_test(tests, padding_was_not_requested);
    tcase_add_test(tests, memory_of_devices_is_none);
    tcase_add_test(tests, the_nearest_answer_counts);
    return RUN_TESTS(tests);
}
