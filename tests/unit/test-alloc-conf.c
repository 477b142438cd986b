/* SPDX-License-Identifier: Apache-2.0 */
/* The allocator's settings, as the releases read them. The expected results come from PyTorch
 * itself. */
#include "planner/allocator/conf.h"
#include "tests/support/run-tests.h"

#include <string.h>

static const struct mt_torch_release v2_1 = {2, 1}, v2_6 = {2, 6}, v2_15 = {2, 15};

static bool accepts(struct mt_torch_release release, const char *text, struct mt_alloc_conf *conf)
{
    struct mt_alloc_conf_error error = {""};
    int result;

    mt_alloc_conf_init(conf);
    result = mt_alloc_conf_read(conf, release, text, &error);
    ck_assert_int_eq(!result, !error.text[0]);
    return !result;
}

/* ' ' where a release refuses the text. */
START_TEST(accepted)
{
    static const struct {
        const char *text, *by; /* by: 1 for 2.1, 6 for 2.6, f for 2.15 */
    } cases[] = {
        {"", "16f"},
        {"max_split_size_mb:20", "f"},
        {"max_split_size_mb:21", "16f"},
        {"max_split_size_mb:5", ""},
        {"max_split_size_mb:64MB", "16f"},
        {"max_split_size_mb:big", ""},
        {"max_split_size_mb", ""},
        {"max_split_size_mb:", ""},
        {"max_non_split_rounding_mb:64", "6f"},
        {"max_non_split_rounding_mb:20", "f"},
        {"large_segment_size_mb:12", "f"},
        {"large_segment_size_mb:1", ""},
        {"max_split_size_mb:64,large_segment_size_mb:100", ""},
        {"roundup_power2_divisions:0", ""},
        {"roundup_power2_divisions:3", ""},
        {"roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", "16f"},
        {"roundup_power2_divisions:[256:0]", "6f"},
        {"roundup_power2_divisions:[256:4", ""},
        {"garbage_collection_threshold:0", ""},
        {"garbage_collection_threshold:1", ""},
        {"garbage_collection_threshold:0.5", "16f"},
        {"expandable_segments:true", ""},
        {"expandable_segments;True", ""},
        {"expandable_segments:True", "16f"},
        {"expandable_segments:True,", "16f"},
        {"expandable_segments:True,,", ""},
        {" expandable_segments : True ", "16f"},
        {"per_process_memory_fraction:0.5", "f"},
        {"per_process_memory_fraction:2", ""},
        {"throw_on_cudamalloc_oom:True", "f"},
        {"backend:cudaMallocAsync", "16f"},
        {"backend:other", ""},
        {"foo:1", ""},
    };
    struct mt_alloc_conf conf;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char by[4] = "", *end = by;

        if (accepts(v2_1, cases[i].text, &conf))
            *end++ = '1';
        if (accepts(v2_6, cases[i].text, &conf))
            *end++ = '6';
        if (accepts(v2_15, cases[i].text, &conf))
            *end++ = 'f';
        ck_assert_msg(!strcmp(by, cases[i].by), "\"%s\" is accepted by \"%s\"", cases[i].text, by);
    }
}
END_TEST

static void check_roundup(struct mt_torch_release release, const char *text, const uint32_t *wanted)
{
    struct mt_alloc_conf conf;

    ck_assert(accepts(release, text, &conf));
    for (unsigned i = 0; i < MT_ROUNDUP_INTERVALS; i++)
        ck_assert_msg(conf.roundup[i] == wanted[i], "%s: interval %u has %u", text, i,
                      conf.roundup[i]);
}

START_TEST(roundup)
{
    static const uint32_t old[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 8, 8, 8, 8, 8, 8},
                          now[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 8, 8, 8, 8},
                          gaps[] = {8, 8, 8, 8, 8, 8, 8, 0, 0, 0, 4, 0, 0, 0, 0, 0},
                          rest[] = {0, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4};

    check_roundup(v2_6, "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", old);
    check_roundup(v2_15, "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", now);
    check_roundup(v2_1, "roundup_power2_divisions:[64:8,1024:4]", gaps);
    check_roundup(v2_15, "roundup_power2_divisions:[>:4]", rest);
}
END_TEST

START_TEST(releases)
{
    struct mt_torch_release release;

    ck_assert(mt_torch_read_release("2.6.0+cu124", &release));
    ck_assert(release.major == 2 && release.minor == 6);
    ck_assert(mt_torch_read_release("2.15.0a0+git1", &release) && release.minor == 15);
    ck_assert(!mt_torch_read_release("", &release));
    ck_assert(!mt_torch_read_release("nightly", &release));
    ck_assert(mt_torch_has((struct mt_torch_release){3, 0}, MT_HAS_THROW_ON_OOM));
    ck_assert(!mt_torch_has((struct mt_torch_release){1, 13}, MT_HAS_EXPANDABLE));
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("alloc-conf");

    tcase_add_test(tests, accepted);
    tcase_add_test(tests, roundup);
    tcase_add_test(tests, releases);
    return RUN_TESTS(tests);
}
