/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a Check program's main: runs the test cases and gives the exit code. */
#ifndef MT_TESTS_RUN_TESTS_H
#define MT_TESTS_RUN_TESTS_H

#include <check.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Check writes down each assertion that holds, to say behind which one a program crashed. In loops
 * that takes longer than what is tested, ten times with a sanitizer: each line is written down
 * once. */
static inline void mark_line(const char *file, int line)
{
    static atomic_bool marked[4096];
    atomic_bool *mark = &marked[line % 4096];
    if (!atomic_load_explicit(mark, memory_order_relaxed)) {
        atomic_store_explicit(mark, true, memory_order_relaxed);
        _mark_point(file, line);
    }
}
#define _mark_point mark_line

#define RUN_TESTS(...) run_test_cases((TCase *[]){__VA_ARGS__, NULL})

static inline int run_test_cases(TCase **tests)
{
    Suite *suite = suite_create("memtap");
    for (; *tests; tests++) {
        tcase_set_timeout(*tests, 300); /* sanitizers and busy machines are slow */
        suite_add_tcase(suite, *tests);
    }
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}

#endif
