/* SPDX-License-Identifier: Apache-2.0 */
/* The uses of each block, as the writer tells them before its free. */
#include "preload/uses/used-blocks.h"
#include "tests/support/run-tests.h"

#include <check.h>

#define MIB ((uint64_t)1 << 20)

static struct mt_used_blocks *blocks;
static struct mt_event out[MT_USES_OF_BLOCK];
static bool is_hidden;

static void setup(void)
{
    blocks = mt_used_blocks_create();
}

static void teardown(void)
{
    mt_used_blocks_destroy(blocks);
}

static unsigned send(uint64_t time_ns, unsigned kind, uint64_t a, uint64_t b, uint64_t c)
{
    const struct mt_event event = {.time_ns = time_ns,
                                   .kind = (uint16_t)kind,
                                   .thread = 3,
                                   .stack = (uint32_t)time_ns,
                                   .arg = {a, b, c}};
    return mt_used_blocks_event(blocks, &event, out, &is_hidden);
}

static void use(uint64_t time_ns, uint64_t address, uint64_t how)
{
    ck_assert_uint_eq(send(time_ns, MT_USE, address, 7, how), 0);
    ck_assert(is_hidden);
}

static void check_use(unsigned i, uint64_t ago, uint64_t which)
{
    ck_assert_uint_eq(out[i].kind, MT_USES);
    ck_assert_uint_eq(out[i].USES.ago, ago);
    ck_assert_uint_eq(out[i].USES.which, which);
    ck_assert_uint_eq(out[i].stack, which & MT_USES_NONE ? 0 : out[i].time_ns - ago);
}

START_TEST(first_last_and_pause)
{
    send(10, MT_ALLOC, 4 * MIB, MIB, 0);
    ck_assert(!is_hidden);
    use(11, 4 * MIB, 0);
    use(12, 4 * MIB + 512, 0);
    use(92, 5 * MIB - 1, 0);
    use(93, 5 * MIB, 0); /* behind it */
    use(95, 4 * MIB, 0);
    ck_assert_uint_eq(send(100, MT_FREE, 4 * MIB, MIB, 0), 4);
    check_use(0, 88, MT_USES_BEFORE_IDLE);
    check_use(1, 8, MT_USES_AFTER_IDLE);
    check_use(2, 89, MT_USES_FIRST);
    check_use(3, 5, MT_USES_LAST);
    ck_assert_uint_eq(out[3].USES.name, 7);
    ck_assert_uint_eq(send(101, MT_FREE, 4 * MIB, MIB, 0), 0);
}
END_TEST

START_TEST(one_use_and_none)
{
    send(10, MT_ALLOC, 4 * MIB, MIB, 0);
    send(11, MT_ALLOC, 8 * MIB, MIB, 0);
    use(20, 4 * MIB, MT_USE_WRITES);
    ck_assert_uint_eq(send(30, MT_FREE, 4 * MIB, MIB, 0), 1);
    check_use(0, 10, MT_USES_FIRST | MT_USES_LAST | MT_USES_ONLY_WRITTEN);
    ck_assert_uint_eq(send(31, MT_FREE, 8 * MIB, MIB, 0), 1);
    check_use(0, 0, MT_USES_NONE);
}
END_TEST

/* A use within PyTorch's block is none of CUDA's around it. */
START_TEST(levels)
{
    send(1, MT_CUDA_MALLOC, 2 * MIB, 64 * MIB, 0);
    send(2, MT_ALLOC, 4 * MIB, 20 * MIB, 0);
    use(3, 23 * MIB, 0);
    ck_assert_uint_eq(send(4, MT_FREE, 4 * MIB, 20 * MIB, 0), 1);
    check_use(0, 1, MT_USES_FIRST | MT_USES_LAST);
    use(5, 23 * MIB, 0);
    ck_assert_uint_eq(send(6, MT_CUDA_FREE, 2 * MIB, 0, 0), 1);
    check_use(0, 1, MT_USES_FIRST | MT_USES_LAST);
}
END_TEST

START_TEST(graphs)
{
    send(1, MT_ALLOC, 4 * MIB, MIB, 0);
    send(2, MT_ALLOC, 8 * MIB, MIB, 0);
    use(3, 4 * MIB, MT_USE_CAPTURED);
    use(3, 8 * MIB, 0);
    use(7, 0, MT_USE_OF_GRAPH);
    ck_assert_uint_eq(send(9, MT_FREE, 8 * MIB, MIB, 0), 1);
    check_use(0, 6, MT_USES_FIRST | MT_USES_LAST);
    ck_assert_uint_eq(send(9, MT_FREE, 4 * MIB, MIB, 0), 2);
    check_use(0, 6, MT_USES_FIRST);
    check_use(1, 2, MT_USES_LAST | MT_USES_OF_GRAPH);
}
END_TEST

START_TEST(unseen_work_once_a_name)
{
    ck_assert_uint_eq(send(1, MT_USE, 0, 7, MT_USE_UNSEEN), 1);
    ck_assert(is_hidden);
    ck_assert_uint_eq(out[0].kind, MT_UNSEEN_WORK);
    ck_assert_uint_eq(out[0].UNSEEN_WORK.name, 7);
    ck_assert_uint_eq(send(2, MT_USE, 0, 7, MT_USE_UNSEEN), 0);
    ck_assert_uint_eq(send(3, MT_USE, 0, 8, MT_USE_UNSEEN), 1);
}
END_TEST

/* Passing an address in memory is no use, and says that later ones may be unseen. */
START_TEST(passed_in_memory)
{
    send(1, MT_ALLOC, 4 * MIB, MIB, 0);
    send(2, MT_ALLOC, 8 * MIB, MIB, 0);
    use(3, 4 * MIB, 0);
    use(4, 4 * MIB + 8, MT_USE_PASSED);
    use(4, 8 * MIB, MT_USE_PASSED);
    ck_assert_uint_eq(send(9, MT_FREE, 4 * MIB, MIB, 0), 1);
    check_use(0, 6, MT_USES_FIRST | MT_USES_LAST | MT_USES_PASSED);
    ck_assert_uint_eq(send(9, MT_FREE, 8 * MIB, MIB, 0), 1);
    check_use(0, 0, MT_USES_NONE | MT_USES_PASSED);
    send(10, MT_ALLOC, 4 * MIB, MIB, 0);
    ck_assert_uint_eq(send(11, MT_FREE, 4 * MIB, MIB, 0), 1);
    check_use(0, 0, MT_USES_NONE);
}
END_TEST

START_TEST(within_backward)
{
    send(1, MT_ALLOC, 4 * MIB, MIB, 0);
    send(2, MT_NODE_BEGIN, 1, 0, 0);
    use(3, 4 * MIB, 0);
    send(4, MT_NODE_END, 1, 0, 0);
    use(4, 4 * MIB, 0);
    ck_assert_uint_eq(send(5, MT_FREE, 4 * MIB, MIB, 0), 2);
    check_use(0, 2, MT_USES_FIRST | MT_USES_BEFORE_IDLE | MT_USES_IN_BACKWARD);
    check_use(1, 1, MT_USES_LAST | MT_USES_AFTER_IDLE);
}
END_TEST

/* Many blocks in one granule, freed in another order, with one that covers many granules. */
START_TEST(many_blocks)
{
    enum { N = 4096 };
    send(1, MT_ALLOC, 1024 * MIB, 300 * MIB, 0);
    for (uint64_t i = 0; i < N; i++)
        send(2, MT_ALLOC, 2 * MIB + (i * 1021 % N) * 512, 512, 0);
    for (uint64_t i = 0; i < N; i++)
        use(10 + i, 2 * MIB + i * 512 + 511, 0);
    use(10 + N, 1323 * MIB, 0);
    for (uint64_t i = 0; i < N; i++) {
        ck_assert_uint_eq(send(9999, MT_FREE, 2 * MIB + (i * 2039 % N) * 512, 512, 0), 1);
        check_use(0, 9999 - 10 - i * 2039 % N, MT_USES_FIRST | MT_USES_LAST);
    }
    ck_assert_uint_eq(send(9999, MT_FREE, 1024 * MIB, 300 * MIB, 0), 1);
    check_use(0, 9999 - 10 - N, MT_USES_FIRST | MT_USES_LAST);
    use(10000, 1323 * MIB, 0);
}
END_TEST

static unsigned n_live;

static void count(struct mt_event *event, unsigned n)
{
    ck_assert_uint_eq(event[n - 1].time_ns, 50);
    n_live += n;
}

START_TEST(live_ones)
{
    send(1, MT_ALLOC, 4 * MIB, MIB, 0);
    send(1, MT_ALLOC, 8 * MIB, MIB, 0);
    send(1, MT_CUDA_MALLOC, 80 * MIB, MIB, 0);
    use(2, 4 * MIB, 0);
    use(3, 4 * MIB, 0);
    n_live = 0;
    mt_used_blocks_each(blocks, 50, count);
    ck_assert_uint_eq(n_live, 2 + 1 + 1);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("used-blocks");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, first_last_and_pause);
    tcase_add_test(tests, one_use_and_none);
    tcase_add_test(tests, levels);
    tcase_add_test(tests, graphs);
    tcase_add_test(tests, unseen_work_once_a_name);
    tcase_add_test(tests, within_backward);
    tcase_add_test(tests, passed_in_memory);
    tcase_add_test(tests, many_blocks);
    tcase_add_test(tests, live_ones);
    return RUN_TESTS(tests);
}
