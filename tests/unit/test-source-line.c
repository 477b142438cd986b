/* SPDX-License-Identifier: Apache-2.0 */
/* A line's text is shown where its file is as it was, on the machine where the program ran. */
#include "analyzer/trace/definitions.h"
#include "tests/support/run-tests.h"

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define START "2000000000000000000" /* ns: in the year 2033 */

static char folder[32], path[64];

static void make_file(const char *name, const char *text)
{
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static void add_info(struct mt_definitions *d, const char *key, const char *value)
{
    char text[512];
    int n = snprintf(text, sizeof text, "%s=%s", key, value);
    ck_assert_int_eq(
        mt_definitions_add(
            d, &(struct mt_definition){.kind = MT_DEF_INFO, .text = text, .text_size = (size_t)n}),
        0);
}

static void add_string(struct mt_definitions *d, uint32_t id, const char *text)
{
    ck_assert_int_eq(mt_definitions_add(d, &(struct mt_definition){.kind = MT_DEF_STRING,
                                                                   .id = id,
                                                                   .text = text,
                                                                   .text_size = strlen(text)}),
                     0);
}

/* What is shown of a line of the file, "" where nothing is. */
static const char *shown(const char *host, const char *start, const char *file, uint32_t line)
{
    static char text[512];
    struct mt_definitions *d = mt_definitions_create();
    add_info(d, "host", host);
    add_info(d, "start_realtime_ns", start);
    add_string(d, 1, "main");
    add_string(d, 2, file);
    struct mt_definition frame = {
        .kind = MT_DEF_FRAME, .id = 1, .frame = {.function = 1, .file = 2, .line = line}};
    struct mt_definition stack = {
        .kind = MT_DEF_STACK, .id = 1, .stack = {.frame = 1, .parent = 0}};
    ck_assert_int_eq(mt_definitions_add(d, &frame), 0);
    ck_assert_int_eq(mt_definitions_add(d, &stack), 0);
    if (!mt_source_line(text, sizeof text, d, 1))
        *text = '\0';
    mt_definitions_destroy(d);
    return text;
}

START_TEST(only_a_file_as_it_was_is_shown)
{
    char host[256] = "", other[80];
    ck_assert_int_eq(gethostname(host, sizeof host - 1), 0);
    snprintf(folder, sizeof folder, "/tmp/memtap-source-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    make_file("train.py", "import torch\n\n\tx = torch.ones(3)  \r\nlast");
    ck_assert_str_eq(shown(host, START, path, 1), "import torch");
    ck_assert_str_eq(shown(host, START, path, 2), "");
    ck_assert_str_eq(shown(host, START, path, 3), "x = torch.ones(3)");
    ck_assert_str_eq(shown(host, START, path, 4), "last");
    ck_assert_str_eq(shown(host, START, path, 5), "");
    ck_assert_str_eq(shown(host, START, path, 0), "");
    ck_assert_str_eq(shown(host, "1000000000000000000", path, 1), ""); /* it was written since */
    ck_assert_str_eq(shown(host, "", path, 1), "");
    ck_assert_str_eq(shown("elsewhere", START, path, 1), "");
    ck_assert_str_eq(shown(host, START, "train.py", 1), ""); /* who knows where */
    snprintf(other, sizeof other, "%s/fifo.py", folder);
    ck_assert_int_eq(mkfifo(other, 0600), 0);
    ck_assert_str_eq(shown(host, START, other, 1), ""); /* and is not waited for */
    unlink(other);
    unlink(path);
    make_file("password", "secret\n");
    ck_assert_str_eq(shown(host, START, path, 1), "");
    unlink(path);
    ck_assert_str_eq(shown(host, START, path, 1), "");
    rmdir(folder);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("source-line");
    tcase_add_test(tests, only_a_file_as_it_was_is_shown);
    return RUN_TESTS(tests);
}
