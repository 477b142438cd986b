/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/record/clock.h"
#include "tests/support/run-tests.h"

#include <unistd.h>

#define WRONG_NS 50000 /* at most: the kernel may change its own rate meanwhile */

static uint64_t kernels_ns(void)
{
    return mt_clock(CLOCK_MONOTONIC);
}

static void assert_right(void)
{
    uint64_t before = kernels_ns(), now = mt_now(), after = kernels_ns();
    ck_assert_uint_ge(now + WRONG_NS, before);
    ck_assert_uint_le(now, after + WRONG_NS);
}

START_TEST(agrees_with_the_kernels_clock_and_never_goes_back)
{
    uint64_t last = 0;
    mt_clock_start();
    for (int round = 0; round < 100; round++) {
        usleep(1000);
        mt_clock_adjust();
        assert_right();
        for (int i = 0; i < 1000; i++) {
            uint64_t now = mt_now();
            ck_assert_uint_ge(now, last);
            last = now;
        }
    }
}
END_TEST

START_TEST(a_counter_that_jumped_is_not_used_again)
{
    mt_clock_start();
    static struct mt_clock_line line = {.rate = 1ull << 32};
    line.ticks = mt_ticks();
    line.ns = kernels_ns() + 1000000000;
    atomic_store(&mt_clock_line, &line);
    for (int round = 0; round < 30; round++) {
        mt_clock_adjust();
        usleep(1000);
    }
    /* Where the kernel has another clock, nobody corrects what was put there. */
    if (atomic_load(&mt_clock_line) != &line)
        ck_assert_ptr_null(atomic_load(&mt_clock_line));
}
END_TEST

START_TEST(a_written_time_is_as_exact_as_the_time_before_it_is_near)
{
    const uint64_t last = 10 * MT_CLOCK_STEP;
    for (uint64_t passed = 0; passed < 20000; passed++) {
        uint64_t written = mt_clock_round(last + passed, last) - last, less = passed - written;
        ck_assert_uint_le(written, passed);
        ck_assert_uint_eq(written % MT_CLOCK_STEP, 0);
        ck_assert_uint_lt(less, passed < 1024 ? MT_CLOCK_STEP : passed / 8 + 1);
        ck_assert_uint_lt(less, MT_CLOCK_MOST_STEP);
        if (passed >= 8192)
            ck_assert_uint_eq(written % MT_CLOCK_MOST_STEP, 0);
    }
    ck_assert_uint_eq(mt_clock_round(last - 1, last), last - MT_CLOCK_STEP); /* it came late */
}
END_TEST

int main(void)
{
    TCase *all = tcase_create("clock");
    tcase_add_test(all, agrees_with_the_kernels_clock_and_never_goes_back);
    tcase_add_test(all, a_counter_that_jumped_is_not_used_again);
    tcase_add_test(all, a_written_time_is_as_exact_as_the_time_before_it_is_near);
    return RUN_TESTS(all);
}
