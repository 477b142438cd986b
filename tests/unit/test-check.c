/* SPDX-License-Identifier: Apache-2.0 */
/* Budgets, and runs that are held to them: digests made by hand. */
#include "analyzer/support/to-integer.h"
#include "compare/check/budget.h"
#include "compare/check/check-words.h"
#include "tests/support/run-tests.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

static struct mt_budget budget;
static struct mt_budget_error error;
static struct mt_check result;

static struct mt_digest_site site(enum mt_category category, const char *file, const char *function,
                                  uint32_t line, uint64_t bytes)
{
    return (struct mt_digest_site){.category = category,
                                   .file = (char *)file,
                                   .function = (char *)function,
                                   .line = line,
                                   .operator_name = (char *)"",
                                   .module = (char *)"",
                                   .stack = (char *)"",
                                   .bytes = bytes,
                                   .blocks = 1};
}

/* A run of one device: so many MiB at the peak, half of it by one line. */
struct run {
    struct mt_digest digest;
    struct mt_digest_device device;
    struct mt_digest_site site[3];
    struct mt_digest_place place[3];
};

static struct mt_digest made(struct run *run, uint64_t mib)
{
    run->site[0] = site(MT_CATEGORY_PARAMETERS, "train.py", "main", 3, mib * MIB / 4);
    run->site[1] = site(MT_CATEGORY_ACTIVATIONS, "models/net.py", "Net.forward", 7, mib * MIB / 4);
    run->site[2] = site(MT_CATEGORY_ACTIVATIONS, "models/net.py", "Net.forward", 9, mib * MIB / 2);
    run->site[2].module = (char *)"layers.3.mlp";
    run->device = (struct mt_digest_device){.allocated = mib * MIB,
                                            .reserved = 2 * mib * MIB,
                                            .most_reserved = 2 * mib * MIB,
                                            .cached = mib * MIB,
                                            .phase = MT_PHASE_BACKWARD,
                                            .site = run->site,
                                            .n_sites = 3};
    for (size_t i = 0; i < 3; i++)
        run->place[i] = (struct mt_digest_place){.file = run->site[i].file,
                                                 .function = run->site[i].function,
                                                 .line = run->site[i].line,
                                                 .operator_name = (char *)"",
                                                 .allocations = 1,
                                                 .most_bytes = run->site[i].bytes};
    qsort(run->place, 3, sizeof *run->place, mt_digest_place_order);
    run->device.place = run->place;
    run->device.n_places = 3;
    run->device.category[MT_CATEGORY_PARAMETERS] = mib * MIB / 4;
    run->device.category[MT_CATEGORY_ACTIVATIONS] = mib * MIB * 3 / 4;
    run->device.most_in_phase[MT_PHASE_BACKWARD] = mib * MIB;
    run->digest = (struct mt_digest){.path = (char *)"run.mtap",
                                     .allocator = (char *)"",
                                     .rank = -1,
                                     .world_size = -1,
                                     .devices = &run->device,
                                     .n_devices = 1,
                                     .complete = 1,
                                     .is_sound = 1};
    return run->digest;
}

static int parse(const char *text)
{
    mt_budget_clear(&budget);
    return mt_budget_parse(&budget, "b.toml", text, strlen(text), &error);
}

static const struct mt_finding *hold(const char *text, const struct mt_digest *run,
                                     const struct mt_digest *baselines, size_t n)
{
    ck_assert_msg(!parse(text), "%u:%u: %s", error.line, error.column, error.text);
    mt_check_clear(&result);
    ck_assert_int_eq(mt_check_make(&result, &budget, &(struct mt_check_allowed){.ends = 0}, run, 1,
                                   baselines, n),
                     0);
    return result.finding;
}

static void end(void)
{
    mt_check_clear(&result);
    mt_budget_clear(&budget);
}

START_TEST(amounts)
{
    static const struct {
        const char *text;
        enum mt_unit unit;
        bool is_relative;
        uint64_t value;
    } good[] = {{"22 GiB", MT_BYTES, 0, 22 * 1024 * MIB},
                {"0 B", MT_BYTES, 0, 0},
                {"65536", MT_BYTES, 0, 65536},
                {"1 GB", MT_BYTES, 0, 1024 * MIB},
                {"+64m", MT_BYTES, 1, 64 * MIB},
                {"1.5KiB", MT_BYTES, 0, 1536},
                {"+2 %", MT_PERCENT, 1, 200},
                {"+64 MiB", MT_BYTES, 1, 64 * MIB},
                {"12.25 %", MT_PERCENT, 0, 1225},
                {"2 TiB", MT_BYTES, 0, 2 * 1024 * 1024 * MIB}};
    static const char *const bad[] = {
        "",      "GiB",   "-1 GiB", "1 GBs",   "+ 2 %",           "%",     "1e3 B",
        "0x1 B", "nan B", "1 GiB ", "1.2.3 B", "99999999999 TiB", "inf %", "2 percent"};
    struct mt_amount amount;
    char why[200];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ck_assert_int_eq(mt_amount_parse(good[i].text, &amount, why, sizeof why), 0);
        ck_assert_int_eq(amount.unit, good[i].unit);
        ck_assert_int_eq(amount.is_relative, good[i].is_relative);
        ck_assert_uint_eq(amount.value, good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(mt_amount_parse(bad[i], &amount, why, sizeof why) && *why, "%s", bad[i]);
}
END_TEST

START_TEST(numbers_that_do_not_fit_are_the_largest)
{
    struct mt_amount amount;
    char text[MT_AMOUNT_TEXT], why[200];
    ck_assert_uint_eq(mt_percent_of(UINT64_MAX, 1), UINT64_MAX);
    ck_assert_uint_eq(mt_part_by_percent(UINT64_MAX, 20000), UINT64_MAX);
    mt_amount_round(text, UINT64_MAX, 0);
    ck_assert_msg(!mt_amount_parse(text, &amount, why, sizeof why), "%s: %s", text, why);
    ck_assert_int_eq(mt_to_int64(-1e300), INT64_MIN);
    ck_assert_int_eq(mt_to_int64(0x1p63), INT64_MAX);
    ck_assert_int_eq(mt_to_int64(NAN), 0);
    ck_assert_int_eq(mt_to_int64(-1.75), -1);
    ck_assert_uint_eq(mt_to_uint64(-1), 0);
    ck_assert_uint_eq(mt_to_uint64(NAN), 0);
}
END_TEST

/* "5 %" lets at most 5 % pass, and the measured amount itself. */
START_TEST(round_limits_are_at_most_as_requested)
{
    struct mt_amount amount;
    char text[MT_AMOUNT_TEXT], why[200];
    mt_amount_round(text, (uint64_t)(15.49 * 1.05 * 1024) * MIB, (uint64_t)(15.49 * 1024) * MIB);
    ck_assert_str_eq(text, "16.26 GiB");
    mt_amount_round(text, 1234567890123, 1234567890123);
    ck_assert_str_eq(text, "1234567890123 B");
    for (uint64_t bytes = 1; bytes < UINT64_C(1) << 44; bytes += bytes / 7 + 1) {
        mt_amount_round(text, bytes, bytes / 2);
        ck_assert_int_eq(mt_amount_parse(text, &amount, why, sizeof why), 0);
        ck_assert_uint_le(amount.value, bytes);
        ck_assert_msg((double)amount.value > 0.998 * (double)bytes - 1, "%s", text);
        ck_assert_uint_le(strspn(strpbrk(text, "123456789"), "0123456789."), 5);
        mt_amount_round(text, bytes, bytes);
        ck_assert_int_eq(mt_amount_parse(text, &amount, why, sizeof why), 0);
        ck_assert_uint_eq(amount.value, bytes);
    }
}
END_TEST

START_TEST(faults_have_a_place)
{
    static const struct {
        const char *text;
        unsigned line, column;
        const char *what;
    } faults[] = {
        {"[limits]\npeek = \"1 B\"", 2, 1, "unknown limit 'peek'; did you mean 'peak'?"},
        {"limits = { peek = \"1 B\" }", 1, 12, "unknown limit 'peek'"},
        {"[limits]\npeak = 3.5", 2, 1, "'peak' is a number; expected a string"},
        {"[limits]\npeak = -3", 2, 1, "'-3' is not a size"},
        {"[limits]\nfragmentation = 3", 2, 1, "'fragmentation' is a fraction"},
        {"[limits]\npeak = \"3 GBs\"", 2, 1, "'3 GBs' is not a size; did you mean '3 G'?"},
        {"[limits]\npeak = \"3 %\"", 2, 1, "'peak' is a size"},
        {"[limits]\nfragmentation = \"3 MiB\"", 2, 1, "'fragmentation' is a fraction"},
        {"\n[limit]\n", 2, 2, "unknown key 'limit'; did you mean 'limits'?"},
        {"[category]\nactivation = \"1 B\"", 2, 1,
         "unknown category 'activation'; did you mean 'activations'?"},
        {"[phase]\nstep = \"1 B\"", 2, 1,
         "unknown phase 'step'; use outside, forward, backward, optimizer or every"},
        {"[site]\n\"net.py:12\" = \"1 B\"", 2, 1, "line numbers change"},
        {"[limits]\npeak = \"1 B\npeak", 2, 12, "Error while parsing"},
        {"[limits]\npeak = \"1 B\"\npeak = \"2 B\"", 3, 8, "cannot redefine"},
        {"[limits]\npeak = \"1 B\"\n[[allow]]\nlimit = \"peak\"", 3, 1, "has no 'extra'"},
        {"[limits]\npeak = \"1 B\"\n[[allow]]\nlimit = \"reserved\"\nextra = \"1 B\"\n"
         "reason = \"r\"\nuntil = 2027-01-01",
         4, 1, "there is no limit 'reserved'"},
        {"[limits]\npeak = \"1 B\"\n[[allow]]\nuntil = \"2027-01-01\"", 4, 1,
         "'until' is a string; expected a date"},
        {"[limits]\npeak = \"1 B\"\n[[allow]]\nuntil = 2027-02-30", 4, 19, "expected day"},
        {"# a table\n[`limits]\npeak = \"1 B\"", 2, 1, "not a TOML file"},
        {"ignore = \"1 MiB\"", 0, 0, "no limits"},
        {"ignore = \"+1 MiB\"", 1, 1, "'ignore' is an absolute size"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        ck_assert_int_eq(parse(faults[i].text), -EINVAL);
        ck_assert_msg(error.line == faults[i].line && error.column == faults[i].column &&
                          strstr(error.text, faults[i].what),
                      "%s: %u:%u: %s", faults[i].text, error.line, error.column, error.text);
    }
}
END_TEST

START_TEST(absolute_limits)
{
    struct run run;
    struct mt_digest digest = made(&run, 100);
    const struct mt_finding *f =
        hold("[limits]\npeak=104857600\nreserved=\"199.9 MiB\"\nfragmentation=\"50 %\"\n"
             "growth=0\n[category]\nactivations=\"74 MiB\"\n[phase]\nbackward=\"99 MiB\"\n"
             "forward=\"0 B\"\n",
             &digest, NULL, 0);
    ck_assert_uint_eq(result.n, 7);
    ck_assert_uint_eq(result.broken, 3);
    ck_assert(!f[0].is_broken && f[1].is_broken && !f[2].is_broken && !f[3].is_broken);
    ck_assert(f[4].is_broken && f[5].is_broken && !f[6].is_broken);
    ck_assert_uint_eq(f[2].value, 5000);
    ck_assert_ptr_eq(f[4].blame.site, &run.site[2]); /* the larger line of the function */
    ck_assert_uint_eq(f[4].blame.bytes, 50 * MIB);
}
END_TEST

START_TEST(patterns_of_sites_and_modules)
{
    struct run run;
    struct mt_digest digest = made(&run, 100);
    static const struct {
        const char *text;
        uint64_t mib;
    } cases[] = {{"[site]\n\"net.py\"=\"1 B\"", 75},     {"[site]\n\"models/*:Net.*\"=\"1 B\"", 75},
                 {"[site]\n\"et.py\"=\"1 B\"", 0},       {"[site]\n\"*:main\"=\"1 B\"", 25},
                 {"[module]\n\"layers.3\"=\"1 B\"", 50}, {"[module]\n\"layers.*.mlp\"=\"1 B\"", 50},
                 {"[module]\n\"layers.30\"=\"1 B\"", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_uint_eq(hold(cases[i].text, &digest, NULL, 0)->value, cases[i].mib * MIB);
    const struct mt_finding *f =
        hold("[site]\n\"train.py\"=\"1 GiB\"\nevery=\"70 MiB\"\n[module]\nevery=\"1 GiB\"", &digest,
             NULL, 0);
    ck_assert_uint_eq(result.n, 3);
    ck_assert_str_eq(f[1].name, "site.models/net.py:Net.forward");
    ck_assert(f[1].is_broken && f[1].value == 75 * MIB);
    ck_assert_str_eq(f[2].name, "module.layers.3.mlp");
}
END_TEST

START_TEST(relative_to_the_median_and_the_spread)
{
    struct run run, base[3];
    struct mt_digest digest = made(&run, 110);
    struct mt_digest bases[3] = {made(&base[0], 104), made(&base[1], 98), made(&base[2], 100)};
    static const char budget_text[] = "[limits]\npeak=\"+2 %\"";
    const struct mt_finding *f = hold(budget_text, &digest, bases, 3);
    ck_assert_uint_eq(f->base, 100 * MIB);
    ck_assert_uint_eq(f->spread, 6 * MIB);
    ck_assert_uint_eq(f->most, 106 * MIB);
    ck_assert_ptr_eq(f->baseline, &bases[2]);
    ck_assert(f->is_broken);
    digest = made(&run, 106);
    ck_assert(!hold(budget_text, &digest, bases, 3)->is_broken);
    ck_assert(hold(budget_text, &digest, &bases[2], 1)->is_broken); /* 102 */
    ck_assert(!hold("ignore=\"6 MiB\"\n[limits]\npeak=\"+2 %\"", &digest, &bases[2], 1)->is_broken);
    ck_assert(hold("ignore=\"5 MiB\"\n[limits]\npeak=\"+2 %\"", &digest, &bases[2], 1)->is_broken);
    ck_assert(!hold("[limits]\npeak=\"+6 MiB\"", &digest, &bases[2], 1)->is_broken);
}
END_TEST

/* A limit is what is said of it, to the byte; who has not half of the growth has not most of it. */
START_TEST(words_account_for_the_limit)
{
    static const struct {
        const char *budget, *text;
        uint64_t allowed[3]; /* MiB: of the baselines */
    } cases[] = {
        {"ignore=\"1 MiB\"\n[limits]\npeak=\"+0.5 %\"",
         "the limit of 101.00 MiB (+0.5 % and at least 1.00 MiB over 100.00 MiB)",
         {100}},
        {"[limits]\npeak=\"+2 %\"", "the limit of 102.00 MiB (+2 % of 100.00 MiB)", {100}},
        {"[limits]\npeak=\"+3 MiB\"", "the limit of 103.00 MiB (+3 MiB over 100.00 MiB)", {100}},
        {"[limits]\npeak=\"+2 %\"",
         "the limit of 106.00 MiB (+2 % and at least the baselines' spread of 6.00 MiB over "
         "100.00 MiB, the median of 3 baselines with a spread of 6.00 MiB)",
         {104, 98, 100}},
    };
    char text[MT_FINDING_TEXT];
    struct run run, base[3];
    struct mt_digest digest = made(&run, 110), bases[3];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = 0;
        for (; n < 3 && cases[i].allowed[n]; n++)
            bases[n] = made(&base[n], cases[i].allowed[n]);
        const struct mt_finding *f = hold(cases[i].budget, &digest, bases, n);
        ck_assert_ptr_nonnull(strstr(mt_finding_text(text, f), cases[i].text));
    }
}
END_TEST

START_TEST(growth_is_never_ignored)
{
    struct run run, base;
    struct mt_digest digest = made(&run, 100), before = made(&base, 100);
    struct mt_digest_site leak = site(MT_CATEGORY_ACTIVATIONS, "train.py", "log_loss", 12, 3 * 512);
    run.device.growth = 512;
    run.device.grows = leak;
    run.device.iterations = MT_GROWTH_ITERATIONS;
    ck_assert_int_eq(parse(mt_budget_default), 0);
    const struct mt_finding *f = hold(mt_budget_default, &digest, &before, 1);
    char text[MT_FINDING_TEXT];
    ck_assert_uint_eq(result.broken, 1);
    ck_assert(f[2].is_broken);
    ck_assert_str_eq(mt_finding_text(text, &f[2]),
                     "growth: 512 B per iteration, 512 B over the limit of 0 B (+0 B over 0 B); "
                     "left behind in total: 1.50 KiB of activations by train.py:12 log_loss");
}
END_TEST

START_TEST(blames_what_has_grown)
{
    struct run run, base;
    struct mt_digest digest = made(&run, 100), before = made(&base, 100);
    run.site[0].bytes += 10 * MIB;
    run.site[0].line = run.place[2].line = 33; /* moved */
    run.place[2].most_bytes += 10 * MIB;
    run.device.allocated += 10 * MIB;
    const struct mt_finding *f = hold("[limits]\npeak=\"+2 %\"", &digest, &before, 1);
    char text[MT_FINDING_TEXT];
    ck_assert_ptr_eq(f->blame.site, &run.site[0]);
    ck_assert_str_eq(
        mt_finding_text(text, f),
        "peak: 110.00 MiB, 8.00 MiB (7.8 %) over the limit of 102.00 MiB (+2 % of "
        "100.00 MiB); most of the growth, 10.00 MiB of parameters by train.py:33 main");
    ck_assert_str_eq(mt_finding_next(text, f), "memtap diff run.mtap run.mtap");
}
END_TEST

START_TEST(allowances_end)
{
    struct run run;
    struct mt_digest digest = made(&run, 100);
    static const char text[] = "[limits]\npeak=\"90 MiB\"\n[[allow]]\nlimit=\"peak\"\n"
                               "extra=\"20 %\"\nreason=\"r\"\nuntil=2026-12-31\n";
    const struct mt_finding *f = hold(text, &digest, NULL, 0);
    ck_assert(!f->is_broken && f->allowance == budget.allowance);
    ck_assert_uint_eq(f->most, 108 * MIB);
    mt_budget_set_today(&budget, 2026, 12, 31);
    ck_assert(!budget.allowance->has_expired);
    mt_budget_set_today(&budget, 2027, 1, 1);
    ck_assert(budget.allowance->has_expired);
    mt_check_clear(&result);
    ck_assert_int_eq(
        mt_check_make(&result, &budget, &(struct mt_check_allowed){.ends = 0}, &digest, 1, NULL, 0),
        0);
    ck_assert(result.finding->is_broken && !result.finding->allowance);
}
END_TEST

START_TEST(each_rank_has_its_baseline)
{
    struct run run, base[2];
    struct mt_digest digest = made(&run, 150);
    struct mt_digest bases[2] = {made(&base[0], 100), made(&base[1], 150)};
    digest.rank = bases[1].rank = 1;
    bases[0].rank = 0;
    digest.world_size = bases[0].world_size = bases[1].world_size = 2;
    const struct mt_finding *missing = hold("[limits]\npeak=\"+2 %\"", &digest, bases, 2);
    ck_assert(missing->is_broken && missing->limit == &mt_missing_limit);
    ck_assert(!missing[1].is_broken && missing[1].limit == budget.limit);
    bases[0].rank = 1;
    bases[1].rank = 0;
    ck_assert(hold("[limits]\npeak=\"+2 %\"", &digest, bases, 2)[1].is_broken);
}
END_TEST

START_TEST(what_is_proposed_holds)
{
    for (uint64_t mib = 1; mib < 100000; mib += mib / 3 + 1) {
        struct run run;
        struct mt_digest digest = made(&run, mib);
        char *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);
        ck_assert_int_eq(mt_propose_budget(&digest, 1, 500, out), 0);
        fclose(out);
        hold(text, &digest, NULL, 0);
        ck_assert_uint_eq(result.broken, 0);
        ck_assert_uint_ge(result.n, 6);
        ck_assert(strstr(text, "#\"models/net.py:Net.forward\" = "));
        free(text);
        digest = made(&run, mib * 5 / 4 + 1);
        mt_check_clear(&result);
        ck_assert_int_eq(mt_check_make(&result, &budget, &(struct mt_check_allowed){.ends = 0},
                                       &digest, 1, NULL, 0),
                         0);
        ck_assert_uint_ge(result.broken, 5);
    }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("check");
    tcase_add_checked_fixture(tests, NULL, end);
    tcase_add_test(tests, amounts);
    tcase_add_test(tests, numbers_that_do_not_fit_are_the_largest);
    tcase_add_test(tests, round_limits_are_at_most_as_requested);
    tcase_add_test(tests, faults_have_a_place);
    tcase_add_test(tests, absolute_limits);
    tcase_add_test(tests, patterns_of_sites_and_modules);
    tcase_add_test(tests, relative_to_the_median_and_the_spread);
    tcase_add_test(tests, words_account_for_the_limit);
    tcase_add_test(tests, growth_is_never_ignored);
    tcase_add_test(tests, blames_what_has_grown);
    tcase_add_test(tests, allowances_end);
    tcase_add_test(tests, each_rank_has_its_baseline);
    tcase_add_test(tests, what_is_proposed_holds);
    return RUN_TESTS(tests);
}
