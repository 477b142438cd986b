/* SPDX-License-Identifier: Apache-2.0 */
/* What values the settings take: the same for the library's variables and for memtap run's options.
 */
#include "tests/support/run-tests.h"
#include "trace-format/settings/size.h"
#include "trace-format/settings/table.h"

#include <check.h>
#include <errno.h>
#include <string.h>

static const struct {
    enum mt_setting_id id;
    const char *value;
    bool is_right;
} values[] = {
    {MT_ID_output, "x.mtap", 1},
    {MT_ID_output, "%p%e%h%r%%", 1},
    {MT_ID_output, "/a b/\xff\xc3\xbc-%r.mtap", 1},
    {MT_ID_output, "%", 0},
    {MT_ID_output, "x%", 0},
    {MT_ID_output, "%x", 0},
    {MT_ID_output, "%%x%%%", 0},
    {MT_ID_output, "%P", 0},
    {MT_ID_stacks, "python", 1},
    {MT_ID_stacks, "native", 1},
    {MT_ID_stacks, "both", 1},
    {MT_ID_stacks, "none", 1},
    {MT_ID_stacks, "", 0},
    {MT_ID_stacks, "non", 0},
    {MT_ID_stacks, "nonee", 0},
    {MT_ID_stacks, " none", 0},
    {MT_ID_stacks, "native both", 0},
    {MT_ID_stacks, "b\xc3\xb6th", 0},
    {MT_ID_cupti, "auto", 1},
    {MT_ID_cupti, "on", 1},
    {MT_ID_cupti, "o", 0},
    {MT_ID_quiet, "0", 1},
    {MT_ID_quiet, "1", 1},
    {MT_ID_quiet, "yes", 0},
    {MT_ID_quiet, "01", 0},
    {MT_ID_verbose, "1", 1},
    {MT_ID_verbose, "2", 0},
    {MT_ID_level, "1", 1},
    {MT_ID_level, "19", 1},
    {MT_ID_level, "0", 0},
    {MT_ID_level, "20", 0},
    {MT_ID_level, "-1", 0},
    {MT_ID_level, " 3", 0},
    {MT_ID_level, "+3", 0},
    {MT_ID_level, "3x", 0},
    {MT_ID_level, "", 0},
    {MT_ID_level, "18446744073709551617", 0},
    {MT_ID_mode, "umask", 1},
    {MT_ID_mode, "640", 1},
    {MT_ID_mode, "0664", 1},
    {MT_ID_mode, "440", 0},
    {MT_ID_mode, "1777", 0},
    {MT_ID_mode, "888", 0},
    {MT_ID_mode, "rw", 0},
    {MT_ID_mode, "77777777777777777777", 0},
    {MT_ID_limit_time, "none", 1},
    {MT_ID_limit_time, "90", 1},
    {MT_ID_limit_time, "1.5h", 1},
    {MT_ID_limit_time, "0s", 0},
    {MT_ID_limit_time, "5y", 0},
    {MT_ID_limit_time, "99999999999h", 0},
    {MT_ID_holders, "oom", 1},
    {MT_ID_holders, "none", 1},
    {MT_ID_holders, "end,oom,growth", 1},
    {MT_ID_holders, "oom,never", 0},
    {MT_ID_holders, "oom,", 0},
    {MT_ID_holders, "", 0},
    {MT_ID_uses, "1", 1},
    {MT_ID_uses, "0", 1},
    {MT_ID_uses, "yes", 0},
    {MT_ID_keep_runs, "all", 1},
    {MT_ID_keep_runs, "14d", 1},
    {MT_ID_keep_runs, "20G", 1},
    {MT_ID_keep_runs, "36h,1.5T", 1},
    {MT_ID_keep_runs, "10M,14d", 1},
    {MT_ID_keep_runs, "14d,15d", 0},
    {MT_ID_keep_runs, "14d,", 0},
    {MT_ID_keep_runs, "5y", 0},
    {MT_ID_keep_runs, ",", 0},
    {MT_ID_limit_events, "none", 1},
    {MT_ID_limit_events, "1000000", 1},
    {MT_ID_limit_events, "0", 0},
    {MT_ID_limit_events, "1e6", 0},
    {MT_ID_limit_events, "99999999999999999999", 0},
    {MT_ID_keep, "all", 1},
    {MT_ID_keep, "1M", 1},
    {MT_ID_keep, "1048576", 1},
    {MT_ID_keep, "1024k", 1},
    {MT_ID_keep, "512MiB", 1},
    {MT_ID_keep, "1.5g", 1},
    {MT_ID_keep, "2TB", 1},
    {MT_ID_keep, "1048575", 0},
    {MT_ID_keep, "0", 0},
    {MT_ID_keep, "", 0},
    {MT_ID_keep, "G", 0},
    {MT_ID_keep, "1.G", 0},
    {MT_ID_keep, ".5G", 0},
    {MT_ID_keep, "-1G", 0},
    {MT_ID_keep, "+1G", 0},
    {MT_ID_keep, " 1G", 0},
    {MT_ID_keep, "1G ", 0},
    {MT_ID_keep, "1GG", 0},
    {MT_ID_keep, "1e9", 0},
    {MT_ID_keep, "all of it", 0},
    {MT_ID_keep, "9999999T", 0},
    {MT_ID_keep, "99999999999999999999999", 0},
};

START_TEST(times_are_read)
{
    const uint64_t second = 1000000000;
    ck_assert_uint_eq(mt_setting_time("90"), 90 * second);
    ck_assert_uint_eq(mt_setting_time("1.5m"), 90 * second);
    ck_assert_uint_eq(mt_setting_time("0.001s"), second / 1000);
    ck_assert_uint_eq(mt_setting_time("2h"), 7200 * second);
    ck_assert_uint_eq(mt_setting_time("20.0000019ms"), 20000001);
    ck_assert_uint_eq(mt_setting_time("2min"), 120 * second);
    ck_assert_uint_eq(mt_setting_time("1w"), 7 * 86400 * second);
    ck_assert_uint_eq(mt_setting_time("none"), 0);
}
END_TEST

START_TEST(sizes_are_read)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {{"0", 0},
                 {"4096", 4096},
                 {"4096B", 4096},
                 {"1K", 1024},
                 {"512MiB", UINT64_C(512) << 20},
                 {"80000MiB", UINT64_C(80000) << 20},
                 {"24G", UINT64_C(24) << 30},
                 {"24g", UINT64_C(24) << 30},
                 {"24GB", UINT64_C(24) << 30},
                 {"141GiB", UINT64_C(141) << 30},
                 {"1.5G", UINT64_C(3) << 29},
                 {"0.25t", UINT64_C(1) << 38},
                 {"0.000001K", 1},
                 {"64 MiB", 64 << 20},
                 {"64MiB", 64 << 20},
                 {"64Mi", 64 << 20},
                 {"64M", 64 << 20},
                 {"65536", 65536},
                 {"1.05 MiB", 1101005},
                 {"7E", UINT64_C(7) << 60},
                 {"9223372036854775807", INT64_MAX}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t bytes = 7;

        ck_assert_msg(!mt_size_parse(cases[i].text, &bytes), "%s", cases[i].text);
        ck_assert_uint_eq(bytes, cases[i].bytes);
    }
}
END_TEST

START_TEST(junk_is_no_size)
{
    static const struct {
        const char *text;
        int error;
    } cases[] = {{"", -EINVAL},          {"G", -EINVAL},
                 {"-1", -EINVAL},        {"+1", -EINVAL},
                 {" 1G", -EINVAL},       {"1 G ", -EINVAL},
                 {"1Gx", -EINVAL},       {"1GiBB", -EINVAL},
                 {"1Bi", -EINVAL},       {"1.", -EINVAL},
                 {"1.5.5", -EINVAL},     {".5G", -EINVAL},
                 {"0x10", -EINVAL},      {"1e9", -EINVAL},
                 {"nan", -EINVAL},       {"8E", -ERANGE},
                 {"1iB", -EINVAL},       {"9223372036854775808", -ERANGE},
                 {"99999999T", -ERANGE}, {"99999999999999999999999999", -ERANGE}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t bytes = 7;

        ck_assert_msg(mt_size_parse(cases[i].text, &bytes) == cases[i].error, "%s", cases[i].text);
        ck_assert_uint_eq(bytes, 7);
    }
}
END_TEST

START_TEST(wrong_sizes_are_reported_in_one_way)
{
    static const struct {
        const char *text, *words;
    } cases[] = {{"24Gigs", "is not a size; did you mean '24G'?"},
                 {"1e6", "is not a size; give one such as 64M, 1.5 GiB or 65536"},
                 {"1.5 mb ytes", "is not a size; did you mean '1.5 m'?"},
                 {"ten", "is not a size; give one such as 64M, 1.5 GiB or 65536"},
                 {"", "is not a size; give one such as 64M, 1.5 GiB or 65536"},
                 {"1x", "is not a size; give one such as 64M, 1.5 GiB or 65536"},
                 {"1.5", "is not a size; give one such as 64M, 1.5 GiB or 65536"},
                 {"1.5 bytes", "is not a size; give one such as 64M, 1.5 GiB or 65536"},
                 {"99E", "is too large"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char wrong[MT_SIZE_WRONG];
        uint64_t bytes = 7;
        int rc = mt_size_parse(cases[i].text, &bytes);
        ck_assert_int_ne(rc, 0);
        ck_assert_str_eq(mt_size_wrong(cases[i].text, rc, wrong, sizeof wrong), cases[i].words);
    }
}
END_TEST

START_TEST(sizes_end_where_they_end)
{
    uint64_t bytes;
    const char *at = "1.5 GiB..2G";
    ck_assert_int_eq(mt_size_scan(&at, &bytes), 0);
    ck_assert_uint_eq(bytes, UINT64_C(3) << 29);
    ck_assert_str_eq(at, "..2G");
    at = "1..512";
    ck_assert_int_eq(mt_size_scan(&at, &bytes), 0);
    ck_assert_str_eq(at, "..512");
    ck_assert_int_eq(mt_percent_parse("12.25 %", &bytes), 0);
    ck_assert_uint_eq(bytes, 1225);
    ck_assert_int_eq(mt_percent_parse("5", &bytes), -EINVAL);
}
END_TEST

START_TEST(a_value_is_right_or_said_to_be_wrong)
{
    char wrong[MT_SETTING_WRONG] = "";
    bool is_wrong =
        mt_setting_wrong(wrong, &mt_setting_table[values[_i].id], "--option", values[_i].value);
    ck_assert_msg(is_wrong == !values[_i].is_right, "'%s'", values[_i].value);
    ck_assert(values[_i].is_right || strstr(wrong, "--option"));
}
END_TEST

START_TEST(defaults_are_right)
{
    char wrong[MT_SETTING_WRONG];
    for (unsigned i = 0; i < MT_SETTINGS_COUNT; i++) {
        const struct mt_setting *setting = &mt_setting_table[i];
        ck_assert(!mt_setting_wrong(wrong, setting, setting->variable, setting->otherwise));
    }
}
END_TEST

START_TEST(sizes_are_bytes)
{
    ck_assert_uint_eq(mt_setting_size("all"), 0);
    ck_assert_uint_eq(mt_setting_size("1048577"), 1048577);
    ck_assert_uint_eq(mt_setting_size("1024k"), 1 << 20);
    ck_assert_uint_eq(mt_setting_size("512MiB"), 512 << 20);
    ck_assert_uint_eq(mt_setting_size("1.5gb"), 3ull << 29);
    ck_assert_uint_eq(mt_setting_size("0.001T"), 1099511628);
    ck_assert_uint_eq(mt_setting_size("8388607T"), 8388607ull << 40);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("settings");
    tcase_add_loop_test(tests, a_value_is_right_or_said_to_be_wrong, 0,
                        sizeof values / sizeof *values);
    tcase_add_test(tests, defaults_are_right);
    tcase_add_test(tests, sizes_are_bytes);
    tcase_add_test(tests, times_are_read);
    tcase_add_test(tests, sizes_are_read);
    tcase_add_test(tests, junk_is_no_size);
    tcase_add_test(tests, wrong_sizes_are_reported_in_one_way);
    tcase_add_test(tests, sizes_end_where_they_end);
    return RUN_TESTS(tests);
}
