/* SPDX-License-Identifier: Apache-2.0 */
/* Text of strangers, wherever it goes. */
#include "analyzer/print/json.h"
#include "analyzer/support/text.h"
#include "preload/host/message.h"
#include "tests/support/run-tests.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READABLE "\u00e4 \u65e5\u672c \U0001f469\u200d\U0001f680"

static const char *const acting[] = {
    "\n",
    "\r",
    "\t",
    "\033[31m",
    "\x7f", /* control characters */
    "\xc2\x80",
    "\xc2\x9b"
    "31m",
    "\xc2\x9f", /* of 8 bits, as UTF-8 */
    "\x9b"
    "31m",
    "\xff",
    "\xc0\x80",
    "\xed\xa0\x80",
    "\xe2", /* no UTF-8 */
    "\u200e",
    "\u200f",
    "\u202a",
    "\u202e",
    "\u2066",
    "\u2069",
    "\u061c", /* directions */
    "\u2028",
    "\u2029",
    "\u200b",
    "\u2060",
    "\ufeff",
    "\ufff9",
    "\xef\xbf\xbe",
    "\xef\xbf\xbf",
    "\xf0\x9f\xbf\xbe", /* U+FFFE, U+FFFF, U+1FFFE */
    "\U000e0041",
    "##[error]",
    "###[group]",
    "##vso[task",
};

static char *put(const char *text, enum mt_text_for place)
{
    char *out = NULL;
    size_t size;
    FILE *file = open_memstream(&out, &size);
    mt_put_text(file, text, place);
    ck_assert(!fclose(file));
    return out;
}

static void assert_safe(const char *text)
{
    bool is_safe;
    for (size_t length; (length = mt_safe_next(text, &is_safe)); text += length)
        ck_assert_msg(is_safe, "%s", text);
}

START_TEST(each_acting_text_is_replaced)
{
    static const struct mt_style utf8 = {.utf8 = 1};
    char text[64], out[256];
    snprintf(text, sizeof text, "a%s" READABLE, acting[_i]);
    for (unsigned place = 0; place < MT_TEXT_PLACES; place++) {
        char *written = put(text, (enum mt_text_for)place);
        assert_safe(written);
        ck_assert_ptr_nonnull(strchr(written, '?'));
        ck_assert_ptr_nonnull(strstr(written, READABLE)); /* which stays readable */
        free(written);
    }
    mt_safe_text(out, sizeof out, text, 0, MT_CUT_END, &utf8);
    assert_safe(out);
    mt_safe_in_place(text, 1);
    assert_safe(text);
    ck_assert_str_eq(text, out);
}
END_TEST

START_TEST(json_says_the_same_with_escapes)
{
    char text[64], *out = NULL;
    size_t size;
    snprintf(text, sizeof text, "a%s" READABLE, acting[_i]);
    json_t *before = json_pack("[o]", mt_json_text(text));
    json_incref(before);
    FILE *file = open_memstream(&out, &size);
    ck_assert(!mt_json_print(file, before, 1));
    ck_assert(!fclose(file));
    out[size - 1] = '\0'; /* the line's end */
    assert_safe(out);
    json_t *after = json_loads(out, 0, NULL);
    ck_assert(json_equal(before, after));
    json_decref(before);
    json_decref(after);
    free(out);
}
END_TEST

START_TEST(what_has_a_meaning_is_escaped)
{
    static const struct {
        const char *text;
        enum mt_text_for place;
        const char *out;
    } cases[] = {
        {"a\"b", MT_FOR_CSV, "a\"\"b"},
        {"=1+1", MT_FOR_CSV, "'=1+1"},
        {"@SUM(A1)", MT_FOR_CSV, "'@SUM(A1)"},
        {"-1", MT_FOR_CSV, "'-1"},
        {"\t=1", MT_FOR_CSV, "'?=1"},
        {"1-1=0", MT_FOR_CSV, "1-1=0"},
        {"a;b", MT_FOR_FOLDED, "a?b"},
        {"<b>*&|[x](y)@me", MT_FOR_MARKDOWN, "\\<b\\>\\*\\&\\|\\[x\\](y)\\@me"},
        {"a`b|c", MT_FOR_CODE, "a?b?c"},
        {"<a b=\"&\">", MT_FOR_XML, "&#60;a b=&#34;&#38;&#34;&#62;"},
        {"a\"\\", MT_FOR_TOML, "a\\\"\\\\"},
        {"5 %, a:b", MT_FOR_COMMAND, "5 %25, a:b"},
        {"5 %, a:b", MT_FOR_PROPERTY, "5 %25%2C a%3Ab"},
        {"::error::x", MT_FOR_PLAIN, "?:error::x"},
        {" \u3000::error::x", MT_FOR_PLAIN, " \u3000?:error::x"},
        {"a::b", MT_FOR_PLAIN, "a::b"},
        {"::x", MT_FOR_XML, "&#58;:x"},
        {"::x", MT_FOR_MARKDOWN, "\\::x"},
    };
    char *out = put(cases[_i].text, cases[_i].place);
    ck_assert_str_eq(out, cases[_i].out);
    free(out);
}
END_TEST

/* The shim's, on the host's stderr. */
START_TEST(messages_of_the_library_are_safe)
{
    char line[2048] = "";
    int ends[2], before = dup(STDERR_FILENO);
    ck_assert(!pipe(ends));
    dup2(ends[1], STDERR_FILENO);
    for (size_t i = 0; i < sizeof acting / sizeof *acting; i++)
        mt_message("%s" READABLE ".mtap", acting[i]);
    mt_message("%2000s", "");
    dup2(before, STDERR_FILENO);
    close(ends[1]);
    FILE *in = fdopen(ends[0], "r");
    for (size_t i = 0; i < sizeof acting / sizeof *acting; i++) {
        ck_assert_ptr_nonnull(fgets(line, sizeof line, in));
        ck_assert(!strncmp(line, "memtap: ", 8));
        ck_assert_ptr_nonnull(strstr(line, READABLE ".mtap\n"));
        *strchr(line, '\n') = '\0';
        assert_safe(line);
    }
    ck_assert_ptr_nonnull(fgets(line, sizeof line, in)); /* a long one is cut, and a line */
    ck_assert_ptr_nonnull(strchr(line, '\n'));
    ck_assert_ptr_null(fgets(line, sizeof line, in));
    fclose(in);
    close(before);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("safe-text");
    int n = (int)(sizeof acting / sizeof *acting);
    tcase_add_loop_test(tests, each_acting_text_is_replaced, 0, n);
    tcase_add_loop_test(tests, json_says_the_same_with_escapes, 0, n);
    tcase_add_loop_test(tests, what_has_a_meaning_is_escaped, 0, 18);
    tcase_add_test(tests, messages_of_the_library_are_safe);
    return RUN_TESTS(tests);
}
