/* SPDX-License-Identifier: Apache-2.0 */
/* What values the settings take: the same for the library's variables and for memtap run's options.
 */
#include "settings/table.h"
#include "tests/support/run-tests.h"

#include <check.h>
#include <string.h>

static const struct {
    enum mt_setting_id id;
    const char *value;
    int is_right;
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

START_TEST(a_value_is_right_or_said_to_be_wrong)
{
    char wrong[128] = "";
    int rc =
        mt_setting_check(&mt_setting_table[values[_i].id], values[_i].value, wrong, sizeof wrong);
    ck_assert_msg((rc == 0) == values[_i].is_right, "'%s'", values[_i].value);
    ck_assert(values[_i].is_right || strlen(wrong) > 10);
}
END_TEST

START_TEST(defaults_are_right)
{
    char wrong[128];
    for (unsigned i = 0; i < MT_SETTINGS_COUNT; i++) {
        const struct mt_setting *setting = &mt_setting_table[i];
        ck_assert_int_eq(mt_setting_check(setting, setting->otherwise, wrong, sizeof wrong), 0);
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
    ck_assert_uint_eq(mt_setting_size("0.001T"), 1099511627);
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
    return RUN_TESTS(tests);
}
