/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a Check program's main: runs the test cases and gives the exit code. */
#ifndef MT_TESTS_RUN_TESTS_H
#define MT_TESTS_RUN_TESTS_H

#include <check.h>

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
