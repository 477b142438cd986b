/* SPDX-License-Identifier: Apache-2.0 */
/* compare/history/change-point.h on made-up series, of which it is known where they change. */
#include "compare/history/change-point.h"
#include "tests/support/run-tests.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define NIGHTS 60
#define SERIES 1000
#define LEVEL (20.0 * 1024 * 1024 * 1024)
#define NOISE 0.005

static uint64_t state;

/* Uniform in (0, 1), by SplitMix64. */
static double uniform(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

/* Bytes of each night; `step` (a part of the level) more from night `at` on. */
static void make(double *value, size_t n, double noise, size_t at, double step)
{
    for (size_t i = 0; i < n; i++)
        value[i] = round(LEVEL * (1 + noise * normal() + (i >= at ? step : 0)));
}

static bool is_near(const struct mt_changes *changes, size_t at)
{
    for (size_t i = 0; i < changes->n_steps; i++)
        if (changes->step[i].at + 1 >= at && changes->step[i].at <= at + 1)
            return true;
    return false;
}

/* Series with one step at any night but the first: how many of them have it found within a night.
 */
static unsigned count_found(size_t least, size_t most, unsigned *others)
{
    unsigned found = 0;
    for (unsigned i = 0; i < SERIES; i++) {
        struct mt_changes changes;
        double value[NIGHTS];
        size_t at = least + (size_t)(uniform() * (double)(most - least + 1));
        make(value, NIGHTS, NOISE, at, i % 2 ? 0.02 : -0.02);
        ck_assert_int_eq(mt_changes_find(&changes, value, NIGHTS), 0);
        found += (unsigned)is_near(&changes, at);
        *others += changes.n_steps > 1;
        mt_changes_clear(&changes);
    }
    return found;
}

START_TEST(steps_are_found)
{
    unsigned others = 0;
    state = 1;
    unsigned found = count_found(1, NIGHTS - 1, &others);
    printf("steps at any night: %u of %u within a night, %u with another\n", found, SERIES, others);
    ck_assert_uint_ge(found, SERIES * 95 / 100);
    ck_assert_uint_le(others, SERIES / 50);
    found = count_found(3, NIGHTS - 3, &others);
    printf("with three nights on both sides: %u\n", found);
    ck_assert_uint_ge(found, SERIES * 99 / 100);
}
END_TEST

START_TEST(nothing_is_found_in_noise)
{
    unsigned alarms = 0, drifts = 0;
    state = 2;
    for (unsigned i = 0; i < SERIES; i++) {
        struct mt_changes changes;
        double value[NIGHTS];
        make(value, NIGHTS, NOISE, NIGHTS, 0);
        ck_assert_int_eq(mt_changes_find(&changes, value, NIGHTS), 0);
        alarms += changes.n_steps > 0;
        drifts += changes.n_drifts > 0;
        mt_changes_clear(&changes);
    }
    printf("no step: %u false alarms, %u drifts\n", alarms, drifts);
    ck_assert_uint_le(alarms + drifts, SERIES / 100);
}
END_TEST

static struct mt_changes changes_of(const double *value, size_t n)
{
    struct mt_changes changes;
    ck_assert_int_eq(mt_changes_find(&changes, value, n), 0);
    return changes;
}

START_TEST(without_noise_every_step_counts)
{
    for (size_t n = MT_LEAST_NIGHTS; n < 12; n++)
        for (size_t at = 1; at < n; at++) {
            double value[12];
            make(value, n, 0, at, 512 / LEVEL);
            struct mt_changes changes = changes_of(value, n);
            ck_assert_uint_eq(changes.n_steps, 1);
            ck_assert_uint_eq(changes.step[0].at, at);
            ck_assert(changes.step[0].after - changes.step[0].before == 512);
            ck_assert_uint_eq(changes.n_drifts, 0);
            mt_changes_clear(&changes);
        }
}
END_TEST

START_TEST(one_odd_night_is_two_steps)
{
    static const double odd[] = {7, 7, 7, 9, 7, 7};
    struct mt_changes changes = changes_of(odd, 6);
    ck_assert_uint_eq(changes.n_steps, 2);
    ck_assert_uint_eq(changes.step[0].at, 3);
    ck_assert_uint_eq(changes.step[1].at, 4);
    mt_changes_clear(&changes);
    double value[NIGHTS];
    state = 3;
    make(value, NIGHTS, NOISE, NIGHTS, 0);
    for (size_t i = 30; i < 34; i++)
        value[i] *= 1.03;
    changes = changes_of(value, NIGHTS);
    ck_assert_uint_eq(changes.n_steps, 2);
    ck_assert_uint_eq(changes.step[0].at, 30);
    ck_assert_uint_eq(changes.step[1].at, 34);
    mt_changes_clear(&changes);
}
END_TEST

START_TEST(several_steps)
{
    double value[NIGHTS];
    state = 4;
    make(value, NIGHTS, NOISE, 15, 0.03);
    for (size_t i = 40; i < NIGHTS; i++)
        value[i] += LEVEL * 0.05;
    struct mt_changes changes = changes_of(value, NIGHTS);
    ck_assert_uint_eq(changes.n_steps, 2);
    ck_assert_uint_eq(changes.step[0].at, 15);
    ck_assert_uint_eq(changes.step[1].at, 40);
    ck_assert(fabs(changes.step[0].before / LEVEL - 1) < 0.005);
    ck_assert(fabs(changes.step[1].before / LEVEL - 1.03) < 0.005);
    ck_assert(fabs(changes.step[1].after / LEVEL - 1.08) < 0.005);
    mt_changes_clear(&changes);
}
END_TEST

/* Half a percent a night, with and without noise, and then with a step in it. */
START_TEST(slow_growth_is_no_step)
{
    double value[NIGHTS];
    state = 5;
    for (int noisy = 0; noisy < 2; noisy++) {
        make(value, NIGHTS, noisy * NOISE, NIGHTS, 0);
        for (size_t i = 0; i < NIGHTS; i++)
            value[i] += (double)i * 100 * 1048576;
        struct mt_changes changes = changes_of(value, NIGHTS);
        ck_assert_uint_eq(changes.n_steps, 0);
        ck_assert_uint_eq(changes.n_drifts, 1);
        ck_assert_uint_eq(changes.drift[0].to - changes.drift[0].from, NIGHTS);
        ck_assert(fabs(changes.drift[0].slope / 1048576 - 100) < 5);
        mt_changes_clear(&changes);
    }
    for (size_t i = 40; i < NIGHTS; i++)
        value[i] += LEVEL * 0.05;
    struct mt_changes changes = changes_of(value, NIGHTS);
    ck_assert_uint_eq(changes.n_steps, 1);
    ck_assert_uint_eq(changes.step[0].at, 40);
    ck_assert(fabs((changes.step[0].after - changes.step[0].before) / LEVEL - 0.05) < 0.01);
    ck_assert_uint_eq(changes.n_drifts, 2);
    mt_changes_clear(&changes);
}
END_TEST

START_TEST(few_nights)
{
    static const double two[] = {1e9, 2e9}, noisy[] = {1.00e9, 1.01e9, 0.99e9, 5e9, 5.01e9, 4.99e9};
    for (size_t n = 0; n <= 2; n++) {
        struct mt_changes changes = changes_of(two, n);
        ck_assert_uint_eq(changes.n_steps + changes.n_drifts, 0);
        mt_changes_clear(&changes);
    }
    struct mt_changes changes = changes_of(noisy, 6);
    ck_assert_uint_eq(changes.n_steps, 1);
    ck_assert_uint_eq(changes.step[0].at, 3);
    mt_changes_clear(&changes);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("change-point");
    tcase_add_test(tests, steps_are_found);
    tcase_add_test(tests, nothing_is_found_in_noise);
    tcase_add_test(tests, without_noise_every_step_counts);
    tcase_add_test(tests, one_odd_night_is_two_steps);
    tcase_add_test(tests, several_steps);
    tcase_add_test(tests, slow_growth_is_no_step);
    tcase_add_test(tests, few_nights);
    return RUN_TESTS(tests);
}
