/* SPDX-License-Identifier: Apache-2.0 */
/* The innermost loop around a line of Python: one that is counted, or one that waits. */
#include "preload/write/source-loop.h"
#include "tests/support/run-tests.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The line's loop is the letter in its comment: n(one), c(ounted), o(pen). */
static const char source[] = "import torch  #n\n"
                             "while not ready():  #o\n"
                             "    step()  #o\n"
                             "\n"
                             "    for batch in data:  #o\n"
                             "        # about the loss\n"
                             "        if is_first:  #c\n"
                             "            print(loss)  #c\n"
                             "    log(loss)  #o\n"
                             "def train():  #n\n"
                             "    loss = 1  #n\n"
                             "    async for batch in data:  #n\n"
                             "        def inner():  #c\n"
                             "            return loss  #n\n"
                             "        while(loss > 1):  #o\n"
                             "            loss = step()  #o\n"
                             "        total = sum(x for x in losses)  #c\n"
                             "    return loss  #n\n"
                             "while any(x for x in losses):  #o\n"
                             "    pass  #o";

START_TEST(each_line_has_its_loop)
{
    char path[] = "/tmp/memtap-loop-XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    unsigned line = 1;
    fputs(source, file);
    fclose(file);
    for (const char *at = source; *at; at++) {
        if (*at == '\n')
            line++;
        if (*at != '#' || at[1] == ' ')
            continue;
        enum mt_loop expected = at[1] == 'n'   ? MT_LOOP_NONE
                                : at[1] == 'c' ? MT_LOOP_COUNTED
                                               : MT_LOOP_OPEN;
        ck_assert_msg(mt_loop_around(path, line) == expected, "line %u", line);
    }
    ck_assert_int_eq(mt_loop_around(path, line + 1), MT_LOOP_NONE);
    unlink(path);
}
END_TEST

START_TEST(what_cannot_be_read_has_none)
{
    char pipe[] = "/tmp/memtap-loop-XXXXXX";
    close(mkstemp(pipe));
    unlink(pipe);
    ck_assert_int_eq(mt_loop_around(pipe, 1), MT_LOOP_NONE);
    ck_assert_int_eq(mkfifo(pipe, 0600), 0);
    ck_assert_int_eq(mt_loop_around(pipe, 1), MT_LOOP_NONE);
    ck_assert_int_eq(mt_loop_around("<stdin>", 3), MT_LOOP_NONE);
    unlink(pipe);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("source-loop");
    tcase_add_test(tests, each_line_has_its_loop);
    tcase_add_test(tests, what_cannot_be_read_has_none);
    return RUN_TESTS(tests);
}
